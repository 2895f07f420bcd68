"""Launches, copies and gaps of an optimiser step, by NVIDIA's profiler where it is installed."""
import csv
import io
import shutil
import subprocess
import time

from process import plain_environment
from trainer import SQUAD, out_of_time, row, run_limited

STEPS = 30


def profile(machine, rows, deadline_s):
    if machine.device == "cpu":
        return "kernels of a GPU are what is counted"
    if not machine.numbers_count:
        return "this GPU computes nothing; tests/gpu/null counts its calls"
    if not shutil.which("nsys"):
        return "nsys (Nsight Systems) is not installed"
    for precision in ("bf16", "fp32"):
        name = f"BERT-base {precision}, batch of 8, length 384"
        if time.monotonic() >= deadline_s:
            rows.append(out_of_time(name))
            continue
        place = machine.folder / f"profile-{precision}"
        command = ["nsys", "profile", "--trace=cuda", "--force-overwrite=true", "-o", str(place), machine.trainer, "run", "--device", "cuda", *map(str, SQUAD),
                   "--model", "base", "--precision", precision, "--max-steps", str(STEPS), "--clip", "1", "--log-every", "10", "--events", f"{place}.jsonl"]
        try:
            done = run_limited(command, deadline_s - time.monotonic(), env=plain_environment())
            if done.returncode != 0:
                rows.append(row(name, "failed", why=(done.stderr or done.stdout)[-800:]))
                continue
            rows.append(row(name, "passed", **read(place, deadline_s)))
        except subprocess.TimeoutExpired:
            rows.append(out_of_time(name))
    return None


def read(place, deadline_s):
    """Per step, the first ones with what is done once included: an upper bound."""
    values = {}
    for report, column in (("cuda_gpu_kern_sum", "launches_per_step"), ("cuda_gpu_mem_time_sum", "copies_and_sets_per_step")):
        text = run_limited(["nsys", "stats", "--report", report, "--format", "csv", f"{place}.nsys-rep"], deadline_s - time.monotonic()).stdout
        table = list(csv.DictReader(io.StringIO(text[text.find("Time (%)"):])))
        counts = "Instances" if table and "Instances" in table[0] else "Count"
        values[column] = round(sum(int(line[counts]) for line in table) / STEPS, 1) if table else None
        values[column.replace("_per_step", "_ms_per_step")] = round(sum(float(line["Total Time (ns)"]) for line in table) / STEPS / 1e6, 3) if table else None
        if report == "cuda_gpu_kern_sum":
            values["longest_kernels"] = [f"{line['Time (%)']} % {line['Name'][:100]}" for line in table[:10]]
    return values
