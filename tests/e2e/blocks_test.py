"""`allocation: {per: block}` on this machine, and what is refused."""
import json
import unittest

from harness import StudyTest

STUDY = """
experiment: blocks
command: [bash, -c, 'echo "{{k}} {{repeat}}" >> executions; [ "{{k}}" != 2 ] || sleep 0.05']
matrix: {k: [1, 2, 3]}
repeats: 6
allocation: {per: block}
baseline: {k: 1}
"""


class Blocks(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("blocks.yaml", STUDY)
        self.write("slurm.yaml", "executor: slurm\n")

    def test_blocks_follow_each_other_and_the_report_pairs_within_them(self):
        self.hpcbench("run", "blocks.yaml")
        lines = [tuple(map(int, line.split())) for line in (self.folder / "executions").read_text().splitlines()]
        self.assertEqual([repeat for _, repeat in lines], [repeat for repeat in range(1, 7) for _ in range(3)])
        for block in range(6):
            self.assertEqual({k for k, _ in lines[3 * block:3 * block + 3]}, {1, 2, 3})
        runs = [json.loads(path.read_text()) for path in self.folder.glob("results/blocks/*/r*/a1/finished.json")]
        self.assertEqual(len(runs), 18)
        text = self.hpcbench("report", "blocks.yaml").stdout
        self.assertIn("by blocks, with its exact signed-rank interval", text)
        self.assertIn("compare runs of the same block", text)
        apart = self.hpcbench("report", "blocks.yaml", "--set", "report.paired=false").stdout
        self.assertNotIn("by blocks", apart)
        # The identity of runs does not know how they are allocated: nothing runs again.
        self.assertIn("nothing to do", self.hpcbench("run", "blocks.yaml", "--set", "allocation.per=run").stderr)

    def test_runs_of_a_block_do_not_run_at_once(self):
        refused = self.hpcbench("run", "blocks.yaml", "--slots", "2", code=2)
        self.assertIn("one run follows another", refused.stderr)
        self.assertFalse((self.folder / "executions").exists())
        self.hpcbench("run", "blocks.yaml", "--slots", "2", "--set", "allocation.per=run")

    def test_slurm_needs_a_time_limit(self):
        for command in (["check"], ["plan"], ["run", "--yes"]):
            refused = self.hpcbench(command[0], "blocks.yaml", "--site", "./slurm.yaml", *command[1:], code=2)
            self.assertIn("blocks.yaml:6:19: error: `allocation: {per: block}` needs `resources.time`", refused.stderr)
        plan = self.hpcbench("plan", "blocks.yaml", "--site", "./slurm.yaml", "--set", "resources.time=60s").stdout
        self.assertIn("blocks: 6 jobs of 3 runs, one after the other: 1 node x 5 min each; 6 places in the queue instead of 18", plan)

    def packed(self, resources="time: 60s, mem: 4G", k="1, 2, 3", more=""):
        self.write("blocks.yaml", STUDY.replace("k: [1, 2, 3]", f"k: [{k}]{more}").replace("per: block", "per: block, side_by_side: 2") + f"resources: {{{resources}}}\n")

    def test_runs_side_by_side_ask_for_as_many_times_the_resources(self):
        self.packed("time: 10m, mem: 4G, cpus_per_task: 3", k="1, 2, 3, 4, 5")
        plan = self.hpcbench("plan", "blocks.yaml", "--site", "./slurm.yaml", "--scripts", "scripts").stdout
        # 5 times 10 min and 20 s over two lanes, half of one for the longest, and a minute.
        self.assertIn("blocks: 6 jobs of 5 runs, 2 at a time: 1 node x 32 min each; 6 places in the queue instead of 30", plan)
        batch, = (self.folder / "scripts/batches").glob("*/job.sh")
        for option in ("--ntasks-per-node=2", "--cpus-per-task=3", "--gpus-per-node=2", "--mem=8G"):
            self.assertIn(f"#SBATCH {option}\n", batch.read_text())
        script = next((self.folder / "scripts").glob("*/r01/a1/job.sh")).read_text()
        for word in ("--exact", "--mem=4G", "--gpus-per-node=1", "--ntasks=1", "--cpus-per-task=3", "--immediate=60"):
            self.assertIn(f"{word} ", script)
        run = json.loads(next((self.folder / "scripts").glob("*/r01/a1/run.json")).read_text())
        self.assertEqual(run["side_by_side"], 2)
        self.packed("time: 10m, mem: 4G", k="1")
        self.assertIn("1 run, one after the other: 1 node x 12 min", self.hpcbench("plan", "blocks.yaml", "--site", "./slurm.yaml").stdout)

    def test_what_cannot_go_on_side_by_side_is_refused_everywhere(self):
        for resources, more, said in (("time: 60s", "", "runs side by side need `resources.mem`, a part of the node's memory for each: without one the first run has all of "
                                       "it, and the next waits"),
                                      ("time: 60s, mem: 4G", ", nodes: [2]", "runs side by side share one node, and k=1"),
                                      ("time: 60s, mem: 4G, gres: \"fs:2G\"", "", "`gres: fs:2G` cannot be multiplied for runs side by side")):
            self.packed(resources, more=more)
            for command in (["check"], ["plan"], ["run", "--yes"]):
                refused = self.hpcbench(command[0], "blocks.yaml", "--site", "./slurm.yaml", *command[1:], code=2)
                self.assertIn("blocks.yaml:6:40: error: ", refused.stderr)
                self.assertIn(said, refused.stderr)

    def test_runs_side_by_side_need_slurm(self):
        self.packed()
        self.assertIn("`side_by_side` needs Slurm, and `run` refuses it here", self.hpcbench("plan", "blocks.yaml").stdout)
        refused = self.hpcbench("run", "blocks.yaml", code=2)
        self.assertIn("blocks.yaml:6:40: error: `side_by_side` is for jobs of Slurm", refused.stderr)
        self.hpcbench("run", "blocks.yaml", "--set", "allocation.side_by_side=1")

    def mixed(self, nodes="1, 2", more="", **replacements):
        text = STUDY.replace("k: [1, 2, 3]", f"nodes: [{nodes}], k: [1]").replace("per: block", "per: block, shapes: mixed" + more) + "resources: {time: 60s}\n"
        for old, new in replacements.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write("blocks.yaml", text)

    def plan(self, code=0):
        return self.hpcbench("plan", "blocks.yaml", "--site", "./slurm.yaml", code=code)

    def test_a_mixed_block_has_the_nodes_of_its_largest_run_and_plan_says_what_is_idle(self):
        self.mixed()
        plan = self.plan().stdout
        self.assertIn("blocks: 6 jobs of 2 runs, one after the other: 2 nodes x 4 min each; 6 places in the queue instead of 12; smaller runs "
                      "leave 25 % of it idle, 0.1 GPU-hours in all, by their time limits", plan)
        self.assertNotIn("different shapes", plan)

    def test_a_mixed_block_that_is_idle_for_too_long_is_refused_everywhere_and_the_advice_is_true(self):
        self.mixed("1, 4")
        for command in (["check"], ["plan"], ["run", "--yes"]):
            refused = self.hpcbench(command[0], "blocks.yaml", "--site", "./slurm.yaml", *command[1:], code=2).stderr
            self.assertIn("blocks.yaml:6:34: error: smaller runs leave 38 % of a block idle (0.05 GPU-hours of 0.133 GPU-hours, by their time limits), and "
                          "`allocation.idle` allows 25 %", refused)
            self.assertIn("say `idle: 38 %`", refused)
        self.mixed("1, 4", ", idle: 38 %")
        self.assertIn("leave 38 % of it idle", self.plan().stdout)
        self.mixed("1, 4", ", idle: 0 %")
        self.assertIn("blocks.yaml:6:47: error: smaller runs leave", self.plan(2).stderr)
        self.mixed("1, 4", **{", shapes: mixed": ""})
        self.assertIn("different shapes", self.plan().stdout)

    def test_a_mixed_block_takes_configurations_that_differ_in_nodes_alone(self):
        self.mixed(**{"baseline: {k: 1}": "baseline: {k: 1}\noverrides: [{when: {nodes: 2}, resources: {constraint: fast}}]"})
        refused = self.plan(2).stderr
        self.assertIn("blocks.yaml:6:34: error: `shapes: mixed` takes configurations that differ in their number of nodes alone", refused)
        self.assertIn("`--constraint=fast`", refused)

    def test_a_mixed_block_needs_srun(self):
        for key in ("launch: once", "launcher: mpirun"):
            self.mixed(**{"repeats: 6": f"repeats: 6\n{key}", "allocation": "allocation"})
            self.assertIn(f"blocks.yaml:7:34: error: `shapes: mixed` gives each run its nodes by srun, and `{key}`", self.plan(2).stderr)

    def test_plan_says_what_blocks_are_here(self):
        self.assertIn("blocks: 6 repeats of 3 runs, one run after the other", self.hpcbench("plan", "blocks.yaml").stdout)


if __name__ == "__main__":
    unittest.main()
