"""Trains a small network with PyTorch's DistributedDataParallel. It takes its place from torchrun's variables (RANK, WORLD_SIZE,
LOCAL_RANK, MASTER_ADDR, MASTER_PORT), which `launch: rank` sets as torchrun does."""
import argparse
import os
import time

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()

gpus = torch.cuda.is_available()
if gpus:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
device = "cuda" if gpus else "cpu"
dist.init_process_group("nccl" if gpus else "gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(options.seed)  # the same weights everywhere
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs = torch.randn(512, 16)
targets = inputs.sum(1, keepdim=True).sin()
share = slice(rank, None, ranks)  # of the samples, this rank's
inputs, targets = inputs[share].to(device), targets[share].to(device)

for epoch in range(1, options.epochs + 1):
    dist.barrier()
    begin = time.perf_counter()
    for batch in range(0, len(inputs), 32):
        loss = torch.nn.functional.mse_loss(model(inputs[batch:batch + 32]), targets[batch:batch + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if rank == 0:
        print(f"epoch {epoch} of {options.epochs}: {time.perf_counter() - begin:.4f} s, loss {mean.item() / ranks:.6f}, {ranks} ranks", flush=True)
dist.destroy_process_group()
