"""Events from Lightning's Trainer and from Fabric.

    from hpcbench.lightning import EventsCallback
    trainer = Trainer(callbacks=[EventsCallback(every=50)], ...)

Outside of a run of hpcbench they do nothing. docs/python.md lists the events.
"""
from __future__ import annotations

from typing import Any

try:
    import lightning
    from lightning.pytorch import Callback
except ImportError:
    # The older name of the same package.
    import pytorch_lightning as lightning  # type: ignore[no-redef]
    from pytorch_lightning import Callback  # type: ignore[assignment]

from hpcbench import events
from hpcbench._training import Recorder

__all__ = ["EventsCallback", "FabricCallback"]


class EventsCallback(Callback):  # type: ignore[misc]
    """For Trainer(callbacks=[...]). `every`: a step event every so many optimiser steps; none by default. `facts`: more of run_start."""

    def __init__(self, every: int = 0, **facts: Any) -> None:
        self._every = every
        self._facts = facts
        self._recorder: Recorder | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if events.path() is None:
            return
        known = {"strategy": type(trainer.strategy).__name__, "precision": trainer.precision, "total_steps": trainer.estimated_stepping_batches,
                 "versions": {"lightning": lightning.__version__}}
        recorder = self._recorder = Recorder(trainer.global_rank, trainer.world_size, pl_module.device, trainer.global_step,
                                             **{**known, **self._facts})
        save = trainer.save_checkpoint

        # Lightning has no hook after writing a checkpoint.
        def save_checkpoint(filepath: Any, *arguments: Any, **options: Any) -> None:
            begin = recorder.now()
            save(filepath, *arguments, **options)
            recorder.checkpoint(filepath, trainer.global_step, begin)

        trainer.save_checkpoint = save_checkpoint

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._recorder is not None:
            self._recorder.begin_epoch(trainer.global_step)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self._recorder is None:
            return
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            self._recorder.add_loss(loss * trainer.accumulate_grad_batches)  # Lightning divides it
        if self._every > 0 and trainer.global_step % self._every == 0 and trainer.global_step > self._recorder.last_step:
            self._recorder.step(trainer.global_step, lr=trainer.optimizers[0].param_groups[0]["lr"])

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self._recorder is not None:
            seconds = self._recorder.end_epoch()
            self._recorder.write_epoch(trainer.current_epoch + 1, seconds, self._recorder.mean_loss(), trainer.global_step)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self._recorder is not None:
            self._recorder.begin_evaluation()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self._recorder is not None:
            self._recorder.end_evaluation(trainer.current_epoch + 1, trainer.callback_metrics, "val_")

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self._recorder is not None:
            self._recorder.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        if self._recorder is not None and isinstance(exception, Exception):
            self._recorder.error(exception)
        self._forget(trainer)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._forget(trainer)

    def _forget(self, trainer: Any) -> None:
        """So that the trainer may be used again: save_checkpoint is the method of its class."""
        if self._recorder is not None:
            del trainer.save_checkpoint
        self._recorder = None


class FabricCallback:
    """For Fabric(callbacks=[...]); the loop calls its methods by `fabric.call`. `every`, `facts`: as above."""

    def __init__(self, every: int = 0, **facts: Any) -> None:
        self._every = every
        self._facts = facts
        self._recorder: Recorder | None = None
        self._step = self._epoch = 0

    def on_train_start(self, fabric: Any, step: int = 0, epoch: int = 0) -> None:
        """Before the first batch. All calls are made by every rank. A training that resumes records what was done before: optimiser steps,
        and epochs that had ended."""
        if events.path() is None:
            return
        known = {"strategy": type(fabric.strategy).__name__, "versions": {"lightning": lightning.__version__}}
        self._recorder = Recorder(fabric.global_rank, fabric.world_size, fabric.device, step, **{**known, **self._facts})
        self._step, self._epoch = step, epoch

    def on_train_epoch_start(self) -> None:
        if self._recorder is not None:
            self._epoch += 1
            self._recorder.begin_epoch(self._step)

    def on_train_batch_end(self, loss: Any, is_accumulating: bool = False) -> None:
        """After a batch and, unless it is accumulating, the optimiser's step."""
        if self._recorder is None:
            return
        self._recorder.add_loss(loss)
        if not is_accumulating:
            self._step += 1
            if self._every > 0 and self._step % self._every == 0:
                self._recorder.step(self._step)

    def on_train_epoch_end(self) -> None:
        """Before the epoch's validation or after it."""
        if self._recorder is not None:
            seconds = self._recorder.end_epoch()
            self._recorder.write_epoch(self._epoch, seconds, self._recorder.mean_loss(), self._step)

    def on_validation_start(self) -> None:
        if self._recorder is not None:
            self._recorder.begin_evaluation()

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        """`metrics`: of all ranks, by name, with `val_` or without: `{"val_loss": 0.3, "accuracy": 0.9}`."""
        if self._recorder is not None:
            named = {name if name.startswith(("val_", "val/")) else f"val_{name}": value for name, value in metrics.items()}
            self._recorder.end_evaluation(max(self._epoch, 1), named, "val_")

    def on_train_end(self) -> None:
        if self._recorder is not None:
            self._recorder.end()
        self._recorder = None
