"""The same training twice: by transformers with torch.optim.AdamW, and by `hpcbench-train run --task bert_squad`."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import environment
import features
import torch
from safetensors.torch import load_file, save_file  # noqa: F401  (save_file: for tests)
from tiny_models import is_gauge, make_config, make_model
from transformers import BertForQuestionAnswering, get_linear_schedule_with_warmup

sys.path.append(str(environment.ROOT / "bench"))
from ports import free_port  # noqa: E402

VOCABULARY_SIZE = 30522
SHAPES = {
    "two-layers": dict(layers=2, hidden=32, heads=4, intermediate=64, vocabulary=VOCABULARY_SIZE, positions=384),
    "three-layers": dict(layers=3, hidden=24, heads=3, intermediate=50, vocabulary=VOCABULARY_SIZE, positions=400, eps=1e-7),
    "tiny": dict(layers=2, hidden=128, heads=2, intermediate=512, vocabulary=VOCABULARY_SIZE, positions=512),
}
# Small enough that 100 steps take seconds; fits all three.
WINDOW = dict(max_length=96, doc_stride=32)


def write_model(folder, shape, seed=5, dtype=torch.float64):
    """A folder as `--model` wants it, made by transformers alone; attention is sharp enough that mistakes show."""
    spread = 0.25 if SHAPES[shape]["hidden"] < 100 else 0.08
    model = make_model(make_config(**SHAPES[shape]), seed, spread, dtype)
    model.save_pretrained(folder)
    write_vocabulary(folder)
    return folder


def write_vocabulary(folder):
    pathlib.Path(folder).mkdir(exist_ok=True)
    shutil.copyfile(environment.VOCABULARY, pathlib.Path(folder) / "vocab.txt")


def load_model(folder, dtype):
    model = BertForQuestionAnswering.from_pretrained(folder, dtype=dtype)
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    for layer in model.bert.encoder.layer:
        layer.attention.self.dropout.p = 0.0
    return model.eval()


def tensors(rows, padding_token=0):
    """A batch of features, padded to its longest."""
    length = max(len(row["input_ids"]) for row in rows)
    batch = {key: torch.tensor([row[key] + [padding_token if key == "input_ids" else 0] * (length - len(row[key])) for row in rows])
             for key in ("input_ids", "token_type_ids", "attention_mask")}
    batch["start_positions"] = torch.tensor([row["start_position"] for row in rows])
    batch["end_positions"] = torch.tensor([row["end_position"] for row in rows])
    return batch


def batches_in_file_order(rows, batch_size, steps, ranks=1):
    """Step by step the lists of rows that each rank takes; an epoch's last one may be short; begins again when all are used."""
    order = list(range(len(rows)))
    while len(order) % ranks:
        order.append(order[len(order) % len(rows)])
    made = []
    while len(made) < steps:
        for first in range(0, len(order), batch_size * ranks):
            block = order[first:first + batch_size * ranks]
            made.append([[rows[index] for index in block[rank::ranks]] for rank in range(ranks)])
            if len(made) == steps:
                break
    return made


def train_with_torch(model, batches, lr, weight_decay=0.01, clip=None, warmup=None, total=None, accumulate=1):
    """Losses of the optimiser's steps, of the first rank's samples, as its events have them. `batches`: for each micro-batch the ranks'
    rows; what is minimised is the mean of the ranks' means."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    schedule = None if warmup is None else get_linear_schedule_with_warmup(optimizer, warmup, total)
    losses = []
    for first in range(0, len(batches), accumulate):
        optimizer.zero_grad()
        window = batches[first:first + accumulate]
        means = [[model(**tensors(rows)).loss for rows in ranks] for ranks in window]
        (sum(sum(of_ranks) / len(of_ranks) for of_ranks in means) / len(window)).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if schedule is not None:
            schedule.step()
        losses.append(sum(of_ranks[0].item() for of_ranks in means) / len(window))
    return losses


class OurRun:
    """`hpcbench-train run` as `ranks` processes, its events and what it saved."""

    def __init__(self, folder, model, data, steps, ranks=1, **settings):
        folder = pathlib.Path(folder)
        self.save, self.events_file = folder / "saved", folder / "events.jsonl"
        options = {"task": "bert_squad", "model": model, "data": data, "strategy": "baseline" if ranks == 1 else "ddp", "dropout": 0,
                   "shuffle": "false", "max_steps": steps, "save": self.save, "events": self.events_file, "log_every": 1,
                   "cache": folder / "cache", **settings}
        command = [environment.TRAIN, "run"]
        for name, value in options.items():
            if value is not None:
                command += ["--" + name.replace("_", "-"), str(value)]
        self.command = " ".join(command)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "HPCBENCH_RUN"))}
        inherited |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
                                      env=dict(inherited, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in range(ranks)]
        self.outputs = [process.communicate(timeout=600)[0] for process in processes]
        self.codes = [process.returncode for process in processes]
        self.events = []
        if self.events_file.exists():
            self.events = [json.loads(line) for line in self.events_file.read_text().splitlines()]

    def check(self):
        if any(self.codes):
            raise AssertionError(f"{self.command}\nended with {self.codes}:\n" + "\n".join(self.outputs))
        return self

    def of(self, event, field):
        return [each.get(field) for each in self.events if each["event"] == event]

    def losses(self):
        return self.of("step", "loss")

    def parameters(self):
        return load_file(self.save / "model.safetensors")


def parameter_differences(ours, model, tolerance, lr, steps):
    """Tensors that differ by more than `tolerance` of their norm; gauge parameters may differ by two steps' worth each step."""
    theirs = dict(model.named_parameters())
    found = [f"{name}: only on one side" for name in sorted(set(ours) ^ set(theirs))]
    for name in sorted(set(ours) & set(theirs)):
        one, other = ours[name].double(), theirs[name].detach().double()
        if one.shape != other.shape or ours[name].dtype != theirs[name].dtype:
            found.append(f"{name}: {ours[name].dtype} {tuple(one.shape)} against {theirs[name].dtype} {tuple(other.shape)}")
        elif is_gauge(name, model.config.num_hidden_layers):
            if (one - other).abs().max() > 2 * lr * steps:
                found.append(f"{name} (gauge): differs by {(one - other).abs().max():.2e}")
        elif (one - other).norm() > tolerance * other.norm():
            found.append(f"{name}: differs by {((one - other).norm() / other.norm()).item():.2e} of its norm")
    return found


def relative_differences(ours, theirs):
    if len(ours) != len(theirs):
        raise AssertionError(f"{len(ours)} losses against {len(theirs)}")
    return [abs(one - other) / abs(other) for one, other in zip(ours, theirs)]


def squad_rows(data=environment.EXCERPT, pad_to_max_length=True, **window):
    return features.run_qa_features(features.make_tokenizer(), features.read_squad(data), pad_to_max_length=pad_to_max_length, **window)
