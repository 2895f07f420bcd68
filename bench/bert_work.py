"""BERT for question answering by hpcbench-train and by what people use instead (trainers/peers.py, trainers/peers_ranks.py), on the same made-up SQuAD file.

A tool is SIZE_NAME: a size of SHAPES, and a name of OURS or PEERS.
"""
import json
import pathlib
import statistics
import sys
import tempfile

from fixtures import fixture
from process import BENCH, PROGRAMS, ROOT, output_of, threads_of_rank, training_environment

sys.path.insert(0, str(BENCH / "trainers"))
from made_up import write_squad  # noqa: E402

VOCABULARY = ROOT / "data/bert-base-uncased-vocab.txt"
RANKS, DOC_STRIDE = 2, 32
# tokens a row, rows a batch and rank, steps
SHAPES = {"small": (128, 8, 12), "base": (384, 4, 4)}
QUICK_STEPS = 4
WARM_STEPS = 2
QUESTIONS = 400
LOSS_STEPS = 2

TUNED = {"padding": "none", "pad_in_softmax": "false"}
# name: ranks, settings
OURS = {"padded": (1, {}), "unpadded": (1, TUNED), "unpadded_bf16": (1, {**TUNED, "precision": "bf16"}),
        "ddp1": (1, {"strategy": "ddp"}), "fsdp1": (1, {"strategy": "fsdp"}),
        "ddp": (RANKS, {"strategy": "ddp"}), "unpadded_ddp": (RANKS, {"strategy": "ddp", **TUNED}), "fsdp": (RANKS, {"strategy": "fsdp"}),
        "zero1": (RANKS, {"strategy": "zero1"})}
# name: ranks, peer, arguments, compared with ours without padding
PEERS = {"plain": (1, "plain", ["--fused"], False), "fabric": (1, "fabric", ["--fused"], False), "trainer": (1, "trainer", [], False),
         "fabric_loop": (1, "fabric", [], True), "grouped": (1, "plain", ["--fused", "--batches", "grouped"], True),
         "grouped_bf16": (1, "plain", ["--fused", "--batches", "grouped", "--precision", "bf16"], True),
         "torch_ddp": (RANKS, "ddp", ["--fused"], False), "fabric_ddp": (RANKS, "fabric", ["--fused"], False), "fsdp2": (RANKS, "fsdp2", ["--fused"], False),
         "fabric_ddp_loop": (RANKS, "fabric", [], True)}


def squad_file(data, length, questions):
    """(a made-up file, the mean number of tokens of its features)"""
    def make(folder):
        folder.mkdir(parents=True)
        (folder / "mean").write_text(repr(write_squad(folder / "squad.json", length, questions)))
    folder = fixture(data, f"squad-{length}-{questions}", make)
    return folder / "squad.json", float((folder / "mean").read_text())


def ours(name, size, file, steps, folder, more):
    """Returns the figures of a run: seconds and mean tokens a row of its steps (without those that warm up), losses, start, memory."""
    ranks, settings = OURS[name]
    length, batch_size, _ = SHAPES[size]
    options = {"task": "bert_squad", "model": size, "vocab": VOCABULARY, "data": file, "strategy": "baseline", "max_length": length, "doc_stride": DOC_STRIDE,
               "batch_size": batch_size, "max_steps": steps, "lr": 5e-5, "dropout": 0.1, "eval": "false", "log_every": 1, "device": "cpu",
               "events": folder / "events", "cache": folder / "cache", **settings, **more}
    words = [text for option, value in options.items() for text in ("--" + option.replace("_", "-"), value)]
    output = output_of([PROGRAMS / "hpcbench-train", "run", *words], folder, training_environment(ranks), ranks)
    events = [json.loads(line) for line in (folder / "events").read_text().splitlines()]
    took, epochs = ([event for event in events if event["event"] == kind] for kind in ("step", "epoch"))
    return {"steps_s": [event["step_s"] for event in took[WARM_STEPS:]], "tokens": [event["tokens"] / event["samples"] for event in took[WARM_STEPS:]],
            "losses": [event["loss"] for event in took], "epoch_losses": [event["train_loss"] for event in epochs],
            "first_step_s": took[0]["t"] - output.start_unix_s,
            "peak_bytes": output.peak_bytes}


def theirs(name, size, file, steps, folder, more):
    ranks, peer, arguments, _ = PEERS[name]
    length, batch_size, _ = SHAPES[size]
    script = BENCH / "trainers" / ("peers.py" if ranks == 1 else "peers_ranks.py")
    output = output_of([sys.executable, script, "--peer", peer, "--size", size, "--steps", steps, "--length", length, "--batch-size", batch_size, "--data", file,
                        "--doc-stride", DOC_STRIDE, "--threads", threads_of_rank(ranks), *arguments, *more], folder, training_environment(ranks), ranks)
    told = json.loads(output.text.strip().split("\n")[-1])
    return {"steps_s": [ms / 1000 for ms in told["ms"]], "tokens": told["tokens"][WARM_STEPS:], "losses": told["losses"],
            "first_step_s": told["first_step_s"], "peak_bytes": output.peak_bytes}


def is_unpadded(name):
    """Does a step's time go with the number of its tokens?"""
    return name in PEERS and "grouped" in PEERS[name][2] or name in OURS and OURS[name][1].get("padding") == "none"


def seconds_of(name, found, mean_tokens):
    """Of a step: the median; where steps differ by design, the mean, for rows of the file's mean length."""
    if not is_unpadded(name):
        return statistics.median(found["steps_s"])
    return statistics.fmean(found["steps_s"]) * mean_tokens / statistics.fmean(found["tokens"])


def measure(tool, data, quick, repeat):
    """seconds of a step, first_step_s since the start of the process or the ranks, loss: the mean of all steps."""
    size, name = tool.split("_", 1)
    length, _, steps = SHAPES[size]
    file, mean_tokens = squad_file(data, length, QUESTIONS)
    with tempfile.TemporaryDirectory(dir=data) as folder:
        side, seed = (ours, {"seed": repeat}) if name in OURS else (theirs, ["--seed", repeat])
        found = side(name, size, file, QUICK_STEPS if quick else steps, pathlib.Path(folder), seed)
    return {"seconds": seconds_of(name, found, mean_tokens), "first_step_s": found["first_step_s"], "peak_bytes": found["peak_bytes"],
            "loss": statistics.fmean(found["losses"])}


def model_folder(data, size):
    """Random weights as transformers makes them, dropout off."""
    def make(folder):
        folder.mkdir(parents=True)
        output_of([sys.executable, BENCH / "trainers/peers.py", "--size", size, "--dropout", "0", "--save-model", folder], folder, training_environment(1))
    return fixture(data, f"model-{size}", make)


def losses(tool, data, quick, repeat):
    """loss_1, loss_2: of the first steps, from the same weights, every rank's batch being all that it has of the file, without dropout. Between ranks
    they are averaged. Where ours is without padding, the peer's loss leaves out padded positions, too."""
    size, name = tool.split("_", 1)
    length, batch_size, _ = SHAPES[size]
    ranks = (OURS if name in OURS else PEERS)[name][0]
    file, _ = squad_file(data, length, batch_size * ranks)
    model = model_folder(data, size)
    with tempfile.TemporaryDirectory(dir=data) as folder:
        if name in OURS:
            found = ours(name, size, file, LOSS_STEPS, pathlib.Path(folder), {"model": model, "dropout": 0})
        else:
            masked = ["--mask-padding"] if PEERS[name][3] else []
            found = theirs(name, size, file, LOSS_STEPS, pathlib.Path(folder), ["--model", model, "--dropout", "0", *masked])
    # A step is an epoch; ours' loss of an epoch is the mean of all ranks, that of a step rank 0's.
    return {f"loss_{step}": loss for step, loss in enumerate(found.get("epoch_losses", found["losses"]), 1)}
