#!/usr/bin/env python3
"""Times of hpcbench itself: planning, indexing, doing nothing, reporting, and starting jobs, with the bounds that must hold.

Times are medians of wall times; starting jobs is compared with `xargs` on the same rendered scripts, interleaved, as a ratio.
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

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
HPCBENCH = str(PROGRAMS / "hpcbench")


def axis(count):
    return "[" + ", ".join(str(i) for i in range(count)) + "]"


def study(name, axes, repeats=1, command='["true"]'):
    matrix = ", ".join(f"{axis_name}: {axis(count)}" for axis_name, count in axes.items())
    return f"experiment: {name}\ncommand: {command}\nlaunch: once\nmatrix: {{{matrix}}}\nrepeats: {repeats}\n"


def timed(command, folder, env=None, code=0):
    """(seconds, peak bytes) of a whole process; its output is thrown away."""
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=env)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if code is not None and process.returncode != code:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return seconds, usage.ru_maxrss * 1024


def median_of(repeats, function):
    results = [function() for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*results)]


class Table:
    def __init__(self):
        self.failed = 0
        print(f"{'work':58} {'measured':>12} {'bound':>12}")

    def row(self, work, measured, bound, unit):
        well = measured <= bound
        self.failed += not well
        print(f"{work:58} {measured:>9.3g} {unit:2} {bound:>9.3g} {unit:2} {'' if well else 'NOT MET'}", flush=True)


def finished_study(folder, runs):
    """A study of `runs` runs that have all ended, as its folders would stand on disk."""
    (folder / "done.yaml").write_text(study("done", {"a": runs // 10}, repeats=10))
    results = folder / "results/done"
    subprocess.run([HPCBENCH, "plan", "done.yaml", "--scripts", str(results)], cwd=folder, check=True, capture_output=True)
    keys = []
    for number, script in enumerate(sorted(results.rglob("job.sh"))):
        attempt = script.parent
        keys.append(str(attempt.relative_to(results)))
        (attempt / "claim").write_text("token 0000000000000000\njob 1\nhost h\nboot_id b\npid 1\nstart_ticks 1\n")
        begin = 1_700_000_000 + 10 * number
        (attempt / "started.json").write_text(json.dumps(
            {"schema": 1, "host": "h", "boot_id": "b", "pid": 1, "started_unix_s": begin, "monotonic_s": 1.0, "job": "1"}))
        (attempt / "finished.json").write_text(json.dumps(
            {"schema": 1, "host": "h", "finished_unix_s": begin + 5, "wall_s": 1 + number % 7 / 10, "exit_code": 0, "signal": None,
             "processes": [{"rank": 0, "exit_code": 0, "signal": None, "wall_s": 1.0, "user_s": 0.5, "sys_s": 0.1,
                            "max_rss_bytes": 1000000}], "files": {}}))
    batch = results / "batches/0000000000000000"
    batch.mkdir(parents=True)
    (batch / "attempts.txt").write_text("".join(key + "\n" for key in keys))
    (batch / "submitted.json").write_text(json.dumps({"schema": 1, "jobs": {key: "1" for key in keys}}))
    subprocess.run([HPCBENCH, "ingest"], cwd=folder, check=True, capture_output=True)


def bench_plan(table, folder, repeats):
    (folder / "plan.yaml").write_text(study("big", {"a": 10, "b": 100, "c": 100}))
    seconds, peak = median_of(repeats, lambda: timed([HPCBENCH, "plan", "plan.yaml", "--format", "json"], folder))
    table.row("plan of 100,000 configurations", seconds, 1, "s")
    table.row("  its peak memory", peak / 1e6, 400, "MB")


def bench_index(table, folder, repeats):
    def once():
        database = folder / "index.db"
        database.unlink(missing_ok=True)
        done = subprocess.run([str(PROGRAMS / "store_bench"), "100000", str(database)], capture_output=True, text=True, check=True)
        return (float(done.stdout),)
    table.row("indexing 100,000 runs", median_of(repeats, once)[0], 2, "s")


def bench_finished(table, folder, repeats):
    finished_study(folder, 10_000)
    subprocess.run([HPCBENCH, "run", "done.yaml"], cwd=folder, check=True, capture_output=True)
    table.row("run with 10,000 finished runs and nothing to do",
              median_of(repeats, lambda: timed([HPCBENCH, "run", "done.yaml"], folder))[0], 0.5, "s")
    table.row("report on 10,000 runs (markdown)",
              median_of(repeats, lambda: timed([HPCBENCH, "report", "done.yaml", "--format", "markdown"], folder))[0], 0.5, "s")


def bench_jobs(table, folder, runs, repeats):
    """1,000 trivial runs: hpcbench, xargs on the same rendered scripts (they claim and record as jobs do), xargs on the bare program.

    Each repeat has fresh folders, removed at the end: after a removal ext4 searches long for inodes that were not freed just now.
    """
    (folder / "jobs.yaml").write_text(study("jobs", {"a": runs}, command='[bash, -c, "true"]'))
    ours, scripts, bare = [], [], []
    for number in range(repeats):
        ours.append(timed([HPCBENCH, "run", "jobs.yaml", "--slots", "2", "--results", f"results{number}"], folder)[0])
        subprocess.run([HPCBENCH, "plan", "jobs.yaml", "--scripts", f"scripts{number}"], cwd=folder, check=True, capture_output=True)
        with_token = {**os.environ, "HPCBENCH_TOKEN": "0000000000000000"}
        scripts.append(timed(["bash", "-c", f"find scripts{number} -name job.sh | xargs -P2 -n1 bash"], folder, env=with_token)[0])
        bare.append(timed(["bash", "-c", f"seq {runs} | xargs -P2 -n1 bash -c true"], folder)[0])
    scale = statistics.median(ours)
    table.row(f"{runs} local runs, --slots 2: {scale:.2f} s; against xargs -P2, same scripts",
              statistics.median(a / b for a, b in zip(ours, scripts)), 1.5, "x")
    table.row("  against xargs -P2 bash -c PROGRAM", statistics.median(a / b for a, b in zip(ours, bare)), 4, "x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, 200 runs instead of 1,000")
    parser.add_argument("--folder", help="where the studies lie meanwhile (default: the folder for temporary files)")
    options = parser.parse_args()
    repeats = 3 if options.quick else 7
    table = Table()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-bench-", dir=options.folder))
    try:
        bench_jobs(table, folder, 200 if options.quick else 1000, repeats)
        bench_plan(table, folder, repeats)
        bench_index(table, folder, repeats)
        bench_finished(table, folder, repeats)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
