#!/usr/bin/env python3
"""One training run of mnist_rnn's model by what people use now; prints one JSON object about it.

    mnist_peers.py --loader torchvision|indexed --data FOLDER [--samples 8000] [--epochs 3] [--batch-size 64] [--hidden 64] [--seed 1]

  torchvision   Lightning Fabric with torchvision's MNIST, ToTensor and Normalize sample by sample in a DataLoader, as its examples have it
  indexed       Lightning Fabric with all images normalised once, and batches taken from that tensor by index

Model, optimiser and schedule are those of `hpcbench-train run --task mnist_rnn`. The first `samples` of the test images (data/mnist) train.
With RANK and WORLD_SIZE it is one rank of Fabric's ddp (indexed alone), and `--batch-size` is per rank; the losses printed are rank 0's.
Printed: train_s (from before the first batch to after the last step), first_step_s from the process's start, losses (training loss of each epoch).
"""
import argparse
import gzip
import json
import os
import pathlib
import struct
import tempfile
import time

MEAN, DEVIATION = 0.1307, 0.3081


def since_process_start_s():
    with open("/proc/self/stat") as file:
        start_ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks / os.sysconf("SC_CLK_TCK")


def read_idx(path):
    """(sizes, bytes) of a gzipped IDX file of bytes."""
    with gzip.open(path) as file:
        dimensions = struct.unpack(">HBB", file.read(4))[2]
        sizes = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        return sizes, file.read()


def write_idx(path, sizes, content):
    path.write_bytes(struct.pack(f">HBB{len(sizes)}I", 0, 8, len(sizes), *sizes) + content)


def let_torchvision_be_imported():
    """torchvision's compiled operators want a torch with CUDA, and without them its import fails. Declared, they let its Python part be imported (Lightning
    does that, too); MNIST and its transforms use no other."""
    import torch
    operators = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return operators  # keeps the declaration alive


def torchvision_batches(options, folder):
    """torchvision wants MNIST's four files, unpacked; the training files are the first samples of our test files."""
    import torch
    from torchvision import datasets, transforms
    raw = pathlib.Path(folder) / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for kind, stem in (("images", "images-idx3-ubyte"), ("labels", "labels-idx1-ubyte")):
        sizes, content = read_idx(options.data / f"t10k-{stem}.gz")
        one = len(content) // sizes[0]
        write_idx(raw / f"train-{stem}", (options.samples, *sizes[1:]), content[:options.samples * one])
        write_idx(raw / f"t10k-{stem}", (sizes[0] - options.samples, *sizes[1:]), content[options.samples * one:])
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (DEVIATION,))])
    return torch.utils.data.DataLoader(datasets.MNIST(folder, train=True, transform=transform), batch_size=options.batch_size, shuffle=True)


def rank_and_ranks():
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


class Indexed:
    """Batches of a tensor by index, in a new order each epoch; each rank's are its share of the order, which all draw alike."""

    def __init__(self, options):
        import torch
        sizes, pixels = read_idx(options.data / "t10k-images-idx3-ubyte.gz")
        images = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(sizes)[:options.samples].float()
        self.images = images.div_(255).sub_(MEAN).div_(DEVIATION)
        self.labels = torch.frombuffer(bytearray(read_idx(options.data / "t10k-labels-idx1-ubyte.gz")[1]), dtype=torch.uint8)[:options.samples].long()
        self.batch_size, self.epoch, self.rank, self.ranks = options.batch_size, options.seed * 1000, *rank_and_ranks()

    def __iter__(self):
        import torch
        self.epoch += 1
        order = torch.randperm(len(self.labels), generator=torch.Generator().manual_seed(self.epoch))[self.rank::self.ranks]
        for places in order.split(self.batch_size):
            yield self.images[places], self.labels[places]


def make_model(hidden):
    import torch
    from torch import nn

    class Rnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(28, hidden, batch_first=True)
            self.norm = nn.BatchNorm1d(hidden)
            self.first, self.second = nn.Dropout(0.25), nn.Dropout(0.5)
            self.middle, self.last = nn.Linear(hidden, 32), nn.Linear(32, 10)

        def forward(self, images):
            states, _ = self.lstm(images.reshape(-1, 28, 28))
            x = self.first(self.norm(states[:, -1]))
            x = self.second(torch.relu(self.middle(x)))
            return torch.log_softmax(self.last(x), dim=1)

    return Rnn()


def train(options, folder):
    import torch
    declared = None if torch.version.cuda else let_torchvision_be_imported()
    from lightning.fabric import Fabric
    torch.set_num_threads(options.threads)
    ranks = rank_and_ranks()[1]
    if ranks > 1:
        os.environ.setdefault("TORCHELASTIC_RUN_ID", "bench")  # as under torchrun
    fabric = Fabric(accelerator="cpu", devices=ranks, strategy="ddp" if ranks > 1 else "auto")
    fabric.launch()
    fabric.seed_everything(options.seed, verbose=False)
    model = make_model(options.hidden)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    model, optimizer = fabric.setup(model, optimizer)
    batches = fabric.setup_dataloaders(torchvision_batches(options, folder)) if options.loader == "torchvision" else Indexed(options)
    first_step_s, losses = None, []
    begin_s = time.monotonic()
    for _ in range(options.epochs):
        model.train()
        total, samples = 0.0, 0
        for images, labels in batches:
            optimizer.zero_grad()
            loss = torch.nn.functional.nll_loss(model(images), labels)
            fabric.backward(loss)
            optimizer.step()
            total += loss.item() * len(labels)
            samples += len(labels)
            first_step_s = first_step_s or since_process_start_s()
        schedule.step()
        losses.append(total / samples)
    return {"train_s": time.monotonic() - begin_s, "first_step_s": first_step_s, "losses": losses,
            "torchvision_operators": declared is None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loader", choices=("torchvision", "indexed"), required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--samples", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(train(options, folder)))


if __name__ == "__main__":
    main()
