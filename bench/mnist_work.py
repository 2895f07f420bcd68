"""mnist_rnn by hpcbench-train and by Lightning Fabric (trainers/mnist_peers.py): the same model, optimiser, data and epochs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from process import BENCH, KIB, PROGRAMS, ROOT, plain_environment

EPOCHS, QUICK_EPOCHS, BATCH, HIDDEN, SHARE, SAMPLES, THREADS = 3, 1, 64, 64, 0.8, 8000, 2


def run(command, folder):
    """(peak bytes, seconds since the clock of events at its start, standard output)"""
    with open(folder / "output", "w+") as output, open(folder / "errors", "w+") as errors:
        start_unix_s = time.time()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=folder,
                                   env=plain_environment(OMP_NUM_THREADS=str(THREADS), MKL_NUM_THREADS=str(THREADS), CUDA_VISIBLE_DEVICES=""))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} ended with {process.returncode}: {errors.read()[-2000:]}")
        return usage.ru_maxrss * KIB, start_unix_s, output.read()


def ours(folder, epochs, seed):
    options = {"task": "mnist_rnn", "data": ROOT / "data" / "mnist", "train-share": SHARE, "epochs": epochs, "batch-size": BATCH, "hidden": HIDDEN,
               "optimizer": "adadelta", "lr": 0.1, "gamma": 0.7, "seed": seed, "eval": "false", "log-every": 1, "events": folder / "events.jsonl"}
    command = [str(PROGRAMS / "hpcbench-train"), "run"] + [text for name, value in options.items() for text in (f"--{name}", str(value))]
    peak_bytes, start_unix_s, _ = run(command, folder)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    by_kind = {kind: [event for event in events if event["event"] == kind] for kind in ("step", "epoch", "run_end")}
    return {"seconds": by_kind["run_end"][0]["train_s"], "loss": by_kind["epoch"][-1]["train_loss"],
            "first_step_s": by_kind["step"][0]["t"] - start_unix_s, "peak_bytes": peak_bytes}


def fabric(folder, epochs, seed, loader):
    peak_bytes, _, output = run([sys.executable, str(BENCH / "trainers" / "mnist_peers.py"), "--loader", loader, "--data", str(ROOT / "data" / "mnist"),
                                 "--samples", str(SAMPLES), "--epochs", str(epochs), "--batch-size", str(BATCH), "--hidden", str(HIDDEN),
                                 "--threads", str(THREADS), "--seed", str(seed)], folder)
    told = json.loads(output.strip().split("\n")[-1])
    return {"seconds": told["train_s"], "loss": told["losses"][-1], "first_step_s": told["first_step_s"], "peak_bytes": peak_bytes}


def measure(tool, data, quick, repeat):
    """seconds of training alone; loss: of the last epoch."""
    epochs = QUICK_EPOCHS if quick else EPOCHS
    with tempfile.TemporaryDirectory(dir=data) as name:
        folder = pathlib.Path(name)
        return ours(folder, epochs, repeat) if tool == "ours" else fabric(folder, epochs, repeat, tool.removeprefix("fabric_"))
