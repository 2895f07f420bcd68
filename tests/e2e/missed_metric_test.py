"""A metric that matches nothing is never silent: run, status, report and check say so."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scored_study import METRIC, STUDY, WRONG, ScoredStudyTest  # noqa: E402


class MissedMetric(ScoredStudyTest):
    """A metric that matches nothing is never silent."""

    def test_run_warns_after_the_first_run_of_a_configuration(self):
        self.write("tiny.yaml", STUDY + WRONG)
        told = self.hpcbench("run", "tiny.yaml").stderr
        self.assertEqual(told.count("has no value of the metric score"), 1, told)
        self.assertIn("stdout.log is what pattern Score: ([0-9.]+) names", told)
        self.assertIn("  | all is well\n", told)
        self.assertLess(told.index("no value of the metric"), told.index("6 of 6 runs succeeded"))

    def test_run_says_what_is_no_number(self):
        self.write("work.sh", 'echo "score 17,178"; echo "loss 5"; echo "loss nan"\n')
        self.write("tiny.yaml", STUDY + "metrics:\n  - {name: score, file: stdout.log, pattern: 'score ([0-9.,]+)'}\n"
                   "  - {name: loss, file: stdout.log, pattern: 'loss (.*)'}\n")
        told = self.hpcbench("run", "tiny.yaml").stderr
        self.assertIn("of what pattern score ([0-9.,]+) names in ", told)
        self.assertIn("1 match is no number, the first `17,178` at ", told)
        self.assertIn("stdout.log:1: it may be 17178 or 17.178, and the file's other numbers do not decide: write `decimal: point` or `decimal: comma`", told)
        self.assertNotIn("nothing in", told)
        self.assertIn("loss is nan: 1 of 2 values are not finite, the first is `nan` at stdout.log:3", told)
        warning = [w for w in self.report("tiny.yaml")["warnings"] if w["code"] == "diverged"][0]
        self.assertIn("loss is nan in 3 of 3 runs that succeeded", warning["seen"])

    def test_run_names_all_metrics_and_runs_without_a_value(self):
        """Also of runs that are not the first of their configuration."""
        self.write("work.sh", 'echo "a $2"; [ "$2" = 1 ] && echo "b 5"; [ "$2" = 3 ] || echo "c 5"; true\n')
        study = STUDY.replace('"{{size}}"]', '"{{size}}", "{{repeat}}"]')
        self.assertNotEqual(study, STUDY)
        self.write("tiny.yaml", study + "metrics:\n" + "".join(f"  - {{name: {name}, file: stdout.log, pattern: '{name} ([0-9]+)'}}\n" for name in "abc"))
        told = self.hpcbench("run", "tiny.yaml").stderr
        self.assertNotIn("of the metric a", told)
        self.assertRegex(told, r"warning: 4 of 6 runs have no value of the metric b: [0-9a-f]{16}/r0[23], .*/r0[23]\n")
        self.assertRegex(told, r"warning: 2 of 6 runs have no value of the metric c: [0-9a-f]{16}/r03, [0-9a-f]{16}/r03\n")
        self.write("work.sh", 'echo "a -3"\n')
        self.write("tiny.yaml", study + "metrics:\n  - {name: a, unit: s, file: stdout.log, pattern: 'a (.*)'}\n")
        told = self.hpcbench("run", "tiny.yaml", "--again").stderr
        self.assertIn("has no value of the metric a: -3 at stdout.log:1 is a negative time", told)
        self.assertNotIn("nothing in", told)

    def test_check_warns_of_a_metric_with_the_name_of_a_rule(self):
        self.write("tiny.yaml", STUDY + METRIC.replace("score,", "failed,"))
        self.assertRegex(self.hpcbench("check", "tiny.yaml").stderr,
                         r"tiny\.yaml:\d+:\d+: warning: the metric `failed` has the name of a rule of `compare --fail-if`")

    def test_run_says_that_there_is_no_such_file(self):
        self.write("tiny.yaml", STUDY + METRIC.replace("stdout.log", "stdoutt.log"))
        told = self.hpcbench("run", "tiny.yaml").stderr
        self.assertIn("no file is stdoutt.log", told)
        self.assertIn("stdout.log", told)

    def test_bytes_of_a_packed_file_are_not_quoted(self):
        self.write("tiny.yaml", STUDY.replace("[bash, work.sh, \"{{size}}\"]", "[bash, -c, 'gzip > \"$1\"/scores.gz <<< \"score 1\"', bash, \"{{run_dir}}\"]")
                   + WRONG.replace("stdout.log", "scores.gz"))
        told = self.hpcbench("run", "tiny.yaml").stderr
        self.assertIn("scores.gz is what pattern Score: ([0-9.]+) names", told)
        self.assertNotIn("It ends", told)
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("Score:", "score"))
        self.assertEqual(self.status("tiny.yaml")["without_value"], [])

    def test_status_says_so(self):
        self.write("tiny.yaml", STUDY + WRONG)
        self.hpcbench("run", "tiny.yaml")
        self.assertIn("metric score: no value in 6 of 6 runs that succeeded (pattern Score: ([0-9.]+) in stdout.log)",
                      self.hpcbench("status", "tiny.yaml").stdout)
        self.assertEqual(self.status("tiny.yaml")["without_value"],
                         [{"metric": "score", "file": "stdout.log", "pattern": "Score: ([0-9.]+)", "runs": 6, "of": 6}])
        self.write("tiny.yaml", STUDY + METRIC)
        self.assertEqual(self.status("tiny.yaml")["without_value"], [])

    def test_report_says_so(self):
        self.write("tiny.yaml", STUDY + WRONG)
        self.hpcbench("run", "tiny.yaml")
        warning = [w for w in self.report("tiny.yaml")["warnings"] if w["code"] == "no-value"][0]
        self.assertIn("score in none of 3 runs that succeeded: no match in stdout.log", warning["seen"])
        self.write("tiny.yaml", STUDY + WRONG + "report: {metric: score}\n")
        told = self.hpcbench("report", "tiny.yaml", code=2).stderr
        self.assertIn("no run has the metric `score`", told)
        self.assertIn("no match in stdout.log", told)

    def test_check_says_where_report_metric_is_defined_by_nothing(self):
        self.write("tiny.yaml", STUDY + METRIC + "report: {metric: scores}\n")
        done = self.hpcbench("check", "tiny.yaml")
        self.assertIn("tiny.yaml:8:18: warning: `report.metric` is `scores`, which no entry of `metrics` defines "
                      "(did you mean `score`?)", done.stderr)
        for name in ("score", "wall_s"):
            self.write("tiny.yaml", STUDY + METRIC + f"report: {{metric: {name}}}\n")
            self.assertNotIn("warning", self.hpcbench("check", "tiny.yaml").stderr)


if __name__ == "__main__":
    unittest.main()
