"""The TensorBoard files of a run, opened by the real `tensorboard` package: its reader checks each record's CRC."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import environment  # noqa: E402  (may restart this process)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader


class TensorBoardFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.output = pathlib.Path(cls.folder.name, "output")
        cls.events = pathlib.Path(cls.folder.name, "events.jsonl")
        run = subprocess.run(
            [environment.TRAIN, "run", "--task", "bert_squad", "--model", "tiny", "--vocab", str(environment.VOCABULARY), "--data",
             str(environment.EXCERPT), "--max-length", "64", "--doc-stride", "16", "--max-train-examples", "24", "--batch-size", "4", "--max-steps", "5",
             "--dropout", "0", "--tensorboard", "true", "--output", str(cls.output), "--events", str(cls.events), "--cache",
             str(pathlib.Path(cls.folder.name, "cache"))], capture_output=True, text=True, cwd=cls.folder.name)
        if run.returncode != 0:
            raise AssertionError(run.stdout + run.stderr)
        cls.files = [path for path in pathlib.Path(cls.folder.name).rglob("events.out.tfevents.*")]

    def test_one_file_that_begins_with_its_version(self):
        self.assertEqual(len(self.files), 1, self.files)
        events = list(EventFileLoader(str(self.files[0])).Load())
        self.assertEqual(events[0].file_version, "brain.Event:2")
        self.assertGreater(len(events), 5)

    def test_losses_are_those_of_the_events(self):
        board = EventAccumulator(str(self.files[0].parent), size_guidance={"scalars": 0})
        board.Reload()
        steps = {event["step"]: event for event in map(json.loads, self.events.read_text().splitlines()) if event["event"] == "step"}
        by_values = {tag: {each.step: each.value for each in board.Scalars(tag)} for tag in board.Tags()["scalars"]}
        for field in ("loss", "lr"):
            said = {step: event[field] for step, event in steps.items() if field in event}
            self.assertEqual(sorted(said), [1, 2, 3, 4, 5])
            tags = [tag for tag in by_values if tag == f"train/{field}"]
            self.assertEqual(len(tags), 1, list(by_values))
            for step, value in said.items():
                self.assertAlmostEqual(by_values[tags[0]][step] / value, 1, delta=1e-6)


if __name__ == "__main__":
    unittest.main()
