"""Where ranks write: files of their own, or one for all above 0."""
import json
import shutil
import unittest

from harness import StudyTest

STUDY = """experiment: talks
command: [bash, -c, 'for i in 1 2 3; do echo "loss $i.$RANK"; done; echo "note $RANK" >&2; exit $((RANK == FAILS ? 7 : 0))']
matrix: {gpus_per_node: [4]}
repeats: 1
retries: {lost: 0}
output: merged
metrics:
  - {name: loss, file: stdout.log, pattern: 'loss ([0-9.]+)'}
  - {name: others, file: ranks.log, pattern: '^3: loss ([0-9.]+)'}
"""


class Output(StudyTest):
    def study(self, fails=9, more=""):
        self.write("talks.yaml", STUDY.replace("FAILS", str(fails)) + more)

    def attempt(self):
        return next(self.folder.rglob("r01/a1"))

    def test_ranks_above_0_share_a_file(self):
        for more in ("", "setup: ['true']\n"):
            with self.subTest(more=more):
                self.study(more=more)
                self.hpcbench("run", "talks.yaml")
                logs = sorted(path.name for path in self.attempt().glob("*.log"))
                self.assertEqual(logs, ["ranks.log", "stderr.log", "stdout.log"])
                self.assertEqual((self.attempt() / "stdout.log").read_text(), "loss 1.0\nloss 2.0\nloss 3.0\n")
                expected = sorted([f"{rank}: loss {i}.{rank}" for rank in (1, 2, 3) for i in (1, 2, 3)] + [f"{rank}: note {rank}" for rank in (1, 2, 3)])
                self.assertEqual(sorted((self.attempt() / "ranks.log").read_text().splitlines()), expected)
                report = self.hpcbench("report", "talks.yaml", "--format", "csv", "--columns", "loss,others").stdout
                self.assertIn("\n3,3.3,", report)
                self.remove_results()

    def remove_results(self):
        shutil.rmtree(self.folder / "results")

    def test_the_last_words_of_the_rank_that_failed_are_shown(self):
        for more in ("", "setup: ['true']\n"):
            with self.subTest(more=more):
                self.study(fails=2, more=more)
                said = self.hpcbench("run", "talks.yaml", code=1).stderr
                self.assertIn("rank 2 failed with exit code 7", said)
                self.assertIn("note 2", json.loads((self.attempt() / "finished.json").read_text())["tail"])
                self.remove_results()


if __name__ == "__main__":
    unittest.main()
