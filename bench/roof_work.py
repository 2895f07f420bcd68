"""Measures the limits of this machine: the bounds with which README.md compares the figures."""
import pathlib
import subprocess
import tempfile
import time

from process import PROGRAMS, plain_environment

PROCESSES, FILES, ROWS, SIDE = 1_000, 300, 100_000, 2048


def roofs(*arguments):
    done = subprocess.run([str(PROGRAMS / "roofs"), *map(str, arguments)], capture_output=True, text=True, check=True, env=plain_environment())
    return float(done.stdout)


def matrix_product():
    """FLOP/s of a large product of fp32 matrices, the best of five."""
    import torch
    left, right = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
    best = 0.0
    for _ in range(5):
        begin_s = time.monotonic()
        torch.mm(left, right)
        best = max(best, 2 * SIDE**3 / (time.monotonic() - begin_s))
    return best


def measure(tool, data, quick, repeat):
    if tool == "spawn":
        return {"seconds": roofs("spawn", PROCESSES, 2, "bash", "-c", "true")}
    if tool == "product":
        return {"seconds": 1e12 / matrix_product()}
    # Removed after all measurements (rested_disk.py).
    folder = pathlib.Path(tempfile.mkdtemp(prefix="roofs-", dir=data))
    if tool == "kept":
        return {"seconds": roofs("kept", PROCESSES, 2, folder, "bash", "-c", "true")}
    if tool == "durable":
        return {"seconds": roofs("durable", FILES, folder) / FILES * PROCESSES}
    return {"seconds": roofs("insert", ROWS, folder / "roof.db")}
