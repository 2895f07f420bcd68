"""The rows of the table: which study measures them, what they are held against."""
import sys
import unittest

import rested_disk
from report_work import FORMATS, formats_here
from runner_work import QUICK_SIZES, SIZES
from study import FEWEST_REPEATS, Study
from suites_trainers import trainers
from table import against, digits, plain

MARGINAL_MOST = 1.2
FEW_MORE = 2  # repeats at a time, where one takes minutes
MOST_SLURM, QUICK_SLURM, MOST_SLURM_CPU_S, MOST_SLURM_RATIO = 10, 2, 5, 1.1
MOST_QUEUED, MOST_BLOCKS_RATIO, MOST_STEP_RATIO = 12, 0.8, 1.3
WORKS = (("plan", "plan", "expand"), ("index", "index", "store"), ("noop", "run, nothing to do", "no-op"), ("status", "status", "status"),
         ("report", "report", "report"))


def runner(place):
    """Expanding, storing, no-op, status, report; what each costs a run as studies grow."""
    sizes = QUICK_SIZES if place.quick else SIZES
    metrics = [f"seconds_{sizes[-1]}", "marginal", "marginal_cpu", *(f"seconds_{runs}" for runs in sizes[:-1]), "peak_bytes"]
    study = Study(place, "runner", "runner", [name for name, *_ in WORKS], metrics, "what hpcbench costs by itself", single=True)
    study.measure(decisive=metrics[:2])
    most_s = {"noop": 1.0} if not place.quick else {}
    rows = []
    for name, words, _ in WORKS:
        for runs in sizes:
            target = most_s.get(name) if runs == sizes[-1] else None
            rows.append(plain(study, f"runner_{name}_{runs}", f"{words}: {runs:,} runs", name, f"seconds_{runs}", "s", target))
        rows.append(plain(study, f"runner_{name}_marginal", f"{words}: cost of a further run, {sizes[1]:,} to {sizes[2]:,} runs over {sizes[0]:,} to {sizes[1]:,}",
                          name, "marginal", "x", MARGINAL_MOST))
        rows.append(plain(study, f"runner_{name}_marginal_cpu", f"{words}: the same of CPU time, without waiting", name, "marginal_cpu", "x"))
        if name != "index":
            rows.append(plain(study, f"runner_{name}_peak", f"{words}: peak memory, {sizes[-1]:,} runs", name, "peak_bytes", "MB", 400, 1e-6))
    return rows


def local(place):
    """In three studies, so that what is quick and swings takes no more repeats of what is slow and does not."""
    from local_work import FEW
    if not place.quick:
        rested_disk.wait(place.folder)
    runs, few = (200, 20) if place.quick else (1_000, FEW)
    work, metrics, description = f"{runs:,} local runs of bash -c true, --slots 2", ["seconds", "peak_bytes"], f"{runs} trivial runs, two at a time"
    study = Study(place, "local", "local", ["ours", "xargs_kept", "xargs"], metrics, description)
    study.measure()
    for tool, peer in (("xargs_kept", "xargs -P2; a folder, output, time and exit code of each kept"), ("xargs", "xargs -P2 bash -c true; nothing kept")):
        yield against(study, f"local_{tool}", work, tool, peer, "at most", 1.5)
    slow = Study(place, "local_slow", "local", ["ours", "xargs_scripts", "reframe"], metrics, description)
    slow.measure()
    yield against(slow, "local_xargs_scripts", work, "xargs_scripts", "xargs -P2 on hpcbench's rendered job scripts", "at most", 1.5)
    yield against(slow, "local_reframe", work, "reframe", "ReFrame, 2 jobs", "at least", 12, note=f"line through 1 and {few} runs")
    # A repeat takes minutes; in comparison, measuring ours three times takes no noticeable time.
    with_jube = Study(place, "local_jube", "local", ["ours_thrice", "jube"], metrics, f"{runs} trivial runs by JUBE")
    with_jube.measure(first=FEWEST_REPEATS, more=FEW_MORE)
    yield against(with_jube, "local_jube", work, "jube", "JUBE, procs=2", "at least", 40, note="ours: medians of 3")


def reports(place):
    from report_work import METRICS, QUICK_RUNS, RUNS
    names = [*formats_here(), "patterns"]
    study = Study(place, "reports", "reports", names, ["seconds", "peak_bytes"], "reports on many runs", single=True)
    study.measure()
    runs = QUICK_RUNS if place.quick else RUNS
    rows = []
    for name in names:
        words = f"report --format {name}: {runs:,} runs x {METRICS} metrics" if name in FORMATS else f"ingest of a log of {100_000 if place.quick else 1_000_000:,} lines by pattern"
        most_s = 1.0 if name != "html" else None  # the target is about the formats of text
        rows.append(plain(study, f"reports_{name}", words, name, "seconds", "s", most_s))
        rows.append(plain(study, f"reports_{name}_peak", words + ": peak memory", name, "peak_bytes", "MB", 500 if most_s else None, 1e-6))
    return rows


def every(row, most):
    """A bound that no repeat may exceed, not only the median."""
    worst = max(row.values)
    if worst > most and not row.wrong:
        row.wrong = f"NOT MET in one repeat: {digits(worst)}"
    return row


def measured_on_cluster(place, studies):
    """Measures them on one cluster; False, with the reason printed, where none can be started."""
    import slurm_work
    try:
        with slurm_work.cluster_for(place.data, place.quick):
            for study in studies:
                study.measure(first=FEWEST_REPEATS, most=MOST_SLURM, quick=QUICK_SLURM, more=FEW_MORE)
    except unittest.SkipTest as reason:
        print(f"{studies[0].name}: skipped: {reason}", file=sys.stderr)
        return False
    return True


def slurm(place):
    import slurm_work
    runs = slurm_work.runs_of(place.quick)
    study = Study(place, "slurm", "slurm", ["ours", "by_hand"], ["seconds", "cpu_s", "sbatch", "squeue_per_s", "peak_bytes"], f"{runs} runs on Slurm")
    if not measured_on_cluster(place, [study]):
        return
    work = f"{runs:,} runs on Slurm"
    yield every(plain(study, "slurm_sbatch", f"{work}: calls of sbatch", "ours", "sbatch", "", 1), 1)
    yield every(plain(study, "slurm_squeue", f"{work}: calls of squeue a second, beyond the first {slurm_work.CALLS_BEFORE}", "ours", "squeue_per_s", "", 1), 1)
    yield every(plain(study, "slurm_cpu", f"{work}: CPU time of hpcbench and its tools", "ours", "cpu_s", "s", MOST_SLURM_CPU_S), MOST_SLURM_CPU_S)
    yield against(study, "slurm_time", f"{work}: time until all has ended", "by_hand", "`srun true` in an array by hand", "at most", MOST_SLURM_RATIO)


def blocks(place):
    """Blocks beside an array of as many elements, and an attempt in a block beside a bare step, in turn on one cluster."""
    import blocks_work
    import slurm_work
    runs, steps = slurm_work.runs_of(place.quick), blocks_work.steps_of(place.quick)
    study = Study(place, "blocks", "blocks", ["ours", "by_hand"], ["seconds", "sbatch", "queued", "peak_bytes"], f"{runs} runs in blocks")
    of_step = Study(place, "blocks_step", "blocks", ["ours_step", "bare_step"], ["seconds_per_step"], f"a job of {steps} steps")
    if not measured_on_cluster(place, [study, of_step]):
        return
    work = f"{runs:,} runs in {blocks_work.BLOCKS} blocks on Slurm"
    yield every(plain(study, "blocks_sbatch", f"{work}: calls of sbatch", "ours", "sbatch", "", 1), 1)
    yield every(plain(study, "blocks_queued", f"{work}: most jobs in the queue", "ours", "queued", "", MOST_QUEUED), MOST_QUEUED)
    yield against(study, "blocks_time", f"{work}: time until all has ended", "by_hand", "`srun true` in an array by hand", "at most", MOST_BLOCKS_RATIO)
    yield against(of_step, "blocks_step", f"an attempt of {steps} in a block", "bare_step", f"a bare `srun true`, {steps} in a job", "at most", MOST_STEP_RATIO,
                  metric="seconds_per_step")


def roofs(place):
    """Yields the bounds of the figures above: they have no targets, because they belong to the machine."""
    names = {"spawn": ("1,000 processes `bash -c true`, two at a time, by a plain loop", "s"),
             "kept": ("the same, each by a process of its own that leaves the folders and files that hpcbench keeps of a run", "s"),
             "durable": ("1,000 files written, synced and renamed one after another", "s"),
             "insert": ("100,000 rows into SQLite, one transaction", "s"),
             "product": ("10^12 operations of a product of 2048 x 2048 matrices, fp32, 2 threads", "s")}
    study = Study(place, "roofs", "roofs", list(names), ["seconds"], "bounds of this machine", single=True)
    study.measure()
    return [plain(study, f"roofs_{tool}", words, tool, "seconds", unit) for tool, (words, unit) in names.items()]


# In the order of measurement: suites that make few files first, so that the disk has rested when `local` begins.
SUITES = {"trainers": trainers, "roofs": roofs, "local": local, "runner": runner, "reports": reports, "slurm": slurm, "blocks": blocks}
