"""docs/first-hour.md: every command of the page, in its order, does what the page says."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402

PAGE = ROOT / "docs/first-hour.md"


def commands():
    """(command, exit code that the page says, whether that is only where gnuplot is absent)"""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            command, _, remark = line.partition("  # ")
            said = re.match(r"exits with (\d)( where gnuplot)?", remark)
            code = int(said.group(1)) if said else 0
            if said and said.group(2) and shutil.which("gnuplot"):
                code = 0
            found.append((command, code))
    return found


class FirstHour(StudyTest):
    def shell(self, command, code):
        env = self.environment({"PATH": f"{PROGRAMS}:{os.environ['PATH']}"})
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}\n{done.stderr}")
        return done

    def test_the_page_from_init_to_the_latex_table(self):
        said = {command: self.shell(command, code) for command, code in commands()}
        self.assertGreaterEqual(len(said), 18)
        self.assertIn("train.py", next(done.stderr for command, done in said.items() if "train.py" in command))
        self.assertIn("--simulate-nodes", next(done.stderr for command, done in said.items() if "matrix.nodes" in command))
        self.assertIn("nothing to do", said["hpcbench run study.yaml"].stderr, "the second time")
        table = (self.folder / "table.tex").read_text()
        self.assertEqual(len(re.findall(r"^ *1 & |^ *2 & ", table, re.MULTILINE)), 4, table)
        self.assertIn("\\begin{tabular}", table)
        self.assertIn(" 8 ", table, "eight repeats")
        self.assertIn("<table", (self.folder / "report.html").read_text())
        self.assertIn("Methods", (self.folder / "methods.txt").read_text())
        self.assertTrue((self.folder / "figures/time.gp").exists())


if __name__ == "__main__":
    unittest.main()
