"""Input decks: files whose placeholders are filled in, in the folder of each attempt."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: decks
command: [sh, -c, 'cat HPL.dat in/seed.txt']
workdir: attempt
files:
  - {from: HPL.dat.in, to: HPL.dat}
  - {from: "decks/{{case}}.in", to: in/seed.txt}
matrix: {case: [small, large], size: [100]}
derive: {blocks: size // 10}
repeats: 2
metrics: [{name: n, file: stdout.log, pattern: 'n=([0-9]+)'}]
report: {metric: n}
"""
DECK = "n={{size}} blocks={{ blocks }} {{*nothing}} {.x} \\xff-free é\n"


class Decks(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("decks.yaml", STUDY)
        self.write("HPL.dat.in", DECK)
        self.write("decks/small.in", "seed={{seed}} repeat={{repeat}} small\n")
        self.write("decks/large.in", "seed={{seed}} repeat={{repeat}} large\n")

    def attempts(self, run="r01"):
        return [self.folder / "results/decks" / row["config_id"] / run / "a1" for row in self.report("decks.yaml")["rows"]]

    def test_each_attempt_has_its_decks(self):
        self.hpcbench("run", "decks.yaml")
        small, large = self.attempts("r02")
        filled = "n=100 blocks=10 {{*nothing}} {.x} \\xff-free é\n"
        self.assertEqual((small / "stdout.log").read_text(), filled + "seed=3 repeat=2 small\n")
        self.assertEqual((large / "out/HPL.dat").read_text(), filled)
        run = json.loads((large / "run.json").read_text())
        self.assertEqual([(f["path"], f["from"], len(f["sha256"])) for f in run["files"]],
                         [("HPL.dat", "HPL.dat.in", 64), ("in/seed.txt", "decks/large.in", 64)])
        self.assertNotIn("confounded", self.hpcbench("report", "decks.yaml").stdout)

    def test_a_place_in_a_deck_is_no_matter_of_its_folder(self):
        self.write("HPL.dat.in", "n={{sise}}\n")
        said = self.hpcbench("run", "decks.yaml", code=3).stderr
        self.assertIn("HPL.dat.in:1:3: error: nothing defines {{sise}}", said)
        self.assertNotIn("relative to the folder", said)

    def test_what_is_wrong_with_a_deck_is_said_before_the_first_run(self):
        for text, message in ((None, "HPL.dat.in is not there"), ("a\nn={{sise}}\n", "HPL.dat.in:2:3: error: nothing defines {{sise}} (did you mean `size`?)"),
                              ("é {{run_dir}}", "HPL.dat.in:1:3: error: an input deck cannot use {{run_dir}}")):
            (self.folder / "HPL.dat.in").unlink(missing_ok=True)
            if text is not None:
                self.write("HPL.dat.in", text)
            failed = self.hpcbench("run", "decks.yaml", code=None)
            self.assertNotEqual(failed.returncode, 0)
            self.assertIn(message, failed.stdout + failed.stderr)
            self.assertEqual(list(self.folder.glob("results/decks/*/r01")), [])

    def test_a_changed_deck_runs_nothing_again_and_confounds(self):
        text = STUDY.replace("HPL.dat in/seed.txt'", "HPL.dat; echo took=1'").replace('  - {from: "decks/{{case}}.in", to: in/seed.txt}\n', "").replace("name: n, file: stdout.log, pattern: 'n=", "name: took_s, unit: s, file: stdout.log, pattern: 'took=")
        text = text.replace("report: {metric: n}", "baseline: {case: small}\nreport: {metric: took_s}")
        self.write("decks.yaml", text)
        self.hpcbench("run", "decks.yaml", "--only", "case=small")
        self.write("HPL.dat.in", DECK + "more\n")
        self.assertEqual(json.loads(self.hpcbench("plan", "decks.yaml", "--format", "json").stdout)["kept"], 2)
        self.hpcbench("run", "decks.yaml", "--only", "case=large")
        facts = [path for path in self.folder.rglob("run.json")]
        self.assertEqual(len(facts), 4)
        self.assertIn("confounded", [warning["code"] for warning in self.report("decks.yaml")["warnings"]])

    def test_a_run_by_hand_has_copies(self):
        self.hpcbench("run", "decks.yaml", "--only", "case=small")
        import os
        import subprocess
        from harness import HPCBENCH
        attempt = self.attempts()[0]
        by_hand = self.folder / "by_hand"
        by_hand.mkdir()
        for command in ([HPCBENCH, "launch", str(attempt)], ["bash", str(attempt / "job.sh")]):
            done = subprocess.run(command, cwd=by_hand, env=self.environment(), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        folders = [folder for folder in by_hand.iterdir() if folder.name.startswith("manual-")]
        self.assertEqual(len(folders), 2)
        for folder in folders:
            self.assertEqual((folder / "out/in/seed.txt").read_text(), "seed=2 repeat=1 small\n")
        self.assertTrue(os.listdir(attempt))


if __name__ == "__main__":
    unittest.main()
