#!/usr/bin/env python3
"""What a study costs on a real Slurm: calls of its tools, CPU time of hpcbench, and the time until all has ended, against the same
scripts in an array that a person would write.

1,000 runs of `true`, on a cluster of its own (tests/slurm/cluster.sh). Pairs are interleaved; what is compared is the median of
their ratios. The hand-written array runs the same rendered job.sh (which claim and record as they do for hpcbench); the bare
array runs the program alone, for information. Their end is looked for twice a second.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/slurm"))
from slurm_harness import HPCBENCH, SKIPPED, Cluster  # noqa: E402

STUDY = """
experiment: cost
command: ["true"]
launch: once
matrix: {{k: [{axis}]}}
repeats: 1
resources: {{time: "00:05:00"}}
"""
HAND_WRITTEN = """#!/bin/bash
#SBATCH --job-name=by-hand
#SBATCH --time=5
#SBATCH --output=/dev/null
#SBATCH --no-requeue
"""
MOST_CPU_S = 5
MOST_RATIO = 1.2


class Bench:
    def __init__(self, runs, folder, cluster):
        self.runs, self.folder, self.cluster = runs, folder, cluster
        self.environment = {**os.environ, **cluster.environment(), "XDG_CONFIG_HOME": str(folder / "none")}
        axis = ", ".join(str(i) for i in range(runs))
        (folder / "cost.yaml").write_text(STUDY.format(axis=axis))
        (folder / "site.yaml").write_text("executor: slurm\ngres_type: none\n")

    def hpcbench(self, *arguments):
        return [HPCBENCH, *arguments, "--site", "./site.yaml"]

    def ours(self, number):
        """(seconds, CPU seconds of hpcbench and all tools that it calls, calls by tool)"""
        self.cluster.forget_calls()
        begin = time.monotonic()
        process = subprocess.Popen(self.hpcbench("run", "cost.yaml", "--results", f"results{number}"), cwd=self.folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"error: hpcbench run ended with {process.returncode}")
        calls = {tool: self.cluster.count(tool) for tool in ("sbatch", "squeue", "sacct", "scancel", "scontrol")}
        return seconds, usage.ru_utime + usage.ru_stime, calls

    def array(self, name, element):
        script = self.folder / f"{name}.sh"
        script.write_text(HAND_WRITTEN + element)
        begin = time.monotonic()
        self.cluster.tool("sbatch", f"--array=0-{self.runs - 1}", str(script))
        while self.cluster.tool("squeue", "-h", "-n", "by-hand").strip():
            time.sleep(0.5)
        return time.monotonic() - begin

    def by_hand(self, number):
        scripts = self.folder / f"scripts{number}"
        subprocess.run(self.hpcbench("plan", "cost.yaml", "--scripts", str(scripts)), cwd=self.folder, env=self.environment, check=True,
                       capture_output=True)
        files = sorted(scripts.rglob("job.sh"))
        if len(files) != self.runs:
            raise SystemExit(f"error: {len(files)} scripts instead of {self.runs}")
        listing = self.folder / f"list{number}"
        listing.write_text("".join(f"{path}\n" for path in files))
        seconds = self.array("by-hand", "export HPCBENCH_TOKEN=0000000000000000\n"
                             f'exec bash "$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" {listing})"\n')
        finished = sum(1 for _ in scripts.rglob("finished.json"))
        if finished != self.runs:
            raise SystemExit(f"error: {finished} of {self.runs} scripts of the hand-written array finished")
        return seconds

    def bare(self):
        return self.array("bare", "true\n")


def measure(bench, pairs, with_bare):
    ours, by_hand, bare = [], [], []
    for number in range(pairs):
        ours.append(bench.ours(number))
        by_hand.append(bench.by_hand(number))
        if with_bare:
            bare.append(bench.bare())
        calls = ", ".join(f"{count} {tool}" for tool, count in ours[-1][2].items())
        print(f"  pair {number + 1}: {ours[-1][0]:.1f} s against {by_hand[-1]:.1f} s by hand"
              f"{f' and {bare[-1]:.1f} s bare' if with_bare else ''}; {ours[-1][1]:.2f} s of CPU; {calls}", flush=True)
    return ours, by_hand, bare


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--bare", action="store_true", help="the bare program in an array, too")
    parser.add_argument("--quick", action="store_true", help="one pair of 200 runs")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the rows there, for bench/run.sh")
    options = parser.parse_args()
    if options.quick:
        options.runs, options.pairs = 200, 1
    try:
        cluster = Cluster("--set", f"MaxArraySize={options.runs + 1}")
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-bench-"))
    try:
        ours, by_hand, bare = measure(Bench(options.runs, folder, cluster), options.pairs, options.bare)
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    ratios = [pair[0] / seconds for pair, seconds in zip(ours, by_hand)]
    rows = [("calls of sbatch, most of a pair", "", [calls["sbatch"] for *_, calls in ours], max, 1, ""),
            ("calls of squeue, beyond one a second", "", [calls["squeue"] - seconds for seconds, _, calls in ours], max, 3, ""),
            ("CPU time of hpcbench and its tools, most of a pair", "", [cpu for _, cpu, _ in ours], max, MOST_CPU_S, "s"),
            ("time against the same scripts in an array by hand", "array by hand", ratios, statistics.median, MOST_RATIO, "x")]
    print(f"{f'{options.runs} runs on Slurm':58} {'measured':>12} {'bound':>12}")
    for what, _, values, summary, bound, unit in rows:
        print(f"{what:58} {summary(values):>9.3g} {unit:2} {bound:>9.3g} {unit:2} {'' if summary(values) <= bound else 'NOT MET'}")
    if bare:
        print(f"{'time against the bare program in an array':58} {statistics.median(a[0] / b for a, b in zip(ours, bare)):>9.3g} x")
    if options.json:
        seconds = [statistics.median(pair[0] for pair in ours), statistics.median(by_hand)]
        options.json.write_text(json.dumps([
            {"row": f"{options.runs} runs on Slurm", "measure": what, "peer": peer, "ratios": values, "value": summary(values), "sense": "at most", "bound": bound,
             "ours": seconds[0] if peer else summary(values), "theirs": seconds[1] if peer else None, "unit": "s" if peer else unit}
            for what, peer, values, summary, bound, unit in rows]))
    return 0 if all(summary(values) <= bound for _, _, values, summary, bound, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
