"""Starts hpcbench-train and reads its output."""
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from gpus import visible_gpus
from process import plain_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
NULL_GPU = "Null GPU"  # tests/gpu/null: it computes nothing
KILL_PATIENCE_S = 5
# No training of the check takes so long, even if libraries are read from a slow disk for the first time.
LONG_ENOUGH_S = 90
NO_TIME = "no time was left: --minutes gives more"


# NCCL and the trainer refuse two ranks on one GPU of one host: here each rank has its own host name, and NCCL exchanges their data by
# sockets.
AS_HOSTS = ["sh", "-c", 'hostname "gpu-check-$RANK" && exec "$@"', "sh"]


def own_name():
    """The command that starts another with a host's name of its own; empty where this machine allows none."""
    for command in (["unshare", "--uts"], ["unshare", "--user", "--map-root-user", "--uts"]):
        try:
            if subprocess.run([*command, "hostname", "gpu-check"], capture_output=True, timeout=60).returncode == 0:
                return command + AS_HOSTS
        except (OSError, subprocess.TimeoutExpired):
            pass
    return []


def usable_cores():
    """Of the machine's those that this process may use: a container often has fewer, and threads that share cores wait for each other."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):  # `max`: no quota
        return cores


@dataclass
class Training:
    exit_code: object  # None: it did not end in time, and was killed
    seconds: float
    errors: str
    events: list = field(default_factory=list)  # of rank 0; errors of all ranks

    def of_kind(self, kind):
        return [event for event in self.events if event["event"] == kind]

    @property
    def facts(self):
        return next(iter(self.of_kind("run_start")), {})

    def last_words(self):
        """Returns the message of the rank that failed first, if it printed one."""
        if self.exit_code is None:
            return f"it did not end within {self.seconds:.0f} s, and was killed; its last event: {self.events[-1]['event'] if self.events else 'none'}"
        told = [event["text"] for event in self.of_kind("error")]
        words = told or [line for line in self.errors.splitlines() if line.strip() and "failed first: exit code" not in line]
        return words[-1] if words else f"exit code {self.exit_code}"


def events_in(path):
    events = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            events.append(json.loads(line))
        except ValueError:  # the last one, of a process that was killed
            pass
    return events


class Machine:
    """The checked device, and the programs."""

    def __init__(self, programs, folder, cpu):
        self.trainer, self.hpcbench = str(programs / "hpcbench-train"), str(programs / "hpcbench")
        self.folder, self.device = folder, "cpu" if cpu else "cuda"
        gpus = [] if cpu else self.list_gpus()
        self.count = 2 if cpu else len(gpus) or int(os.environ.get("NULL_GPU_COUNT", "1"))
        self.device_name = "CPU" if cpu else gpus[0] if gpus else ""
        self.numbers_count = True  # False on a GPU that computes nothing
        self.numbers = itertools.count(1)  # of trainings
        self.kept = {}  # results that other steps need
        self.own_name = own_name() if self.device == "cuda" and self.count == 1 else []

    @property
    def is_real_gpu(self):
        return self.device == "cuda" and self.numbers_count

    @staticmethod
    def list_gpus():
        try:
            listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60).stdout
        except (OSError, subprocess.TimeoutExpired):
            return []
        return visible_gpus(listing, os.environ.get("CUDA_VISIBLE_DEVICES"))

    def worlds(self):
        """1, 2, 4 ... and all."""
        sizes = [1]
        while sizes[-1] * 2 <= self.count:
            sizes.append(sizes[-1] * 2)
        return sizes if sizes[-1] == self.count else sizes + [self.count]

    def rank_counts(self):
        """Of trainings by several ranks, which may share a GPU: that shows what they compute and notice, not how fast."""
        return self.worlds()[1:] or ([2] if self.own_name else [])

    def begin(self, arguments, ranks=1, environment=None, device=None):
        """(process, folder) of a training of that many ranks."""
        place = self.folder / "runs" / f"{next(self.numbers):03d}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        command = [self.trainer, "run", "--device", device or self.device, "--events", str(place / "events.jsonl"), *map(str, arguments)]
        if ranks > 1:
            command = [self.hpcbench, "launch", "-n", str(ranks), "--", *(self.own_name if ranks > self.count else []), *command]
        (place / "command").write_text(" ".join(command) + "\n")
        surroundings = plain_environment(**(environment or {}))
        surroundings.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // ranks)))
        with open(place / "output", "w") as output, open(place / "errors", "w") as errors:
            process = subprocess.Popen(command, cwd=place, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True, env=surroundings)
        return process, place

    def ended(self, process, place, begin_s, limit_s):
        """Waits; what is left after the limit is killed."""
        try:
            exit_code = process.wait(max(0.1, limit_s))
        except subprocess.TimeoutExpired:
            exit_code = None
        seconds = time.monotonic() - begin_s
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
                try:
                    process.wait(KILL_PATIENCE_S)
                except subprocess.TimeoutExpired:
                    pass
        training = Training(exit_code, seconds, (place / "errors").read_text(errors="replace"), events_in(place / "events.jsonl"))
        for path in sorted(place.glob("events.jsonl.*")):
            training.events += [event for event in events_in(path) if event["event"] == "error"]
        model = training.facts.get("gpu_model")
        if model and self.device == "cuda":
            self.device_name = model
            self.numbers_count = self.numbers_count and not model.startswith(NULL_GPU)
        return training

    def train(self, arguments, deadline_s, ranks=1, environment=None, device=None):
        begin_s = time.monotonic()
        process, place = self.begin(arguments, ranks, environment, device)
        return self.ended(process, place, begin_s, min(LONG_ENOUGH_S, deadline_s - begin_s))


def row(name, status, **values):
    """The result of a step: passed, failed or not measured; `why` is the reason if it did not pass."""
    return {"name": name, "status": status, **values}


def out_of_time(name):
    return row(name, "not measured", why=NO_TIME)


def unmeasured(training):
    """Status and values of a training that failed, or that was killed: it hangs, or there was no time for it."""
    out = training.exit_code is None and training.seconds < LONG_ENOUGH_S
    return "not measured" if out else "failed", {"why": NO_TIME if out else training.last_words()}


def unended(name, training):
    """The row of one that was killed."""
    status, values = unmeasured(training)
    return row(name, status, **values)


def run_limited(command, limit_s, **options):
    """A CompletedProcess; subprocess.TimeoutExpired when the limit is over, and whatever the command has started is then killed, too: it would spoil what is measured next."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options) as process:
        try:
            output, errors = process.communicate(timeout=max(1, limit_s))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


MNIST = ["--task", "mnist_rnn", "--data", ROOT / "data/mnist", "--eval", "false", "--log-every", 1]
SQUAD = ["--task", "bert_squad", "--data", ROOT / "data/squad2-excerpt.json", "--vocab", ROOT / "data/bert-base-uncased-vocab.txt", "--train-share", 0.9,
         "--eval", "false", "--log-every", 1]
NONDETERMINISTIC = "hpcbench-train-nondeterministic"  # with `deterministic: false`
GRAPHS = "hpcbench-train-graphs"  # with `cuda_graphs: true`, which takes padded steps
PYTHON = os.environ.get("HPCBENCH_CHECK_PYTHON", sys.executable)
