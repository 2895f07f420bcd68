"""examples/expressions, and what programs are given that follows from their studies' expressions."""
import csv
import io
import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

EXAMPLES = ROOT / "examples/expressions"


class Examples(StudyTest):
    def rows(self, name):
        return json.loads(self.hpcbench("plan", str(EXAMPLES / f"{name}.yaml"), "--format", "json").stdout)

    def test_every_example_passes_check(self):
        files = sorted(EXAMPLES.glob("*.yaml"))
        self.assertEqual(len(files), 5)
        for file in files:
            self.assertIn("ok: ", self.hpcbench("check", str(file)).stdout, file.name)

    def test_a_matrix_of_sizes_is_computed(self):
        plan = self.rows("llm_matrix")
        self.assertEqual(plan["configurations"] + plan["excluded"], 2 * 3 * 3 * 2 * 2 * 2)
        for row in plan["rows"]:
            axes, derived = row["axes"], row["derived"]
            self.assertEqual(derived["dp"] * axes["tp"] * axes["pp"], row["gpus"])
            self.assertEqual(derived["accumulate"] * derived["dp"] * axes["micro_batch"], axes["global_batch"])

    def test_decimals_are_spelled_as_people_do(self):
        text = self.hpcbench("plan", str(EXAMPLES / "learning_rate.yaml"), "--format", "json").stdout
        for lr in ('"lr":0.0001,', '"lr":0.0002,', '"lr":0.0004,'):
            self.assertIn(lr, text)

    def test_the_grid_has_a_column_for_each_process(self):
        self.assertEqual([(r["gpus"], r["axes"]["rows"], r["derived"]["columns"]) for r in self.rows("process_grid")["rows"]][::2],
                         [(4, 1, 4), (4, 2, 2), (8, 1, 8), (8, 2, 4), (16, 1, 16), (16, 2, 8), (16, 4, 4)])
        sizes = {(r["axes"]["nodes"], r["axes"]["nb"]): r["derived"]["n"] for r in self.rows("process_grid")["rows"]}
        self.assertEqual(sizes, {(nodes, nb): math.isqrt(nodes * 51_200_000_000) // nb * nb for nodes in (1, 2, 4) for nb in (192, 384)})


class Programs(StudyTest):
    STUDY = """
experiment: computed
command: [sh, -c, 'echo "value=$1"', sh, "{{half}}"]
launch: once
matrix: {gpus_per_node: [1, 2, 4], tp: [1, 2]}
repeats: 1
derive: {dp: gpus // tp, half: dp / 2, label: tp * 10}
exclude: [tp > gpus]
require: [dp * tp == gpus]
metrics: [{name: value, file: stdout.log, pattern: 'value=([0-9.]+)'}]
report: {metric: value, sort: [-half]}
"""

    def test_a_program_is_given_what_is_computed(self):
        study = self.folder / "computed.yaml"
        study.write_text(self.STUDY)
        self.assertIn("1 point excluded", self.hpcbench("plan", str(study)).stdout)
        self.hpcbench("run", str(study), "--only", "tp == 1")
        self.hpcbench("run", str(study))
        report = json.loads(self.hpcbench("report", str(study), "--format", "json").stdout)
        self.assertEqual([(r["derived"]["half"], r["median"]) for r in report["rows"]], [(2, 2), (1, 1), (1, 1), (0.5, 0.5), (0.5, 0.5)])
        folder = self.folder / "results/computed" / report["rows"][0]["config_id"] / "r01/a1"
        run = json.loads((folder / "run.json").read_text())
        self.assertEqual(run["derived"], {"dp": 4, "half": 2, "label": 10})
        self.assertEqual(run["argv"][-1], "2")
        table = list(csv.DictReader(io.StringIO(self.hpcbench("report", str(study), "--format", "csv", "--where", "dp > 1 and tp == 1").stdout)))
        self.assertEqual([(row["dp"], row["half"], row["label"]) for row in table], [("4", "2", "10"), ("2", "1", "10")])

    def test_another_formula_of_the_same_values_runs_nothing_again(self):
        study = self.folder / "computed.yaml"
        study.write_text(self.STUDY)
        self.hpcbench("run", str(study))
        study.write_text(self.STUDY.replace("half: dp / 2", "half: gpus / (2 * tp)").replace("label: tp * 10", "label: tp"))
        plan = json.loads(self.hpcbench("plan", str(study), "--format", "json").stdout)
        self.assertEqual((plan["kept"], plan["new"], plan["orphaned"]), (5, 0, 0))

    def test_mistakes_are_shown_in_their_column(self):
        study = self.folder / "computed.yaml"
        study.write_text(self.STUDY)
        for only, message in (("tp >", "--only:1:5: error:"), ("tp == 3", "--only:1:7: error:"), ("tpp == 1", "(did you mean `tp`?)")):
            failed = self.hpcbench("plan", str(study), "--only", only, code=2)
            self.assertIn(message, failed.stderr)


if __name__ == "__main__":
    unittest.main()
