"""`modules` and `setup` are lines of the job: they run once, before any rank, and a job that ends in them leaves nothing behind."""
import json
import os
import pathlib
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest, alive  # noqa: E402

STUDY = """
experiment: s
command: COMMAND
launch: LAUNCH
setup: SETUP
matrix:
  gpus_per_node: [3]
repeats: 1
resources: {time: LIMIT}
"""
LIST = "[bash, -c, 'touch ran.$RANK; echo seen $SEEN']"
SHELL = "'touch ran.$RANK; echo seen $SEEN'\nshell: true"
HANGS = "['sleep 1000 & echo $! >>pids', 'echo $$ >>pids', 'touch begun', 'wait']"


class Setup(StudyTest):
    def study(self, command=LIST, launch="rank", setup="['true']", limit="100s"):
        text = STUDY
        for name, value in {"COMMAND": command, "LAUNCH": launch, "SETUP": setup, "LIMIT": limit}.items():
            text = text.replace(name, value)
        self.write("s.yaml", text)

    def ranks(self):
        return sorted(path.name for path in self.folder.glob("ran.*"))

    def output(self):
        return [path.read_text() for path in self.folder.rglob("stdout*.log")]

    def state(self):
        """The only attempt's state and why, as `status` has it."""
        return self.hpcbench("status", "s.yaml", "--all", code=None).stdout

    def assert_nothing_is_left(self):
        for pid in (self.folder / "pids").read_text().split():
            self.wait_for(lambda: not alive(int(pid)), f"the end of process {pid}")
        self.assertEqual(self.ranks(), [])

    def test_it_runs_once_whatever_starts_the_processes(self):
        for launch, ranks in (("rank", 3), ("node", 1), ("once", 1)):
            for command, seen in ((LIST, "export SEEN=7"), (SHELL, "SEEN=7")):
                with self.subTest(launch=launch, command=command):
                    for path in (*self.folder.glob("ran.*"), *self.folder.glob("lines")):
                        path.unlink()
                    self.study(command, launch, f"['echo x >>lines', '{seen}']")
                    self.hpcbench("run", "s.yaml")
                    self.assertEqual((self.folder / "lines").read_text(), "x\n")
                    self.assertEqual(self.ranks(), [f"ran.{rank}" for rank in range(ranks)])
                    self.assertEqual(self.output(), ["seen 7\n"] * ranks)
                    shutil.rmtree(self.folder / "results")

    def test_one_that_fails_fails_the_run_and_no_rank_is_blamed(self):
        self.study(setup="['echo no licence >&2', 'exit 9']")
        said = self.hpcbench("run", "s.yaml", code=1).stderr
        self.assertIn("failed with exit code 9: no licence", said)
        self.assertNotIn("rank 0", said)
        self.assertEqual(self.ranks(), [])

    def test_one_that_leaves_early_is_no_success(self):
        self.study(setup="['exit 0']")
        self.assertIn("setup ended before the program was started", self.hpcbench("run", "s.yaml", code=1).stderr)
        self.assertEqual(self.ranks(), [])

    def test_one_that_hangs_meets_the_time_limit(self):
        self.study(setup=HANGS, limit="1s")
        said = self.hpcbench("run", "s.yaml", code=1).stderr
        self.assertIn("time limit of 1.0 s reached: no process had started: `modules` and `setup` took all of the time", said)
        self.assert_nothing_is_left()

    def test_cancel_ends_it(self):
        self.study(setup=HANGS)
        run = self.start("run", "s.yaml")
        self.wait_for(lambda: (self.folder / "begun").exists() or run.poll() is not None, "the set-up")
        self.assertIsNone(run.poll(), "it ended before the set-up began")
        self.hpcbench("cancel", "s.yaml", "--yes")
        run.communicate()
        self.assertIn("cancelled", self.state())
        self.assert_nothing_is_left()

    def test_kill_9_of_the_job_leaves_nothing_and_is_a_lost_run(self):
        self.study(setup=HANGS)
        run = self.start("run", "s.yaml")
        self.wait_for(lambda: (self.folder / "begun").exists() or run.poll() is not None, "the set-up")
        self.assertIsNone(run.poll(), "it ended before the set-up began")
        claim = next(self.folder.rglob("a1/claim")).read_text()
        os.kill(int(claim.split("\npid ")[1].split()[0]), signal.SIGKILL)
        # The run is lost and tried again: its second attempt's set-up begins.
        self.wait_for(lambda: len((self.folder / "pids").read_text().split()) >= 4 or run.poll() is not None, "the next attempt")
        self.hpcbench("cancel", "s.yaml", "--yes", code=None)
        run.communicate()
        self.assertIn("lost", next(self.folder.rglob("a1/settled.json")).read_text())
        self.assert_nothing_is_left()

    def test_an_attempt_whose_script_starts_no_ranks_fails(self):
        """An early version made it, and it never began: its job.sh claimed the attempt by itself."""
        self.study(setup="['echo x >>lines', 'touch begun', 'export SEEN=7']")
        self.hpcbench("run", "s.yaml")
        attempt = next(self.folder.rglob("a1"))
        for path in attempt.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "run.json":
                path.unlink()
        (attempt / "job.sh").write_text("exit 77\n")
        (self.folder / "lines").unlink()
        self.hpcbench("launch", str(attempt), env={"HPCBENCH_TOKEN": "0123456789abcdef"}, code=127)
        self.assertFalse((self.folder / "lines").exists())
        self.assertIn("an early version made this attempt", json.loads((attempt / "finished.json").read_text())["error"])


if __name__ == "__main__":
    unittest.main()
