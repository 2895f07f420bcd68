#!/usr/bin/env python3
"""One training run of BERT for question answering by what people use now; prints one JSON object about it.

    "$(tests/huggingface/venv.sh --peers)" bench/trainers/peers.py --peer plain|fabric|trainer --size small|base --data FILE [options]

  plain     a loop of one's own around transformers' model (torch.optim.AdamW)
  fabric    the same through Lightning Fabric, as its users write it
  trainer   transformers.Trainer with its defaults (fused AdamW, clipping at 1.0)

It trains on the features of a SQuAD file (--data; made_up.py writes one), tokenised by BertTokenizerFast as run_qa does. Without --model weights are random.
`--batches max`: padded to the size's length. `longest`: to the longest of the batch. `grouped`: batches of like lengths, too.

Printed: ms of each step (from the third on), tokens a row of each step, first_step_s from the start of the process to the end of the first step, losses.
`--save-model FOLDER` writes random weights there and trains nothing.
"""

import argparse
import json
import math
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# layers, hidden, heads, intermediate; length and batch of the measurement
SIZES = {"tiny": (2, 128, 2, 512, 128, 8), "small": (4, 256, 4, 1024, 128, 8), "base": (12, 768, 12, 3072, 384, 4), "large": (24, 1024, 16, 4096, 384, 2)}
VOCABULARY = 30522


def since_process_start_s():
    with open("/proc/self/stat") as file:
        start_ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks / os.sysconf("SC_CLK_TCK")


def squad_rows(data, vocabulary, length, doc_stride):
    sys.path.insert(0, str(ROOT / "tests" / "huggingface"))
    os.environ.setdefault("HPCBENCH_TRAIN", "/bin/true")
    import features
    rows = features.run_qa_features(features.make_tokenizer(vocabulary), features.read_squad(data), length, doc_stride)
    return [{key: row[key] for key in ("input_ids", "token_type_ids", "attention_mask")} |
            {"start_positions": row["start_position"], "end_positions": row["end_position"]} for row in rows]


class Collate:
    """Pads to `length`, or (None) to the longest of the batch."""

    def __init__(self, length):
        self.length = length

    def __call__(self, rows):
        import torch
        length = self.length or max(len(row["input_ids"]) for row in rows)
        batch = {key: torch.tensor([row[key] + [0] * (length - len(row[key])) for row in rows])
                 for key in ("input_ids", "token_type_ids", "attention_mask")}
        return batch | {key: torch.tensor([row[key] for row in rows]) for key in ("start_positions", "end_positions")}


class Clock:
    """Called at the end of each step. It reads every `every`-th loss: on a GPU that waits until the step has been computed."""

    def __init__(self, every=1):
        self.every, self.steps = every, 0
        self.ends_s, self.losses, self.tokens, self.first_step_s = [], [], [], None

    def step(self, loss, batch=None):
        self.steps += 1
        if self.steps % self.every:
            return
        self.losses.append(loss.item())
        self.ends_s.append(time.monotonic())
        if batch is not None:
            self.tokens.append(batch["attention_mask"].sum().item() / len(batch["attention_mask"]))
        if self.first_step_s is None:
            self.first_step_s = since_process_start_s()

    def summary(self):
        # The first two steps warm up, or the first `every`.
        first = 1 if self.every == 1 else 0
        return {"first_step_s": self.first_step_s, "ms": [1000 * (end - begin) for begin, end in zip(self.ends_s[first:], self.ends_s[first + 1:])],
                "tokens": self.tokens, "losses": self.losses}


def loss_of(model, batch, mask_padding):
    """As the model has it, or without the padded positions, which then do not compete for start and end."""
    if not mask_padding:
        return model(**batch).loss
    import torch
    positions = ("start_positions", "end_positions")
    output = model(**{key: value for key, value in batch.items() if key not in positions})
    logits = [each.float().masked_fill(batch["attention_mask"] == 0, -math.inf) for each in (output.start_logits, output.end_logits)]
    return sum(torch.nn.functional.cross_entropy(each, batch[key]) for each, key in zip(logits, positions)) / 2


def make_model(options):
    import torch
    from transformers import BertConfig, BertForQuestionAnswering
    if options.model:
        return BertForQuestionAnswering.from_pretrained(options.model, attn_implementation=options.attention)
    torch.manual_seed(options.seed)
    layers, hidden, heads, intermediate, _, _ = SIZES[options.size]
    config = BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=intermediate,
                        hidden_dropout_prob=options.dropout, attention_probs_dropout_prob=options.dropout)
    config._attn_implementation = options.attention
    return BertForQuestionAnswering(config)


def make_loader(rows, options):
    import torch
    # Like transformers: shuffled, sorted by length within pools of 50 batches.
    sampler = None
    if options.batches == "grouped":
        from transformers.trainer_pt_utils import LengthGroupedSampler
        sampler = LengthGroupedSampler(options.batch_size, lengths=[len(row["input_ids"]) for row in rows],
                                       generator=torch.Generator().manual_seed(options.seed))
    return torch.utils.data.DataLoader(rows, batch_size=options.batch_size, sampler=sampler, drop_last=True,
                                       collate_fn=Collate(options.length if options.batches == "max" else None))


def endless(loader):
    while True:
        yield from loader


def run_plain(rows, options, clock):
    import torch
    model = make_model(options).train().to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, fused=options.fused or None)
    if options.compile:
        model = torch.compile(model)
    batches = endless(make_loader(rows, options))
    for _ in range(options.steps):
        batch = {key: tensor.to(options.device, non_blocking=True) for key, tensor in next(batches).items()}
        with torch.autocast(options.device, torch.bfloat16, enabled=options.precision == "bf16"):
            loss = loss_of(model, batch, options.mask_padding)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        clock.step(loss, batch)


def run_fabric(rows, options, clock):
    import torch
    from lightning.fabric import Fabric
    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed" if options.precision == "bf16" else "32-true")
    fabric.launch()
    model = make_model(options).train()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=options.lr, fused=options.fused or None))
    batches = endless(fabric.setup_dataloaders(make_loader(rows, options)))
    for _ in range(options.steps):
        batch = next(batches)
        loss = loss_of(model, batch, options.mask_padding)
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        clock.step(loss, batch)


def run_trainer(rows, options, clock):
    import tempfile

    from transformers import Trainer, TrainerCallback, TrainingArguments

    class AtStepEnd(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            clock.step(recorded[-1])

    recorded = []

    class Recording(Trainer):
        def compute_loss(self, *positional, **named):
            loss = super().compute_loss(*positional, **named)
            recorded.append(loss.detach())
            return loss

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, use_cpu=True, max_steps=options.steps, per_device_train_batch_size=options.batch_size, learning_rate=options.lr,
            bf16=options.precision == "bf16", report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True, seed=options.seed,
            train_sampling_strategy="group_by_length" if options.batches == "grouped" else "random", dataloader_drop_last=True)
        Recording(model=make_model(options), args=arguments, train_dataset=rows, callbacks=[AtStepEnd()],
                  data_collator=Collate(options.length if options.batches == "max" else None)).train()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=("plain", "fabric", "trainer"), default="plain")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--model", help="a folder with config.json and model.safetensors instead of random weights of --size")
    parser.add_argument("--batches", choices=("max", "longest", "grouped"), default="max")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="bf16: autocast")
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    parser.add_argument("--fused", action="store_true", help="fused=True for AdamW (trainer: always)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="plain only")
    parser.add_argument("--compile", action="store_true", help="torch.compile, plain only")
    parser.add_argument("--log-every", type=int, default=1, help="read the loss and the time only after this many steps")
    parser.add_argument("--data", help="a SQuAD file")
    parser.add_argument("--mask-padding", action="store_true", help="padded positions do not compete for start and end (not trainer)")
    parser.add_argument("--save-model", metavar="FOLDER", help="write the random weights of --size there; train nothing")
    parser.add_argument("--vocab", default=str(ROOT / "data" / "bert-base-uncased-vocab.txt"))
    parser.add_argument("--length", type=int, help="tokens a row; default: the size's")
    parser.add_argument("--doc-stride", type=int, default=32)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.data and not options.save_model:
        parser.error("--data FILE: what to train on")
    options.length = options.length or SIZES[options.size][4]
    options.batch_size = options.batch_size or SIZES[options.size][5]

    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1", TRANSFORMERS_VERBOSITY="error")
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch
    torch.set_num_threads(options.threads)
    if options.save_model:
        make_model(options).save_pretrained(options.save_model)
        return
    rows = squad_rows(options.data, options.vocab, options.length, options.doc_stride)
    clock = Clock(options.log_every)
    {"plain": run_plain, "fabric": run_fabric, "trainer": run_trainer}[options.peer](rows, options, clock)
    print(json.dumps({"peer": options.peer, "size": options.size, "threads": options.threads, **clock.summary()}))


if __name__ == "__main__":
    main()
