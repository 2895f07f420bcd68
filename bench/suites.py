"""The rows of the table: which study measures them, what they are held against."""
import json
import pathlib
import subprocess
import sys
import tempfile

from process import BENCH, plain_environment
from report_work import FORMATS, formats_here
from runner_work import QUICK_SIZES, SIZES
from study import Study
from suites_trainers import trainers
from table import Row, against, median_or_none, plain

MARGINAL_MOST = 1.2
SKIPPED = 77
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
    from local_work import FEW
    runs, few = (200, 20) if place.quick else (1_000, FEW)
    tools = {"ours": "", "xargs_kept": "xargs -P2; a folder, output, time and exit code of each kept", "xargs_scripts": "xargs -P2 on hpcbench's rendered job scripts",
             "xargs": "xargs -P2 bash -c true; nothing kept", "reframe": "ReFrame, 2 jobs"}
    study = Study(place, "local", "local", list(tools), ["seconds", "peak_bytes"], f"{runs} trivial runs, two at a time")
    study.measure()
    # By itself: it takes minutes.
    with_jube = Study(place, "local_jube", "local", ["ours", "jube"], ["seconds", "peak_bytes"], f"{runs} trivial runs by JUBE")
    with_jube.measure()
    work = f"{runs:,} local runs of bash -c true, --slots 2"
    scaled = f"line through 1 and {few} runs"
    rows = [against(study, f"local_{tool}", work, tool, tools[tool], kind, target, note=note) for tool, kind, target, note in (
        ("xargs_kept", "at most", 1.5, ""), ("xargs_scripts", "at most", 1.5, ""), ("xargs", "at most", 1.5, ""), ("reframe", "at least", 12, scaled))]
    return [*rows, against(with_jube, "local_jube", work, "jube", "JUBE, procs=2", "at least", 40)]


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


def rows_of_script(place, script, suite):
    """The rows of a comparison that keeps its own rounds; its words go to the terminal as they come. None where it is skipped."""
    with tempfile.TemporaryDirectory(dir=place.folder) as folder:
        path = pathlib.Path(folder) / "rows.json"
        command = [sys.executable, str(script), "--json", str(path), *(["--quick"] if place.quick else [])]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=plain_environment())  # 1: a bound is not met, as the rows say
        if done.returncode == SKIPPED:
            return []
        if not path.exists():
            raise SystemExit(f"error: {' '.join(command)} wrote no rows")
        return [row_of_script(suite, told) for told in json.loads(path.read_text())]


def row_of_script(suite, told):
    ratios = told["ratios"]
    middle = told.get("value", median_or_none(ratios))
    key = "_".join([suite, told["row"], told["measure"], told["peer"] or ""]).replace(" ", "-").replace(",", "")
    return Row(key, suite, f"{told['row']}: {told['measure']}", told["peer"] or "", told["ours"], told["theirs"], told.get("unit", ""), middle,
               min(ratios), max(ratios), 1 - 2.0 ** (1 - len(ratios)) if len(ratios) > 1 else None, ratios, told["sense"], told["bound"],
               told.get("peak_ours"), told.get("peak_theirs"))


def slurm(place):
    return rows_of_script(place, BENCH / "slurm_bench.py", "slurm")


def roofs(place):
    """What bounds the figures above: no targets, they are the machine's."""
    names = {"spawn": ("1,000 processes `bash -c true`, two at a time, by a plain loop", "s"), "durable": ("1,000 files written, synced and renamed one after another", "s"),
             "insert": ("100,000 rows into SQLite, one transaction", "s"), "product": ("10^12 operations of a product of 2048 x 2048 matrices, fp32, 2 threads", "s")}
    study = Study(place, "roofs", "roofs", list(names), ["seconds"], "bounds of this machine", single=True)
    study.measure()
    return [plain(study, f"roofs_{tool}", words, tool, "seconds", unit) for tool, (words, unit) in names.items()]


SUITES = {"runner": runner, "local": local, "reports": reports, "slurm": slurm, "trainers": trainers, "roofs": roofs}
