"""Outputs as programs write them (tests/data/cases): numbers, logs and tables give the values of want.json by documented keys."""
import json
import math
import pathlib
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

CASES = ROOT / "tests/data/cases"


class Cases(StudyTest):
    def read(self, case, files, more="", entry=""):
        """Imports each file with its metrics (lines of YAML). Returns by file a dict of outcome, reason, metrics, units, series
        and warnings."""
        folder = self.folder / case
        folder.mkdir()
        text = f"experiment: case\ncommand: ['true']\nmatrix: {{file: [{', '.join(files)}]}}\n{more}import:\n"
        for name, metrics in files.items():
            text += f"  - files: '{CASES / case / name}'\n    run: {{file: {name}}}\n{entry}    metrics:\n"
            text += "".join(f"      - {{file: '*{pathlib.Path(name).suffix}', {metric}}}\n" for metric in metrics)
        (folder / "case.yaml").write_text(text)
        self.hpcbench("report", "case.yaml", cwd=folder, code=None)
        with sqlite3.connect(folder / "results/hpcbench.db") as database:
            database.row_factory = sqlite3.Row
            rows = database.execute("SELECT * FROM attempt").fetchall()
            series = database.execute("SELECT id, name, points FROM series").fetchall()
        found = {}
        for row in rows:
            points = {each["name"]: json.loads(each["points"]) for each in series if each["id"] == row["id"]}
            found[json.loads(row["axes"])["file"]] = {
                "outcome": row["state"], "reason": row["reason"], "metrics": json.loads(row["metrics"] or "{}"),
                "units": json.loads(row["units"] or "{}"), "series": points, "warnings": json.loads(row["warnings"] or "[]")}
        return found

    def check(self, case, files, left_out=(), **more):
        """Compares what metrics and series named as in want.json give with its values; `left_out` names the others."""
        found = self.read(case, files, **more)
        values, series = {}, {}
        for reading in found.values():
            values.update(reading["metrics"])
            series.update(reading["series"])
        told = "\n".join(str(reading["warnings"]) for reading in found.values())
        for want in json.loads((CASES / case / "want.json").read_text())["values"]:
            name = want["name"].replace("^", "_")
            if name in left_out:
                continue
            with self.subTest(case=case, name=name):
                if want["value"] is None:
                    self.assertNotIn(name, values)
                elif isinstance(want["value"], list):
                    self.assertEqual(series.get(name), want["value"], told)
                else:
                    self.assertIn(name, values, told)
                    self.assertTrue(math.isclose(values[name], want["value"], rel_tol=1e-12 if len(str(want["value"])) < 12 else 1e-9), f"{values[name]}: {want}\n{told}")
        return found

    def test_01_thousands(self):
        self.check("01-thousands-after-tps", {"train.log": [
            r"name: tokens_per_s, pattern: 'tps: ([0-9.,]+)', unit: tokens/s",
            r"name: tokens_per_s_median, pattern: 'tps: (\d+)', unit: tokens/s, take: median, skip: 1",
            r"name: tflops, pattern: 'tflops: ([0-9.]+)', unit: TFLOP/s",
            r"name: memory_gib, pattern: 'memory: ([0-9.]+)GiB', unit: GiB",
            r"name: mfu_percent, pattern: 'mfu: (\S+)', unit: '%'"]})

    def test_02_colours(self):
        found = self.check("02-colours-two-ranks", {"train.log": [
            r"name: loss, pattern: '^\[rank0\].*loss: +(\S+)'",
            r"name: loss_points, pattern: '^\[rank0\].*loss: +(\S+)', take: count",
            r"name: loss_series, pattern: '^\[rank0\].*step: +(?P<step>\d+) +loss: +(?P<loss_series>\S+)', index: step, series: step",
            r"name: tokens_per_s, pattern: '^\[rank0\].*tps: (\S+)', unit: tokens/s",
            r"name: tokens_per_s_rank3, pattern: '^\[rank(?P<rank>\d+)\].*tps: (\S+)', unit: tokens/s, where: {rank: 3}",
            r"name: points_of_rank_0, pattern: '^\[rank(?P<rank>\d+)\].*loss: +(\S+)', where: {rank: 0}, take: count",
            r"name: memory_gib, pattern: 'memory: ([0-9.]+)GiB', unit: GiB, take: max",
            r"name: mfu_percent, pattern: '^\[rank0\].*mfu: (\S+)$', unit: '%'"]})
        self.assertEqual(found["train.log"]["metrics"]["points_of_rank_0"], 6)
        self.assertIn("metric mfu_percent: all of its 6 values are absent, the first `N/A`", found["train.log"]["warnings"])

    def perf(self, which, number):
        return [rf"name: {name}_{which}, pattern: '{pattern.format(number)}'{more}" for name, pattern, more in [
            ("task_clock_ms", "^ +({}) msec task-clock", ", unit: ms"), ("context_switches", "^ +({}) +context-switches", ""),
            ("cpus_utilized", "# +({}) CPUs utilized", ""), ("cycles", "^ +({}) +cycles", ""),
            ("insn_per_cycle", "# +({}) +insn per cycle", ""), ("branch_misses", "^ +({}) +branch-misses", ""),
            ("elapsed_s", "^ +({}) seconds time elapsed", ", unit: s"), ("llc_load_misses", "^ +({}) +LLC-load-misses", "")]]

    def test_03_decimal_comma(self):
        # The files decide; so does the declared mark, on a metric or on the import.
        files = {f"perf-{which}.txt": self.perf(which, r"[0-9.,]+") for which in ("de", "en")}
        self.check("03-perf-decimal-comma", files)

    def test_03_decimal_comma_declared(self):
        files = {"perf-de.txt": [f"{metric}, decimal: comma" for metric in self.perf("de", r"[0-9.,]+")]}
        found = self.read("03-perf-decimal-comma", files)["perf-de.txt"]["metrics"]
        self.assertEqual((found["context_switches_de"], found["task_clock_ms_de"]), (1204, 9318.27))

    def test_03_decimal_comma_of_the_import(self):
        files = {"perf-de.txt": self.perf("de", r"[0-9.,]+")}
        found = self.read("03-perf-decimal-comma", files, entry="    decimal: comma\n")["perf-de.txt"]["metrics"]
        self.assertEqual((found["context_switches_de"], found["cpus_utilized_de"]), (1204, 3.884))
        self.folder = self.folder / "point"
        self.folder.mkdir()
        found = self.read("03-perf-decimal-comma", files, entry="    decimal: point\n")["perf-de.txt"]
        self.assertNotIn("task_clock_ms_de", found["metrics"])
        self.assertIn("the first `9.318,27` at perf-de.txt:5: not a number with a decimal point", str(found["warnings"]))

    def test_04_progress_bars(self):
        self.check("04-progress-bar-and-dictionary", {
            "train.log": [
                r"name: eval_loss_series, pattern: '^\{.eval_loss.: (?P<eval_loss_series>[0-9.]+).*.epoch.: (?P<epoch>[0-9.]+)', index: epoch, series: epoch",
                r"name: loss_series, pattern: '^\{.loss.: (?P<loss_series>[0-9.]+).*.epoch.: (?P<epoch>[0-9.]+)', index: epoch, series: epoch",
                r"name: learning_rate, pattern: '.learning_rate.: ([0-9.]+)'",
                r"name: train_runtime_s, pattern: '.train_runtime.: ([0-9.]+)'"],
            "quoted.log": [
                r"name: loss_quoted, pattern: '^\{.loss.: .?([0-9.]+)'",
                r"name: learning_rate_quoted, pattern: '.learning_rate.: .?([0-9.e-]+)'",
                r"name: eval_loss_quoted, pattern: '^\{.eval_loss.: .?([0-9.]+)'"]})

    def test_05_durations(self):
        stages = ["fetch", "tokenize", "compile", "train", "export", "check", "clean", "upload"]
        for number in ("(.*)", "([0-9.]+)"):  # the whole text, or a pattern that takes only its beginning
            with self.subTest(number=number):
                files = {"stages.log": [rf"name: {s}_s, pattern: '^stage {s} +finished in {number}', unit: s" for s in stages] + [
                    rf"name: all_stages_s, pattern: 'finished in {number}', unit: s, take: sum"]}
                for nodes in (1, 4, 16, 64):
                    files[f"pw-{nodes}.out"] = [rf"name: wall_s_{nodes}_nodes, pattern: 'PW.LIKE +: .*CPU +{number.replace('*', '*?')} *WALL', unit: s"]
                if number != "(.*)":
                    files = {"stages.log": files["stages.log"]}
                left_out = [f"speedup_{n}_nodes" for n in (4, 16, 64)] + ([] if number == "(.*)" else [f"wall_s_{n}_nodes" for n in (1, 4, 16, 64)])
                self.check("05-durations-in-text", files, left_out)
            self.folder = self.folder / "again"
            self.folder.mkdir()

    def speedups(self, case, name, nodes, metric):
        text = f"experiment: case\ncommand: ['true']\nmatrix: {{nodes: {nodes}}}\nbaseline: {{nodes: 1}}\nreport: {{metric: time_s}}\nimport:\n"
        text += "".join(f"  - {{files: '{CASES / case / name.format(n)}', run: {{nodes: {n}}}}}\n" for n in nodes)
        self.write("case.yaml", text + f"metrics:\n  - {{name: time_s, file: '*', {metric}}}\n")
        return {row["axes"]["nodes"]: row["speedup"]["value"]
                for row in self.report("case.yaml")["rows"]}

    def test_05_speedups(self):
        found = self.speedups("05-durations-in-text", "pw-{}.out", [1, 4, 16, 64], r"pattern: 'PW.LIKE +: .*CPU +(.*) WALL', unit: s")
        for nodes, want in ((4, 3.7778), (16, 13.855), (64, 79.456)):
            self.assertAlmostEqual(found[nodes], want, delta=want * 2e-4)

    def test_06_numbers_as_texts(self):
        tag = "where: {tag: kb/cold/time/gpu/mean}"
        base = "pointer: /benchmarks/0/states/*/summaries/*/data/0/value"
        self.check("06-numbers-as-json-strings", {"kernels.json": [
            f"name: gpu_mean_s, {base}, {tag}, unit: s, index: /benchmarks/0/states/*/name, series: size",
            f"name: gpu_mean_s_2_22, {base.replace('states/*', 'states/1')}, {tag}, unit: s",
            f"name: samples_2_22, {base.replace('states/*', 'states/1')}, where: {{tag: kb/cold/sample_size}}",
            f"name: states_with_value, {base}, {tag}, take: count"]})

    def test_07_not_finite(self):
        found = self.check("07-serving-nan-json", {
            "result.json": [f"name: {name}, pointer: /{name}" for name in ("request_throughput", "median_ttft_ms", "mean_tpot_ms", "request_rate")] +
                           ["name: duration_s, pointer: /duration"],
            "serve.log": [
                r"name: request_throughput_log, pattern: 'Request throughput \(req/s\): +(\S+)', unit: req/s",
                r"name: output_tokens_per_s_log, pattern: 'Output token throughput \(tok/s\): +(\S+)', unit: tokens/s",
                r"name: generated_tokens_log, pattern: 'Total generated tokens: +(\d+)'",
                r"name: median_ttft_ms_log, pattern: 'Median TTFT \(ms\): +(\S+)', unit: ms",
                r"name: p99_tpot_ms_log, pattern: 'P99 TPOT \(ms\): +(\S+)', unit: ms"]})
        self.assertIn("metric mean_tpot_ms: 1 of 1 value is not finite, the first is `NaN` at result.json:1", str(found["result.json"]["warnings"]))

    def test_08_units(self):
        for pattern in ("([0-9.]+) ?(?P<unit>[A-Za-z]+)", "(.*)", "([0-9.]+)"):
            with self.subTest(pattern=pattern):
                sent = pattern if pattern != "(.*)" else "([0-9.]+ [A-Za-z]+)"
                self.check("08-sizes-with-changing-units", {
                    "mem.log": [
                        rf"name: peak_memory_bytes, pattern: 'peak memory {pattern}', unit: bytes, take: max",
                        rf"name: peak_load_bytes, pattern: 'load +peak memory {pattern}', unit: bytes",
                        rf"name: peak_save_bytes, pattern: 'save +peak memory {pattern}', unit: bytes",
                        rf"name: sent_bytes_last, pattern: 'sent {sent}', unit: bytes",
                        rf"name: sent_bytes_first, pattern: 'sent {sent}', unit: bytes, take: first"],
                    "rss.txt": [
                        rf"name: max_rss_bytes, pattern: '^\S+ +{pattern}$', unit: bytes, take: max" if pattern != "([0-9.]+)" else
                        r"name: max_rss_bytes, pattern: '^\S+ +([0-9.]+)', unit: bytes, take: max",
                        rf"name: batch_rss_bytes, pattern: '^batch +{pattern}', unit: bytes"]})
            self.folder = self.folder / "again"
            self.folder.mkdir()

    def test_08_units_without_a_declared_one(self):
        found = self.read("08-sizes-with-changing-units", {"mem.log": [r"name: sent, pattern: 'sent ([0-9.]+)', take: max"]})["mem.log"]
        self.assertEqual((found["metrics"]["sent"], found["units"]["sent"]), (2040000, "kB"))

    def test_09_seff_and_time(self):
        cpu, wall = r"pattern: 'CPU Utilized: (\S+)', unit: s", r"pattern: 'Job Wall-clock time: (\S+)', unit: s"
        seff = {name: [f"name: wall_s_{name[0]}, {wall}", f"name: cpu_s_{name[0]}, {cpu}",
                       rf"name: cpu_efficiency_percent_{name[0]}, pattern: 'CPU Efficiency: (\S+)', unit: '%'"] for name in ("a.seff", "b.seff")}
        seff["a.seff"].append(r"name: memory_a, pattern: 'Memory Utilized: ([0-9.]+ \w+)', unit: bytes, absent: [0]")
        seff["b.seff"].append(r"name: memory_gb_b, pattern: 'Memory Utilized: ([0-9.]+ \w+)', unit: GB")
        seff["c.seff"] = [r"name: wall_s_c, pattern: 'Job Wall-time: +\S+ +(\S+)', unit: s", r"name: cpu_s_c, pattern: 'CPU Utilisation: +\S+ +(\S+)', unit: s",
                          r"name: memory_mb_c, pattern: 'Mem Utilisation: +\S+ +([0-9.]+ \w+)', unit: MB", r"name: gpu_percent_c, pattern: 'GPU Utilisation: +(\d+ *%)', unit: '%'"]
        seff["short.time"] = ["name: elapsed_s_short, time: real", "name: max_rss_kb_short, pattern: 'Maximum resident set size .kbytes.: (.*)', unit: kB",
                              r"name: cpu_percent_short, pattern: 'Percent of CPU this job got: (.*)', unit: '%'"]
        seff["long.time"] = [r"name: elapsed_s_long, pattern: 'Elapsed \(wall clock\) time \(h:mm:ss or m:ss\): (.*)', unit: s"]
        found = self.check("09-seff-and-time-v", seff, ["outcome_a", "outcome_c", "outcome_long"], more="report: {metric: cpu_s_b}\n")
        self.assertEqual((found["a.seff"]["outcome"], found["c.seff"]["outcome"]), ("out_of_memory", "timeout"))

    def test_10_members_are_steps(self):
        loss, time = "pointer: /lm loss/values", "pointer: /iteration-time/values"
        self.check("10-json-keyed-by-step", {"golden.json": [
            f"name: lm_loss_series, {loss}/*, index: '*', series: step, absent: [nan]", f"name: lm_loss_at_60, {loss}/60", f"name: lm_loss_at_31, {loss}/31",
            f"name: iteration_s_median, {time}/*, unit: s, take: median, skip: 1", f"name: iteration_s_first, {time}/*, unit: s, take: first, absent: [nan]"]})

    def test_11_preambles(self):
        gather, fio = "header: '^.\"identifier', unit: GB/s", "header: '^.$'"
        found = self.check("11-json-after-a-preamble", {
            "gather.log": [f"name: busbw_gb_per_s, pointer: /benchmark/0/*/oop_busbw, index: '*', series: size, {gather}",
                           f"name: busbw_at_64mib, pointer: /benchmark/0/67108864/oop_busbw, {gather}",
                           f"name: busbw_in_place_at_64mib, pointer: /benchmark/0/67108864/ip_busbw, {gather}"],
            "fio.out": [f"name: read_iops, pointer: /jobs/0/read/iops, {fio}", f"name: read_bw, pointer: /jobs/0/read/bw, unit: KiB/s, {fio}",
                        f"name: read_p99_ns, pointer: /jobs/0/read/clat_ns/percentile/99.000000, unit: ns, {fio}", f"name: write_iops, pointer: /jobs/0/write/iops, {fio}"]},
            ["read_bw_bytes_per_s"])
        self.assertEqual(found["fio.out"]["metrics"]["read_bw"] * 1024, 1919183872)

    def test_12_changing_keys(self):
        self.check("12-json-lines-with-changing-keys", {"trainer_log.jsonl": [
            "name: elapsed_s, pointer: /elapsed_time, unit: s", "name: loss, pointer: /loss", "name: loss_series, pointer: /loss, index: current_steps, series: step",
            "name: eval_loss_series, pointer: /eval_loss, index: current_steps, series: step", "name: tokens, pointer: /total_tokens",
            "name: tokens_per_s_whole_run, pointer: /throughput", "name: tokens_per_s_while_training, pointer: /throughput, where: {current_steps: 120}"]})

    def test_13_dialects(self):
        found = self.check("13-csv-dialects", {
            "semi.csv": ["name: step_ms_median, column: step_ms, take: median, unit: ms", "name: step_ms_run_4, column: step_ms, where: {run: 4}, unit: ms",
                         "name: gpu_util_run_1, column: gpu_util, where: {run: 1}, unit: '%'"],
            "tabs.tsv": ["name: gemm_p99_ns, column: p99, where: {kernel: gemm}, unit: ns", "name: softmax_last_ns, column: last, where: {kernel: softmax}, unit: ns",
                         "name: norm_mean_ns, column: mean, where: {kernel: norm}, unit: ns", "name: mean_ns, column: mean, unit: ns, index: kernel, series: kernel"],
            "cells.csv": ["name: time_s, column: time_s, unit: s, index: name, series: name", "name: threads_wide, column: env/THREADS, where: {name: wide}"]})
        self.assertEqual(found["cells.csv"]["metrics"]["time_s"], 7.125)

    def test_15_header_again(self):
        found = self.check("15-csv-header-again", {"metrics.csv": [
            "name: train_loss_series, column: train_loss, index: step, series: step", "name: train_loss, column: train_loss",
            "name: val_map_series, column: val_map, index: step, series: step", "name: val_map, column: val_map",
            "name: losses, column: train_loss, index: step, series: step, take: count"]}, ["steps_redone"])["metrics.csv"]
        self.assertEqual(found["metrics"]["losses"], 10)
        self.assertIn("metric train_loss_series: `step` goes back 1 time, first from 60 to 50 at metrics.csv:9: 2 earlier values do not count, "
                      "since their indexes occur again; `take` of a metric without `index` is of all", found["warnings"])

    def test_16_contexts(self):
        test = "context: '^# begin test: (?P<test>.*)', index: test, series: test"
        problem = r"context: '^WR\S+ +(?P<N>\d+) +(?P<NB>\d+) +(?P<P>\d+) +(?P<Q>\d+)', index: N NB P Q, series: problem"
        self.check("16-io-test-sections", {
            "io.out": [rf"name: max_write_mib_per_s, pattern: '^Max Write: (\S+) MiB', unit: MiB/s, {test}", rf"name: max_read_mib_per_s, pattern: '^Max Read: +(\S+) MiB', unit: MiB/s, {test}",
                       rf"name: remove_s, pattern: '^remove.* (\S+) +\d+$', unit: s, {test}"],
            "lin.out": [rf"name: gflops, pattern: '^WR.* (\S+)$', {problem}", rf"name: residual, pattern: '^residual = (\S+)', {problem}"]}, ["write_posix_own"])

    def test_17_glued_columns(self):
        case = "17-glued-columns"
        nodes = [1, 2, 4, 8, 16]
        files = {f"bulk-{n}n.out": [rf"name: loop_plus_real_s_{n}n, pattern: 'LOOP\+:.*real time *([0-9.]+)', unit: s"] for n in nodes}
        files["bulk-1n.out"].append(r"name: max_memory_kb_1n, pattern: 'Maximum memory used \(kb\): +(\S+)', unit: kB")
        self.check(case, files, [f"speedup_{n}n" for n in nodes])
        found = self.speedups(case, "bulk-{}n.out", nodes, r"pattern: 'LOOP\+:.*real time *([0-9.]+)', unit: s")
        for n, want in ((2, 1.9705), (4, 3.8839), (8, 7.1114), (16, 12.627)):
            self.assertAlmostEqual(found[n], want, delta=want * 1e-4)

    def test_18_records_twice(self):
        step = r"pattern: 'Timing for main: time (?P<time>\S+) on domain +1: +([0-9.]+) elapsed seconds', unit: s, index: time, series: time"
        write = r"pattern: 'Timing for Writing (?P<file>\S+) for domain +1: +([0-9.]+) elapsed seconds', unit: s"
        found = self.check("18-same-record-twice", {"model.log": [
            f"name: steps, {step.replace(', unit: s', '')}, take: count", f"name: step_s_mean_without_first, {step}, take: mean, skip: 1",
            f"name: step_s_median, {step}, take: median, skip: 1", f"name: first_step_s, {step}, take: first", f"name: sum_step_s, {step}, take: sum",
            f"name: write_s, {write}, take: sum, index: file, series: file",
            r"name: all_s, pattern: 'Timing for main: .* ([0-9.]+) elapsed', unit: s, take: sum"]}, ["write_s"])["model.log"]
        self.assertIn("metric sum_step_s: its 40 values are 20 values that stand there several times with one index: each counts once", found["warnings"])
        self.assertIn("metric all_s: its 40 values are 20 values twice, all of them again at the end, and all of them count: "
                      "with an `index` and a `series` each counts once", found["warnings"])

    def test_19_restart(self):
        line = r"pattern: 'iteration +(?P<step>\d+)/.*{}: +([0-9.E+-]+) ', index: step, series: step"
        loss, time = line.format("lm loss"), line.format(r"per iteration \(ms\)") + ", unit: ms"
        found = self.check("19-steps-restart-after-resume", {"train.log": [
            f"name: points, {loss}, take: count", f"name: lm_loss_series, {loss}", r"name: lm_loss_at_56, pattern: 'iteration +56/.*lm loss: +(\S+)'",
            f"name: iteration_ms_median, {time}, take: median", f"name: sum_ms, {time}, take: sum", r"name: samples, pattern: 'consumed samples: +(\d+)'",
            f"name: highest, {loss}, take: max"]}, ["kept_s", "steps_redone"])["train.log"]
        self.assertAlmostEqual(found["metrics"]["sum_ms"] * 2 / 1000, 53.4254)
        self.assertIn("metric points: `step` goes back 1 time, first from 60 to 50 at train.log:18: 6 earlier values do not count, "
                      "since their indexes occur again; `take` of a metric without `index` is of all", found["warnings"])

    def test_20_its_own_source(self):
        loss = r"pattern: 'val_loss:\D*([0-9.]+)', header: '^====='"
        self.check("20-log-begins-with-its-source", {"run.txt": [
            rf"name: val_loss_min, {loss.replace('val', '^it:.*val')}, take: min",
            r"name: val_loss, pattern: '^it:.*val_loss:(\S+)'",
            r"name: val_loss_series, pattern: 'it:(?P<step>\d+)/\d+ val_loss:(\S+)', index: step, series: step",
            r"name: clock_ms, pattern: 'clock:(\S+)ms', unit: ms, header: '^====='", r"name: mean_ms, pattern: 'mean:(\S+)ms', unit: ms, header: '^====='",
            r"name: peak_memory_mib, pattern: 'peak memory (\d+) MiB', unit: MiB",
            f"name: lowest, {loss}, take: min"]})

    def test_21_unknown_rates_and_cut_lines(self):
        # Iterations that hold an evaluation are not told apart: their median is left out.
        step = r"pattern: '^step +\d+/\d+ .*\| ([0-9.]+) ms \|', unit: ms"
        mfu = r"pattern: 'mfu ([-0-9.]+)%', unit: '%', absent: [-100]"
        self.check("21-evaluation-inside-iteration-times", {
            "nano.log": [r"name: iter_ms_mean_all, pattern: '^iter .*time ([0-9.]+)ms', unit: ms, take: mean", f"name: mfu_percent, {mfu}",
                         f"name: mfu_points, {mfu}, take: count",
                         r"name: val_loss_series, pattern: '^step (?P<step>\d+): .*val loss (\S+)', index: step, series: step"],
            "c.log": [f"name: step_ms_median, {step}, take: median, skip: 1", r"name: tokens_per_s, pattern: '(\d+) tok/s', unit: tokens/s",
                      r"name: mfu_percent_c, pattern: '([-0-9.]+)% bf16 MFU', unit: '%', absent: [-100]",
                      r"name: last_loss_c, pattern: '^step .*\| loss ([0-9.]+)'"]}, ["iter_ms_median"])

    def test_22_not_run(self):
        mean = r"pattern: '^ *File {} *: +\S+ +\S+ +([0-9.]+) +\S+$', unit: 1/s"
        nodes = [1, 2, 4, 8, 16]
        files = {f"meta-{n}.log": [f"name: create_per_s_{n}, {mean.format('creation')}", f"name: read_per_s, {mean.format('read')}, absent: [0]",
                                   r"name: create_spread, pattern: '^ *File creation *: .* ([0-9.]+)$', unit: 1/s, absent: [0]"] for n in nodes}
        found = self.check("22-zero-means-not-run", files, [f"create_speedup_{n}" for n in nodes], more="success: {pattern: '^SUMMARY'}\n")
        self.assertIn("metric read_per_s: all of its 1 value is absent, the first `0.000`", found["meta-1.log"]["warnings"])
        self.assertEqual((found["meta-8.log"]["outcome"], found["meta-16.log"]["outcome"]), ("succeeded", "failed"))
        self.assertEqual(found["meta-16.log"]["metrics"], {})

    def test_23_invalid(self):
        found = self.check("23-exit-0-but-invalid", {"summary.txt": [
            r"name: samples_per_s, pattern: '^Completed samples per second +: (\S+)', unit: 1/s",
            r"name: p99_ms, pattern: '^99.00 percentile latency .ns. +: (\d+) *$', unit: ns"]},
            ["outcome_summary", "outcome_a", "outcome_b", "p99_ms", "p99_over_target", "train_s_a", "accuracy_a", "train_s_b"],
            more="success: {pattern: '^Result is : VALID'}\n")["summary.txt"]
        self.assertEqual((found["outcome"], found["metrics"]["p99_ms"]), ("failed", 168302917))
        self.folder = self.folder / "training"
        self.folder.mkdir()
        start = r"name: start_ms, pattern: '.time_ms.: (\d+), .*.key.: .run_start.', unit: ms"
        stop = r"name: stop_ms, pattern: '.time_ms.: (\d+), .*.key.: .run_stop.*.status.: .(?P<status>\w+)', unit: ms, where: {status: success}"
        accuracy = r"name: accuracy, pattern: '.key.: .eval_accuracy., .value.: ([0-9.]+)'"
        found = self.read("23-exit-0-but-invalid", {f"train-{which}.log": [start, stop, accuracy] for which in "ab"},
                          more="success: {pattern: 'run_stop.*.status.: .success'}\nreport: {metric: accuracy}\nmetrics:\n" +
                          "".join(f"  - {{{each}}}\n" for each in (f"file: '*', {start}", f"file: '*', {stop}", "name: train_s, formula: (stop_ms - start_ms) / 1000, unit: s")))
        a, b = found["train-a.log"], found["train-b.log"]
        self.assertEqual((a["outcome"], a["metrics"]["train_s"], a["metrics"]["accuracy"]), ("succeeded", 561.907, 0.7209))
        self.assertEqual(b["outcome"], "failed")
        self.assertNotIn("train_s", b["metrics"])


if __name__ == "__main__":
    unittest.main()
