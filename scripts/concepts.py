"""Counts the concepts of runner/: how much a newcomer has to hold in mind. `python3 scripts/concepts.py [ROOT]` prints one number
a line; `--names` prints what each number counts. The counts are of text, not of parsed C++: compare them between two versions."""
import argparse
import pathlib
import re

TYPE = re.compile(r"^(?:  )?(?:struct|class|enum class) (\w+)(?: final)?(?: : [^{;]+)? \{", re.MULTILINE)
ENUM = re.compile(r"enum class (\w+)(?: : \w+)? \{([^}]*)\}")
# An enum is a status if at least two of its values name the progress or the end of a run, a job or a preparation.
STATUS_VALUES = {"planned", "waiting", "pending", "queued", "submitted", "running", "active", "succeeded", "failed", "timeout",
                 "cancelled", "lost", "finished", "ended", "done", "gone", "unknown", "preempted", "out_of_memory", "claimed",
                 "made", "broken", "stopped", "interrupted", "suspended", "retried", "blocked"}
ATTEMPT = re.compile(r"Run$|Run[A-Z]|Attempt|^Pending$|^Active$|Submission|Segment")


def count(root):
    runner = root / "runner"
    headers = {path: path.read_text() for path in sorted(runner.rglob("*.hpp"))}
    sources = {path: path.read_text() for path in sorted(runner.rglob("*.[ch]pp"))}
    types = [(name, path) for path, text in headers.items() for name in TYPE.findall(text)]
    enums = [(name, path) for path, text in sources.items() for name, values in ENUM.findall(text)
             if len(STATUS_VALUES & set(re.findall(r"\b[a-z_]+\b", re.sub(r"//.*", "", values)))) >= 2]
    structs = [(name, path) for path, text in headers.items()
               for name in re.findall(r"^(?:  )?struct (\w+)(?: : [^{;]+)? \{", text, re.MULTILINE) if ATTEMPT.search(name)]
    slurm = [("", path) for path, text in sources.items()
             if '"slurm"' in text and not re.search(r"(submit|executors)/slurm/", path.as_posix())]
    lines = sum(len(text.splitlines()) for text in sources.values())
    return {"types in headers": types, "lines of runner/": lines, "status enums": enums,
            "structs named after runs and attempts": structs, 'files with "slurm" outside its executor': slurm}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--names", action="store_true", help="also print the names behind each number")
    options = parser.parse_args()
    for what, found in count(options.root).items():
        print(f"{found if isinstance(found, int) else len(found):7,}  {what}")
        for name, path in found if options.names and isinstance(found, list) else []:
            print(f"           {path.relative_to(options.root)}  {name}".rstrip())


if __name__ == "__main__":
    main()
