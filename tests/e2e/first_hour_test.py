"""docs/first-hour.md: every command of the page, in its order, does what the page states."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT  # noqa: E402
from pages import PageTest  # noqa: E402


class FirstHour(PageTest):
    def test_the_page_from_init_to_the_latex_table(self):
        done = self.run_page(ROOT / "docs/first-hour.md")
        self.assertGreaterEqual(len(done), 18)
        self.assertIn("train.py", next(said.stderr for command, said in done.items() if "train.py" in command))
        self.assertIn("--simulate-nodes", next(said.stderr for command, said in done.items() if "matrix.nodes" in command))
        self.assertIn("nothing to do", done["hpcbench run study.yaml"].stderr, "the second time")
        table = (self.folder / "table.tex").read_text()
        self.assertEqual(len(re.findall(r"^ *1 & |^ *2 & ", table, re.MULTILINE)), 4, table)
        self.assertIn("\\begin{tabular}", table)
        self.assertIn(" 8 ", table, "eight repeats")
        self.assertIn("<table", (self.folder / "report.html").read_text())
        self.assertIn("Methods", (self.folder / "methods.txt").read_text())
        self.assertTrue((self.folder / "figures/time.gp").exists())


if __name__ == "__main__":
    unittest.main()
