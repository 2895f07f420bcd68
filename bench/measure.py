#!/usr/bin/env python3
"""One measurement: what the experiments of run.py start as their command. Prints `NAME VALUE` lines, which their metrics read.

    measure.py SUITE TOOL --data FOLDER [--quick] [--repeat N]
"""
import argparse
import importlib
import pathlib

SUITES = {"local": "local_work", "runner": "runner_work", "reports": "report_work", "mnist": "mnist_work", "roofs": "roof_work",
          "bert": "bert_work", "bert_losses": "bert_work:losses", "features": "features_work", "slurm": "slurm_work",
          "blocks": "blocks_work"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("tool")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="where fixtures and the folders of measurements lie")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=1, help="number of the repeat: the seed of what draws random numbers")
    options = parser.parse_args()
    module, _, function = SUITES[options.suite].partition(":")
    measure = getattr(importlib.import_module(module), function or "measure")
    for name, value in measure(options.tool, options.data, options.quick, options.repeat).items():
        print(f"{name} {value:.9g}")


if __name__ == "__main__":
    main()
