"""The steps that need statistics: studies of hpcbench itself, with its own report."""
import json
import pathlib
import signal
import subprocess
import time

from gpus import peak_of
from load import Load
from process import plain_environment
from trainer import GRAPHS, NONDETERMINISTIC, PYTHON, ROOT, out_of_time, row

# The most informative ones first: size, length, precision, padding.
CELLS = [(size, length, precision, padding) for precision in ("bf16", "fp32") for size in ("large", "base") for length in (384, 512) for padding in ("max", "none")]
SMALL_CELLS = [("tiny", 64, "fp32", "max"), ("tiny", 64, "fp32", "none")]
# Approximate seconds of one run. On an H100: 4, 20 and 60.
RUN_S = {"hpcbench-train": 6, GRAPHS: 6, NONDETERMINISTIC: 6, "transformers": 25, "transformers-compiled": 60}
SMALL_RUN_S = 12
LONG_MINUTES = 60
REPEATS, LONG_REPEATS = 3, 6  # three per side are the fewest that give a speedup an interval, of 90 %
STEPS, SMALL_STEPS = 30, 6
REPORT_PATIENCE_S, END_PATIENCE_S = 60, 30
TIMES = ("n", "median", "interval", "speedup", "efficiency")
RATES = ("mfu", "samples_per_s", "tokens_per_s")  # of train_s

SPEED = """experiment: gpu_speed
description: BERT for question answering, a step of hpcbench-train beside transformers
command: {command}
launch: once
zip: [{cells}]
matrix: {{program: [{programs}]}}
{exclude}repeats: {repeats}
resources: {{time: "00:05:00"}}
baseline: {{program: {baseline}}}
report: {{metric: train_s, time_unit: s{peak}}}
"""
SCALING = """experiment: gpu_scaling
description: BERT on one device against ddp, as much work on each device
trainer: bert_squad
matrix: {{strategy: [baseline, ddp], gpus_per_node: [{worlds}]}}
exclude: [{{strategy: baseline, gpus_per_node: [{more}]}}]
parameters: {{data: {data}, vocab: {vocab}, model: {model}, max_length: {length}, doc_stride: 16, precision: {precision}, batch_size: {batch}, max_steps: {steps},
  train_share: 0.9, eval: false, device: {device}, dropout: 0.1, clip: 1, log_every: {every}}}
metrics: [{{name: step_s, file: events.jsonl, pointer: /step_s, skip: 1, take: median, unit: s}}]
repeats: {repeats}
resources: {{time: "00:05:00"}}
baseline: {{strategy: baseline}}
report: {{metric: step_s, time_unit: s, scaling: weak}}
"""


def has_transformers(limit_s):
    try:
        done = subprocess.run([PYTHON, "-c", "import transformers, torch; print(transformers.__version__)"], capture_output=True, text=True, timeout=limit_s)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return None, str(problem)
    words = done.stderr.strip().splitlines()
    return (done.stdout.strip(), "") if done.returncode == 0 else (None, words[-1] if words else f"{PYTHON} ended with {done.returncode}")


def run_study(machine, name, text, deadline_s):
    """Its table, of what had ended in time. Raises RuntimeError where there is none."""
    place = machine.folder / name
    place.mkdir(exist_ok=True)
    (place / f"{name}.yaml").write_text(text)
    environment = plain_environment(XDG_CONFIG_HOME=str(place / "none"))
    with open(place / "run.log", "w") as log:
        process = subprocess.Popen([machine.hpcbench, "run", f"{name}.yaml", "--yes", "--keep-going"], cwd=place, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=subprocess.STDOUT)
        try:
            process.wait(max(1, deadline_s - REPORT_PATIENCE_S / 10 - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(END_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    subprocess.run([machine.hpcbench, "cancel", f"{name}.yaml", "--yes"], cwd=place, env=environment, capture_output=True, timeout=REPORT_PATIENCE_S)
    done = subprocess.run([machine.hpcbench, "report", f"{name}.yaml", "--format", "json"], cwd=place, env=environment, capture_output=True, text=True,
                          timeout=REPORT_PATIENCE_S)
    if not done.stdout:
        raise RuntimeError((done.stderr or (place / "run.log").read_text()).strip()[-800:])
    return json.loads(done.stdout)


def words_of(place, axes):
    """The last line that a run with these axes wrote to its standard error; empty if none did."""
    for path in sorted(place.rglob("run.json")):
        told = json.loads(path.read_text()).get("axes", {})
        errors = path.with_name("stderr.log")
        if errors.exists() and all(str(told.get(name)) == str(value) for name, value in axes.items()):
            if lines := [line for line in errors.read_text(errors="replace").splitlines() if line.strip()]:
                return lines[-1]
    return ""


def add_rows(machine, study, table, rows, shown):
    for each in table["rows"]:
        axes = {name: value for name, value in each["axes"].items() if name not in ("nodes",)}
        name = ", ".join(f"{axis}={value}" for axis, value in axes.items())
        outcomes = {outcome: count for outcome, count in each["outcomes"].items() if count}
        kept = {key: each[key] for key in shown if each.get(key) is not None and (key, axes.get("precision")) != ("mfu", "fp32")}  # the peak is bf16's
        if each["n"] and not machine.numbers_count:
            rows.append(row(name, "not measured", why="it ran; this GPU computes nothing"))
        elif each["n"]:
            rows.append(row(name, "passed", **kept, outcomes=outcomes))
        elif outcomes.keys() - {"cancelled"}:
            ours = str(axes.get("program", "hpcbench-train")).startswith("hpcbench-train")  # a fault of a peer is not a fault of hpcbench
            rows.append(row(name, "failed" if ours else "not measured", why=f"no run succeeded: {outcomes}", said=words_of(machine.folder / study, axes)))
        else:
            rows.append(out_of_time(name))
    for warning in table.get("warnings", []):
        rows.append(row(f"warning {warning['code']}", "note", text=f"{warning['seen']}. {warning['why']}."))


def quoted(values):
    return ", ".join(json.dumps(value) if isinstance(value, str) else str(value) for value in values)


def speed_study(cells, names, programs, **words):
    packed = any("none" in cell for cell in cells)  # which CUDA graphs do not support
    return SPEED.format(programs=quoted(programs), baseline=programs[0], exclude=f"exclude: [{{program: {GRAPHS}, padding: none}}]\n" if GRAPHS in programs and packed else "",
                        cells="{" + ", ".join(f"{name}: [{quoted(column)}]" for name, column in zip(names, zip(*cells))) + "}", **words)


def speed(machine, rows, deadline_s):
    version, why_not = has_transformers(min(120, deadline_s - time.monotonic()))
    left_s = deadline_s - time.monotonic()
    programs = ["hpcbench-train"]
    if version:
        programs = ["transformers", "hpcbench-train"] + (["transformers-compiled"] if machine.is_real_gpu else [])
        rows.append(row("transformers", "note", text=f"version {version}, SDPA, fused AdamW"))
    else:
        rows.append(row("transformers", "not measured", why=why_not))
    if machine.is_real_gpu:
        programs += [GRAPHS, NONDETERMINISTIC]  # the cost of waiting for the host, and of equal bits each time
    repeats = 1 if not machine.numbers_count else LONG_REPEATS if left_s > LONG_MINUTES * 60 * 0.2 else REPEATS
    cells = CELLS if machine.is_real_gpu else SMALL_CELLS
    steps = STEPS if machine.is_real_gpu else SMALL_STEPS
    runs_s = [RUN_S[program] if machine.is_real_gpu else SMALL_RUN_S for program in programs]
    fit = max(1, int(left_s / (sum(runs_s) * repeats))) if left_s > runs_s[-1] else 0
    for size, length, precision, padding in cells[fit:]:
        rows.append(out_of_time(f"size={size}, length={length}, precision={precision}, padding={padding}"))
    if fit == 0:
        return None
    peak = peak_of(machine.device_name)
    if not machine.numbers_count:
        rows.append(row("MFU", "not measured", why="this GPU computes nothing"))
    elif not peak:
        rows.append(row("MFU", "not measured", why=f"the peak of {machine.device_name or 'this GPU'} is not known here (PEAK_TFLOPS of gpus.py)"))
    names = ("size", "length", "precision", "padding")
    command = [PYTHON, str(pathlib.Path(__file__).with_name("measured.py")), *(f"--{name}={{{{{name}}}}}" for name in names), "--program={{program}}",
               f"--device={machine.device}", f"--steps={steps}", f"--trainer={machine.trainer}"]
    text = speed_study(cells[:fit], names, programs, command=json.dumps(command), repeats=repeats, peak=f", peak_tflops: {peak}" if peak else "")
    with Load() as load:
        table = run_study(machine, "gpu_speed", text, deadline_s)
    add_rows(machine, "gpu_speed", table, rows, TIMES + RATES)
    if machine.is_real_gpu:
        rows.append(load.row())
    return f"{steps} steps a run, the first ones apart; mfu is of the dense bf16 peak, {peak} TFLOP/s, and counts tokens without padding" if peak else None


def scaling(machine, rows, deadline_s):
    worlds = machine.worlds()
    if len(worlds) == 1:
        return "it takes two GPUs"
    if deadline_s - time.monotonic() < SMALL_RUN_S:
        rows.append(out_of_time("ddp"))
        return None
    large = machine.is_real_gpu
    steps = 40 if large else 6
    # The first steps load kernels and connect ranks: a step's time is the median of those after the first quarter.
    text = SCALING.format(worlds=quoted(worlds), more=quoted(worlds[1:]), data=json.dumps(str(ROOT / "data/squad2-excerpt.json")),
                          vocab=json.dumps(str(ROOT / "data/bert-base-uncased-vocab.txt")), model="base" if large else "tiny", length=384 if large else 64,
                          precision="bf16" if large else "fp32", batch=16 if large else 8, steps=steps, every=max(1, steps // 4), device=machine.device,
                          repeats=REPEATS if machine.numbers_count else 1)
    add_rows(machine, "gpu_scaling", run_study(machine, "gpu_scaling", text, deadline_s), rows, TIMES)
    return None
