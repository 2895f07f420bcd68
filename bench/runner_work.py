"""Measures the cost of hpcbench itself: planning, indexing, doing nothing, showing status, reporting."""
import resource
import statistics

from fixtures import done_study, store_bench
from process import HPCBENCH, output_of, study_text, timed

SIZES = (1_000, 10_000, 100_000)
QUICK_SIZES = (300, 1_000, 10_000)


def plan(data, runs):
    folder = data / "plans"
    folder.mkdir(exist_ok=True)
    study = folder / f"plan{runs}.yaml"
    if not study.exists():
        study.write_text(study_text("big", {"a": 10, "b": runs // 10}))
    return timed([HPCBENCH, "plan", study.name, "--format", "json"], folder)


def index(data, runs):
    """The transaction alone: that one precedes every submission."""
    database = data / "index.db"
    database.unlink(missing_ok=True)
    done = output_of([store_bench(), runs, database], data)
    return float(done.text), done.peak_bytes


def on_finished(*arguments):
    def measure(data, runs):
        return timed([HPCBENCH, *arguments], done_study(data, runs))
    return measure


WORKS = {
    "plan": plan,
    "index": index,
    "noop": on_finished("run", "done.yaml"),
    "status": on_finished("status", "done.yaml", "--format", "json"),
    "report": on_finished("report", "done.yaml", "--format", "markdown"),
}
FIXED = ("noop", "status", "report")  # on a study that has ended


def cpu_now_s():
    """Of all programs that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def once(work, data, runs):
    """(seconds, peak bytes, CPU seconds)"""
    begin_s = cpu_now_s()
    seconds, peak_bytes = WORKS[work](data, runs)
    return seconds, peak_bytes, cpu_now_s() - begin_s


def marginal(sizes, values):
    """Returns the cost of one more run between the larger two sizes, as a multiple of its cost between the smaller two."""
    lower, upper = ((values[k + 1] - values[k]) / (sizes[k + 1] - sizes[k]) for k in (0, 1))
    return upper / lower if lower > 0 else 1.0


def measure(work, data, quick, repeat):
    """name -> value: seconds of each size, peak bytes of the largest, and the marginal cost by elapsed and by CPU time. Times are medians of several: of
    one alone, which shares its second with others, the mean is higher than that of a median, and only the largest size would pay for it."""
    sizes = QUICK_SIZES if quick else SIZES
    for runs in sizes:
        if work in FIXED:
            done_study(data, runs)  # not a part of the measurement
    took = {runs: [once(work, data, runs) for _ in range(times)] for runs, times in zip(sizes, (9, 5, 3) if not quick else (3, 3, 1))}
    seconds, cpu_s = ([statistics.median(each[place] for each in took[runs]) for runs in sizes] for place in (0, 2))
    found = {f"seconds_{runs}": value for runs, value in zip(sizes, seconds)}
    return found | {"peak_bytes": max(each[1] for runs in sizes for each in took[runs]), "marginal": marginal(sizes, seconds),
                    "marginal_cpu": marginal(sizes, cpu_s)}
