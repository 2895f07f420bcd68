#!/usr/bin/env python3
"""Checks that #includes go one way, as docs/architecture.md draws it: a room knows only those listed here, and holds 25 sources at most."""
import collections
import pathlib
import re
import sys

# room: the rooms and the folders of shared/ whose headers it may include, beside its own, base and words. Rooms stand in the order of the
# house: none knows one further down.
MAY_KNOW = {
    "base": set(),
    "spec": set(),
    "plan": {"spec"},
    "runfiles": set(),
    "render": {"plan", "spec"},
    "launch": {"runfiles"},
    "submit": {"render", "runfiles", "plan", "spec"},
    "submit/slurm": {"submit", "render", "runfiles"},
    "ingest": {"runfiles", "checksum"},
    "store": {"ingest"},
    "stats": set(),
    "report": {"stats", "ingest", "plan", "spec"},
    "report/warnings": {"report"},
    "report/plots": {"report"},
    "report/formats": {"report", "plan"},
    "report/comparison": {"report", "stats", "plan"},
    "study": {"spec", "plan", "render", "runfiles", "submit", "submit/slurm", "ingest", "store", "report"},
    "imports": {"study", "render", "runfiles", "submit", "ingest", "store"},
    "archive": {"study", "spec", "ingest"},
    "doctor": {"study", "submit", "render", "plan"},
    "cli": {"spec", "plan", "render", "runfiles", "launch", "submit", "submit/slurm", "ingest", "store", "stats", "report", "report/formats",
            "report/plots", "report/warnings", "report/comparison", "study", "imports", "archive", "doctor", "commandline"},
}
MOST_SOURCES = 25
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def room_of(header):
    return header.rpartition("/")[0]


def sources(folder):
    return sorted(folder.rglob("*.[ch]pp"))


def runner_violations(root):
    for path in sources(root / "runner"):
        room = path.relative_to(root / "runner").parent.as_posix()
        if room == ".":
            continue  # main.cpp
        if room not in MAY_KNOW:
            yield f"{path}: room {room} is not in MAY_KNOW"
            continue
        for header in INCLUDE.findall(path.read_text()):
            if room_of(header) not in MAY_KNOW[room] | {room, "base", "words"}:
                yield f"{path}: {room} must not know {header}"


def shared_violations(root):
    for path in sources(root / "shared"):
        for header in INCLUDE.findall(path.read_text()):
            if not (root / "shared" / header).exists():
                yield f"{path}: what is shared knows neither program: {header}"


def trainer_violations(root):
    for path in sources(root / "trainers"):
        for header in INCLUDE.findall(path.read_text()):
            if (root / "runner" / header).exists() and not (root / "trainers" / header).exists():
                yield f"{path}: the trainer shares no code with the runner: {header}"


def crowded_rooms(root):
    for top in ("runner", "trainers", "shared"):
        count = collections.Counter(path.parent for path in sources(root / top) if path.suffix == ".cpp")
        for folder, sources_there in sorted(count.items()):
            if sources_there > MOST_SOURCES:
                yield f"{folder}: {sources_there} sources; a folder has {MOST_SOURCES} at most"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = [*runner_violations(root), *shared_violations(root), *trainer_violations(root), *crowded_rooms(root)]
    print("\n".join(found) if found else "all arrows go one way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
