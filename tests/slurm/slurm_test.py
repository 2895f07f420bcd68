"""Studies on a real Slurm, from `hpcbench run` to the table: submission, what people are told, and what it costs."""
import itertools
import json
import pathlib
import resource
import shutil
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import PROGRAMS, ROOT  # noqa: E402
from slurm_study import SITE, SlurmStudyTest  # noqa: E402


class Studies(SlurmStudyTest):
    def test_from_file_to_table_with_one_sbatch(self):
        self.study()
        self.run_study()
        self.each_executed_once(20)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        table = self.report("trivial.yaml")
        self.assertEqual([row["outcomes"] for row in table["rows"]], [{"succeeded": 5}] * 4)
        self.assertTrue(all(row["median"] is not None for row in table["rows"]))
        self.assertIn("nothing to do", self.run_study().stderr)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        runs = self.status()["runs"]
        self.assertEqual({run["executor"] for run in runs}, {"slurm"})
        self.assertTrue(all(run["job"] for run in runs))
        before = self.hpcbench("report", "--format", "json").stdout
        (self.folder / "results/hpcbench.db").unlink()
        self.assertEqual(self.hpcbench("report", "--format", "json").stdout, before)

    def test_ranks_over_two_nodes(self):
        self.write("ranks.yaml", """
experiment: ranks
command: [bash, -c, 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $OMP_NUM_THREADS $MASTER_ADDR:$MASTER_PORT $SLURMD_NODENAME"']
matrix: {nodes: [2], gpus_per_node: [2]}
repeats: 1
resources: {cpus_per_task: 3, time: 60s}
""")
        self.run_study(name="ranks.yaml")
        folder = next((self.folder / "results/ranks").glob("*/r01/a1"))
        lines = [(folder / name).read_text().split() for name in ("stdout.log", "stdout.1.log", "stdout.2.log", "stdout.3.log")]
        self.assertEqual([line[:5] for line in lines], [[f"{r}/4", f"{r % 2}/2", str(r // 2), str(r // 2), "3"] for r in range(4)])
        self.assertEqual(len({line[5] for line in lines}), 1, "one address and port for all")
        self.assertEqual(len({line[6] for line in lines}), 2, "two nodes")
        self.each_rank_has_times_and_memory(folder, 4)

    def each_rank_has_times_and_memory(self, attempt, ranks):
        processes = json.loads((attempt / "finished.json").read_text())["processes"]
        self.assertEqual([process["rank"] for process in processes], list(range(ranks)))
        for process in processes:
            self.assertGreater(process["max_rss_bytes"], 1_000_000)
            self.assertGreater(process["user_s"] + process["sys_s"], 0)
        run = self.status()["runs"][0]["run"]
        for name in ("user_s", "sys_s", "max_rss_bytes"):
            self.assertIn(name, self.hpcbench("show", run).stdout)

    def test_one_process_a_node_and_one_a_run(self):
        self.write("torchrun.yaml", """
experiment: pernode
command: [bash, -c, 'echo "$SLURMD_NODENAME" >> executions']
launch: node
overrides: [{when: {who: once}, launch: once}]
matrix: {who: [node, once], nodes: [2], gpus_per_node: [2]}
repeats: 1
resources: {time: 60s}
""")
        self.run_study(name="torchrun.yaml")
        self.assertEqual(sum(self.executions().values()), 3)
        for folder in (self.folder / "results/pernode").glob("*/r01/a1"):
            processes = json.loads((folder / "finished.json").read_text())["processes"]
            self.assertIn(len(processes), (1, 2))

    def test_a_study_that_fails_throughout_stops_and_goes_on_once_it_is_mended(self):
        # The first repeats fail at once. Whatever else has begun by then would take minutes, and the rest waits in the queue.
        self.study(pause='test -e mended && exit; case $1 in */r01/*) echo "no module named torch" >&2; exit 3 ;; *) sleep 600 ;; esac')
        done = self.run_study(code=1)
        self.assertIn("stopped: a run of each of 4 configurations failed in the same way", done.stderr)
        counts = {state: count for state, count in self.status("trivial.yaml")["counts"].items() if count}
        self.assertEqual(counts.pop("failed"), 4, counts)
        self.assertNotIn("running", counts)
        self.assertEqual(self.cluster.jobs("PD,R"), [], "what runs on after the study has stopped")
        (self.folder / "mended").touch()
        self.hpcbench("retry", "trivial.yaml", "--site", self.site)
        self.assertEqual({run["state"] for run in self.status("trivial.yaml")["runs"]}, {"succeeded"})
        self.assertEqual({path: n for path, n in self.executions().items() if n > 1}, {}, "attempts that executed twice")

    def test_nodes_that_cannot_start_hpcbench_stop_the_study_with_that_reason(self):
        self.study()
        launcher = self.write("launcher", "no program\n")
        # Four at a time: of all 20 together, none may be left to stop once the first failure is seen.
        limits = "limits: {max_queued: 4}\n"
        for code, path in ((127, self.folder / "nowhere/hpcbench"), (126, launcher)):
            self.write("site.yaml", SITE + limits + f"hpcbench: {path}\n")
            done = self.run_study(code=1)
            self.assertIn(f"(exit code {code})", done.stderr)
            self.assertIn("stopped: Slurm job", done.stderr)
            states = {run["state"] for run in self.status("trivial.yaml")["runs"]}
            self.assertLessEqual(states, {"failed", "cancelled", "intended"})
            self.assertEqual(list((self.folder / "results").glob("trivial/*/r*/a2")), [], "nothing is tried again by itself")
            self.assertEqual(self.executions(), {})
            (self.folder / "results").rename(self.folder / f"results-{code}")

    def test_refusal_is_said_and_nothing_is_lost(self):
        self.study()
        self.write("site.yaml", SITE + "partition: nosuch\n")
        done = self.run_study(code=3)
        self.assertIn("nvalid partition", done.stderr)
        self.assertEqual(sum(self.executions().values()), 0)
        self.write("site.yaml", SITE)
        self.run_study()
        self.each_executed_once(20)

    def test_job_that_waits_says_why(self):
        self.study()
        self.write("site.yaml", SITE + "partition: closed\n")
        self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: len(self.cluster.jobs("PD")) == 20, "jobs in the queue")
        self.wait_for(lambda: all("PartitionDown" in (run["reason"] or "") or "down" in (run["reason"] or "") for run in self.status()["runs"]),
                      "the reason in `status`")
        self.hpcbench("cancel", "--yes")
        self.wait_for(lambda: self.cluster.jobs("PD") == [], "an empty queue")
        self.wait_for(lambda: self.status()["counts"]["cancelled"] == 20, "outcomes")
        self.assertEqual(sum(self.executions().values()), 0)

    def test_cancel_of_running_jobs(self):
        self.study(pause="sleep 600")
        process = self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: sum(self.executions().values()) >= 4, "running jobs")
        self.hpcbench("cancel", "--yes")
        process.communicate(timeout=120)
        other = [(run["path"], run["state"], run["reason"]) for run in self.status()["runs"] if run["state"] != "cancelled"]
        self.assertEqual(other, [])
        self.wait_for(lambda: self.cluster.jobs("PD,R,CG") == [], "an empty queue")

    @unittest.skipUnless((PROGRAMS / "hpcbench-train").exists(), "the trainer is not built")
    def test_ddp_over_two_nodes(self):
        (self.folder / "data").symlink_to(ROOT / "data")
        shutil.copy(ROOT / "experiments/mnist_rnn.yaml", self.folder)
        self.hpcbench("run", "mnist_rnn.yaml", "--site", self.site, "--set", "matrix.nodes=[1, 2]", "--set", "matrix.gpus_per_node=[1, 2]",
                      "--set", "matrix.epochs=[1]", "--set", "exclude=[{strategy: baseline, nodes: 2}, {strategy: baseline, gpus_per_node: 2}]",
                      "--set", "warmups=0", "--repeats", "1", "--set", "parameters.max_steps=20", code=None)
        bad = [(run["axes"], run["state"], run["reason"]) for run in self.status()["runs"] if run["state"] not in ("succeeded", "planned")]
        self.assertEqual(bad, [])
        table = self.report()
        rows = {(row["axes"]["strategy"], row["axes"]["nodes"], row["axes"]["gpus_per_node"]): row["median"] for row in table["rows"]}
        wanted = {("baseline", 1, 1), *itertools.product(["ddp"], [1, 2], [1, 2])}
        self.assertEqual({key for key, median in rows.items() if median is not None}, wanted)
        runs = {tuple(run["axes"][axis] for axis in ("strategy", "nodes", "gpus_per_node")): pathlib.Path(run["path"])
                for run in self.status()["runs"] if run["path"]}
        for (_, nodes, gpus), path in runs.items():
            # Each slurmd is a node of its own, and each rank tells its own losses.
            place = json.loads((path / "started.json").read_text())["nodes"]
            self.assertEqual("-" in place or "," in place, nodes == 2, place)
            self.assertEqual(len(list(path.glob("stdout*.log"))), nodes * gpus, path)
        self.assertIn("ddp", self.hpcbench("report", "--format", "markdown").stdout)


class ShortArrays(SlurmStudyTest):
    CLUSTER = ("--nodes", "1", "--set", "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,max_array_tasks=7")

    def test_arrays_are_no_longer_than_the_scheduler_takes(self):
        self.study()
        self.run_study()
        self.each_executed_once(20)
        self.assertEqual(self.cluster.count("sbatch"), 3)


class Cost(SlurmStudyTest):
    def test_many_runs_cost_few_calls_and_little_time(self):
        runs = 200  # bench/slurm_work.py does it with 1,000, against an array written by hand
        self.study(**{"[1, 2, 3, 4]": str(list(range(1, runs // 5 + 1)))})
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        self.run_study()
        took = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.each_executed_once(runs)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{runs} runs: {took:.1f} s, {cpu:.2f} s of CPU with all tools, "
              + ", ".join(f"{self.cluster.count(tool)} {tool}" for tool in ("sbatch", "squeue", "sacct", "scancel", "scontrol")), file=sys.stderr)
        self.assertLess(self.cluster.count("squeue"), 10 + 1.1 * took)
        self.assertLess(cpu, 5)


if __name__ == "__main__":
    unittest.main()
