"""What tests of the executor `commands` share: a study whose program counts its executions, on any batch system."""
import collections
import json
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

FAKE_SITE = """
name: fake
executor: commands
commands:
  name: Fake Batch
  submit: [PYTHON, BATCH, submit, "{{script}}"]
  id: 'Job ([0-9]+) was'
  later: 'try again later'
  list: [PYTHON, BATCH, list, "{{user}}"]
  job: '(?m)^(?P<id>[0-9]+)[|](?P<name>[^|]*)[|](?P<state>\\w+)$'
  waiting: [Q]
  running: [R]
  cancel: [PYTHON, BATCH, cancel, "{{ids}}"]
  job_variable: FAKE_JOB_ID
  directives:
    - "#FAKE name {{name}}"
    - "#FAKE log {{log}}"
    - "#FAKE cpus {{cpus}} of {{cpus_node}} on {{nodes}}[[ mem {{mem}}]][[ gpus {{gpus}}]]"
    - "#FAKE limit {{time}} {{time_s}} {{time_min}}"
    - "#FAKE queue {{partition}}"
"""


class CommandsStudy(StudyTest):
    """`self.site` and `self.extra_environment` say which batch system."""

    def setUp(self):
        super().setUp()
        self.batch = self.folder / "fake"
        self.batch.mkdir()
        self.addCleanup(self.end_jobs)
        batch = str(ROOT / "tests/fakes/batch_system.py")
        self.write("fake.yaml", FAKE_SITE.replace("PYTHON", sys.executable).replace("BATCH", batch))
        self.site = "fake.yaml"
        self.extra_environment = {"FAKE_BATCH": str(self.batch)}

    def environment(self, extra=None):
        return super().environment({**self.extra_environment, **(extra or {})})

    def end_jobs(self):
        for path in self.batch.glob("*.job"):
            job = json.loads(path.read_text())
            if "pid" in job:
                try:
                    __import__("os").killpg(job["pid"], signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def study(self, program="true", matrix="n: [1, 2]", more="", repeats=2):
        self.write("work.sh", f"echo \"$1 $HPCBENCH_RUN_DIR\" >> {self.folder}/executed.txt\n{program}\n")
        self.write("s.yaml", f"experiment: s\ncommand: [sh, {self.folder}/work.sh, \"{{{{n}}}}\"]\nlaunch: once\nmatrix: {{{matrix}}}\n"
                             f"repeats: {repeats}\n{more}\n")

    def run_study(self, *arguments, code=0):
        return self.hpcbench("run", "s.yaml", "--site", self.site, *arguments, code=code)

    def executions(self):
        """How often each attempt's folder was executed."""
        path = self.folder / "executed.txt"
        return collections.Counter(path.read_text().splitlines()) if path.exists() else collections.Counter()

    def outcomes(self):
        return collections.Counter(run["state"] for run in self.status("s.yaml")["runs"])

    def check_each_once(self, runs):
        """Every run succeeded, and each was executed exactly once."""
        self.assertEqual(self.outcomes(), {"succeeded": runs})
        executed = self.executions()
        self.assertEqual((len(executed), set(executed.values())), (runs, {1}))

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def read_until(self, process, text):
        for line in process.stdout:
            if text in line:
                return
        self.fail(f"the process ended without: {text}")

    def submitted(self):
        return [line.split()[1] for line in (self.batch / "submitted").read_text().splitlines()]

    def say(self, *names):
        for name in names:
            (self.batch / name).write_text("")

    def take_back(self, *names):
        for name in names:
            (self.batch / name).unlink()

    def forget(self):
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        (self.folder / "executed.txt").unlink(missing_ok=True)
