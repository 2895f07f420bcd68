#!/usr/bin/env python3
"""A batch system for tests, in the folder $FAKE_BATCH: batch_system.py submit SCRIPT | list USER | cancel ID...
Jobs are processes of this machine, as many at a time as the file `slots` states (2 without it); `list` starts those that wait. Files in
the folder make it misbehave: `hold` (no job begins), `refuse`, `full` (submit fails), `mute` (submit prints nothing), `kill` (submit
takes the job and kills its caller; the file is then removed), `broken` (submit takes the job and fails), `down` (list fails)."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

FOLDER = pathlib.Path(os.environ["FAKE_BATCH"])


def said(name):
    return (FOLDER / name).exists()


def jobs():
    for path in sorted(FOLDER.glob("*.job"), key=lambda path: int(path.stem)):
        try:
            yield path, json.loads(path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            pass  # it ended, or another call writes it


def write(path, job):
    new = path.with_suffix(f".new{os.getpid()}")
    new.write_text(json.dumps(job))
    new.rename(path)


def stat_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def runs(job):
    fields = stat_of(job["pid"])
    return fields is not None and fields[0] not in "ZX" and fields[19] == job["ticks"]


def start(path, job):
    with open(job["log"], "ab") as log:
        process = subprocess.Popen(["bash", job["script"]], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                   env={**os.environ, "FAKE_JOB_ID": path.stem})
    job.update(pid=process.pid, ticks=stat_of(process.pid)[19])
    write(path, job)


def submit(script):
    for name, text in (("refuse", "job rejected: unknown queue"), ("full", "too many jobs: try again later")):
        if said(name):
            sys.exit(text)
    text = pathlib.Path(script).read_text()
    job = {"name": re.search(r"^#FAKE name (.*)$", text, re.M)[1], "log": re.search(r"^#FAKE log (.*)$", text, re.M)[1]}
    for number in range(1, 100000):
        path = FOLDER / f"{number}.copy"
        try:
            with open(path, "x") as file:  # the number is ours
                file.write(text)
            break
        except FileExistsError:
            continue
    job["script"] = str(path)
    write(FOLDER / f"{number}.job", job)
    with open(FOLDER / "submitted", "a") as log:
        log.write(f"{number} {job['name']}\n")
    if said("kill"):
        (FOLDER / "kill").unlink()
        os.kill(os.getppid(), signal.SIGKILL)
        return
    if said("broken"):
        sys.exit("connection to the server lost")
    if not said("mute"):
        print(f"Job {number} was submitted")


def show():
    if said("down"):
        sys.exit("no server")
    free = int((FOLDER / "slots").read_text()) if said("slots") else 2
    for path, job in jobs():
        if "pid" in job and not runs(job):
            path.unlink(missing_ok=True)
        free -= "pid" in job and runs(job)
    for path, job in jobs():
        if "pid" not in job and free > 0 and not said("hold"):
            start(path, job)
            free -= 1
        print(f"{path.stem}|{job['name']}|{'R' if 'pid' in job else 'Q'}")


def descendants(pid):
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        fields = stat_of(path.name)
        if fields:
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found = [pid]
    for each in found:
        found += parents.get(each, [])
    return found


def cancel(numbers):
    for path, job in jobs():
        if path.stem not in numbers:
            continue
        if "pid" in job and runs(job):
            for pid in descendants(job["pid"]):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        path.unlink(missing_ok=True)


FOLDER.mkdir(exist_ok=True)
if sys.argv[1] == "submit":
    submit(sys.argv[2])
elif sys.argv[1] == "list":
    show()
else:
    cancel(sys.argv[2:])
