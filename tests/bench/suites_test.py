#!/usr/bin/env python3
"""The rows of bench/suites.py, by the real hpcbench with measurements whose values are known; the peers of local runs as they are started."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from made_up_measurements import MadeUpMeasurements  # noqa: E402  (finds bench/, too)
import local_work  # noqa: E402
import rested_disk  # noqa: E402
import slurm_work  # noqa: E402
import study  # noqa: E402
import suites  # noqa: E402
import table  # noqa: E402

# The time of each tool; on Slurm the second repeat calls sbatch twice.
MEASURE = """
import sys
suite, tool, repeat = sys.argv[1], sys.argv[2], int(sys.argv[sys.argv.index("--repeat") + 1])
near = 1 + 0.001 * repeat
print("peak_bytes", 1e6)
if suite == "slurm":
    print("seconds", {"ours": 10.8, "by_hand": 10}[tool] * near)
    if tool == "ours":
        print("cpu_s", 0.5 * near)
        print("squeue_per_s", 0.8 * near)
        print("sbatch", 2 if repeat == 2 else 1)
elif tool in ("ours_step", "bare_step"):
    print("seconds_per_step", {"ours_step": 0.06, "bare_step": 0.05}[tool] * near)
elif suite == "blocks":
    print("seconds", {"ours": 9, "by_hand": 10}[tool] * near)
    if tool == "ours":
        print("sbatch", 1)
        print("queued", 13 if repeat == 2 else 10)
else:
    print("seconds", {"ours": 2, "ours_thrice": 2, "xargs": 1, "xargs_kept": 1.6, "xargs_scripts": 4, "reframe": 40, "jube": 60}[tool] * near)
"""


@contextlib.contextmanager
def no_cluster(data, quick):
    yield


class RowTests(MadeUpMeasurements):
    MEASURE = MEASURE

    def rows(self, suite):
        return {row.key: row for row in suite(study.Place(self.folder / "place"))}

    def test_slurm(self):
        self.replace(slurm_work, "cluster_for", no_cluster)
        rows = self.rows(suites.slurm)
        time = rows["slurm_time"]
        self.assertAlmostEqual(time.ratio, 1.08)
        self.assertAlmostEqual(time.low, 1.08)
        self.assertEqual((time.verdict, len(time.values), time.resolved), (table.MET, study.FEWEST_REPEATS, True))
        self.assertAlmostEqual(time.coverage, 1 - 2 / 2**6)  # hpcbench's signed-rank interval of 6 pairs
        self.assertEqual((rows["slurm_cpu"].verdict, rows["slurm_squeue"].verdict), (table.MET, table.MET))
        calls = rows["slurm_sbatch"]
        self.assertEqual((calls.ratio, calls.verdict), (1.0, "NOT MET in one repeat: 2.00"))

    def test_blocks(self):
        self.replace(slurm_work, "cluster_for", no_cluster)
        rows = self.rows(suites.blocks)
        self.assertEqual({key: (round(row.ratio, 9), row.verdict) for key, row in rows.items()},
                         {"blocks_sbatch": (1, table.MET), "blocks_queued": (10, "NOT MET in one repeat: 13.0"), "blocks_time": (0.9, table.NOT_MET),
                          "blocks_step": (1.2, table.MET)})
        self.assertEqual(len(rows["blocks_step"].values), study.FEWEST_REPEATS)

    def test_without_slurm_it_is_said(self):
        self.replace(slurm_work, "cluster_for", mock.Mock(side_effect=unittest.SkipTest("no slurmctld")))
        with contextlib.redirect_stderr(io.StringIO()) as words:
            self.assertEqual(self.rows(suites.slurm), {})
            self.assertEqual(self.rows(suites.blocks), {})
        self.assertIn("slurm: skipped: no slurmctld\nblocks: skipped: no slurmctld", words.getvalue())

    def test_local(self):
        waited = mock.Mock()
        self.replace(rested_disk, "wait", waited)
        rows = self.rows(suites.local)
        waited.assert_called_once()
        self.assertEqual({key: round(row.ratio, 9) for key, row in rows.items()},
                         {"local_xargs_kept": 1.25, "local_xargs": 2.0, "local_xargs_scripts": 0.5, "local_reframe": 20.0, "local_jube": 30.0})
        self.assertEqual({key: row.verdict for key, row in rows.items() if row.verdict != table.MET}, {"local_xargs": table.NOT_MET, "local_jube": table.NOT_MET})
        self.assertEqual(len(rows["local_jube"].values), study.FEWEST_REPEATS)


class RestedDiskTests(unittest.TestCase):
    def left_s(self, after_s, remembers=True):
        with mock.patch.object(rested_disk, "remembers_deleted", return_value=remembers), \
                mock.patch.object(rested_disk.time, "monotonic", return_value=rested_disk.BEGAN_S + after_s):
            return rested_disk.left_s("/")

    def test_it_rests_from_the_beginning_of_the_command(self):
        self.assertAlmostEqual(self.left_s(60), rested_disk.REST_S - 60)
        self.assertEqual(self.left_s(rested_disk.REST_S + 1), 0)
        self.assertEqual(self.left_s(60, remembers=False), 0)

    def test_other_file_systems_need_none(self):
        self.assertFalse(rested_disk.remembers_deleted("/proc"))


class LocalTests(unittest.TestCase):
    def test_thrice_is_the_median_and_the_largest(self):
        found = iter([(3.0, 10), (1.0, 30), (2.0, 20)])
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(local_work.TOOLS, {"ours": lambda place, runs: next(found)}):
            self.assertEqual(local_work.measure("ours_thrice", pathlib.Path(folder), True, 1), {"seconds": 2.0, "peak_bytes": 30})

    def test_a_line_through_one_and_few(self):
        took = {1: (2.0, 5), 20: (11.5, 7)}
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(local_work.TOOLS, {"reframe": lambda place, runs: took[runs]}):
            found = local_work.measure("reframe", pathlib.Path(folder), True, 1)
        self.assertAlmostEqual(found["seconds"], 2 + 199 * 0.5)
        self.assertEqual(found["peak_bytes"], 7)


if __name__ == "__main__":
    unittest.main()
