"""The two commands of the README: the demo from a built tree, and again at once."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT  # noqa: E402


class Demo(unittest.TestCase):
    def demo(self):
        done = subprocess.run([str(ROOT / "scripts/demo.sh")], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=1500)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        return done

    def test_demo_prints_a_table_and_measures_nothing_twice(self):
        first = self.demo()
        table = first.stdout[first.stdout.index("| strategy"):]
        rows = [line for line in table.splitlines() if line.startswith(("| baseline", "| ddp"))]
        print(table)
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assertIn("| 6 |", row)
            self.assertIn("6 succeeded", row)
        again = self.demo()
        self.assertIn("nothing to do", again.stderr)
        self.assertEqual(again.stdout[again.stdout.index("| strategy"):], table)


if __name__ == "__main__":
    unittest.main()
