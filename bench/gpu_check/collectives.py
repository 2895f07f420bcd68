"""One rank of a measurement of collectives by torch.distributed; rank 0 prints a line of JSON for each size.

Bus bandwidth as nccl-tests define it (doc/PERFORMANCE.md): all-reduce 2 (n - 1) / n, all-gather and reduce-scatter (n - 1) / n of bytes / time.
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist

REPEATS, WARM_UP = 10, 3


def timed(call, device):
    for _ in range(WARM_UP):
        call()
    times = []
    for _ in range(REPEATS):
        dist.barrier()
        if device == "cuda":
            torch.cuda.synchronize()
        begin_s = time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin_s)
    return times


def main():
    device, largest = sys.argv[1], int(sys.argv[2])
    ranks = int(os.environ["WORLD_SIZE"])
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    sizes = [1 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20]
    for size in [size for size in sizes if size <= largest]:
        whole = torch.zeros(size // 4, device=device)  # zeros, whose sum is unchanged after any number of repetitions
        part = torch.ones(size // 4 // ranks, device=device)
        gathered = torch.empty(size // 4 // ranks * ranks, device=device)
        calls = {"all_reduce": (lambda: dist.all_reduce(whole), 2 * (ranks - 1) / ranks),
                 "all_gather": (lambda: dist.all_gather_into_tensor(gathered, part), (ranks - 1) / ranks)}
        if device == "cuda":
            calls["reduce_scatter"] = (lambda: dist.reduce_scatter_tensor(part, gathered), (ranks - 1) / ranks)
        for name, (call, share) in calls.items():
            times = sorted(timed(call, device))
            if dist.get_rank() == 0:
                median = times[len(times) // 2]
                print(json.dumps({"collective": name, "bytes": size, "ranks": ranks, "n": len(times), "median_s": median, "least_s": times[0], "most_s": times[-1],
                                  "bus_gb_per_s": size * share / median / 1e9}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
