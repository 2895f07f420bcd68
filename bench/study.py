"""An experiment of hpcbench whose runs are measurements: repeats interleaved, until its own report shows that they suffice."""
import json
import pathlib
import re
import sys

from process import BENCH, HPCBENCH, plain_environment, quietly

# Two tables of a hundred rows can differ in one of 8 repeats (--check-against), not in one of 6, which an interval needs; 6 are for work
# that takes minutes.
FIRST_REPEATS, FEWEST_REPEATS, MORE_REPEATS, MOST_REPEATS = 8, 6, 4, 20
QUICK_REPEATS = 3
WIDE = 0.10  # half of an interval, as a share of its middle
NUMBER = "([0-9.e+-]+)"

STUDY = """experiment: {name}
description: {description}
command: [{python}, {measure}, {suite}, "{{{{tool}}}}", --data, {data}, --repeat, "{{{{repeat}}}}"{quick}]
launch: once
matrix: {{tool: [{tools}]}}
repeats: {repeats}
order: interleaved
resources: {{cpus_per_task: {threads}}}
metrics:
{metrics}
{baseline}report: {{metric: {metric}, paired: true}}
"""


def unit_of(metric):
    """hpcbench compares times alone; to its statistics bytes that are compared are like seconds."""
    return ", unit: s" if metric.startswith("seconds") or metric.endswith(("_s", "_bytes")) else ""


def succeeded(attempt):
    """`attempt`: the folder of one."""
    finished = attempt / "finished.json"
    return finished.exists() and json.loads(finished.read_text())["exit_code"] == 0


class Unmeasured(Exception):
    """A measurement that failed; its text names the file of its output."""


class Study:
    """Measurements of `tools` by measure.py SUITE. `metrics`: what it prints. The first tool is ours and the others are compared with it; with
    `single` all are ours, each for itself."""

    def __init__(self, place, name, suite, tools, metrics, description="", threads=2, single=False, python=None):
        self.place, self.name, self.suite, self.tools, self.metrics, self.description = place, name, suite, tools, metrics, description
        self.threads, self.single, self.python, self.repeats = threads, single, python or sys.executable, 0
        self.file = place.folder / f"{name}.yaml"

    def write(self, repeats):
        metrics = "\n".join(f"  - {{name: {name}, file: stdout.log, pattern: '(?m)^{name} {NUMBER}$'{unit_of(name)}}}" for name in self.metrics)
        self.file.write_text(STUDY.format(
            name=self.name, description=json.dumps(self.description or self.name), python=json.dumps(self.python),
            measure=json.dumps(str(BENCH / "measure.py")), suite=self.suite, data=json.dumps(str(self.place.data)),
            quick=", --quick" if self.place.quick else "", tools=", ".join(self.tools), repeats=repeats, threads=self.threads,
            metrics=metrics, baseline=f"baseline: {{tool: {self.tools[0]}}}\n" if not self.single else "", metric=self.metrics[0]))

    def repeats_before(self):
        """Returns the repeats of an earlier command that was interrupted."""
        found = re.search(r"^repeats: ([0-9]+)$", self.file.read_text(), re.MULTILINE) if self.file.exists() else None
        return int(found[1]) if found else 0

    def run(self, repeats):
        """Runs the missing measurements; existing ones stay. Waits for runs of an earlier command; repeats its incomplete or failed ones. Also repeats
        a measurement that fails now, once, and reports it."""
        command = "retry" if not self.repeats and (self.place.folder / "results" / self.name).exists() else "run"
        self.repeats = repeats
        self.write(repeats)
        if problem := self.failure(command):
            print(f"{self.name}: a run failed and is measured again: {self.last_words() or problem}", file=sys.stderr, flush=True)
            if problem := self.failure("retry"):
                raise Unmeasured(f"{problem}\n{self.last_words()}")

    def failure(self, command):
        """Returns the error of `hpcbench run` or `retry`; empty if all runs succeeded."""
        try:
            quietly([HPCBENCH, command, self.file.name, "--yes", "--keep-going"], self.place.folder, plain_environment(PYTHONDONTWRITEBYTECODE="1"), ends_with_us=True)
        except SystemExit as problem:
            return str(problem)
        return ""

    def last_words(self):
        """Of the measurements that failed."""
        logs = sorted(self.place.folder.glob(f"results/{self.name}/*/r*/a*/stderr.log"))
        return "\n".join(text for text in (log.read_text(errors="replace")[-600:] for log in logs if not succeeded(log.parent)) if text)[-2000:]

    def report(self, metric):
        """tool -> its row of `hpcbench report --format json`"""
        told = json.loads(quietly([HPCBENCH, "report", self.file.name, "--metric", metric, "--format", "json"], self.place.folder))
        return {row["axes"]["tool"]: row for row in told["rows"]}

    def values(self, metric, tool):
        """run name -> value"""
        return {run["run"]: run["value"] for run in self.report(metric)[tool]["runs"] if run["value"] is not None}

    def speedup(self, metric, tool):
        """Of `tool` over ours, T_ours/T_theirs, with its paired interval: {"value", "low", "high", "coverage"}."""
        return self.report(metric)[tool]["speedup"]

    def is_wide(self, metric):
        rows = self.report(metric)
        if self.single:
            intervals = [(row["median"], row["interval"]) for row in rows.values()]
        else:
            intervals = [(row["speedup"]["value"], row["speedup"]) if row["speedup"] else (1, None) for tool, row in rows.items() if tool != self.tools[0]]
        return any(is_wide(value, interval) for value, interval in intervals)

    def measure(self, decisive=None, first=FIRST_REPEATS, most=MOST_REPEATS, quick=QUICK_REPEATS, more=MORE_REPEATS):
        """`first` to `most` repeats, `more` at a time, until the intervals of `decisive` (metrics; default: the first) are within 10 %."""
        if self.place.quick:
            self.run(min(first, quick))
            return
        self.run(self.place.repeats or max(first, self.repeats_before()))
        while not self.place.repeats and self.repeats < most and any(self.is_wide(metric) for metric in decisive or self.metrics[:1]):
            self.run(min(most, self.repeats + more))


def is_wide(value, interval):
    if interval is None or interval["low"] is None:
        return True
    return interval["high"] > value * (1 + WIDE) or interval["low"] < value * (1 - WIDE)


class Wanted:
    """`only`: words, one of which is in the title of what is wanted; none: all is."""

    def __init__(self, only=()):
        self.only = tuple(only or ())

    def wants(self, title):
        return not self.only or any(word in title for word in self.only)


class Place(Wanted):
    """The folder of the studies and the settings of their measurement. `repeats`: a fixed number instead of 6 to 20. `sizes`: of BERT.
    `failed`: parts that could not be measured while others could."""

    def __init__(self, folder, quick=False, repeats=None, only=(), sizes=()):
        super().__init__(only)
        self.folder, self.quick, self.repeats, self.sizes = pathlib.Path(folder), quick, repeats, tuple(sizes or ())
        self.failed = []
        self.data = self.folder / "data"
        self.data.mkdir(parents=True, exist_ok=True)
