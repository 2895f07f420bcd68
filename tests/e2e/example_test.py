"""examples/huggingface_fabric: a Hugging Face Trainer script and a Lightning Fabric script, unchanged, in one experiment. Needs the
packages of tests/huggingface/venv.sh --peers; skipped with its reason where they cannot be had."""
import csv
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest, python_with_packages  # noqa: E402
from pages import PageTest  # noqa: E402

EXAMPLE = "examples/huggingface_fabric/huggingface_fabric.yaml"


class HuggingFaceFabric(StudyTest):
    @classmethod
    def setUpClass(cls):
        cls.packages = pathlib.Path(python_with_packages()).parent

    def setUp(self):
        super().setUp()
        for name in ("examples", "data", "templates"):
            (self.folder / name).symlink_to(ROOT / name)

    def test_both_programs_run_and_what_they_write_is_read(self):
        path = f"{self.packages}:{os.environ['PATH']}"
        self.hpcbench("run", EXAMPLE, "--set", "repeats=1", "--slots", "1",
                      env={"PATH": path, "HF_HUB_OFFLINE": "1"})
        rows = self.report()["rows"]
        self.assertEqual([(r["axes"]["strategy"], r["gpus"]) for r in rows], [("baseline", 1), ("ddp", 1), ("ddp", 2)])
        self.assertEqual([r["outcomes"] for r in rows], [{"succeeded": 1}] * 3)
        for row in rows:
            folder = self.folder / "results/huggingface_fabric" / row["config_id"] / "r01/a1/out"
            written = self.written_by_trainer(folder) if row["axes"]["strategy"] == "baseline" else self.written_by_fabric(folder)
            self.assertEqual(row["median"], written["train_s"])
            self.assertEqual(row["validation_loss"], written["val_loss"])
            self.assertEqual(row["train_loss"], written["losses"][-1])
            self.assertEqual(len(written["losses"]), 3)
            self.assertLess(written["losses"][-1], written["losses"][0], "it learns")
        world = json.loads((self.folder / "results/huggingface_fabric" / rows[2]["config_id"] / "r01/a1/run.json").read_text())
        self.assertEqual(world["processes"], 2)
        shown = self.hpcbench("show", "strategy=ddp,gpus_per_node=2/r01").stdout
        self.assertIn("metrics.csv", shown)

    @staticmethod
    def written_by_trainer(folder):
        history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
        return {"losses": [entry["loss"] for entry in history if "loss" in entry],
                "train_s": [entry["train_runtime"] for entry in history if "train_runtime" in entry][-1],
                "val_loss": [entry["eval_loss"] for entry in history if "eval_loss" in entry][-1]}

    @staticmethod
    def written_by_fabric(folder):
        with open(folder / "csv/version_0/metrics.csv", newline="") as file:
            lines = list(csv.DictReader(file))
        return {"losses": [float(line["train_loss"]) for line in lines if line["train_loss"]],
                "train_s": [float(line["train_s"]) for line in lines if line["train_s"]][-1],
                "val_loss": [float(line["val_loss"]) for line in lines if line["val_loss"]][-1]}


class HowTo(PageTest):
    """Pages of docs/how-to whose launchers are in that environment."""

    def test_accelerate(self):
        self.train("accelerate", "train_accelerate.py", python_with_packages())

    def test_lightning(self):
        self.train("lightning", "train_lightning.py", python_with_packages())


if __name__ == "__main__":
    unittest.main()
