"""`doctor --probe` on a real Slurm."""
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import SITE, SlurmStudyTest  # noqa: E402


class Probes(SlurmStudyTest):
    """`doctor --probe`: jobs that ask the nodes, and nothing of them is left."""

    def probe(self, *arguments, code, site=SITE):
        self.write("site.yaml", site)
        done = self.hpcbench("doctor", "probed.yaml", "--site", self.site, "--probe", *arguments, code=code)
        self.assertEqual(list(self.folder.glob("results/.probe*")), [], "its folder is removed")
        self.assertEqual(self.cluster.jobs("PD,R"), [], "no job is left")
        self.assertEqual(list(self.folder.glob("results/probed")), [], "it counts as no run")
        return done.stdout

    def setUp(self):
        super().setUp()
        self.write("probed.yaml", """
experiment: probed
command: [bash, -c, "true"]
matrix: {nodes: [1, 2]}
repeats: 1
resources: {time: 60s, gres: "gpu:1"}
""")

    def test_nodes_say_what_they_are(self):
        output = self.probe(code=0)
        self.assertEqual(output.count("hpcbench starts"), 3, "one node, then two")
        self.assertEqual(output.count("the clock of node"), 3)
        self.assertEqual(self.cluster.count("sbatch"), 2 + 2, "two asked with --test-only, two submitted")

    def test_a_program_that_is_not_on_the_node(self):
        output = self.probe(code=1, site=SITE + "hpcbench: /nowhere/hpcbench\n")
        self.assertIn("/nowhere/hpcbench does not start", output)
        self.assertIn("`hpcbench: PATH` in the site's file", output)

    def test_modules_and_setup_that_fail_in_the_job(self):
        output = self.probe("--set", "setup=['echo no license here >&2', 'exit 9']", code=1)
        self.assertIn("exit status 9", output)
        self.assertIn("no license here", output)
        output = self.probe("--set", "modules=[nosuchmodule]", code=1)
        self.assertIn("the launcher fail", output)

    def test_a_job_that_waits_is_cancelled_at_the_limit_and_named(self):
        output = self.probe("--probe-timeout", "3s", code=1, site=SITE + 'extra: ["--begin=now+1hour"]\n')
        self.assertIn("did not begin within", output)
        self.assertIn("--probe-timeout", output)

    def test_ctrl_c_leaves_nothing(self):
        self.write("site.yaml", SITE + 'extra: ["--begin=now+1hour"]\n')
        process = self.start("doctor", "probed.yaml", "--site", self.site, "--probe")
        end = time.monotonic() + 60
        while len(self.cluster.jobs("PD")) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertEqual(list(self.folder.glob("results/.probe*")), [])
        self.assertEqual(self.cluster.jobs("PD,R"), [])


if __name__ == "__main__":
    unittest.main()
