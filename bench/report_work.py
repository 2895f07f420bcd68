"""Reports on many runs with many metrics, in every format; patterns over long logs."""
import subprocess

from fixtures import done_study, finished_study, fixture
from process import HPCBENCH, quietly, timed

RUNS, METRICS = 10_000, 50
QUICK_RUNS = 1_000
LINES = 1_000_000
FORMATS = ("text", "markdown", "csv", "json", "latex", "html")


def formats_here():
    """Those of FORMATS that this hpcbench has."""
    words = subprocess.run([HPCBENCH, "report", "--help"], capture_output=True, text=True, check=True).stdout
    return [name for name in FORMATS if name in words]


def long_log(data, quick):
    def make(folder):
        finished_study(folder, 10, 1)
        log = next((folder / "results/done").rglob("stdout.log"))
        log.unlink()  # it is a link to the shared file
        with open(log, "w") as file:
            for number in range(LINES // 10 if quick else LINES):
                file.write(f"step {number} loss {1 / (number + 1):.6f} lr 0.001\n")
            file.write("m0 2.5\n")
    return fixture(data, "long-log", make)


def measure(tool, data, quick, repeat):
    """`tool`: a format, or `patterns`."""
    if tool == "patterns":
        folder = long_log(data, quick)
        seconds, peak_bytes = timed([HPCBENCH, "ingest"], folder)
        told = quietly([HPCBENCH, "report", "done.yaml", "--metric", "m0", "--format", "json"], folder)
        if "2.5" not in told:  # the value of one run
            raise SystemExit("error: the pattern was not found at the end of the long log")
    else:
        folder = done_study(data, QUICK_RUNS if quick else RUNS, METRICS)
        seconds, peak_bytes = timed([HPCBENCH, "report", "done.yaml", "--metric", "m7", "--format", tool], folder)
    return {"seconds": seconds, "peak_bytes": peak_bytes}
