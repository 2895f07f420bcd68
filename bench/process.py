"""Programs that are measured as whole processes, and the experiment files that they are given."""
import ctypes
import os
import pathlib
import signal
import subprocess
import time
from dataclasses import dataclass

from ports import free_port

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
HPCBENCH = str(PROGRAMS / "hpcbench")
KIB = 1024
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1
CORES = 2  # that trainings share


def plain_environment(**changes):
    """Without what a job of hpcbench or Slurm finds in its environment: what is measured must not take itself for a rank of that job."""
    foreign = ("HPCBENCH_RUN", "HPCBENCH_TOKEN", "SLURM_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_", "NODE_RANK", "GROUP_RANK")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | changes


def threads_of_rank(ranks):
    return CORES // ranks


def training_environment(ranks):
    """Of ours and of peers alike: all cores, shared among the ranks; no GPU."""
    threads = str(threads_of_rank(ranks))
    return plain_environment(OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads, CUDA_VISIBLE_DEVICES="")


def ended(process):
    """(exit code, peak bytes) of a process, waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * KIB


def timed(command, folder, environment=None):
    """(seconds, peak bytes of its largest process) of a program that must succeed; what it prints is thrown away."""
    with open(os.devnull, "r+b") as nothing:
        begin_s = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdin=nothing, stdout=nothing, stderr=nothing, env=environment or plain_environment())
        exit_code, peak_bytes = ended(process)
        seconds = time.monotonic() - begin_s
    if exit_code != 0:
        raise SystemExit(f"error: {' '.join(command)} ended with {exit_code}")
    return seconds, peak_bytes


@dataclass
class Output:
    start_unix_s: float  # on the clock of hpcbench-train's events
    seconds: float
    peak_bytes: int  # of the largest process
    text: str  # standard output of rank 0


def rank_environment(environment, rank, ranks, port):
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return environment | {name: str(value) for name, value in told.items()}


def output_of(command, folder, environment=None, ranks=1):
    """The Output of a program that must succeed; with `ranks` above 1 as that many processes, which are told so as torchrun tells them. Its files lie in `folder`."""
    command = [str(word) for word in command]
    environment = environment or plain_environment()
    port = free_port()
    start_unix_s, begin_s, peak_bytes = time.time(), time.monotonic(), 0
    running = {}
    for rank in range(ranks):
        with open(folder / f"output.{rank}", "w") as output, open(folder / f"errors.{rank}", "w") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=folder,
                                       env=rank_environment(environment, rank, ranks, port) if ranks > 1 else environment)
        running[process.pid] = rank, process
    while running:
        # The first one that ends: if one has failed, the others could wait for it for a long time.
        pid = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid if len(running) > 1 else next(iter(running))
        if pid not in running:
            os.waitpid(pid, 0)
            continue
        rank, process = running.pop(pid)
        exit_code, peak = ended(process)
        peak_bytes = max(peak_bytes, peak)
        if exit_code != 0:
            for _, other in running.values():
                other.kill()
                other.wait()
            words = (folder / f"errors.{rank}").read_text(errors="replace")[-2000:]
            raise SystemExit(f"error: {' '.join(command)} ended with {exit_code}{f' in rank {rank}' if ranks > 1 else ''}: {words}")
    return Output(start_unix_s, time.monotonic() - begin_s, peak_bytes, (folder / "output.0").read_text())


def end_with_parent():
    """In a child: asks to be ended when its parent ends, however that ended."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def quietly(command, folder, environment=None, ends_with_us=False):
    """Not measured; its words are shown if it fails."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment or plain_environment(),
                          preexec_fn=end_with_parent if ends_with_us else None)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def numbers(count):
    return "[" + ", ".join(str(number) for number in range(count)) + "]"


def study_text(name, axes, repeats=1, command='[bash, -c, "true"]', more=""):
    """`axes`: name -> how many values."""
    matrix = ", ".join(f"{axis}: {numbers(count)}" for axis, count in axes.items())
    return f"experiment: {name}\ncommand: {command}\nlaunch: once\nmatrix: {{{matrix}}}\nrepeats: {repeats}\n{more}"
