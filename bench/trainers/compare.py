#!/usr/bin/env python3
"""hpcbench-train against what people use now, on this machine in the same minutes.

    "$(tests/huggingface/venv.sh --peers)" bench/trainers/compare.py [--only WORD] [--rounds 5] [--steps 20] [--size small --size base] [--quick] [--json FILE]

In each round every program of a row runs once, as a process of its own, in turn; a round gives one ratio to each peer. Printed are, beside the verdict, the ratios' median and their
lowest and highest one, which hold the true median with the coverage said (1 - 2^(1-rounds)) if rounds are alike. A row's bound is held against the median.
Exit code 1 if a bound is not met. All train on the same made-up SQuAD file (made_up.py), dropout 0.1, random weights, two threads.

    padded      the same work as Hugging Face's defaults: ms a step, against each peer with fused AdamW
    as-started  ours tuned (no padding) against Fabric as users write it (loop AdamW, padded): sequences/s
    tuned       ours tuned against length-grouped batches padded to their longest, fused AdamW: sequences/s, fp32 and bf16
    first step  process start to the end of the first step, and peak memory, padded, small
    features    features/s of the whole command `features` (cold cache, JSON and all) against encode_batch alone, on 1 and on all threads
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from made_up import write_squad

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAIN = os.environ.get("HPCBENCH_TRAIN", str(ROOT / "build" / "default" / "bin" / "hpcbench-train"))
SHAPES = {"tiny": (128, 8), "small": (128, 8), "base": (384, 4)}
TUNED = {"padding": "none", "pad_in_softmax": "false"}


def run(command, environment, scratch):
    """(start on the clock of events, peak bytes, standard output)"""
    with open(scratch / "output", "w+") as output, open(scratch / "errors", "w+") as errors:
        start_s = time.time()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment, cwd=scratch)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} ended with {process.returncode}: {errors.read()[-2000:]}")
        return start_s, usage.ru_maxrss * 1024, output.read()


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.failed, self.files, self.rows = options, folder, 0, {}, []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "HPCBENCH_", "RANK", "WORLD_SIZE"))}
        self.environment |= {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}

    def data(self, length, questions):
        if (length, questions) not in self.files:
            path = self.folder / f"made-up-{length}-{questions}.json"
            write_squad(path, length, questions)
            self.files[length, questions] = path
        return self.files[length, questions]

    def ours(self, size, steps, questions, settings):
        length, batch_size = SHAPES[size]
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            scratch = pathlib.Path(name)
            options = {"task": "bert_squad", "model": size, "vocab": ROOT / "data" / "bert-base-uncased-vocab.txt", "data": self.data(length, questions),
                       "strategy": "baseline", "max_length": length, "doc_stride": 32, "batch_size": batch_size, "max_steps": steps, "lr": 5e-5,
                       "dropout": 0.1, "eval": "false", "log_every": 1, "events": scratch / "events", "cache": scratch / "cache", **settings}
            command = [TRAIN, "run"] + [text for name, value in options.items() for text in ("--" + name.replace("_", "-"), str(value))]
            start_s, peak_bytes, _ = run(command, self.environment, scratch)
            events = [json.loads(line) for line in (scratch / "events").read_text().splitlines()]
        took = [event for event in events if event["event"] == "step"]
        times_ms = [1000 * event["step_s"] for event in took[2:]] or [math.nan]
        return {"median_ms": statistics.median(times_ms), "mean_ms": statistics.fmean(times_ms), "first_step_s": took[0]["t"] - start_s, "peak_bytes": peak_bytes}

    def peer(self, name, size, steps, questions, arguments):
        length, batch_size = SHAPES[size]
        command = [sys.executable, str(ROOT / "bench" / "trainers" / "peers.py"), "--peer", name, "--size", size, "--steps", str(steps), "--length", str(length),
                   "--batch-size", str(batch_size), "--data", str(self.data(length, questions)), "--threads", str(self.options.threads)] + arguments
        _, peak_bytes, output = run(command, self.environment, self.folder)
        said = json.loads(output.strip().split("\n")[-1])
        return {"median_ms": said["ms_median"], "mean_ms": said["ms_mean"], "first_step_s": said["first_step_s"], "peak_bytes": peak_bytes}

    def row(self, title, size, ours, peers, measures, questions=1000):
        """`peers`: name -> (peer, arguments); `measures`: (field, text, at most/at least, bound) of ours/theirs (at most) or theirs/ours (at least)."""
        if self.options.only and self.options.only not in title:
            return
        steps = self.options.steps if size != "base" else max(4, self.options.steps // 4)
        results = {name: [] for name in ("ours", *peers)}
        for number in range(self.options.rounds):
            order = list(results)
            for name in order[number % len(order):] + order[:number % len(order)]:
                results[name].append(self.ours(size, steps, questions, ours) if name == "ours"
                                     else self.peer(peers[name][0], size, steps, questions, peers[name][1]))
        for field, text, sense, bound in measures:
            for name in peers:
                ratios = [mine[field] / their[field] for mine, their in zip(results["ours"], results[name])]
                if sense == "at least":
                    ratios = [1 / ratio for ratio in ratios]
                values = {which: statistics.median(each[field] for each in results[who]) for which, who in (("ours", "ours"), ("theirs", name))}
                unit = {"first_step_s": "s", "peak_bytes": "bytes"}.get(field, "ms")
                if text == "sequences/s":
                    values, unit = {which: 1000 * SHAPES[size][1] / value for which, value in values.items()}, "1/s"
                peaks = {f"peak_{which}": statistics.median(each["peak_bytes"] for each in results[who]) for which, who in (("ours", "ours"), ("theirs", name))}
                self.verdict(f"{title}, {size}", text, name, ratios, sense, bound, unit, values, peaks)

    def verdict(self, row, measure, peer, ratios, sense, bound, unit, values, peaks):
        middle = statistics.median(ratios)
        well = middle <= bound if sense == "at most" else middle >= bound
        self.failed += not well
        self.rows.append({"row": row, "measure": measure, "peer": peer, "ratios": ratios, "sense": sense, "bound": bound, "unit": unit, **values, **peaks})
        print(f"{row:28} {measure:14} {peer:22} {middle:7.3f} [{min(ratios):.3f}, {max(ratios):.3f}]  {sense} {bound:.3f}"
              f"  ours {values['ours']:.4g}, theirs {values['theirs']:.4g} {unit}  {'met' if well else 'NOT MET'}", flush=True)

    def features(self):
        """Ours pays for starting, reading the file, the cache and printing; theirs for nothing but encode_batch."""
        if self.options.only and self.options.only not in "features":
            return
        data = self.data(384, 8000)
        for threads in sorted({1, self.options.threads}):
            rates = {"ours": [], "theirs": []}
            for number in range(self.options.rounds):
                for which in ("ours", "theirs") if number % 2 == 0 else ("theirs", "ours"):
                    if which == "ours":
                        with tempfile.TemporaryDirectory(dir=self.folder) as cache:
                            command = [TRAIN, "features", "--data", str(data), "--vocab", str(ROOT / "data" / "bert-base-uncased-vocab.txt"), "--threads", str(threads)]
                            begin_s = time.monotonic()
                            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(self.environment, XDG_CACHE_HOME=cache))
                            rates[which].append(8000 / (time.monotonic() - begin_s))
                    else:
                        script = str(ROOT / "bench" / "trainers" / "tokenizers_peer.py")
                        output = run([sys.executable, script, str(data), "--threads", str(threads)], self.environment, self.folder)[2]
                        rates[which].append(json.loads(output)["features_per_s"])
            ratios = [mine / their for mine, their in zip(rates["ours"], rates["theirs"])]
            self.verdict(f"features, {threads} threads", "features/s", "encode_batch", ratios, "at least", 5, "1/s",
                         {which: statistics.median(values) for which, values in rates.items()}, {"peak_ours": None, "peak_theirs": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="only rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="steps a run; a quarter of it for base")
    parser.add_argument("--size", action="append", choices=SHAPES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="3 rounds of 6 steps, only small")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the rows, with each round's ratio, as a list of objects")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.steps, options.size = 3, 6, ["small"]
    sizes = options.size or ["small", "base"]
    print(f"{options.rounds} rounds; [lowest, highest] hold the median with coverage {1 - 2.0 ** (1 - options.rounds):.3f}; ms a step, s, bytes")
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(options, pathlib.Path(name))
        bench.features()
        for size in sizes:
            bench.row("padded", size, {}, {"plain, fused": ("plain", ["--fused"]), "Fabric, fused": ("fabric", ["--fused"]), "Trainer": ("trainer", [])},
                      [("median_ms", "time", "at most", 0.80)])
            bench.row("as-started", size, TUNED, {"Fabric, padded": ("fabric", [])}, [("mean_ms", "sequences/s", "at least", 2.5)])
            grouped = ["--fused", "--batches", "grouped"]
            bench.row("tuned fp32", size, TUNED, {"grouped, fused": ("plain", grouped)}, [("mean_ms", "sequences/s", "at least", 1.3)])
            bench.row("tuned bf16", size, {**TUNED, "precision": "bf16"}, {"grouped, fused, bf16": ("plain", [*grouped, "--precision", "bf16"])},
                      [("mean_ms", "sequences/s", "at least", 1.5)])
        if "small" in sizes:
            options.steps = 3
            bench.row("first step", "small", {}, {"plain, fused": ("plain", ["--fused"]), "Fabric, fused": ("fabric", ["--fused"]), "Trainer": ("trainer", [])},
                      [("first_step_s", "first step", "at most", 1 / 7), ("peak_bytes", "memory", "at most", 0.6)], questions=200)
        if options.json:
            options.json.write_text(json.dumps(bench.rows, indent=1) + "\n")
        return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
