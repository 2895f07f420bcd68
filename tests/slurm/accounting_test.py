"""Studies on a Slurm with accounting."""
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import SITE, SlurmStudyTest  # noqa: E402


class Accounting(SlurmStudyTest):
    CLUSTER = ("--accounting", "--set", "MinJobAge=2")

    def test_from_file_to_table(self):
        self.study()
        self.run_study()
        self.each_executed_once(20)

    def test_killed_in_the_middle_and_run_again(self):
        self.study(pause="sleep 1")
        process = self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: self.cluster.count("sbatch") == 1, "the submission")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.wait_for(lambda: sum(self.executions().values()) == 20, "all jobs")
        self.run_study()
        self.each_executed_once(20)

    def test_figures_of_accounting_become_metrics(self):
        """One sacct for all runs, after they have ended; and again for those that ended while no hpcbench was there."""
        self.write("figures.yaml", """
experiment: figures
command: [bash, -c, 'sleep 2']
launch: once
matrix: {k: [1, 2]}
repeats: 2
resources: {time: "00:02:00"}
metrics: [{name: elapsed_s, file: sacct.txt, accounting: Elapsed, unit: s}]
report: {metric: elapsed_s}
""")
        self.run_study("--only", "k=1", name="figures.yaml")
        self.run_study("--only", "k=2", "--detach", name="figures.yaml")
        self.wait_for(lambda: self.cluster.jobs() == [], "all jobs")

        def fetched():
            self.run_study(name="figures.yaml")
            return len(list(self.folder.glob("results/figures/*/*/a1/sacct.txt"))) == 4
        self.wait_for(fetched, "accounting of all runs")
        for row in self.report("figures.yaml")["rows"]:
            self.assertEqual(row["n"], 2)
            self.assertGreaterEqual(row["median"], 2)

    def test_submit_limit_is_waited_out(self):
        self.study()
        self.write("site.yaml", SITE + "qos: tight\n")
        self.run_study("--only", "k=1")
        self.assertEqual(sum(self.executions().values()), 5)

    def test_submit_limit_of_a_group_is_waited_out(self):
        self.study()
        self.write("site.yaml", SITE + "qos: together\n")
        self.assertIn("takes no more jobs", self.run_study().stderr)
        self.each_executed_once(20)

    def test_blocks_are_as_long_as_the_qos_allows(self):
        self.study(**{"repeats: 5": "repeats: 2", '"00:02:00"': "60s"})
        with (self.folder / "trivial.yaml").open("a") as file:
            file.write("allocation: {per: block}\n")
        self.write("site.yaml", SITE + "qos: brief\n")
        said = self.hpcbench("plan", "trivial.yaml", "--site", self.site).stdout
        self.assertIn("4 runs take 7 min one after the other, and MaxWall of QOS `brief` is 5 min: each block is split into 2 parts", said)
        self.run_study()
        self.each_executed_once(8)
        self.study(**{'"00:02:00"': "6m"})
        with (self.folder / "trivial.yaml").open("a") as file:
            file.write("allocation: {per: block}\n")
        self.assertIn("MaxWall of QOS `brief` is 5 min", self.run_study(code=2).stderr)

    def test_doctor_knows_the_accounts(self):
        self.wait_for(lambda: self.cluster.jobs() == [], "the controller to forget the jobs of other tests")
        self.study()
        self.write("site.yaml", SITE + "account: nobody\n")
        self.assertIn("bench", self.hpcbench("doctor", "trivial.yaml", "--site", self.site, code=1).stdout)
        self.write("site.yaml", SITE + "account: bench\n")
        self.hpcbench("doctor", "trivial.yaml", "--site", self.site)
        self.assertEqual(self.cluster.jobs(), [])

    def test_doctor_names_the_limit_and_waits_for_one_that_time_cures(self):
        self.study(**{"00:02:00": "00:10:00", "k: [1, 2, 3, 4]": "k: [1], nodes: [1, 2], gpus_per_node: [1, 2]"})
        self.write("site.yaml", SITE + "qos: brief\n")
        said = self.hpcbench("doctor", "trivial.yaml", "--site", self.site, code=1).stdout
        self.assertRegex(said, r"problem .*QOSMaxWallDurationPerJobLimit; Job violates .* Ask for less time \(resources.time\)")
        self.write("site.yaml", SITE + "qos: tight\n")
        said = self.hpcbench("doctor", "trivial.yaml", "--site", self.site, "--probe").stdout
        self.assertEqual(said.count("hpcbench starts"), 6, f"two nodes of two of the four shapes; two jobs at a time:\n{said}")
        for _ in range(2):
            self.cluster.tool("sbatch", "--partition=closed", "--qos=tight", "--output=/dev/null", "--wrap=true")
        said = self.hpcbench("doctor", "trivial.yaml", "--site", self.site, "--probe", "--probe-timeout", "3s").stdout
        self.assertRegex(said, r"warning  Slurm takes no more jobs of yours now: QOSMaxSubmitJobPerUserLimit; .*`hpcbench run` would wait")
        self.assertEqual(said.count("was not submitted"), 4, said)


if __name__ == "__main__":
    unittest.main()
