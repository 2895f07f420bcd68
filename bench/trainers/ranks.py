#!/usr/bin/env python3
"""Compares two ranks of hpcbench-train, one thread each, with what people spread a training with now, on this machine in the same minutes.

    "$(tests/huggingface/venv.sh --peers)" bench/trainers/ranks.py [--only WORD] [--rounds 6] [--steps 20] [--size small] [--quick] [--json FILE]

In each round every program of a row runs once, in turn; a round gives one ratio to each peer. Of several peers the best is chosen by the first half of the rounds,
and compared in the second. Printed are the ratios' median and their lowest and highest one; a row's bound is held against the median. Exit code 1 if one is not met.
All train on the same made-up SQuAD file (made_up.py), dropout 0.1, random weights; theirs with fused AdamW where it says so.

    ddp         padded, as Hugging Face's defaults: ms a step, against the best of torch's DistributedDataParallel, Fabric's ddp and FSDP2
    as-started  ours without padding against Fabric's ddp as users write it (loop AdamW, padded): sequences/s
    fsdp        padded: ms a step, against FSDP2 (fully_shard: embeddings, layers, the rest)
    zero1       padded: ms a step, against our own ddp
    first step  seconds from the start of both ranks to the end of the first step, small
"""

import argparse
import json
import math
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from compare import ROOT, SHAPES, TRAIN, TUNED
from made_up import write_squad

RANKS = 2
PEERS = {"torch DDP, fused": ("ddp", ["--fused"]), "Fabric ddp, fused": ("fabric", ["--fused"]), "FSDP2, fused": ("fsdp2", ["--fused"]),
         "Fabric ddp, padded": ("fabric", [])}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_ranks(command, scratch):
    """(start on the clock of events, largest peak in bytes, rank 0's standard output)"""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "HPCBENCH_", "RANK", "WORLD_SIZE"))}
    environment.update(WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    start_s = time.time()
    processes = []
    for rank in range(RANKS):
        with open(scratch / f"output.{rank}", "w") as output, open(scratch / f"errors.{rank}", "w") as errors:
            processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=scratch,
                                              env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)}))
    peak_bytes = 0
    for rank, process in enumerate(processes):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        peak_bytes = max(peak_bytes, usage.ru_maxrss * 1024)
        if process.returncode != 0:
            for other in processes[rank + 1:]:
                other.kill()
            raise SystemExit(f"error: rank {rank} of {' '.join(map(str, command))} ended with {process.returncode}: {(scratch / f'errors.{rank}').read_text()[-2000:]}")
    return start_s, peak_bytes, (scratch / "output.0").read_text()


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.failed, self.files, self.rows = options, folder, 0, {}, []

    def data(self, length):
        if length not in self.files:
            self.files[length] = self.folder / f"made-up-{length}.json"
            write_squad(self.files[length], length, 1000)
        return self.files[length]

    def ours(self, size, steps, settings):
        length, batch_size = SHAPES[size]
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            scratch = pathlib.Path(name)
            options = {"task": "bert_squad", "model": size, "vocab": ROOT / "data" / "bert-base-uncased-vocab.txt", "data": self.data(length),
                       "max_length": length, "doc_stride": 32, "batch_size": batch_size, "max_steps": steps, "lr": 5e-5, "dropout": 0.1, "eval": "false",
                       "log_every": 1, "events": scratch / "events", "cache": scratch / "cache", **settings}
            command = [TRAIN, "run"] + [text for option, value in options.items() for text in ("--" + option.replace("_", "-"), str(value))]
            start_s, peak_bytes, _ = run_ranks(command, scratch)
            events = [json.loads(line) for line in (scratch / "events").read_text().splitlines()]
        took = [event for event in events if event["event"] == "step"]
        times_ms = [1000 * event["step_s"] for event in took[2:]] or [math.nan]
        return {"median_ms": statistics.median(times_ms), "mean_ms": statistics.fmean(times_ms), "first_step_s": took[0]["t"] - start_s, "peak_bytes": peak_bytes}

    def peer(self, name, size, steps):
        length, batch_size = SHAPES[size]
        peer, arguments = PEERS[name]
        command = [sys.executable, str(ROOT / "bench" / "trainers" / "peers_ranks.py"), "--peer", peer, "--size", size, "--steps", str(steps), "--length", str(length),
                   "--batch-size", str(batch_size), "--data", str(self.data(length))] + arguments
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            _, peak_bytes, output = run_ranks(command, pathlib.Path(scratch))
        said = json.loads(output.strip().split("\n")[-1])
        return {"median_ms": said["ms_median"], "mean_ms": said["ms_mean"], "first_step_s": said["first_step_s"], "peak_bytes": peak_bytes}

    def measure(self, size, runs):
        """`runs`: name -> settings of ours, or the name of a peer. Their results, a round's side by side."""
        steps = self.options.steps if size != "base" else max(4, self.options.steps // 4)
        results = {name: [] for name in runs}
        for number in range(self.options.rounds):
            order = list(runs)
            for name in order[number % len(order):] + order[:number % len(order)]:
                results[name].append(self.peer(name, size, steps) if runs[name] is None else self.ours(size, steps, runs[name]))
        return results

    def compare(self, row, ours, theirs, field, sense, bound, batch_size):
        """`theirs`: name -> results. Of several the best of the first half of the rounds is compared in the second."""
        half = len(ours) // 2 if len(theirs) > 1 else 0
        best = min(theirs, key=lambda name: statistics.median(each[field] for each in theirs[name][:half or None]))
        mine, their = ours[half:], theirs[best][half:]
        if sense == "at least":
            values = {"ours": [1000 * batch_size * RANKS / each[field] for each in mine], "theirs": [1000 * batch_size * RANKS / each[field] for each in their]}
        else:
            values = {"ours": [each[field] for each in mine], "theirs": [each[field] for each in their]}
        ratios = [a / b for a, b in zip(values["ours"], values["theirs"])]
        self.verdict(row, "sequences/s" if sense == "at least" else "time", best, ratios, sense, bound, "1/s" if sense == "at least" else "ms",
                     {which: statistics.median(each) for which, each in values.items()},
                     {f"peak_{which}": statistics.median(each["peak_bytes"] for each in results) for which, results in (("ours", mine), ("theirs", their))})

    def verdict(self, row, measure, peer, ratios, sense, bound, unit, values, peaks):
        middle = statistics.median(ratios)
        well = middle <= bound if sense == "at most" else middle >= bound
        self.failed += not well
        self.rows.append({"row": row, "measure": measure, "peer": peer, "ratios": ratios, "sense": sense, "bound": bound, "unit": unit, **values, **peaks})
        print(f"{row:22} {measure:12} {peer:20} {middle:7.3f} [{min(ratios):.3f}, {max(ratios):.3f}]  {sense} {bound:.3f}"
              f"  ours {values['ours']:.4g}, theirs {values['theirs']:.4g} {unit}  {'met' if well else 'NOT MET'}", flush=True)

    def wanted(self, row):
        return not self.options.only or self.options.only in row

    def size(self, size):
        """The rows of a size; all that are wanted share one set of runs."""
        rows = [row for row in ("ddp", "as-started", "fsdp", "zero1", "first step") if self.wanted(row) and (row != "first step" or size == "small")]
        needed = {"ddp": ("ddp", "torch DDP, fused", "Fabric ddp, fused", "FSDP2, fused"), "as-started": ("unpadded", "Fabric ddp, padded"),
                  "fsdp": ("fsdp", "FSDP2, fused"), "zero1": ("zero1", "ddp"), "first step": ("ddp",)}
        settings = {"ddp": {"strategy": "ddp"}, "fsdp": {"strategy": "fsdp"}, "zero1": {"strategy": "zero1"}, "unpadded": {"strategy": "ddp", **TUNED}}
        results = self.measure(size, {name: settings.get(name) for row in rows for name in needed[row]})
        batch_size = SHAPES[size][1]
        if "ddp" in rows:
            self.compare(f"ddp, {size}", results["ddp"], {name: results[name] for name in needed["ddp"][1:]}, "median_ms", "at most", 0.85, batch_size)
        if "as-started" in rows:
            self.compare(f"as-started, {size}", results["unpadded"], {"Fabric ddp, padded": results["Fabric ddp, padded"]}, "mean_ms", "at least", 2.3, batch_size)
        if "fsdp" in rows:
            self.compare(f"fsdp, {size}", results["fsdp"], {"FSDP2, fused": results["FSDP2, fused"]}, "median_ms", "at most", 0.75, batch_size)
        if "zero1" in rows:
            self.compare(f"zero1, {size}", results["zero1"], {"our ddp": results["ddp"]}, "median_ms", "at most", 1.25, batch_size)
        if "first step" in rows:
            seconds = [each["first_step_s"] for each in results["ddp"]]
            self.verdict(f"first step, {size}", "time", "1 s", seconds, "at most", 1.5, "s", {"ours": statistics.median(seconds), "theirs": 1.0},
                         {"peak_ours": statistics.median(each["peak_bytes"] for each in results["ddp"]), "peak_theirs": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="only rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=20, help="steps a run; a quarter of it for base")
    parser.add_argument("--size", action="append", choices=SHAPES, help="small; base and others as asked for")
    parser.add_argument("--quick", action="store_true", help="2 rounds of 6 steps, small")
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.steps, options.size = 2, 6, ["small"]
    print(f"{options.rounds} rounds of two ranks with one thread each; ms a step, s, bytes")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(options, pathlib.Path(name))
        for size in options.size or ["small"]:
            bench.size(size)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(bench.rows, indent=1) + "\n")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
