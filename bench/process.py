"""Programs that are measured as whole processes, and the experiment files that they are given."""
import os
import pathlib
import subprocess
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
HPCBENCH = str(PROGRAMS / "hpcbench")
KIB = 1024


def plain_environment(**changes):
    """Without what a job of hpcbench or Slurm finds in its environment: what is measured must not take itself for a rank of that job."""
    foreign = ("HPCBENCH_RUN", "HPCBENCH_TOKEN", "SLURM_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_", "NODE_RANK", "GROUP_RANK")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | changes


def timed(command, folder, environment=None):
    """(seconds, peak bytes of its largest process) of a program that must succeed; what it prints is thrown away."""
    with open(os.devnull, "r+b") as nothing:
        begin_s = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdin=nothing, stdout=nothing, stderr=nothing, env=environment or plain_environment())
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin_s
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)} ended with {process.returncode}")
    return seconds, usage.ru_maxrss * KIB


def quietly(command, folder, environment=None):
    """Not measured; its words are shown if it fails."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment or plain_environment())
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def numbers(count):
    return "[" + ", ".join(str(number) for number in range(count)) + "]"


def study_text(name, axes, repeats=1, command='[bash, -c, "true"]', more=""):
    """`axes`: name -> how many values."""
    matrix = ", ".join(f"{axis}: {numbers(count)}" for axis, count in axes.items())
    return f"experiment: {name}\ncommand: {command}\nlaunch: once\nmatrix: {{{matrix}}}\nrepeats: {repeats}\n{more}"
