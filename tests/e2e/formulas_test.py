"""Formulas over metrics, `take` within a run, and success by value: ways of reading, which repeat no run."""
import json
import pathlib
import shutil
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402
from scored_study import METRIC, STUDY, WORK, ScoredStudyTest  # noqa: E402


class Example(StudyTest):
    def test_the_rate_is_that_of_the_median_iteration(self):
        shutil.copytree(ROOT / "examples/metrics", self.folder / "examples/metrics")
        self.hpcbench("run", "examples/metrics/tokens.yaml")
        rows = {row["axes"]["micro_batch"]: row for row in self.report("examples/metrics/tokens.yaml")["rows"]}
        for micro_batch, row in rows.items():
            iteration_ms = 8 // micro_batch * (20 + 5 * micro_batch)
            self.assertAlmostEqual(row["median"], 8 * 512 * 1000 / iteration_ms)
        text = self.hpcbench("report", "examples/metrics/tokens.yaml").stdout
        self.assertIn("tokens/s", text)
        shown = self.hpcbench("show", f"tokens/{rows[1]['config_id']}/r01/a1").stdout
        self.assertIn("stdout.log:42 (median of 40 values)", shown)
        self.assertIn("formula global_batch * sequence * 1000 / iteration_ms", shown)


class Formulas(ScoredStudyTest):
    FORMULA = METRIC.replace("]\n", ", {name: each, formula: 10 * score / (size + bonus), unit: points}]\n")
    END = "parameters: {bonus: 1}\nreport: {metric: each}\n"

    def study(self, more, text=STUDY):
        self.write("tiny.yaml", text + more)

    def executions(self):
        return len((self.folder / "executions").read_text().splitlines())

    def medians(self):
        return [row["median"] for row in self.report("tiny.yaml")["rows"]]

    def attempts(self):
        with sqlite3.connect(self.folder / "results/hpcbench.db") as database:
            columns = [row[1] for row in database.execute("PRAGMA table_info(attempt)") if row[1] != "id"]
            return database.execute(f"SELECT {','.join(columns)} FROM attempt ORDER BY path").fetchall()

    def test_a_formula_that_is_added_or_changed_is_computed_of_the_kept_runs(self):
        self.study("parameters: {bonus: 1}\n" + METRIC)
        self.hpcbench("run", "tiny.yaml")
        self.study(self.FORMULA + self.END)
        self.assertIn("read 6 runs again: the file's metrics changed\n", self.hpcbench("report", "tiny.yaml").stderr)
        self.assertEqual(self.medians(), [7.5, 25 / 3])
        self.assertNotIn("again", self.hpcbench("report", "tiny.yaml").stderr)
        before = self.attempts()
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.attempts(), before)
        self.study(self.FORMULA.replace("10 *", "20 *") + self.END)
        self.assertEqual(self.medians(), [15, 50 / 3])
        self.assertIn("nothing to do", self.hpcbench("run", "tiny.yaml").stderr)
        self.assertEqual(self.executions(), 6)
        self.assertEqual(self.report("tiny.yaml")["unit"], "points")

    def test_a_formula_knows_derived_values_and_follows_them(self):
        derive = "derive: {twice: 2 * half, half: size / 2}\n"
        formula = METRIC.replace("]\n", ", {name: each, formula: score / twice}]\n") + "report: {metric: each}\n"
        self.study(derive + formula)
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.medians(), [1.5, 1.25])
        run = next((self.folder / "results/tiny").glob("*/r01/a1/run.json"))
        self.assertEqual(json.loads(run.read_text())["formulas"], {"parameters": {}, "derived": {"half": "size / 2", "twice": "2 * half"}})
        (self.folder / "results/tiny/reading.json").unlink()
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.medians(), [1.5, 1.25])
        self.study(derive.replace("2 * half", "4 * half") + formula)
        self.assertEqual(self.medians(), [0.75, 0.625])

    def test_absent_stays_absent_and_says_which_name(self):
        self.write("work.sh", 'echo run >> executions\n[ "$1" = 2 ] || echo "score $1.5"\n')
        self.study(self.FORMULA + self.END)
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.medians(), [7.5, None])
        self.assertIn("no-value", [warning["code"] for warning in self.report("tiny.yaml")["warnings"]])
        record = self.hpcbench("show", f"tiny/{self.report('tiny.yaml')['rows'][1]['config_id']}/r01/a1")
        self.assertIn("metric each: score has no value, in the formula 10 * score / (size + bonus)", record.stdout + record.stderr)

    def test_imported_runs_have_their_formulas(self):
        self.study(self.FORMULA + self.END)
        self.write("old.log", "score 4\n")
        self.hpcbench("ingest", "--experiment", "tiny.yaml", "--run", "size=1", "old.log")
        self.assertEqual(self.medians()[0], 20)


class SuccessByValue(ScoredStudyTest):
    def study(self, more):
        self.write("tiny.yaml", STUDY + METRIC + more)

    def executions(self):
        return len((self.folder / "executions").read_text().splitlines())

    def reasons(self):
        return {run["reason"] for row in self.report("tiny.yaml")["rows"] for run in row["runs"] if run["outcome"] != "succeeded"}

    def test_a_value_decides_and_no_run_is_repeated(self):
        self.study("")
        self.hpcbench("run", "tiny.yaml")
        self.study("success: {require: [score < 2]}\n")
        ended = self.hpcbench("status", "tiny.yaml", code=1)
        self.assertIn("read 6 runs again: the file's `success` changed (3 succeeded -> failed; no run is repeated for that)", ended.stderr)
        self.assertEqual(self.reasons(), {"success requires score < 2, and score is 2.5"})
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(self.executions(), 6)
        self.hpcbench("db", "rebuild")
        counts = self.status("tiny.yaml")["counts"]
        self.assertEqual((counts["failed"], counts["succeeded"]), (3, 3))
        self.study("success: {require: [score < 3]}\n")
        self.assertEqual(self.status("tiny.yaml")["counts"]["succeeded"], 6)
        self.assertEqual(self.executions(), 6)

    def test_an_absent_metric_is_no_success(self):
        self.write("work.sh", WORK.replace("score $1", "no score"))
        self.study("success: {require: [score < 2 or size == 2]}\n")
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        self.assertEqual(self.reasons(), {"success requires score < 2 or size == 2: score has no value"})

    def test_overrides_have_requirements_of_their_own(self):
        self.study("success: {require: score < 2}\noverrides: [{when: {size: 2}, success: {require: [score < 3]}}]\n")
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.status("tiny.yaml")["counts"]["succeeded"], 6)


if __name__ == "__main__":
    unittest.main()
