"""Launches, copies and gaps of an optimiser step, from the trainer's own trace."""
import collections
import json
import shutil
import time

from trainer import SQUAD, out_of_time, row, unended

FIRST, LAST, LONGEST = 13, 18, 12
# Size, precision, padding, rows, CUDA graphs.
CELLS = [("large", "bf16", "max", 16, False), ("large", "bf16", "max", 16, True), ("large", "bf16", "none", 16, False), ("base", "bf16", "max", 32, False),
         ("base", "bf16", "max", 32, True), ("base", "fp32", "max", 32, False)]


def profile(machine, rows, deadline_s):
    if machine.device == "cpu":
        return "kernels of a GPU are what is counted"
    if not machine.numbers_count:
        return "this GPU computes nothing; tests/gpu/null counts its calls"
    for size, precision, padding, batch, graphs in CELLS:
        name = f"BERT-{size} {precision}, batch of {batch}, length 384, padding {padding}{', CUDA graphs' if graphs else ''}"
        if time.monotonic() >= deadline_s:
            rows.append(out_of_time(name))
            continue
        place = machine.folder / f"profile-{size}-{precision}-{padding}"
        training = machine.train([*SQUAD, "--doc-stride", 16, "--model", size, "--max-length", 384, "--batch-size", batch, "--precision", precision, "--padding", padding,
                                  "--pad-in-softmax", "true" if padding == "max" else "false", "--cuda-graphs", str(graphs).lower(),
                                  "--max-steps", LAST, "--log-every", LAST, "--clip", 1, "--trace", f"{FIRST}-{LAST}", "--output", place], deadline_s)
        if training.exit_code is None:
            rows.append(unended(name, training))
        elif training.exit_code != 0:
            rows.append(row(name, "failed", why=training.last_words()))
        else:
            values = of_a_step(json.loads((place / "trace/rank-0.json").read_text())["traceEvents"], LAST - FIRST + 1)
            rows.append(row(name, "passed", **values) if values else row(name, "not measured", why=training.errors.strip() or "the trace has no kernels"))
        shutil.rmtree(place, ignore_errors=True)
    return None


def of_a_step(events, steps):
    """Means over the steps of a trace; None without kernels. `idle_ms`: while the first kernel has begun and the last one has not ended, nothing ran."""
    pieces = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    kernels = [event for event in pieces if event["cat"] == "kernel"]
    if not kernels:
        return None
    busy_us, end_us = 0.0, 0.0
    for begin_us, piece_end_us in sorted((float(event["ts"]), float(event["ts"]) + float(event["dur"])) for event in pieces):
        busy_us += max(0.0, piece_end_us - max(begin_us, end_us))
        end_us = max(end_us, piece_end_us)
    span_us = end_us - min(float(event["ts"]) for event in pieces)
    spent = collections.defaultdict(lambda: [0.0, 0])
    for event in kernels:
        spent[event["name"]][0] += float(event["dur"]) / 1000 / steps
        spent[event["name"]][1] += 1
    longest = sorted(spent.items(), key=lambda item: -item[1][0])[:LONGEST]
    count = lambda category: round(sum(event["cat"] == category for event in pieces) / steps, 1)  # noqa: E731
    return {"kernels": count("kernel"), "copies": count("gpu_memcpy"), "memsets": count("gpu_memset"), "span_ms": round(span_us / 1000 / steps, 3),
            "busy_ms": round(busy_us / 1000 / steps, 3), "idle_ms": round((span_us - busy_us) / 1000 / steps, 3),
            "host_waits": round(sum(event.get("name") in ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize") for event in events) / steps, 1),
            "longest_kernels": [f"{milliseconds:.2f} ms in {number / steps:.0f}: {name[:110]}" for name, (milliseconds, number) in longest]}
