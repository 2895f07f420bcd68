"""The common part of the callbacks: the times of one training and its events. Needs torch, as each of their frameworks does."""
from __future__ import annotations

import os
import time
from typing import Any

import torch

from hpcbench import events

__all__ = ["Recorder"]


class Recorder:
    """One training: rank 0 writes all events, the others run_end alone. Times are monotonic, with the device at rest.

    `train_s` runs from a barrier before the first batch to the end of the last epoch, less evaluations and checkpoints, as docs/events.md
    has it. Made by every rank at the same place, and only in a run of hpcbench (`events.path()`): it waits for the other ranks.
    `step`: optimiser steps done before, by a training that this one resumes.
    """

    def __init__(self, rank: int, world_size: int, device: torch.device, step: int, **facts: Any) -> None:
        events.use_rank(rank)
        self._is_first = rank == 0
        self._device = device
        self._on_cuda = device.type == "cuda"
        self.eval_s = self.checkpoint_s = self.train_s = 0.0
        versions = {"torch": torch.__version__, **facts.pop("versions", {})}
        if self._on_cuda:
            facts["gpu_model"] = torch.cuda.get_device_name(device)
            torch.cuda.reset_peak_memory_stats(device)
        if self._is_first:
            events.run_start(**{"world_size": world_size, "device": device.type, "versions": versions, **facts})
        if self._is_distributed():
            torch.distributed.barrier()
        self._begin = self.last = self.now()
        self._evaluation_begin: float | None = None
        self._between = 0.0  # from the end of an epoch to the beginning of the next one, without evaluations and checkpoints
        self._epoch_end: float | None = None  # by _step_clock, until the next one begins
        self._steps = (self._step_clock(), step)  # time and number of the last step event
        self._step_loss: Any = None  # sums stay on the device: no step waits for them
        self._step_losses = 0
        self.begin_epoch(step)  # a training that resumes within an epoch may begin none

    def now(self) -> float:
        if self._on_cuda:
            torch.cuda.synchronize(self._device)
        return time.monotonic()

    @staticmethod
    def _is_distributed() -> bool:
        return bool(torch.distributed.is_available() and torch.distributed.is_initialized())

    def _apart(self) -> float:
        return self.eval_s + self.checkpoint_s

    def _step_clock(self) -> float:
        """Seconds that steps take: it stands still during evaluations and checkpoints and between epochs."""
        return self._epoch_end if self._epoch_end is not None else self.now() - self._apart() - self._between

    @property
    def last_step(self) -> int:
        """Of the last step event, or before the first epoch."""
        return self._steps[1]

    def begin_epoch(self, step: int) -> None:
        """`step`: optimiser steps done before."""
        self._epoch = (self.now(), self._apart(), step)
        if self._epoch_end is not None:
            self._between, self._epoch_end = self._epoch[0] - self._epoch[1] - self._epoch_end, None
        if step == self.last_step:
            self._steps = (self._step_clock(), step)
        self._loss: Any = None
        self._losses = 0

    def add_loss(self, loss: Any) -> None:
        """The loss of one batch, a tensor or a number."""
        precision = torch.float32 if self._device.type == "mps" else torch.float64
        loss = torch.as_tensor(loss, dtype=precision, device=self._device).detach()
        self._loss = loss if self._loss is None else self._loss + loss
        self._step_loss = loss if self._step_loss is None else self._step_loss + loss
        self._losses += 1
        self._step_losses += 1

    def step(self, step: int, loss: float | None = None, **fields: Any) -> None:
        """A step event; `loss`, if not given, is the mean over this rank's batches since the last one, as `step_s` is over steps."""
        if loss is None and self._step_losses > 0:
            loss = (self._step_loss / self._step_losses).item()
        now, (begin, first) = self._step_clock(), self._steps
        if self._is_first and step > first:
            events.step(step, loss, step_s=(now - begin) / (step - first), **fields)
        self._steps = (now, step)
        self._step_loss, self._step_losses = None, 0

    def mean_loss(self) -> float | None:
        """Over the batches of the epoch and the ranks, all of which call it."""
        if self._losses == 0:
            return None
        mean = self._loss / self._losses
        if self._is_distributed():
            torch.distributed.all_reduce(mean)
            mean = mean / torch.distributed.get_world_size()
        return float(mean.item())

    def end_epoch(self) -> float:
        """The seconds of the epoch, less evaluations and checkpoints."""
        self.last = now = self.now()
        self.train_s = now - self._begin - self._apart()
        self._epoch_end = now - self._apart() - self._between
        return now - self._epoch[0] - (self._apart() - self._epoch[1])

    def write_epoch(self, epoch: int, epoch_s: float, train_loss: float | None, step: int) -> None:
        if self._is_first:
            events.epoch(epoch, train_loss, epoch_s=epoch_s, optimizer_steps=step - self._epoch[2])

    def begin_evaluation(self) -> None:
        self._evaluation_begin = self.now()

    def end_evaluation(self, epoch: int, metrics: dict[str, Any], prefix: str) -> None:
        """Metrics that begin with `prefix`, or as `val/loss`, without it; the loss keeps the name that events give it, val_loss."""
        if self._evaluation_begin is None:
            return
        self.last = self.now()
        self.write_evaluation(epoch, self.last - self._evaluation_begin, metrics, prefix)
        self._evaluation_begin = None

    def write_evaluation(self, epoch: int, eval_s: float, metrics: dict[str, Any], prefix: str) -> None:
        self.eval_s += eval_s
        begins = (prefix, prefix[:-1] + "/")
        fields = {name[len(prefix):].replace("/", "_"): value for name, value in metrics.items() if name.startswith(begins)}
        loss = fields.pop("loss", None)
        if self._is_first:
            events.log("eval", **{**fields, "epoch": epoch, "eval_s": eval_s, "val_loss": loss})

    def checkpoint(self, path: str | os.PathLike[str], step: int, begin: float) -> None:
        """A checkpoint that was written since `begin`."""
        self.last = self.now()
        self.checkpoint_s += self.last - begin
        if self._is_first:
            events.checkpoint(path, step=step, checkpoint_s=self.last - begin)

    def error(self, error: BaseException) -> None:
        code = "out_of_memory" if isinstance(error, torch.cuda.OutOfMemoryError) else None
        events.error(f"{type(error).__name__}: {error}", code)

    def end(self) -> None:
        memory = {"max_device_bytes": torch.cuda.max_memory_allocated(self._device)} if self._on_cuda else {}
        events.run_end(self.train_s, train_eval_s=self.train_s + self.eval_s, eval_s=self.eval_s, checkpoint_s=self.checkpoint_s, **memory)
