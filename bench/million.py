"""Prints what commands take on a study of 1,000,000 finished runs. Its folder, made at the first call, takes 25 GB and a quarter of an hour."""
import argparse
import pathlib

from fixtures import done_study
from process import HPCBENCH, timed

RUNS = 1_000_000
REPEATS = 2
COMMANDS = ("run done.yaml", "status done.yaml --format json", "report done.yaml --format markdown", "plan done.yaml --format json")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="in which the study's folder is, or will be")
    parser.add_argument("--runs", type=int, default=RUNS, help="of another study")
    options = parser.parse_args()
    folder = done_study(options.folder, options.runs)
    for command in COMMANDS:
        for _ in range(REPEATS):
            seconds, peak_bytes = timed([HPCBENCH, *command.split()], folder)
            print(f"{command}: {seconds:.2f} s, {peak_bytes / 1e6:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
