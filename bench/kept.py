"""A table that is saved while it is measured, so that the same command continues after an interruption: FILE, and FILE.data with the studies until all is measured."""
import fcntl
import hashlib
import pathlib
import shutil
import sys
import tempfile
import time

import table
from process import BENCH, PROGRAMS

LOCK = "lock"
MACHINE = ("processor", "cores", "memory_gib", "kernel", "commit")
MEASURED_PROGRAMS = ("hpcbench", "hpcbench-train", "store_bench", "roofs")


def digest_of_programs():
    """Hashes the measured programs and the measuring ones: `commit` does not distinguish two states with uncommitted changes."""
    digest = hashlib.sha256()
    scripts = [path for path in sorted(BENCH.rglob("*.py")) if path.is_file()]
    for path in [*(PROGRAMS / name for name in MEASURED_PROGRAMS), *scripts]:
        digest.update(path.name.encode() + (path.read_bytes() if path.exists() else b"") + b"\0")
    return digest.hexdigest()[:16]


def identity(machine, options):
    """Returns the properties that must be equal for all measurements of one table. `options`: name -> value, of the command."""
    return {name: machine.get(name) for name in MACHINE} | {"programs": digest_of_programs()} | {f"options: {name}": value for name, value in options.items()}


def differences(mine, other):
    return ", ".join(f"{name} {other.get(name)} there, {mine.get(name)} now" for name in {**mine, **other} if mine.get(name) != other.get(name))


class Kept:
    """Rows by their key, suites that have ended, and the seconds that each took. Without `path` all lies in a temporary folder and nothing is kept."""

    def __init__(self, path, machine, quick, options, folder=None):
        self.path, self.machine, self.quick = path, machine, quick
        self.rows, self.done, self.took_s, self.is_whole, self.lock = {}, [], {}, False, None
        if path is None:
            self.data = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-bench-", dir=folder))
            return
        self.same = identity(machine, options)
        self.data = pathlib.Path(folder or path.parent).resolve() / f"{path.name}.data"
        self.go_on()
        if not self.is_whole:
            self.take_lock()
            self.save()  # reports a place that cannot be written before measuring

    def go_on(self):
        """Takes what an earlier command has measured; refuses what is not of the same command."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            if any(path.name != LOCK for path in self.data.glob("*")):
                raise SystemExit(f"error: {self.data} is there without {self.path}: remove it, or measure into another file (--save OTHER)")
            return
        told = table.read(self.path)
        self.is_whole = told.get("complete", True)
        kind = "a whole table" if self.is_whole else "a table that was cut off"
        if "same" not in told:
            raise SystemExit(f"error: {self.path} is {kind}, but not of this command: measure into another file (--save OTHER)")
        apart = differences(self.same, told["same"])
        if apart:
            way = "" if self.is_whole else f", or give that one up (remove it and {self.data})"
            raise SystemExit(f"error: {self.path} is {kind} of another command ({apart}): measure into another file (--save OTHER){way}")
        before = told["machine"]
        now = {"date": self.machine["date"], "load_before": self.machine["load_before"]}
        self.machine = before if self.is_whole else before | {"resumed": [*before.get("resumed", []), now]}
        self.rows = {row["key"]: table.Row(**row) for row in told["rows"]}
        self.done, self.took_s = told.get("done", []), told.get("took_s", {})
        if self.is_whole:
            shutil.rmtree(self.data, ignore_errors=True)  # of a command that was cut off just before
        elif not self.data.exists():
            print(f"{self.data} is gone: suites that had not ended are measured from their beginning", file=sys.stderr)

    def take_lock(self):
        """Two commands must not measure into one file, nor beside one another."""
        self.data.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.data / LOCK, "w")  # not inherited: the lock ends with this process
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"error: another command measures into {self.path} just now") from None
        for unfinished in self.path.parent.glob(f"{self.path.name}.*.new"):
            unfinished.unlink()

    def save(self):
        if self.path is not None:
            table.write(self.path, {"complete": self.is_whole, "same": self.same, "done": self.done, "took_s": self.took_s, "machine": self.machine,
                                    "quick": self.quick, "rows": table.as_dicts(self.rows.values())})

    def add(self, row):
        """The same row again, of a suite that was cut off, takes its place."""
        self.rows[row.key] = row
        self.save()

    def measure(self, name, rows_of):
        """All rows that the generator `rows_of` gives for the folder of the suite. The caller reports exceptions; the suite has then not ended.
        True if `rows_of` gave all."""
        begin_s, before_s = time.monotonic(), self.took_s.get(name, 0.0)
        try:
            for row in rows_of(self.data / name):
                self.took_s[name] = before_s + time.monotonic() - begin_s
                self.add(row)
        finally:
            self.took_s[name] = before_s + time.monotonic() - begin_s
            self.save()

    def end_suite(self, name):
        """Its studies stay until all is measured: files that are deleted slow those that come after (rested_disk.py)."""
        self.done.append(name)
        self.save()

    def end(self, whole):
        """`whole`: everything requested has been measured; else the studies stay for the next try."""
        if self.path is None:
            shutil.rmtree(self.data, ignore_errors=True)
            return
        self.is_whole = whole
        self.save()
        if whole:
            shutil.rmtree(self.data, ignore_errors=True)
        if self.lock is not None:
            self.lock.close()
