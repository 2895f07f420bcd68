"""Metrics of which larger values are better: published tables of rates, and studies that end by the speedup of a rate."""
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

TOTAL = """gpus_per_node,tokens_per_s
1,11840
2,23210
4,45420
8,87980
"""
PER_GPU = """gpus_per_node,tokens_per_s_per_gpu
8,3120.5
16,3061.8
32,2944.0
64,2790.3
"""


class PublishedRates(StudyTest):
    def study(self, table, metric):
        sizes = [line.split(",")[0] for line in table.splitlines()[1:]]
        self.write("rates.csv", table)
        self.write("rates.yaml", f"experiment: rates\nmatrix: {{gpus_per_node: [{', '.join(sizes)}]}}\n"
                                 f"baseline: {{gpus_per_node: {sizes[0]}}}\nreport: {{metric: {metric}}}\nimport: [rates.csv]\n")
        (self.folder / "results").mkdir(exist_ok=True)
        return self.report("rates.yaml")

    def check_rows(self, report, speedups, efficiencies):
        self.assertEqual(report["better"], "higher")
        for row, speedup, efficiency in zip(report["rows"], speedups, efficiencies, strict=True):
            self.assertAlmostEqual(row["speedup"]["value"], speedup, delta=1e-4)
            self.assertAlmostEqual(row["efficiency"], efficiency, delta=1e-5)

    def test_total_rates(self):
        self.check_rows(self.study(TOTAL, "tokens_per_s"), [1, 1.9603, 3.8361, 7.4307], [1, 0.98015, 0.95904, 0.92884])
        text = self.hpcbench("report", "rates.yaml").stdout
        self.assertIn("tokens_per_s (higher is better): n independent", text)
        self.assertIn("amdahl, all rows", text)

    def test_rates_per_gpu_over_8(self):
        self.check_rows(self.study(PER_GPU, "tokens_per_s_per_gpu"), [1, 1.9624, 3.7738, 7.1535], [1, 0.98119, 0.94344, 0.89418])
        self.assertIn("A value is that of one gpu", self.hpcbench("report", "rates.yaml").stdout)


class PublishedRatios(StudyTest):
    """Columns `published_*` of a table are facts, and ratios among them are compared with those that come out."""

    STUDY = ("experiment: rates\nmatrix: {gpus_per_node: [%s]}\nbaseline: {gpus_per_node: %s}\nreport: {metric: %s}\n"
             "import: [%s]\n")
    TOTAL = "1, 2, 4, 8", "1", "tokens_per_s"

    def study(self, sizes, baseline, metric, entry):
        self.write("rates.yaml", self.STUDY % (sizes, baseline, metric, entry))

    def published(self, *more):
        """What the warning says, and the sizes of its rows."""
        report = self.report("rates.yaml", *more)
        found = [warning for warning in report["warnings"] if warning["code"] == "published-mismatch"]
        sizes = {row["config_id"]: row["gpus"] for row in report["rows"]}
        return found[0]["seen"] if found else "", [sizes[row] for row in found[0]["rows"]] if found else []

    def copy_case(self, name):
        (self.folder / "results").mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests/golden/rates" / name, self.folder)

    def test_a_speedup_that_does_not_follow_is_flagged(self):
        self.copy_case("total.csv")
        self.study(*self.TOTAL, "total.csv")
        self.assertEqual(self.published(), ("gpus_per_node=8: speedup published as 7.83, but tokens_per_s gives 7.43", [8]))
        self.assertIn("published as 7.83, but tokens_per_s gives 7.43", self.hpcbench("report", "rates.yaml").stdout)

    def test_figures_that_follow_are_not(self):
        self.copy_case("per-gpu.csv")
        self.study("8, 16, 32, 64", "8", "tokens_per_s_per_gpu", "per-gpu.csv")
        self.assertEqual(self.published(), ("", []))
        rows = self.report("rates.yaml")["rows"]
        self.assertEqual([round(row["speedup"]["value"], 4) for row in rows], [1, 1.9624, 3.7738, 7.1535])

    def test_rounded_or_cut_digits_and_units(self):
        for figures, seen in (("published_speedup\n1,100,1.0\n2,196,1.9", ""), ("published_speedup\n1,100,1.0\n2,196,2.0", ""),
                              ("published_speedup\n1,100,1.0\n2,196,2.1", "speedup published as 2.1, but tokens_per_s gives 2.0"),
                              ("published_speedup\n1,100,1\n2,196,1.96x", ""), ("published_speedup\n1,3,1\n2,6,2.2", ""),
                              ("published_speedup [x]\n1,100,1\n2,196,1.86", "speedup published as 1.86 x, but tokens_per_s gives 1.96"),
                              ("published_efficiency\n1,100,1\n2,196,0.98", ""), ("published_efficiency\n1,100,1\n2,196,98 %", ""),
                              ("published_efficiency\n1,100,1\n2,196,0.95", "efficiency published as 0.95, but tokens_per_s gives 0.98"),
                              ("published_efficiency_percent\n1,100,100\n2,196,95",
                               "efficiency published as 95, but tokens_per_s gives 98 %"),
                              ("published_tokens_per_s\n1,100,100\n2,196,190", "tokens_per_s published as 190, but the value imported with it is 196")):
            with self.subTest(figures):
                self.copy_case("total.csv")
                self.write("total.csv", "gpus,tokens_per_s," + figures + "\n")
                self.study("1, 2", "1", "tokens_per_s", "total.csv")
                self.assertEqual(self.published()[0], seen and "gpus_per_node=2: " + seen)

    def test_a_column_of_another_name(self):
        self.copy_case("total.csv")
        self.write("total.csv", "GPUs,tok/s,S\n1,100,1\n2,196,1.86\n")
        self.study("1, 2", "1", "tokens_per_s",
                   '{table: total.csv, values: {gpus: GPUs, tokens_per_s: "tok/s", published_speedup: S}}')
        self.assertEqual(self.published()[1], [2])

    def test_a_figure_without_counterpart_is_named(self):
        self.copy_case("total.csv")
        self.write("total.csv", "gpus,tokens_per_s,published_speed_up\n1,100,1\n")
        self.study("1, 2", "1", "tokens_per_s", "total.csv")
        self.assertIn("`published_speed_up` is only kept as a fact", self.hpcbench("check", "rates.yaml").stderr)


class SizesOfTables(StudyTest):
    """A column `gpus` is nodes x gpus_per_node."""

    def check(self, matrix, code):
        (self.folder / "results").mkdir(exist_ok=True)
        self.write("rates.csv", "gpus,tokens_per_s\n2,100\n4,196\n")
        self.write("rates.yaml", f"experiment: rates\nmatrix: {matrix}\nreport: {{metric: tokens_per_s}}\nimport: [rates.csv]\n")
        return self.hpcbench("check", "rates.yaml", code=code).stderr

    def test_it_finds_the_point(self):
        self.check("{nodes: [1, 2], gpus_per_node: [2]}", 0)
        self.assertEqual([(row["axes"]["nodes"], row["median"]) for row in self.report("rates.yaml")["rows"]], [(1, 100), (2, 196)])

    def test_a_size_that_no_point_has(self):
        self.assertIn("rates.csv:3: error: no point has gpus=4 (there are: 1, 2); `gpus` is nodes x gpus_per_node: put nodes and "
                      "gpus_per_node that give it into `matrix`", self.check("{gpus_per_node: [1, 2]}", 2))

    def test_a_size_that_several_points_have(self):
        self.assertIn("rates.csv:2: error: gpus=2 is 2 points; say more: nodes=1, gpus_per_node=2; nodes=2, gpus_per_node=1",
                      self.check("{nodes: [1, 2], gpus_per_node: [1, 2]}", 2))


class MolecularDynamics(StudyTest):
    """Rates of one speed in units of both directions: days/ns and ns/day, s/step, Matom-step/s."""

    STUDY = """experiment: md
matrix: {log: [%s]}
baseline: {log: %s}
report: {metric: %s}
metrics:
  - {name: ns_per_day, pattern: '([0-9.]+) ns/day', file: "*", unit: ns/day, take: median}
  - {name: s_per_step, pattern: '([0-9.]+) s/step', file: "*", unit: s, take: median}
%simport:
"""
    INVERSE = """overrides:
  - when: {log: v2.out}
    metrics:
      - {name: days_per_ns, pattern: '([0-9.]+) days/ns', file: "*", unit: days/ns, take: median}
      - {name: ns_per_day, formula: 1 / days_per_ns, unit: ns/day}
      - {name: s_per_step, pattern: '([0-9.]+) s/step', file: "*", unit: s, take: median}
"""

    def rows(self, metric, logs, more="", study=None):
        (self.folder / "results").mkdir(exist_ok=True)
        for log in logs:
            shutil.copy(ROOT / "tests/golden/rates" / log, self.folder)
        self.write("md.yaml", (study or self.STUDY) % (", ".join(logs), logs[0], metric, more)
                   + "".join(f"  - {{files: {log}, run: {{log: {log}}}}}\n" for log in logs))
        return self.report("md.yaml")["rows"]

    def check_speedup(self, row, median, speedup):
        self.assertAlmostEqual(row["median"], median, places=5)
        self.assertAlmostEqual(row["speedup"]["value"], speedup, places=4)

    def test_two_versions_in_ns_per_day_and_in_seconds(self):
        rows = self.rows("ns_per_day", ["v2.out", "v3.out"], self.INVERSE)
        self.check_speedup(rows[0], 1 / 0.08042105, 1)
        self.check_speedup(rows[1], 34.31535, 34.31535 * 0.08042105)
        self.check_speedup(self.rows("s_per_step", ["v2.out", "v3.out"], self.INVERSE)[1], 0.00503565, 2.7597)

    def test_days_per_ns_are_no_values_in_ns_per_day(self):
        study = self.STUDY.replace("([0-9.]+) ns/day", "([0-9.]+) (?:ns/day|days/ns)")
        rows = self.rows("ns_per_day", ["v3.out", "v2.out"], study=study)
        self.assertEqual([row["n"] for row in rows], [1, 0])
        self.assertIn("4 matches are no numbers, the first `0.0821800 days/ns`", self.hpcbench("status", "md.yaml").stdout
                      + self.hpcbench("show", f"md/{rows[1]['config_id']}").stdout)

    def test_a_speed_in_the_second_of_two_columns(self):
        study = self.STUDY.replace("'([0-9.]+) ns/day'", "'Performance: +([0-9.]+)'").replace("'([0-9.]+) s/step'",
                                                                                             "'Time: +[0-9.]+ +([0-9.]+)'")
        self.check_speedup(self.rows("ns_per_day", ["g-long.log", "g-short.log"], study=study)[1], 0.822, 6.9661)
        rows = self.rows("s_per_step", ["g-long.log", "g-short.log"], study=study)
        self.assertEqual([row["median"] for row in rows], [4396.84, 630.6])

    def test_a_multiple_of_the_unit_is_converted(self):
        study = self.STUDY.replace("s_per_step, pattern: '([0-9.]+) s/step', file: \"*\", unit: s",
                                   "speed, pattern: '([0-9.]+) Matom-step/s', file: \"*\", unit: atom-step/s")
        self.assertAlmostEqual(self.rows("speed", ["l.log"], study=study)[0]["median"], 12225000)
        self.assertEqual(self.rows("ns_per_day", ["l.log"])[0]["median"], 8.252)


class MixedUnits(StudyTest):
    def rows(self, *tables, metrics="", code=0):
        (self.folder / "results").mkdir(exist_ok=True)
        for i, table in enumerate(tables):
            self.write(f"t{i}.csv", table)
        self.write("io.yaml", "experiment: io\nmatrix: {nodes: [1, 2]}\nbaseline: {nodes: 1}\nreport: {metric: bw}\n"
                              f"{metrics}import: [{', '.join(f't{i}.csv' for i in range(len(tables)))}]\n")
        done = self.hpcbench("report", "io.yaml", "--format", "json", code=code)
        return done.stderr if code else self.report("io.yaml")

    def test_multiples_of_one_unit_convert(self):
        tables = "nodes,bw [GB/s]\n1,1.2\n", "nodes,bw [MB/s]\n2,900\n"
        report = self.rows(*tables)
        self.assertEqual([row["median"] for row in report["rows"]], [1.2, 0.9])
        self.assertEqual((report["unit"], report["rows"][1]["speedup"]["value"]), ("GB/s", 0.75))
        report = self.rows(*tables, metrics="metrics: [{name: bw, unit: MB/s, better: higher}]\n")
        self.assertEqual([row["median"] for row in report["rows"]], [1200, 900])
        self.assertEqual(report["unit"], "MB/s")

    def test_other_units_are_refused_with_both_places(self):
        tables = "nodes,bw [GB/s]\n1,1.2\n", "nodes,bw [it/s]\n2,900\n"
        self.assertIn("t1.csv:2: error: `bw` is in it/s here, and in GB/s at ", self.rows(*tables, code=2))
        self.assertIn("t0.csv:2: error: `bw` is in GB/s here, and in ns/day by `metrics`",
                      self.rows(*tables, metrics="metrics: [{name: bw, unit: ns/day, better: higher}]\n", code=2))

    def test_units_behind_the_numbers_of_two_logs(self):
        self.write("io.yaml", "experiment: io\ncommand: [echo, 'write {{speed}} (best)']\nmatrix: {speed: ['1.2 GB/s', '900 MB/s']}\n"
                              "metrics: [{name: bw, file: stdout.log, pattern: 'write ([0-9.]+)', unit: GB/s}]\nreport: {metric: bw}\n")
        self.hpcbench("run", "io.yaml")
        self.assertEqual([row["median"] for row in self.report("io.yaml")["rows"]], [1.2, 0.9])
        text = (self.folder / "io.yaml").read_text()
        self.write("io.yaml", text.replace(", unit: GB/s", ""))
        report = self.report("io.yaml")
        self.assertEqual((report["unit"], [row["median"] for row in report["rows"]]), ("GB/s", [1.2, 0.9]))
        self.write("io.yaml", text.replace("900 MB/s", "900 tokens/s").replace(", unit: GB/s", ""))
        self.hpcbench("run", "io.yaml")
        refused = self.hpcbench("report", "io.yaml", code=2).stderr
        self.assertRegex(refused, "`bw` is in `tokens/s` in .*, and in `GB/s` in .*: these do not convert")


class PerGpu(StudyTest):
    """`per: gpus` adds NAME_per_gpu, whose speedups are those of the whole run."""

    def reports(self, metric, more):
        self.write("rates.yaml", "experiment: rates\nmatrix: {gpus_per_node: [1, 4]}\nbaseline: {gpus_per_node: 1}\n"
                                 f"metrics: [{metric}]\n{more}")
        if "command" in more:
            self.hpcbench("run", "rates.yaml")
        return [self.report("rates.yaml", "--metric", name) for name in ("rate", "rate_per_gpu")]

    def check_reports(self, total, each, unit):
        self.assertEqual([row["median"] for row in total["rows"]], [100, 360])
        self.assertEqual([row["median"] for row in each["rows"]], [100, 90])
        self.assertEqual((each["unit"], each["better"]), (unit, "higher"))
        for report in (total, each):
            self.assertEqual([round(row["speedup"]["value"], 9) for row in report["rows"]], [1, 3.6])
            self.assertEqual([round(row["efficiency"], 9) for row in report["rows"]], [1, 0.9])

    def test_of_a_log(self):
        self.write("rate.sh", 'echo "rate $((100 * $1 - 10 * ($1 > 1) * $1))"\n')
        metric = "{name: rate, file: stdout.log, pattern: 'rate (.*)', unit: tokens/s, per: gpus}"
        self.check_reports(*self.reports(metric, "command: [sh, rate.sh, '{{gpus_per_node}}']\n"), "tokens/s/GPU")

    def test_of_a_table_and_of_a_figure_of_merit(self):
        (self.folder / "results").mkdir(exist_ok=True)
        self.write("rates.csv", "gpus,rate\n1,100\n4,360\n")
        more = "report: {metric: rate}\nimport: [rates.csv]\n"
        self.check_reports(*self.reports("{name: rate, unit: tokens/s, per: gpus}", more), "tokens/s/GPU")
        self.check_reports(*self.reports("{name: rate, better: higher, per: gpus}", more), "")


class UntilTheSpeedupOfARate(StudyTest):
    def test_it_ends_at_the_first_look(self):
        self.write("rate.sh", 'echo "rate $((1000 * $1 + $2 % 3))"\n')
        self.write("rates.yaml", "experiment: rates\ncommand: [sh, rate.sh, '{{size}}', '{{repeat}}']\nmatrix: {size: [1, 2]}\n"
                                 "baseline: {size: 1}\nrepeats: {looks: [8, 11], until: 5 %, of: speedup}\n"
                                 "metrics: [{name: rate, file: stdout.log, pattern: 'rate (.*)', unit: tokens/s}]\n"
                                 "report: {metric: rate}\n")
        self.hpcbench("run", "rates.yaml")
        rows = self.report("rates.yaml")["rows"]
        self.assertEqual([row["n"] for row in rows], [8, 8])
        self.assertAlmostEqual(rows[1]["speedup"]["value"], 2, delta=0.01)
        self.assertTrue(rows[1]["speedup"]["resolved"])


if __name__ == "__main__":
    unittest.main()
