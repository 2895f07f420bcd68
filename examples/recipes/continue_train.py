"""Trains with PyTorch's DistributedDataParallel over several time limits (`continue`): warned it saves and exits with 85, and the next
segment resumes. The warning is SIGUSR1, or, under torchrun, which passes no signal on, a file that the command makes."""
import argparse
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("run_dir", type=pathlib.Path)
parser.add_argument("--epochs", type=int, default=3)
options = parser.parse_args()
WARNED = options.run_dir.parent / f".warned-{options.run_dir.name}"  # beside the attempt's folder: nothing that it has saved

warned = False


def note(*_):
    global warned
    warned = True


def leave(code):
    """Without Python's own end: on CPUs a thread of Gloo's may outlive it and abort the rank (pytorch issue 190489), and 85 would be lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


under_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
if not under_torchrun:
    signal.signal(signal.SIGUSR1, note)
gpus = torch.cuda.is_available()
if gpus:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
device = "cuda" if gpus else "cpu"
dist.init_process_group("nccl" if gpus else "gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs = torch.randn(512, 16)
targets = inputs.sum(1, keepdim=True).sin()
inputs, targets = inputs[rank::ranks].to(device), targets[rank::ranks].to(device)
per_epoch = -(-len(inputs) // 32)

step = 0
resume = os.environ.get("HPCBENCH_RESUME_FROM")
if resume:
    state = torch.load(f"{resume}/last.pt", map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    if rank == 0:
        print(f"resumes after step {step}", flush=True)

while step < options.epochs * per_epoch:
    first = step % per_epoch * 32
    loss = torch.nn.functional.mse_loss(model(inputs[first:first + 32]), targets[first:first + 32])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    # Ranks hear of it at different steps, and must save after the same one.
    heard = torch.tensor(float(warned or (under_torchrun and WARNED.exists())), device=device)
    dist.all_reduce(heard, op=dist.ReduceOp.MAX)
    if heard.item() > 0 and step < options.epochs * per_epoch:
        if rank == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, options.run_dir / "new.pt")
            (options.run_dir / "new.pt").rename(options.run_dir / "last.pt")
        dist.barrier()
        dist.destroy_process_group()
        leave(85)
dist.barrier()
dist.destroy_process_group()
if rank == 0:
    print(f"done: {step} steps")
leave(0)
