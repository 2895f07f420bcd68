"""Writes tests/trainers/bert/golden: what transformers and torch.optim.AdamW make of two tiny BERTs, in fp64.

    $(tests/huggingface/venv.sh) tests/huggingface/make_golden.py           renew; then read the diff of the sizes and explain it
    $(tests/huggingface/venv.sh) tests/huggingface/make_golden.py --check   compare with the existing files, to 1e-12 a tensor

GOLDEN/NAME/ has config.json and model.safetensors as save_pretrained writes them, and expected.safetensors:
  input_ids, token_type_ids, attention_mask                int64 [B, S], padded at the ends of rows
  start_positions, end_positions                           int64 [B]: at [CLS], inside, S and beyond (ignored), negative (clamped to 0)
  start_logits, end_logits                                 [B, S], padded positions too
  loss, grad/PARAMETER                                     as BertForQuestionAnswering gives them: padded positions compete
  losses, after3/PARAMETER                                 3 steps of torch.optim.AdamW on this batch: lr 1e-3, weight_decay 0.01
  unpadded/loss, unpadded/grad/PARAMETER                   each row by itself without padding: (mean over starts + over ends) / 2
  unpadded/start_logits, unpadded/end_logits               [sum of the rows' lengths]
"""

import copy
import json
import os
import pathlib
import sys

os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import torch
from safetensors.torch import load_file, save_file
from tiny_models import is_gauge, make_config, make_model

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "trainers" / "bert" / "golden"

# name: configuration, seed, padded length, rows as (question tokens, all tokens, start, end); "S" is the padded length
CASES = {
    "two-layers": (
        dict(layers=2, hidden=32, heads=4, intermediate=64, vocabulary=64, positions=40), 11, 40,
        [(5, 40, 9, 12), (8, 33, 0, 0), (3, 7, 5, 5), (4, 20, 18, 19), (6, 25, "S", 7), (2, 12, 60, "S")]),
    "three-layers": (
        dict(layers=3, hidden=24, heads=3, intermediate=50, vocabulary=61, positions=37, eps=1e-5), 12, 29,
        [(9, 29, 27, 28), (1, 1, 0, 0), (4, 17, -3, 6), (2, 28, 20, "S"), (7, 23, 8, 22)]),
}


def make_batch(config, seed, length, rows):
    generator = torch.Generator().manual_seed(seed + 1000)
    batch = {name: torch.zeros(len(rows), length, dtype=torch.int64) for name in ("input_ids", "token_type_ids", "attention_mask")}
    for row, (question, tokens, _, _) in enumerate(rows):
        batch["input_ids"][row, :tokens] = torch.randint(1, config.vocab_size, (tokens,), generator=generator)
        batch["token_type_ids"][row, question:tokens] = 1
        batch["attention_mask"][row, :tokens] = 1
    for side, name in ((2, "start_positions"), (3, "end_positions")):
        batch[name] = torch.tensor([length if row[side] == "S" else row[side] for row in rows])
    return batch


def gradients(model, loss):
    names = [name for name, _ in model.named_parameters()]
    return dict(zip(names, torch.autograd.grad(loss, [parameter for _, parameter in model.named_parameters()])))


def without_padding(model, batch):
    """The loss over rows that the model sees one by one, at their own lengths."""
    logits, losses, counts = [[], []], [0.0, 0.0], [0, 0]
    for row, length in enumerate(batch["attention_mask"].sum(1).tolist()):
        output = model(**{name: batch[name][row:row + 1, :length] for name in ("input_ids", "token_type_ids", "attention_mask")})
        for side, (values, name) in enumerate(((output.start_logits, "start_positions"), (output.end_logits, "end_positions"))):
            logits[side].append(values[0])
            position = min(max(int(batch[name][row]), 0), length)
            if position < length:
                losses[side] = losses[side] - torch.log_softmax(values[0], 0)[position]
                counts[side] += 1
    return (losses[0] / counts[0] + losses[1] / counts[1]) / 2, torch.cat(logits[0]), torch.cat(logits[1])


def expect(model, batch):
    output = model(**batch)
    expected = dict(batch)
    expected |= {"start_logits": output.start_logits, "end_logits": output.end_logits, "loss": output.loss}
    expected |= {f"grad/{name}": value for name, value in gradients(model, output.loss).items()}

    loss, start_logits, end_logits = without_padding(model, batch)
    expected |= {"unpadded/loss": loss, "unpadded/start_logits": start_logits, "unpadded/end_logits": end_logits}
    expected |= {f"unpadded/grad/{name}": value for name, value in gradients(model, loss).items()}

    trained = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-3, weight_decay=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = trained(**batch).loss
        losses.append(loss.detach())
        loss.backward()
        optimizer.step()
    expected["losses"] = torch.stack(losses)
    expected |= {f"after3/{name}": value for name, value in trained.named_parameters()}
    return {name: value.detach().clone().contiguous() for name, value in expected.items()}


def differences(folder, model, expected):
    """Returns the files in `folder` that differ from the values computed now; gauge parameters' noise may differ by more than 1e-12."""
    stored = load_file(folder / "expected.safetensors")
    weights = load_file(folder / "model.safetensors")
    for name in sorted(set(stored) ^ set(expected)):
        yield f"{name} is only on one side"
    if any(not torch.equal(weights[name], value) for name, value in model.state_dict().items()):
        yield "model.safetensors holds other weights"
    for name in sorted(set(stored) & set(expected)):
        ours, theirs = expected[name].double(), stored[name].double()
        scale = theirs.norm()
        if is_gauge(name.split("/")[-1], model.config.num_hidden_layers):
            scale = 1 if "grad/" in name else 1e9
        if (ours - theirs).norm() > 1e-12 * scale:
            yield f"{name} differs by {(ours - theirs).norm() / scale:.1e}"


def main(check):
    torch.set_num_threads(1)
    failed = False
    for name, (shape, seed, length, rows) in CASES.items():
        config = make_config(**shape)
        model = make_model(config, seed)
        expected = expect(model, make_batch(config, seed, length, rows))
        folder = GOLDEN / name
        if check:
            found = list(differences(folder, model, expected))
            print(f"{name}: {'; '.join(found) if found else 'as checked in'}")
            failed = failed or bool(found)
            continue
        model.save_pretrained(folder)
        save_file(expected, folder / "expected.safetensors")
        for path in folder.iterdir():
            path.chmod(0o644)
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        print(f"{name}: loss {expected['loss']:.6f}, unpadded {expected['unpadded/loss']:.6f}; {json.dumps(sizes)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
