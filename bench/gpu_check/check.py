"""Runs the steps of scripts/gpu-check.sh in order, and writes a report that is complete after each of them."""
import argparse
import json
import os
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import collective_step  # noqa: E402
import fact_steps  # noqa: E402
import fault_steps  # noqa: E402
import page  # noqa: E402
import parity_step  # noqa: E402
import profile_step  # noqa: E402
import study_steps  # noqa: E402
from trainer import Machine  # noqa: E402

# Name, question, function, share of the time; ordered by value: if the user ends the check early, the first ones are done.
STEPS = [
    ("facts", "What is this machine?", fact_steps.facts, 0.02),
    ("start", "Does the trainer start, what does it see, and how long until its first step?", fact_steps.start, 0.06),
    ("parity", "Does every strategy compute here what one process computes on the CPU?", parity_step.parity, 0.22),
    ("speed", "How fast is BERT, beside transformers on the same machine?", study_steps.speed, 0.27),
    ("scaling", "How does ddp scale over the devices that are here?", study_steps.scaling, 0.15),
    ("profile", "What does one optimiser step ask of the GPU?", profile_step.profile, 0.04),
    ("faults", "Is what goes wrong noticed, named, and over in time?", fault_steps.faults, 0.16),
    ("collectives", "How fast do ranks exchange data?", collective_step.collectives, 0.08),
]
OF_SEVERAL = ("scaling", "collectives")  # GPUs; with one GPU the other steps get their time


def write_report(folder, report):
    """Both files, each of them whole at any time."""
    for name, text in (("report.json", json.dumps(report, indent=1) + "\n"), ("report.html", page.html_of(report))):
        draft = folder / ("." + name)
        draft.write_text(text)
        draft.replace(folder / name)


class Rows(list):
    """Rows that are reported immediately, so that they are not lost if the user ends the check early."""

    def __init__(self, tell):
        super().__init__()
        self.tell = tell

    def append(self, row):
        super().append(row)
        self.tell()


def run_step(function, machine, limit_s, rows):
    """Runs a step. Returns {status, reason, rows, seconds}. A failure ends only this step."""
    begin_s = time.monotonic()
    try:
        reason = function(machine, rows, begin_s + limit_s)
        failed = [row["name"] for row in rows if row["status"] == "failed"]
        measured = any(row["status"] == "passed" for row in rows)
        status = "failed" if failed else "passed" if measured else "not measured"
        reason = f"failed: {', '.join(failed)}" if failed else reason or ""
    except Exception as problem:  # a broken step is a finding, too
        status, reason = "failed", f"{type(problem).__name__}: {problem}\n{traceback.format_exc(limit=-3)}"
    return {"status": status, "reason": reason, "rows": rows, "seconds": round(time.monotonic() - begin_s, 1)}


def main():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check.sh")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", choices=[name for name, *_ in STEPS])
    options = parser.parse_args()
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    machine = Machine(options.programs.resolve(), folder, options.cpu)
    report = {"schema": 1, "device": machine.device, "minutes": options.minutes, "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "numbers_count": machine.numbers_count, "steps": []}
    chosen = [step for step in STEPS if not options.only or step[0] in options.only]
    shares = {name: 0 if name in OF_SEVERAL and machine.count < 2 else share for name, _, _, share in chosen}
    whole = sum(shares.values()) or 1
    spare_s = 0.0  # time that earlier steps left, or (below 0) took beyond their limits
    for name, question, function, _ in chosen:
        limit_s = options.minutes * 60 * shares[name] / whole + spare_s
        print(f"{name}: {question} (at most {max(0, limit_s):.0f} s)", flush=True)
        rows = Rows(lambda: write_report(folder, report))
        report["steps"].append({"name": name, "question": question, "status": "not measured", "reason": "it was ended before it was done", "rows": rows, "seconds": 0})
        outcome = run_step(function, machine, limit_s, rows)
        spare_s = limit_s - outcome["seconds"]
        report["steps"][-1].update(outcome)
        report["device_name"] = machine.device_name
        report["numbers_count"] = machine.numbers_count
        write_report(folder, report)
        print(f"{name}: {outcome['status']}{': ' + outcome['reason'].splitlines()[0] if outcome['reason'] else ''} ({outcome['seconds']} s)", flush=True)
    print(f"report: {folder / 'report.html'} and {folder / 'report.json'}: send both back")
    return 1 if any(step["status"] == "failed" for step in report["steps"]) else 0


if __name__ == "__main__":
    os.environ.pop("HPCBENCH_RUN", None)
    sys.exit(main())
