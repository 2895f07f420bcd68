"""Events from the Trainer of Hugging Face's transformers.

    from hpcbench.transformers import EventsCallback
    trainer = Trainer(callbacks=[EventsCallback()], ...)

Outside of a run of hpcbench it does nothing. docs/python.md lists the events.
"""
from __future__ import annotations

import math
from typing import Any

import transformers

from hpcbench import events
from hpcbench._training import Recorder

__all__ = ["EventsCallback"]


class EventsCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """For Trainer(callbacks=[...]). `steps`: what the Trainer logs every `logging_steps`, as step events. `facts`: more of run_start.

    The Trainer tells losses only when it logs. So it logs again at the end of an epoch, unless it does so anyway.
    """

    def __init__(self, steps: bool = False, **facts: Any) -> None:
        self._steps = steps
        self._facts = facts
        self._recorder: Recorder | None = None
        self._logged = 0  # the last optimiser step with a known loss
        self._losses: list[tuple[int, float]] = []  # of the epoch: steps, their mean loss
        self._ended: tuple[int, float] | None = None  # an epoch whose loss is not known yet: number, seconds

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if events.path() is None:
            return
        precision = "bf16" if args.bf16 else "fp16" if args.fp16 else "fp32"
        known = {"precision": precision, "batch_size": args.per_device_train_batch_size, "total_steps": state.max_steps,
                 "global_batch": args.train_batch_size * args.gradient_accumulation_steps * args.world_size,
                 "versions": {"transformers": transformers.__version__}}
        self._recorder = Recorder(args.process_index, args.world_size, args.device, state.global_step, **{**known, **self._facts})
        self._logged = state.global_step

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self._recorder is not None:
            self._write_epoch(state)
            self._losses = []
            self._recorder.begin_epoch(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self._recorder is not None and control.should_save:
            self._recorder.last = self._recorder.now()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **others: Any) -> None:
        if self._recorder is None or not logs or "loss" not in logs:
            return
        self._losses.append((state.global_step - self._logged, float(logs["loss"])))
        self._logged = state.global_step
        if self._steps:
            self._recorder.step(state.global_step, logs["loss"], lr=logs.get("learning_rate"), grad_norm=logs.get("grad_norm"))
        self._write_epoch(state)
        self._recorder.last = self._recorder.now()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self._recorder is None:
            return
        self._ended = (_epoch(state), self._recorder.end_epoch())
        if self._logged == state.global_step:
            self._write_epoch(state)
        else:
            control.should_log = True

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, Any] | None = None, **others: Any) -> None:
        if self._recorder is None or not metrics:
            return
        eval_s = sum(value for name, value in metrics.items() if name.endswith("_runtime"))
        told = {name: value for name, value in metrics.items() if not name.endswith(("_per_second", "_runtime", "_preparation_time"))}
        if state.global_step == 0:
            self._recorder.eval_s += eval_s  # before the first epoch
        else:
            self._recorder.write_evaluation(_epoch(state), eval_s, told, "eval_")
        self._recorder.last = self._recorder.now()

    def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self._recorder is not None:
            self._recorder.checkpoint(f"{args.output_dir}/checkpoint-{state.global_step}", state.global_step, self._recorder.last)

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if self._recorder is not None:
            self._write_epoch(state)
            self._recorder.end()

    def _write_epoch(self, state: Any) -> None:
        """The epoch that has ended, if it is not written yet."""
        if self._ended is None or self._recorder is None:
            return
        steps = sum(count for count, _ in self._losses)
        loss = sum(count * loss for count, loss in self._losses) / steps if steps > 0 else None
        self._recorder.write_epoch(*self._ended, loss, state.global_step)
        self._ended = None


def _epoch(state: Any) -> int:
    """From 1; one that is not over counts."""
    return max(math.ceil((state.epoch or 0) - 1e-6), 1)
