#!/usr/bin/env python3
"""One rank of a training dies, hangs, throws, runs out of memory, or the loss is no number: every rank must end within
the timeout, and report the same root cause. All ranks are killed while they save: the next ones continue from a whole checkpoint.

usage: fault_trials.py BIN [--long] [--seed N]     BIN: the folder of hpcbench-train and trainer_fault_worker

10 trials, with --long 35, half of them through Gloo, half through shared memory. Each is drawn from a seed: strategy, ranks, which
rank, which step.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "bench"))
from ports import free_port  # noqa: E402

DATA = os.path.join(HERE, "..", "..", "..", "data", "mnist")
KINDS = ["kill", "exception", "save", "stop", "memory", "nan", "exception"]
STRATEGIES = ["zero1", "fsdp", "ddp", "zero2"]
KILLED_SAVES = 4  # of a trial
# Within it every rank must also have read its data: on a loaded machine that took one of them more than 4 s.
TIMEOUT_S = 20
# Time that an end may take beyond the timeout: the search for silent ranks, the readers of rank 0's store, a loaded machine.
GRACE_S = 40


class Ranks:
    """The processes of one run; their stderr and events are files below `folder`."""

    def __init__(self, folder, size, command):
        port = free_port()
        self.folder = folder
        self.processes = []
        for rank in range(size):
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "HPCBENCH_"))}
            environment.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size),
                               MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
            with open(self.path("err", rank), "wb") as err:
                self.processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=err))

    def path(self, what, rank):
        return os.path.join(self.folder, f"{what}.{rank}")

    def events(self, rank):
        name = os.path.join(self.folder, "events.jsonl" + (f".{rank}" if rank else ""))
        try:
            with open(name, encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def wait_for_step(self, step, limit_s=120):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if any(event["event"] == "step" and event["step"] >= step for event in self.events(0)):
                return
            if any(process.poll() is not None for process in self.processes):
                raise AssertionError("a rank ended before the fault: " + self.words())
            time.sleep(0.02)
        raise AssertionError("the training does not get on")

    def wait(self, ranks, limit_s):
        """Seconds until these ranks have ended."""
        start = time.monotonic()
        for rank in ranks:
            try:
                self.processes[rank].wait(max(0.1, limit_s - (time.monotonic() - start)))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"rank {rank} hangs for more than {limit_s} s") from None
        return time.monotonic() - start

    def err(self, rank):
        with open(self.path("err", rank), encoding="utf-8", errors="replace") as file:
            return file.read()

    def words(self):
        return "; ".join(f"rank {rank} ({process.poll()}): {self.err(rank)}" for rank, process in enumerate(self.processes))

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def command_of(folder, programs, kind, strategy, exchange, rank, step):
    options = ["run", "--task", "mnist_rnn", "--data", DATA, "--strategy", strategy, "--exchange", exchange, "--batch-size", "8", "--hidden", "16",
               "--max-steps", "1000000", "--eval", "false", "--log-every", "1", "--timeout", str(TIMEOUT_S), "--bind", "false",
               "--events", os.path.join(folder, "events.jsonl")]
    if kind == "nan":
        options += ["--optimizer", "sgd", "--lr", "1e30"]
    if kind == "save":
        options += ["--checkpoint", "last", "--checkpoint-every", "1"]
    if kind in ("exception", "memory"):
        return [os.path.join(programs, "trainer_fault_worker"), kind, str(rank), str(step)] + options
    return [os.path.join(programs, "hpcbench-train")] + options


def check_causes(ranks, kind, victim, step):
    """The root cause, once and in every rank's words: by the victim itself where it could still speak."""
    silent = kind in ("kill", "stop")
    speakers = [r for r in range(len(ranks.processes)) if not (silent and r == victim)]
    for rank in speakers:
        text = ranks.err(rank)
        errors = [line for line in text.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, f"rank {rank} reports {len(errors)} errors: {text}"
        if kind == "nan":
            assert "the loss is" in errors[0] and "step" in errors[0], errors[0]
        elif silent:
            expected = "rank 0, which holds the store" if victim == 0 else f"rank {victim} ended or hangs"
            assert expected in errors[0], errors[0]
        else:
            cause = "a fault that a trial requested" if kind == "exception" else "allocate memory"
            assert f"rank {victim} on " in errors[0] and cause in errors[0] and f"step {step}" in errors[0], errors[0]
            assert ("another rank failed first" in errors[0]) == (rank != victim), errors[0]
        recorded = [event for event in ranks.events(rank) if event["event"] == "error"]
        assert len(recorded) == 1, f"rank {rank} has {len(recorded)} error events"
    if kind == "memory":
        assert any(event.get("code") == "out_of_memory" for event in ranks.events(victim)), "no code out_of_memory"


def saved_step(ranks):
    return max((event["step"] for event in ranks.events(0) if event["event"] == "checkpoint"), default=0)


def run_save_trial(programs, number, draw):
    """Every step is saved, in shards or whole, and after some steps all ranks are killed at once, again and again. Each start continues where
    the last whole checkpoint was: not before one that was reported, and not behind what was trained."""
    size = draw.choice([2, 3])
    reported, trained, words = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for start in range(KILLED_SAVES + 1):
            strategy, form = draw.choice(STRATEGIES), draw.choice(["sharded", "sharded", "whole"])
            place = os.path.join(folder, str(start))
            os.mkdir(place)
            command = command_of(place, programs, "save", strategy, "shared_memory", 0, 0)
            command += ["--output", folder, "--checkpoint-format", form]
            command += ["--resume", os.path.join(folder, "checkpoint")] if start else []
            ranks = Ranks(place, size, command)
            try:
                ranks.wait_for_step(trained + 2 if start else draw.randrange(2, 12))
                time.sleep(draw.uniform(0, 0.05))
            finally:
                ranks.end()
            steps = [event["step"] for event in ranks.events(0) if event["event"] == "step"]
            assert reported < steps[0] <= trained + 1, f"{words}, {strategy}: continues with step {steps[0]}, saved {reported}, trained {trained}"
            reported, trained = max(reported, saved_step(ranks)), steps[-1] + 1  # a step may be saved before it is recorded
            words.append(f"{strategy} {form}: steps {steps[0]} to {steps[-1]}")
    print(f"trial {number}: save, killed {len(words)} times, {size} ranks: {'; '.join(words)}", flush=True)


def run_trial(programs, number, seed):
    draw = random.Random(f"{seed}/{number}")
    kind = KINDS[number % len(KINDS)]
    if kind == "save":
        run_save_trial(programs, number, draw)
        return
    strategy = STRATEGIES[(number + number // len(KINDS)) % len(STRATEGIES)]
    exchange = "gloo" if (number + number // len(KINDS)) % 2 else "shared_memory"
    size = draw.choice([2, 3])
    victim = draw.randrange(size)
    step = draw.randrange(2, 12)
    words = f"trial {number}: {kind}, {strategy}, {exchange}, rank {victim} of {size}, step {step}"
    with tempfile.TemporaryDirectory() as folder:
        ranks = Ranks(folder, size, command_of(folder, programs, kind, strategy, exchange, victim, step))
        try:
            if kind in ("kill", "stop"):
                ranks.wait_for_step(step)
                os.kill(ranks.processes[victim].pid, signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
            others = [r for r in range(size) if not (kind == "stop" and r == victim)]
            limit_s = TIMEOUT_S + GRACE_S + (120 if kind in ("exception", "memory", "nan") else 0)  # these begin with the start
            seconds = ranks.wait(others, limit_s)
            assert all(ranks.processes[r].returncode != 0 for r in others), "a rank ended as if all was well"
            check_causes(ranks, kind, victim, step)
        finally:
            ranks.end()
    print(f"{words}: all ended after {seconds:.1f} s, root cause right", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failures = 0
    for number in range(35 if arguments.long else 10):
        try:
            run_trial(arguments.programs, number, arguments.seed)
        except AssertionError as error:
            failures += 1
            print(f"trial {number} FAILED: {error}", flush=True)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
