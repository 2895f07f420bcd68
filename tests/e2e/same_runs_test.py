"""Imported lines and files that are one run, equal lines that count, and ids that contradict each other."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: old
command: ["true"]
launch: once
matrix: {gpu: [a, b]}
metrics: [{name: time_s, file: "*.log", pattern: 'took ([0-9.]+)', unit: s}]
report: {metric: time_s}
import:
"""


class SameRuns(StudyTest):
    def study(self, *imports):
        self.write("old.yaml", STUDY + "".join(f"  - {each}\n" for each in imports))

    def rows(self):
        return {row["axes"]["gpu"]: row for row in self.report("old.yaml")["rows"]}

    def test_lines_with_one_id_are_one_run(self):
        self.write("runs.csv", "id,gpu,time_s\nr1,a,4\nr2,a,4\nr1,a,4\nr3,b,5\n")
        self.study("runs.csv")
        done = self.hpcbench("report", "old.yaml")
        self.assertIn("runs.csv: 1 line with the id of another line, and equal to it, is no run of its own", done.stderr)
        self.assertIn("runs.csv:4 is", done.stderr)
        rows = self.rows()
        self.assertEqual((rows["a"]["n"], rows["b"]["n"]), (2, 1))
        self.assertNotIn("equal-lines", rows["a"]["warnings"])

    def test_an_id_may_stand_in_two_tables_and_be_mapped(self):
        self.write("runs.csv", "run id,gpu,time_s\nr1,a,4\nr2,a,4.5\n")
        self.write("more.csv", "run id,gpu,time_s\nr2,a,4.5\nr3,a,5\n")
        self.study('{table: [runs.csv, more.csv], values: {id: "run id"}}')
        self.assertEqual(self.rows()["a"]["n"], 3)

    def test_a_run_number_belongs_to_its_point(self):
        self.write("runs.csv", "run,gpu,time_s\n1,a,4\n2,a,4\n1,b,5\n2,b,6\n2,b,6\n")
        self.study("runs.csv")
        rows = self.rows()
        self.assertEqual((rows["a"]["n"], rows["b"]["n"]), (2, 2))

    def test_one_id_with_other_values_is_an_error_that_names_both_places(self):
        self.write("runs.csv", "id,gpu,time_s\nr1,a,4\nr1,a,5\n")
        self.study("runs.csv")
        for command in ("check", "report"):
            told = self.hpcbench(command, "old.yaml", code=2).stderr
            self.assertRegex(told, r"runs\.csv:3: error: `id r1` is also at \S*runs\.csv:2, and the two differ: time_s is 4 s there and 5 s here\n  = one id is one run")
        self.write("runs.csv", "id,gpu,time_s\nr1,a,4\nr1,b,4\n")
        self.assertIn("they are of different configurations", self.hpcbench("check", "old.yaml", code=2).stderr)

    def test_equal_lines_without_an_id_count_with_a_warning(self):
        self.write("runs.csv", "gpu,time_s\na,4\na,4\na,4\na,4\nb,5\nb,6\n")
        self.study("runs.csv")
        report = self.report("old.yaml")
        rows = {row["axes"]["gpu"]: row for row in report["rows"]}
        self.assertEqual((rows["a"]["n"], rows["b"]["n"]), (4, 2))
        self.assertIn("equal-lines", rows["a"]["warnings"])
        self.assertNotIn("equal-lines", rows["b"]["warnings"])
        warning = [w for w in report["warnings"] if w["code"] == "equal-lines"][0]
        self.assertIn("runs.csv:2, runs.csv:3, runs.csv:4, runs.csv:5", warning["seen"])
        self.assertIn("column `id`", warning["advice"])

    def test_files_imported_twice_are_one_run(self):
        self.write("a.log", "took 4\n")
        self.write("copy.log", "took 4\n")
        self.write("b.log", "took 5\n")
        self.study("{files: '*.log', each: true, run: {gpu: a}}", "{files: a.log, run: {gpu: a}}")
        done = self.hpcbench("report", "old.yaml")
        self.assertIn("have the same contents: they are one run", done.stderr)
        self.assertEqual(self.rows()["a"]["n"], 2)
        self.write("runs.csv", "gpu,file\na,a.log\na,a.log\na,b.log\n")
        self.study("runs.csv")
        self.assertIn("have the same contents: they are one run", self.hpcbench("report", "old.yaml").stderr)
        self.assertEqual(self.rows()["a"]["n"], 2)


if __name__ == "__main__":
    unittest.main()
