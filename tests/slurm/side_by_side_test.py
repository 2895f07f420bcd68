"""Runs of a block side by side on a real Slurm: on cores and GPUs of their own, where Slurm binds, and refused where it does not."""
import collections
import itertools
import json
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from block_test import BlockTest  # noqa: E402

# Each run says what it may use, and then waits, as in block_test.py.
PACKED = """
experiment: blocks
command: [bash, -c, 'echo "$1" >> executions; grep Cpus_allowed_list /proc/self/status > "$1/mask"; echo "$CUDA_VISIBLE_DEVICES" > "$1/devices"; gate() { while [ -e "closed-$1" ]; do sleep 0.05; done; }; WAITS', bash, "{{run_dir}}", "{{k}}"]
matrix: {k: [1, 2, 3, 4, 5]}
repeats: 2
resources: {time: 60s, mem: 100M, exclusive: true}
allocation: {per: block, side_by_side: 2, numa: shared}
baseline: {k: 1}
"""
NUMA_NODES = len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1


class PackedTest(BlockTest):
    def packed(self, waits="sleep 1", **replacements):
        text = PACKED.replace("WAITS", waits)
        for old, new in replacements.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write("blocks.yaml", text)
        self.results = self.folder / "results/blocks"

    def bindings(self):
        """{attempt: (from, to, cores, gpus)} as its rank noted them."""
        found = {}
        for path in self.results.glob("batches/*/block-*/bindings.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            ends = {line["run"]: line["to_s"] for line in lines if "to_s" in line}
            for line in lines:
                if "from_s" in line:
                    found[line["run"]] = (line["from_s"], ends.get(line["run"]), line["cores"], line["gpus"])
        return found

    def launcher(self):
        """The process of the only block that runs."""
        claims = [dict(line.split(" ", 1) for line in path.read_text().splitlines() if " " in line)
                  for path in self.results.glob("batches/*/block-*/claim")]
        pid, = (int(claim["pid"]) for claim in claims if "pid" in claim and pathlib.Path(f"/proc/{claim['pid']}").exists())
        return pid


class BoundTest(PackedTest):
    CLUSTER = ("--nodes", "1", "--set", "TaskPlugin=task/affinity")

    def setUp(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("two runs side by side need two cores")
        super().setUp()


class Bound(BoundTest):
    def test_two_at_a_time_each_on_a_core_and_a_gpu_of_its_own_in_the_recorded_order(self):
        self.packed()
        plan = self.hpcbench("plan", "blocks.yaml", "--site", self.site).stdout
        self.assertIn("blocks: 2 jobs of 5 runs, 2 at a time: 1 node x 5 min each; 2 places in the queue instead of 10", plan)
        self.run_blocks()
        self.all_once()
        self.assertEqual((self.cluster.count("sbatch"), len(self.jobs())), (1, 2))
        batch, = self.results.glob("batches/*")
        script = (batch / "job.sh").read_text()
        for option in ("--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=1", "--gpus-per-node=2", "--mem=200M"):
            self.assertIn(f"#SBATCH {option}\n", script)
        attempts = (batch / "attempts.txt").read_text().splitlines()
        bound = self.bindings()
        self.assertEqual(sorted(bound), sorted(attempts))
        together = 0
        for block in (attempts[:5], attempts[5:]):
            self.assertEqual(len({self.job_of(attempt) for attempt in block}), 1)
            begins = [bound[attempt][0] for attempt in block]
            # Two lanes may be free at once, and a busy machine may start the later step first.
            self.assertTrue(all(before < later + 0.5 for before, later in zip(begins[2:], begins[3:])), "the next of the order begins when a lane is free")
            for begin in begins:
                self.assertLessEqual(sum(bound[attempt][0] <= begin < bound[attempt][1] for attempt in block), 2)
            for a, b in itertools.combinations(block, 2):
                if max(bound[a][0], bound[b][0]) < min(bound[a][1], bound[b][1]):
                    together += 1
                    for name in ("mask", "devices"):
                        self.assertNotEqual((self.results / a / "out" / name).read_text(), (self.results / b / "out" / name).read_text(), (a, b))
                    self.assertNotEqual(bound[a][2:], bound[b][2:])
        self.assertGreaterEqual(together, 4)
        self.assertRegex(json.loads((self.results / attempts[0] / "finished.json").read_text())["bound"], r"^core \d of NUMA node \d, GPU \d$")
        report = self.report("blocks.yaml")
        self.assertEqual({row["side_by_side"] for row in report["rows"]}, {2})
        self.assertTrue(any(note.startswith("5 of 5 rows ran side by side, up to 2 runs of a block") for note in report["notes"]), report["notes"])
        self.assertEqual({warning["code"] for warning in report["warnings"]} & {"overlap", "side-by-side-shared"}, set())
        self.assertTrue(all(row["speedup"] is not None for row in report["rows"] if not row["is_baseline"]))
        self.assertIn("nothing to do", self.run_blocks().stderr)

    def test_the_monitor_looks_at_the_gpus_of_its_own_run(self):
        fake = self.write("bin/nvidia-smi", '#!/bin/bash\necho "$*"\n[[ $* != *" -l "* ]] || exec sleep 60\n', mode=0o755)
        self.packed("sleep 1", **{"repeats: 2": "repeats: 1", "k: [1, 2, 3, 4, 5]": "k: [1, 2]"})
        with (self.folder / "blocks.yaml").open("a") as file:
            file.write(f"monitor: 1s\nsetup: ['PATH={fake.parent}:$PATH']\n")
        self.run_blocks()
        own = [(path.read_text().split()[-1], (path.parent / "out/devices").read_text().strip()) for path in self.results.glob("*/r01/a1/gpu.csv")]
        self.assertEqual(sorted(own), [("--id=0", "0"), ("--id=1", "1")])
        loads = [path.read_text().splitlines()[0] for path in self.results.glob("*/r01/a1/monitor.csv")]
        self.assertEqual(loads, ["time_s,processes,cpu_percent,rss_bytes"] * 2)

    def test_a_run_that_fails_leaves_the_one_beside_it_and_those_to_come(self):
        self.packed('[ "$2" != 2 ] || exit 3; sleep 1')
        self.run_blocks(code=1)
        runs = self.status("blocks.yaml")["runs"]
        self.assertEqual({run["axes"]["k"]: run["state"] for run in runs}, {k: "failed" if k == 2 else "succeeded" for k in (1, 2, 3, 4, 5)})
        self.assertEqual(len(self.jobs()), 2)
        self.assertEqual(set(self.executions().values()), {1})

    def test_each_run_has_its_own_time_limit(self):
        self.packed('[ "$2" != 2 ] || sleep 600', **{"60s": "4s", "repeats: 2": "repeats: 1"})
        self.run_blocks(code=1)
        states = {run["axes"]["k"]: run["state"] for run in self.status("blocks.yaml")["runs"]}
        self.assertEqual(states, {k: "timeout" if k == 2 else "succeeded" for k in (1, 2, 3, 4, 5)})

    def wait_for_pair(self):
        """A block whose first two runs have begun, and wait."""
        self.packed('gate "$2"', **{"repeats: 2": "repeats: 1"})
        self.close(1, 2, 3, 4, 5)
        run = self.start("run", "blocks.yaml", "--site", self.site)
        self.wait_for_execution(2)
        return run, self.begun()

    def test_scancel_ends_both_and_what_had_not_begun_moves_to_a_new_block(self):
        run, pair = self.wait_for_pair()
        points = {self.point(attempt) for attempt in pair}
        job, = self.running_jobs()
        self.open(*{1, 2, 3, 4, 5} - points)
        self.cluster.tool("scancel", job)
        self.assertEqual(run.wait(timeout=180), 1)
        states = {run["axes"]["k"]: run["state"] for run in self.status("blocks.yaml")["runs"]}
        self.assertEqual(states, {k: "cancelled" if k in points else "succeeded" for k in (1, 2, 3, 4, 5)})
        self.assertEqual(sorted(len((path / "attempts.txt").read_text().splitlines()) for path in self.results.glob("batches/*")), [3, 5])
        self.open(*points)
        self.hpcbench("retry", "blocks.yaml", "--site", self.site)
        self.all_once()

    def test_cancel_of_one_run_leaves_the_one_beside_it(self):
        run, pair = self.wait_for_pair()
        first, second = sorted(self.point(attempt) for attempt in pair)
        self.hpcbench("cancel", "blocks.yaml", "--site", self.site, "--yes", "--only", f"k={first}")
        self.open(*{1, 2, 3, 4, 5} - {first})
        self.assertEqual(run.wait(timeout=180), 1)
        states = {run["axes"]["k"]: run["state"] for run in self.status("blocks.yaml")["runs"]}
        self.assertEqual(states, {k: "cancelled" if k == first else "succeeded" for k in (1, 2, 3, 4, 5)})
        self.assertEqual(len(self.jobs()), 1)

    def test_a_launcher_that_is_killed_takes_its_lanes_along(self):
        run, pair = self.wait_for_pair()
        os.kill(self.launcher(), signal.SIGKILL)
        self.wait_for(lambda: self.running_jobs() == [] or len(list(self.results.glob("batches/*"))) > 1, "the end of the job")
        self.open(1, 2, 3, 4, 5)
        self.assertEqual(run.wait(timeout=240), 0)
        self.all_once()
        lost = {str(path.relative_to(self.results).parent) for path in self.results.glob("*/r01/a1/settled.json") if '"lost"' in path.read_text()}
        self.assertEqual(lost, pair)
        first = min(self.results.glob("batches/*"), key=lambda path: path.stat().st_mtime)
        begun = [attempt for attempt in (first / "attempts.txt").read_text().splitlines() if self.job_of(attempt)]
        self.assertEqual(set(begun), pair, "no lane has claimed anything more")

    def test_no_more_is_claimed_once_a_step_could_not_begin(self):
        fake = self.write("bin/srun", '#!/bin/bash\n[ -s broken ] || exec /usr/bin/srun "$@"\nsed -i 1d broken\necho "srun: error: Unable to create step" >&2\nexit 1\n', mode=0o755)
        self.packed("sleep 6", **{"repeats: 2": "repeats: 1"})
        with (self.folder / "blocks.yaml").open("a") as file:
            file.write(f"setup: ['PATH={fake.parent}:$PATH']\n")
        self.write("broken", "1\n2\n3\n4\n5\n6\n")
        self.run_blocks()
        self.all_once()
        first = min(self.results.glob("batches/*"), key=lambda path: path.stat().st_mtime)
        claimed = [attempt for attempt in (first / "attempts.txt").read_text().splitlines() if self.job_of(attempt)]
        self.assertEqual(len(claimed), 2, "the launcher left the rest alone")

    @unittest.skipIf(NUMA_NODES > 1, "runs may be on NUMA nodes of their own here")
    def test_a_shared_numa_node_is_refused_unless_the_file_says_so(self):
        self.packed(**{", numa: shared": "", "repeats: 2": "repeats: 1"})
        done = self.run_blocks(code=1)
        self.assertIn("shared NUMA node 0 on n0", done.stderr)
        self.assertIn("say `numa: shared` in `allocation`", done.stderr)
        self.assertEqual(len(self.begun()), 2)


class Unbound(PackedTest):
    CLUSTER = ("--nodes", "1")  # TaskPlugin=task/none

    def test_where_nothing_binds_packing_is_refused_after_the_first_pair(self):
        self.packed()
        done = self.run_blocks(code=1)
        self.assertIn("TaskPlugin=task/affinity", done.stderr)
        self.assertEqual(len(self.begun()), 2, "the first pair alone, and none of the second block")
        runs = self.status("blocks.yaml")["runs"]
        self.assertEqual(collections.Counter(run["state"] for run in runs), {"succeeded": 2, "cancelled": 8})
        reasons = {run["reason"] for run in runs if run["state"] == "cancelled"}
        self.assertTrue(all("runs side by side shared cores" in reason and "remove `side_by_side`" in reason for reason in reasons), reasons)
        for attempt in self.begun():
            self.assertIn("shared", json.loads((self.results / attempt / "finished.json").read_text()))
        warning, = [warning for warning in self.report("blocks.yaml")["warnings"] if warning["code"] == "side-by-side-shared"]
        self.assertEqual(len(warning["rows"]), 2)
        self.assertIn("nothing to do", self.run_blocks(code=1).stderr)
        self.hpcbench("retry", "blocks.yaml", "--site", self.site, "--set", "allocation.side_by_side=1")
        self.all_once()


if __name__ == "__main__":
    unittest.main()
