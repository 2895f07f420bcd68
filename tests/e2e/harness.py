"""What the end-to-end tests share: a folder of their own, and the real programs."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
HPCBENCH = str(PROGRAMS / "hpcbench")
# Long enough for a machine that does ten other things; nothing asserts how long anything took.
PATIENCE_S = 180


class StudyTest(unittest.TestCase):
    """Each test has a folder in which hpcbench is called, and leaves nothing behind."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-e2e-")).resolve()
        self.addCleanup(self.remove_folder)

    def remove_folder(self):
        for path in self.folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(self.folder, ignore_errors=True)

    def small_disk(self, mib):
        """A file system that a test can fill; skips the test where none can be mounted."""
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(disk)], capture_output=True).returncode != 0:
            self.skipTest("cannot mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], capture_output=True)
        return disk

    def environment(self, extra=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HPCBENCH_", "SLURM_"))}
        environment["XDG_CONFIG_HOME"] = str(self.folder / "no-config")
        environment.update(extra or {})
        return environment

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def hpcbench(self, *arguments, code=0, env=None, cwd=None):
        """Runs hpcbench to its end; fails the test if it ends with another code. code=None accepts any."""
        done = subprocess.run(
            [HPCBENCH, *arguments], cwd=cwd or self.folder, env=self.environment(env), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_S, errors="replace")
        if code is not None:
            self.assertEqual(done.returncode, code, f"hpcbench {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *arguments, env=None):
        """Starts hpcbench in a session of its own; the test waits for it or kills it."""
        process = subprocess.Popen(
            [HPCBENCH, *arguments], cwd=self.folder, env=self.environment(env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.addCleanup(self.reap, process)
        return process

    @staticmethod
    def reap(process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

    def report(self, *arguments, code=0):
        return json.loads(self.hpcbench("report", "--format", "json", *arguments, code=code).stdout)

    def status(self, *arguments):
        return json.loads(self.hpcbench("status", "--format", "json", *arguments, code=None).stdout)

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.02)
        self.fail(f"waited {PATIENCE_S} s for {what}")


def processes_of(word, under):
    """Pids of those with the argument `word`, and one that begins with the path `under`."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if word.encode() in arguments and any(a.startswith(str(under).encode()) for a in arguments):
            found.append(int(path.parent.name))
    return found


def python_of(*command):
    """Path of the Python of an environment that a script makes; skips the test where it cannot be made."""
    made = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if made.returncode == 77:
        raise unittest.SkipTest(made.stderr.strip().splitlines()[-1])
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    return made.stdout.strip().splitlines()[-1]


def python_with_packages():
    """That with torch, Lightning, transformers and Accelerate."""
    return python_of(ROOT / "tests/huggingface/venv.sh", "--peers")


def alive(pid):
    """Whether a process runs; one that has ended and is not reaped yet does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
