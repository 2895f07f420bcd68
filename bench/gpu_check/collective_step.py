"""Bandwidth of collectives between the ranks of this machine."""
import json
import pathlib
import subprocess
import time

from process import plain_environment
from trainer import PYTHON, out_of_time, row, run_limited

LARGEST = {"cuda": 256 << 20, "cpu": 1 << 20}


def collectives(machine, rows, deadline_s):
    if machine.count < 2:
        return "it takes two GPUs"
    if not machine.numbers_count:
        return "this GPU computes nothing"
    program = [PYTHON, str(pathlib.Path(__file__).with_name("collectives.py")), machine.device, str(LARGEST[machine.device])]
    for ranks in machine.worlds()[1:]:
        if time.monotonic() >= deadline_s:
            rows.append(out_of_time(f"{ranks} ranks"))
            continue
        place = machine.folder / f"collectives-{ranks}"
        place.mkdir(exist_ok=True)
        environment = plain_environment(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET,GRAPH", NCCL_DEBUG_FILE=str(place / "nccl.%p.log"), OMP_NUM_THREADS="1")
        try:
            done = run_limited([machine.hpcbench, "launch", "-n", str(ranks), "--", *program], deadline_s - time.monotonic(), cwd=place, env=environment)
        except subprocess.TimeoutExpired:
            rows.append(out_of_time(f"{ranks} ranks"))
            continue
        measured = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for each in measured:
            rows.append(row(f"{each['collective']} of {each['bytes']} bytes on {ranks} ranks", "passed", **each))
        if done.returncode != 0:
            words = [line for line in done.stderr.splitlines() if line.strip()]
            missing = "No module named 'torch'" in done.stderr
            rows.append(row(f"{ranks} ranks", "not measured" if missing else "failed", why=words[-1] if words else f"exit code {done.returncode}"))
        transports = sorted({line.split("NCCL INFO ", 1)[1] for log in place.glob("nccl.*.log") for line in log.read_text(errors="replace").splitlines()
                             if "NCCL INFO " in line and ("Using network" in line or " via " in line)})
        if transports:
            rows.append(row(f"transport of {ranks} ranks", "passed", text="\n".join(transports[:40])))
    return None
