"""Blocks with `calibrate` on a real Slurm: each run once alone and once beside others, and what the report says of that."""
import json
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from side_by_side_test import BoundTest  # noqa: E402

# Each run measures its own wait, 1 s, half as long again where it is packed, and a few per cent that differ between repeats.
DISTURBED = """
experiment: blocks
command: [bash, -c, 'from=$EPOCHREALTIME; sleep "$(awk "BEGIN {print ($1 == 1 ? 1 : 1.2) * (\\"$2\\" == \\"packed\\" ? 1.5 : 1) * (1 + ($3 % 3 - 1) * (\\"$2\\" == \\"packed\\" ? 0.06 : 0.02))}")"; awk "BEGIN {print \\"slept\\", $EPOCHREALTIME - $from}"', bash, "{{k}}", "{{placement}}", "{{repeat}}"]
matrix: {k: [1, 2]}
repeats: 6
resources: {time: 60s, mem: 100M, exclusive: true}
allocation: {per: block, side_by_side: 2, numa: shared, calibrate: true}
metrics: [{name: slept_s, file: stdout.log, pattern: "slept ([0-9.]+)"}]
report: {metric: slept_s}
"""


class Calibrated(BoundTest):
    def placement(self, attempt):
        return json.loads((self.results / attempt / "run.json").read_text())["axes"]["placement"]

    def calibrated(self, waits, **replacements):
        self.packed(waits, **{"numa: shared": "numa: shared, calibrate: true", **replacements})

    def claimed(self):
        """Attempts that a launcher has begun."""
        return {str(path.parent.relative_to(self.results)) for path in self.results.glob("*/r*/a*/claim") if "job " in path.read_text()}

    def test_a_block_has_each_run_alone_and_beside_others(self):
        self.calibrated("sleep 1", **{"k: [1, 2, 3, 4, 5]": "k: [1, 2, 3, 4]"})
        plan = self.hpcbench("plan", "blocks.yaml", "--site", self.site).stdout
        self.assertIn("blocks: 8 configurations, 16 runs", plan)
        self.assertIn("blocks: 2 jobs of 8 runs, 4 alone, the others 2 at a time: 1 node x 10 min each", plan)
        self.run_blocks()
        self.all_once()
        self.assertEqual((self.cluster.count("sbatch"), len(self.jobs())), (1, 2))
        batch, = self.results.glob("batches/*")
        attempts = (batch / "attempts.txt").read_text().splitlines()
        bound = self.bindings()
        firsts = []
        for block in (attempts[:8], attempts[8:]):
            self.assertEqual(len({self.job_of(attempt) for attempt in block}), 1)
            placements = [self.placement(attempt) for attempt in block]
            firsts.append(placements[0])
            self.assertEqual(placements, [placements[0]] * 4 + [placements[4]] * 4)
            self.assertEqual({placements[0], placements[4]}, {"alone", "packed"})
            for attempt, placement in zip(block, placements):
                beside = [other for other in block if other != attempt and
                          max(bound[attempt][0], bound[other][0]) < min(bound[attempt][1], bound[other][1])]
                if placement == "alone":
                    self.assertEqual(beside, [], f"{attempt} is to be alone")
                else:
                    self.assertNotEqual(beside, [], f"{attempt} is to have a neighbour")
                    self.assertEqual({self.placement(other) for other in beside}, {"packed"})
        self.assertEqual(sorted(firsts), ["alone", "packed"], "each order once in two blocks")
        report = self.report("blocks.yaml")
        self.assertEqual([row.get("side_by_side") for row in report["rows"]], [2, None] * 4)
        self.assertEqual({warning["code"] for warning in report["warnings"]} & {"overlap", "side-by-side-shared"}, set())
        for each in report["disturbances"]:
            self.assertEqual((each["pairs"], each["needed"], each["alone_first"], each["without_neighbours"]), (2, 6, 1, 0))
            self.assertIsNone(each["ratio"]["low"], "two pairs have no interval")
        self.assertIn("an interval at 95 % needs 6", self.hpcbench("report", "blocks.yaml").stdout)
        self.assertIn("nothing to do", self.run_blocks().stderr)

    def test_a_launcher_killed_between_the_phases_loses_and_repeats_nothing(self):
        self.calibrated("true", **{"k: [1, 2, 3, 4, 5]": "k: [1, 2]", "repeats: 2": "repeats: 1"})
        with (self.folder / "blocks.yaml").open("a") as file:
            file.write("setup: ['while [ -e hold-{{placement}} ]; do sleep 0.05; done']\n")
        for placement in ("alone", "packed"):
            self.write(f"hold-{placement}", "")
        run = self.start("run", "blocks.yaml", "--site", self.site)
        self.wait_for(self.claimed, "the first run")
        first = self.placement(next(iter(self.claimed())))
        (self.folder / f"hold-{first}").unlink()
        self.wait_for(lambda: any(self.placement(attempt) != first for attempt in self.claimed()), "the other phase")
        before = self.begun()
        self.assertEqual({self.placement(attempt) for attempt in before}, {first})
        self.assertEqual(len(before), 2, "all of the first phase")
        os.kill(self.launcher(), signal.SIGKILL)
        self.wait_for(lambda: self.running_jobs() == [] or len(list(self.results.glob("batches/*"))) > 1, "the end of the job")
        (self.folder / f"hold-{({'alone', 'packed'} - {first}).pop()}").unlink()
        self.assertEqual(run.wait(timeout=240), 0)
        self.all_once()
        self.assertEqual(sum(self.executions().values()), 4)
        self.assertLessEqual(before, self.begun())

    def test_the_interval_of_six_pairs_contains_what_was_injected(self):
        self.write("blocks.yaml", DISTURBED)
        self.results = self.folder / "results/blocks"
        self.run_blocks()
        report = self.report("blocks.yaml")
        self.assertEqual([each["axes"]["k"] for each in report["disturbances"]], [1, 2])
        for each in report["disturbances"]:
            self.assertEqual((each["pairs"], each["alone_first"], each["without_neighbours"]), (6, 3, 0))
            self.assertEqual(each["ratio"]["coverage"], 0.96875)
            self.assertLess(each["ratio"]["low"], 1.5)
            self.assertGreater(each["ratio"]["high"], 1.5)
            self.assertTrue(each["ratio"]["resolved"])
            self.assertGreater(each["neighbours"], 0.4)
        self.assertRegex(self.hpcbench("report", "blocks.yaml").stdout, r"k=1: 1\.\d+ \[1\.\d+, 1\.\d+\] 96\.9 %; 6 pairs, alone first in 3; [01]\.\d\d neighbours")


if __name__ == "__main__":
    unittest.main()
