"""Makes the folders of finished studies, on which `run`, `status` and `report` are measured."""
import json
import os

from process import HPCBENCH, PROGRAMS, quietly, study_text

REPEATS = 10
METRICS = 50
CLAIM = "token 0000000000000000\njob 1\nhost h\nboot_id b\npid 1\nstart_ticks 1\n"
BATCH = "0000000000000000"
LINKS = 30_000  # of one file: ext4 allows 65,000
VARIANTS = 7  # kinds of finished.json and stdout.log: the files are links to these


def link_to(cache, name, text):
    """A file that many folders share: a link costs less than a file, and reading it costs the same."""
    path = cache / name
    if not path.exists():
        path.write_text(text)
    return path


def finished_text(variant):
    process = {"rank": 0, "exit_code": 0, "signal": None, "wall_s": 1.0, "user_s": 0.5, "sys_s": 0.1, "max_rss_bytes": 1000000}
    return json.dumps({"schema": 1, "host": "h", "finished_unix_s": 1_700_000_005, "wall_s": 1 + variant / 10, "exit_code": 0, "signal": None,
                       "processes": [process], "files": {}})


def log_text(variant, metrics):
    return "".join(f"m{number} {1 + number + variant / 10:.4f}\n" for number in range(metrics))


def metrics_text(metrics):
    lines = "".join(f"  - {{name: m{number}, file: stdout.log, pattern: '^m{number} ([0-9.]+)$', unit: s}}\n" for number in range(metrics))
    return f"metrics:\n{lines}" if metrics else ""


def end_attempt(attempt, cache, number, metrics):
    begin_s = 1_700_000_000 + 10 * number
    variant, group = number % VARIANTS, number // LINKS
    os.link(link_to(cache, f"claim{group}", CLAIM), attempt / "claim")
    os.link(link_to(cache, f"finished{variant}-{group}", finished_text(variant)), attempt / "finished.json")
    (attempt / "started.json").write_text(json.dumps(
        {"schema": 1, "host": "h", "boot_id": "b", "pid": 1, "started_unix_s": begin_s, "monotonic_s": 1.0, "job": "1"}))
    if metrics:
        os.link(link_to(cache, f"log{variant}-{group}", log_text(variant, metrics)), attempt / "stdout.log")


def finished_study(folder, runs, metrics=0):
    """Makes done.yaml and its results in the new folder `folder`, indexed, with nothing left to do."""
    cache = folder / "shared"
    cache.mkdir(parents=True)
    (folder / "done.yaml").write_text(study_text("done", {"a": runs // REPEATS}, REPEATS, more=metrics_text(metrics)))
    results = folder / "results/done"
    quietly([HPCBENCH, "plan", "done.yaml", "--scripts", str(results)], folder)
    keys = []
    for number, script in enumerate(sorted(results.rglob("job.sh"))):
        keys.append(str(script.parent.relative_to(results)))
        end_attempt(script.parent, cache, number, metrics)
    batch = results / "batches" / BATCH
    batch.mkdir(parents=True)
    (batch / "attempts.txt").write_text("".join(key + "\n" for key in keys))
    (batch / "submitted.json").write_text(json.dumps({"schema": 1, "jobs": {key: "1" for key in keys}}))
    quietly([HPCBENCH, "ingest"], folder)
    quietly([HPCBENCH, "run", "done.yaml"], folder)
    return folder


def fixture(data, name, make):
    """The folder `name` below `data`, made at first use; half of one is never taken for a whole."""
    folder = data / name
    if not folder.exists():
        unfinished = data / f"{name}.unfinished"
        make(unfinished)
        unfinished.rename(folder)
    return folder


def done_study(data, runs, metrics=0):
    return fixture(data, f"done-{runs}-{metrics}", lambda folder: finished_study(folder, runs, metrics))


def store_bench():
    return str(PROGRAMS / "store_bench")
