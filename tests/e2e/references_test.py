"""`report.references` judge rows."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scored_study import METRIC, STUDY, ScoredStudyTest  # noqa: E402

SIX = STUDY.replace("repeats: 3", "repeats: 6")


class References(ScoredStudyTest):
    def study(self, *references):
        entries = "".join(f"    - {{{each}}}\n" for each in references)
        self.write("tiny.yaml", SIX + METRIC + "report:\n  metric: score\n  references:\n" + entries)

    def codes(self):
        return {warning["code"] for warning in self.report("tiny.yaml")["warnings"]}

    def test_a_row_outside_is_marked_and_strict_fails(self):
        self.study("when: {size: 2}, value: 2.5, low: -5 %, high: 5 %", "when: size == 1, value: 1.4, high: 8 %")
        self.hpcbench("run", "tiny.yaml")
        self.hpcbench("report", "tiny.yaml", "--strict")
        self.study("when: {size: 2}, value: 2.5, low: -5 %, high: 5 %", "when: size == 1, value: 1.4, high: 7 %")
        text = self.hpcbench("report", "tiny.yaml", "--strict", code=1).stdout
        self.assertIn("reference-missed: size=1: score is 1.5 [1.5, 1.5] 96.9 %, and the reference in line 12 of tiny.yaml "
                      "allows at most 1.498", text)
        self.assertEqual([row["warnings"] for row in self.report("tiny.yaml")["rows"]], [["reference-missed"], []])
        self.hpcbench("report", "tiny.yaml", "--strict", "--only", "size=2")
        self.hpcbench("run", "tiny.yaml")  # a report's affair: no run is repeated, and none fails
        self.assertEqual(len((self.folder / "executions").read_text().splitlines()), 12)

    def test_one_that_matches_nothing(self):
        self.study("when: size == 1 and repeats == 7, value: 1, low: -5 %")
        self.assertIn("tiny.yaml:11:28: error: ", self.hpcbench("plan", "tiny.yaml", code=2).stderr)
        self.study("when: size > 5, value: 1, low: -5 %")
        self.assertIn("tiny.yaml:11:14: error: this is true for no configuration", self.hpcbench("run", "tiny.yaml", code=2).stderr)
        self.study("when: size > 1, value: 1, low: -5 %", "when: {size: 2}, value: 1, low: -5 %")
        self.hpcbench("run", "tiny.yaml")
        self.hpcbench("report", "tiny.yaml", "--strict")
        told = self.hpcbench("report", "tiny.yaml", "--strict", "--set", "matrix.size=[1]", code=1).stdout
        self.assertEqual(told.count("reference-unmatched"), 2, told)


if __name__ == "__main__":
    unittest.main()
