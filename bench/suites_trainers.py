"""The rows of the trainers: mnist_rnn and BERT against what people train them with now, on one and on two ranks."""
import subprocess
import sys
from dataclasses import dataclass

from process import ROOT
from study import FEWEST_REPEATS, FIRST_REPEATS, Study, Unmeasured
from table import against, median_or_none, plain

LOSS_WITHIN = 0.05  # of the last epoch, or of all steps: other weights and another order on both sides
SAME_LOSS_WITHIN, SAME_BF16_LOSS_WITHIN = 1e-4, 1e-3  # relative, of the first steps from the same weights
LOSS_DIGITS = 1e-8  # that programs print
SIZES = ("small", "base")
CHOICE_REPEATS = {"small": 4, "base": 3}
FIRST_OF_SIZE = {"small": FIRST_REPEATS, "base": FEWEST_REPEATS}
MOST_REPEATS = {"small": 10, "base": 6}
QUICK_REPEATS = 2

PEERS = {"plain": "plain PyTorch, fused AdamW", "fabric": "Fabric, fused AdamW", "trainer": "transformers' Trainer", "fabric_loop": "Fabric as its users write it: padded",
         "grouped": "PyTorch, batches of like lengths, fused AdamW", "grouped_bf16": "PyTorch, batches of like lengths, fused AdamW, bf16",
         "torch_ddp": "torch DDP, fused AdamW", "fabric_ddp": "Fabric ddp, fused AdamW", "fsdp2": "FSDP2, fused AdamW",
         "fabric_ddp_loop": "Fabric ddp as its users write it: padded", "ddp": "our ddp"}


@dataclass(frozen=True)
class Measure:
    metric: str
    words: str
    kind: str = "at most"
    target: float | None = None
    unit: str = "s"
    scale: float = 1.0
    small_alone: bool = False


@dataclass(frozen=True)
class Comparison:
    """Ours against one peer, or against the best of several: that one is chosen in repeats of its own, and then measured."""
    title: str
    ours: str
    peers: tuple
    measures: tuple
    plain: tuple = ()  # of ours alone


def step(kind="at most", target=None):
    return Measure("seconds", "time of a step", kind, target)


MEMORY = {"unit": "MB", "scale": 1e-6, "small_alone": True}
ONE_RANK = (
    Comparison("padded", "padded", ("plain", "fabric", "trainer"),
               (step(target=0.80), Measure("first_step_s", "process start to the end of the first step", target=1 / 7, small_alone=True),
                Measure("peak_bytes", "peak memory", target=0.6, **MEMORY))),
    Comparison("as started", "unpadded", ("fabric_loop",), (step("at least", 2.5),)),
    Comparison("tuned fp32", "unpadded", ("grouped",), (step("at least", 1.3),)),
    Comparison("tuned bf16", "unpadded_bf16", ("grouped_bf16",), (step("at least", 1.5),)))
STRATEGIES_ALONE = (Comparison("ddp on 1 rank", "ddp1", ("fabric",), (step(),)), Comparison("fsdp on 1 rank", "fsdp1", ("fabric",), (step(),)))
TWO_RANKS = (
    Comparison("ddp on 2 ranks", "ddp", ("torch_ddp", "fabric_ddp", "fsdp2"), (step(target=0.85),),
               (Measure("first_step_s", "start of both to the end of the first step", target=1.5, small_alone=True),)),
    Comparison("unpadded ddp on 2 ranks", "unpadded_ddp", ("fabric_ddp_loop",), (step("at least", 2.3),)),
    Comparison("fsdp on 2 ranks", "fsdp", ("fsdp2",), (step(target=0.75),)),
    Comparison("zero1 on 2 ranks", "zero1", ("ddp",), (step(target=1.25),)))


def comparisons(place, size):
    """Returns the requested ones. A step of base on two ranks takes 10 s: only if --only names it."""
    all_of_size = ONE_RANK + (STRATEGIES_ALONE + TWO_RANKS if size == "small" or place.only else ())
    return [each for each in all_of_size if place.wants(f"bert {size}, {each.title}")]


def peers_python():
    venv = subprocess.run([str(ROOT / "tests/huggingface/venv.sh"), "--peers"], stdout=subprocess.PIPE, text=True)
    if venv.returncode != 0:
        raise Unmeasured(f"tests/huggingface/venv.sh --peers: {venv.stdout.strip() or 'no environment'}")
    return venv.stdout.strip()


class Losses:
    """Do both sides compute the same? The first losses from the same weights and rows, without dropout, of all tools that are measured."""

    def __init__(self, place, size, python, wanted):
        self.size = size
        names = list(dict.fromkeys(name for each in wanted for name in (each.ours, *each.peers)))
        self.study = Study(place, f"bert_{size}_losses", "bert_losses", [f"{size}_{name}" for name in names], ["loss_1", "loss_2"],
                           "first losses from the same weights", single=True, python=python)
        self.study.run(1)

    def of(self, name):
        return [median_or_none(self.study.values(metric, f"{self.size}_{name}").values()) for metric in self.study.metrics]

    def check(self, row, ours, peer):
        """Notes how well they agree; if not, the figure does not count."""
        mine, other = self.of(ours), self.of(peer)
        if None in mine + other:
            row.wrong = "no losses to compare"
            return
        apart = max(abs(a / b - 1) for a, b in zip(mine, other))
        limit = SAME_BF16_LOSS_WITHIN if "bf16" in ours else SAME_LOSS_WITHIN
        if not apart <= limit:
            row.wrong = f"losses differ: {' and '.join(f'{loss:.4f}' for loss in mine)} against {' and '.join(f'{loss:.4f}' for loss in other)}"
            return
        row.note = f"first losses {' and '.join(f'{loss:.4f}' for loss in mine)} agree within {max(apart, LOSS_DIGITS):.1g}"


def check_training(row, study, ours, tool, told=True):
    """The losses of the measured runs themselves."""
    mine, other = (median_or_none(study.values("loss", side).values()) for side in (ours, tool))
    if told:
        row.note = f"loss {mine:.3f} against {other:.3f}"
    if not abs(mine / other - 1) <= LOSS_WITHIN and not study.place.quick and not row.wrong:
        row.wrong = f"losses {mine:.3f} and {other:.3f} differ by more than {LOSS_WITHIN:.0%}"


class Bert:
    METRICS = ("seconds", "first_step_s", "peak_bytes", "loss")

    def __init__(self, place, size, python, losses):
        self.place, self.size, self.python, self.losses = place, size, python, losses

    def study(self, comparison, peers, suffix, first, most):
        name = "_".join(["bert", self.size, *comparison.title.split(), suffix]).rstrip("_")
        tools = [f"{self.size}_{each}" for each in (comparison.ours, *peers)]
        study = Study(self.place, name, "bert", tools, list(self.METRICS), f"BERT {self.size}, {comparison.title}", python=self.python)
        study.measure(first=first, most=most, quick=QUICK_REPEATS)
        return study

    def row(self, study, comparison, measure, peer, ending="", target=None, words=""):
        key = "_".join(["bert", self.size, *comparison.title.split(), measure.metric, ending or peer])
        work = f"bert {self.size}, {comparison.title}: {measure.words}"
        row = against(study, key, work, f"{self.size}_{peer}", PEERS[peer] + words, measure.kind, target, measure.metric, measure.unit, scale=measure.scale)
        self.losses.check(row, comparison.ours, peer)
        if "unpadded" not in comparison.ours:  # else the losses are defined otherwise
            check_training(row, study, study.tools[0], f"{self.size}_{peer}", told=False)
        return row

    def measures(self, comparison):
        return [each for each in comparison.measures if not each.small_alone or self.size == "small"]

    def chosen(self, comparison):
        """({metric: the best peer}, rows of all peers), in repeats of their own."""
        if len(comparison.peers) == 1:
            return {each.metric: comparison.peers[0] for each in self.measures(comparison)}, []
        repeats = CHOICE_REPEATS[self.size]
        study = self.study(comparison, comparison.peers, "choice", repeats, repeats)
        best = {each.metric: min(comparison.peers, key=lambda peer: median_or_none(study.values(each.metric, f"{self.size}_{peer}").values()))
                for each in self.measures(comparison)}
        return best, [self.row(study, comparison, self.measures(comparison)[0], peer) for peer in comparison.peers]

    def rows(self, comparison):
        best, rows = self.chosen(comparison)
        study = self.study(comparison, dict.fromkeys(best.values()), "", FIRST_OF_SIZE[self.size], MOST_REPEATS[self.size])
        words, ending = (", the best of theirs", "best") if len(comparison.peers) > 1 else ("", "")
        rows += [self.row(study, comparison, each, best[each.metric], ending, each.target, words) for each in self.measures(comparison)]
        rows += [plain(study, f"bert_{self.size}_{comparison.ours}_{each.metric}", f"bert {self.size}, {comparison.title}: {each.words}", study.tools[0], each.metric,
                       each.unit, each.target) for each in comparison.plain if not each.small_alone or self.size == "small"]
        return rows


def attempted(place, title, rows_of):
    """Yields the rows; reports rows that cannot be measured, and continues with the others."""
    try:
        yield from rows_of()
    except (Unmeasured, SystemExit) as problem:
        place.failed.append(title)
        print(f"{title}: not measured: {problem}", file=sys.stderr, flush=True)


def bert(place):
    python = None
    for size in place.sizes or (SIZES if not place.quick else SIZES[:1]):
        wanted = comparisons(place, size)
        if not wanted:
            continue
        python = python or peers_python()
        losses = Losses(place, size, python, wanted)
        for comparison in wanted:
            runner = Bert(place, size, python, losses)
            yield from attempted(place, f"bert {size}, {comparison.title}", lambda: runner.rows(comparison))


def features_title(threads):
    return f"features of SQuAD, {threads} {'thread' if threads == 1 else 'threads'}"


def features(place):
    for threads in (1, 2):
        title = features_title(threads)
        if place.wants(title):
            yield from attempted(place, title, lambda: features_row(place, threads, title))


def features_row(place, threads, title):
    ours, theirs = f"ours_{threads}", f"encode_batch_{threads}"
    study = Study(place, f"features_{threads}", "features", [ours, theirs], ["seconds", "features", "peak_bytes"], title, python=peers_python())
    study.measure(most=MOST_REPEATS["small"], quick=QUICK_REPEATS)
    row = against(study, f"features_{threads}", f"{title}: features/s of the whole command", theirs, "tokenizers' encode_batch alone", "at least", 5)
    counts = [median_or_none(study.values("features", tool).values()) for tool in (ours, theirs)]
    row.note = f"{counts[0]:,.0f} features"
    if counts[0] != counts[1]:
        row.wrong = f"{counts[0]:,.0f} and {counts[1]:,.0f} features"
    return [row]


MNIST_PEERS = {"fabric_torchvision": "Fabric, torchvision's MNIST and transforms in a DataLoader", "fabric_indexed": "Fabric, indexed tensors",
               "fabric_ddp": "Fabric ddp, indexed tensors"}
# title, ours, peer: target. Epochs are of 8,000 samples.
MNIST = (("mnist_rnn", "ours", {"fabric_torchvision": 1.4, "fabric_indexed": 1.2}), ("mnist_rnn, ddp on 1 rank", "ddp1", {"fabric_indexed": None}),
         ("mnist_rnn, fsdp on 1 rank", "fsdp1", {"fabric_indexed": None}), ("mnist_rnn, ddp on 2 ranks", "ddp", {"fabric_ddp": None}))


def mnist_rows(place, title, ours, peers):
    study = Study(place, f"mnist_{ours}", "mnist", [ours, *peers], ["seconds", "loss", "first_step_s", "peak_bytes"], f"{title}, batch 64, hidden 64")
    study.measure(most=MOST_REPEATS["small"], quick=QUICK_REPEATS)
    rows = []
    for peer, target in peers.items():
        rows.append(against(study, f"mnist_{ours}_{peer}", f"{title}: time of training", peer, MNIST_PEERS[peer], "at least", target))
    last = list(peers)[-1]
    rows.append(against(study, f"mnist_{ours}_first_step", f"{title}: start to the end of the first step", last, MNIST_PEERS[last], "at least", None, "first_step_s"))
    for row, peer in zip(rows, (*peers, last)):
        check_training(row, study, ours, peer)
    return rows


def mnist(place):
    if place.sizes and not place.only:  # sizes are of BERT
        return
    for title, ours, peers in MNIST:
        if place.wants(title):
            yield from attempted(place, title, lambda: mnist_rows(place, title, ours, peers))


def trainers(place):
    yield from mnist(place)
    yield from features(place)
    yield from bert(place)
