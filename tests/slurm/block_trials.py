#!/usr/bin/env python3
"""Faults on a real Slurm while runs are in blocks, and executions counted by the runs' own hand: fault_trials.py for `allocation: {per: block}`.

Must hold in every trial: no attempt executed twice, every run ends with one attempt that counts and succeeded, and what had not begun when
an allocation ended early was handed out again: beyond the 24 runs at most so many attempts executed as allocations were hurt.
"""
import collections
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fault_trials  # noqa: E402
from fault_trials import SBATCH_FAULTS, HPCBENCH, RUNS, Cluster, Trial  # noqa: E402

STUDY = """
experiment: trial
command: [bash, -c, 'echo "$1" >> executions; sleep 0.$((RANDOM % 6))', bash, "{{run_dir}}"]
matrix: {k: [1, 2, 3, 4, 5, 6]}
repeats: 4
resources: {time: 60s}
allocation: {per: block}
retries: {lost: 20, node_failure: 20, preempted: 20, failed: 20}
"""
# As many runs, in blocks of two nodes: half of them have one node, and an execution is counted by rank 0.
MIXED = (STUDY.replace('echo "$1" >> executions;', '[ $RANK != 0 ] || echo "$1" >> executions;').replace("{per: block}", "{per: block, shapes: mixed, idle: 50 %}")
         .replace("k: [1, 2, 3, 4, 5, 6]", "nodes: [1, 2], k: [1, 2, 3]") + "launch: node\n")
# Two at a time on cores of their own; a node is this machine, which has no cores for a second block.
PACKED = STUDY.replace("{per: block}", "{per: block, side_by_side: 2, numa: shared}").replace("{time: 60s}", "{time: 60s, mem: 100M, exclusive: true}")
# What ends an allocation, or a run in it. Each hurts at most this many runs: those that were going on. A node has place for all four blocks.
HURT = {"launcher": 1, "srun": 1, "step": 1, "block": 1, "own-signal": 1, "node-down": 4, "slurmd": 4, "controller": RUNS, "preempted": 4}
FAULTS = ["killed-anywhere", *HURT, "dies-after", "silent", "socket-accepted", "garbage", "killed-after", "two-at-once"]
# A minute and more each: a run whose launcher died counts as lost when its finished.json has not come for a minute.
SLOW = {"launcher", "slurmd", "controller", "killed-before"}


class BlockTrial(Trial):
    def __init__(self, number, fault, seed, cluster, prepared):
        super().__init__(number, fault, seed, cluster, False)
        kinds = {"": STUDY, "mixed": MIXED, **({"packed": PACKED} if len(os.sched_getaffinity(0)) > 1 else {})}
        self.noticed = self.dice.choice(list(kinds))
        self.at_a_time = 2 if self.noticed == "packed" else 1
        (self.folder / "trial.yaml").write_text(kinds[self.noticed])
        site = "executor: slurm\ngres_type: none\n" + self.dice.choice(["", "limits: {max_queued: 2}\n", "limits: {max_running: 2}\n"])
        if fault == "preempted":
            site += "partition: evictable\n"
        (self.folder / "site.yaml").write_text(site)

    def claims_of_blocks(self):
        """[{token, job, pid ...}, ...] of blocks whose launcher runs."""
        claims = []
        for path in self.folder.glob("results/trial/batches/*/block-*/claim"):
            claim = dict(line.split(" ", 1) for line in path.read_text().splitlines() if " " in line)
            if "pid" in claim and pathlib.Path(f"/proc/{claim['pid']}").exists():
                claims.append(claim)
        return claims

    def begin(self):
        """Starts `run` and waits for a block that runs, and then a while."""
        process = self.start()
        self.wait_for(lambda: self.claims_of_blocks() or process.poll() is not None, "a block that runs")
        time.sleep(self.dice.uniform(0, 1.2))
        if self.dice.random() < 0.5:
            process.kill()
        return process

    def hurt(self, what):
        process = self.begin()
        claims = self.claims_of_blocks()
        if claims:
            claim = self.dice.choice(claims)
            what(claim)
            self.noticed += f"{', ' if self.noticed else ''}job {claim['job']}"
        process.wait(timeout=480)
        return self.end()

    def end(self):
        """`run` until it ends, and again what somebody cancelled, or what lost a rank without a word."""
        done = self.last()
        if done.returncode == 1:
            again = [HPCBENCH, "retry", *self.command[2:], "--outcome", "cancelled,failed"]
            done = subprocess.run(again, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=480)
        return done

    def run_launcher(self):
        return self.hurt(lambda claim: self.kill(claim["pid"], "KILL"))

    def run_own_signal(self):
        return self.hurt(lambda claim: self.kill(claim["pid"], "TERM"))

    @staticmethod
    def kill(pid, signal):
        subprocess.run(["kill", f"-{signal}", str(pid)], stderr=subprocess.DEVNULL)

    def run_srun(self):
        def kill_srun(claim):
            for child in self.children(claim["pid"]):
                self.kill(child, "KILL")
        return self.hurt(kill_srun)

    @staticmethod
    def children(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return []

    def run_step(self):
        def end_step(claim):
            for _ in range(20):  # it may be between two
                steps = self.cluster.tool("squeue", "-h", "-s", "-o", "%i", code=None).split()
                steps = [step for step in steps if step.startswith(claim["job"] + ".") and step.rpartition(".")[2].isdigit()]
                if steps:
                    return self.cluster.tool("scancel", steps[0], code=None)
        return self.hurt(end_step)

    def run_block(self):
        return self.hurt(lambda claim: self.cluster.tool("scancel", claim["job"], code=None))

    def run_preempted(self):
        def preempt(claim):
            self.cluster.tool("sbatch", "-p", "urgent", "-N4", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")
        return self.hurt(preempt)

    def node_of(self, claim):
        nodes = [nodes for job, _, _, nodes in self.cluster.jobs("R") if job == claim["job"]]
        return self.dice.choice(self.cluster.tool("scontrol", "show", "hostnames", nodes[0]).split()) if nodes and nodes[0] else "n0"

    def run_node_down(self):
        down = []

        def lose(claim):
            down.append(self.node_of(claim))
            self.cluster.tool("scontrol", "update", f"nodename={down[0]}", "state=down", "reason=trial")
            time.sleep(1)
            self.cluster.tool("scontrol", "update", f"nodename={down[0]}", "state=resume", code=None)  # it may be back by itself
        return self.hurt(lose)

    def run_slurmd(self):
        killed = []

        def lose(claim):
            killed.append(self.node_of(claim))
            self.cluster.kill(killed[0])
        try:
            return self.hurt(lose)
        finally:
            for node in killed:
                self.cluster.revive(node)

    def run_controller(self):
        process = self.begin()
        self.cluster.kill("ctld")
        time.sleep(self.dice.uniform(0, 2))
        self.cluster.revive("ctld")
        with self.cluster.attended():
            process.wait(timeout=480)
            return self.end()

    def wrong(self, done):
        found = super().wrong(done)
        executed = collections.Counter(line.removesuffix("/out") for line in (self.folder / "executions").read_text().splitlines())
        more = len(executed) - RUNS
        if more > self.at_a_time * HURT.get(self.fault, 0):
            found.append(f"{more} attempts beyond the {RUNS} runs executed")
        voids = 0
        for claim in self.folder.glob("results/trial/*/r*/a*/claim"):
            voids += claim.read_text().startswith("revoked void: ")
        self.noticed += f"{', ' if self.noticed else ''}{max(more, 0)} more executed, {voids} handed out again"
        return found


def schedule(trials, long):
    faults = FAULTS if long else [fault for fault in FAULTS if fault not in SLOW]
    return (faults * trials)[:trials]


fault_trials.Trial = BlockTrial
fault_trials.Cluster = lambda: Cluster("--set", "TaskPlugin=task/affinity")
fault_trials.FAULTS = FAULTS
fault_trials.LONG_FAULTS = []
fault_trials.HURTS_JOBS = set(HURT)
fault_trials.KILLS_CONTROLLER = {"controller"}
fault_trials.schedule = schedule

if __name__ == "__main__":
    sys.exit(fault_trials.main())
