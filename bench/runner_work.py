"""What hpcbench costs by itself: planning, indexing, doing nothing, telling, reporting."""
import statistics
import subprocess

from fixtures import done_study, store_bench
from process import HPCBENCH, study_text, timed

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
    seconds = float(subprocess.run([store_bench(), str(runs), str(database)], capture_output=True, text=True, check=True).stdout)
    return seconds, 0


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


def measure(work, data, quick, repeat):
    """name -> value: seconds of each size, peak bytes of the largest, and what a further run costs between the larger two sizes, as a
    multiple of what it costs between the smaller two. Short times are medians of several."""
    sizes = QUICK_SIZES if quick else SIZES
    seconds, peak_bytes = [], 0
    for runs, times in zip(sizes, (9, 5, 1) if not quick else (3, 3, 1)):
        took = [WORKS[work](data, runs) for _ in range(times)]
        seconds.append(statistics.median(each[0] for each in took))
        peak_bytes = max(peak_bytes, *(each[1] for each in took))
    lower, upper = ((seconds[k + 1] - seconds[k]) / (sizes[k + 1] - sizes[k]) for k in (0, 1))
    found = {f"seconds_{runs}": value for runs, value in zip(sizes, seconds)}
    return found | {"peak_bytes": peak_bytes, "marginal": upper / lower if lower > 0 else 1.0}
