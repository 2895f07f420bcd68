"""Trains a small network with Hugging Face Accelerate, started by `accelerate launch`."""
import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()

accelerator = Accelerator(cpu=not torch.cuda.is_available())  # without it ranks on CPUs would train alone, each by itself
set_seed(options.seed)
inputs = torch.randn(512, 16)
data = torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True).sin())
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
model, optimizer, batches = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05), torch.utils.data.DataLoader(data, batch_size=32))

for epoch in range(1, options.epochs + 1):
    accelerator.wait_for_everyone()
    begin = time.perf_counter()
    for samples, targets in batches:
        loss = torch.nn.functional.mse_loss(model(samples), targets)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    mean = accelerator.reduce(loss.detach(), "mean").item()
    if accelerator.is_main_process:
        print(f"epoch {epoch} of {options.epochs}: {time.perf_counter() - begin:.4f} s, loss {mean:.6f}, {accelerator.num_processes} ranks", flush=True)
accelerator.end_training()
