"""Causes faults on purpose: each must be noticed and named, and the training must end in time."""
import os
import pathlib
import signal
import time

from trainer import MNIST, SQUAD, events_in, out_of_time, row, unmeasured

# NCCL connects within the first one, too, if its libraries have not been read before.
TIMEOUT_S, GRACE_S = {"cuda": 10, "cpu": 5}, 5
# NCCL logs when it begins to connect. On the null GPU it would have ended at once.
CONNECTING = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT", "NCCL_DEBUG_FILE": "nccl.%p.log", "NULL_GPU_FAULT": "ncclCommInitRankConfig:1:hang"}
LONG = [*MNIST, "--global-batch", 64, "--epochs", 500, "--strategy", "ddp", "--log-every", 1]


def ranks_of(launch):
    """Pids of the trainer's processes below a `hpcbench launch`, by rank."""
    found = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if not (place / "cmdline").read_bytes().split(b"\0")[0].endswith(b"hpcbench-train"):
                continue
            words = dict(word.split(b"=", 1) for word in (place / "environ").read_bytes().split(b"\0") if b"=" in word)
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == launch.pid and b"RANK" in words:
            found[int(words[b"RANK"])] = int(place.name)
    return found


def wait_for(condition, seconds):
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.02)
    return False


def no_gpu(machine, deadline_s):
    if machine.device == "cpu":
        return "not measured", {"why": "this is about GPUs"}
    training = machine.train([*MNIST, "--max-steps", 1], deadline_s, environment={"CUDA_VISIBLE_DEVICES": "", "NULL_GPU_COUNT": "0"})
    if training.exit_code is None:
        return unmeasured(training)
    named = training.exit_code == 2 and "no GPU is visible" in training.errors
    return "passed" if named else "failed", {"said": training.last_words(), **({} if named else {"why": "wanted: exit code 2, no GPU is visible"})}


def out_of_memory(machine, deadline_s):
    """More than any GPU has, in the forward pass; the parameters of the model fit."""
    if machine.device == "cpu":
        return "not measured", {"why": "it would take the machine's own memory"}
    training = machine.train([*SQUAD, "--model", "large", "--batch-size", 4096, "--max-length", 512, "--padding", "max", "--max-steps", 2], deadline_s)
    if training.exit_code is None:
        return unmeasured(training)
    told = [event for event in training.of_kind("error") if event.get("code") == "out_of_memory"]
    named = training.exit_code == 1 and bool(told)
    return "passed" if named else "failed", {"said": told[0]["text"] if told else training.last_words(),
                                             **({} if named else {"why": "wanted: exit code 1 and an error event with the code out_of_memory"})}


BASE = [*SQUAD, "--model", "base", "--batch-size", 4, "--max-steps", 1]


def limited(share, step):
    """The process may take `share` of what the training needs: then the step (`step`; else nothing) begins. Of BERT-base with a batch of 4 gradients
    are a sixth of it, so that 0.93 is too little for them alone."""
    def fault(machine, deadline_s):
        if machine.device == "cpu":
            return "not measured", {"why": "this is about GPUs"}
        whole = machine.kept.get("whole") or machine.train(BASE, deadline_s)
        end = next(iter(whole.of_kind("run_end")), None)
        if end is None:
            return unmeasured(whole)
        machine.kept["whole"] = whole
        limit = share * end["max_device_bytes"] / int(whole.facts["gpu_memory_bytes"])
        training = machine.train(BASE, deadline_s, environment={"PYTORCH_CUDA_ALLOC_CONF": f"per_process_memory_fraction:{limit:.9f}"})
        if training.exit_code is None:
            return unmeasured(training)
        told = [event for event in training.of_kind("error") if event.get("code") == "out_of_memory"]
        named = training.exit_code == 1 and bool(told) and (told[0]["operation"] == "forward and backward") == step
        return "passed" if named else "failed", {"said": told[0]["text"] if told else training.last_words(), **({} if told else {"why": "wanted: the code out_of_memory"}),
                                                 **({"why": f"it ran out in {told[0]['operation']}"} if told and not named else {})}
    return fault


def is_connecting(place, pid):
    """Returns whether this process has begun to make its communicator, by NCCL's log."""
    log = place / f"nccl.{pid}.log"
    return log.exists() and "Init START" in log.read_text(errors="replace")


def peer(number, when):
    """Rank 1 gets a signal: before ranks connect, while NCCL connects them, or after the first step."""
    def fault(machine, deadline_s):
        if not machine.rank_counts():
            return "not measured", {"why": "it takes two GPUs, or the right to give each rank a host's name of its own (unshare --uts)"}
        connects = when == "while NCCL connects"
        if connects and machine.device == "cpu":
            return "not measured", {"why": "NCCL connects GPUs"}
        timeout_s = TIMEOUT_S[machine.device]
        process, place = machine.begin([*LONG, "--timeout", timeout_s], 2, CONNECTING if connects else None)
        begin_s = time.monotonic()
        try:
            if not wait_for(lambda: 1 in ranks_of(process), 30):
                return "failed", {"why": "no rank was started"}
            if when == "after the first step" and not wait_for(lambda: any(event["event"] == "step" for event in events_in(place / "events.jsonl")), 60):
                return "failed", {"why": "no first step within 60 s"}
            if connects and not wait_for(lambda: is_connecting(place, ranks_of(process).get(1)), 60):
                return "failed", {"why": "NCCL has not begun to connect within 60 s"}
            os.kill(ranks_of(process)[1], number)
            struck_s = time.monotonic()
            wait_for(lambda: 0 not in ranks_of(process), min(3 * (timeout_s + GRACE_S), max(1, deadline_s - struck_s)))
            seconds = time.monotonic() - struck_s
            alive = 0 in ranks_of(process)
        finally:
            for pid in ranks_of(process).values():
                os.kill(pid, signal.SIGKILL)
            training = machine.ended(process, place, begin_s, 20)
        said = next((event["text"] for event in training.of_kind("error")), training.last_words())
        in_time = not alive and seconds <= timeout_s + GRACE_S
        return "passed" if in_time else "failed", {"seconds": round(seconds, 1), "at_most_s": timeout_s + GRACE_S, "said": said,
                                                   **({} if in_time else {"why": "rank 0 continued" if alive else "rank 0 took too long to end"})}
    return fault


FAULTS = [
    ("no GPU is visible", no_gpu),
    ("out of memory in a forward pass", out_of_memory),
    ("a peer is killed before ranks connect", peer(signal.SIGKILL, "before")),
    ("a peer is killed while NCCL connects", peer(signal.SIGKILL, "while NCCL connects")),
    ("a peer hangs while NCCL connects", peer(signal.SIGSTOP, "while NCCL connects")),
    ("a peer is killed after the first step", peer(signal.SIGKILL, "after the first step")),
    ("a peer hangs after the first step", peer(signal.SIGSTOP, "after the first step")),
    ("out of memory at the start", limited(0.05, False)),
    ("out of memory in a backward pass", limited(0.93, True)),
]


def faults(machine, rows, deadline_s):
    for name, fault in FAULTS:
        if time.monotonic() >= deadline_s:
            rows.append(out_of_time(name))
            continue
        status, values = fault(machine, deadline_s)
        rows.append(row(name, status, **values))
