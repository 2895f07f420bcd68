"""Tables of earlier results: statistics, units, columns and headers that could be read wrongly without a word."""
import json
import pathlib
import shlex
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: old
command: [echo, "{{gpu}}"]
launch: once
matrix: {gpu: [a, b]}
metrics:
  - {name: time_s, file: "*.log", pattern: 't ([0-9.]+)'}
  - {name: bw, file: "*.log", pattern: 'bw ([0-9.]+)', unit: GB/s}
report: {metric: time_s}
baseline: {gpu: a}
"""


class Tables(StudyTest):
    def study(self, table, import_="t.csv", rest=""):
        self.write("t.csv", table)
        self.write("old.yaml", STUDY + rest + f"import: [{import_}]\n")

    def rows(self, *arguments):
        return {row["axes"]["gpu"]: row for row in self.report("old.yaml", *arguments)["rows"]}

    def values(self, *arguments):
        return {gpu: row["median"] for gpu, row in self.rows(*arguments).items()}

    def refused(self):
        told = self.hpcbench("check", "old.yaml", code=2).stderr
        self.assertTrue(all(row["n"] == 0 for row in self.tolerant_rows()), told)
        return told

    def tolerant_rows(self):
        return json.loads(self.hpcbench("report", "old.yaml", "--format", "json", code=2).stdout)["rows"]


class DeclaredMetrics(Tables):
    def test_a_declared_metric_without_a_source_may_be_shown_before_it_is_imported(self):
        self.write("t.csv", "gpu,time_s,mem\na,5,980 MB\n")
        self.write("old.yaml", "experiment: old\nmatrix: {gpu: [a]}\nmetrics: [{name: time_s, unit: s}, {name: mem, unit: MB}]\n"
                               "import: [t.csv]\nreport: {metric: time_s, columns: [gpu, median, mem]}\n")
        self.hpcbench("check", "old.yaml")
        self.assertRegex(self.hpcbench("report", "old.yaml").stdout, r"(?m)^a +5.* 980$")


class Statistics(Tables):
    def test_headers_name_the_published_statistic(self):
        self.study("gpu,time_s,statistic,n\na,5,mean,3\nb,6,Average,4\n")
        text = self.hpcbench("report", "old.yaml").stdout
        self.assertIn("mean (s)", text)
        self.assertNotIn("median", text)
        self.assertIn("the published mean of n runs", text)
        latex = self.hpcbench("report", "old.yaml", "--format", "latex").stdout
        self.assertIn("mean (s)", latex)
        self.assertNotIn("median", latex)
        rows = self.rows()
        self.assertEqual([(rows[gpu]["statistic"], rows[gpu]["n"]) for gpu in "ab"], [("mean", 3), ("mean", 4)])
        self.assertEqual(self.hpcbench("report", "old.yaml", "--format", "csv").stdout.splitlines()[0].split(",")[-1], "statistic")

    def test_a_note_says_which_speedups_compare_two_statistics(self):
        self.study("gpu,time_s,statistic,n\na,5,mean,3\nb,6,median,4\n")
        note = "the speedup of `gpu=b, nodes=1, gpus_per_node=1` compares the mean of the baseline with the median of the row"
        self.assertIn(note, self.hpcbench("report", "old.yaml").stdout)
        self.study("gpu,time_s,statistic,n\na,5,mean,3\nb,6,mean,4\n")
        self.assertNotIn("compares the", self.hpcbench("report", "old.yaml").stdout)

    def test_different_statistics_stand_in_a_column_of_their_own(self):
        self.study("gpu,time_s,statistic,n\na,5,mean,3\nb,6,min,4\n")
        for form in ("text", "latex"):
            text = self.hpcbench("report", "old.yaml", "--format", form).stdout
            self.assertIn("value (s)", text)
            self.assertIn("statistic", text)
            self.assertNotIn("median (s)", text)

    def test_an_unknown_statistic_is_an_error_at_its_place(self):
        self.study("gpu,time_s,statistic\na,5,mode\n")
        self.assertIn("t.csv:2:5: error: `mode` is no statistic: write mean, median, min, max, or a percentile", self.refused())
        self.study("gpu,time_s\na,5\n", "{table: t.csv, statistic: mode, n: 3}")
        self.assertRegex(self.hpcbench("check", "old.yaml", code=2).stderr, r"old\.yaml:\d+:\d+: error: `mode` is no statistic\n(.*\n)*  = write mean, median")

    def test_several_published_values_of_a_row_are_told(self):
        self.study("gpu,time_s,statistic,n\na,5,mean,3\na,7,mean,3\nb,6,mean,4\n")
        done = self.hpcbench("report", "old.yaml")
        self.assertIn("2 published values (mean) are of one configuration (gpu=a): the report shows their median, without an interval", done.stderr)
        self.assertIn("the published mean of n runs", done.stdout)
        self.assertNotIn("independent runs", done.stdout)
        rows = self.rows()
        self.assertEqual((rows["a"]["n"], rows["a"]["median"], rows["a"]["interval"], rows["b"]["n"]), (6, 6, None, 4))

    def test_two_statistics_of_one_row_are_an_error_at_the_second(self):
        for second, what in (("min,3", "the min"), (",", "a single run")):
            self.study(f"gpu,time_s,statistic,n\na,5,mean,3\na,4,{second}\nb,6,mean,4\n")
            self.assertIn(f"t.csv:3: error: this is {what} of `time_s` of gpu=a, and {self.folder}/t.csv:2 gives the mean\n"
                          "  = a row shows one statistic of a metric: keep one of them, give one a column and a metric of its own, or tell them apart by an axis",
                          self.hpcbench("check", "old.yaml", code=2).stderr)
            rows = {row["axes"]["gpu"]: row for row in self.tolerant_rows()}
            self.assertEqual((rows["a"]["median"], rows["a"]["statistic"], rows["b"]["median"]), (5, "mean", 6))
        self.study("gpu,time_s,bw,statistic\na,5,,mean\na,,4,min\n")  # of two metrics
        self.hpcbench("check", "old.yaml")
        self.write("old.yaml", STUDY + "import: [{run: {gpu: a}, values: {time_s: 5}, statistic: mean}, {run: {gpu: a}, values: {time_s: 4}}]\n")
        self.assertRegex(self.hpcbench("check", "old.yaml", code=2).stderr, r"old\.yaml:\d+:\d+: error: this is a single run of `time_s` of gpu=a, and .*old\.yaml:\d+")

    def test_the_advice_for_two_tables_names_what_has_to_change(self):
        for name, time in (("m1", 5), ("m2", 6)):
            self.write(name + ".csv", f"gpu,time_s,val_s\na,{time},3\nb,{time},4\n")
        first = "{table: m1.csv, statistic: mean, n: 5}"
        self.write("old.yaml", STUDY + f"import: [{first}, {{table: m2.csv, statistic: median, n: 5}}]\n")
        said = self.hpcbench("check", "old.yaml", code=2).stderr
        self.assertRegex(said, r"m2\.csv:2: error: this is the median of `time_s`, `val_s` of gpu=a, and .*m1\.csv:2 gives the mean\n")
        values = "values: {median_time_s: time_s, median_val_s: val_s}"
        self.assertIn("give each of these columns of one table another metric, as in its entry `" + values + "`, or", said)
        for wrong in ("values: {median_time_s: time_s}", "values: {median_val_s: val_s}"):  # the other one is in both still
            self.write("old.yaml", STUDY + f"import: [{first}, {{table: m2.csv, statistic: median, n: 5, {wrong}}}]\n")
            self.assertRegex(self.hpcbench("check", "old.yaml", code=2).stderr, r"this is the median of `(val|time)_s` of gpu=a, and")
        self.write("old.yaml", STUDY + f"import: [{first}, {{table: m2.csv, statistic: median, n: 5, {values}}}]\n")
        self.hpcbench("check", "old.yaml")
        self.assertEqual([(row["median"], row["statistic"], row["n"]) for row in self.rows().values()], [(5, "mean", 5), (5, "mean", 5)])
        rows = json.loads(self.hpcbench("report", "old.yaml", "--metric", "median_time_s", "--format", "json").stdout)["rows"]
        self.assertEqual([(row["median"], row["statistic"]) for row in rows], [(6, "median"), (6, "median")])
        done = self.hpcbench("report", "old.yaml")
        self.assertRegex(done.stdout, r"(?m)^a .* 1 published$")
        self.assertNotIn("no-value", done.stdout)
        self.assertNotIn("published values (", done.stderr, "of each metric there is one")

    def test_a_comparison_names_the_statistics_of_its_sides(self):
        for name, statistic, time in (("a", "mean", 5), ("b", "median", 6)):
            self.write(name + ".csv", f"gpu,time_s\na,{time}\nb,{time}\n")
            self.write(name + ".yaml", STUDY.replace("experiment: old", f"experiment: {name}") + f"import: [{{table: {name}.csv, statistic: {statistic}, n: 5}}]\n")
        note = "A is the published mean, B is the published median: their ratio compares the statistics, too"
        for form in ("text", "markdown", "html", "latex", "json"):
            self.assertIn(note, self.hpcbench("compare", "a.yaml", "b.yaml", "--format", form).stdout, form)
        self.write("b.csv", "gpu,time_s\na,6\n")
        self.write("c.yaml", STUDY.replace("experiment: old", "experiment: c").replace("[echo, \"{{gpu}}\"]", "[echo, \"t 7 {{gpu}}\"]"))
        self.hpcbench("run", "c.yaml")
        self.assertIn("A is the published mean, B is the median of runs: their ratio", self.hpcbench("compare", "a.yaml", "c.yaml").stdout)

    def test_a_metric_of_an_import_alone_needs_its_name_only(self):
        self.write("t.csv", "gpu,time_ms,bw\na,5000,3\nb,6000,4\n")
        only = "experiment: old\nmatrix: {gpu: [a, b]}\nreport: {metric: time_s}\nmetrics: [{name: time_s, unit: s}, {name: bw, unit: GB/s}]\n"
        self.write("old.yaml", only + "import: [{table: t.csv, values: {time_s: time_ms}}]\n")
        self.hpcbench("check", "old.yaml")
        rows = json.loads(self.hpcbench("report", "old.yaml", "--format", "json").stdout)["rows"]
        self.assertEqual([row["median"] for row in rows], [5, 6])
        self.write("old.yaml", only + "command: ['true']\n")
        self.assertIn("a metric needs `file`", self.hpcbench("check", "old.yaml", code=2).stderr)

    def test_published_values_do_not_count_beside_runs(self):
        self.study("gpu,time_s,statistic,n\na,5,mean,3\nb,6,mean,4\n", rest="repeats: 2\n")
        text = (self.folder / "old.yaml").read_text().replace('[echo, "{{gpu}}"]', "[echo, t 7]")
        self.write("old.yaml", text)
        self.hpcbench("run", "old.yaml", "--only", "gpu=a")
        done = self.hpcbench("report", "old.yaml")
        self.assertIn("1 published value of gpu=a does not count: its row shows the values of runs", done.stdout + done.stderr)
        rows = self.rows()
        self.assertEqual((rows["a"]["n"], rows["a"]["median"], rows["b"]["statistic"]), (2, 7, "mean"))

    def test_n_without_a_statistic_is_said(self):
        self.study("gpu,time_s,n\na,5,3\nb,6,3\n")
        self.assertIn("`n` has no effect in 2 lines without a statistic", self.hpcbench("report", "old.yaml").stderr)
        self.write("old.yaml", STUDY + "import: [{run: {gpu: a}, values: {time_s: 5}, n: 3}]\n")
        self.assertIn("`n` has no effect without `statistic`", self.hpcbench("report", "old.yaml").stderr)


class Twice(Tables):
    def test_a_table_in_two_entries_with_different_values_is_refused(self):
        self.write("t3.csv", "s,med,p95\nbase,100,120\nddp,50,70\n")
        self.write("two.yaml", """
experiment: two
matrix: {s: [base, ddp]}
baseline: {s: base}
metrics: [{name: train_s, better: lower}, {name: tail_s, better: lower}]
report: {metric: train_s}
import:
  - {table: t3.csv, values: {train_s: med}, statistic: median, n: 5}
  - {table: t3.csv, values: {tail_s: p95}, statistic: p95, n: 5}
""")
        said = self.hpcbench("report", "two.yaml", code=2).stderr
        self.assertIn("is imported twice with different values, metrics or facts", said)
        text = (self.folder / "two.yaml").read_text()
        self.write("two.yaml", text.replace("{train_s: med}", "{train_s: med, tail_s: p95}").rsplit("  - {table", 1)[0])
        row = json.loads(self.hpcbench("report", "two.yaml", "--metric", "tail_s", "--format", "json").stdout)["rows"][0]
        self.assertEqual(row["median"], 120)


class Changed(Tables):
    """A file that changed, beside one that is missing or broken."""

    STUDY = """
experiment: z
matrix: {s: [base, ddp]}
baseline: {s: base}
report: {metric: train_s}
import: [x1.csv, x2.csv]
"""

    def rows(self, base, ddp, code=0):
        self.write("x1.csv", f"s,train_s\nbase,{base}\nddp,{ddp}\n")
        report = self.hpcbench("report", "z.yaml", "--format", "json", code=code)
        self.said = report.stderr
        return [(row["n"], row["median"]) for row in json.loads(report.stdout)["rows"]]

    def test_its_new_values_replace_the_old_ones_though_another_file_is_missing(self):
        self.write("z.yaml", self.STUDY)
        self.assertEqual(self.rows(100, 50), [(1, 100), (1, 50)])
        self.assertEqual(self.rows(200, 50), [(1, 200), (1, 50)])
        self.assertEqual(self.rows(200, 40), [(1, 200), (1, 40)])

    def test_a_file_with_a_broken_line_keeps_its_earlier_values_and_says_so(self):
        self.write("z.yaml", self.STUDY)
        self.assertEqual(self.rows(100, 50), [(1, 100), (1, 50)])
        self.assertEqual(self.rows(200, "oops", code=2), [(1, 100), (1, 50)])
        self.assertIn("x1.csv: what was read of it earlier still counts", self.said)
        self.assertEqual(self.rows(200, 40), [(1, 200), (1, 40)])

    def test_a_sound_file_is_read_again_beside_a_broken_one(self):
        self.write("z.yaml", self.STUDY)
        self.write("x2.csv", "s,train_s\nddp,60\n")
        self.assertEqual(self.rows(100, 50), [(1, 100), (2, 55)])
        self.write("x2.csv", "s,train_s\nddp,oops\n")
        self.assertEqual(self.rows(200, 40, code=2), [(1, 200), (2, 50)])


class NoValue(Tables):
    def test_a_negative_time_is_an_error_at_its_line(self):
        self.study("gpu,time_s,bw\na,-5,-1\nb,6,2\n")
        told = self.hpcbench("check", "old.yaml", code=2).stderr
        self.assertIn("t.csv:2: error: time_s=-5 s is a negative time\n  = correct it, or leave the value out", told)
        self.assertEqual([row["n"] for row in json.loads(self.hpcbench("report", "old.yaml", "--format", "json", code=2).stdout)["rows"]], [0, 1])
        self.study("gpu,bw,outcome\na,-1,succeeded\nb,2,succeeded\n")  # no time
        self.assertEqual(self.rows("--metric", "bw")["a"]["median"], -1)
        told = self.hpcbench("ingest", "--experiment", "old.yaml", "--run", "gpu=a", "--value", "time_s=-5", code=2).stderr
        self.assertIn("error: --value time_s=-5: a time is never negative", told)

    def test_a_negative_time_of_a_log_is_no_value(self):
        self.write("old.yaml", STUDY.replace("([0-9.]+)'}", "(\\S+)'}").replace('[echo, "{{gpu}}"]', "[echo, t -3]") + "import: [{files: [x.log, y.log], each: true, run: {gpu: b}}]\n")
        self.write("x.log", "t -4\n")
        self.write("y.log", "t 7\n")
        self.hpcbench("run", "old.yaml", "--only", "gpu=a", code=None)
        done = self.hpcbench("report", "old.yaml")
        self.assertEqual([row["n"] for row in self.rows().values()], [0, 1])
        self.assertIn("time_s in none of 6 runs that succeeded: -3 at stdout.log:1 is a negative time", done.stdout)
        self.assertIn("time_s missing in 1 of 2 runs that succeeded: -4 at x.log:1 is a negative time", done.stdout)

    def test_an_imported_success_without_a_value_is_told(self):
        self.study("gpu,time_s,outcome\na,5,succeeded\na,,succeeded\nb,6,\n")
        self.assertIn("no-value: gpu=a: time_s missing in 1 of 2 runs that succeeded: the import of i02 gives none",
                      self.hpcbench("report", "old.yaml").stdout)

    def test_imports_are_not_adaptive(self):
        self.study("gpu,time_s\na,5\nb,6\n", rest="repeats: 2\n")
        self.hpcbench("report", "old.yaml")
        self.study("gpu,time_s\na,5\na,5.5\nb,6\n", rest="repeats: 3\n")
        self.assertEqual([row["n"] for row in self.rows().values()], [2, 1])
        self.hpcbench("set-aside", "old/gpu=b/i01", "--why", "wrong")
        self.assertNotIn("adaptive", self.hpcbench("report", "old.yaml").stdout)


class Columns(Tables):
    def test_a_metric_in_other_letters_is_told(self):
        for heading in ("Time_s [min]", "tim_s"):
            self.study(f"gpu,{heading}\na,5\nb,6\n")
            name = heading.split()[0]
            advice = f"`time_s` (`{name}` is given: write `time_s`)"
            self.assertIn(f"t.csv: no column gives {advice}", self.hpcbench("check", "old.yaml").stderr)
            said = self.hpcbench("report", "old.yaml", code=None)
            self.assertIn(f"nothing gives time_s (`{name}` is given: write `time_s`)", said.stdout + said.stderr)
        self.study("gpu,other\na,5\n")
        self.assertNotIn("is given", self.hpcbench("check", "old.yaml").stderr)

    def test_two_columns_of_one_metric_are_an_error_that_names_both(self):
        self.study("gpu,time_s,time_s [min]\na,5,3\n")
        self.assertIn("t.csv:1:12: error: the columns `time_s` and `time_s [min]` both give `time_s`", self.refused())
        self.study("gpu,time_s,Wall\na,5,3\n", "{table: t.csv, values: {time_s: Wall}}")
        self.assertIn("the columns `time_s` and `Wall` both give `time_s`", self.refused())
        self.study("gpu,time_s,Wall\na,5,3\n", "{table: t.csv, values: {time_s: Wall, time_s_2: time_s}}")
        self.assertEqual(self.values()["a"], 3)

    def test_one_column_does_not_give_two_metrics(self):
        self.study("gpu,X\na,5\n", "{table: t.csv, values: {time_s: X, other_s: X}}")
        self.assertIn("`other_s` and `time_s` both come from the column `X`", self.hpcbench("check", "old.yaml", code=2).stderr)

    def test_words_and_axes_count_in_other_letters(self):
        self.study("ID,Gpu,time_s\nr1,a,5\nr1,a,5\nr2,b,6\n")
        rows = self.rows()
        self.assertEqual((rows["a"]["n"], rows["b"]["n"]), (1, 1))
        self.study("Run,GPU,time_s\n1,a,5\n2,a,7\n1,b,6\n")
        rows = self.rows()
        self.assertEqual((rows["a"]["n"], rows["b"]["n"]), (2, 1))

    def test_a_repeated_header_is_skipped_and_another_one_is_an_error(self):
        self.study("gpu,time_s\na,5\ngpu,time_s\nb,6\n")
        self.assertIn("the header is repeated in line 3, skipped", self.hpcbench("report", "old.yaml").stderr)
        self.assertEqual(self.values(), {"a": 5, "b": 6})
        self.study("gpu,time_s\na,5\ngpu,train_s\nb,6\n")
        self.assertIn("t.csv:3:1: error: another header begins here, with other columns: `train_s` only here, `time_s` only in the first line",
                      self.hpcbench("check", "old.yaml", code=2).stderr)

    def test_one_id_with_a_number_in_two_spellings_is_one_run(self):
        self.study("id,gpu,time_s\nx,a,1.0\nx,a,1\ny,b,1e3\ny,b,1000\n")
        rows = self.rows()
        self.assertEqual((rows["a"]["n"], rows["b"]["n"]), (1, 1))

    def test_copies_of_a_line_are_not_equal_lines(self):
        self.write("copy.csv", "gpu,time_s\na,5\n")
        self.study("gpu,time_s\na,5\n", "t.csv, copy.csv")
        report = self.report("old.yaml")
        self.assertEqual({row["axes"]["gpu"]: row["n"] for row in report["rows"]}["a"], 1)
        self.assertNotIn("equal-lines", [warning["code"] for warning in report["warnings"]])


class Units(Tables):
    def test_cells_with_a_unit_convert(self):
        self.study("gpu,bw,time_s\na,900 MB/s,500 us\nb,1.5,2 msec\n")
        self.assertEqual(self.values(), {"a": 0.0005, "b": 0.002})
        self.assertEqual(self.values("--metric", "bw"), {"a": 0.9, "b": 1.5})

    def test_a_mapped_heading_has_the_unit_of_its_name(self):
        self.study("gpu,time_ms\na,5000\nb,6000\n", "{table: t.csv, values: {time_s: time_ms}}")
        self.assertEqual(self.values(), {"a": 5, "b": 6})

    def test_letters_of_a_unit(self):
        self.study("gpu,bw [mb/s],time_s\na,900,1\n")
        self.assertIn("t.csv:1:5: error: `mb/s` is no unit that hpcbench knows: did you mean `MB/s` or `Mbit/s`?", self.refused())
        self.study("gpu,bw,time_s\na,900 mb/s,1\n")
        self.assertIn("did you mean `MB/s` or `Mbit/s`?", self.refused())
        self.study("gpu,bw [Mbytes/S],time_s\na,900,1\nb,1800,2\n")
        self.assertEqual(self.values("--metric", "bw"), {"a": 0.9, "b": 1.8})
        self.write("old.yaml", STUDY.replace("unit: GB/s", "unit: gb/s"))
        self.assertIn("did you mean `GB/s` or `Gbit/s`?", self.hpcbench("check", "old.yaml", code=2).stderr)

    def test_a_plain_number_beside_units_is_not_compared(self):
        self.study("gpu,lat,time_s\na,900 us,1\nb,2,3\n")
        told = self.hpcbench("check", "old.yaml", code=2).stderr
        self.assertRegex(told, r"t\.csv:3: error: `lat` has no unit here, and is in s at \S*t\.csv:2\n  = write the unit")

    def test_a_metric_in_usec_has_a_direction(self):
        self.study("gpu,lat,time_s\na,2,1\nb,3,1\n", "t.csv", "")
        self.write("old.yaml", STUDY.replace("unit: GB/s", "unit: usec").replace("name: bw", "name: lat") + "import: [t.csv]\n")
        self.assertIn("lat (usec, lower is better)", self.hpcbench("report", "old.yaml", "--metric", "lat").stdout)

    def test_a_metric_without_a_source_is_told_of_better(self):
        self.write("old.yaml", STUDY.replace("report:", "  - {name: tp, unit: GB/s}\nreport:"))
        self.assertIn("better: higher", self.hpcbench("check", "old.yaml", code=2).stderr)


class Published(Tables):
    STUDY = STUDY.replace("matrix: {gpu: [a, b]}", "matrix: {gpu: [a], gpus_per_node: [1, 4]}").replace("gpu: a}", "gpus_per_node: 1}")

    def seen(self, table):
        self.write("t.csv", table)
        self.write("old.yaml", self.STUDY + "import: [t.csv]\n")
        return [w["seen"] for w in self.report("old.yaml")["warnings"] if w["code"] == "published-mismatch"]

    def test_a_column_speedup_is_told_to_be_a_metric(self):
        self.write("t.csv", "gpus_per_node,time_s,Speedup,eff\n1,4,1,1\n4,1.1,9,0.5\n")
        self.write("old.yaml", self.STUDY + "import: [t.csv]\n")
        said = self.hpcbench("report", "old.yaml").stderr
        for column, figure in (("Speedup", "speedup"), ("eff", "efficiency")):
            self.assertIn(f"`{column}` is a metric of its own: call the column `published_{figure}`", said)

    def test_an_efficiency_of_91_is_91_percent(self):
        table = "gpus_per_node,time_s,published_efficiency\n1,4.00,\n4,1.10,{}\n"
        for right in ("91", "0.91", "91 %", "90.9"):
            self.assertEqual(self.seen(table.format(right)), [], right)
        self.assertEqual(self.seen(table.format("n/a")), [])
        self.assertIn("efficiency published as `about 90%`, which is no efficiency that can be read: write 91 %",
                      self.seen(table.format("about 90%"))[0])
        self.assertIn("speedup published as `3,64`, which is no speedup", self.seen(table.replace("efficiency", "speedup").format('"3,64"'))[0])
        self.assertIn("speedup published as 9, but time_s gives 3.6", self.seen(table.replace("efficiency", "speedup").format("9"))[0])
        self.assertIn("efficiency published as 80, but time_s gives 91 %", self.seen(table.format("80"))[0])
        self.assertIn("efficiency published as 0.8, but", self.seen(table.format("0.8"))[0])

    def test_an_imported_value_is_no_log_and_keeps_its_digits(self):
        seen = self.seen("gpus_per_node,time_s,published_time_s\n1,0.25,5\n4,0.1,\n")
        self.assertIn("time_s published as 5, but the value imported with it is 0.250", seen[0])

    def test_methods_say_what_was_imported_from_where(self):
        self.seen("gpus_per_node,time_s\n1,4\n4,1.1\n")
        methods = self.report("old.yaml", "--methods")["methods"]
        self.assertIn("2 values were imported from t.csv", methods)
        self.assertNotIn("what the programs themselves wrote", methods)


class ByHand(Tables):
    def ingest(self, *arguments, code=0):
        return self.hpcbench("ingest", "--experiment", "old.yaml", "--run", "a", *arguments, code=code)

    def setUp(self):
        super().setUp()
        self.write("old.yaml", STUDY)

    def test_a_mistyped_metric_changes_nothing(self):
        self.ingest("--value", "time_s=5")
        told = self.ingest("--value", "tine_s=7", code=2).stderr
        self.assertIn("the study has no metric `tine_s` (did you mean `time_s`?); its metrics are: bw, time_s\n", told)
        self.assertEqual(self.values()["a"], 5)
        self.ingest("--value", "time_s = 7")
        self.assertEqual(self.values()["a"], 7)

    def test_a_further_value_keeps_those_given_before(self):
        self.ingest("--value", "time_s=5")
        self.assertIn("the rest stays", self.ingest("--value", "bw=900 MB/s").stderr)
        self.assertEqual((self.values()["a"], self.rows()["a"]["n"]), (5, 1))
        self.assertEqual(self.values("--metric", "bw")["a"], 0.9)

    def test_a_corrected_log_does_not_count_twice(self):
        self.write("a.log", "t 5\n")
        self.ingest("a.log")
        self.write("a.log", "t 7\n")
        told = self.ingest("a.log", code=2).stderr
        self.assertIn("a.log has other contents than when it was imported as old/", told)
        self.assertEqual((self.values()["a"], self.rows()["a"]["n"]), (5, 1))
        words = told.split("corrected: hpcbench ")[1].split(", then")[0]
        self.hpcbench(*shlex.split(words))
        self.ingest("a.log")
        self.assertEqual((self.values()["a"], self.rows()["a"]["n"]), (7, 1))
        self.write("b.log", "t 9\n")
        self.assertIn("stands beside other files than when it was imported", self.ingest("a.log", "b.log", code=2).stderr)
        self.ingest("b.log")
        self.assertEqual(self.rows()["a"]["n"], 2)

    def test_a_statistic_by_hand_is_a_known_one(self):
        self.assertIn("write mean, median", self.ingest("--value", "time_s=5", "--statistic", "mode", "--n", "3", code=2).stderr)
        self.assertIn("--statistic", self.ingest("--value", "time_s=5", "--n", "3", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
