"""The executor `commands` with a real Grid Engine and sites/gridengine.yaml: install, submit, kill -9 and run again, cancel, time limits.
Skipped where Grid Engine is not installed (scripts/setup.sh --checks installs it)."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from commands_study import CommandsStudy  # noqa: E402

CLUSTER = ROOT / "tests/gridengine/cluster.sh"


class GridEngine(CommandsStudy):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="hpcbench-ge-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        pathlib.Path(cls.place).chmod(0o755)
        folder = f"{cls.place}/ge"
        started = subprocess.run(["bash", CLUSTER, "start", folder], capture_output=True, text=True)
        if started.returncode == 77:
            raise unittest.SkipTest(started.stderr.strip().splitlines()[-1])
        if started.returncode != 0:
            raise RuntimeError(started.stderr)
        cls.addClassCleanup(subprocess.run, ["bash", CLUSTER, "stop", folder], capture_output=True)
        said = subprocess.run(["bash", CLUSTER, "env", folder], capture_output=True, text=True, check=True).stdout
        cls.variables = dict(word.split("=", 1) for word in said.split()[1:])

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.site = "gridengine"
        self.extra_environment = self.variables

    def end_jobs(self):
        self.tool("qdel", "-f", "-u", "*")

    def tool(self, *command):
        return subprocess.run(command, env=self.environment(), capture_output=True, text=True).stdout

    def jobs(self):
        return self.tool("qstat", "-u", "*").splitlines()[2:]

    def test_each_run_is_one_job(self):
        self.study(more="resources: {time: 5m}")
        self.assertIn("Grid Engine lists jobs", self.hpcbench("doctor", "s.yaml", "--site", self.site, code=None).stdout)
        said = self.run_study()
        self.assertIn("4 of 4 runs succeeded", said.stderr)
        self.check_each_once(4)
        self.wait_for(lambda: self.jobs() == [], "an empty list of jobs")
        self.assertIn("nothing to do", self.run_study().stderr)

    def test_killed_and_run_again(self):
        self.study("sleep 1", repeats=4)
        for executed in (0, 1, 3):
            running = self.start("run", "s.yaml", "--site", self.site)
            self.wait_for(lambda: len(self.executions()) > executed or running.poll() is not None, "jobs that run")
            self.kill(running)
        self.run_study()
        self.check_each_once(8)
        scripts = list(self.folder.glob("results/s/batches/*/*.sh"))
        self.assertEqual(len([path for path in scripts if path.name != "job.sh"]), 8, "an attempt was submitted twice")

    def test_killed_between_submission_and_record(self):
        """qsub takes the job and kills its caller, which so never learns of it."""
        qsub = shutil.which("qsub", path=self.environment()["PATH"])
        self.write("bin/qsub", f"#!/bin/bash\n{qsub} \"$@\" > {self.folder}/said\n"
                               f"if mkdir {self.folder}/killed 2> /dev/null; then kill -9 $PPID; fi\ncat {self.folder}/said\n", 0o755)
        self.study()
        environment = {"PATH": f"{self.folder}/bin:{self.environment()['PATH']}"}
        self.assertEqual(self.hpcbench("run", "s.yaml", "--site", self.site, code=None, env=environment).returncode, -9)
        self.run_study()
        self.check_each_once(4)

    def test_cancel(self):
        self.study("sleep 200", repeats=2)
        running = self.start("run", "s.yaml", "--site", self.site)
        self.wait_for(lambda: len(self.executions()) == 2 and len(self.jobs()) == 4, "two jobs that run, two that wait")
        self.kill(running)
        said = self.hpcbench("cancel", "s.yaml", "--yes", code=None)
        self.assertIn("2 not begun revoked", said.stderr)
        self.wait_for(lambda: self.jobs() == [], "the end of all jobs")
        self.run_study(code=1)
        self.assertEqual(self.outcomes(), {"cancelled": 4})
        self.assertEqual(len(self.executions()), 2)

    def test_time_limits(self):
        self.study("[ $1 = 1 ] || sleep 200", more="resources: {time: 3s}", repeats=1)
        self.run_study(code=1)
        self.assertEqual(self.outcomes(), {"succeeded": 1, "timeout": 1})

    def test_refused(self):
        self.study(more="partition: nosuch.q")
        said = self.run_study(code=3)
        self.assertIn("unknown queue", said.stderr)
        self.assertEqual(self.executions(), {})


if __name__ == "__main__":
    unittest.main()
