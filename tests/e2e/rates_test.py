"""Metrics of which larger values are better: published tables of rates, and studies that end by the speedup of a rate."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

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
