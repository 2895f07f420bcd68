#!/usr/bin/env python3
r"""One rank of a training of BERT for question answering as people spread it over processes now; rank 0 prints one JSON object about it.

    RANK=R WORLD_SIZE=N MASTER_ADDR=127.0.0.1 MASTER_PORT=P "$(tests/huggingface/venv.sh --peers)" bench/trainers/peers_ranks.py --peer ddp|fabric|fsdp2 \
        --data FILE --length 128 --batch-size 8

  ddp       torch's DistributedDataParallel around transformers' model, a loop of one's own
  fabric    the same through Lightning Fabric's strategy ddp
  fsdp2     torch's fully_shard around the embeddings, each layer and the whole

`--batch-size` is per rank. What is trained and printed is as in peers.py.
"""

import argparse
import json
import os
import sys

import peers


def rank_and_size():
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def make_loader(rows, options):
    import torch
    rank, size = rank_and_size()
    sampler = torch.utils.data.DistributedSampler(rows, num_replicas=size, rank=rank, seed=options.seed)
    return torch.utils.data.DataLoader(rows, batch_size=options.batch_size, sampler=sampler, drop_last=True,
                                       collate_fn=peers.Collate(options.length if options.batches == "max" else None))


def mean_of_ranks(loss):
    import torch
    total = loss.detach().clone()
    torch.distributed.all_reduce(total)
    return total / rank_and_size()[1]


def train(model, optimizer, batches, options, clock, backward=lambda loss: loss.backward()):
    for _ in range(options.steps):
        batch = next(batches)
        loss = peers.loss_of(model, batch, options.mask_padding)
        backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        clock.step(mean_of_ranks(loss) if options.model else loss, batch)


def adamw(model, options):
    import torch
    return torch.optim.AdamW(model.parameters(), lr=options.lr, fused=options.fused or None)


def run_ddp(rows, options, clock):
    import torch
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(peers.make_model(options).train())
    train(model, adamw(model, options), peers.endless(make_loader(rows, options)), options, clock)


def run_fabric(rows, options, clock):
    # As under torchrun.
    os.environ.setdefault("TORCHELASTIC_RUN_ID", "bench")
    from lightning.fabric import Fabric
    fabric = Fabric(accelerator="cpu", devices=rank_and_size()[1], strategy="ddp")
    fabric.launch()
    model = peers.make_model(options).train()
    model, optimizer = fabric.setup(model, adamw(model, options))
    # The loader already has a distributed sampler.
    batches = peers.endless(fabric.setup_dataloaders(make_loader(rows, options), use_distributed_sampler=False))
    train(model, optimizer, batches, options, clock, fabric.backward)


def run_fsdp2(rows, options, clock):
    import torch
    from torch.distributed.fsdp import fully_shard
    torch.distributed.init_process_group("gloo")
    mesh = torch.distributed.init_device_mesh("cpu", (rank_and_size()[1],))
    model = peers.make_model(options).train()
    for unit in (model.bert.embeddings, *model.bert.encoder.layer, model):
        fully_shard(unit, mesh=mesh)
    train(model, adamw(model, options), peers.endless(make_loader(rows, options)), options, clock)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=("ddp", "fabric", "fsdp2"), required=True)
    parser.add_argument("--size", choices=peers.SIZES, default="small")
    parser.add_argument("--batches", choices=("max", "longest"), default="max")
    parser.add_argument("--fused", action="store_true", help="fused=True for AdamW")
    parser.add_argument("--data", required=True, help="a SQuAD file")
    parser.add_argument("--length", type=int, required=True, help="tokens a row")
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", help="a folder with config.json and model.safetensors instead of random weights; then losses are the mean of all ranks")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--doc-stride", type=int, default=32)
    parser.add_argument("--mask-padding", action="store_true", help="padded positions do not compete for start and end")
    parser.set_defaults(attention="sdpa", lr=5e-5)
    options = parser.parse_args()

    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1", TRANSFORMERS_VERBOSITY="error", CUDA_VISIBLE_DEVICES="")
    import torch
    torch.set_num_threads(options.threads)
    rows = peers.squad_rows(options.data, str(peers.ROOT / "data" / "bert-base-uncased-vocab.txt"), options.length, options.doc_stride)
    clock = peers.Clock()
    {"ddp": run_ddp, "fabric": run_fabric, "fsdp2": run_fsdp2}[options.peer](rows, options, clock)
    torch.distributed.destroy_process_group()
    if rank_and_size()[0] == 0:
        print(json.dumps({"peer": options.peer, "size": options.size, "threads": options.threads, **clock.summary()}))
    # Skips Python's own end: a thread of Gloo that releases its last tensor meanwhile would abort the process, and not every group's
    # threads have ended yet (pytorch/pytorch issue 190489).
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
