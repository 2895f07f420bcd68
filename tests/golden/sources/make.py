#!/usr/bin/env python3
"""Makes the files of this folder: what Lightning, Fabric, torch's SummaryWriter and Hugging Face's Trainer write, and what
TensorBoard itself reads from the event files (tensorboard_reads.json).

    cd $(mktemp -d) && REPOSITORY/build/venv-huggingface/bin/python REPOSITORY/tests/golden/sources/make.py

Made with torch 2.13.0, lightning 2.6.6, transformers 5.23.0 and tensorboard 2.21.0. The losses differ from machine to machine;
the tests compare the files with tensorboard_reads.json and with numbers that stand in them.
"""
import glob
import json
import os
import pathlib
import shutil
import socket
import warnings

socket.gethostname = lambda: "node1"
os.environ["TENSORBOARD_LOGGING_DIR"] = "w/hf/runs"
warnings.filterwarnings("ignore")

import lightning as L  # noqa: E402
import torch  # noqa: E402
from lightning.fabric.loggers import TensorBoardLogger as FabricLogger  # noqa: E402
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402
from torch.utils.tensorboard import SummaryWriter  # noqa: E402
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parent


def keep(pattern, name):
    shutil.copy(sorted(glob.glob(pattern, recursive=True), key=os.path.getmtime)[-1], OUT / name)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        loss = (self.layer(batch) ** 2).mean()
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", (self.layer(batch) ** 2).mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def lightning():
    data = torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=4)
    L.Trainer(max_epochs=3, logger=[CSVLogger("w/csv"), TensorBoardLogger("w/tb")], log_every_n_steps=4, accelerator="cpu",
              devices=1, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False).fit(Model(), data, data)
    keep("w/csv/*/version_0/metrics.csv", "lightning_metrics.csv")
    keep("w/tb/*/version_0/events*", "events.out.tfevents.lightning")


def fabric():
    logger = FabricLogger("w/fabric")
    for step in range(3):
        logger.log_metrics({"loss": 1 / (step + 1)}, step=step)
    logger.finalize("ok")
    logger.experiment.close()
    keep("w/fabric/**/events*", "events.out.tfevents.fabric")


def tensors():
    writer = SummaryWriter("w/new")
    writer.add_scalar("t/double", 0.1, 5, new_style=True, double_precision=True)
    writer.add_scalar("t/float", 0.25, 6, new_style=True)
    writer.add_histogram("h", torch.arange(10.0), 0)
    writer.close()
    keep("w/new/events*", "events.out.tfevents.tensors")


def huggingface():
    model = BertForSequenceClassification(BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                                                     intermediate_size=8, max_position_embeddings=16))
    data = [{"input_ids": torch.randint(0, 20, (8,)), "labels": torch.tensor(i % 2)} for i in range(16)]
    Trainer(model, TrainingArguments("w/hf", num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2, eval_strategy="epoch",
                                     save_strategy="epoch", report_to=["tensorboard"], disable_tqdm=True, use_cpu=True, seed=1),
            train_dataset=data, eval_dataset=data).train()
    keep("w/hf/checkpoint-*/trainer_state.json", "trainer_state.json")
    keep("w/hf/**/events*", "events.out.tfevents.huggingface")


def what_tensorboard_reads(path):
    events = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    series = {tag: [[s.step, s.value] for s in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    for tag in events.Tags()["tensors"]:
        arrays = [(s.step, tensor_util.make_ndarray(s.tensor_proto)) for s in events.Tensors(tag)]
        if all(array.size == 1 and array.dtype.kind in "fi" for _, array in arrays):
            series[tag] = [[step, float(array)] for step, array in arrays]
    return series


def main():
    torch.manual_seed(0)
    for make in (lightning, fabric, tensors, huggingface):
        make()
    reads = {path.name: what_tensorboard_reads(path) for path in sorted(OUT.glob("events*"))}
    (OUT / "tensorboard_reads.json").write_text(json.dumps(reads, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
