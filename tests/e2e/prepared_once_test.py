"""A `prepare` command runs once in a call, also where rounds make several parts of a study."""
import unittest

from harness import StudyTest

STUDY = """
experiment: s
prepare: [sh, -c, 'echo prepared >> prepared']
command: [sh, -c, 'echo score 1']
matrix: {k: [1, 2]}
resources: {time: 60s}
metrics: [{name: score, file: stdout.log, pattern: 'score (\\d+)', unit: s}]
report: {metric: score}
"""


class PreparedOnce(StudyTest):
    def check_once(self, more):
        self.write("s.yaml", STUDY + more)
        done = self.hpcbench("run", "s.yaml", code=None)
        self.assertGreaterEqual(done.stderr.count(": 2 rows, "), 2, done.stderr)
        self.assertEqual((self.folder / "prepared").read_text(), "prepared\n")

    def test_with_until(self):
        self.check_once("repeats: {until: 1 %, looks: [6, 10, 15]}\n")

    def test_with_a_budget(self):
        self.check_once("repeats: 3\nbudget: {node_hours: 1}\n")


if __name__ == "__main__":
    unittest.main()
