#!/usr/bin/env python3
"""Kills at random and counts while runs go on over several segments: fault_trials.py for `continue`.

kill -9 of `run`, of a job's launcher, of a rank, of all of them, or of `cancel`, at random moments, then `run`, and `retry` of what it does
not try again by itself, until the study ends. Each attempt writes down as its first act which segment it is and where it begins. Must hold
in every trial: no attempt executed twice; every run succeeded over a chain of segments 1, 2 ... of which each began where the one before
had saved, and none is missing; where only `run` was killed, each segment executed once and no step was done twice.
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
from fault_trials import kill, launchers  # noqa: E402
from harness import HPCBENCH, PATIENCE_S, processes_of  # noqa: E402

RUNS = 6
GOAL = 40
# Ends after 12 steps of its own to be continued; every 4th step is saved.
PROGRAM = """
import os, pathlib, sys, time
run_dir = pathlib.Path(sys.argv[1])
resume = os.environ["HPCBENCH_RESUME_FROM"]
begin = int(pathlib.Path(resume, "state").read_text()) if resume else 0
first = os.environ["RANK"] == "0"
def note(file, text):
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, (text + "\\n").encode())
    os.close(descriptor)
if first:
    note("executions", f"{run_dir.parent} {os.environ['HPCBENCH_SEGMENT']} {begin}")
for step in range(begin + 1, GOAL + 1):
    time.sleep(0.008)
    if first:
        note("steps", f"{run_dir.parent.parent} {step}")
    if first and step % 4 == 0:
        (run_dir / "state.new").write_text(str(step))
        (run_dir / "state.new").rename(run_dir / "state")
    if step - begin == 12 and step < GOAL:
        sys.exit(85)
""".replace("GOAL", str(GOAL))
STUDY = """
experiment: trial
command: [python3, -S, count.py, "{{run_dir}}"]
matrix: {gpus_per_node: [1, 2], k: [1, 2, 3]}
repeats: 1
resources: {time: 1h}
continue: {on: [timeout], max: 100}
# A trial may kill the same run's jobs many times; what it must not do is give up.
retries: {lost: 100, failed: 100}
"""
KINDS = ("run", "launcher", "rank", "all", "cancel")


def ranks(folder):
    """Pids of programs of this trial."""
    return processes_of("count.py", folder)


class Trial:
    def __init__(self, number, seed):
        self.dice = random.Random(seed * 1_000_003 + number)
        self.kind = KINDS[number % len(KINDS)]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-segments-")).resolve()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HPCBENCH_")}
        self.faults = 0  # processes that were there to be killed
        (self.folder / "count.py").write_text(PROGRAM)
        # With `setup` a script starts the ranks.
        (self.folder / "trial.yaml").write_text(STUDY + self.dice.choice(["", "setup: ['export X=1']\n"]))
        self.run = ["run", "trial.yaml", "--keep-going", "--slots", str(self.dice.choice((1, 2, 3)))]

    def start(self, *arguments):
        return subprocess.Popen([HPCBENCH, *arguments], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def call(self, *arguments):
        return subprocess.run([HPCBENCH, *arguments], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE_S)

    def kill_one(self, process):
        self.faults += process.poll() is None
        process.kill()
        process.wait()

    def kill_some(self, pids):
        chosen = self.dice.sample(pids, min(len(pids), 1 if self.kind != "all" else len(pids)))
        self.faults += len(chosen)
        kill(chosen)

    def hurt(self):
        process = self.start(*self.run)
        end = time.monotonic() + self.dice.uniform(0.01, 1.2)
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.003)
        if self.kind in ("rank", "all"):
            self.kill_some(ranks(self.folder))
        if self.kind in ("launcher", "all"):
            self.kill_some(launchers(self.folder))
        if self.kind in ("launcher", "rank"):
            time.sleep(self.dice.uniform(0, 0.3))  # `run` may go on with it meanwhile
            process.send_signal(signal.SIGINT)
            process.wait()
        else:
            self.kill_one(process)
        if self.kind == "cancel":
            time.sleep(self.dice.choice((0, self.dice.uniform(0, 0.6))))
            cancel = self.start("cancel", "trial.yaml", "--yes")
            time.sleep(self.dice.uniform(0, 0.06))
            self.kill_one(cancel)

    def end(self):
        """`run` until it ends, and again what was cancelled, or what lost `hpcbench rank`: its word is missing, and `retries` do not guess."""
        last = self.call(*self.run)
        again = last.returncode == 1 and self.kind in ("rank", "all", "cancel")
        return self.call("retry", "trial.yaml", "--keep-going", "--outcome", "cancelled,failed") if again else last

    def chain(self, run):
        """The attempts' folders that made the run, in order."""
        last = pathlib.Path(run["path"])
        info = json.loads((last / "run.json").read_text())["segment"]
        return info, [last.parent / f"a{attempt}" for attempt in info["before"]] + [last]

    def verify(self, last):
        """The list of what does not hold."""
        wrong = [] if last.returncode == 0 else [f"the last run ended with {last.returncode}: {last.stderr[-500:]}"]
        runs = json.loads(self.call("status", "trial.yaml", "--format", "json").stdout)["runs"]
        bad = [f"{run['run']}: {run['state']} ({run['reason']})" for run in runs if run["state"] != "succeeded"]
        if bad or len(runs) != RUNS:
            return [*wrong, f"{len(runs)} runs, not succeeded: {bad}"]
        lines = [line.rsplit(" ", 2) for line in (self.folder / "executions").read_text().splitlines()]
        twice = [path for path, count in collections.Counter(path for path, _, _ in lines).items() if count > 1]
        if twice:
            wrong.append(f"executed twice: {twice}")
        executed = {path: (int(segment), int(begin)) for path, segment, begin in lines}
        for run in runs:
            wrong += self.verify_chain(run, executed)
        if self.kind == "run":
            steps = collections.Counter((self.folder / "steps").read_text().splitlines())
            if len(steps) != RUNS * GOAL or set(steps.values()) != {1}:
                wrong.append(f"only `run` was killed, and steps were done twice: {[step for step, n in steps.items() if n > 1][:5]}")
        return wrong

    def verify_chain(self, run, executed):
        info, chain = self.chain(run)
        begun = [executed.get(str(self.folder / path)) for path in chain]
        if None in begun or [segment for segment, _ in begun] != list(range(1, len(chain) + 1)):
            return [f"{run['run']}: its segments are {begun}"]
        saved = [0] + [int((self.folder / path / "out/state").read_text()) for path in chain]
        if [begin for _, begin in begun] != saved[:-1] or saved[-1] != GOAL:
            return [f"{run['run']}: segments begin at {begun}, and the ones before had saved {saved}"]
        attempts = [path for path in executed if path.startswith(str((self.folder / chain[-1]).parent) + "/")]
        if self.kind == "run" and len(attempts) != len(chain):
            return [f"{run['run']}: only `run` was killed, and {len(attempts)} attempts executed for {len(chain)} segments"]
        return []

    def clean(self):
        kill(launchers(self.folder) + ranks(self.folder))
        shutil.rmtree(self.folder, ignore_errors=True)


def trial(number, seed):
    """How many faults it had; whether all holds."""
    each = Trial(number, seed)
    try:
        for _ in range(each.dice.randint(2, 5)):
            each.hurt()
        wrong = each.verify(each.end())
        attempts = len(list(each.folder.glob("results/trial/*/r01/a*/claim")))
        print(f"trial {number}: {each.faults} faults of {each.kind}, {attempts} attempts: {'ok' if not wrong else 'FAILED ' + '; '.join(wrong)}", flush=True)
        return each.faults, not wrong
    finally:
        each.clean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=15, help="trials until so many processes were killed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    faults, done, passed = 0, 0, 0
    while faults < options.faults or done < len(KINDS):
        hit, holds = trial(done, options.seed)
        faults, done, passed = faults + hit, done + 1, passed + holds
    print(f"Ran {done} tests with {faults} faults: {passed} passed, {done - passed} failed")
    return 0 if passed == done else 1


if __name__ == "__main__":
    sys.exit(main())
