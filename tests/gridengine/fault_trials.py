#!/usr/bin/env python3
"""Kills at random and counts, on a real Grid Engine: a study of 12 short runs, kill -9 of hpcbench at random moments, and `run` again until
it ends. tests/e2e/fault_trials.py does the same with local jobs; its `verify` says what must hold: every run succeeded and was executed
exactly once. Several trials share the Grid Engine, which this starts and stops. Exit code 77 where Grid Engine cannot run.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from fault_trials import verify  # noqa: E402
from harness import HPCBENCH  # noqa: E402

CLUSTER = ROOT / "tests/gridengine/cluster.sh"
RUNS = 12
STUDY = """
experiment: trial
command: [bash, -c, 'echo "{{run_dir}}" >> executions; sleep 0.$((RANDOM % 9))']
launch: once
matrix: {k: [1, 2, 3, 4]}
repeats: 3
"""
COMMAND = [HPCBENCH, "run", "trial.yaml", "--site", "gridengine"]
AT_ONCE = 4


def run_with_kills(folder, kills, dice, environment):
    """Starts `hpcbench run`, kills it at random moments, half of them while it submits, then lets the last one end."""
    for _ in range(kills):
        process = subprocess.Popen(COMMAND, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + dice.choice((dice.uniform(0.02, 1), dice.uniform(0.5, 8)))
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.003)
        process.kill()
        process.wait()
    return subprocess.run(COMMAND, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)


def trial(number, seed, variables):
    dice = random.Random(seed * 1_000_003 + number)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-ge-trial-", dir="/tmp")).resolve()
    folder.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HPCBENCH_")} | variables
    try:
        (folder / "trial.yaml").write_text(STUDY)
        kills = dice.randint(2, 4)
        last = run_with_kills(folder, kills, dice, environment)
        wrong = verify(folder, "hpcbench", last, environment, RUNS)
        attempts = len(list(folder.glob("results/trial/*/r*/a*")))
        print(f"trial {number}: {kills} kills, {attempts} attempts of {RUNS} runs: {'ok' if not wrong else 'FAILED ' + '; '.join(wrong)}", flush=True)
        return not wrong
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-ge-", dir="/tmp"))
    place.chmod(0o755)
    cluster = f"{place}/ge"
    try:
        started = subprocess.run(["bash", CLUSTER, "start", cluster, "--slots", "8"], stderr=subprocess.PIPE, text=True)
        if started.returncode != 0:
            print(started.stderr, end="", file=sys.stderr)
            return started.returncode
        said = subprocess.run(["bash", CLUSTER, "env", cluster], capture_output=True, text=True, check=True).stdout
        variables = dict(word.split("=", 1) for word in said.split()[1:])
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            passed = sum(pool.map(lambda number: trial(number, options.seed, variables), range(options.trials)))
    finally:
        subprocess.run(["bash", CLUSTER, "stop", cluster], capture_output=True)
        shutil.rmtree(place, ignore_errors=True)
    print(f"Ran {options.trials} tests: {passed} passed, {options.trials - passed} failed")
    return 0 if passed == options.trials else 1


if __name__ == "__main__":
    sys.exit(main())
