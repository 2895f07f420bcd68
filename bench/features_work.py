"""The features of 32,000 questions: by the whole command `hpcbench-train features` (cold cache, reading, printing), and by tokenizers' encode_batch alone."""
import json
import pathlib
import sys
import tempfile

from bert_work import VOCABULARY, squad_file
from process import BENCH, PROGRAMS, output_of, plain_environment

QUESTIONS, QUICK_QUESTIONS, LENGTH = 32_000, 1_000, 384


def measure(tool, data, quick, repeat):
    """`tool`: ours or encode_batch, and _THREADS."""
    name, threads = tool.rsplit("_", 1)
    questions = QUICK_QUESTIONS if quick else QUESTIONS
    file, _ = squad_file(data, LENGTH, questions)
    with tempfile.TemporaryDirectory(dir=data) as scratch:
        folder = pathlib.Path(scratch)
        environment = plain_environment(OMP_NUM_THREADS=threads, XDG_CACHE_HOME=str(folder))
        if name == "ours":
            output = output_of([PROGRAMS / "hpcbench-train", "features", "--data", file, "--vocab", VOCABULARY, "--threads", threads], folder, environment)
            return {"seconds": output.seconds, "features": output.text.count("\n"), "peak_bytes": output.peak_bytes}
        output = output_of([sys.executable, BENCH / "trainers/tokenizers_peer.py", file, "--threads", threads], folder, environment)
        told = json.loads(output.text)
        return {"seconds": told["features"] / told["features_per_s"], "features": told["features"], "peak_bytes": output.peak_bytes}
