#!/usr/bin/env python3
"""The rows of bench/suites_trainers.py, by the real hpcbench with measurements whose values are known; the programs that are measured as ranks."""
import contextlib
import io
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from made_up_measurements import MadeUpMeasurements  # noqa: E402  (finds bench/, too)
import bert_work  # noqa: E402
import process  # noqa: E402
import runner_work  # noqa: E402
import study  # noqa: E402
import suites_trainers  # noqa: E402
import table  # noqa: E402

# Seconds a step, first step, bytes and first losses of each tool; Fabric is the fastest, plain starts first; the grouped one computes
# another loss.
MEASURE = """
import sys
suite, tool, repeat = sys.argv[1], sys.argv[2].split("_", 1)[1], int(sys.argv[sys.argv.index("--repeat") + 1])
near = 1 + 0.001 * repeat
if suite == "bert_losses":
    apart = {"trainer": 1e-6, "grouped": 1e-2}.get(tool, 0)
    print("loss_1", 4.8 * (1 + apart))
    print("loss_2", 4.7)
else:
    seconds = {"padded": 1, "plain": 2.2, "fabric": 2, "trainer": 3, "unpadded": 0.5, "grouped": 1,
               "ddp": 1, "torch_ddp": 1.1, "fabric_ddp": 4, "fsdp2": 5}[tool]
    print("seconds", seconds * near)
    print("first_step_s", {"padded": 1, "plain": 8, "ddp": 1.6}.get(tool, 9) * near)
    print("peak_bytes", {"padded": 4e8, "trainer": 7e8}.get(tool, 8e8))
    print("loss", 4.8)
"""


class RowTests(MadeUpMeasurements):
    MEASURE = MEASURE

    def setUp(self):
        super().setUp()
        self.replace(suites_trainers, "peers_python", lambda: sys.executable)

    def rows(self, *words):
        place = study.Place(self.folder / "place", only=words, sizes=["small"])
        rows = {row.key: row for row in suites_trainers.bert(place)}
        self.assertEqual(place.failed, [])
        return rows

    def test_the_best_of_theirs_is_chosen_for_each_measure_and_measured_again(self):
        rows = self.rows(", padded")
        rows = {key: row for key, row in rows.items() if key.startswith("bert_small_padded")}
        self.assertEqual(len(rows), 6)
        step, start, memory = (rows[f"bert_small_padded_{metric}_best"] for metric in ("seconds", "first_step_s", "peak_bytes"))
        self.assertEqual(step.peer, "Fabric, fused AdamW, the best of theirs")
        self.assertAlmostEqual(step.ratio, 0.5)
        self.assertEqual((step.verdict, len(step.values), step.resolved), (table.MET, 8, True))
        self.assertEqual(start.peer, "plain PyTorch, fused AdamW, the best of theirs")
        self.assertEqual((round(start.ratio, 9), start.verdict), (0.125, table.MET))
        self.assertEqual((memory.peer, memory.ours, memory.theirs), ("transformers' Trainer, the best of theirs", 400, 700))
        self.assertEqual(memory.verdict, table.MET)
        of_all = rows["bert_small_padded_seconds_trainer"]
        self.assertEqual((of_all.target, len(of_all.values)), (None, suites_trainers.CHOICE_REPEATS["small"]))
        self.assertIn("first losses 4.8000 and 4.7000 agree within 1e-06", of_all.note)

    def test_two_ranks_have_a_row_of_ours_alone(self):
        rows = self.rows(", ddp on 2")
        self.assertEqual(len(rows), 5)
        step, start = rows["bert_small_ddp_on_2_ranks_seconds_best"], rows["bert_small_ddp_first_step_s"]
        self.assertEqual((step.peer, step.verdict), ("torch DDP, fused AdamW, the best of theirs", table.NOT_MET))
        self.assertAlmostEqual(start.ratio, 1.6 * 1.0045)
        self.assertEqual((start.theirs, start.target, start.verdict), (None, 1.5, table.NOT_MET))

    def test_other_losses_leave_no_verdict(self):
        row = self.rows("tuned fp32")["bert_small_tuned_fp32_seconds_grouped"]
        self.assertAlmostEqual(row.ratio, 2.0)
        self.assertEqual(row.verdict, "losses differ: 4.8000 and 4.7000 against 4.8480 and 4.7000")

    def test_what_cannot_be_measured_is_said_and_the_others_go_on(self):
        place = study.Place(self.folder / "place", only=["tuned fp32", "as started"], sizes=["small"])
        with contextlib.redirect_stderr(io.StringIO()) as words:
            rows = list(suites_trainers.bert(place))
        self.assertIn("bert small, as started: not measured", words.getvalue())
        self.assertEqual([row.key for row in rows], ["bert_small_tuned_fp32_seconds_grouped"])
        self.assertEqual(place.failed, ["bert small, as started"])

    def test_losses_of_the_measured_runs(self):
        for mine, other, wrong in ((1.0, 1.04, False), (1.0, 1.06, True), (1.0, float("nan"), True)):
            known = mock.Mock(place=study.Place(self.folder / "place"))
            known.values.side_effect = lambda _, tool: {"r01": {"ours": mine, "peer": other}[tool]}
            row = table.Row("key", "suite", "work", "peer", 1.0, 1.0, "s", 1.0, None, None, None)
            suites_trainers.check_training(row, known, "ours", "peer")
            self.assertEqual(bool(row.wrong), wrong)


class WantedTests(unittest.TestCase):
    def titles(self, size, **more):
        with tempfile.TemporaryDirectory() as folder:
            return [each.title for each in suites_trainers.comparisons(study.Place(folder, **more), size)]

    def test_two_ranks_of_base_only_where_they_are_asked_for(self):
        self.assertEqual(self.titles("base"), ["padded", "as started", "tuned fp32", "tuned bf16"])
        self.assertEqual(self.titles("base", only=["fsdp on 2"]), ["fsdp on 2 ranks"])
        self.assertEqual(len(self.titles("small")), 10)

    def test_words(self):
        self.assertEqual(self.titles("small", only=["tuned"]), ["tuned fp32", "tuned bf16"])
        self.assertEqual(self.titles("small", only=["base"]), [])

    def test_every_tool_is_known(self):
        for comparison in suites_trainers.ONE_RANK + suites_trainers.STRATEGIES_ALONE + suites_trainers.TWO_RANKS:
            self.assertIn(comparison.ours, bert_work.OURS)
            for peer in comparison.peers:
                self.assertTrue(peer in bert_work.PEERS or peer in bert_work.OURS)
                self.assertIn(peer, suites_trainers.PEERS)


class StepTests(unittest.TestCase):
    def test_padded_steps_count_by_their_median(self):
        self.assertEqual(bert_work.seconds_of("plain", {"steps_s": [1, 2, 9], "tokens": [5, 5, 5]}, 10), 2)

    def test_unpadded_steps_count_by_their_tokens(self):
        # 3 s for rows of 6 tokens on average: 5 s for those of 10
        for name in ("unpadded", "grouped", "unpadded_ddp"):
            self.assertAlmostEqual(bert_work.seconds_of(name, {"steps_s": [2, 4], "tokens": [4, 8]}, 10), 5)

    def test_a_made_up_file_tells_its_mean(self):
        with tempfile.TemporaryDirectory() as folder:
            file, mean = bert_work.squad_file(pathlib.Path(folder), 128, 50)
            self.assertTrue(file.exists())
            self.assertTrue(0.35 < mean / 128 < 0.55)
            self.assertEqual(bert_work.squad_file(pathlib.Path(folder), 128, 50), (file, mean))


class MarginalTests(unittest.TestCase):
    def test_a_line_costs_the_same_everywhere(self):
        self.assertAlmostEqual(runner_work.marginal((1, 10, 100), (7 + 1, 7 + 10, 7 + 100)), 1)

    def test_squares(self):
        # (100^2 - 10^2) / 90 = 110 over (10^2 - 1) / 9 = 11
        self.assertAlmostEqual(runner_work.marginal((1, 10, 100), (1, 100, 10_000)), 10)

    def test_cpu_time_is_that_of_programs_that_ended(self):
        with mock.patch.dict(runner_work.WORKS, {"busy": lambda data, runs: process.timed([sys.executable, "-c", "sum(range(3_000_000))"], "/")}):
            seconds, peak_bytes, cpu_s = runner_work.once("busy", None, 1)
        self.assertGreater(cpu_s, 0)
        self.assertGreater(seconds, 0)
        self.assertGreater(peak_bytes, 1e6)


class OutputTests(unittest.TestCase):
    def output_of(self, text, ranks=1):
        with tempfile.TemporaryDirectory() as folder:
            return process.output_of([sys.executable, "-c", text], pathlib.Path(folder), ranks=ranks)

    def test_one_process_is_no_rank(self):
        before_s = time.time()
        output = self.output_of("import os; print(os.environ.get('RANK'))")
        self.assertEqual(output.text, "None\n")
        self.assertGreaterEqual(output.start_unix_s, before_s)
        self.assertGreater(output.peak_bytes, 1e6)

    def test_ranks_and_the_largest_of_them(self):
        text = "import os; rank = int(os.environ['RANK']); kept = bytearray(rank * 100_000_000); print(rank, os.environ['WORLD_SIZE'])"
        output = self.output_of(text, ranks=2)
        self.assertEqual(output.text, "0 2\n")
        self.assertGreater(output.peak_bytes, 1e8)

    def test_a_rank_that_fails_ends_the_others(self):
        text = "import os, sys, time; sys.exit('it is rank 1') if os.environ['RANK'] == '1' else time.sleep(600)"
        with self.assertRaisesRegex(SystemExit, "(?s)in rank 1.*it is rank 1"):
            self.output_of(text, ranks=2)


if __name__ == "__main__":
    unittest.main()
