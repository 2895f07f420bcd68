"""Trains with Lightning over several time limits (`continue`): warned by SIGUSR1 it saves and exits with 85, and the next segment resumes."""
import argparse
import os
import pathlib
import signal
import sys

import lightning
import torch

parser = argparse.ArgumentParser()
parser.add_argument("run_dir", type=pathlib.Path)
parser.add_argument("--nodes", type=int, default=1)
parser.add_argument("--devices", type=int, default=1)
parser.add_argument("--epochs", type=int, default=3)
options = parser.parse_args()


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def training_step(self, batch, _):
        return torch.nn.functional.mse_loss(self.network(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


class SaveWhenWarned(lightning.Callback):
    warned = saved = False

    def setup(self, trainer, module, stage):
        signal.signal(signal.SIGUSR1, self.note)

    def note(self, *_):
        self.warned = True

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        # Ranks hear the signal at different steps, and must save after the same one.
        if not trainer.strategy.reduce_boolean_decision(self.warned, all=False):
            return
        trainer.save_checkpoint(options.run_dir / "new.ckpt")
        if trainer.is_global_zero:
            (options.run_dir / "new.ckpt").rename(options.run_dir / "last.ckpt")
        trainer.strategy.barrier()
        self.saved = True
        trainer.should_stop = True


def leave(code):
    """Without Python's own end: on CPUs a thread of Gloo's may outlive it and abort the rank (pytorch issue 190489), and 85 would be lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


lightning.seed_everything(1, verbose=False)
inputs = torch.randn(512, 16)
batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True).sin()), batch_size=32)
callback = SaveWhenWarned()
plugins = []
if "SLURM_JOB_ID" in os.environ:  # Lightning's own answer to SIGUSR1 would be to submit its job again
    plugins.append(lightning.pytorch.plugins.environments.SLURMEnvironment(auto_requeue=False))
trainer = lightning.Trainer(accelerator="auto", strategy="ddp", num_nodes=options.nodes, devices=options.devices, max_epochs=options.epochs,
                            callbacks=[callback], plugins=plugins, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False)
resume = os.environ.get("HPCBENCH_RESUME_FROM")
trainer.fit(Regression(), batches, ckpt_path=f"{resume}/last.ckpt" if resume else None)
if torch.distributed.is_initialized():
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
if callback.saved:
    leave(85)
if trainer.is_global_zero:
    print(f"done: {trainer.global_step} steps")
leave(0)
