"""Trains a small network with Lightning. On Slurm it takes its place from srun's variables, elsewhere from torchrun's: hpcbench sets both."""
import argparse
import time

import lightning
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, required=True)
parser.add_argument("--devices", type=int, required=True)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def training_step(self, batch, _):
        return torch.nn.functional.mse_loss(self.network(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


class Report(lightning.Callback):
    def on_train_epoch_start(self, trainer, module):
        self.begin = time.perf_counter()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.loss = outputs["loss"]

    def on_train_epoch_end(self, trainer, module):
        seconds, loss = time.perf_counter() - self.begin, trainer.strategy.reduce(self.loss, reduce_op="mean").item()
        if trainer.is_global_zero:
            print(f"epoch {trainer.current_epoch + 1} of {options.epochs}: {seconds:.4f} s, loss {loss:.6f}, {trainer.world_size} ranks", flush=True)


lightning.seed_everything(options.seed, verbose=False)
inputs = torch.randn(512, 16)
batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True).sin()), batch_size=32)
trainer = lightning.Trainer(accelerator="auto", strategy="ddp", num_nodes=options.nodes, devices=options.devices, max_epochs=options.epochs,
                            callbacks=[Report()], logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Regression(), batches)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()  # threads that go on while Python ends sometimes abort it
