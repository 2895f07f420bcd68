#!/usr/bin/env python3
"""Faults on a real Slurm, and executions counted by the runs' own hand.

A study of 24 short runs, one fault (below), hpcbench killed with -9 now and then, and `run` again until it ends. Must hold in every
trial: no attempt executed twice, every run ends with one attempt that counts and succeeded; and where no job was hurt (all but
`controller` and `node`), no run executed more than once. So for preparations, which have jobs of their own: no attempt made twice, one
of each instance ended well, and runs were given its folder.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import HPCBENCH, SKIPPED, Cluster  # noqa: E402
import unittest  # noqa: E402

RUNS = 24
STUDY = """
experiment: trial
command: [bash, -c, 'echo "$1" >> executions; sleep 0.$((RANDOM % 6))', bash, "{{run_dir}}"]
launch: once
matrix: {k: [1, 2, 3, 4, 5, 6]}
repeats: 4
resources: {time: "00:05:00"}
retries: {lost: 20, node_failure: 20}
"""
# The same with what jobs of their own make before: two instances, each for half of the runs.
PREPARED = STUDY.replace('bash, "{{run_dir}}"]', 'bash, "{{run_dir}}", "{{build.dir}}"]').replace(
    'echo "$1" >> executions', 'echo "$1" >> executions; echo "$2" >> given') + """
derive: {half: k % 2}
prepare:
  build: {command: [bash, -c, 'echo "$1" >> makings; sleep 0.$((RANDOM % 6))', bash, "{{build.dir}}", "{{half}}"], on: job}
"""
# What the first calls of sbatch do instead; REAL is Slurm's own. Each fault happens ONCE times.
ONCE = 'n=$(wc -l < CALLS/sbatch); [ "$n" -gt TIMES ] || { '
SBATCH_FAULTS = {
    "dies-after": 'REAL "$@" > /dev/null; kill -9 $$',
    "dies-before": "kill -9 $$",
    "garbage": 'REAL "$@" > /dev/null; echo "sbatch: %%@ job ;;;"; exit 0',
    "silent": 'REAL "$@" > /dev/null; exit 0',
    "socket-accepted": 'REAL "$@" > /dev/null; echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1',
    "socket-rejected": 'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1',
    "slow": 'sleep 1.5; REAL "$@"; exit $?',
    # The controller's answer is lost with the caller: hpcbench dies between intent and sbatch, or between sbatch and id.
    "killed-before": "kill -9 $PPID; exit 1",
    "killed-after": 'REAL "$@" > /dev/null; kill -9 $PPID; exit 0',
    "killed-during": 'kill -9 $PPID; sleep 1; REAL "$@"; exit 0',
}
HANG = 'REAL "$@" > /dev/null; echo $$ > CALLS/hanging; exec sleep 300; }\n'
CONNECT_FAILURE = 'echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1\n'
FAULTS = ["killed-anywhere", *SBATCH_FAULTS, "hangs", "squeue", "controller", "started-again", "node", "two-at-once"]
# A minute or more each, and only with --long: an sbatch that is waited for until hpcbench ends it, a squeue that fails for a minute.
LONG_FAULTS = ["hangs-until-killed", "squeue-minute"]
HURTS_JOBS = {"controller", "started-again", "node"}
# After kill -9 and a new start the controller of Slurm 22.05 may count GPUs as used for ever that no job has (`scontrol -d show node`:
# GresUsed): jobs that ask for one then wait for ever. That is Slurm's; these trials ask for none.
KILLS_CONTROLLER = {"controller", "started-again"}
# These wait for an answer of Slurm that is known to be complete, half a minute apart, or for a timeout: a few are enough in the short form.
SLOW = {"dies-before", "socket-rejected", "killed-before", "hangs", "node"}


class Trial:
    begun = []  # processes of all trials: what an interrupt has to end

    def __init__(self, number, fault, seed, cluster, prepared):
        self.fault = fault
        self.prepared = prepared
        self.started = []
        self.noticed = ""  # what happened that the fault is about and that chance decides
        self.dice = random.Random(f"{seed}/{number}")
        self.cluster = cluster
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-trial-")).resolve()
        (self.folder / "trial.yaml").write_text(PREPARED if prepared else STUDY)
        site = "executor: slurm\n" + self.dice.choice(["", "limits: {max_queued: 9}\n", "limits: {max_running: 3}\n"])
        if fault in KILLS_CONTROLLER:
            site += "gres_type: none\n"
        (self.folder / "site.yaml").write_text(site)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("HPCBENCH_", "SLURM_"))}
        self.environment.update(cluster.environment(), XDG_CONFIG_HOME=str(self.folder / "none"), SQUEUE_PARTITION="closed")
        self.command = [HPCBENCH, "run", "trial.yaml", "--site", "./site.yaml"]

    def start(self):
        process = subprocess.Popen(self.command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        self.started.append(process)
        self.begun.append(process)
        return process

    def kill_after(self, longest_s):
        process = self.start()
        time.sleep(self.dice.uniform(0.01, longest_s))
        process.kill()
        process.wait()

    def last(self):
        return subprocess.run(self.command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=480)

    def run(self):
        if self.fault in SBATCH_FAULTS:
            times = str(self.dice.choice([1, 1, 2]))
            self.cluster.fault("sbatch", ONCE.replace("TIMES", times) + SBATCH_FAULTS[self.fault] + "; }\n")
            for _ in range(int(times)):
                # Half of the doubtful submissions are settled by the hpcbench that made them, half by another.
                if self.fault.startswith("killed"):
                    self.start().wait(timeout=480)
                elif self.dice.random() < 0.5:
                    self.kill_after(2)
            return self.last()
        return getattr(self, "run_" + self.fault.replace("-", "_"))()

    def run_killed_anywhere(self):
        for _ in range(self.dice.randint(2, 5)):
            self.kill_after(1.0)
        return self.last()

    def run_hangs(self):
        self.cluster.fault("sbatch", ONCE.replace("TIMES", "1") + HANG)
        self.kill_after(3)
        return self.last()

    def run_hangs_until_killed(self):
        self.cluster.fault("sbatch", ONCE.replace("TIMES", "1") + HANG)
        return self.last()

    def run_squeue(self):
        self.cluster.fault("squeue", CONNECT_FAILURE)
        self.kill_after(8)
        process = self.start()
        calls = self.cluster.count("squeue")
        self.wait_for(lambda: self.cluster.count("squeue") >= calls + 2 or process.poll() is not None, "calls of squeue that fail")
        self.cluster.fault("squeue", None)
        process.wait(timeout=480)
        return self.last()

    def run_squeue_minute(self):
        """A whole minute, longer than any of the waits after which something that squeue lacks counts as gone."""
        process = self.start()
        time.sleep(self.dice.uniform(0.1, 2))
        self.cluster.fault("squeue", CONNECT_FAILURE)
        for _ in range(2):
            time.sleep(self.dice.uniform(25, 35))
            if self.dice.random() < 0.5:
                process.kill()
                process.wait()
                process = self.start()
        self.cluster.fault("squeue", None)
        process.wait(timeout=480)
        return self.last()

    def run_controller(self):
        process = self.start()
        time.sleep(self.dice.uniform(0.1, 3))
        before = self.names_by_id()
        self.cluster.kill("ctld")
        if self.dice.random() < 0.5:
            process.kill()
            process.wait()
        time.sleep(self.dice.uniform(0, 2))
        self.cluster.revive("ctld")
        # Ids that were lost are given to others.
        for _ in range(self.dice.randint(1, 8)):
            self.cluster.tool("sbatch", "-o", "/dev/null", "--wrap", "true", code=None)
        after = self.names_by_id()
        lost = [job for job in before if job not in after]
        reused = [job for job in before if after.get(job, before[job]) != before[job]]
        self.noticed = f"{len(lost)} arrays lost, {len(reused)} ids given to others"
        with self.cluster.attended():
            done = self.last()
            process.wait(timeout=480)
        return done

    def names_by_id(self):
        return {job.partition("_")[0]: name for job, _, name, _ in self.cluster.jobs()}

    def run_started_again(self):
        """The controller is killed when it has saved that jobs wait and not yet that they run: it starts them a second time."""
        self.cluster.tool("scontrol", "update", "partitionname=main", "state=down")
        process = self.start()
        self.wait_for(lambda: self.cluster.jobs("PD"), "jobs in the queue")
        self.cluster.wait_until_saved()
        self.cluster.tool("scontrol", "update", "partitionname=main", "state=up")
        self.wait_for(lambda: next(self.folder.glob("results/*/*/r*/a1/claim"), None), "a job that runs")
        time.sleep(self.dice.uniform(0, 0.5))
        self.cluster.kill("ctld")
        begun = {path.read_text().splitlines()[1].removeprefix("job ") for path in self.folder.glob("results/*/*/r*/a1/claim")}
        if self.dice.random() < 0.5:
            process.kill()
            process.wait()
        time.sleep(self.dice.uniform(0, 2))
        self.cluster.revive("ctld")
        again = {job for job, state, *_ in self.cluster.jobs() if state == "PENDING"} & begun
        self.noticed = f"{len(again)} of {len(begun)} jobs that had begun waited again"
        self.cluster.tool("scontrol", "update", "partitionname=main", "state=up")
        with self.cluster.attended():
            done = self.last()
            process.wait(timeout=480)
        return done

    @staticmethod
    def wait_for(condition, what):
        for _ in range(1200):
            if condition():
                return
            time.sleep(0.05)
        raise RuntimeError(f"waited a minute for {what}")

    def run_node(self):
        process = self.start()
        time.sleep(self.dice.uniform(0.3, 2))
        node = self.dice.choice(["n0", "n1"])
        self.cluster.kill(node)
        try:
            done = self.last()
            process.wait(timeout=480)
        finally:
            self.cluster.revive(node)
        return done

    def run_two_at_once(self):
        first = self.start()
        time.sleep(self.dice.uniform(0, 0.5))
        second = self.start()
        if self.dice.random() < 0.5:
            time.sleep(self.dice.uniform(0, 1))
            first.kill()
        first.wait(timeout=480)
        second.wait(timeout=480)
        return self.last()

    def wrong(self, done):
        """What does not hold."""
        found = []
        if done.returncode != 0:
            found.append(f"the last run ended with {done.returncode}: {done.stderr[-600:]}")
        status = subprocess.run([HPCBENCH, "status", "trial.yaml", "--site", "./site.yaml", "--format", "json"], cwd=self.folder,
                                env=self.environment, capture_output=True, text=True, timeout=300)
        runs = json.loads(status.stdout)["runs"]
        bad = [f"{run['run']}: {run['state']} ({run['reason']})" for run in runs if run["state"] != "succeeded"]
        if bad or len(runs) != RUNS:
            found.append(f"{len(runs)} runs, not succeeded: {bad}")
        executed = collections.Counter(line.removesuffix("/out") for line in (self.folder / "executions").read_text().splitlines())
        twice = [path for path, count in executed.items() if count > 1]
        if twice:
            found.append(f"executed twice: {twice}")
        found += [f"{run['path']} counts and executed {executed[run['path']]} times" for run in runs if executed[run["path"]] != 1]
        per_run = collections.Counter(str(pathlib.Path(path).parent) for path in executed.elements())
        if self.fault not in HURTS_JOBS and any(count != 1 for count in per_run.values()):
            found.append(f"runs that executed more than once: {[p for p, c in per_run.items() if c != 1]}")
        return found + (self.wrong_preparations() if self.prepared else [])

    def wrong_preparations(self):
        makings = collections.Counter(line.removesuffix("/out") for line in (self.folder / "makings").read_text().splitlines())
        twice = [path for path, count in makings.items() if count > 1]
        found = [f"made twice: {twice}"] if twice else []
        given = {line.removesuffix("/out") for line in (self.folder / "given").read_text().splitlines()}
        instances = {path.parent for path in self.folder.glob("results/trial/prepare/*/a*")}
        if len(instances) != 2:
            found.append(f"{len(instances)} instances")
        for instance in instances:
            attempts = sorted(instance.glob("a*"))
            made = [str(path) for path in attempts if (path / "finished.json").exists()]
            if len(made) != 1 or given & set(map(str, attempts)) != set(made):
                found.append(f"{instance.name}: of {len(attempts)} attempts {made} ended well; runs were given {sorted(given)}")
            begun = sum(makings[str(path)] for path in attempts)
            if self.fault not in HURTS_JOBS and begun != 1:
                found.append(f"{instance.name} was made {begun} times")
        self.noticed += f"{', ' if self.noticed else ''}{len(list(self.folder.glob('results/trial/prepare/*/a*')))} attempts of 2 preparations"
        return found

    def clean(self, keep):
        for process in self.started:
            process.kill()
            process.wait()
        self.cluster.end_hanging()
        if keep:
            self.cluster.describe(self.folder / "slurm-log")
        self.cluster.fault("sbatch", None)
        self.cluster.fault("squeue", None)
        self.cluster.free_all()
        if self.fault in KILLS_CONTROLLER and self.cluster.answers():
            self.cluster.skip_job_ids()
        self.cluster.forget_calls()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def schedule(trials, long):
    faults = FAULTS + LONG_FAULTS if long else [fault for fault in FAULTS if fault not in SLOW]
    if not long and trials >= len(FAULTS):
        faults = FAULTS + faults * trials
    return (faults * trials)[:trials]


class Tally:
    """Takes trials from one list and counts what came of them, for as many clusters as there are."""

    def __init__(self, options):
        self.options = options
        self.waiting = list(enumerate([options.fault] * options.trials if options.fault else schedule(options.trials, options.long)))
        self.count = len(self.waiting)
        self.passed = 0
        self.executions = 0
        self.lock = threading.Lock()

    def next(self):
        with self.lock:
            return self.waiting.pop(0) if self.waiting else None

    def work(self, clusters, place):
        """Makes trials on one of the clusters until none is left. Where Slurm's own controller was left dead or hanging, which says
        nothing of hpcbench, a trial that failed is made a second time, on a new cluster that takes the place."""
        while waiting := self.next():
            number, fault = waiting
            if not self.is_settled(self.trial(number, fault, clusters[place]), number):
                clusters[place].stop()
                clusters[place] = Cluster()
                self.is_settled(self.trial(number, fault, clusters[place]), number, second=True)

    def trial(self, number, fault, cluster):
        # Of jobs that are started again the controller must have saved all, and runs are submitted after what they need is made.
        prepared = fault != "started-again" and (self.options.preparations or number % 3 == 0)
        return Trial(number, fault, self.options.seed, cluster, prepared)

    def is_settled(self, trial, number, second=False):
        """Makes the trial and counts it; False: not counted, since its controller does not answer any more."""
        start = time.monotonic()
        executions = 0
        try:
            wrong = trial.wrong(trial.run())
            executions = len((trial.folder / "executions").read_text().splitlines())
        except Exception as error:  # a trial that breaks is a trial that failed
            wrong = [repr(error)]
        settled = second or not wrong or trial.cluster.answers()
        if not settled:
            trial.noticed = f"Slurm's controller does not answer, its process is {trial.cluster.controller()}: once more, on a new cluster"
        with self.lock:
            self.passed += not wrong
            self.executions += executions
            print(f"trial {number} {trial.fault} ({time.monotonic() - start:.1f} s): {'ok' if not wrong else 'FAILED ' + '; '.join(wrong)}"
                  f"{' (' + trial.noticed + ')' if trial.noticed else ''}"
                  f"{' in ' + str(trial.folder) if wrong and self.options.keep else ''}", flush=True)
        trial.clean(self.options.keep and wrong)
        return settled


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", choices=FAULTS + LONG_FAULTS, help="only this one")
    parser.add_argument("--preparations", action="store_true", help="jobs make something before, in every trial; else in each third")
    parser.add_argument("--long", action="store_true", help="the slow faults as often as the others, and those that take a minute")
    parser.add_argument("--clusters", type=int, default=1, help="so many side by side, each with trials of its own")
    parser.add_argument("--keep", action="store_true", help="leave the folders of trials that failed, with the logs of Slurm")
    options = parser.parse_args()
    clusters = []
    begin = time.monotonic()
    try:
        for _ in range(options.clusters):
            clusters.append(Cluster())
        tally = Tally(options)
        workers = [threading.Thread(target=tally.work, args=(clusters, place), daemon=True) for place in range(len(clusters))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    finally:
        for process in Trial.begun:
            process.kill()
        for cluster in clusters:
            cluster.stop()
    print(f"{tally.executions} executions counted in {time.monotonic() - begin:.0f} s")
    print(f"Ran {tally.count} tests: {tally.passed} passed, {tally.count - tally.passed} failed")
    return 0 if tally.passed == tally.count else 1


if __name__ == "__main__":
    sys.exit(main())
