"""What the tests on a real Slurm share: a cluster of their own for each test class, and wrappers on PATH that count calls."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from harness import HPCBENCH, PROGRAMS, ROOT, StudyTest, alive  # noqa: E402,F401

SKIPPED = 77
TOOLS = ("sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo")
WRAPPER = """#!/bin/bash
# Notes each call, then behaves as the tool, or as a file tells it to misbehave.
echo "$*" >> {calls}/{tool}
[ -e {calls}/{tool}.fault ] && . {calls}/{tool}.fault
exec {real} "$@"
"""


def without_hash(script):
    """A submitted script as `plan` shows it: the hash of its attempts is known when it is submitted."""
    return re.sub("export HPCBENCH_HASH=.*\n", "", script)


class Cluster:
    """A real Slurm in a folder of its own. unittest.SkipTest, with the reason, where there is none."""

    def __init__(self, *options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-slurm-"))
        self.name = self.folder / "cluster"
        self.first_id = 1
        done = self.script("start", *options)
        if done.returncode != 0:
            self.stop()
            raise unittest.SkipTest(done.stderr.strip()) if done.returncode == SKIPPED else RuntimeError(done.stderr)
        self.calls = self.folder / "calls"
        self.bin = self.folder / "bin"
        self.calls.mkdir()
        self.bin.mkdir()
        for tool in TOOLS:
            wrapper = self.bin / tool
            wrapper.write_text(WRAPPER.format(calls=self.calls, tool=tool, real=shutil.which(tool)))
            wrapper.chmod(0o755)

    def script(self, action, *arguments):
        return subprocess.run([str(HERE / "cluster.sh"), action, str(self.name), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=180)

    def stop(self):
        self.script("stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self):
        """What a client needs; the counting wrappers come first on PATH."""
        return {"SLURM_CONF": str(self.name / "slurm.conf"), "PATH": f"{self.bin}:{os.environ['PATH']}:/usr/sbin:/sbin"}

    def tool(self, *command, code=0):
        """Runs a tool of Slurm itself, uncounted."""
        environment = {**os.environ, "SLURM_CONF": str(self.name / "slurm.conf")}
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if code is not None and done.returncode != code:
            raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def kill(self, daemon):
        self.act("kill", daemon)

    def wait_until_saved(self):
        """Until the controller, which saves its state 5 s after a change, has saved what is true now. There must be a job."""
        state, now = self.name / "state/job_state", time.time()
        job = self.jobs("PD,R")[0][0]
        self.tool("scontrol", "update", f"jobid={job}", "comment=saved")  # a change, in case it has just saved
        end = time.monotonic() + 60
        while not (state.exists() and state.stat().st_mtime > now):
            if time.monotonic() > end:
                raise AssertionError("the controller has not saved its state for a minute")
            time.sleep(0.05)

    def revive(self, daemon):
        self.act("revive", daemon)

    def act(self, action, daemon):
        done = self.script(action, daemon)
        if done.returncode != 0:
            raise RuntimeError(f"{action} {daemon}: {done.stderr}")

    def jobs(self, states="all"):
        """[[id, state, name, nodes], ...] of all jobs that the controller knows."""
        lines = self.tool("squeue", "-h", "-r", "-t", states, "-o", "%i|%T|%j|%N").splitlines()
        return [line.split("|") for line in lines]

    def count(self, tool, of=""):
        """Calls of `tool`, or those that have `of` among their arguments."""
        path = self.calls / tool
        return sum(of in call for call in path.read_text().splitlines()) if path.exists() else 0

    def forget_calls(self):
        for path in self.calls.iterdir():
            path.unlink()

    def fault(self, tool, script):
        """Lines of bash that the wrapper of `tool` runs before the tool; None ends the fault."""
        path = self.calls / f"{tool}.fault"
        if script is None:
            path.unlink(missing_ok=True)
            return
        path.with_suffix(".new").write_text(script.replace("CALLS", str(self.calls)).replace("REAL", shutil.which(tool)))
        path.with_suffix(".new").rename(path)

    def end_hanging(self):
        """Ends the tool that a fault let hang, where hpcbench was killed before it could."""
        path = self.calls / "hanging"
        pid = int(path.read_text()) if path.exists() else 0
        try:
            if pid and pathlib.Path(f"/proc/{pid}/cmdline").read_text() == "sleep\0300\0":
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass

    @contextlib.contextmanager
    def attended(self):
        """Does what an administrator would: a controller that lost its last seconds drains nodes that still run what it starts again."""
        done = threading.Event()

        def attend():
            while not done.wait(2):
                self.resume_drained()

        thread = threading.Thread(target=attend)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def resume_drained(self):
        drained = self.tool("sinfo", "-h", "-N", "-p", "main", "-t", "drain", "-o", "%N", code=None).split()
        if drained:
            self.tool("scontrol", "update", f"nodename={','.join(drained)}", "state=resume", code=None)

    def answers(self):
        """Whether the controller does more than accept connections: one that hangs inside answers a ping, but not this."""
        try:
            self.tool("squeue", "-h")
        except (AssertionError, subprocess.TimeoutExpired):
            return False
        return True

    def controller(self):
        """What the kernel says of the controller's process: "gone", or its state, as in "S (sleeping)"."""
        pid = (self.name / "run/ctld.process").read_text().split()[0]
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return "gone"
        return next(line.partition(":")[2].strip() for line in status.splitlines() if line.startswith("State:"))

    def free_all(self):
        """Ends all jobs and waits, a minute or little more, for nodes that take work, so that one test does not wait for another's jobs."""
        if not self.answers():
            return
        user = subprocess.check_output(["id", "-un"], text=True).strip()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.tool("scancel", "-u", user, code=None)
            self.resume_drained()
            states = set(self.tool("sinfo", "-h", "-N", "-p", "main", "-o", "%t", code=None).split())
            if states == {"idle"} and not self.jobs("PD,R,CG"):
                return
            time.sleep(0.5)

    def skip_job_ids(self):
        """New jobs get ids that no node has seen. A controller that lost its last seconds gives their ids out again, and for two
        minutes a node discards a job whose id it knows: it then looks as if it ran, until the controller notices (NODE_FAIL)."""
        ids = [int(job.partition("_")[0]) for job, *_ in self.jobs()]
        conf = self.name / "slurm.conf"
        lines = [line for line in conf.read_text().splitlines() if not line.startswith("FirstJobId=")]
        self.first_id = max([*ids, self.first_id]) + 1000  # more than a trial submits
        conf.write_text("\n".join([*lines, f"FirstJobId={self.first_id}"]) + "\n")
        self.tool("scontrol", "reconfigure")

    def describe(self, folder):
        """What Slurm says of itself, and its logs, for a person who looks for the cause of a failure."""
        shutil.copytree(self.name / "log", folder)
        for name, command in {"queue": ("squeue", "-r", "-t", "all", "-o", "%i|%T|%r|%N|%S|%j"), "nodes": ("scontrol", "show", "node"),
                              "jobs": ("scontrol", "show", "job")}.items():
            (folder / name).write_text(self.tool(*command, code=None))


class SlurmTest(StudyTest):
    """Tests that share one cluster: CLUSTER holds the options of cluster.sh start."""

    CLUSTER = ()
    cluster = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(*cls.CLUSTER)
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        super().setUp()
        self.cluster.forget_calls()
        self.addCleanup(self.cluster.free_all)

    def environment(self, extra=None):
        environment = super().environment(self.cluster.environment())
        environment.update(extra or {})
        return environment
