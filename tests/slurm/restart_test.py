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

    def test_killed_without_a_word_and_forgotten(self):
        """A job that leaves no finished.json and that Slurm has forgotten is lost, then run again."""
        self.write("gone.yaml", """
experiment: gone
command: [bash, -c, 'echo "$1" >> executions; case "$1" in */a1) kill -9 $(sed -n "s/^pid //p" "$1/claim"); sleep 60 ;; esac', bash, "{{run_dir}}"]
launch: once
matrix: {k: [1]}
repeats: 1
resources: {time: "00:02:00"}
""")
        self.run_study(name="gone.yaml")
        self.assertEqual(self.index("gone"), [("a1", "lost"), ("a2", "succeeded")])
        self.assertEqual(sorted(self.executions().values()), [1, 1])


if __name__ == "__main__":
    unittest.main()
