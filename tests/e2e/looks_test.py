"""Repeats until intervals are narrow enough, at looks fixed beforehand, and budgets: run, kill -9, run again, status, plan, report."""
import json
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

# Two rows of each baseline and variant, one with a spread of 1 %, one of 6 %: times that a seed gives, so that each run of the test sees
# the same studies.
PROGRAM = """
import random, sys
middle, spread, seed = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
print("seconds", middle * (1 + spread * random.Random(f"{middle} {spread} {seed}").gauss(0, 1)))
"""
STUDY = """
experiment: s
command: [python3, work.py, "{{middle}}", "{{spread}}", "{{seed}}"]
launch: once
matrix: {middle: [10, 5], spread: [0.01, 0.06]}
metrics: [{name: my_s, file: stdout.log, pattern: 'seconds (?P<my_s>[0-9.]+)', unit: s}]
baseline: {middle: 10}
report: {metric: my_s}
repeats: {to: 20, until: 3 %}
"""


class Looks(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("work.py", PROGRAM)
        self.write("s.yaml", STUDY)

    def plan(self, *arguments):
        return json.loads(self.hpcbench("plan", "s.yaml", "--format", "json", *arguments).stdout)

    def executed(self):
        """The attempts that were carried out to their end."""
        results = self.folder / "results/s"
        return sorted(str(path.parent.relative_to(results)) for path in results.rglob("finished.json"))

    def test_from_look_to_look_until_decided_and_not_further(self):
        plan = self.plan()
        self.assertEqual(plan["looks"], [8, 11, 15, 20])
        self.assertEqual(plan["new"], 32)
        self.assertIn("32 to 80 runs", self.hpcbench("plan", "s.yaml").stdout)
        rehearsed = self.hpcbench("run", "s.yaml", "--dry-run")
        self.assertIn("32 runs would be started", rehearsed.stderr)
        self.assertIn("looks at 8, 11, 15, 20 runs, 95 % over 4 looks", rehearsed.stderr)
        said = self.hpcbench("run", "s.yaml").stderr
        self.assertIn("look at 8 runs: 4 rows, 32 runs", said)
        self.assertIn("look at 11 runs: 2 rows, 6 runs", said)
        looks = self.status("s.yaml")["looks"]
        by_end = sorted(row["ended"] for row in looks["rows"])
        self.assertEqual(by_end[:2], [8, 8], "rows of 1 % need no more than the first look")
        self.assertEqual(by_end[2:], [20, 20])
        rows = {(row["axes"]["middle"], row["axes"]["spread"]): row for row in self.report("s.yaml")["rows"]}
        for row in rows.values():
            self.assertEqual(row["interval"]["coverage"], 0.95)
        self.assertEqual(rows[5, 0.01]["n"], 8)
        self.assertIn("95 % over 4 looks", self.hpcbench("report", "s.yaml").stdout)
        before = self.executed()
        again = self.hpcbench("run", "s.yaml").stderr
        self.assertIn("nothing was run again", again)
        self.assertEqual(self.executed(), before)
        self.assertEqual(self.plan()["new"], 0)
        self.assertIn("nothing would be started", self.hpcbench("run", "s.yaml", "--dry-run").stderr)
        # The strict report names the rows that ended undecided, if there are any.
        undecided = [row for row in looks["rows"] if not row["decided"]]
        warned = [w for w in self.report("s.yaml")["warnings"] if w["code"] == "undecided"]
        self.assertEqual(sorted(row["config_id"] for row in undecided), sorted(id_ for w in warned for id_ in w["rows"]))

    def test_the_last_look_ends_rows_that_are_too_wide(self):
        self.hpcbench("run", "s.yaml", "--set", "repeats.until=0.5 %", "--set", "repeats.to=11")
        looks = self.status("s.yaml", "--set", "repeats.until=0.5 %", "--set", "repeats.to=11")["looks"]
        wide = [row for row in looks["rows"] if not row["decided"]]
        self.assertTrue(wide)
        for row in wide:
            self.assertIsNone(row["next"])
            self.assertIn("it ended undecided at 11 runs", row["why"])

    def test_kill_at_any_point_changes_nothing(self):
        other = self.folder / "undisturbed"
        self.hpcbench("run", "s.yaml", "--results", str(other))
        total = len(list(other.rglob("finished.json")))
        for wanted in (1, 9, 32, 33, 37, 45):
            process = self.start("run", "s.yaml")
            self.wait_for(lambda n=wanted, p=process: len(self.executed()) >= n or p.poll() is not None, f"{wanted} runs")
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
            process.wait()
        self.hpcbench("run", "s.yaml")
        self.assertEqual(len(self.executed()), total)
        runs = [path.rpartition("/")[0] for path in self.executed()]
        self.assertEqual(len(set(runs)), total, "no run executed twice")
        # A call that is killed between its note and its job's claim leaves an attempt that never ran.
        for path in (pathlib.Path(each) for each in self.executed()):
            for earlier in range(1, int(path.name[1:])):
                self.assertTrue((path.parent / f"a{earlier}/claim").read_text().startswith("revoked void: "), path)
        mine = {row["config_id"]: (row["n"], row["interval"]) for row in self.report("s.yaml")["rows"]}
        theirs = {row["config_id"]: (row["n"], row["interval"]) for row in self.report("s.yaml", "--results", str(other))["rows"]}
        self.assertEqual(mine, theirs)

    def test_identity_does_not_depend_on_repeats(self):
        adaptive = sorted(row["config_id"] for row in self.plan()["rows"])
        self.assertEqual(adaptive, sorted(row["config_id"] for row in self.plan("--set", "repeats=6")["rows"]))

    def test_repeats_of_the_command_line_would_change_the_looks(self):
        for command in ("run", "plan"):
            said = self.hpcbench(command, "s.yaml", "--repeats", "9", code=2).stderr
            self.assertIn("s.yaml:9:10: error:", said)
            self.assertIn("--set repeats=9", said)
        self.assertEqual(self.plan("--set", "repeats=9")["new"], 36)

    def test_failed_runs_are_not_waited_for(self):
        self.write("work.py", PROGRAM + "\nif middle == 5 and spread == 0.06: sys.exit(3)\n")
        said = self.hpcbench("run", "s.yaml", code=1).stderr
        self.assertIn("no run of it has a value, and no more are made", said)
        rows = self.status("s.yaml")["looks"]["rows"]
        self.assertEqual(sum(row["next"] is not None for row in rows), 0)
        # Mended, they are tried again, and the study goes on from there.
        self.write("work.py", PROGRAM)
        self.hpcbench("retry", "s.yaml")
        self.hpcbench("run", "s.yaml")
        self.assertEqual([row["next"] for row in self.status("s.yaml")["looks"]["rows"]], [None] * 4)

    def test_compare_pays_for_the_looks_of_both(self):
        for name in ("a", "b"):
            self.hpcbench("run", "s.yaml", "--results", name)
        said = self.hpcbench("compare", "s.yaml", "--results", "a", "b").stdout
        self.assertIn("over 16 pairs of looks", said)


class Budget(StudyTest):
    """A run costs its time limit until others of its row have ended, then what they took."""

    def setUp(self):
        super().setUp()
        self.write("work.py", PROGRAM)
        self.write("s.yaml", STUDY + "resources: {time: 1m}\nbudget: {gpu_hours: 1000}\n")

    def spent(self):
        return self.status("s.yaml")["looks"]["spent_gpu_hours"]

    def walls(self):
        """Seconds that each run took, in the order of their ends."""
        files = sorted((self.folder / "results/s").glob("*/r*/a*/finished.json"), key=lambda file: file.stat().st_mtime_ns)
        return [json.loads(file.read_text())["wall_s"] for file in files]

    def ended(self):
        return sorted(row["ended"] for row in self.status("s.yaml")["looks"]["rows"])

    def test_no_block_is_begun_that_would_exceed_it(self):
        # Four rows at a limit of one minute: 4/60 GPU-hours are the first block.
        said = self.hpcbench("run", "s.yaml", "--at-most", "0.06 gpu-hours").stderr
        self.assertIn("no block is begun: the next one takes about 0.0667 GPU-hours, and 0.06 are left", said)
        self.assertEqual(self.ended(), [0, 0, 0, 0])
        rehearsed = self.hpcbench("run", "s.yaml", "--at-most", "0.06 gpu-hours", "--dry-run").stderr
        self.assertIn("no block would be begun", rehearsed)

    def test_a_budget_stops_at_a_block_and_more_goes_on(self):
        self.write("s.yaml", STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 3") + "resources: {time: 1m}\n")
        self.hpcbench("run", "s.yaml", "--at-most", "0.07 node-hours")
        whole = json.loads(self.hpcbench("plan", "s.yaml", "--format", "json").stdout)
        self.assertEqual(whole["new"], 0, "measured runs cost far less than their limit")
        self.assertEqual(len({row["n"] for row in self.report("s.yaml")["rows"]}), 1)

    def test_progress_counts_the_runs_and_warm_ups_of_the_block(self):
        self.write("s.yaml", STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 2\nwarmups: 1") + "resources: {time: 1m}\n")
        said = self.hpcbench("run", "s.yaml", "--at-most", "0.01 node-hours").stderr
        self.assertIn("no block is begun", said)
        self.assertIn("\nno run has ended\n", said)
        said = self.hpcbench("run", "s.yaml", "--at-most", "1 node-hours").stderr
        self.assertIn("\nblock 1: 4 rows, 4 runs and 4 warm-ups, about 0.133 of 1 node-hours that are left\nblock 1: 0/8 done, 0 running", said)
        self.assertRegex(said, r"\nblock 2: 4 rows, 4 runs, about \S+ of \S+ node-hours that are left\nblock 2: 0/4 done, 0 running")

    def test_what_is_left_counts_warm_ups(self):
        self.write("s.yaml", STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 2\nwarmups: 1") + "resources: {time: 1h}\nbudget: {gpu_hours: 20}\n")
        self.assertIn("what is left undone takes about 12\n", self.hpcbench("status", "s.yaml").stdout)
        self.assertIn("budget: 0 of 20 GPU-hours are spent; what is left undone takes about 12\n", self.hpcbench("run", "s.yaml", "--dry-run").stderr)

    def test_a_block_that_takes_more_than_it_should_begins_no_more_runs_once_the_budget_is_reached(self):
        study = STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 2") + "resources: {time: 1m}\n"
        self.write("s.yaml", study)
        self.hpcbench("run", "s.yaml", "--set", "repeats=1")
        first = sum(self.walls())
        self.write("work.py", PROGRAM + "\nimport time; time.sleep(1)\n")
        budget_s = 2 * first + 2  # room for four runs like these, not for four of a second more
        self.write("s.yaml", study + f"budget: {{gpu_hours: {budget_s / 3600}}}\n")
        self.hpcbench("run", "s.yaml")
        walls = self.walls()
        self.assertTrue(4 < len(walls) < 8, walls)
        self.assertLess(sum(walls[:-1]), budget_s, "the last one began within the budget")
        self.hpcbench("run", "s.yaml", "--set", "budget.gpu_hours=1")
        runs = self.status("s.yaml")["runs"]
        self.assertEqual({(run["state"], run["attempt"]) for run in runs}, {("succeeded", "a1")})

    def test_what_is_left_undecided_and_what_it_costs(self):
        self.write("work.py", PROGRAM + "\nimport time; time.sleep(0.2)\n")
        self.write("s.yaml", STUDY + "resources: {time: 2s}\nbudget: {gpu_hours: 0.0024}\n")
        said = self.hpcbench("run", "s.yaml").stderr
        self.assertIn("no block is begun", said)
        status = self.hpcbench("status", "s.yaml").stdout
        self.assertIn("of 0.0024 GPU-hours are spent; what is left undone takes about", status)
        self.assertLess(self.spent(), 0.0024 + 4 * 2 / 3600)
        looks = self.status("s.yaml")["looks"]
        self.assertTrue(any(row["next"] for row in looks["rows"]))
        before = self.ended()
        # More money, and it goes on.
        self.hpcbench("run", "s.yaml", "--set", "budget.gpu_hours=1")
        self.assertGreater(sum(self.ended()), sum(before))

    def test_failures_count_over_all_blocks(self):
        fails = STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 6") + "resources: {time: 1m}\n"
        self.write("s.yaml", fails)
        self.write("work.py", PROGRAM + "\nsys.exit(3)\n")
        one_row = ["--only", "middle=10,spread=0.01", "--at-most", "1 node-hours"]
        said = self.hpcbench("run", "s.yaml", *one_row, "--results", "alike", code=1).stderr
        self.assertIn("stopped: the first 2 runs failed in the same way. No more begin. ", said)
        self.assertEqual(said.count("2 runs failed, all in this way: rank 0 failed with exit code 3"), 1)
        said = self.hpcbench("run", "s.yaml", *one_row, "--keep-going", "--max-failures", "4", "--results", "limited", code=1).stderr
        self.assertIn("stopped: 4 runs of this call did not succeed (--max-failures 4). ", said)
        for name, count in (("alike", 2), ("limited", 4)):
            self.assertEqual(len(list((self.folder / name).rglob("finished.json"))), count)

    def test_a_row_that_succeeded_in_an_earlier_call_lets_another_fail(self):
        study = STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 3") + "resources: {time: 1m}\n"
        self.write("work.py", PROGRAM + "\nif middle == 5: sys.exit(3)\n")
        self.write("s.yaml", study)
        self.hpcbench("run", "s.yaml", "--only", "middle=10,spread=0.01", "--at-most", "1 node-hours")
        only = ["--only", "spread=0.01", "--at-most", "1 node-hours"]
        self.assertNotIn("stopped", self.hpcbench("run", "s.yaml", *only, code=1).stderr)

    def test_a_metric_without_a_value_is_warned_of_once(self):
        self.write("work.py", PROGRAM.replace('"seconds"', '"seconds" if middle == 10 else "minutes"'))
        self.write("s.yaml", STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 3") + "resources: {time: 1m}\n")
        said = self.hpcbench("run", "s.yaml", "--at-most", "1 node-hours").stderr
        self.assertIn("block 3:", said)
        self.assertEqual(said.count("has no value of the metric my_s"), 1)

    def test_node_hours_where_no_run_has_a_gpu(self):
        study = STUDY.replace("middle: [10, 5]", "middle: [10, 5], ranks_per_node: [1]").replace("launch: once\n", "")
        study = study.replace("repeats: {to: 20, until: 3 %}", "repeats: 2") + "resources: {time: 1m}\n"
        self.write("s.yaml", study + "budget: {gpu_hours: 1}\n")
        said = self.hpcbench("run", "s.yaml", code=2).stderr
        self.assertIn("s.yaml:10:21: error: no run of this study has a GPU: a budget of GPU-hours would never end it\n  = write budget: {node_hours: 1}", said)
        self.write("s.yaml", study + "budget: {node_hours: 0.07}\nlimits: {node_hours: 0.05}\n")
        self.assertIn("This asks for 0.07 node-hours; the limit is 0.05 node-hours.", self.hpcbench("run", "s.yaml", code=2).stderr)
        self.assertIn("4 configurations, 8 runs, 0.133 node-hours at most\n", self.hpcbench("plan", "s.yaml").stdout)
        self.assertIn("write --at-most \"20 node-hours\"", self.hpcbench("run", "s.yaml", "--at-most", "1 hour", code=2).stderr)
        self.assertIn("the cost of s.yaml is counted in node-hours, as in its `budget`",
                      self.hpcbench("run", "s.yaml", "--at-most", "1 gpu-hours", code=2).stderr)
        said = self.hpcbench("run", "s.yaml", "--at-most", "0.06 node-hours", "--yes").stderr
        self.assertIn("no block is begun: the next one takes about 0.0667 node-hours, and 0.06 are left", said)
        said = self.hpcbench("run", "s.yaml", "--yes").stderr
        self.assertIn("block 1: 4 rows, 4 runs, about 0.0667 of 0.07 node-hours that are left", said)
        looks = self.status("s.yaml")["looks"]
        self.assertAlmostEqual(looks["spent_node_hours"], sum(self.walls()) / 3600)
        self.assertEqual(looks["budget_node_hours"], 0.07)

    def test_blocks_go_on_without_the_metric_of_the_report(self):
        self.write("s.yaml", STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 2") + "resources: {time: 1m}\n")
        self.write("work.py", PROGRAM.replace('"seconds"', '"minutes"'))
        self.assertIn("8 of 8 runs succeeded.", self.hpcbench("run", "s.yaml", "--at-most", "1 node-hours").stderr)

    def test_only_rows_that_are_asked_for_decide_the_exit_code(self):
        self.write("work.py", PROGRAM + "\nif middle == 5: sys.exit(3)\n")
        self.write("s.yaml", STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 2") + "resources: {time: 1m}\n")
        self.hpcbench("run", "s.yaml", "--only", "middle=5", "--at-most", "1 node-hours", "--keep-going", code=1)
        said = self.hpcbench("run", "s.yaml", "--only", "middle=10", "--at-most", "1 node-hours").stderr
        self.assertIn("4 of 4 runs succeeded.", said)

    def test_a_call_asks_for_no_more_than_it_may_spend(self):
        study = STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 2\nwarmups: 1") + "resources: {time: 1h}\n"
        self.write("s.yaml", study + "limits: {gpu_hours: 11}\n")
        refused = self.hpcbench("run", "s.yaml", code=2).stderr
        self.assertIn("4 configurations x 2 repeats: 0 done, 8 to run; at most 12 GPU-hours in all", refused)
        self.assertIn("This asks for 12 GPU-hours; the limit is 11 GPU-hours.", refused)
        self.assertIn("12.0 GPU-hours at most", self.hpcbench("plan", "s.yaml").stdout)
        self.hpcbench("run", "s.yaml", "--at-most", "1 gpu-hours")
        self.hpcbench("run", "s.yaml", "--at-most", "11 gpu-hours")
        self.assertEqual(json.loads(self.hpcbench("plan", "s.yaml", "--format", "json").stdout)["new"], 0)

    def test_a_cost_that_nobody_knows_is_asked_for(self):
        self.write("s.yaml", STUDY + "budget: {gpu_hours: 1}\n")
        said = self.hpcbench("run", "s.yaml", code=3).stderr
        self.assertIn("s.yaml:10:9: error: what a run of", said)
        self.assertIn("resources: {time: ...}", said)

    def test_amounts_and_orders_that_make_no_sense(self):
        for amount in ("20", "20 hours", "-1 gpu-hours", "many gpu-hours"):
            self.assertIn("write --at-most \"20 gpu-hours\"", self.hpcbench("run", "s.yaml", "--at-most", amount, code=2).stderr)
        self.write("s.yaml", STUDY.replace("repeats: {to: 20, until: 3 %}", "repeats: 3\norder: sequential"))
        self.assertIn("order: sequential", self.hpcbench("run", "s.yaml", "--at-most", "1 node-hours", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
