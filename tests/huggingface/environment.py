"""Imported first by every test here: runs the test in the environment that venv.sh makes. If it is missing the
process ends with code 77 and the reason, so that its caller can count it as skipped."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "data"
VOCABULARY = DATA / "bert-base-uncased-vocab.txt"
EXCERPT = DATA / "squad2-excerpt.json"
TRAIN = os.environ.get("HPCBENCH_TRAIN", str(ROOT / "build" / "default" / "bin" / "hpcbench-train"))
LONG = os.environ.get("HPCBENCH_LONG", "") not in ("", "0")


def enter():
    folder = os.environ.get("HPCBENCH_HUGGINGFACE_VENV", str(ROOT / "build" / "venv-huggingface"))
    if os.path.realpath(sys.prefix) != os.path.realpath(folder):
        made = subprocess.run([str(ROOT / "tests" / "huggingface" / "venv.sh"), folder], stdout=subprocess.PIPE, text=True)
        if made.returncode != 0:
            sys.exit(made.returncode)
        python = made.stdout.strip()
        os.execv(python, [python] + sys.orig_argv[1:])
    if not os.access(TRAIN, os.X_OK):
        sys.exit(f"error: {TRAIN} is not there: scripts/setup.sh builds it, or HPCBENCH_TRAIN names another one")
    # No test may access a hub or leave anything in the user's caches.
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="true",
                      RUST_BACKTRACE="0")
    # Tiny models: one thread is as fast, and on a busy machine much faster. OMP_NUM_THREADS=4 tests/huggingface/test.sh tests four.
    os.environ.update(OMP_NUM_THREADS=os.environ.get("OMP_NUM_THREADS", "1"), MKL_NUM_THREADS="1")


enter()
