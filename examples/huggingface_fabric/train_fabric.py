"""A Lightning Fabric script as people write it. It knows nothing of hpcbench: rank, world size and address come from the
environment, and it leaves csv/version_0/metrics.csv in --out."""
import argparse
import time

import torch
from lightning.fabric import Fabric
from lightning.fabric.loggers import CSVLogger
from task import Questions, make_model


def train_epoch(fabric, model, optimizer, loader):
    model.train()
    total = torch.zeros(())
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**batch).loss
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)  # as Hugging Face's Trainer does by default
        optimizer.step()
        total += loss.detach()
    return fabric.all_reduce(total / len(loader), reduce_op="mean").item()


@torch.no_grad()
def validate(fabric, model, loader):
    model.eval()
    losses = [model(**batch).loss for batch in loader]
    return fabric.all_reduce(torch.stack(losses).mean(), reduce_op="mean").item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strategy", default="ddp")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16, help="samples of a step, all processes together")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    fabric = Fabric(accelerator="cpu", devices=args.devices, num_nodes=args.nodes, strategy=args.strategy,
                    loggers=CSVLogger(args.out, name="csv", version=0))
    fabric.launch()
    fabric.seed_everything(args.seed, verbose=False)
    model = make_model()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0))
    batch = args.batch // fabric.world_size
    train = fabric.setup_dataloaders(torch.utils.data.DataLoader(Questions("train"), batch_size=batch, shuffle=True))
    validation = fabric.setup_dataloaders(torch.utils.data.DataLoader(Questions("validation"), batch_size=batch))
    fabric.barrier()
    begin = time.monotonic()
    for epoch in range(1, args.epochs + 1):
        if hasattr(train.sampler, "set_epoch"):
            train.sampler.set_epoch(epoch)
        fabric.log_dict({"epoch": epoch, "train_loss": train_epoch(fabric, model, optimizer, train)}, step=epoch)
    fabric.barrier()
    train_s = time.monotonic() - begin
    fabric.log_dict({"train_s": train_s, "val_loss": validate(fabric, model, validation)}, step=args.epochs)
    fabric.logger.finalize("success")


if __name__ == "__main__":
    main()
    # Else a thread of Gloo's that lets go of its last tensor while Python ends may abort the process.
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
