"""Starts the trainer of this environment, hpcbench-train, with the LibTorch of its package `torch`.

The program lies in this folder and looks for LibTorch in ../torch/lib.
"""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "hpcbench-train")


def environment():
    """Ours, in which the program finds LibTorch; None: there is no torch."""
    if os.path.isdir(os.path.join(HERE, "../torch/lib")):
        return os.environ
    # Of another folder, as with `python -m venv --system-site-packages`.
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        return None
    paths = [os.path.join(found.submodule_search_locations[0], "lib"), os.environ.get("LD_LIBRARY_PATH")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}


def main():
    ours = environment()
    if ours is None:
        sys.exit("error: hpcbench-train needs torch, which is not in this environment: pip install hpcbench-trainer brings it")
    os.execve(PROGRAM, [PROGRAM, *sys.argv[1:]], ours)
