#!/usr/bin/env python3
"""Checks that #includes go one way, as docs/architecture.md draws it: a room knows only those listed here, and no function
has more than 60 lines. Also lists folders with many sources, which is no error."""
import collections
import pathlib
import re
import sys

# module: the modules and the folders of shared/ whose headers it may include, besides its own, base and words. No module knows one
# further down.
MAY_KNOW = {
    "base": set(),
    "yaml": set(),
    "expressions": set(),
    "spec/keys": set(),
    "spec": {"yaml", "expressions", "spec/keys"},
    "spec/preparations": {"yaml", "spec", "spec/keys"},
    "spec/values": {"yaml", "spec", "spec/keys"},
    "spec/starter": {"spec"},
    "plan": {"spec", "expressions"},
    "jube": {"yaml", "expressions", "spec", "plan"},
    "runfiles": set(),
    "render": {"plan", "spec", "runfiles"},
    "launch": {"runfiles", "ports"},
    "submit": {"render", "runfiles", "ingest", "plan", "spec"},
    "ingest": {"runfiles", "checksum", "expressions"},
    "scan": {"ingest", "spec", "yaml"},
    "store": {"ingest"},
    "stats": set(),
    "report": {"stats", "ingest", "plan", "spec"},
    "report/warnings": {"report"},
    "report/plots": {"report"},
    "report/latex": {"report"},
    "report/formats": {"report", "report/latex", "plan"},
    "report/comparison": {"report", "report/latex", "stats", "plan"},
    "study/blocks": {"spec", "plan", "render", "submit", "executors/slurm", "ingest", "store"},
    "study/kept": {"spec", "plan", "render", "runfiles", "ingest", "store"},
    "study": {"spec", "plan", "render", "runfiles", "submit", "ingest", "store", "report", "study/blocks", "study/kept"},
    "imports": {"study", "spec", "render", "runfiles", "submit", "ingest", "store"},
    "recognise": {"scan", "imports", "ingest", "spec/starter"},
    "archive": {"study", "spec", "runfiles", "ingest"},
    "doctor": {"study", "study/blocks", "submit", "executors/commands", "executors/slurm", "render", "plan"},
    "cli/completion": {"spec", "plan", "store", "study", "commandline"},
    "cli/formats": {"spec/keys", "report"},
    "cli": {"cli/completion", "cli/formats", "spec", "spec/keys", "plan", "jube", "render", "runfiles", "launch", "submit", "executors/slurm", "ingest", "scan", "store", "stats", "report", "report/formats",
            "report/plots", "report/warnings", "report/comparison", "study", "study/blocks", "study/kept", "imports", "recognise", "archive", "doctor", "commandline"},
}
# Each executor has a folder. study/executors.cpp makes them.
for folder in (pathlib.Path(__file__).resolve().parents[2] / "runner/executors").iterdir():
    MAY_KNOW[f"executors/{folder.name}"] = {"submit", "render", "runfiles", "spec"}
    MAY_KNOW["study"].add(f"executors/{folder.name}")
# The same for the trainer.
TRAINER_MAY_KNOW = {
    "base": {"commandline"},
    "events": {"base"},
    "files": {"base", "checksum"},
    "kernels": set(),
    "kernels/gpu": set(),
    "devices": {"base"},
    "optim": {"base", "devices", "kernels", "kernels/gpu"},
    "strategies": {"base", "devices", "optim"},
    # task.hpp defines a task; tasks.cpp has a row for each task, and alone knows them.
    "tasks": {"base", "files", "optim", "tasks/mnist_rnn", "tasks/bert_squad"},
    "tasks/mnist_rnn": {"base", "kernels", "devices", "optim", "tasks"},
    "tasks/bert_squad": {"base", "devices", "files", "kernels", "kernels/gpu", "optim", "tasks", "tasks/bert_squad/text", "tasks/bert_squad/data", "tasks/bert_squad/score"},
    "tasks/bert_squad/text": {"base"},
    "tasks/bert_squad/data": {"base", "files", "tasks/bert_squad/text", "commandline"},
    "tasks/bert_squad/score": {"base", "files", "tasks/bert_squad/data", "commandline"},
    "training": {"base", "events", "files", "devices", "optim", "strategies", "tasks"},
}
MANY_SOURCES = 25
MOST_LINES = 60
# Functions that are nothing but a table.
TABLES = ("trainer_settings", "_keys", "launchers", "all_columns")
FUNCTION = re.compile(r"^ *(?! |namespace|class|struct|enum|if|for|while|switch|else|do|try|return|[}/\[])[^=]*\)(?: const| override| noexcept)* \{$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def room_of(header):
    return header.rpartition("/")[0]


def sources(folder):
    return sorted(folder.rglob("*.[ch]pp"))


def room_violations(top, may_know, common):
    for path in sources(top):
        room = path.relative_to(top).parent.as_posix()
        if room == ".":
            continue  # main.cpp
        if room not in may_know:
            yield f"{path}: room {room} is not in the table"
            continue
        for header in INCLUDE.findall(path.read_text()):
            if room_of(header) not in may_know[room] | {room, *common}:
                yield f"{path}: {room} must not know {header}"


def library_violations(root):
    """No two libraries of the trainer link each other."""
    links = {}
    for name, linked in re.findall(r"target_link_libraries\((hpcbench_\w+)([^)]*)\)", (root / "trainers/CMakeLists.txt").read_text()):
        links.setdefault(name, set()).update(re.findall(r"hpcbench_\w+", linked))
    for name, linked in links.items():
        for other in linked:
            if name in links.get(other, set()):
                yield f"trainers/CMakeLists.txt: {name} and {other} link each other"


def shared_violations(root):
    for path in sources(root / "shared"):
        for header in INCLUDE.findall(path.read_text()):
            if not (root / "shared" / header).exists():
                yield f"{path}: what is shared knows neither program: {header}"


def crowded_rooms(root):
    for top in ("runner", "trainers", "shared"):
        count = collections.Counter(path.parent for path in sources(root / top) if path.suffix == ".cpp")
        for folder, sources_there in sorted(count.items()):
            if sources_there > MANY_SOURCES:
                yield f"note: {folder.relative_to(root)} has {sources_there} sources: does its meaning split?"


def functions(lines):
    """First and last line of each function, by its layout, as clang-format gives it: up to the brace of the same indentation."""
    for opening, line in enumerate(lines):
        if not FUNCTION.match(line):
            continue
        begin, open_brackets = opening, line.count(")") - line.count("(")
        while begin > 0 and (open_brackets > 0 or lines[begin].lstrip().startswith(":")):
            begin -= 1
            open_brackets += lines[begin].count(")") - lines[begin].count("(")
        indentation = re.match(" *", lines[begin])[0]
        end = next((number for number in range(opening + 1, len(lines)) if lines[number].startswith(indentation + "}")), opening)
        yield begin, end


def long_functions(root):
    for top in ("runner", "trainers", "shared"):
        for path in sources(root / top):
            lines = path.read_text().split("\n")
            for begin, end in functions(lines):
                if end - begin + 1 > MOST_LINES and not any(f"{table}(" in lines[begin] for table in TABLES):
                    yield f"{path}:{begin + 1}: a function of {end - begin + 1} lines; {MOST_LINES} at most, save for tables"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = [*room_violations(root / "runner", MAY_KNOW, {"base", "words"}), *room_violations(root / "trainers", TRAINER_MAY_KNOW, {"words"}),
             *library_violations(root), *shared_violations(root), *long_functions(root)]
    for note in crowded_rooms(root):
        print(note)
    print("\n".join(found) if found else "all arrows go one way, no function is long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
