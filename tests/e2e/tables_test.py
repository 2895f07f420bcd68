"""Tables and JSON as programs print them: amid other text, and of which a part is meant."""
import contextlib
import csv
import io
import json
import pathlib
import shutil
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

EXAMPLE = "examples/metrics/sizes.yaml"
STUDY = """
experiment: tiny
command: [cat, "size-{{size}}.csv"]
launch: once
matrix: {size: [1, 2]}
repeats: 2
"""
TABLE = "# profiler 3.1 of {size}\n\nName,Total (ns)\ngemm,{size}00\ncopy,7\n"
METRIC = "metrics: [{name: total_ns, file: stdout.log, column: Total (ns), header: '^Name,', take: max}]\nreport: {metric: total_ns}\n"


class Tables(StudyTest):
    def setUp(self):
        super().setUp()
        for size in (1, 2):
            self.write(f"size-{size}.csv", TABLE.format(size=size))

    def test_a_table_under_a_preamble_is_read(self):
        self.write("tiny.yaml", STUDY + METRIC)
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual([row["median"] for row in self.report("tiny.yaml")["rows"]], [100, 200])
        shown = self.hpcbench("report", "--provenance", "tiny.yaml").stdout
        self.assertIn("stdout.log, column Total (ns), header ^Name,, take max", shown)

    def test_a_heading_that_is_not_there_is_said(self):
        self.write("tiny.yaml", STUDY + METRIC.replace("^Name,", "^Names"))
        told = self.hpcbench("run", "tiny.yaml").stderr
        self.assertIn("stdout.log nothing is read: no line matches `header` ^Names. It ends:", told)
        self.write("tiny.yaml", STUDY + METRIC.replace("'^Name,'", "3"))
        self.assertEqual([row["median"] for row in self.report("tiny.yaml")["rows"]], [100, 200])

    def test_only_the_rows_that_are_meant_count(self):
        self.write("tiny.yaml", STUDY + METRIC.replace("take: max", "take: sum"))
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual([row["median"] for row in self.report("tiny.yaml")["rows"]], [107, 207])
        self.write("tiny.yaml", STUDY + METRIC.replace("take: max", "take: sum, where: {Name: [gemm, gemv]}"))
        self.assertIn("read 4 runs again", self.hpcbench("report", "tiny.yaml").stderr)
        self.assertEqual([row["median"] for row in self.report("tiny.yaml")["rows"]], [100, 200])
        self.write("tiny.yaml", STUDY + METRIC.replace("take: max", "where: {Name: gem}"))
        told = self.hpcbench("report", "tiny.yaml", code=2).stderr
        self.assertIn("2 values are there, and `where` (Name is gem) leaves none", told)


class Sizes(StudyTest):
    """A run that prints a table of sizes, as osu_latency and nccl-tests do."""

    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "examples/metrics", self.folder / "examples/metrics")

    def test_the_example_shows_one_size_and_a_table_of_all(self):
        self.hpcbench("run", EXAMPLE)
        report = self.report(EXAMPLE)
        self.assertEqual(report["inner"], {"name": "size", "at": 16384})
        self.assertEqual([(row["axes"]["eager_limit"], row["n"]) for row in report["rows"]], [(1024, 6), (65536, 6)])
        inner = {(row["axes"]["eager_limit"], row["axes"]["size"]): row for row in report["inner_rows"]}
        self.assertEqual(len(inner), 24)
        for row in report["rows"]:
            self.assertEqual(inner[row["axes"]["eager_limit"], 16384]["median"], row["median"])
        self.assertLess(inner[65536, 4096]["median"], inner[1024, 4096]["median"])
        self.assertGreater(inner[65536, 65536]["median"], inner[1024, 65536]["median"])
        self.assertEqual({row["n"] for row in inner.values()}, {6})
        text = self.hpcbench("report", EXAMPLE).stdout
        self.assertIn("latency_us by size\n", text)
        self.assertIn("Each value is that at size = 16384", text)
        lines = list(csv.DictReader(io.StringIO(self.hpcbench("report", "--format", "csv", EXAMPLE).stdout)))
        self.assertEqual(len(lines), 24)
        self.assertEqual([line["size"] for line in lines[:3]], ["1", "4", "16"])
        self.obey_schema(report)

    def obey_schema(self, report):
        try:
            import jsonschema
        except ImportError:
            return
        jsonschema.validate(report, json.loads((ROOT / "docs/report.schema.json").read_text()))

    def test_another_size_repeats_no_run_and_one_that_is_not_there_is_said(self):
        self.hpcbench("run", EXAMPLE, "--set", "repeats=2")
        other = self.report(EXAMPLE, "--set", "repeats=2", "--set", "report.at=1")
        self.assertLess(other["rows"][0]["median"], 2)
        self.assertEqual(self.hpcbench("report", EXAMPLE, "--set", "report.at=2", code=2).stderr.splitlines()[0],
                         "error: no run has a value of `latency_us` at size = 2; there are: 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, "
                         "262144, 1048576, 4194304")
        self.assertNotIn("by size", self.hpcbench("report", "--metric", "wall_s", EXAMPLE).stdout)

    def test_compare_is_about_the_size_that_the_table_shows(self):
        self.hpcbench("run", EXAMPLE)
        other = self.folder / "other.yaml"
        other.write_text((self.folder / EXAMPLE).read_text().replace("experiment: sizes", "experiment: other")
                         .replace("--seed={{repeat}}", "--seed={{seed}}"))
        self.hpcbench("run", "other.yaml")
        told = json.loads(self.hpcbench("compare", EXAMPLE, "other.yaml", "--format", "json").stdout)
        self.assertEqual(len(told["rows"]), 2)
        self.assertIn("each value is that at size = 16384", told["notes"])
        other.write_text(other.read_text().replace("at: 16384", "at: 4"))
        told = self.hpcbench("compare", EXAMPLE, "other.yaml", code=2).stderr
        self.assertIn("has `latency_us at size = 16384`, ", told)
        self.assertIn("has `latency_us at size = 4`: give both the same `report.rows` and `report.at`", told)


KERNELS = """
experiment: kernels
command: [cat, "{{compiler}}.txt"]
launch: once
matrix: {compiler: [gcc, clang]}
repeats: 2
metrics: [{name: rate, file: stdout.log, SOURCE, unit: MB/s, series: kernel, index: kernel}]
report: {metric: rate, rows: kernel, at: Triad}
"""
RATES = {"gcc": [("Copy", 20), ("Scale", 10), ("128K", 7), ("Triad", 40)], "clang": [("Copy", 30), ("Triad", 30), ("Add", 15)]}
SOURCES = {
    "pattern: '^(?P<kernel>\\w+): +(?P<rate>\\d+)'": lambda rows: "".join(f"{name}:  {rate}\n" for name, rate in rows),
    "column: rate": lambda rows: "kernel,rate\n" + "".join(f"{name},{rate}\n" for name, rate in rows),
    "pointer: /*/rate": lambda rows: json.dumps([{"kernel": name, "rate": rate} for name, rate in rows]),
}


class Words(StudyTest):
    """A run that prints a row for each kernel or layer, as STREAM and profilers do."""

    def study(self, source, printed):
        self.write("kernels.yaml", KERNELS.replace("SOURCE", source))
        for compiler, rows in RATES.items():
            self.write(f"{compiler}.txt", printed(rows))
        self.hpcbench("run", "kernels.yaml")

    def test_each_word_has_a_row_in_the_order_of_the_output(self):
        for source, printed in SOURCES.items():
            with self.subTest(source):
                self.study(source, printed)
                report = self.report("kernels.yaml")
                self.assertEqual(report["inner"], {"name": "kernel", "at": "Triad"})
                self.assertEqual([(row["axes"]["compiler"], row["median"]) for row in report["rows"]], [("gcc", 40), ("clang", 30)])
                self.assertEqual([(row["axes"]["compiler"], row["axes"]["kernel"], row["median"]) for row in report["inner_rows"]],
                                 [("gcc", "Copy", 20), ("gcc", "Scale", 10), ("gcc", "128K", 7), ("gcc", "Triad", 40),
                                  ("clang", "Copy", 30), ("clang", "Triad", 30), ("clang", "Add", 15)])
                shutil.rmtree(self.folder / "results")

    def test_words_reach_every_form(self):
        self.study(*next(iter(SOURCES.items())))
        self.assertIn("Each value is that at kernel = Triad; a table by kernel follows", self.hpcbench("report", "kernels.yaml").stdout)
        self.assertIn("| compiler | kernel | n | median (MB/s) |\n| :--- | :--- | ---: | ---: |",
                      self.hpcbench("report", "--format", "markdown", "kernels.yaml").stdout, "words stand to the left")
        lines = list(csv.DictReader(io.StringIO(self.hpcbench("report", "--format", "csv", "kernels.yaml").stdout)))
        self.assertEqual([line["kernel"] for line in lines], ["Copy", "Scale", "128K", "Triad", "Copy", "Triad", "Add"])
        run = next(run["run"] for run in self.status("kernels.yaml")["runs"] if run["axes"]["compiler"] == "gcc")
        self.assertIn("Copy: 20, Scale: 10, 128K: 7, Triad: 40", self.hpcbench("show", run).stdout)
        self.hpcbench("plot", "kernels.yaml", "--kind", "rows", "--out", "plots")
        script, data = ((self.folder / "plots" / name).read_text() for name in ("rows.gp", "rows.tsv"))
        self.assertIn("'Copy' 1", script)
        self.assertIn("yerrorbars", script)
        self.assertIn("\n1\t20\t", data)
        with contextlib.closing(sqlite3.connect(self.folder / "results/hpcbench.db")) as database:
            points = database.execute("SELECT \"index\", value FROM point WHERE path LIKE ?", [run + "/%"]).fetchall()
        self.assertEqual(points, RATES["gcc"])

    def test_a_word_that_is_not_there_is_said(self):
        self.study(*next(iter(SOURCES.items())))
        told = self.hpcbench("report", "kernels.yaml", "--set", "report.at=Tirad", code=2).stderr
        self.assertIn("no run has a value of `rate` at kernel = Tirad; there are: 128K, Add, Copy, Scale, Triad", told)
        shown = self.report("kernels.yaml", "--set", "report.at=Add")
        self.assertEqual([row["median"] for row in shown["rows"]], [None, 15])
        self.assertEqual([row["axes"]["kernel"] for row in shown["inner_rows"]],
                         ["Copy", "Scale", "128K", "Triad", "Add", "Copy", "Triad", "Add"], "what no run printed comes last")


if __name__ == "__main__":
    unittest.main()
