"""`report.references` judge rows, and `retries: {failed: N}` tries again what failed by its own end."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402
from scored_study import METRIC, STUDY, WORK, ScoredStudyTest  # noqa: E402

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


FLAKY = 'echo "$1" >> executions\n[ "$(grep -c "^$1" executions)" -gt 1 ] || exit 3\necho "score $1.5"\n'


class Retries(StudyTest):
    def study(self, more=""):
        self.write("tiny.yaml", SIX.replace("repeats: 6", "repeats: 2") + METRIC + more)

    def executions(self):
        return len((self.folder / "executions").read_text().splitlines())

    def test_what_fails_at_first_is_tried_again_and_told(self):
        self.write("work.sh", FLAKY)
        self.study("retries: {failed: 1}\n")
        done = self.hpcbench("run", "tiny.yaml")
        self.assertEqual(done.stderr.count("it is tried again"), 2, done.stderr)
        self.assertEqual(self.executions(), 6)
        status = self.status("tiny.yaml")
        self.assertEqual((status["counts"]["succeeded"], status["tried_again"]), (4, 2))
        self.assertIn("2 of them were tried again; only the last attempt of a run counts", self.hpcbench("status", "tiny.yaml").stdout)
        report = self.report("tiny.yaml")
        self.assertEqual([row["tried_again"] for row in report["rows"]], [1, 1])
        self.assertIn("2 runs in 2 of 2 rows needed more than one attempt", " ".join(report["notes"]))
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.executions(), 6)

    def test_no_more_often_than_asked_for_and_not_for_a_value(self):
        self.write("work.sh", 'echo "$1" >> executions\nexit 3\n')
        self.study("retries: {failed: 2}\n")
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        self.assertEqual(self.executions(), 12)
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        self.assertEqual(self.executions(), 12)

    def test_what_would_be_tried_again_is_rehearsed(self):
        self.write("work.sh", FLAKY)
        self.study()
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        self.assertNotIn("again", self.hpcbench("run", "tiny.yaml", "--dry-run").stdout)
        self.study("retries: {failed: 1}\n")
        rehearsed = self.hpcbench("run", "tiny.yaml", "--dry-run")
        self.assertEqual(rehearsed.stdout.count("(again)"), 2, rehearsed.stdout)
        self.assertIn("2 runs would be started by the executor local; 2 of 4 have an outcome", rehearsed.stderr)
        before = self.executions()
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.executions(), before + 2)

    def test_a_value_is_never_tried_again(self):
        self.write("work.sh", WORK)
        self.study("retries: {failed: 2}\nsuccess: {require: [score > 2], pattern: all is well}\n")
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(self.executions(), 4)
        self.study("retries: {failed: 2}\nsuccess: {pattern: all is bad, exit_code: 7}\n")
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(self.executions(), 4, "another reading rule repeats no run")


if __name__ == "__main__":
    unittest.main()
