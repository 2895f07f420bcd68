"""Rows of the table: what was measured against what, the target, the verdict; as text, as Markdown, as JSON."""
import json
import math
import os
import platform
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass, field

from study import Unmeasured, is_wide

MET, NOT_MET, NONE = "met", "NOT MET", "-"


@dataclass
class Row:
    """`ratio`: what the target is held against. Of `kind` "at most": ours/theirs, or a plain value of ours (`theirs` absent); "at least": theirs/ours.
    `values`: one ratio (or value) a repeat. `low`, `high`: the interval with `coverage`, where the repeats carry one."""
    key: str
    suite: str
    work: str
    peer: str
    ours: float | None
    theirs: float | None
    unit: str
    ratio: float
    low: float | None
    high: float | None
    coverage: float | None
    values: list = field(default_factory=list)
    kind: str = "at most"
    target: float | None = None
    peak_ours_bytes: float | None = None
    peak_theirs_bytes: float | None = None
    note: str = ""
    wrong: str = ""  # why the figure does not count

    @property
    def verdict(self):
        if self.wrong:
            return self.wrong
        if self.target is None:
            return NONE
        well = self.ratio <= self.target if self.kind == "at most" else self.ratio >= self.target
        return MET if well else NOT_MET

    @property
    def resolved(self):
        return not is_wide(self.ratio, {"low": self.low, "high": self.high})

    @property
    def is_plain(self):
        return self.theirs is None

    @property
    def is_ratio(self):
        """Returns whether the figure is a ratio of two measurements in the same minutes: a peer's and ours, or ours of two sizes. Other figures vary with the machine's speed."""
        return not self.is_plain or self.unit == "x"


def median_or_none(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def against(study, key, work, tool, peer, kind="at most", target=None, metric="seconds", unit="s", note="", scale=1.0):
    """Returns the row of `tool` against ours. hpcbench gives T_ours/T_theirs; "at least" needs its inverse."""
    ours_tool = study.tools[0]
    ours, theirs = study.values(metric, ours_tool), study.values(metric, tool)
    blocks = [run for run in ours if run in theirs]
    estimate = study.speedup(metric, tool)
    if estimate is None:
        raise Unmeasured(f"{study.name}: no ratio of {tool}")
    ratio, low, high = estimate["value"], estimate["low"], estimate["high"]
    values = [ours[run] / theirs[run] for run in blocks]
    if kind == "at least":
        ratio, low, high = 1 / ratio, 1 / high if high else None, 1 / low if low else None
        values = [1 / value for value in values]
    peaks = {side: median_or_none(study.values("peak_bytes", side).values()) if "peak_bytes" in study.metrics else None
             for side in (ours_tool, tool)}
    return Row(key, study.suite, work, peer, scale * statistics.median(ours.values()), scale * statistics.median(theirs.values()), unit, ratio, low, high,
               estimate["coverage"], values, kind, target, peaks[ours_tool], peaks[tool], note)


def plain(study, key, work, tool, metric, unit, target=None, scale=1.0, note=""):
    """The row of one of our values against a bound of its own."""
    row = study.report(metric)[tool]
    interval = row["interval"] or {"low": None, "high": None, "coverage": None}
    peak = median_or_none(study.values("peak_bytes", tool).values()) if "peak_bytes" in study.metrics and metric != "peak_bytes" else None
    low, high = (value * scale if value is not None else None for value in (interval["low"], interval["high"]))
    return Row(key, study.suite, work, "", row["median"] * scale, None, unit, row["median"] * scale, low, high, interval["coverage"],
               [value * scale for value in study.values(metric, tool).values()], "at most", target, peak, None, note)


def digits(value):
    if value is None:
        return "-"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}" if abs(value) < 1000 else f"{value:.0f}"


def megabytes(value):
    return "-" if value is None else f"{value / 1e6:.0f}"


COLUMNS = ("work", "against", "ours", "theirs", "ratio", "interval", "n", "target", "verdict", "MB ours", "MB theirs")


def cells(row):
    ratio = digits(row.ratio) + ("" if not row.is_plain else f" {row.unit}".rstrip())
    interval = "-" if row.low is None else f"[{digits(row.low)}, {digits(row.high)}]"
    target = "-" if row.target is None else f"{row.kind} {row.target:.3g}"
    verdict = row.verdict + ("" if row.resolved else ", unresolved")
    with_unit = [digits(value) + f" {row.unit}" if value is not None and not row.is_plain else "-" for value in (row.ours, row.theirs)]
    return [row.work + (f" ({row.note})" if row.note else ""), row.peer or "-", *with_unit, ratio, interval, str(len(row.values)), target, verdict,
            megabytes(row.peak_ours_bytes), megabytes(row.peak_theirs_bytes)]


def as_text(rows):
    lines = [COLUMNS] + [cells(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def as_markdown(rows):
    lines = [COLUMNS, ["---"] * len(COLUMNS)] + [[cell.replace("|", "\\|") for cell in cells(row)] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def first_match(path, name):
    try:
        with open(path) as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(name)), "unknown")
    except OSError:
        return "unknown"


def processor():
    """Returns the processor's name, which may be vague, and its widest vectors, on which its rate of multiplications depends."""
    flags = first_match("/proc/cpuinfo", "flags").split()
    widest = next((f" ({words})" for flag, words in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return first_match("/proc/cpuinfo", "model name") + widest


def this_machine(root):
    commit = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True)
    memory_kib = first_match("/proc/meminfo", "MemTotal").split()[0]
    return {"processor": processor(), "cores": os.cpu_count(),
            "memory_gib": round(int(memory_kib) / 2**20) if memory_kib.isdigit() else None, "kernel": platform.release(),
            "commit": commit.stdout.strip() or "unknown", "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()), "load_before": os.getloadavg()[0]}


def machine_line(machine):
    """One line, or of tables put together one for each with what it measured."""
    if "parts" in machine:
        return "\n\n".join(f"{', '.join(suites)}: {machine_line(part)}" for suites, part in machine["parts"])
    load = f"load {machine['load_before']:.1f} before, {machine.get('load_after', math.nan):.1f} after"
    more = "".join(f"; continued {each['date']} UTC at load {each['load_before']:.1f}" for each in machine.get("resumed", []))
    more += "; NOT WHOLE: it was cut off" if machine.get("incomplete") else ""
    return (f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}; commit {machine['commit']}, "
            f"{machine['date']} UTC; {load}{more}" + ("; --quick: resolves nothing" if machine.get("quick") else ""))


def merge(tables):
    """(machine, rows, quick) of several tables as load() gives them: of rows with the same key the last one's, in the first one's place."""
    if len(tables) == 1:
        return tables[0]
    rows, owners = {}, {}
    for place, (_, of_table, _) in enumerate(tables):
        for row in of_table:
            rows[row.key], owners[row.key] = row, place
    parts = []
    for place, (machine, _, quick) in enumerate(tables):
        suites = list(dict.fromkeys(row.suite for key, row in rows.items() if owners[key] == place))
        if "parts" in machine:
            parts += [[names, part] for names, part in machine["parts"] if suites]
        elif suites:
            parts.append([suites, machine | ({"quick": True} if quick else {})])
    return {"parts": parts}, list(rows.values()), any(quick for *_, quick in tables)


def as_dicts(rows):
    return [asdict(row) for row in rows]


def write(path, told):
    """The whole file or nothing of it, whenever this is cut off."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with open(unfinished, "w") as file:
            file.write(json.dumps({"schema": 1, **told}, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as problem:
        unfinished.unlink(missing_ok=True)
        raise SystemExit(f"error: cannot write {path}: {problem.strerror}") from None


def read(path):
    try:
        told = json.loads(path.read_text())
    except OSError as problem:
        raise SystemExit(f"error: cannot read {path}: {problem.strerror}") from None
    except ValueError:
        told = None
    if not isinstance(told, dict) or told.get("schema") != 1:
        raise SystemExit(f"error: {path} is no table of bench/run.sh")
    return told


def save(path, machine, rows, quick):
    write(path, {"complete": True, "machine": machine, "quick": quick, "rows": as_dicts(rows)})


def load(path):
    """Returns (machine, rows, quick); for an unfinished table `machine` states it."""
    told = read(path)
    machine = told["machine"] | ({} if told.get("complete", True) else {"incomplete": True})
    return machine, [Row(**row) for row in told["rows"]], told["quick"]


BEGIN, END = "<!-- table of bench/run.sh: begin -->", "<!-- table of bench/run.sh: end -->"


def put_into(path, machine, rows, quick):
    """Replaces what stands between the marks of a document."""
    text = path.read_text()
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        raise SystemExit(f"error: {path} has no lines `{BEGIN}` and `{END}`")
    words = machine_line(machine) + (". Of `--quick`: it resolves nothing" if quick and "parts" not in machine else "") + "."
    path.write_text(f"{text[:begin]}{BEGIN}\n{words}\n\n{as_markdown(rows)}\n{text[end:]}")
