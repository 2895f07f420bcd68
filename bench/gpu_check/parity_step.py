"""Every strategy on every number of devices, against one process on the CPU that computes with the trainer's own kernels."""
import time

from trainer import MNIST, SQUAD, out_of_time, row, unended

# The same work, whatever it is spread over. Dropout is off: devices may draw other masks.
SAME = ["--global-batch", 16, "--epochs", 3, "--dropout", 0, "--seed", 7, "--order", "batches", "--clip", 1]
TASKS = {
    "mnist_rnn": [*MNIST, *SAME, "--train-share", 0.0064, "--optimizer", "sgd", "--lr", 0.05, "--batch-norm", "false"],
    "bert_squad": [*SQUAD, *SAME, "--model", "tiny", "--max-length", 64, "--doc-stride", 16, "--max-train-examples", 64, "--lr", "1e-3"],
}
# Largest relative difference of a step's gradient norm or an epoch's loss, both of all ranks. Sums in another order; over 12 steps of training it grows.
MOST = {"fp64": 1e-9, "fp32": 2e-4, "bf16": 5e-2}
STRATEGIES = ["baseline", "dp", "ddp", "fsdp", "zero1", "zero2"]


def numbers_of(training):
    return [event["grad_norm"] for event in training.of_kind("step")] + [event["train_loss"] for event in training.of_kind("epoch")]


def difference(numbers, reference):
    if len(numbers) != len(reference) or not numbers or None in numbers:
        return None
    return max(abs(one - other) / max(abs(other), 1e-12) for one, other in zip(numbers, reference))


def cases(machine):
    """Name, task, precision, ranks, further arguments; the ones that tell most first."""
    for task in TASKS:
        for precision in ("fp32", "fp64"):
            yield f"{task} {precision} baseline", task, precision, 1, ["--strategy", "baseline"]
    yield "bert_squad bf16 baseline", "bert_squad", "bf16", 1, ["--strategy", "baseline"]
    for ranks in machine.worlds()[1:]:
        for task in TASKS:
            for strategy in STRATEGIES[1:]:
                processes = 1 if strategy == "dp" else ranks
                more = ["--strategy", strategy, *(["--devices", ranks] if strategy == "dp" else [])]
                yield f"{task} fp32 {strategy} on {ranks}", task, "fp32", processes, more
        yield f"bert_squad bf16 fsdp on {ranks}", "bert_squad", "bf16", ranks, ["--strategy", "fsdp"]


def parity(machine, rows, deadline_s):
    references = {}
    # On a CPU the path that a GPU takes; on a GPU fp32 as it is: LibTorch lets cuDNN round its factors to TF32, which is less than what is compared here.
    there = ["--kernels", "torch"] if machine.device == "cpu" else ["--tf32", "false"]
    for name, task, precision, ranks, more in cases(machine):
        if time.monotonic() >= deadline_s:
            rows.append(out_of_time(name))
            continue
        key = (task, precision)
        if key not in references:
            reference = machine.train([*TASKS[task], "--precision", precision, "--strategy", "baseline", "--kernels", "own"], deadline_s, device="cpu")
            references[key] = numbers_of(reference) if reference.exit_code == 0 else None
            if reference.exit_code is None:
                rows.append(unended(f"{task} {precision} on the CPU", reference))
            elif references[key] is None:
                rows.append(row(f"{task} {precision} on the CPU", "failed", why=reference.last_words()))
        if references[key] is None:
            continue
        training = machine.train([*TASKS[task], "--precision", precision, *more, *there], deadline_s, ranks)
        if training.exit_code is None:
            rows.append(unended(name, training))
        elif training.exit_code != 0:
            rows.append(row(name, "failed", why=training.last_words()))
        elif not machine.numbers_count:
            rows.append(row(name, "not measured", why="it ran; this GPU computes nothing"))
        else:
            apart = difference(numbers_of(training), references[key])
            right = apart is not None and apart <= MOST[precision]
            rows.append(row(name, "passed" if right else "failed", largest_difference=apart, at_most=MOST[precision], numbers=numbers_of(training),
                            **({} if right else {"why": f"gradient norms of steps and losses of epochs differ by {apart}; on the CPU {references[key]}"})))
    if machine.count == 1:
        return "one GPU: strategies of several ranks are not looked at"
    return None
