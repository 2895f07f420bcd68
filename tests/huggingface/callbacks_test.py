"""Callbacks of the Python package (hpcbench.lightning, hpcbench.transformers) with the real Lightning, Fabric and Trainer, and the
examples of docs/python.md. Skipped with the reason where tests/huggingface/venv.sh --peers cannot bring them."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
sys.path.append(str(ROOT / "tests/e2e"))
from harness import python_with_packages  # noqa: E402
from ports import free_port  # noqa: E402

PATIENCE_S = 300
# y = x: after each batch the model predicts w * x, and the script itself computes the expected events.
COMMON = """
import collections, json, os, sys, time, torch
DATA = torch.arange(1, 25, dtype=torch.float32).reshape(24, 1) / 24
class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(1))
    def forward(self, x):
        return x * self.w
def loss_of(model, x):
    return ((model(x) - x) ** 2).mean()
SEEN = collections.defaultdict(list)
def tell():
    with open(f"seen.{os.environ.get('RANK', '0')}.json", "w") as file:
        json.dump(SEEN, file)
"""
LIGHTNING = COMMON + """
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from hpcbench.lightning import EventsCallback
class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.line = Line()
    def training_step(self, batch, index):
        loss = loss_of(self.line, batch)
        time.sleep(float(os.environ.get("SLEEP_S", "0")))
        SEEN[self.current_epoch + 1].append(loss.item())
        if os.environ.get("FAIL"):
            raise ValueError("broken")
        return loss
    def validation_step(self, batch, index):
        self.log("val_loss", loss_of(self.line, batch))
        self.log("val/accuracy", 0.25)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
world = int(os.environ.get("DEVICES", os.environ.get("WORLD_SIZE", "1")))
loader = torch.utils.data.DataLoader(DATA, batch_size=4)
trainer = Trainer(max_epochs=3, accelerator="cpu", devices=world, strategy="ddp" if world > 1 else "auto", logger=False, enable_progress_bar=False,
                  enable_model_summary=False, accumulate_grad_batches=int(os.environ.get("ACCUMULATE", "1")), num_sanity_val_steps=1,
                  callbacks=[EventsCallback(every=int(os.environ.get("EVERY", "2")), batch_size=4),
                             ModelCheckpoint(dirpath="checkpoints", every_n_train_steps=int(os.environ.get("SAVE_EVERY", "0")) or None, save_top_k=-1)])
try:
    trainer.fit(Module(), loader, loader, ckpt_path=os.environ.get("RESUME"))
finally:
    assert "save_checkpoint" not in vars(trainer)
trainer.validate(Module(), loader, verbose=False)
tell()
"""
FABRIC = COMMON + """
from lightning.fabric import Fabric
from hpcbench.lightning import FabricCallback
world = int(os.environ.get("WORLD_SIZE", "1"))
fabric = Fabric(accelerator="cpu", devices=world, strategy="ddp" if world > 1 else "auto", callbacks=[FabricCallback(every=3, precision="32-true")])
fabric.launch()
model = Line()
model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(DATA, batch_size=4))
fabric.call("on_train_start", fabric=fabric, **json.loads(os.environ.get("BEFORE", "{}")))
for epoch in (1, 2):
    fabric.call("on_train_epoch_start")
    for batch in loader:
        loss = loss_of(model, batch)
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        SEEN[epoch].append(loss.item())
        fabric.call("on_train_batch_end", loss=SEEN[epoch][-1] if "BEFORE" in os.environ else loss, batch=batch)
    fabric.call("on_train_epoch_end")
    fabric.call("on_validation_start")
    fabric.call("on_validation_end", metrics={"val_loss": torch.tensor(0.5), "accuracy": 0.25})
fabric.call("on_train_end")
tell()
"""
TRANSFORMERS = COMMON + """
import transformers
from hpcbench.transformers import EventsCallback
class Model(Line):
    def forward(self, x):
        loss = loss_of(super().forward, x)
        if self.training:
            SEEN["losses"].append(loss.item())
        return {"loss": loss, "logits": x}
options = json.loads(os.environ.get("OPTIONS", "{}"))
arguments = transformers.TrainingArguments(
    output_dir="out", num_train_epochs=3, per_device_train_batch_size=4, learning_rate=0.1, use_cpu=True, report_to=[], disable_tqdm=True,
    dataloader_pin_memory=False, lr_scheduler_type="constant", **{"save_strategy": "no", **options})
rows = [{"x": row} for row in DATA]
trainer = transformers.Trainer(model=Model(), args=arguments, train_dataset=rows, eval_dataset=rows, callbacks=[EventsCallback(steps=True, task="line")],
                               compute_metrics=lambda given: {"accuracy": 0.25})
trainer.label_names, trainer.can_return_loss = [], True
trainer.train()
SEEN["history"] = trainer.state.log_history
tell()
"""


# Skips Python's own end if there are ranks: a thread of Gloo that releases its last tensor meanwhile occasionally aborts the process
# (pytorch/pytorch issue 190489).
END = """
if torch.distributed.is_initialized():
    os._exit(0)
"""


class Callbacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = python_with_packages()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hpcbench-callbacks-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def start(self, text, **variables):
        script = self.folder / "train.py"
        script.write_text(text + END)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HPCBENCH_", "SLURM_")) and name not in ("RANK", "WORLD_SIZE")}
        environment = {**kept, "PYTHONPATH": str(ROOT / "python"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
                       "CUDA_VISIBLE_DEVICES": "", **variables}
        return subprocess.Popen([self.python, str(script)], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def train(self, text, code=0, ranks=1, **variables):
        """Runs it as hpcbench would, and gives rank 0's events."""
        variables = {"HPCBENCH_RUN": str(self.folder / "run.json"), **variables}
        if ranks > 1:
            variables.update(WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), NODE_RANK="0", LOCAL_WORLD_SIZE=str(ranks),
                             GROUP_RANK="0", TORCHELASTIC_RUN_ID="x")
        started = [self.start(text, **variables, **({"RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {})) for rank in range(ranks)]
        try:
            said = [process.communicate(timeout=PATIENCE_S)[0] for process in started]
        finally:
            for process in started:
                process.kill()
                process.wait()
                process.stdout.close()
        for process, output in zip(started, said):
            self.assertEqual(process.returncode, code, output)
        return self.events(0)

    def events(self, rank):
        name = "events.jsonl" if rank == 0 else f"events.{rank}.jsonl"
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def seen(self, rank=0):
        return json.loads((self.folder / f"seen.{rank}.json").read_text())

    def of(self, events, kind):
        return [event for event in events if event["event"] == kind]

    def assert_whole(self, events, epochs):
        """Checks the events of every training: a start, epochs with seconds and losses, an end whose times agree with them."""
        self.assertEqual([event["event"] for event in events][0], "run_start")
        end = events[-1]
        self.assertEqual(end["event"], "run_end")
        self.assertEqual([event["epoch"] for event in self.of(events, "epoch")], list(range(1, epochs + 1)))
        seconds = [event["epoch_s"] for event in self.of(events, "epoch")]
        self.assertGreater(min(seconds), 0)
        self.assertLessEqual(sum(seconds), end["train_s"])
        self.assertAlmostEqual(end["train_eval_s"], end["train_s"] + end["eval_s"])
        self.assertAlmostEqual(end["eval_s"], sum(event["eval_s"] for event in self.of(events, "eval")))
        self.assertAlmostEqual(end["checkpoint_s"], sum(event["checkpoint_s"] for event in self.of(events, "checkpoint")))

    def assert_close(self, said, computed):
        self.assertEqual(len(said), len(computed))
        for one, other in zip(said, computed):
            self.assertTrue(math.isclose(one, other, rel_tol=1e-5), f"{said} {computed}")

    def test_lightning(self):
        for accumulate in (1, 2):
            (self.folder / "events.jsonl").unlink(missing_ok=True)
            events = self.train(LIGHTNING, ACCUMULATE=str(accumulate))
            self.assert_whole(events, 3)
            start = events[0]
            self.assertEqual((start["world_size"], start["batch_size"], start["total_steps"], start["device"]), (1, 4, 18 // accumulate, "cpu"))
            self.assertEqual(set(start["versions"]), {"torch", "lightning"})
            losses = list(self.seen().values())
            self.assert_close([event["train_loss"] for event in self.of(events, "epoch")], means(losses))
            self.assertEqual([event["optimizer_steps"] for event in self.of(events, "epoch")], [6 // accumulate] * 3)
            steps = self.of(events, "step")
            batches = [loss for epoch in losses for loss in epoch]
            if accumulate == 1:
                self.assertEqual([event["step"] for event in steps], list(range(2, 19, 2)))
                self.assert_close([event["loss"] for event in steps], means(batches[at:at + 2] for at in range(0, 18, 2)))
            self.assertEqual({event["lr"] for event in steps}, {0.1})
            evaluations = self.of(events, "eval")
            self.assertEqual([(event["epoch"], event["accuracy"]) for event in evaluations], [(1, 0.25), (2, 0.25), (3, 0.25)])
            self.assertGreater(evaluations[0]["val_loss"], evaluations[2]["val_loss"])
            self.assertEqual([event["step"] for event in self.of(events, "checkpoint")], [6 // accumulate, 12 // accumulate, 18 // accumulate])

    def test_steps_are_means_since_the_last_one_across_epochs(self):
        events = self.train(LIGHTNING, EVERY="4")  # of 6 steps an epoch
        steps = self.of(events, "step")
        batches = [loss for epoch in self.seen().values() for loss in epoch]
        self.assertEqual([event["step"] for event in steps], [4, 8, 12, 16])
        self.assert_close([event["loss"] for event in steps], means(batches[at:at + 4] for at in range(0, 16, 4)))
        self.assertGreater(min(event["step_s"] for event in steps), 0)
        self.assertLessEqual(4 * sum(event["step_s"] for event in steps), sum(event["epoch_s"] for event in self.of(events, "epoch")))

    def test_step_s_stands_still_between_epochs(self):
        script = """
import time
now = 100.0
time.monotonic = lambda: now
from hpcbench._training import Recorder
recorder = Recorder(0, 1, torch.device("cpu"), 0)
now += 5
for first in (0, 2):
    recorder.begin_epoch(first)
    for step in (first + 1, first + 2):
        now += step
        recorder.add_loss(float(step))
        if step == 3:
            recorder.step(step)
    recorder.end_epoch()
    now += 7
    recorder.begin_evaluation()
    now += 11
    recorder.end_evaluation(1, {}, "val_")
    now += 13
recorder.step(4)
recorder.end()
"""
        events = self.train(COMMON + script)
        self.assertEqual([(event["step"], event["loss"], event["step_s"]) for event in self.of(events, "step")], [(3, 2, 2), (4, 4, 4)])
        self.assertEqual((events[-1]["train_s"], events[-1]["eval_s"]), (35, 22))

    def test_lightning_that_resumes_within_an_epoch_counts_its_rest(self):
        self.train(LIGHTNING, SAVE_EVERY="8")
        (self.folder / "events.jsonl").unlink()
        events = self.train(LIGHTNING, SAVE_EVERY="8", RESUME="checkpoints/epoch=1-step=8.ckpt", SLEEP_S="0.1")
        self.assertEqual([(event["epoch"], event["optimizer_steps"]) for event in self.of(events, "epoch")], [(2, 4), (3, 6)])
        first = self.of(events, "step")[0]
        self.assertEqual(first["step"], 10)
        self.assertLess(first["step_s"], self.of(events, "epoch")[0]["epoch_s"])
        # Two steps have slept for 0.2 s; counted as ten, each would have taken 0.02.
        self.assertGreater(first["step_s"], 0.09)

    def test_lightning_on_two_ranks(self):
        events = self.train(LIGHTNING, ranks=2)
        self.assert_whole(events, 3)
        self.assertEqual([event["event"] for event in self.events(1)], ["run_end"])
        self.assertEqual(self.events(1)[0]["rank"], 1)
        both = [first + second for first, second in zip(self.seen(0).values(), self.seen(1).values())]
        self.assert_close([event["train_loss"] for event in self.of(events, "epoch")], means(both))

    def test_processes_that_lightning_starts_have_their_ranks(self):
        self.assert_whole(self.train(LIGHTNING, DEVICES="2"), 3)
        self.assertEqual([(event["event"], event["rank"]) for event in self.events(1)], [("run_end", 1)])

    def test_an_error_is_told(self):
        events = self.train(LIGHTNING, code=1, FAIL="1")
        self.assertEqual([event["event"] for event in events], ["run_start", "error"])
        self.assertEqual(events[1]["text"], "ValueError: broken")

    def test_fabric(self):
        events = self.train(FABRIC)
        self.assert_whole(events, 2)
        losses = list(self.seen().values())
        self.assert_close([event["train_loss"] for event in self.of(events, "epoch")], means(losses))
        self.assertEqual([event["step"] for event in self.of(events, "step")], [3, 6, 9, 12])
        self.assertEqual([(event["epoch"], event["val_loss"], event["accuracy"]) for event in self.of(events, "eval")], [(1, 0.5, 0.25), (2, 0.5, 0.25)])
        self.assertEqual(events[0]["precision"], "32-true")

    def test_fabric_goes_on_from_what_was_done_before(self):
        events = self.train(FABRIC, BEFORE='{"step": 7, "epoch": 3}')
        losses = list(self.seen().values())
        self.assert_close([event["train_loss"] for event in self.of(events, "epoch")], means(losses))  # of numbers, too
        self.assertEqual([(event["epoch"], event["optimizer_steps"]) for event in self.of(events, "epoch")], [(4, 6), (5, 6)])
        self.assertEqual([event["step"] for event in self.of(events, "step")], [9, 12, 15, 18])
        self.assertEqual([event["epoch"] for event in self.of(events, "eval")], [4, 5])

    def test_fabric_on_two_ranks(self):
        events = self.train(FABRIC, ranks=2)
        self.assert_whole(events, 2)
        self.assertEqual(events[0]["world_size"], 2)
        self.assertEqual([event["event"] for event in self.events(1)], ["run_end"])
        both = [first + second for first, second in zip(self.seen(0).values(), self.seen(1).values())]
        self.assert_close([event["train_loss"] for event in self.of(events, "epoch")], means(both))

    def test_transformers(self):
        # The loss of an epoch is exact whenever the Trainer logs, evaluates or saves.
        for options in ({}, {"logging_strategy": "epoch", "eval_strategy": "epoch", "save_strategy": "epoch"},
                        {"logging_steps": 4, "eval_strategy": "steps", "eval_steps": 5, "save_strategy": "steps", "save_steps": 5},
                        {"logging_steps": 2, "gradient_accumulation_steps": 2}):
            (self.folder / "events.jsonl").unlink(missing_ok=True)
            events = self.train(TRANSFORMERS, OPTIONS=json.dumps(options))
            self.assert_whole(events, 3)
            accumulate = options.get("gradient_accumulation_steps", 1)
            losses = self.seen()["losses"]
            self.assertEqual(len(losses), 18)
            self.assert_close([event["train_loss"] for event in self.of(events, "epoch")], means(losses[at:at + 6] for at in (0, 6, 12)))
            self.assertEqual([event["optimizer_steps"] for event in self.of(events, "epoch")], [6 // accumulate] * 3)
            start = events[0]
            self.assertEqual((start["task"], start["global_batch"], start["total_steps"], start["precision"]), ("line", 4 * accumulate, 18 // accumulate, "fp32"))
            logged = [entry for entry in self.seen()["history"] if "loss" in entry]
            self.assertEqual([(event["step"], event["loss"]) for event in self.of(events, "step")], [(entry["step"], entry["loss"]) for entry in logged])
            evaluated = [entry for entry in self.seen()["history"] if "eval_loss" in entry]
            self.assertEqual([(event["val_loss"], event["accuracy"]) for event in self.of(events, "eval")], [(entry["eval_loss"], 0.25) for entry in evaluated])
            self.assertEqual([event["epoch"] for event in self.of(events, "eval")], [math.ceil(entry["epoch"]) for entry in evaluated])
            for event in self.of(events, "checkpoint"):
                self.assertTrue((self.folder / event["path"]).is_dir(), event)

    def test_outside_of_a_run_nothing_is_written_or_changed(self):
        for text in (LIGHTNING, FABRIC, TRANSFORMERS):
            process = self.start(text)
            said = process.communicate(timeout=PATIENCE_S)[0]
            self.assertEqual(process.returncode, 0, said)
            self.assertEqual(list(self.folder.glob("events*")), [])
        self.assertEqual([entry for entry in self.seen()["history"] if "loss" in entry], [], "the Trainer logs as it does by itself")

    def test_the_examples_of_the_documentation_run(self):
        page = (ROOT / "docs/python.md").read_text()
        examples = [text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "Callback" in text]
        self.assertEqual(len(examples), 3)
        given = COMMON + """
from lightning.pytorch import LightningModule
class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.line = Line()
    def training_step(self, batch, index): return loss_of(self.line, batch)
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.1)
class ForTrainer(Line):
    def forward(self, x): return {"loss": loss_of(super().forward, x)}
model = {"pytorch": Module, "fabric": Line, "transformers": ForTrainer}[EXAMPLE]()
loader = torch.utils.data.DataLoader(DATA, batch_size=4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = [{"x": row} for row in DATA]
def validate(): return 0.5
"""
        for name, example in zip(("pytorch", "fabric", "transformers"), examples):
            (self.folder / "events.jsonl").unlink(missing_ok=True)
            events = self.train(f"EXAMPLE = '{name}'\n{given}{example}")
            self.assert_whole(events, 3)


def means(groups):
    return [sum(group) / len(group) for group in groups]


if __name__ == "__main__":
    unittest.main()
