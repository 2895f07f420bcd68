"""Every strategy on every number of devices, against one process on the CPU that computes with the trainer's own kernels."""
import functools
import time
from concurrent.futures import ThreadPoolExecutor

from trainer import MNIST, SQUAD, out_of_time, row, unended, usable_cores

# The same work for every distribution. Dropout is off, because devices may draw other masks, or drawn by the hash.
SAME = ["--global-batch", 16, "--epochs", 3, "--seed", 7, "--order", "batches", "--clip", 1]
BERT = [*SQUAD, *SAME, "--model", "tiny", "--max-length", 64, "--doc-stride", 16, "--max-train-examples", 64, "--lr", "1e-3"]
TASKS = {
    "mnist_rnn": [*MNIST, *SAME, "--dropout", 0, "--train-share", 0.0064, "--optimizer", "sgd", "--lr", 0.05, "--batch-norm", "false"],
    "bert_squad": [*BERT, "--dropout", 0],
}
HASHED = "bert_squad with dropout"
WORK = {**TASKS, HASHED: [*BERT, "--dropout", 0.1, "--dropout-bits", "hash"]}
# With CUDA graphs and without, dropout drawn by the GPU: the same bits.
GRAPHED = {"mnist_rnn fp32": [*MNIST, *SAME, "--train-share", 0.0064], "bert_squad fp32": [*BERT, "--dropout", 0.1],
           "bert_squad bf16": [*BERT, "--dropout", 0.1, "--precision", "bf16"]}
# Largest relative difference of a step's gradient norm or an epoch's loss, both over all ranks. Sums in another order; it grows over 12
# steps of training.
MOST = {"fp64": 1e-9, "fp32": 2e-4, "bf16": 5e-2}
AT_ONCE, CORES_OF_ONE = 4, 3
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
    yield f"{HASHED} fp32 baseline", HASHED, "fp32", 1, ["--strategy", "baseline"]
    yield "bert_squad bf16 baseline", "bert_squad", "bf16", 1, ["--strategy", "baseline"]
    for ranks in machine.rank_counts():
        shared = " of one GPU" if ranks > machine.count else ""
        for task in TASKS:
            for strategy in STRATEGIES[1:]:
                if shared and strategy == "dp":
                    continue
                processes = 1 if strategy == "dp" else ranks
                more = ["--strategy", strategy, *(["--devices", ranks] if strategy == "dp" else [])]
                yield f"{task} fp32 {strategy} on {ranks}{shared}", task, "fp32", processes, more
        yield f"bert_squad bf16 fsdp on {ranks}{shared}", "bert_squad", "bf16", ranks, ["--strategy", "fsdp"]


def reference_of(machine, task, precision, deadline_s):
    return machine.train([*WORK[task], "--precision", precision, "--strategy", "baseline", "--kernels", "own"], deadline_s, device="cpu")


def compared(machine, case, references, deadline_s):
    """The row of a case; None where there is nothing to compare it with."""
    name, task, precision, ranks, more = case
    reference = references[task, precision]
    if reference.exit_code != 0:
        return None
    if time.monotonic() >= deadline_s:
        return out_of_time(name)
    # On a CPU the path that a GPU takes; on a GPU unchanged fp32: LibTorch lets cuDNN round its factors to TF32, which is coarser than the
    # compared differences.
    there = ["--kernels", "torch"] if machine.device == "cpu" else ["--tf32", "false"]
    training = machine.train([*WORK[task], "--precision", precision, *more, *there], deadline_s, ranks)
    if training.exit_code is None:
        return unended(name, training)
    if training.exit_code != 0:
        return row(name, "failed", why=training.last_words())
    if not machine.numbers_count:
        return row(name, "not measured", why="it ran; this GPU computes nothing")
    apart = difference(numbers_of(training), numbers_of(reference))
    right = apart is not None and apart <= MOST[precision]
    return row(name, "passed" if right else "failed", largest_difference=apart, at_most=MOST[precision], numbers=numbers_of(training),
               **({} if right else {"why": f"gradient norms of steps and losses of epochs differ by {apart}; on the CPU {numbers_of(reference)}"}))


def graphed(machine, task, deadline_s):
    """The row of a task whose steps are captured."""
    name = f"{task} baseline, CUDA graphs beside none"
    numbers = []
    for graphs in ("false", "true"):
        if time.monotonic() >= deadline_s:
            return out_of_time(name)
        training = machine.train([*GRAPHED[task], "--strategy", "baseline", "--tf32", "false", "--cuda-graphs", graphs], deadline_s)
        if training.exit_code is None:
            return unended(name, training)
        if training.exit_code != 0:
            return row(name, "failed", why=training.last_words())
        numbers.append(numbers_of(training))
    if not machine.numbers_count:
        return row(name, "not measured", why="it ran; this GPU computes nothing")
    apart = difference(*numbers)
    replayed = sum(event.get("graph_steps", 0) for event in training.of_kind("run_end"))
    if apart == 0 and replayed:
        return row(name, "passed", largest_difference=apart, at_most=0, graph_steps=replayed)
    return row(name, "failed", largest_difference=apart, at_most=0, graph_steps=replayed,
               why=f"with CUDA graphs, in {replayed} steps: {numbers[1]}; without: {numbers[0]}")


def parity(machine, rows, deadline_s):
    """No time is measured here: several trainings at once."""
    wanted = list(cases(machine))
    keys = list(dict.fromkeys((task, precision) for _, task, precision, _, _ in wanted))
    with ThreadPoolExecutor(max(1, min(AT_ONCE, usable_cores() // CORES_OF_ONE))) as pool:
        references = dict(zip(keys, pool.map(lambda key: reference_of(machine, *key, deadline_s), keys)))
        for (task, precision), reference in references.items():
            if reference.exit_code is None:
                rows.append(unended(f"{task} {precision} on the CPU", reference))
            elif reference.exit_code != 0:
                rows.append(row(f"{task} {precision} on the CPU", "failed", why=reference.last_words()))
        jobs = [functools.partial(compared, machine, case, references, deadline_s) for case in wanted]
        if machine.device == "cuda":
            alone = sum("baseline" in more for *_, more in wanted)
            jobs[alone:alone] = [functools.partial(graphed, machine, task, deadline_s) for task in GRAPHED]
        for found in filter(None, pool.map(lambda job: job(), jobs)):
            rows.append(found)
    if machine.count == 1:
        return "one GPU: " + ("two ranks share it" if machine.rank_counts() else "strategies of several ranks are not checked")
    return None
