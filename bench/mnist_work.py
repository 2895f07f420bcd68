"""mnist_rnn by hpcbench-train and by Lightning Fabric (trainers/mnist_peers.py): the same model, optimiser, data and epochs."""
import json
import pathlib
import sys
import tempfile

from process import BENCH, PROGRAMS, ROOT, output_of, threads_of_rank, training_environment

EPOCHS, QUICK_EPOCHS, BATCH, HIDDEN, SHARE, SAMPLES, RANKS = 3, 1, 64, 64, 0.8, 8000, 2


def ours(folder, epochs, seed, strategy, ranks):
    options = {"task": "mnist_rnn", "strategy": strategy, "data": ROOT / "data" / "mnist", "train-share": SHARE, "epochs": epochs, "batch-size": BATCH,
               "hidden": HIDDEN, "optimizer": "adadelta", "lr": 0.1, "gamma": 0.7, "seed": seed, "eval": "false", "log-every": 1, "device": "cpu",
               "events": folder / "events.jsonl"}
    words = [text for name, value in options.items() for text in (f"--{name}", value)]
    output = output_of([PROGRAMS / "hpcbench-train", "run", *words], folder, training_environment(ranks), ranks)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    by_kind = {kind: [event for event in events if event["event"] == kind] for kind in ("step", "epoch", "run_end")}
    return {"seconds": by_kind["run_end"][0]["train_s"], "loss": by_kind["epoch"][-1]["train_loss"],
            "first_step_s": by_kind["step"][0]["t"] - output.start_unix_s, "peak_bytes": output.peak_bytes}


def fabric(folder, epochs, seed, loader, ranks):
    output = output_of([sys.executable, BENCH / "trainers/mnist_peers.py", "--loader", loader, "--data", ROOT / "data/mnist", "--samples", SAMPLES,
                        "--epochs", epochs, "--batch-size", BATCH, "--hidden", HIDDEN, "--threads", threads_of_rank(ranks), "--seed", seed],
                       folder, training_environment(ranks), ranks)
    told = json.loads(output.text.strip().split("\n")[-1])
    return {"seconds": told["train_s"], "loss": told["losses"][-1], "first_step_s": told["first_step_s"], "peak_bytes": output.peak_bytes}


# name: strategy, ranks
OURS = {"ours": ("baseline", 1), "ddp1": ("ddp", 1), "fsdp1": ("fsdp", 1), "ddp": ("ddp", RANKS), "fsdp": ("fsdp", RANKS)}
# name: loader, ranks
PEERS = {"fabric_torchvision": ("torchvision", 1), "fabric_indexed": ("indexed", 1), "fabric_ddp": ("indexed", RANKS)}


def measure(tool, data, quick, repeat):
    """seconds of training alone; loss: of the last epoch."""
    epochs = QUICK_EPOCHS if quick else EPOCHS
    with tempfile.TemporaryDirectory(dir=data) as name:
        folder = pathlib.Path(name)
        return ours(folder, epochs, repeat, *OURS[tool]) if tool in OURS else fabric(folder, epochs, repeat, *PEERS[tool])
