#!/usr/bin/env python3
"""A run of the study gpu_speed: trains BERT by one program and writes, as an event of hpcbench, how long the steps after the first ones took.

All programs read their losses every EVERY steps only, and time runs from the first such reading to the last one, so that no program waits for the device in between.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from process import plain_environment  # noqa: E402
from trainer import GRAPHS, NONDETERMINISTIC, PYTHON, ROOT, SQUAD, events_in, usable_cores  # noqa: E402

# layers, hidden, intermediate, rows of a step
SIZES = {"tiny": (2, 128, 512, 8), "base": (12, 768, 3072, 32), "large": (24, 1024, 4096, 16)}


def flop_of_row(size, tokens):
    """Forward and backward, no recomputation (Chowdhery et al. 2022, appendix B), as docs/statistics.md has it."""
    layers, hidden, intermediate, _ = SIZES[size]
    return tokens * (6 * layers * (4 * hidden**2 + 2 * hidden * intermediate) + 12 * layers * hidden * tokens)


def finished(command, **options):
    """A program that must succeed; where it does not, its own words are the last ones."""
    # The peers' packages are this Python's.
    environment = plain_environment(OMP_NUM_THREADS=str(usable_cores()), HPCBENCH_HUGGINGFACE_VENV=sys.prefix)
    done = subprocess.run([str(word) for word in command], text=True, env=environment, **options)
    if done.returncode != 0:
        sys.exit(1)
    return done.stdout


def ours(options, every):
    with tempfile.TemporaryDirectory() as folder:
        events = pathlib.Path(folder) / "events.jsonl"
        command = [options.trainer, "run", *map(str, SQUAD), "--device", options.device, "--model", options.size, "--max-length", options.length,
                   "--doc-stride", "16", "--batch-size", SIZES[options.size][3], "--precision", options.precision, "--padding", options.padding,
                   "--pad-in-softmax", "false" if options.padding == "none" else "true", "--max-steps", options.steps, "--log-every", every, "--events", events]
        if options.program == NONDETERMINISTIC:
            command += ["--deterministic", "false"]
        if options.program == GRAPHS:
            command += ["--cuda-graphs", "true"]
        finished(command, stdout=subprocess.DEVNULL)
        told = events_in(events)
    steps = [event for event in told if event["event"] == "step"]
    epochs = [event for event in told if event["event"] == "epoch"]
    tokens = sum(event["tokens"] for event in epochs) / sum(event["samples"] for event in epochs)
    return steps[-1]["t"] - steps[0]["t"], tokens, steps[-1]["loss"]


def theirs(options, every):
    command = [PYTHON, ROOT / "bench/trainers/peers.py", "--peer", "plain", "--size", options.size, "--data", ROOT / "data/squad2-excerpt.json", "--length", options.length,
               "--doc-stride", "16", "--batch-size", SIZES[options.size][3], "--precision", options.precision, "--steps", options.steps, "--device", options.device,
               "--batches", "max" if options.padding == "max" else "grouped", "--fused", "--log-every", every, "--threads", usable_cores()]
    if options.program == "transformers-compiled":
        command.append("--compile")
    said = json.loads(finished(command, stdout=subprocess.PIPE).splitlines()[-1])
    return sum(said["ms"]) / 1000, sum(said["tokens"]) / len(said["tokens"]), said["losses"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("program", "size", "precision", "padding", "device", "trainer"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("length", "steps"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    every = max(2, options.steps // 6)
    seconds, tokens_a_row, loss = (ours if options.program.startswith("hpcbench-train") else theirs)(options, every)
    measured = options.steps // every * every - every
    rows = measured * SIZES[options.size][3]
    event = {"v": 1, "rank": 0, "event": "run_end", "train_s": seconds, "samples": rows, "tokens": rows * tokens_a_row, "optimizer_steps": measured,
             "flop": rows * flop_of_row(options.size, tokens_a_row), "train_loss": loss}
    line = json.dumps(event)
    print(line)
    if folder := os.environ.get("HPCBENCH_RUN_DIR"):
        with open(pathlib.Path(folder, "events.jsonl"), "a") as events:
            events.write(line + "\n")


if __name__ == "__main__":
    main()
