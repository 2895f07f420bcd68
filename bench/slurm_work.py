"""Measures the cost of a study on a real Slurm, on its own cluster (tests/slurm/cluster.sh): calls of its tools, CPU time of hpcbench, the time until all has
ended; against an array that a person would write, whose elements are `srun true` and record nothing; its end is looked for twice a second.
"""
import contextlib
import json
import pathlib
import sys
import tempfile
import time

from process import HPCBENCH, ROOT, numbers, plain_environment, timed
from runner_work import cpu_now_s

sys.path.insert(0, str(ROOT / "tests/slurm"))
from slurm_harness import Cluster  # noqa: E402

RUNS, QUICK_RUNS = 1_000, 200
CALLS_BEFORE = 3  # of squeue, beyond one a second
STUDY = """experiment: cost
command: ["true"]
matrix: {{k: {values}}}
repeats: 1
resources: {{time: "00:05:00"}}
"""
# The file of an element records that its step ended well.
HAND_WRITTEN = """#!/bin/bash
#SBATCH --job-name=by-hand
#SBATCH --time=5
#SBATCH --output=/dev/null
#SBATCH --no-requeue
srun true && : > {done}/$SLURM_ARRAY_TASK_ID
"""


class Client(Cluster):
    """Of a cluster that another process has started."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.name, self.calls, self.bin = (self.folder / name for name in ("cluster", "calls", "bin"))

    def answers(self):
        with contextlib.suppress(AssertionError, OSError):
            self.tool("squeue", "-h")
            return self.bin.exists()
        return False

    def becomes_idle(self):
        """Cancels jobs that an interrupted measurement has left in the queue."""
        while self.tool("squeue", "-h").strip():
            time.sleep(0.5)


def runs_of(quick):
    return QUICK_RUNS if quick else RUNS


@contextlib.contextmanager
def cluster_for(data, quick):
    """Started, or the one that a command that was cut off has left; measurements find it by a file in `data`. unittest.SkipTest where there is no Slurm."""
    place = data / "cluster.json"
    left = None
    with contextlib.suppress(OSError, ValueError):  # none, or half of a name
        left = Client(json.loads(place.read_text()))
    if left and not left.answers():
        left.stop()
    if not left or not left.folder.exists():
        left = Cluster("--set", f"MaxArraySize={runs_of(quick) + 1}")
        place.write_text(json.dumps(str(left.folder)))
    try:
        yield
    finally:
        left.stop()
        place.unlink(missing_ok=True)


def environment_of(cluster, folder):
    return plain_environment(**cluster.environment(), XDG_CONFIG_HOME=str(folder / "none"))


def written_study(folder, runs):
    """Each run has a rank, which srun starts."""
    (folder / "cost.yaml").write_text(STUDY.format(values=numbers(runs)))
    (folder / "site.yaml").write_text("executor: slurm\ngres_type: none\n")


def ours(cluster, folder, runs):
    written_study(folder, runs)
    cluster.forget_calls()
    begin_s = cpu_now_s()
    seconds, peak_bytes = timed([HPCBENCH, "run", "cost.yaml", "--site", "./site.yaml"], folder, environment_of(cluster, folder))
    return {"seconds": seconds, "cpu_s": cpu_now_s() - begin_s, "sbatch": cluster.count("sbatch"),
            "squeue_per_s": max(0, cluster.count("squeue") - CALLS_BEFORE) / seconds, "peak_bytes": peak_bytes}


def by_hand(cluster, folder, runs):
    done, script = folder / "done", folder / "by-hand.sh"
    done.mkdir()
    script.write_text(HAND_WRITTEN.format(done=done))
    begin_s = time.monotonic()
    cluster.tool("sbatch", f"--array=0-{runs - 1}", str(script))
    while cluster.tool("squeue", "-h", "-n", "by-hand").strip():
        time.sleep(0.5)
    seconds = time.monotonic() - begin_s
    ended = sum(1 for _ in done.iterdir())
    if ended != runs:
        raise SystemExit(f"error: {ended} of {runs} elements of the hand-written array ended well")
    return {"seconds": seconds}


def measure(tool, data, quick, repeat):
    """seconds until all has ended; of ours also cpu_s of hpcbench and all tools that it calls, calls of sbatch, and squeue_per_s: calls of squeue beyond the
    first three for each second."""
    cluster = Client(json.loads((data / "cluster.json").read_text()))
    cluster.becomes_idle()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{tool}-", dir=data))
    return {"ours": ours, "by_hand": by_hand}[tool](cluster, folder, runs_of(quick))
