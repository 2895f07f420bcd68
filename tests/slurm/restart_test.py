"""hpcbench or the controller die and come back; jobs that Slurm has forgotten."""
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import SITE, SlurmStudyTest  # noqa: E402


class Restarts(SlurmStudyTest):
    def test_killed_in_the_middle_and_run_again(self):
        self.study(pause="sleep 1")
        for wait in (0.1, 0.5, 1.5):
            process = self.start("run", "trivial.yaml", "--site", self.site)
            time.sleep(wait)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        self.run_study()
        self.each_executed_once(20)

    def test_detached_and_taken_up_again(self):
        self.study(pause="sleep 1")
        self.run_study("--detach")
        self.run_study()
        self.each_executed_once(20)
        self.assertEqual(self.cluster.count("sbatch"), 1)

    def test_two_at_once(self):
        self.study(pause="sleep 0.5")
        both = [self.start("run", "trivial.yaml", "--site", self.site) for _ in range(2)]
        outputs = [process.communicate(timeout=120)[0] for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0], outputs)
        self.each_executed_once(20)
        self.assertEqual(self.cluster.count("sbatch"), 1)

    def test_controller_killed_and_restarted(self):
        self.write("site.yaml", SITE + "gres_type: none\n")  # see KILLS_CONTROLLER in fault_trials.py
        self.study(pause="sleep 2")
        process = self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: sum(self.executions().values()) >= 4, "running jobs")
        self.cluster.kill("ctld")
        self.wait_for(lambda: next(self.folder.glob("results/*/*/r*/a1/finished.json"), None), "a run that ends meanwhile")
        self.cluster.revive("ctld")
        with self.cluster.attended():
            output, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, output)
        executed = self.executions()
        self.assertEqual({path: n for path, n in executed.items() if n > 1}, {})
        self.assertEqual(self.status()["counts"]["succeeded"], 20)
        self.rebuilding_changes_nothing()


class StartedAgain(SlurmStudyTest):
    """Nodes have jobs cancelled whose ids they know from those that a controller has lost. That is what scancel does, too."""

    def job_of(self, experiment, state):
        return next((job for job, now, name, _ in self.cluster.jobs() if name.startswith(f"{experiment}.") and now == state), None)

    def cancel(self, experiment, state):
        self.wait_for(lambda: self.job_of(experiment, state), f"a job of {experiment} that is {state}")
        self.cluster.tool("scancel", self.job_of(experiment, state))

    def partition(self, state):
        self.cluster.tool("scontrol", "update", "partitionname=main", f"state={state}")

    def test_what_is_cancelled_soon_after_is_run_again_if_it_was_submitted_since(self):
        self.write("site.yaml", SITE + "gres_type: none\n")  # see KILLS_CONTROLLER in fault_trials.py
        one = {"[1, 2, 3, 4]": "[1]", "repeats: 5": "repeats: 1"}
        self.study(pause="sleep 2", **one)
        self.run_study()
        (self.folder / "old.yaml").write_text((self.folder / "trivial.yaml").read_text().replace("trivial", "old"))
        self.partition("down")
        self.addCleanup(self.partition, "up")
        self.run_study("--detach", name="old.yaml")
        self.cluster.wait_until_saved()
        self.cluster.kill("ctld")
        self.cluster.revive("ctld")
        self.partition("down")

        self.cancel("old", "PENDING")
        self.run_study(name="old.yaml", code=1)
        self.assertEqual(self.index("old"), [("a1", "cancelled")])

        self.study(pause="sleep 2", **{**one, "repeats: 5": "repeats: 2"})
        process = self.start("run", "trivial.yaml", "--site", self.site)
        self.cancel("trivial", "PENDING")
        self.wait_for(lambda: next(self.folder.glob("results/trivial/*/r02/a2/run.json"), None), "another attempt")
        self.partition("up")
        self.wait_for(lambda: next(self.folder.glob("results/trivial/*/r02/a2/claim"), None), "a job that runs")
        self.cancel("trivial", "RUNNING")
        with self.cluster.attended():
            output, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, output)
        self.assertCountEqual(self.index("trivial"), [("a1", "succeeded"), ("a1", "cancelled"), ("a2", "node_failure"), ("a3", "succeeded")])
        self.assertEqual(self.status("trivial.yaml")["counts"]["succeeded"], 2)
        self.rebuilding_changes_nothing()


class Forgotten(SlurmStudyTest):
    """A cluster without accounting that forgets jobs soon after their end: their own files must tell."""
    CLUSTER = ("--set", "MinJobAge=2")

    def test_taken_up_after_slurm_has_forgotten(self):
        self.study()
        self.run_study("--detach")
        self.wait_for(lambda: sum(self.executions().values()) == 20, "all jobs")
        self.wait_for(lambda: self.cluster.jobs() == [], "Slurm's forgetting")
        self.run_study()
        self.each_executed_once(20)
        self.rebuilding_changes_nothing()

    def test_killed_without_a_word_and_forgotten(self):
        """A job that leaves no finished.json and that Slurm has forgotten is lost, then run again."""
        self.write("gone.yaml", """
experiment: gone
command: [bash, -c, 'echo "$1" >> executions; case "$1" in */a1/out) kill -9 $(sed -n "s/^pid //p" "$1/../claim"); sleep 60 ;; esac', bash, "{{run_dir}}"]
launch: once
matrix: {k: [1]}
repeats: 1
resources: {time: "00:02:00"}
""")
        self.run_study(name="gone.yaml")
        self.assertEqual(self.index("gone"), [("a1", "lost"), ("a2", "succeeded")])
        self.rebuilding_changes_nothing()
        self.assertEqual(sorted(self.executions().values()), [1, 1])


if __name__ == "__main__":
    unittest.main()
