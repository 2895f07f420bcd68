"""Frames of what the index and `hpcbench report` have."""
from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import pathlib
import sqlite3
import urllib.parse
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Union

from hpcbench._program import ProgramError, call

if TYPE_CHECKING:
    import pandas as pd

Path = Union[str, "os.PathLike[str]"]
SCHEMA = 5  # of the index: docs/database.md
# Columns of the index that a run has besides its axes, metrics and facts.
RUN_COLUMNS = ("experiment", "config_id", "run", "attempt", "state", "gpus", "executor", "job", "node", "exit_code", "signal", "reason",
               "started_unix_s", "finished_unix_s", "path")
# Fields of a row of the report that are plain numbers or words.
ROW_COLUMNS = ("gpus", "n", "median", "q1", "q3", "min", "max", "ratio_of_medians", "efficiency", "karp_flatt", "train_loss",
               "validation_loss", "censored", "censored_at_s", "speedup_below", "is_baseline", "source", "statistic", "samples_per_s", "tokens_per_s",
               "gpu_hours", "mfu", "imbalance", "best_epoch", "generalisation_gap", "overfits_from", "time_to_target_s", "reached_target")

# Everything in a row of a table besides its axes and columns with a colon in their names.
REPORT_COLUMNS = {"config_id", *ROW_COLUMNS, "speedup", *(f"{name}_{end}" for name in ("median", "speedup") for end in ("low", "high", "coverage"))}
TEXT_COLUMNS = {"config_id", "is_baseline", "source", "statistic"}  # that are no numbers
COUNT_COLUMNS = {"gpus", "n", "censored", "reached_target"}  # whole numbers of every row; all other numbers are doubles
NUMBER_COLUMNS = ("exit_code", "signal", "started_unix_s", "finished_unix_s")  # of a run, absent in some


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frames need pandas: pip install pandas") from error
    return pandas


def _objects(texts: Iterable[str]) -> list[dict[str, Any]]:
    """JSON objects; numbers as numbers. All at once: a million of them take seconds, one by one three times as long."""
    found: list[dict[str, Any]] = json.loads(f"[{','.join(texts)}]")
    return found


def _alike(texts: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same for texts of which many are equal, as axes of repeats are: each is read once. Second: the distinct ones."""
    distinct = dict.fromkeys(texts)
    found = dict(zip(distinct, _objects(distinct)))
    return [found[text] for text in texts], list(found.values())


def _columns(cursor: sqlite3.Cursor) -> list[list[Any]]:
    """Returns the result of a query, by column. In parts: a million rows at once take 1.5 times as long."""
    columns: list[list[Any]] = [[] for _ in cursor.description]
    while rows := cursor.fetchmany(1000):
        for column, values in zip(columns, zip(*rows)):
            column += values
    return columns


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of new objects, none of which is garbage: the collector would check all of them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _index(results: Path, experiment: str | None) -> Iterator[tuple[sqlite3.Connection, str, tuple[str, ...]]]:
    """The index, brought up to date by the program, and the condition that chooses one experiment or all."""
    folder = pathlib.Path(results)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    call("ls", "--results", str(folder))
    path = folder / "hpcbench.db"
    if not path.exists():
        if any(folder.glob("*/*/*/a*/run.json")):
            raise PermissionError(f"{folder} has no index, and none can be written there: `hpcbench db rebuild` by its owner makes one")
        raise FileNotFoundError(f"{folder} holds no results of hpcbench")
    connection = sqlite3.connect(f"file:{urllib.parse.quote(str(path.absolute()))}?mode=ro", uri=True, timeout=30)  # as long as writers wait
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA:
            raise RuntimeError(f"{path} has the schema {version}, and this package reads {SCHEMA}: install the hpcbench that made it")
        yield (connection, "WHERE experiment = ?", (experiment,)) if experiment is not None else (connection, "", ())
    finally:
        connection.close()


def _exact(pandas: Any, values: list[Any]) -> Any:
    """The values of an axis or fact for a frame. Where pandas would make doubles of integers that these cannot hold, because decimals
    stand beside them or some are absent, each stays the number that it is."""
    kinds = set(map(type, values))
    if int not in kinds or not kinds & {float, type(None)} or not any(type(value) is int and abs(value) > 2**53 for value in values):
        return values
    return pandas.Series([math.nan if value is None else value for value in values], dtype=object)


def _spread(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Names in the order of their first appearance."""
    return list(dict.fromkeys(name for names in dict.fromkeys(tuple(row) for row in rows) for name in names))


def _units(parts: Iterable[dict[str, str]]) -> dict[str, str]:
    """The unit of each metric; ` | ` between those of several studies."""
    found: dict[str, list[str]] = {}
    for name, unit in dict.fromkeys(pair for part in parts for pair in part.items()):
        found.setdefault(name, []).append(unit)
    return {name: " | ".join(each) for name, each in found.items()}


def _named(name: str, taken: set[str], prefix: str) -> str:
    """The name of a column; one that is taken gets its kind before it, as `axis:n`."""
    return name if name not in taken else f"{prefix}:{name}"


@_no_collection()
def runs(results: Path = "results", experiment: str | None = None, *, facts: bool = False) -> pd.DataFrame:
    """One row a run: the attempt that counts; imported runs too, warm-ups not.

    Columns: `experiment`, `config_id`, `run`, `attempt`, `state`, the axes, then the metrics, and with `facts` what else is known as
    `fact:NAME`. A metric that a run does not have is NaN. `attrs["units"]` has the unit of each metric whose name does not contain it.
    """
    pandas = _pandas()
    query = ("SELECT experiment, config_id, printf('%s%02d', kind, number), attempt, state, gpus, executor, job, node, exit_code, signal, reason, "
             f"started_unix_s, finished_unix_s, path, axes, metrics, units, {'facts' if facts else 'NULL'} FROM run {{}} "
             "ORDER BY experiment, config_id, kind, number")
    with _index(results, experiment) as (connection, condition, values):
        columns = _columns(connection.execute(query.format(condition), values))
    (axes, distinct_axes), metrics, (_, units) = _alike(columns[15]), _objects(columns[16]), _alike(columns[17])
    known = _objects(columns[18]) if facts else []
    data: dict[str, Any] = dict(zip(RUN_COLUMNS, columns))
    names = {prefix: _spread(parts) for prefix, parts in (("axis", distinct_axes), ("metric", metrics), ("fact", known))}
    for prefix, parts in (("axis", axes), ("metric", metrics), ("fact", known)):
        for name in names[prefix]:
            column = f"fact:{name}" if prefix == "fact" else _named(name, set(data), prefix)
            values_of = [part.get(name) for part in parts]
            data[column] = values_of if prefix == "metric" else _exact(pandas, values_of)
    # Grouping columns of one kind takes a second for a million runs. With facts there are so many columns that pandas would warn.
    frame: pd.DataFrame = pandas.DataFrame(data, copy=facts)
    measured = [f"metric:{name}" if f"metric:{name}" in frame else name for name in names["metric"]]
    for column in NUMBER_COLUMNS:
        frame[column] = pandas.to_numeric(frame[column])  # a column without any number would hold None
    for column in measured:
        frame[column] = frame[column].astype("float64")  # whole numbers, too
    frame.attrs["units"] = _units(units)
    frame.attrs["axes"] = names["axis"]
    return frame


@_no_collection()
def series(results: Path = "results", experiment: str | None = None, *, name: str | None = None) -> pd.DataFrame:
    """One row a point of a series of a run: losses by epoch, times by rank. `name` chooses one series.

    Columns: `experiment`, `config_id`, `run`, the axes, `name`, `index`, `value`.
    """
    pandas = _pandas()
    query = ("SELECT run.experiment, run.config_id, printf('%s%02d', run.kind, run.number), run.axes, series.name, series.points FROM run "
             "JOIN series ON series.id = run.id {} ORDER BY run.experiment, run.config_id, run.kind, run.number, series.name")
    with _index(results, experiment) as (connection, condition, values):
        condition = condition.replace("experiment", "run.experiment")
        if name is not None:
            condition, values = (f"{condition} AND" if condition else "WHERE") + " series.name = ?", (*values, name)
        rows = connection.execute(query.format(condition), values).fetchall()
    axes, distinct_axes = _alike([row[3] for row in rows])
    points: list[Any] = json.loads(f"[{','.join(row[5] for row in rows)}]")
    names = _spread(distinct_axes)
    data: dict[str, list[Any]] = {"experiment": [], "config_id": [], "run": []}
    columns = {axis: _named(axis, {*data, "name", "index", "value"}, "axis") for axis in names}
    data.update({columns[axis]: [] for axis in names}, name=[], index=[], value=[])
    for row, point_axes, of_run in zip(rows, axes, points):
        for key, value in (("experiment", row[0]), ("config_id", row[1]), ("run", row[2]), ("name", row[4])):
            data[key] += [value] * len(of_run)
        for axis in names:
            data[columns[axis]] += [point_axes.get(axis)] * len(of_run)
        data["index"] += [point[0] for point in of_run]
        data["value"] += [point[1] for point in of_run]
    frame: pd.DataFrame = pandas.DataFrame({**data, **{columns[axis]: _exact(pandas, data[columns[axis]]) for axis in names}})
    frame["value"] = frame["value"].astype("float64")
    frame.attrs["axes"] = names
    return frame


def table(study: Path | None = None, *options: str, results: Path | None = None, metric: str | None = None) -> pd.DataFrame:
    """The rows of `hpcbench report`: a file, the name of a study, or what was run last; `options` as on its command line.
    Without `results` it is the folder `results`, or the archive of `--archive`.

    Columns: the axes and derived values, `n`, `median` with its exact interval (`median_low`, `median_high`, `median_coverage`), `speedup`
    with its own, `efficiency` and whatever else the JSON of the report has, and `outcome:NAME` counts. `attrs` has the metric, its unit, the
    requested confidence, warnings and notes.
    """
    pandas = _pandas()
    arguments = [] if study is None else [str(study)]
    for option, value in (("--results", results), ("--metric", metric)):
        arguments += [] if value is None else [option, str(value)]
    printed = call("report", *arguments, "--format", "json", *options, accept=(0, 1))
    try:
        report = json.loads(printed)
    except json.JSONDecodeError as error:
        raise ProgramError(f"hpcbench report {' '.join(options)} has printed no table: leave out -o, --help and --version") from error
    rows = []
    for row in report["rows"]:
        flat: dict[str, Any] = {"config_id": row["config_id"]}
        for kind in ("axes", "derived"):
            for name, value in row.get(kind, {}).items():
                flat[_named(name, REPORT_COLUMNS, "axis")] = value
        for name in ROW_COLUMNS:
            if name not in row:  # gpus and gpu_hours of a study without GPUs
                continue
            flat[name] = row[name]
            if name == "median":
                flat.update(_interval("median", row["interval"]))
                speedup = row["speedup"]
                flat["speedup"] = None if speedup is None else speedup["value"]
                flat.update(_interval("speedup", speedup))
        flat.update({f"median:{name}": value for name, value in row["metrics"].items()})
        flat.update({f"phase:{name}": value for name, value in row["phases"].items()})
        flat.update({f"outcome:{name}": count for name, count in row["outcomes"].items()})
        rows.append(flat)
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=_spread(rows) or None)
    axes = {_named(name, REPORT_COLUMNS, "axis") for row in report["rows"] for kind in ("axes", "derived") for name in row.get(kind, {})}
    for name in frame.columns:
        if str(name).startswith("outcome:"):
            frame[name] = frame[name].fillna(0).astype("int64")
        elif name in axes:
            frame[name] = _exact(pandas, [row.get(name) for row in rows])
        elif name not in TEXT_COLUMNS and name not in COUNT_COLUMNS:
            frame[name] = frame[name].astype("float64")  # a column without any number would hold None, one of whole numbers integers
    frame.attrs.update({key: report[key] for key in ("experiment", "metric", "unit", "confidence", "baseline", "notes")})
    frame.attrs["units"] = {report["metric"]: report["unit"]} if report["unit"] else {}
    frame.attrs["warnings"] = [f"{warning['code']}: {warning['seen']}" for warning in report["warnings"]]
    return frame


def _interval(name: str, interval: dict[str, Any] | None) -> dict[str, Any]:
    found = interval or {}
    return {f"{name}_{key}": found.get(key) for key in ("low", "high", "coverage")}
