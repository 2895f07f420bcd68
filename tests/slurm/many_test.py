"""One `run` of several studies on a real Slurm: one squeue a look serves all of them, `--detach` leaves them all to Slurm, and a
budget is never exceeded by more than the block that was running when it was reached."""
import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import SlurmTest  # noqa: E402

STUDY = """
experiment: %s
command: [bash, -c, 'echo %s >> executions; sleep 2; exit %s']
launch: once
matrix: {k: [1, 2]}
repeats: 2
resources: {time: "00:02:00"}
"""

# No build ends before those of all studies are submitted: each would wait for ever for the one after it.
BUILT = """
experiment: %s
prepare:
  build:
    command: [bash, -c, 'until [ $(wc -l < %s) -ge %s ]; do sleep 0.2; done; sleep 5; echo %s > {{build.dir}}/out']
    on: job
    resources: {time: "00:02:00"}
command: [cat, "{{build.dir}}/out"]
launch: once
matrix: {k: [1]}
repeats: 2
resources: {time: "00:02:00"}
"""

LATE = """
experiment: late
prepare: {build: {command: [sleep, '4'], on: job}}
command: [bash, -c, 'until [ -e go ]; do sleep 0.1; done']
launch: once
matrix: {k: [1, 2, 3]}
repeats: 1
overrides: [{when: {k: 3}, command: [ls, "{{build.dir}}"]}]
resources: {time: "00:02:00"}
"""


# A block, both rows once, takes about 10 GPU-seconds, and at most 40.
COSTS = """
experiment: costs
command: [bash, -c, 'echo costs >> executions; sleep 5']
launch: once
matrix: {k: [1, 2]}
repeats: 20
resources: {time: 20s}
"""
AMOUNT_S = 41


class ManyTest(SlurmTest):
    def test_three_studies_ask_as_one_does(self):
        site = str(self.write("site.yaml", "executor: slurm\nlimits: {max_queued: 6}\n"))
        names = ("one", "two", "bad")
        for name in names:
            self.write(f"{name}.yaml", STUDY % (name, name, 3 if name == "bad" else 0))
        self.cluster.forget_calls()
        begin = time.monotonic()
        done = self.hpcbench("run", *(f"{name}.yaml" for name in names), "--site", site, "--keep-going", code=1)
        elapsed_s = time.monotonic() - begin
        # A poller asks at most once a second; launchers of runs that fail ask about their own job.
        looks = self.cluster.count("squeue", of="--me")
        self.assertLessEqual(looks, elapsed_s + 2)
        self.assertGreater(looks, 0)
        self.assertIn("one: 4 of 4 runs succeeded", done.stderr)
        self.assertIn("bad: none of 4 runs succeeded", done.stderr)
        executions = (self.folder / "executions").read_text().split()
        self.assertEqual({name: executions.count(name) for name in names}, dict.fromkeys(names, 4))

    def test_preparations_are_made_at_once_and_asked_for_together(self):
        site = str(self.write("site.yaml", "executor: slurm\n"))
        names = [f"study{number}" for number in range(12)]
        for name in names:
            self.write(f"{name}.yaml", BUILT % (name, self.cluster.calls / "sbatch", len(names), name))
        begin = time.monotonic()
        done = self.hpcbench("run", *(f"{name}.yaml" for name in names), "--site", site)
        elapsed_s = time.monotonic() - begin
        # A build that ends is looked for by sacct where squeue has forgotten it; launchers ask about their own job.
        self.assertLessEqual(self.cluster.count("squeue", of="--me"), elapsed_s + 2)
        self.assertLessEqual(self.cluster.count("sacct"), elapsed_s + 2)
        self.assertEqual(self.cluster.count("sbatch"), 2 * len(names))
        for name in names:
            self.assertIn(f"{name}: 2 of 2 runs succeeded", done.stderr)
            self.assertEqual({path.read_text() for path in (self.folder / f"results/{name}").glob("*/r*/a1/stdout.log")}, {f"{name}\n"})

    def test_jobs_of_an_earlier_call_count_before_another_study_begins(self):
        site = str(self.write("site.yaml", "executor: slurm\nlimits: {max_queued: 2}\n"))
        self.write("early.yaml", STUDY % ("early", "early", 0))
        self.write("late.yaml", LATE)
        self.hpcbench("run", "late.yaml", "--site", site, "--only", "k=1|2", "--detach")
        call = self.start("run", "early.yaml", "late.yaml", "--site", site)
        self.wait_for(lambda: list(self.folder.glob("results/late/prepare/*/a1/finished.json")), "the build")
        time.sleep(3)
        self.assertEqual([name for _, _, name, _ in self.cluster.jobs() if name.startswith("early.")], [])
        self.write("go", "")
        said, _ = call.communicate(timeout=120)
        self.assertEqual(call.returncode, 0, said)
        self.assertIn("late: 3 of 3 runs succeeded", said)

    def test_several_studies_go_on_after_detach(self):
        site = str(self.write("site.yaml", "executor: slurm\n"))
        names = ("one", "two")
        for name in names:
            self.write(f"{name}.yaml", STUDY % (name, name, 0))
        files = [f"{name}.yaml" for name in names]
        self.hpcbench("run", *files, "--site", site, "--detach")
        self.assertEqual(self.cluster.count("sbatch"), 2)
        self.wait_for(lambda: not self.cluster.jobs("PD,R,CG"), "an empty queue")
        self.assertIn("two: nothing to do", self.hpcbench("run", *files, "--site", site).stderr)
        self.assertEqual(self.cluster.count("sbatch"), 2)
        executions = (self.folder / "executions").read_text().split()
        self.assertEqual({name: executions.count(name) for name in names}, dict.fromkeys(names, 4))

    def costs(self):
        """GPU-seconds of each block that has been begun, in order."""
        blocks = {}
        for path in (self.folder / "results/costs").glob("*/r*/a1/finished.json"):
            blocks.setdefault(path.parts[-3], []).append(json.loads(path.read_text())["wall_s"])
        self.assertEqual({len(block) for block in blocks.values()}, {2}, "whole blocks")
        return [sum(blocks[repeat]) for repeat in sorted(blocks)]

    def check_spent(self, costs):
        """All but the last block were within the amount, and the rest of the study was not begun."""
        self.assertGreater(len(costs), 0)
        self.assertLess(len(costs), 10)
        self.assertLessEqual(sum(costs[:-1]), AMOUNT_S)

    def test_a_budget_is_exceeded_by_no_more_than_what_was_running(self):
        site = str(self.write("site.yaml", "executor: slurm\n"))
        self.write("costs.yaml", f"{COSTS}budget: {{gpu_hours: {AMOUNT_S / 3600}}}\n")
        for _ in range(2):
            said = self.hpcbench("run", "costs.yaml", "--site", site).stderr
            self.assertIn("no block is begun: ", said)
            self.check_spent(self.costs())
        self.assertIn("nothing was run again", said, "the second call begins none")

    def test_a_block_costs_no_warm_ups_which_are_not_run(self):
        site = str(self.write("site.yaml", "executor: slurm\n"))
        self.write("costs.yaml", COSTS.replace("repeats: 20", "repeats: 1\nwarmups: 1"))
        said = self.hpcbench("run", "costs.yaml", "--site", site, "--at-most", f"{AMOUNT_S / 3600} gpu-hours").stderr
        self.assertIn("block 1: 2 rows, 2 runs, about 0.0111 of 0.0114 GPU-hours that are left\n", said)
        self.assertEqual(said.count("no warm-ups are run"), 1)
        self.assertIn("2 of 2 runs succeeded", said)

    def test_jobs_that_go_on_after_detach_leave_the_others_less(self):
        site = str(self.write("site.yaml", "executor: slurm\n"))
        names = ("first", "second")
        for name in names:
            self.write(f"{name}.yaml", COSTS.replace("costs", name))
        files = [f"{name}.yaml" for name in names]
        said = self.hpcbench("run", *files, "--site", site, "--detach", "--at-most", f"{AMOUNT_S / 3600} gpu-hours").stderr
        self.assertIn("first: detached: 2 jobs continue", said)
        self.assertIn("second: no block is begun: the next one takes about 0.0111 GPU-hours, and 0.000278 are left", said)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        self.wait_for(lambda: not self.cluster.jobs("PD,R,CG"), "an empty queue")

    def test_a_rehearsal_knows_what_waits_in_the_queue(self):
        site = str(self.write("site.yaml", "executor: slurm\npartition: closed\n"))
        self.write("one.yaml", STUDY % ("one", "one", 0))
        self.hpcbench("run", "one.yaml", "--site", site, "--detach")
        said = self.hpcbench("run", "one.yaml", "--site", site, "--dry-run")
        self.assertIn("one: 0 runs would be started by the executor slurm, 4 that go on are taken up; 0 of 4 have an outcome", said.stderr)
        self.assertEqual(said.stdout, "")
        self.hpcbench("cancel", "one.yaml", "--site", site, "--yes")

    def test_what_a_call_may_spend_is_spent_by_each_call(self):
        site = str(self.write("site.yaml", "executor: slurm\n"))
        self.write("costs.yaml", COSTS)
        known = 0
        for _ in range(2):
            said = self.hpcbench("run", "costs.yaml", "--site", site, "--at-most", f"{AMOUNT_S / 3600} gpu-hours").stderr
            self.assertIn("no block is begun: ", said)
            costs = self.costs()
            self.check_spent(costs[known:])
            known = len(costs)
        self.assertEqual(len((self.folder / "executions").read_text().split()), 2 * known)


if __name__ == "__main__":
    unittest.main()
