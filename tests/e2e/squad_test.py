"""The study of BERT on SQuAD in short: the file as it stands with few steps, from the experiment's file to the table and the scores."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402

EXPERIMENT = ROOT / "experiments/squad_scaling.yaml"
SHORT = ["--set", "repeats=1", "--set", "parameters.max_train_examples=64", "--set", "parameters.epochs=3",
         "--set", "parameters.max_length=64", "--set", "parameters.doc_stride=16", "--set", "parameters.train_share=0.95"]


class Squad(StudyTest):
    def setUp(self):
        super().setUp()
        (self.folder / "data").symlink_to(ROOT / "data")
        (self.folder / "templates").symlink_to(ROOT / "templates")

    def events_of(self, row):
        folder = self.folder / "results/squad_scaling" / row["config_id"] / "r01/a1"
        folder = folder / "out"
        return folder, [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]

    def test_the_file_and_its_profile_are_right(self):
        for profile in ([], ["--profile", "laptop"]):
            self.assertIn("ok: 5 configurations, 30 runs", self.hpcbench("check", str(EXPERIMENT), *profile).stdout)
        self.assertIn("ok: 19 configurations, 114 runs", self.hpcbench("check", str(EXPERIMENT), "--profile", "full").stdout)

    def test_the_whole_study_is_refused_with_the_command_that_brings_its_data(self):
        (self.folder / "data").unlink()
        (self.folder / "data").mkdir()
        refused = self.hpcbench("run", str(EXPERIMENT), "--profile", "full", code=3).stderr
        self.assertIn("`scripts/get-data.sh squad2 bert` brings them", refused)
        self.assertIn("nodes: 2", refused)
        self.assertEqual(refused.count("error:"), 1)
        self.assertFalse(list(self.folder.rglob("run.json")))

    def test_a_site_names_the_profile_that_is_meant_there(self):
        self.write("cluster.yaml", "name: cluster\nexecutor: local\nprofile: full\n")
        checked = self.hpcbench("check", str(EXPERIMENT), "--site", "./cluster.yaml")
        self.assertIn("ok: 19 configurations", checked.stdout)
        self.assertIn("profile `full`, as the site cluster says", checked.stderr)
        checked = self.hpcbench("check", str(EXPERIMENT), "--site", "./cluster.yaml", "--profile", "laptop")
        self.assertIn("ok: 5 configurations", checked.stdout)
        self.write("other.yaml", "experiment: other\ncommand: [\"true\"]\nmatrix: {k: [1]}\nrepeats: 1\n")
        self.assertIn("which other.yaml does not have", self.hpcbench("run", "other.yaml", "--site", "./cluster.yaml").stderr)

    def test_as_it_stands_it_trains_the_same_in_every_row_and_the_loss_falls(self):
        self.hpcbench("run", str(EXPERIMENT), *SHORT, env={"XDG_CACHE_HOME": str(self.folder / "cache")})
        rows = self.report()["rows"]
        self.assertEqual([row["outcomes"] for row in rows], [{"succeeded": 1}] * 5)
        self.assertEqual([row["axes"]["strategy"] for row in rows], ["baseline", "dp", "ddp", "fsdp", "deepspeed"])
        self.assertNotIn("gpus-mismatch", {code for row in rows for code in row["warnings"]})
        for row in rows:
            self.assertAlmostEqual(row["train_loss"] / rows[0]["train_loss"], 1, delta=1e-3)
            self.assertAlmostEqual(row["validation_loss"] / rows[0]["validation_loss"], 1, delta=1e-3)
            folder, events = self.events_of(row)
            losses = [event["train_loss"] for event in events if event["event"] == "epoch"]
            self.assertEqual(len(losses), 3)
            self.assertLess(losses[2], losses[0])
            self.check_scores(folder, events)

    def check_scores(self, folder, events):
        """The EM and F1 of the last validation are those of its predictions.json."""
        said = [event for event in events if event["event"] == "eval"][-1]
        done = subprocess.run([str(PROGRAMS / "hpcbench-train"), "score", "--data", str(ROOT / "data/squad2-excerpt.json"), "--predictions",
                               str(folder / "predictions.json")], capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        score = json.loads(done.stdout)
        self.assertAlmostEqual(score["exact"], said["em"], delta=1e-9)
        self.assertAlmostEqual(score["f1"], said["f1"], delta=1e-9)
        self.assertIn("questions have no prediction and are left out", done.stderr)  # those that trained


if __name__ == "__main__":
    unittest.main()
