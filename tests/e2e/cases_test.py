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

    def test_02_rank(self):
        found = self.read("02-colours-two-ranks", {"train.log": [r"name: points, pattern: 'loss: +(\S+)', rank: '^\[rank(\d+)\]', take: count"]})["train.log"]
        self.assertEqual(found["metrics"]["points"], 6)
        self.assertRegex(str(found["warnings"]), r"lines of rank 0 count; \d+ values of other ranks, the first of rank 3, do not")

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

    def test_20_without_a_header(self):
        found = self.read("20-log-begins-with-its-source", {"run.txt": [r"name: lowest, pattern: 'val_loss:\D*([0-9.]+)', take: min"]})["run.txt"]
        self.assertEqual(found["metrics"]["lowest"], 3.1042)  # of a comment in the source, but not 0.3: the warning tells
        self.assertIn("metric lowest: 2 matches are no numbers, the first `.4f` at run.txt:5: it is part of a format, as in a program's source: "
                      "`header` names the line where the log begins", found["warnings"])

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

    def test_23_invalid_without_a_rule(self):
        found = self.read("23-exit-0-but-invalid", {"summary.txt": [r"name: p99_ms, pattern: '^99.00 percentile latency .ns. +: (\d+) *$', unit: ns"]})["summary.txt"]
        self.assertIn("summary.txt has `Result is : INVALID`: the program calls its result invalid; `success: {pattern: ...}` names what a good run prints",
                      found["warnings"])

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

    def imported(self, case, text, runs=None):
        """Imports by `text`, an experiment file without its first lines, in which CASE is the case's folder. Returns the report as
        JSON, its rows by point; checks the number of runs of `ingest --dry-run`, which writes nothing."""
        folder = self.folder / f"{case}-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        (folder / "case.yaml").write_text("experiment: case\n" + text.replace("CASE", str(CASES / case)))
        self.tried = self.hpcbench("ingest", "--experiment", "case.yaml", "--dry-run", cwd=folder)
        self.assertFalse((folder / "results").exists())
        done = self.hpcbench("report", "case.yaml", "--format", "json", cwd=folder)
        self.told = self.tried.stderr + done.stderr
        report = json.loads(done.stdout)
        self.warnings = json.dumps(report["warnings"])
        self.attempts = self.read_attempts(folder)
        if runs is not None:
            self.assertEqual(len(self.attempts), runs)
            self.assertEqual(len(self.tried.stdout.splitlines()) - 1, runs)
        return {tuple(str(value) for name, value in row["axes"].items() if f"{name}: [" in text): row for row in report["rows"]}

    def read_attempts(self, folder):
        with sqlite3.connect(folder / "results/hpcbench.db") as database:
            database.row_factory = sqlite3.Row
            rows = database.execute("SELECT * FROM attempt").fetchall()
            series = {(row["id"], row["name"]): json.loads(row["points"]) for row in database.execute("SELECT id, name, points FROM series")}
        return [{"outcome": row["state"], "axes": json.loads(row["axes"]), "metrics": json.loads(row["metrics"] or "{}"), "facts": json.loads(row["facts"] or "{}"),
                 "series": {name: points for (run, name), points in series.items() if run == row["id"]}} for row in rows]

    def assert_close(self, value, want):
        self.assertTrue(math.isclose(value, want, rel_tol=1e-4), f"{value}, not {want}")

    def test_14_perflog(self):
        rows = self.imported("14-results-of-other-runners", """
matrix: {threads: [16, 32, 64]}
report: {metric: triad_mb_per_s}
import:
  - table: CASE/perflog.log
    columns: {threads: variables/OMP_NUM_THREADS, run: info, triad_mb_per_s: triad_value, copy_mb_per_s: copy_value}
    unit: {triad_mb_per_s: {column: triad_unit}}
""", runs=3)
        self.assertEqual([rows[n,]["median"] for n in ("16", "32", "64")], [201533.7, 348120.2, None])
        self.assertEqual([each["metrics"].get("copy_mb_per_s") for each in self.attempts], [188204.1, 331907.9, None])
        self.assertEqual(self.attempts[2]["metrics"], {})  # null is no 0

    def test_14_jube(self):
        rows = self.imported("14-results-of-other-runners", """
zip: [{nodes: [1, 2, 4, 4], ranks_per_node: [64, 64, 64, 128]}]
baseline: {nodes: 1}
report: {metric: time_s}
import:
  - table: CASE/result.csv
    columns: {nodes: nodes, ranks_per_node: tasks_per_node, time_s: "time_avg[s]", note: note}
""", runs=4)
        self.assertEqual([row["median"] for row in rows.values()], [412.66, 219.318, None, 131.045])
        self.assertEqual(rows["4", "64"]["outcomes"], {"succeeded": 0, "failed": 1})
        self.assert_close(rows["2", "64"]["speedup"]["value"], 1.8816)

    def test_14_ramble(self):
        rows = self.imported("14-results-of-other-runners", """
matrix: {nodes: [1, 2, 4]}
baseline: {nodes: 1}
report: {metric: total_s}
import:
  - table: CASE/ramble.json
    rows: /experiments/*
    columns:
      nodes: RAMBLE_VARIABLES/n_nodes
      run: name
      total_s: "CONTEXTS/[name=null]/foms/[name=Total time]/value"
      solve_s: "CONTEXTS/[name=phase: solve]/foms/[name=Phase time]/value"
    outcome: {column: RAMBLE_STATUS, is: {SUCCESS: succeeded, FAILED: failed}}
""", runs=3)
        self.assertEqual([row["median"] for row in rows.values()], [96.41, 53.97, None])
        self.assertEqual([each["metrics"].get("solve_s") for each in self.attempts], [84.03, 43.11, None])
        self.assert_close(rows["2",]["speedup"]["value"], 1.7864)
        self.assertIn("left out, as `columns` does not name them: CONTEXTS/*/foms/*/name", self.told)

    def test_24_nan(self):
        line = r"pattern: 'global_step=(?P<step>\d+), loss=(?P<{}>[0-9.]+)'"
        found = self.check("24-loss-becomes-nan", {"train.log": [
            f"name: loss, {line.format('loss')}", f"name: last_finite_loss, {line.format('last_finite_loss')}, absent: [nan]",
            f"name: loss_points, {line.format('loss_points')}, take: count, index: step, series: step",
            "name: samples_per_s_median, pattern: 'CurrSamplesPerSec=([0-9.]+)', unit: 1/s, take: median"]},
            ["last_finite_step", "first_nan_step", "nan_values", "outcome"], more="report: {metric: loss}\n")["train.log"]
        self.assertIn("metric loss: 14 of 30 values are not finite, the first is `nan` at train.log:18; the last value is one of them", str(found["warnings"]))
        self.assertEqual((found["series"]["loss_points"][-1][0], len(found["series"]["loss_points"])), (32, 16))
        self.folder = self.folder / "required"
        self.folder.mkdir()
        found = self.read("24-loss-becomes-nan", {"train.log": [f"name: loss, {line.format('loss')}"]},
                          more=f"metrics: [{{file: '*', name: loss, {line.format('loss')}}}]\nreport: {{metric: loss}}\nsuccess: {{require: [loss < 1e300]}}\n")["train.log"]
        self.assertEqual(found["outcome"], "failed")

    def test_25_names(self):
        rows = self.imported("25-axes-in-folder-names", """
matrix: {batch: [16, 64], nodes: [1, 4]}
baseline: {nodes: 1}
report: {metric: step_ms}
import:
  - files: "CASE/runs/run_bs{batch}_lr{lr}_n{nodes}_seed{repeat}/log.txt"
    metrics: [{name: step_ms, pattern: 'mean step (\\S+) ms', unit: ms}]
""", runs=12)
        self.assertEqual({point: row["median"] for point, row in rows.items()},
                         {("16", "1"): 132.3, ("16", "4"): 40.4, ("64", "1"): 402.8, ("64", "4"): 112.2})
        for batch, want in (("16", 3.2748), ("64", 3.59)):
            self.assert_close(rows[batch, "1"]["median"] / rows[batch, "4"]["median"], want)
        self.assertEqual({(each["axes"]["batch"], each["facts"]["lr"]) for each in self.attempts}, {(16, "1e-4"), (64, "4e-4")})
        self.assertRegex(self.warnings, r"outlier.*i0\d \(repeat 2\) = 463, median 112")

    def test_25_wrong_names(self):
        self.write("case.yaml", f"""experiment: case
matrix: {{batch: [16, 32], nodes: [1, 4]}}
import: [{{files: "{CASES}/25-axes-in-folder-names/runs/run_bs{{batch}}_lr{{lr}}_n{{nodes}}_seed{{repeat}}/log.txt", metrics: [{{name: step_ms, pattern: 'mean step (\\S+) ms'}}]}}]
""")
        told = self.hpcbench("check", "case.yaml", code=2).stderr
        self.assertIn("run_bs64_lr4e-4_n1_seed1/log.txt: error: no point has batch=64 (there are: 16, 32)", told)
        self.assertIn("its path gives batch=64, lr=4e-4, nodes=1, repeat=1", told)

    def test_26_tracker_export(self):
        rows = self.imported("26-tracker-csv-export", """
matrix: {gpus_per_node: [1, 4]}
baseline: {gpus_per_node: 1}
report: {metric: runtime_s}
import:
  - table: CASE/export.csv
    columns: {gpus: gpus, runtime_s: Runtime, tokens_per_s: tokens_per_s, val_loss: val/loss, run: Name, "fact:optimizer": optimizer.name}
    outcome: {column: State, is: {finished: succeeded, crashed: failed, failed: failed, killed: cancelled, running: ignore}}
""", runs=9)
        values = {gpus: [sorted(each["metrics"][name] for each in self.attempts if each["outcome"] == "succeeded" and str(each["axes"]["gpus_per_node"]) == gpus
                                and name in each["metrics"]) for name in ("tokens_per_s", "val_loss")] for gpus in ("1", "4")}
        self.assertEqual([rows[n,]["median"] for n in ("1", "4")], [1822, 498])
        self.assertEqual((values["1"][0][1], values["1"][1][1]), (41210.4, 1.9931))
        self.assertEqual((values["4"][0][1], sum(values["4"][1]) / 2, len(values["4"][1])), (151204.7, 1.9949, 2))
        self.assert_close(rows["4",]["speedup"]["value"], 3.6586)
        self.assertEqual((rows["1",]["outcomes"], rows["4",]["outcomes"]), ({"succeeded": 3, "failed": 1}, {"succeeded": 3, "failed": 1, "cancelled": 1}))
        self.assertIn("1 line is left out, as `outcome` ignores `running`", self.told)
        self.assertIn("left out, as `columns` does not name them: Tags, batch_size, lr, _step", self.told)

    def test_26_unknown_word(self):
        self.write("case.yaml", f"""experiment: case
matrix: {{gpus_per_node: [1, 4]}}
import:
  - table: {CASES}/26-tracker-csv-export/export.csv
    columns: {{gpus: gpus, runtime_s: Runtime}}
    outcome: {{column: State, is: {{finished: succeeded, crashed: failed, failed: failed, running: ignore}}}}
""")
        self.assertIn("export.csv:11:10: error: `killed` is no word of `outcome`, which has: crashed, failed, finished, running", self.hpcbench("check", "case.yaml", code=2).stderr)

    def test_27_mlruns(self):
        rows = self.imported("27-mlruns-store", """
matrix: {gpus_per_node: [1, 2]}
baseline: {gpus_per_node: 1}
report: {metric: step_ms}
import:
  - files: "CASE/mlruns/*/{run}/metrics/*"
    run: {gpus: {file: params/gpus, pattern: .+}}
    facts: {strategy: {file: params/strategy, pattern: .+}}
    outcome: {file: meta.yaml, pointer: /status, is: {1: ignore, 3: succeeded, 4: failed, 5: cancelled}}
    metrics:
      - {name: step_ms, file: metrics/step_ms, pattern: '^\\d+ (\\S+) (?P<step>\\d+)', index: step, series: step, unit: ms}
      - {name: val_loss, file: metrics/val_loss, pattern: '^\\d+ (\\S+) \\d+'}
""", runs=5)
        self.assertEqual([rows[n,]["median"] for n in ("1", "2")], [605.46, 312.28])
        self.assert_close(rows["2",]["speedup"]["value"], 1.9388)
        losses = {n: [each["metrics"]["val_loss"] for each in self.attempts if each["outcome"] == "succeeded" and each["axes"]["gpus_per_node"] == n] for n in (1, 2)}
        self.assertEqual([round(sum(losses[n]) / 2, 6) for n in (1, 2)], [1.54795, 1.5612])
        self.assertEqual([row["outcomes"] for row in rows.values()], [{"succeeded": 2}, {"succeeded": 2, "failed": 1}])
        first = next(each for each in self.attempts if each["facts"]["run"].startswith("0a4c6e"))
        self.assertEqual(first["series"]["step_ms"], [[100, 612.4], [200, 604.18], [300, 604.91], [400, 603.77]])

    def test_28_hydra(self):
        rows = self.imported("28-hydra-multirun", """
matrix: {strategy: [ddp, fsdp], lr: [0.0001, 0.0003]}
baseline: {strategy: ddp}
report: {metric: train_s}
import:
  - files: "CASE/multirun/*/*/{run}/train.log"
    run: {strategy: {file: .hydra/config.yaml, pointer: /strategy}, lr: {file: .hydra/overrides.yaml, pattern: 'optim.lr=(.*)'}}
    facts: {batch_size: {file: .hydra/config.yaml, pointer: /batch_size}}
    outcome: {pattern: 'trained in|out of memory', is: {trained in: succeeded, out of memory: out_of_memory}}
    metrics: [{name: train_s, pattern: 'trained in (\\S+) s'}, {name: val_loss, pattern: 'validation loss (\\S+)'}]
""", runs=4)
        self.assertEqual([row["median"] for row in rows.values()], [812.44, 809.1, 655.02, None])
        self.assertEqual([each["metrics"].get("val_loss") for each in self.attempts], [0.4127, 0.398, 0.4131, None])
        self.assertEqual({each["facts"]["batch_size"] for each in self.attempts}, {"16"})
        self.assertEqual(rows["fsdp", "0.0003"]["outcomes"], {"succeeded": 0, "out_of_memory": 1})
        self.assert_close(rows["fsdp", "0.0001"]["speedup"]["value"], 1.2403)

    def test_29_suites(self):
        case = "29-benchmark-suites-json"
        rows = self.imported(case, """
matrix: {threads: [1, 4]}
baseline: {threads: 1}
report: {metric: solve_s}
import: [{table: CASE/hyperfine.json, rows: /results/*/times/*, columns: {threads: parameters/threads, solve_s: times}}]
""", runs=10)
        self.assertEqual([rows[n,]["median"] for n in ("1", "4")], [8.4187, 2.4016])
        self.assert_close(rows["1",]["median"] / rows["4",]["median"], 3.5055)
        rows = self.imported(case, """
matrix: {name: [BM_sort/1024, BM_sort/65536]}
report: {metric: sort_s}
import: [{table: CASE/gbench.json, rows: /benchmarks/*, where: {run_type: iteration}, columns: {name: run_name, sort_s: real_time}, unit: {sort_s: {column: time_unit}}}]
""", runs=6)
        self.assertEqual([round(row["median"], 12) for row in rows.values()], [8.124e-07, 6.103e-05])
        self.assertIn("8 lines are left out by `where` (run_type is iteration)", self.told)
        rows = self.imported(case, """
matrix: {n: [64, 4096]}
report: {metric: fft_s}
import: [{table: CASE/pytest.json, rows: /benchmarks/*, columns: {n: params/n, fft_s: stats/median, rounds: stats/rounds}, statistic: median}]
""", runs=2)
        self.assertEqual([(each["metrics"]["fft_s"], each["metrics"]["rounds"]) for each in self.attempts], [(3.2118e-05, 1204), (0.0022031, 430)])

    def test_29_suites_as_series(self):
        # The same by metrics of a file, as for a run of one's own.
        found = self.check("29-benchmark-suites-json", {
            "pytest.json": ["name: fft_s, pointer: /benchmarks/*/stats/median, index: /benchmarks/*/params/n, series: size, unit: s",
                            "name: fft_rounds, pointer: /benchmarks/*/stats/rounds, index: /benchmarks/*/params/n, series: size"]},
            ["solve_s", "runs threads=4", "speedup threads=4", "sort_s", "sort_n"])
        self.assertEqual(found["pytest.json"]["series"]["fft_rounds"], [[64, 1204], [4096, 430]])

    def test_30_mpi_tables(self):
        columns = r"pattern: '^ +(?P<size>\d+)(?: +[0-9.]+){%d} +([0-9.]+)$', context: '^# Benchmarking (?P<test>.*)', index: size, series: size, where: {test: %s}, absent: [0]"
        busbw = r"pattern: '^ +(?P<size>\d+) +\d+ +\w+ +\w+ +-?\d+(?: +[0-9.]+){2} +([0-9.]+)', unit: GB/s"
        self.check("30-mpi-tables", {
            "two-layouts.out": [
                f"name: pingpong_mbytes_per_s, unit: MB/s, {columns % (2, 'PingPong')}",
                f"name: allreduce_avg_us, unit: us, {(columns % (3, 'Allreduce')).replace(', absent: [0]', '')}",
                r"name: pingpong_us_at_1024, pattern: '^ +1024 +\d+ +([0-9.]+) +[0-9.]+$', unit: us",
                r"name: allreduce_avg_us_at_4mib, pattern: '^ +4194304(?: +[0-9.]+){3} +([0-9.]+)$', unit: us"],
            "latency.out": [r"name: latency_us, pattern: '^(?P<size>\d+) +([0-9.]+)$', index: size, series: size, unit: us"],
            "collective.out": [f"name: busbw_out_of_place, {busbw}, index: size, series: size",
                               r"name: busbw_in_place_at_128mib, pattern: '^ +134217728 .* ([0-9.]+) +\d+$', unit: GB/s",
                               r"name: avg_busbw, pattern: 'Avg bus bandwidth +: ([0-9.]+)', unit: GB/s"]})

    def test_31_rates(self):
        bench = "pattern: 'Benchmark time: .* ([0-9.]+) {}', take: median"
        self.check("31-rates-of-md-codes", {
            "v2.out": [f"name: days_per_ns_v2, {bench.format('days/ns')}, unit: days/ns", f"name: s_per_step_v2, {bench.format('s/step')}, unit: s",
                       r"name: wallclock_s_v2, pattern: '^WallClock: ([0-9.]+)', unit: s"],
            "v3.out": [f"name: ns_per_day_v3, {bench.format('ns/day')}, unit: ns/day", f"name: s_per_step_v3, {bench.format('s/step')}, unit: s"],
            "g-long.log": [r"name: wall_s_g_long, pattern: 'Time: +\S+ +(\S+)', unit: s", r"name: ns_per_day_g_long, pattern: '^Performance: +(\S+)', unit: ns/day"],
            "g-short.log": [r"name: wall_s_g_short, pattern: 'Time: +\S+ +(\S+)', unit: s", r"name: ns_per_day_g_short, pattern: '^Performance: +(\S+)', unit: ns/day"],
            "l.log": [r"name: loop_s_l, pattern: '^Loop time of (\S+)', unit: s", r"name: ns_per_day_l, pattern: '^Performance: (\S+) ns/day', unit: ns/day",
                      r"name: total_s_l, pattern: '^Total wall time: (\S+)', unit: s"]},
            ["ns_per_day_v2", "speedup_v3", "speedup_g", "atom_steps_per_s_l"])
        speedups = {}
        for name, files, metric in (("v", ("v2.out", "v3.out"), r"pattern: 'Benchmark time: .* ([0-9.]+) s/step', unit: s, take: median"),
                                    ("g", ("g-long.log", "g-short.log"), r"pattern: '^Performance: +(\S+)', unit: ns/day")):
            entries = "".join(f"  - {{files: CASE/{file}, run: {{file: {file}}}}}\n" for file in files)
            rows = self.imported("31-rates-of-md-codes", f"matrix: {{file: [{', '.join(files)}]}}\nbaseline: {{file: {files[0]}}}\nreport: {{metric: speed}}\n"
                                 f"metrics: [{{name: speed, file: '*', {metric}}}]\nimport:\n{entries}")
            speedups[name] = rows[files[1],]["speedup"]["value"]
        self.assert_close(speedups["v"], 2.7597)
        self.assert_close(speedups["g"], 6.9661)

    def test_31_rates_in_two_units(self):
        # days/ns is no ns/day: not converted, and said.
        found = self.read("31-rates-of-md-codes", {"v2.out": [r"name: speed, pattern: '([0-9.]+) (?P<unit>days/ns|ns/day)', unit: ns/day, take: median"]})["v2.out"]
        self.assertNotIn("speed", found["metrics"])
        self.assertIn("it is in days/ns, and the metric in ns/day", str(found["warnings"]))

    def test_32_gates(self):
        case = CASES / "32-gates"
        found = {}
        for name in ("nothing", "too-few", "noise", "slower", "same"):
            for side in ("old", "new"):
                self.write(f"{name}/{side}.yaml", f"experiment: {side}\nmatrix: {{kernel: [stencil]}}\nreport: {{metric: step_ms}}\nimport: [{case}/{name}/{side}.csv]\n")
                self.hpcbench("report", f"{side}.yaml", cwd=self.folder / name, code=None)
            done = self.hpcbench("compare", "old.yaml", "new.yaml", "--fail-if", "slower > 5%", cwd=self.folder / name, code=None)
            found[name] = (done.returncode, done.stdout + done.stderr)
        self.assertEqual(found["slower"][0], 1, found["slower"])
        self.assertEqual((found["noise"][0], found["same"][0]), (0, 0), found["noise"])
        self.assertNotEqual(found["nothing"][0], 0, found["nothing"])
        self.assertRegex(found["too-few"][1], "at least|not resolved|too few|needed", found["too-few"])

    def test_33_published_rates(self):
        rows = self.imported("33-published-rates", """
matrix: {gpus_per_node: [1, 2, 4, 8]}
baseline: {gpus_per_node: 1}
report: {metric: tokens_per_s}
import: [CASE/total.csv]
""", runs=4)
        for gpus, speedup, efficiency in (("2", 1.9603, 98.015), ("4", 3.8361, 95.904), ("8", 7.4307, 92.884)):
            self.assert_close(rows[gpus,]["speedup"]["value"], speedup)
            self.assert_close(rows[gpus,]["efficiency"] * 100, efficiency)
        self.assertRegex(self.warnings, "published-mismatch.*7.83")
        rows = self.imported("33-published-rates", """
zip: [{nodes: [1, 2, 4, 8], gpus_per_node: [8, 8, 8, 8]}]
baseline: {nodes: 1}
report: {metric: tokens_per_s_per_gpu}
import: [CASE/per-gpu.csv]
""", runs=4)
        for nodes, speedup, efficiency in (("2", 1.9624, 98.119), ("4", 3.7738, 94.344), ("8", 7.1535, 89.418)):
            self.assert_close(rows[nodes, "8"]["speedup"]["value"], speedup)
            self.assert_close(rows[nodes, "8"]["efficiency"] * 100, efficiency)


if __name__ == "__main__":
    unittest.main()
