#!/usr/bin/env python3
"""bench/study.py: a measurement as an experiment of the real hpcbench, with measurements whose values are known."""
import contextlib
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from made_up_measurements import MadeUpMeasurements  # noqa: E402  (finds bench/, too)
import study  # noqa: E402
import table  # noqa: E402

# Repeat k takes 1 + 0.01 k s, the peer twice that; `noisy` swings by a factor of two.
MEASURE = """
import pathlib, sys
tool, repeat = sys.argv[2], int(sys.argv[sys.argv.index("--repeat") + 1])
factor = {"ours": 1, "peer": 2, "noisy": 1 + repeat % 2, "shaky": 3, "broken": 1}[tool]
if tool == "broken":
    sys.exit("it does not work")
if tool == "shaky":
    first = pathlib.Path(sys.argv[sys.argv.index("--data") + 1]) / f"shaky-{repeat}"
    if repeat == 2 and not first.exists():
        first.touch()
        sys.exit("not this time")
print("seconds", factor * (1 + 0.01 * repeat))
print("peak_bytes", factor * 1e6)
"""


class StudyTests(MadeUpMeasurements):
    MEASURE = MEASURE

    def study(self, tools, quick=False, repeats=None):
        return study.Study(study.Place(self.folder / "place", quick, repeats), "known", "any", tools, ["seconds", "peak_bytes"])

    def test_a_ratio_that_is_sharp_takes_the_first_repeats(self):
        known = self.study(["ours", "peer"])
        known.measure()
        self.assertEqual(known.repeats, study.FIRST_REPEATS)
        row = table.against(known, "key", "work", "peer", "a peer", "at most", 1.5)
        self.assertAlmostEqual(row.ratio, 0.5)
        self.assertAlmostEqual(row.low, 0.5)
        self.assertAlmostEqual(row.coverage, 1 - 2 * 5 / 256)
        self.assertAlmostEqual(row.ours, 1.045)
        self.assertEqual(len(row.values), 8)
        self.assertEqual((row.peak_ours_bytes, row.peak_theirs_bytes), (1e6, 2e6))
        self.assertEqual((row.verdict, row.resolved), (table.MET, True))
        other = table.against(known, "key", "work", "peer", "a peer", "at least", 3)
        self.assertAlmostEqual(other.ratio, 2.0)
        self.assertEqual(other.verdict, table.NOT_MET)

    def test_a_noisy_ratio_takes_the_most_and_is_unresolved(self):
        known = self.study(["ours", "noisy"])
        known.measure()
        self.assertEqual(known.repeats, study.MOST_REPEATS)
        self.assertFalse(table.against(known, "key", "work", "noisy", "a peer").resolved)

    def test_quick_takes_three_and_has_no_interval(self):
        known = self.study(["ours", "peer"], quick=True)
        known.measure()
        row = table.against(known, "key", "work", "peer", "a peer")
        self.assertEqual(len(row.values), 3)
        self.assertIsNone(row.low)

    def test_what_fails_once_is_measured_again(self):
        known = self.study(["ours", "shaky"])
        with contextlib.redirect_stderr(io.StringIO()) as words:
            known.measure()
        self.assertRegex(words.getvalue(), "known: a run failed and is measured again: not this time")
        row = table.against(known, "key", "work", "shaky", "a peer")
        self.assertAlmostEqual(row.ratio, 1 / 3)
        self.assertEqual(len(row.values), study.FIRST_REPEATS)
        self.assertTrue((known.place.data / "shaky-2").exists())

    def test_a_plain_value(self):
        known = study.Study(study.Place(self.folder / "place"), "plain", "any", ["ours", "peer"], ["seconds", "peak_bytes"], single=True)
        known.measure()
        row = table.plain(known, "key", "work", "peer", "peak_bytes", "MB", 3, 1e-6)
        self.assertEqual((row.ratio, row.theirs, row.verdict), (2.0, None, table.MET))

    def test_what_fails_says_why(self):
        with self.assertRaisesRegex(study.Unmeasured, "it does not work"):
            self.study(["ours", "broken"]).measure()


if __name__ == "__main__":
    unittest.main()
