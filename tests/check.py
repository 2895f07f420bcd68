#!/usr/bin/env python3
"""Runs one check for CTest: check.py [--limit SECONDS] NAME COMMAND...

Nothing of a check outlives it: it works in a temporary folder of its own, all processes that it starts are found again (those in
sessions of their own too), and both are removed when it ends, hangs, is interrupted, or when CTest itself is killed. A check that
takes longer than its limit is interrupted, so that it cleans up and prints where it was, then killed, and fails.

Prints the check's output, the processor time that it used, then `check: NAME: N passed, N failed, N skipped` of its single tests, and
`check: skipped NAME: REASON` for what was not run. The last two are added to the file that HPCBENCH_CHECKS names, where
scripts/test.sh adds them up.
Exit code: the command's own; 77: skipped, its last line gives the reason.
"""
import argparse
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
BYTECODE = pathlib.Path(__file__).resolve().parents[1] / "build/pycache"
GRACE_S = 60  # for a check that was interrupted, to end what it started
SETTLE_S = 10  # for processes that are about to end when the check has ended
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

# The summaries of test programs: doctest, pytest, our own.
SUMMARIES = [re.compile(pattern, re.M) for pattern in (r"^\[doctest\] test cases: .*$", r"^.* in \d+\.\d+s.*$", r"^.*\d+ passed, \d+ failed.*$")]


class Stopped(Exception):
    """The check must not continue; the message gives the reason."""


def count(output, code):
    """Returns (passed, failed, skipped) from the output, else one test."""
    if code == SKIPPED:
        return 0, 0, 1
    for summary in SUMMARIES:
        said = "\n".join(summary.findall(output))
        passed, failed, skipped, errors = (sum(map(int, re.findall(rf"(\d+) {word}\b", said))) for word in ("passed", "failed", "skipped", "errors?"))
        if summary.pattern.startswith("^\\[doctest"):
            skipped = 0  # what -tc left out, not what could not be run
        if passed or failed or skipped or errors:
            return passed, failed + errors if code == 0 else max(failed + errors, 1), skipped
    return (1, 0, 0) if code == 0 else (0, 1, 0)


def descendants():
    """Processes below this one, orphans included, that have not ended."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            parents[int(stat.parent.name)] = int(parent)
    below = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= grown
    return below - {os.getpid()}


def wait_until_alone(seconds):
    end = time.monotonic() + seconds
    while (left := descendants()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def kill_all():
    """Ends everything that the check started. Each killed process may leave orphans, which come to us."""
    while left := descendants():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def processor_time_s():
    """Returns the processor time of the check and its descendants, user and system. All of them have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def run(command, folder, limit_s, output):
    """The exit code of the command. Raises Stopped where it had to be stopped."""
    environment = dict(os.environ, TMPDIR=str(folder), XDG_CONFIG_HOME=str(folder / "config"), PYTHONDONTWRITEBYTECODE="",
                       PYTHONPYCACHEPREFIX=str(BYTECODE),  # beside no source; torch comes without any and takes 3 s to compile
                       RC_PARAMS=os.environ.get("RC_PARAMS", "seed=20261121"))  # rapidcheck draws the same cases each time
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment,
                               start_new_session=True)
    try:
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Stopped(f"stopped since it took longer than {limit_s:g} s") from None
    except Stopped:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        raise


def stop(number, frame):
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    raise Stopped(f"stopped by {signal.Signals(number).name}")


def tell(lines, file):
    for line in lines:
        print(f"check: {line}", flush=True)
    if file:
        with open(file, "a") as told:
            told.write("".join(line + "\n" for line in lines))


def main():
    told = os.environ.pop("HPCBENCH_CHECKS", "")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=900)
    parser.add_argument("name")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-check-")).resolve()
    folder.chmod(0o711)  # tests run programs as other users, which must get to their own folders
    log = folder / "output"
    remark, code = "", 1
    try:
        with open(log, "wb") as output:
            code = run(options.command, folder, options.limit, output)
        left = wait_until_alone(SETTLE_S)
        if left:
            remark = "it left processes running: " + "; ".join(f"{pid} {command_line(pid)}" for pid in sorted(left))
            code = code or 1
    except Stopped as reason:
        remark = str(reason)
    except OSError as error:
        remark = f"{options.command[0]}: {error.strerror}"
    finally:
        kill_all()
        text = log.read_text(errors="replace") if log.exists() else ""
        shutil.rmtree(folder, ignore_errors=True)
    print(text, end="" if text.endswith("\n") or not text else "\n")
    if remark:
        print(f"check: {options.name}: {remark}")
    passed, failed, skipped = count(text, code)
    reasons = re.findall(r"^SKIPPED (?:\[\d+\] )?(.*)$", text, re.M) or ([text.strip().rpartition("\n")[2]] if code == SKIPPED else [])
    print(f"check: {options.name} used {processor_time_s():.1f} s of processor time")
    tell([f"skipped {options.name}: {reason}" for reason in reasons] + [f"{options.name}: {passed} passed, {failed} failed, {skipped} skipped"], told)
    return code if 0 <= code <= 255 else 1


if __name__ == "__main__":
    sys.exit(main())
