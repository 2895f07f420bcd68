"""Events that a training script writes about itself, so that hpcbench need not read its output.

    from hpcbench import events
    events.epoch(1, train_loss=0.84)
    events.run_end(train_s=12.5)

Each call appends one line to events.jsonl (of rank R > 0: events.R.jsonl) in the folder HPCBENCH_RUN_DIR, flushed at once.
Outside of a run of hpcbench it does nothing. The events and their use by hpcbench: docs/events.md.
"""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import time
from typing import Any

__all__ = ["checkpoint", "epoch", "error", "evaluation", "log", "path", "run_end", "run_start", "step", "use_rank", "warning"]
_own_rank: int | None = None


def use_rank(rank: int) -> None:
    """Sets the rank of this process, if a framework started it and no variable states it."""
    global _own_rank
    _own_rank = rank


def _rank() -> int:
    if _own_rank is not None:
        return _own_rank
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return 0


def path() -> pathlib.Path | None:
    """The file that events of this process go to; None outside of a run."""
    run = os.environ.get("HPCBENCH_RUN")
    if not run:
        return None
    rank = _rank()
    folder = pathlib.Path(os.environ.get("HPCBENCH_RUN_DIR") or pathlib.Path(run).parent)
    return folder / ("events.jsonl" if rank == 0 else f"events.{rank}.jsonl")


def _plain(value: Any) -> Any:
    """Tensors and numpy's numbers as Python's; NaN and infinities stay, and are absent for the reason `nan`."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if not isinstance(value, (str, int, float, bool, type(None))) and hasattr(value, "item"):
        with contextlib.suppress(Exception):  # of several elements: reports its text
            value = value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def log(event: str, **fields: Any) -> None:
    """Any event, with any fields. A field that cannot be written is no reason to end a training: it is written as text."""
    file = path()
    if file is None:
        return
    line = json.dumps({"v": 1, "t": round(time.time(), 3), "rank": _rank(), "event": event, **_plain(fields)}, ensure_ascii=False)
    # One write, so that lines stay whole beside other writers.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, (line + "\n").encode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def run_start(**facts: Any) -> None:
    """Records what is computed, and on which software and machine: precision, global_batch, versions ... become facts of the run."""
    log("run_start", **facts)


def step(step: int, loss: float | None = None, **fields: Any) -> None:
    """Every so many steps, from 1: `loss` becomes a series by step."""
    log("step", step=step, loss=loss, **fields)


def epoch(epoch: int, train_loss: float | None = None, **fields: Any) -> None:
    """The end of an epoch, from 1: its numbers become series by epoch, those of the last one metrics."""
    log("epoch", epoch=epoch, train_loss=train_loss, **fields)


def evaluation(epoch: int, val_loss: float | None = None, **fields: Any) -> None:
    """A validation: val_loss, accuracy (0 to 1), em, f1 (per cent) ..."""
    log("eval", epoch=epoch, val_loss=val_loss, **fields)


def checkpoint(path: str | os.PathLike[str], **fields: Any) -> None:
    """A checkpoint was written."""
    log("checkpoint", path=os.fspath(path), **fields)


def warning(code: str, text: str) -> None:
    log("warning", code=code, text=text)


def error(text: str, code: str | None = None, **fields: Any) -> None:
    """Why the run fails; the code `out_of_memory` decides its outcome."""
    log("error", text=text, code=code, **fields)


def run_end(train_s: float | None = None, **metrics: Any) -> None:
    """The metrics of the run: numbers in seconds, bytes, or with a unit in their name."""
    log("run_end", train_s=train_s, **metrics)
