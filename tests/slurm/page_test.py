"""Pages of docs on a real Slurm: every file and command, in their order."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import ROOT, SlurmTest  # noqa: E402
from pages import PageTest  # noqa: E402


class Pages(SlurmTest, PageTest):
    def setUp(self):
        super().setUp()
        self.path = self.cluster.environment()["PATH"]

    def test_a_first_study(self):
        done = self.run_page(ROOT / "docs/first-slurm-study.md")
        self.assertEqual(done["hpcbench report"].stdout.count("6 succeeded"), 4)
        self.assertIn("nothing to do", done["hpcbench retry"].stderr)

    def test_blocks(self):
        self.write("cluster.yaml", "executor: slurm\ngres_type: none\n")
        done = self.run_page(ROOT / "docs/how-to/blocks.md")
        self.assertIn("6 jobs of 2 runs", done["hpcbench plan blocks.yaml --site ./cluster.yaml"].stdout)
        self.assertEqual(done["hpcbench report blocks.yaml"].stdout.count("6 succeeded"), 2)


if __name__ == "__main__":
    unittest.main()
