"""Measures what blocks save on a real Slurm (`allocation: {per: block}`), on the cluster of slurm_work.py: the time until 1,000 runs have ended in 10 blocks, against a
manually written array, an `srun true` each; and an attempt in a block, against a bare `srun true` among others in one job.
"""
import contextlib
import json
import pathlib
import tempfile
import threading
import time

from process import HPCBENCH, numbers, timed
from slurm_work import HAND_WRITTEN, Client, by_hand, environment_of, runs_of

BLOCKS = 10
STEPS, QUICK_STEPS = 100, 20
LOOK_S = 0.5  # between polls of the queue, as in by_hand
STUDY = """experiment: blocks
command: ["true"]
matrix: {{k: {values}}}
repeats: {repeats}
resources: {{time: "00:01:00"}}
allocation: {{per: block}}
"""
# One job; the stamps enclose only the steps, like the claim of a block and the end of its last attempt.
BY_HAND = HAND_WRITTEN[:HAND_WRITTEN.index("srun")] + """date +%s.%N > {done}/begin
for ((i = 0; i < {steps}; i++)); do srun true && : > {done}/$i; done
date +%s.%N > {done}/end
"""


@contextlib.contextmanager
def most_queued(cluster):
    """A list whose one number is the most jobs that were in the queue at a time; asked beside the counted tools."""
    most, over = [0], threading.Event()

    def look():
        while not over.wait(LOOK_S):
            most[0] = max(most[0], len(cluster.tool("squeue", "-h", "-r").split("\n")) - 1)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def run_blocks(cluster, folder, configurations, repeats):
    (folder / "blocks.yaml").write_text(STUDY.format(values=numbers(configurations), repeats=repeats))
    (folder / "site.yaml").write_text("executor: slurm\ngres_type: none\n")
    return timed([HPCBENCH, "run", "blocks.yaml", "--site", "./site.yaml"], folder, environment_of(cluster, folder))


def ours(cluster, folder, quick):
    cluster.forget_calls()
    with most_queued(cluster) as most:
        seconds, peak_bytes = run_blocks(cluster, folder, runs_of(quick) // BLOCKS, BLOCKS)
    return {"seconds": seconds, "peak_bytes": peak_bytes, "sbatch": cluster.count("sbatch"), "queued": most[0]}


def array(cluster, folder, quick):
    return by_hand(cluster, folder, runs_of(quick))


def steps_of(quick):
    return QUICK_STEPS if quick else STEPS


def ours_step(cluster, folder, quick):
    """Of one block, from its claim to the end of its last attempt."""
    count = steps_of(quick)
    run_blocks(cluster, folder, count, 1)
    (claim,) = folder.glob("results/blocks/batches/*/block-*/claim")
    ends_s = [json.loads(path.read_text())["finished_unix_s"] for path in folder.glob("results/blocks/*/r01/a1/finished.json")]
    if len(ends_s) != count:
        raise SystemExit(f"error: {len(ends_s)} of {count} runs of the block have ended")
    return {"seconds_per_step": (max(ends_s) - claim.stat().st_mtime) / count}


def bare_step(cluster, folder, quick):
    count = steps_of(quick)
    done, script = folder / "done", folder / "by-hand.sh"
    done.mkdir()
    script.write_text(BY_HAND.format(done=done, steps=count))
    cluster.tool("sbatch", str(script))
    while cluster.tool("squeue", "-h", "-n", "by-hand").strip():
        time.sleep(LOOK_S)
    ended = sum(1 for path in done.iterdir() if path.name.isdigit())
    if ended != count:
        raise SystemExit(f"error: {ended} of {count} steps of the manually written job ended well")
    begin_s, end_s = (float((done / name).read_text()) for name in ("begin", "end"))
    return {"seconds_per_step": (end_s - begin_s) / count}


TOOLS = {"ours": ours, "by_hand": array, "ours_step": ours_step, "bare_step": bare_step}


def measure(tool, data, quick, repeat):
    """seconds until all has ended; of ours also calls of sbatch and the most jobs in the queue. Of a step: seconds_per_step."""
    cluster = Client(json.loads((data / "cluster.json").read_text()))
    cluster.becomes_idle()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{tool}-", dir=data))
    return TOOLS[tool](cluster, folder, quick)
