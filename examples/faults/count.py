"""Counts to GOAL, a step each STEP_S seconds, writes each step as an event, and saves every fifth: what a training program does, as far as
faults care. Goes on from HPCBENCH_RESUME_FROM where hpcbench names a folder."""
import json
import os
import pathlib
import sys
import time

goal, step_s = int(sys.argv[1]), float(sys.argv[2])
run_dir, rank = pathlib.Path(os.environ["HPCBENCH_RUN_DIR"]), int(os.environ["RANK"])
resume = os.environ.get("HPCBENCH_RESUME_FROM")
saved = pathlib.Path(resume, "step") if resume else None
step = int(saved.read_text()) if saved and saved.exists() else 0
with open(run_dir / (f"events.{rank}.jsonl" if rank else "events.jsonl"), "a", buffering=1) as events:
    while step < goal:
        time.sleep(step_s)
        step += 1
        events.write(json.dumps({"v": 1, "t": time.time(), "rank": rank, "event": "step", "step": step}) + "\n")
        if rank == 0 and step % 5 == 0:
            (run_dir / "step.new").write_text(str(step))
            (run_dir / "step.new").rename(run_dir / "step")
