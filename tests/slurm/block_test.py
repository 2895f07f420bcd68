"""Blocks on a real Slurm: many runs in one allocation, and what happens when it ends early."""
import collections
import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import HPCBENCH, SITE, SlurmStudyTest, without_hash  # noqa: E402

# WAITS: what a run does after it has said that it began; `gate K` waits, as long as there is a file closed-K, for it to go.
BLOCKS = """
experiment: blocks
command: [bash, -c, '[ $RANK = 0 ] && echo "$1" >> executions; gate() { while [ -e "closed-$1" ]; do sleep 0.05; done; }; WAITS', bash, "{{run_dir}}", "{{k}}"]
matrix: {k: [1, 2, 3, 4, 5]}
repeats: 3
resources: {time: 60s}
allocation: {per: block}
baseline: {k: 1}
"""


class BlockTest(SlurmStudyTest):
    def blocks(self, waits="true", **replacements):
        text = BLOCKS.replace("WAITS", waits)
        for old, new in replacements.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write("blocks.yaml", text)
        self.results = self.folder / "results/blocks"

    def run_blocks(self, *arguments, code=0, env=None):
        return self.run_study(*arguments, name="blocks.yaml", code=code, env=env)

    def close(self, *gates):
        for gate in gates:
            self.write(f"closed-{gate}", "")

    def open(self, *gates):
        for gate in gates:
            (self.folder / f"closed-{gate}").unlink()

    def begun(self):
        """Attempts that executed, as CONFIG/rNN/aN."""
        return {str(pathlib.Path(path).relative_to(self.results)) for path in self.executions()}

    def point(self, attempt):
        return json.loads((self.results / attempt / "run.json").read_text())["axes"]["k"]

    def job_of(self, attempt):
        claim = (self.results / attempt / "claim").read_text().splitlines()
        return next((line.removeprefix("job ") for line in claim if line.startswith("job ")), "")

    def running_jobs(self):
        return [job for job, *_ in self.cluster.jobs("R")]

    def jobs(self):
        """Jobs of this study: the controller remembers those of other tests."""
        names = {f"blocks.{path.name}" for path in self.results.glob("batches/*")}
        return [job for job, _, name, _ in self.cluster.jobs() if name in names]

    def wait_for_execution(self, count):
        self.wait_for(lambda: len(self.executions()) >= count, f"{count} executions")

    def all_once(self):
        """Every run has one attempt that counts and succeeded, and no attempt executed twice."""
        runs = self.status("blocks.yaml")["runs"]
        self.assertEqual({run["state"] for run in runs}, {"succeeded"}, runs)
        executed = self.executions()
        self.assertEqual([path for path, count in executed.items() if count > 1], [])
        self.assertEqual([run["path"] for run in runs if executed[run["path"]] != 1], [])
        return runs


class Allocations(BlockTest):
    def test_a_block_is_one_job_and_its_runs_follow_each_other_in_a_recorded_order(self):
        self.blocks('echo "$CUDA_VISIBLE_DEVICES" > "$1/devices"')
        self.run_blocks()
        self.all_once()
        self.assertEqual(self.cluster.count("sbatch"), 1)
        self.assertEqual(len(self.jobs()), 3)
        batch, = self.results.glob("batches/*")
        attempts = (batch / "attempts.txt").read_text().splitlines()
        blocks = [tuple(map(int, line.split())) for line in (batch / "blocks.txt").read_text().splitlines()]
        self.assertEqual(blocks, [(0, 5), (5, 5), (10, 5)])
        for element, (first, count) in enumerate(blocks):
            block = attempts[first:first + count]
            self.assertEqual({self.job_of(attempt).partition("_")[2] for attempt in block}, {str(element)})
            self.assertEqual({attempt.split("/")[1] for attempt in block}, {f"r0{element + 1}"})
            self.assertEqual(sorted(self.point(attempt) for attempt in block), [1, 2, 3, 4, 5])
            ends = [json.loads((self.results / attempt / "finished.json").read_text())["finished_unix_s"] for attempt in block]
            starts = [json.loads((self.results / attempt / "started.json").read_text())["started_unix_s"] for attempt in block]
            self.assertTrue(all(end <= start for end, start in zip(ends, starts[1:])), "one after the other")
            self.assertEqual(len({json.loads((self.results / attempt / "started.json").read_text())["nodes"] for attempt in block}), 1)
        devices = {len((self.results / attempt / "out/devices").read_text().strip().split(",")) for attempt in attempts}
        self.assertEqual(devices, {1}, "each step has the GPU that it asks for")
        self.assertIn("nothing to do", self.run_blocks().stderr)
        report = self.report("blocks.yaml")
        self.assertEqual([note for note in report["notes"] if "allocation" in note], [], "every row shares its blocks with the baseline")
        base, *rows = report["rows"]
        for row in rows:
            # The ratio of each block's own two runs; the estimate is the median of their pairwise means (Hodges and Lehmann).
            ratios = sorted(math.log(mine["value"] / other["value"]) for mine, other in zip(base["runs"], row["runs"]))
            means = sorted((a + b) / 2 for place, a in enumerate(ratios) for b in ratios[place:])
            self.assertEqual(len(means), 6)
            self.assertAlmostEqual(row["speedup"]["value"], math.exp((means[2] + means[3]) / 2), places=9)

    def test_plan_shows_jobs_and_their_scripts_to_the_byte(self):
        self.blocks()
        plan = self.hpcbench("plan", "blocks.yaml", "--site", self.site, "--scripts", "scripts").stdout
        self.assertIn("blocks: 3 jobs of 5 runs, one after the other: 1 node x 8 min each; 3 places in the queue instead of 15", plan)
        self.run_blocks()
        planned, = (self.folder / "scripts/batches").glob("*")
        batch, = self.results.glob("batches/*")
        for name in ("job.sh", "attempts.txt", "blocks.txt"):
            self.assertEqual(without_hash((batch / name).read_text()), (planned / name).read_text().replace(planned.name, batch.name), name)
        for attempt in (batch / "attempts.txt").read_text().splitlines():
            shown = (self.folder / "scripts" / attempt / "job.sh").read_text()
            self.assertEqual((self.results / attempt / "job.sh").read_text(), shown.replace(str(self.folder / "scripts"), str(self.results)))
        self.assertIn("--immediate=60", shown)

    def test_an_end_that_was_moved_counts_and_not_what_the_job_began_with(self):
        # Newer versions of Slurm tell a job by a variable when its time is over.
        program = self.write("bin/hpcbench", f"#!/bin/bash\nSLURM_JOB_END_TIME=$(($(date +%s) + 5)) exec '{HPCBENCH}' \"$@\"\n", mode=0o755)
        self.write("site.yaml", SITE + f"hpcbench: {program}\n")
        self.blocks(**{"repeats: 3": "repeats: 1"})
        self.run_blocks()
        self.all_once()
        self.assertEqual(len(self.jobs()), 1)

    def test_each_run_has_its_own_time_limit(self):
        self.blocks('[ "$2" != 2 ] || sleep 600', **{"60s": "4s", "repeats: 3": "repeats: 2"})
        self.run_blocks(code=1)
        runs = {(run["axes"]["k"], run["run"]): run["state"] for run in self.status("blocks.yaml")["runs"]}
        self.assertEqual(collections.Counter(runs.values()), {"succeeded": 8, "timeout": 2})
        self.assertEqual({k for (k, _), state in runs.items() if state == "timeout"}, {2})
        self.assertEqual(len(self.jobs()), 2, "the others of its block went on")

    def test_shapes_have_blocks_of_their_own(self):
        self.blocks(**{"k: [1, 2, 3, 4, 5]": "nodes: [1, 2], k: [1, 2]", "repeats: 3": "repeats: 2", "baseline: {k: 1}": "baseline: {k: 1, nodes: 1}\nlaunch: node"})
        self.run_blocks()
        self.all_once()
        self.assertEqual(len(self.jobs()), 4)
        notes = " ".join(self.report("blocks.yaml")["notes"])
        self.assertIn("shared no allocation with the baseline", notes)

    def test_runs_of_a_mixed_block_have_the_first_nodes_of_one_random_order(self):
        self.blocks('echo "$RANK $SLURMD_NODENAME $MASTER_ADDR $HPCBENCH_NODELIST" >> "$1/ranks"',
                    **{"k: [1, 2, 3, 4, 5]": "nodes: [1, 2, 4], k: [1, 2]", "repeats: 3": "repeats: 4", "60s": "60s, exclusive: true",
                       "per: block": "per: block, shapes: mixed, idle: 50 %", "baseline: {k: 1}": "baseline: {k: 1, nodes: 1}"})
        self.run_blocks()
        self.all_once()
        self.assertEqual(len(self.jobs()), 4)
        batch, = self.results.glob("batches/*")
        attempts = (batch / "attempts.txt").read_text().splitlines()
        orders = []
        for element, line in enumerate((batch / "blocks.txt").read_text().splitlines()):
            order = (batch / f"block-{element}/nodes.txt").read_text().split()
            self.assertEqual(sorted(order), ["n0", "n1", "n2", "n3"])
            orders.append(order)
            first, count = map(int, line.split())
            self.assertEqual(count, 6)
            for attempt in attempts[first:first + count]:
                nodes = json.loads((self.results / attempt / "run.json").read_text())["axes"]["nodes"]
                ranks = sorted(line.split() for line in (self.results / attempt / "out/ranks").read_text().splitlines())
                expected = sorted(order[:nodes])
                self.assertEqual([rank[0] for rank in ranks], [str(rank) for rank in range(len(ranks))])
                self.assertEqual(sorted({rank[1] for rank in ranks}), expected, attempt)
                if nodes > 1:
                    self.assertEqual({rank[2] for rank in ranks}, {self.address(ranks[0][1])}, "ranks meet at rank 0's node")
                if nodes < 4:
                    self.assertEqual(json.loads((self.results / attempt / "started.json").read_text())["nodes"], ",".join(expected))
                    self.assertEqual({rank[3] for rank in ranks}, {",".join(expected)})
        self.assertTrue(any(order != sorted(order) for order in orders), "an order in 24 is that of Slurm: by chance in one test of 300,000")
        report = self.report("blocks.yaml")
        self.assertNotIn("shared no allocation", " ".join(report["notes"]))
        self.assertEqual({row["nodes_seen"] for row in report["rows"] if row["axes"]["nodes"] == 4}, {4})
        self.assertNotIn("other-nodes", {warning["code"] for warning in report["warnings"]})
        self.assertIn("nodes seen", self.hpcbench("report", "blocks.yaml", "--format", "markdown").stdout)

    def test_a_row_on_other_nodes_than_its_baseline_is_named_also_by_an_index_made_again(self):
        self.blocks(**{"k: [1, 2, 3, 4, 5]": "k: [1, 2]", "repeats: 3": "repeats: 2", "{per: block}": "{per: run}",
                       "baseline": "overrides:\n  - {when: {k: 1}, resources: {extra: [\"--exclude=n2,n3\"]}}\n"
                                   "  - {when: {k: 2}, resources: {extra: [\"--exclude=n0,n1\"]}}\nbaseline"})
        self.run_blocks()
        for again in (False, True):
            if again:
                self.hpcbench("db", "rebuild")
            warning, = [warning for warning in self.report("blocks.yaml")["warnings"] if warning["code"] == "other-nodes"]
            self.assertRegex(warning["seen"], r"^k=2: n = 2 on [12] nodes? \(n[23](, n3)?\), its baseline n = 2 on [12] nodes? \(n[01](, n1)?\)$")

    def address(self, node):
        """Where MASTER_ADDR says that a node is: its name where that is known, else what Slurm has."""
        shown = self.cluster.tool("scontrol", "-o", "show", "node", node)
        return next(word.partition("=")[2] for word in shown.split() if word.startswith("NodeAddr="))

    def test_a_queue_that_takes_one_job_at_a_time(self):
        self.blocks()
        self.write("site.yaml", "executor: slurm\nlimits: {max_queued: 1}\n")
        self.run_blocks()
        self.all_once()
        self.assertEqual(self.cluster.count("sbatch"), 3)


class EarlyEnds(BlockTest):
    def test_what_had_not_begun_is_handed_out_again_when_the_block_is_cancelled(self):
        self.blocks('gate "$2"', **{"repeats: 3": "repeats: 1"})
        self.close(1, 2, 3, 4, 5)
        run = self.start("run", "blocks.yaml", "--site", self.site)
        self.wait_for_execution(1)
        first, = self.begun()
        reasons = {run["reason"] for run in self.status("blocks.yaml", "--site", self.site)["runs"] if not run["path"].endswith(first)}
        self.assertEqual(reasons, {"its block runs, and its turn has not come"})
        job, = self.running_jobs()
        self.open(*{1, 2, 3, 4, 5} - {self.point(first)})
        self.cluster.tool("scancel", job)
        self.assertEqual(run.wait(timeout=180), 1)
        states = {run["path"]: run for run in self.status("blocks.yaml")["runs"]}
        ended = [run for run in states.values() if run["state"] != "succeeded"]
        self.assertEqual([(run["state"], run["axes"]["k"]) for run in ended], [("cancelled", self.point(first))])
        self.assertEqual(len(self.begun()), 5)
        batches = [(path / "attempts.txt").read_text().splitlines() for path in self.results.glob("batches/*")]
        self.assertEqual(sorted(map(len, batches)), [4, 5], "only the rest is handed out again, in one block")
        self.open(self.point(first))
        self.hpcbench("retry", "blocks.yaml", "--site", self.site)
        self.all_once()

    def test_cancel_ends_what_runs_and_revokes_the_rest(self):
        self.blocks('gate "$2"', **{"repeats: 3": "repeats: 1"})
        self.close(1, 2, 3, 4, 5)
        self.run_blocks("--detach")
        self.wait_for_execution(1)
        self.hpcbench("cancel", "blocks.yaml", "--site", self.site, "--yes")
        self.wait_for(lambda: self.cluster.jobs("PD,R,CG") == [], "an empty queue")
        self.run_blocks(code=1)
        self.assertEqual({run["state"] for run in self.status("blocks.yaml")["runs"]}, {"cancelled"})
        self.assertEqual(len(self.begun()), 1)

    def test_cancel_of_one_run_leaves_the_others_of_its_block(self):
        self.blocks('gate "$2"', **{"repeats: 3": "repeats: 1"})
        self.close(1, 2, 3, 4, 5)
        run = self.start("run", "blocks.yaml", "--site", self.site)
        self.wait_for_execution(1)
        first, = self.begun()
        waiting = next(k for k in (1, 2, 3, 4, 5) if k != self.point(first))
        self.hpcbench("cancel", "blocks.yaml", "--site", self.site, "--yes", "--only", f"k={waiting}")
        self.open(*{1, 2, 3, 4, 5} - {self.point(first)})
        self.assertEqual(len(self.begun()), 1, "the one that runs goes on")
        self.hpcbench("cancel", "blocks.yaml", "--site", self.site, "--yes", "--only", f"k={self.point(first)}")
        self.assertEqual(run.wait(timeout=180), 1)
        states = {run["axes"]["k"]: run["state"] for run in self.status("blocks.yaml")["runs"]}
        cancelled = {waiting, self.point(first)}
        self.assertEqual(states, {k: "cancelled" if k in cancelled else "succeeded" for k in (1, 2, 3, 4, 5)})
        self.assertEqual(len(self.jobs()), 1)

    def test_a_block_that_waits_goes_when_all_of_it_is_cancelled(self):
        self.blocks()
        self.write("site.yaml", "executor: slurm\npartition: closed\n")
        self.run_blocks("--detach")
        self.assertEqual(len(self.cluster.jobs("PD")), 3)
        self.hpcbench("cancel", "blocks.yaml", "--site", self.site, "--yes", "--only", "k=1|2")
        self.assertEqual(len(self.cluster.jobs("PD")), 3, "others wait in it")
        self.hpcbench("cancel", "blocks.yaml", "--site", self.site, "--yes")
        self.wait_for(lambda: self.cluster.jobs("PD,R,CG") == [], "an empty queue")
        self.assertEqual({run["state"] for run in self.status("blocks.yaml")["runs"]}, {"cancelled"})

    def test_nothing_is_begun_that_the_allocation_is_too_short_for(self):
        self.blocks('gate "$2"', **{"repeats: 3": "repeats: 1"})
        self.close(1, 2, 3, 4, 5)
        run = self.start("run", "blocks.yaml", "--site", self.site)
        self.wait_for_execution(1)
        job, = self.running_jobs()
        self.cluster.tool("scontrol", "update", f"jobid={job}", "timelimit=1")
        self.open(1, 2, 3, 4, 5)
        self.assertEqual(run.wait(timeout=180), 0)
        self.all_once()
        self.assertEqual(len(list(self.results.glob("batches/*"))), 2)
        output = (next(path for path in self.results.glob("batches/*/slurm-*.out") if path.stat().st_size)).read_text()
        self.assertIn("the time that the job has left is too short", output)

    def test_no_more_is_claimed_once_a_step_could_not_begin(self):
        fake = self.write("bin/srun", '#!/bin/bash\n[ -s broken ] || exec REAL "$@"\nsed -i 1d broken\necho "srun: error: Unable to create step" >&2\nexit 1\n'
                          .replace("REAL", "/usr/bin/srun"), mode=0o755)
        self.blocks(**{"repeats: 3": "repeats: 1"})
        with (self.folder / "blocks.yaml").open("a") as file:
            file.write(f"setup: ['PATH={fake.parent}:$PATH']\n")
        self.write("broken", "1\n2\n3\n")
        self.run_blocks()
        self.all_once()
        claimed = [attempt for attempt in (str(path.relative_to(self.results)) for path in self.results.glob("*/r01/a1")) if self.job_of(attempt)]
        self.assertEqual(len(claimed), 1, "the launcher left the rest alone")
        self.assertEqual((self.results / claimed[0] / "finished.json").read_text().count('"never_began":true'), 1)

    def test_a_step_that_does_not_begin_until_the_limit_is_no_timeout(self):
        fake = self.write("bin/srun", "#!/bin/bash\n[ -s broken ] || exec /usr/bin/srun \"$@\"\nsed -i 1d broken\nsleep 600\n", mode=0o755)
        self.blocks(**{"repeats: 3": "repeats: 1", "60s": "4s"})
        with (self.folder / "blocks.yaml").open("a") as file:
            file.write(f"setup: ['PATH={fake.parent}:$PATH']\n")
        self.write("broken", "1\n")
        self.run_blocks()
        self.all_once()
        first = [path for path in self.results.glob("*/r01/a1/finished.json") if '"never_began":true' in path.read_text()]
        self.assertEqual(len(first), 1)
        self.assertEqual(len(list(self.results.glob("*/r01/a1/finished.json"))), 1, "the launcher left the rest alone")

    def test_a_second_launcher_of_a_block_leaves_at_once(self):
        self.blocks(**{"repeats: 3": "repeats: 1"})
        self.run_blocks()
        batch, = self.results.glob("batches/*")
        before = len(self.executions())
        done = self.hpcbench("launch", "--job", str(batch), env={"SLURM_ARRAY_TASK_ID": "0"})
        self.assertIn("another job has this block already", done.stderr)
        self.assertEqual(len(self.executions()), before)


class Estimates(BlockTest):
    """`time: auto`: the first repeat has ended, and blocks of the second ask for what its runs took."""

    def first_repeat(self):
        self.blocks('gate "$2"', **{"repeats: 3": "repeats: 1", "60s": "10m", "per: block": "per: block, time: auto"})
        plan = self.hpcbench("plan", "blocks.yaml", "--site", self.site).stdout
        self.assertIn("1 node x 53 min each", plan)
        self.assertIn("time: full limits: nothing has finished yet", plan)
        self.run_blocks()
        self.first, = self.results.glob("batches/*")
        self.assertEqual(self.minutes(self.first), 53)
        self.write("blocks.yaml", (self.folder / "blocks.yaml").read_text().replace("repeats: 1", "repeats: 2"))

    def minutes(self, batch):
        hours, minutes, _ = (batch / "job.sh").read_text().partition("--time=")[2].split()[0].split(":")
        return 60 * int(hours) + int(minutes)

    def begin_second_repeat(self):
        self.close(1, 2, 3, 4, 5)
        run = self.start("run", "blocks.yaml", "--site", self.site)
        self.wait_for_execution(6)
        job, = self.running_jobs()
        self.cluster.tool("scontrol", "update", f"jobid={job}", "timelimit=1")
        return run

    def estimate_of(self, attempt):
        return json.loads((self.results / attempt / "run.json").read_text()).get("estimated_s")

    def test_a_block_asks_for_what_finished_runs_took_and_the_launcher_begins_by_that(self):
        self.first_repeat()
        for command in (("plan",), ("run", "--dry-run")):
            done = self.hpcbench(*command, "blocks.yaml", "--site", self.site)
            said = done.stdout + done.stderr
            self.assertEqual(said.count("1.5 x the 90 % quantile of 1 finished run; its limit is 10 min"), 5, said)
        run = self.begin_second_repeat()
        self.open(1, 2, 3, 4, 5)
        self.assertEqual(run.wait(timeout=180), 0)
        self.all_once()
        second, = set(self.results.glob("batches/*")) - {self.first}
        self.assertLess(self.minutes(second), 30)
        attempts = (second / "attempts.txt").read_text().splitlines()
        self.assertEqual([attempt.split("/")[1:] for attempt in attempts], [["r02", "a1"]] * 5)
        for attempt in attempts:
            took = json.loads((self.results / attempt.replace("r02", "r01") / "finished.json").read_text())["finished_unix_s"] - \
                json.loads((self.results / attempt.replace("r02", "r01") / "started.json").read_text())["started_unix_s"]
            self.assertAlmostEqual(self.estimate_of(attempt), 1.5 * took, delta=0.01)
            self.assertIsNone(self.estimate_of(attempt.replace("r02", "r01")))

    def test_a_run_that_a_short_estimate_cut_off_is_tried_again_with_its_full_limit(self):
        self.first_repeat()
        run = self.begin_second_repeat()
        cut, = (attempt for attempt in self.begun() if "/r02/" in attempt)
        self.wait_for(lambda: len(list(self.results.glob("batches/*"))) == 3, "a further block")
        self.open(1, 2, 3, 4, 5)
        self.assertEqual(run.wait(timeout=180), 0)
        self.all_once()
        self.assertIn('"outcome":"lost"', (self.results / cut / "settled.json").read_text().replace(" ", ""))
        third, = (batch for batch in self.results.glob("batches/*") if "/a2" in (batch / "attempts.txt").read_text())
        attempts = (third / "attempts.txt").read_text().splitlines()
        self.assertIn(cut.replace("a1", "a2"), attempts)
        self.assertEqual({self.estimate_of(attempt) for attempt in attempts}, {None})
        self.assertEqual(self.minutes(third), 53)


class Parts(BlockTest):
    """Jobs of partition `short` take 5 minutes at most."""

    def setUp(self):
        super().setUp()
        self.write("site.yaml", "executor: slurm\npartition: short\n")

    def test_a_block_that_is_longer_than_a_job_may_be_is_split_and_pairs_are_of_one_part(self):
        self.blocks(**{"repeats: 3": "repeats: 2"})
        for command in (("plan", "--scripts", "scripts"), ("run", "--dry-run")):
            done = self.hpcbench(command[0], "blocks.yaml", "--site", self.site, *command[1:])
            said = done.stdout + done.stderr
            self.assertIn("2 jobs of 3 runs (part 1 of 2), one after the other: 1 node x 5 min each", said)
            self.assertIn("2 jobs of 2 runs (part 2 of 2), one after the other: 1 node x 4 min each", said)
            self.assertIn("5 runs take 8 min one after the other, and MaxTime of partition `short` is 5 min: each block is split into 2 parts; "
                          "2 configurations are not in the part of what they are compared with", said)
        self.run_blocks()
        self.all_once()
        jobs = collections.defaultdict(set)
        for path in self.results.glob("*/r*/a1"):
            attempt = str(path.relative_to(self.results))
            jobs[self.job_of(attempt)].add((attempt.split("/")[1], self.point(attempt)))
        self.assertEqual(sorted(map(sorted, jobs.values())),
                         [[("r01", 1), ("r01", 2), ("r01", 3)], [("r01", 4), ("r01", 5)], [("r02", 1), ("r02", 2), ("r02", 3)], [("r02", 4), ("r02", 5)]])
        times = {(batch / "job.sh").read_text().partition("--time=")[2].split()[0] for batch in self.results.glob("batches/*")}
        self.assertEqual(times, {"00:05:00", "00:04:00"})
        self.assertTrue(any(note.startswith("2 rows shared no allocation with the baseline") for note in self.report("blocks.yaml")["notes"]))
        self.assertIn("nothing to do", self.run_blocks().stderr)

    def test_a_run_that_no_job_there_is_long_enough_for_is_refused(self):
        self.blocks(**{"60s": "4m"})
        for command in (("plan",), ("run", "--dry-run"), ("run",)):
            done = self.hpcbench(command[0], "blocks.yaml", "--site", self.site, *command[1:], code=2)
            self.assertRegex(done.stderr, r"blocks.yaml:\d+:\d+: error: `resources.time` of k=1, .* is 4 min.*takes 6 min, and MaxTime of partition `short` is 5 min")
        self.assertEqual(self.cluster.count("sbatch"), 0)

    def test_doctor_asks_about_the_parts(self):
        self.blocks()
        self.assertIn("Slurm would take jobs of 2 shapes", self.hpcbench("doctor", "blocks.yaml", "--site", self.site, code=None).stdout)


if __name__ == "__main__":
    unittest.main()
