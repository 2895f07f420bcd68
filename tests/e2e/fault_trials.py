#!/usr/bin/env python3
"""Kills at random and counts: a study of 40 short runs, kill -9 of hpcbench, of its jobs, or of both, and `run` again until it ends.

Each attempt appends its folder to a file as its first act, so executions are counted by their own hand. Must hold in every trial:
every run has exactly one attempt that counts and succeeded, no attempt executed twice, no run is missing; where only hpcbench was
killed, each run executed exactly once. So for preparations: no attempt executed twice, one of each instance succeeded, and all runs were
given its folder.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, processes_of  # noqa: E402

RUNS = 40
INSTANCES = 6
STUDY = """
experiment: trial
prepare:
  make:
    command: [bash, -c, 'echo "{{make.dir}}" >> makings; sleep 0.0$((RANDOM % 9)); echo {{half}} > {{make.dir}}/made']
command: [bash, -c, 'echo "{{run_dir}}" >> executions; echo "{{make.dir}}" >> given; test "$(cat {{make.dir}}/made)" = {{half}} && sleep 0.0$((RANDOM % 6))']
derive: {half: k // 2}
launch: once
matrix: {k: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}
repeats: 4
# A trial may kill the same run's jobs many times; what it must not do is give up.
retries: {lost: 100}
"""


def launchers(folder):
    """Pids of the jobs of this trial: `hpcbench launch FOLDER...`."""
    return processes_of("launch", folder)


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_with_kills(folder, what, kills, dice, environment, slots):
    """Starts `hpcbench run`, kills at random moments, then lets the last one end."""
    command = [HPCBENCH, "run", "trial.yaml", "--slots", str(slots)]
    for _ in range(kills):
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + dice.uniform(0.005, 0.6)
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.003)
        if what in ("jobs", "both"):
            kill(launchers(folder))
        if what in ("hpcbench", "both"):
            process.kill()
            process.wait()
        elif process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait()
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def verify(folder, what, last, environment, count=RUNS):
    """The list of what does not hold of a study of `count` runs."""
    wrong = []
    if last.returncode != 0:
        wrong.append(f"the last run ended with {last.returncode}: {last.stderr[-500:]}")
    status = subprocess.run([HPCBENCH, "status", "trial.yaml", "--format", "json"], cwd=folder, env=environment, capture_output=True,
                            text=True, timeout=300)
    runs = json.loads(status.stdout)["runs"]
    bad = [f"{run['run']}: {run['state']} ({run['reason']})" for run in runs if run["state"] != "succeeded"]
    if bad or len(runs) != count:
        wrong.append(f"{len(runs)} runs, not succeeded: {bad}")
    if not (folder / "executions").exists():
        return [*wrong, "no run was executed"]
    executed = collections.Counter(line.removesuffix("/out") for line in (folder / "executions").read_text().splitlines())
    twice = [path for path, count in executed.items() if count > 1]
    if twice:
        wrong.append(f"executed twice: {twice}")
    for run in runs:
        if executed[run["path"]] != 1:
            wrong.append(f"{run['path']} counts and executed {executed[run['path']]} times")
    if what == "hpcbench":
        per_run = collections.Counter(str(pathlib.Path(path).parent) for path in executed.elements())
        more = {path: count for path, count in per_run.items() if count != 1}
        if more or len(per_run) != count:
            wrong.append(f"only hpcbench was killed, yet {len(per_run)} runs executed, more than once: {more}")
    return wrong


def verify_preparations(folder, what):
    wrong = []
    if not (folder / "given").exists():
        return ["no run was given what was made"]
    makings = collections.Counter(line.removesuffix("/out") for line in (folder / "makings").read_text().splitlines())
    twice = [path for path, count in makings.items() if count > 1]
    if twice:
        wrong.append(f"made twice: {twice}")
    instances = {path.parent for path in folder.glob("results/trial/prepare/*/a*")}
    given = {line.removesuffix("/out") for line in (folder / "given").read_text().splitlines()}
    for instance in instances:
        ends = {str(path.parent): json.loads(path.read_text()) for path in instance.glob("a*/finished.json")}
        # One that was asked to end just before it ended by itself does not count, whatever its exit code.
        made = [path for path, end in ends.items() if end["exit_code"] == 0 and not end["cancelled"]]
        if len(made) != 1:
            wrong.append(f"{instance.name}: {len(made)} attempts count: {ends}")
        if given & {str(path) for path in instance.glob("a*")} != set(made):
            wrong.append(f"{instance.name}: runs were given another folder than {made}")
        if what == "hpcbench" and sum(count for path, count in makings.items() if path.startswith(str(instance) + "/")) != 1:
            wrong.append(f"only hpcbench was killed, yet {instance.name} was made more than once")
    if len(instances) != INSTANCES:
        wrong.append(f"{len(instances)} instances")
    return wrong


def trial(number, seed):
    dice = random.Random(seed * 1_000_003 + number)
    what = ("hpcbench", "jobs", "both")[number % 3]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-trial-")).resolve()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HPCBENCH_")}
    try:
        (folder / "trial.yaml").write_text(STUDY)
        kills = dice.randint(2, 5)
        last = run_with_kills(folder, what, kills, dice, environment, slots=dice.choice((1, 2, 3)))
        wrong = verify(folder, what, last, environment) + verify_preparations(folder, what)
        makings = len(list(folder.glob("results/trial/prepare/*/a*")))
        print(f"trial {number}: {kills} kills of {what}, {makings} attempts of {INSTANCES} preparations: {'ok' if not wrong else 'FAILED ' + '; '.join(wrong)}", flush=True)
        return not wrong
    finally:
        kill(launchers(folder))
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    passed = sum(trial(number, options.seed) for number in range(options.trials))
    print(f"Ran {options.trials} tests: {passed} passed, {options.trials - passed} failed")
    return 0 if passed == options.trials else 1


if __name__ == "__main__":
    sys.exit(main())
