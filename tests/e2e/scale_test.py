"""Axes named like a unit, columns by their headings, and advice about the baseline."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

# The command starts its own ranks.
OWN = """
experiment: own
command: [sh, -c, 'echo "T $0.{{repeat}}"', "{{ranks}}"]
launch: once
matrix: {ranks: [1, 2, 4]}
repeats: 3
metrics: [{name: t_s, file: stdout.log, pattern: 'T ([0-9.]+)', unit: s}]
baseline: {ranks: 1}
report: {metric: t_s, scaling: weak, scale_by: ranks}
"""
# hpcbench starts the ranks.
STARTED = OWN.replace("own", "started").replace("launch: once\n", "").replace("{ranks: [", "{ranks_per_node: [").replace("{ranks: 1}", "{ranks_per_node: 1}").replace(
    '"{{ranks}}"', '"2"').replace(", scaling: weak, scale_by: ranks", "")


class Scale(StudyTest):
    def header(self, *arguments):
        return [line.split() for line in self.hpcbench("report", *arguments).stdout.splitlines() if line.startswith("ranks ")][0]

    def test_an_axis_named_ranks_is_the_size(self):
        self.write("own.yaml", OWN)
        self.hpcbench("run", "own.yaml")
        self.assertEqual(self.header("own.yaml").count("ranks"), 1)
        for scaling, factor in (("weak", 1), ("fixed_work", 4)):
            last = self.report("own.yaml", "--set", f"report.scaling={scaling}")["rows"][2]
            self.assertAlmostEqual(last["efficiency"], last["speedup"]["value"] / factor)
        # In nodes all rows have one size: the speedup is no efficiency.
        text = self.hpcbench("report", "own.yaml", "--set", "report.scale_by=nodes").stdout
        self.assertNotIn("fficiency", text)
        self.assertTrue(all(row["efficiency"] is None for row in self.report("own.yaml", "--set", "report.scale_by=nodes")["rows"]))

    def test_columns_by_their_headings(self):
        self.write("started.yaml", STARTED)
        self.hpcbench("run", "started.yaml")
        asked = ("--columns", "ranks,n,median (s),speedup interval", "--sort", "-ranks")
        lines = self.hpcbench("report", "started.yaml", *asked).stdout.splitlines()
        at = [i for i, line in enumerate(lines) if line.split()[:2] == ["ranks", "n"]][0]
        self.assertEqual([line.split()[0] for line in lines[at + 2:at + 5]], ["4", "2", "1"])
        self.write("started.yaml", STARTED.replace("report: {", "report: {columns: [ranks, median, speedup interval], sort: [ranks], "))
        self.hpcbench("check", "started.yaml")
        self.assertIn("ranks", self.hpcbench("report", "started.yaml").stdout)
        said = self.hpcbench("report", "started.yaml", "--columns", "cores", code=2).stderr
        self.assertIn("`cores` is no axis, no column and no metric", said)


class BaselineFew(StudyTest):
    def codes(self):
        return {warning["code"]: warning["advice"] for warning in self.report("s.yaml")["warnings"]}

    def test_the_advice_works_when_followed(self):
        self.write("s.yaml", """
experiment: s
command: [sh, -c, 'test -e fixed || test "$0" = 2 || test {{repeat}} -lt 3 || exit 1; echo "T $0.{{repeat}}"', "{{k}}"]
launch: once
matrix: {k: [1, 2]}
repeats: 4
metrics: [{name: t_s, file: stdout.log, pattern: 'T ([0-9.]+)', unit: s}]
baseline: {k: 1}
report: {metric: t_s}
""")
        self.hpcbench("run", "s.yaml", code=1)
        advice = self.codes()["baseline-few"]
        self.write("fixed", "")
        retry = [part for part in advice.split("`") if part.startswith("hpcbench retry")][0].split()
        self.hpcbench(*retry[1:])
        self.assertNotIn("baseline-few", self.codes())


if __name__ == "__main__":
    unittest.main(verbosity=2)
