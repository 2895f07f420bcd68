"""Trivial runs on this machine, two at a time: `bash -c true`, by hpcbench and by what people use instead."""
import pathlib
import shutil
import statistics
import sys
import tempfile

from process import HPCBENCH, plain_environment, quietly, study_text, timed

SLOTS = 2
# ReFrame, which takes more than 50 ms a run, is measured with fewer; the rest is the straight line through this many and one run. Not so
# for JUBE: its cost per run grows with their number, and such a line would underestimate it several times over.
FEW = 100
EXTRAPOLATED = ("reframe",)

JUBE = """<?xml version="1.0" encoding="UTF-8"?>
<jube>
  <benchmark name="jobs" outpath="out">
    <parameterset name="points"><parameter name="a" type="int">{points}</parameter></parameterset>
    <step name="run" procs="{slots}"><use>points</use><do>bash -c true</do></step>
  </benchmark>
</jube>
"""
REFRAME_TEST = """
import reframe as rfm


@rfm.simple_test
class Jobs(rfm.RunOnlyRegressionTest):
    a = parameter(range({runs}))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "bash"
    executable_opts = ["-c", "true"]

    @sanity_function
    def ended_well(self):
        return True
"""
REFRAME_SITE = """
site_configuration = {{
    "systems": [{{"name": "here", "hostnames": [".*"], "partitions": [
        {{"name": "default", "scheduler": "local", "launcher": "local", "environs": ["builtin"], "max_jobs": {slots}}}]}}],
    "environments": [{{"name": "builtin"}}],
}}
"""
# The script of a user who needs the outputs, the exit codes and the times of the runs afterwards.
BY_HAND = """mkdir -p runs/{} && cd runs/{} && TIMEFORMAT=%R && { time bash -c true > stdout.log 2> stderr.log; } 2> wall_s; echo $? > exit_code"""


def ours(folder, runs):
    (folder / "jobs.yaml").write_text(study_text("jobs", {"a": runs}))
    return timed([HPCBENCH, "run", "jobs.yaml", "--slots", str(SLOTS)], folder)


def xargs(folder, runs):
    return timed(["bash", "-c", f"seq {runs} | xargs -P{SLOTS} -n1 bash -c true"], folder)


def xargs_kept(folder, runs):
    script = folder / "each.sh"
    script.write_text(BY_HAND)
    return timed(["bash", "-c", f"seq {runs} | xargs -P{SLOTS} -I{{}} bash -c \"$(cat each.sh)\""], folder)


def xargs_scripts(folder, runs):
    """The attempts that hpcbench renders, each launched as its own jobs are: it claims and records."""
    (folder / "jobs.yaml").write_text(study_text("jobs", {"a": runs}))
    quietly([HPCBENCH, "plan", "jobs.yaml", "--scripts", "scripts"], folder)
    return timed(["bash", "-c", f"find scripts -name a1 | xargs -P{SLOTS} -n1 {HPCBENCH} launch"], folder,
                 plain_environment(HPCBENCH_TOKEN="0000000000000000"))


def reframe(folder, runs):
    (folder / "jobs.py").write_text(REFRAME_TEST.format(runs=runs))
    (folder / "site.py").write_text(REFRAME_SITE.format(slots=SLOTS))
    program = str(pathlib.Path(sys.executable).parent / "reframe")
    return timed([program, "-C", "site.py", "-c", "jobs.py", "--prefix", "out", "-r"], folder)


def jube(folder, runs):
    (folder / "jobs.xml").write_text(JUBE.format(points=",".join(str(number) for number in range(runs)), slots=SLOTS))
    # Debian's package works only with Debian's Python.
    environment = {name: value for name, value in plain_environment().items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    seconds, peak_bytes = timed([shutil.which("jube") or "/usr/bin/jube", "run", "jobs.xml", "--hide-animation"], folder, environment)
    done = sum(1 for _ in folder.glob("out/*/*_run/done"))
    if done != runs:
        raise SystemExit(f"error: {done} of {runs} runs of JUBE are done")
    return seconds, peak_bytes


TOOLS = {"ours": ours, "xargs": xargs, "xargs_kept": xargs_kept, "xargs_scripts": xargs_scripts, "reframe": reframe, "jube": jube}


def in_new_folder(tool, data, runs):
    # Removed after all measurements (rested_disk.py).
    return TOOLS[tool](pathlib.Path(tempfile.mkdtemp(prefix=f"{tool}-", dir=data)), runs)


def thrice(tool, data, runs):
    found = [in_new_folder(tool, data, runs) for _ in range(3)]
    return statistics.median(seconds for seconds, _ in found), max(peak for _, peak in found)


def measure(tool, data, quick, repeat):
    runs = 200 if quick else 1_000
    if tool not in EXTRAPOLATED:
        seconds, peak_bytes = thrice("ours", data, runs) if tool == "ours_thrice" else in_new_folder(tool, data, runs)
        return {"seconds": seconds, "peak_bytes": peak_bytes}
    few = 20 if quick else FEW
    one_s, _ = in_new_folder(tool, data, 1)
    few_s, peak_bytes = in_new_folder(tool, data, few)
    return {"seconds": one_s + (few_s - one_s) / (few - 1) * (runs - 1), "peak_bytes": peak_bytes}
