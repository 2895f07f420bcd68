#!/usr/bin/env python3
"""Checks that #includes go one way, as docs/architecture.md draws it: a stage knows only those listed here."""
import pathlib
import re
import sys

# stage: the stages and the folders of shared/ whose headers it may include, beside its own, base and words
MAY_KNOW = {
    "base": set(),
    "expressions": set(),
    "spec": {"expressions"},
    "plan": {"spec", "expressions"},
    "render": {"plan", "spec"},
    "launch": set(),
    "submit": {"render", "launch", "plan", "spec"},
    "ingest": {"launch", "checksum"},
    "store": {"ingest"},
    "stats": set(),
    "report": {"stats", "ingest", "plan", "spec", "expressions"},
    "cli": {"expressions", "spec", "plan", "render", "launch", "submit", "ingest", "store", "stats", "report", "commandline"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def violations(root):
    for path in sorted((root / "runner").glob("*/*.[ch]pp")):
        stage = path.parent.name
        if stage not in MAY_KNOW:
            yield f"{path}: stage {stage} is not in MAY_KNOW"
            continue
        for header in INCLUDE.findall(path.read_text()):
            other = header.split("/")[0]
            if other not in MAY_KNOW[stage] | {stage, "base", "words"}:
                yield f"{path}: {stage} must not know {header}"
    for path in sorted((root / "shared").rglob("*.[ch]pp")):
        for header in INCLUDE.findall(path.read_text()):
            if not (root / "shared" / header).exists():
                yield f"{path}: what is shared knows neither program: {header}"
    for path in sorted((root / "trainers").rglob("*.[ch]pp")):
        for header in INCLUDE.findall(path.read_text()):
            if header.split("/")[0] in MAY_KNOW and (root / "runner" / header).exists():
                yield f"{path}: the trainer shares no code with the runner: {header}"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = list(violations(root))
    print("\n".join(found) if found else "all arrows go one way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
