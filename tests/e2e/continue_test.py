"""`continue`: a run that its time limit ends goes on in further attempts, its segments."""
import json
import os
import pathlib
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import PROGRAMS, ROOT, StudyTest  # noqa: E402

# Counts to GOAL, a step each 0.1 s, and saves each step in its attempt's folder. What it does when it is warned: MODE.
COUNT = """
import os, pathlib, signal, sys, time
run_dir, goal, mode, name = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
resume = os.environ["HPCBENCH_RESUME_FROM"]
assert resume == sys.argv[5], (resume, sys.argv)
rank = os.environ["RANK"]
state = pathlib.Path(resume, "state") if resume else None
step = int(state.read_text()) if state and state.exists() else 0
if rank == "0":
    with open("executions", "a") as log:
        log.write(f"{run_dir} {os.environ['HPCBENCH_SEGMENT']} {step}\\n")
def saved(*_):
    if rank == "0" and mode == "slow":
        time.sleep(1)
        (run_dir / "state").write_text(str(step))
    sys.exit(85)
if mode in ("saves", "slow"):
    signal.signal(signal.SIGUSR1, saved)
while step < goal:
    if mode == "stuck":
        step = min(step, 3)
    if mode == "fails" and step == 20:
        sys.exit(1)
    time.sleep(0.1)
    step += 1
    if rank == "0" and mode not in ("slow", "silent"):
        (run_dir / "state.tmp").write_text(str(step))
        (run_dir / "state.tmp").rename(run_dir / "state")
    if mode == "early" and step % 20 == 0 and step < goal:
        sys.exit(85)
if rank == "0":
    print("steps", step)
"""
STUDY = """
experiment: tiny
command: [python3, count.py, "{{run_dir}}", "{{goal}}", MODE, "{{name}}", "{{resume_from}}"]
matrix: {goal: [GOAL], name: [a]}
repeats: 1
resources: {time: LIMIT}
continue: {on: [timeout], max: 20}
metrics: [{name: steps, file: stdout.log, pattern: 'steps (\\d+)'}]
"""


class ContinueTest(StudyTest):
    def study(self, mode="plain", goal=60, limit="3s", more=""):
        self.write("count.py", COUNT)
        text = STUDY.replace("MODE", mode).replace("GOAL", str(goal)).replace("LIMIT", limit)
        self.write("tiny.yaml", text + more)

    def executions(self):
        """[(attempt's folder, segment, first step), ...] in the order in which they began."""
        path = self.folder / "executions"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(folder.removesuffix("/out"), int(segment), int(step)) for folder, segment, step in (line.rsplit(" ", 2) for line in lines)]

    def row(self):
        return self.report("tiny.yaml", "--metric", "steps")["rows"][0]

    def each_segment_once(self, goal):
        """One chain of segments, each executed once, each from where the one before it was; the run succeeded."""
        begun = self.executions()
        self.assertEqual([segment for _, segment, _ in begun], list(range(1, len(begun) + 1)), begun)
        self.assertEqual(len({folder for folder, _, _ in begun}), len(begun), begun)
        steps = [step for _, _, step in begun]
        self.assertEqual(steps, sorted(set(steps)), begun)
        run, = self.status("tiny.yaml")["runs"]
        self.assertEqual((run["state"], run["path"]), ("succeeded", begun[-1][0]))
        row = self.row()
        self.assertEqual((row["median"], row["n"]), (goal, 1), row)
        return row


class Segments(ContinueTest):
    def test_a_program_that_fails_and_has_saved_nothing_is_not_continued(self):
        self.study()
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("on: [timeout]", "on: [failed]"))
        self.write("count.py", "import sys\nsys.exit(3)\n")
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(len(list(self.folder.glob("results/tiny/*/r01/a*"))), 1)

    def test_a_run_goes_on_from_what_it_saved_until_it_is_done(self):
        self.study()
        done = self.hpcbench("run", "tiny.yaml")
        row = self.each_segment_once(60)
        begun = self.executions()
        self.assertGreaterEqual(len(begun), 3)
        self.assertEqual((row["continued"], row["segments"]), (1, len(begun)))
        self.assertNotIn("tried_again", row)
        self.assertEqual(done.stderr.count("it is continued"), len(begun) - 1, done.stderr)
        walls = [json.loads(pathlib.Path(folder, "finished.json").read_text())["wall_s"] for folder, _, _ in begun]
        report = self.report("tiny.yaml", "--metric", "wall_s", "--columns", "segments")
        self.assertAlmostEqual(report["rows"][0]["median"], sum(walls), places=6)
        self.assertTrue(any("1 of 1 runs, in 1 of 1 rows, were continued over" in note for note in report["notes"]), report["notes"])
        self.assertIn("no configuration is left", self.hpcbench("report", "tiny.yaml", "--no-continued", code=2).stderr)
        self.assertIn("nothing to do", self.hpcbench("run", "tiny.yaml").stderr)
        self.hpcbench("db", "rebuild")
        self.assertAlmostEqual(self.report("tiny.yaml", "--metric", "wall_s")["rows"][0]["median"], sum(walls), places=6)

    def test_a_budget_counts_each_segment_once(self):
        self.study(limit="2s", more="budget: {gpu_hours: 1}\n")
        said = self.hpcbench("run", "tiny.yaml").stderr
        walls = [json.loads(pathlib.Path(folder, "finished.json").read_text())["wall_s"] for folder, _, _ in self.executions()]
        self.assertGreaterEqual(len(walls), 3)
        spent = self.status("tiny.yaml")["looks"]["spent_gpu_hours"]
        self.assertAlmostEqual(spent * 3600, sum(walls), delta=1, msg="but for what it takes to begin and end a process")
        self.assertIn(f"budget: {spent:.3g} of 1 GPU-hours are spent", said)

    def test_a_budget_begins_no_run_whose_segments_may_exceed_it(self):
        self.study(limit="2s", more="budget: {gpu_hours: 0.005}\n")
        for call in (["--dry-run"], []):
            said = self.hpcbench("run", "tiny.yaml", *call).stderr
            self.assertIn("the next one takes about 0.0111 GPU-hours, and 0.005 are left; where no run of a row has succeeded, each counts 20 time limits", said)
        self.assertEqual(self.executions(), [])
        self.hpcbench("run", "tiny.yaml", "--set", "continue.max=2", code=1)
        self.assertEqual(len(self.executions()), 2)
        self.assertLess(self.status("tiny.yaml")["looks"]["spent_gpu_hours"], 0.005)

    def test_a_budget_that_is_reached_begins_no_further_segment(self):
        self.study(limit="2s")
        text = (self.folder / "tiny.yaml").read_text()
        # The first repeat is short, so a block counts little; the second one takes many segments.
        shell = """[bash, -c, 'exec python3 count.py "$1" $(( $2 == 1 ? 2 : 60 )) plain a "$3"', bash, "{{run_dir}}", "{{repeat}}", "{{resume_from}}"]"""
        self.write("tiny.yaml", re.sub(r"command: .*", lambda _: "command: " + shell, text).replace("repeats: 1", "repeats: 2"))
        self.hpcbench("run", "tiny.yaml", "--set", "repeats=1")
        budget = 3 / 3600
        with_budget = ("--set", f"budget.gpu_hours={budget}")
        said = self.hpcbench("run", "tiny.yaml", *with_budget, code=1).stderr
        self.assertIn("timeout; it waits to be continued: the budget is spent; with a larger one `hpcbench run` continues", said)
        begun = self.executions()
        status = self.hpcbench("status", "tiny.yaml", *with_budget, code=1).stdout
        spent = self.status("tiny.yaml", *with_budget)["looks"]["spent_gpu_hours"]
        self.assertGreaterEqual(spent, budget)
        self.assertLess(spent * 3600 - 2.5, 3, "one segment less, and it was not reached")
        self.assertIn("1 run waits to be continued from what it has saved; `hpcbench run tiny.yaml` does it once `budget` is larger", status)
        self.assertIn("no block is begun", self.hpcbench("run", "tiny.yaml", *with_budget, code=1).stderr)
        self.assertEqual(self.executions(), begun)
        self.hpcbench("run", "tiny.yaml", "--set", "budget.gpu_hours=1")
        second = self.executions()[1:]
        self.assertEqual([segment for _, segment, _ in second], list(range(1, len(second) + 1)))
        self.assertEqual([step for _, _, step in second], sorted({step for _, _, step in second}))
        self.assertEqual({run["state"] for run in self.status("tiny.yaml")["runs"]}, {"succeeded"})

    def test_one_that_is_warned_saves_and_says_so(self):
        self.study("saves", goal=110, limit="6s")  # long enough for Python to be there when the warning comes
        self.hpcbench("run", "tiny.yaml")
        self.each_segment_once(110)
        ends = [json.loads(pathlib.Path(folder, "finished.json").read_text()) for folder, _, _ in self.executions()]
        self.assertEqual({(end["exit_code"], end.get("warned"), end["timed_out"]) for end in ends[:-1]}, {(85, True, False)})
        self.assertEqual(ends[-1]["exit_code"], 0)

    def test_one_that_ends_of_itself_to_be_continued(self):
        self.study("early", limit="1h", goal=50)
        self.hpcbench("run", "tiny.yaml")
        self.each_segment_once(50)
        self.assertEqual([step for _, _, step in self.executions()], [0, 20, 40])

    def test_ranks_wait_for_the_one_that_saves(self):
        self.study("slow", goal=50, limit="6s")
        text = (self.folder / "tiny.yaml").read_text()
        self.write("tiny.yaml", text.replace("name: [a]", "name: [a], gpus_per_node: [3]").replace("max: 20", "warn: 2s"))
        self.hpcbench("run", "tiny.yaml")
        self.each_segment_once(50)
        first = json.loads(pathlib.Path(self.executions()[0][0], "finished.json").read_text())
        self.assertEqual([each["exit_code"] for each in first["processes"]], [85, 85, 85])

    def test_the_same_where_a_script_starts_the_ranks(self):
        self.study("saves", more="setup: ['export X=1']\n")
        self.hpcbench("run", "tiny.yaml")
        self.each_segment_once(60)
        self.assertGreaterEqual(len(self.executions()), 2)


    def test_nothing_warns_a_program_that_does_not_want_it(self):
        self.study()
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("max: 20", "warn: 0"))
        self.hpcbench("run", "tiny.yaml")
        self.each_segment_once(60)
        ends = [json.loads(pathlib.Path(folder, "finished.json").read_text()) for folder, _, _ in self.executions()]
        self.assertEqual({(end.get("warned"), end["timed_out"], end["signal"]) for end in ends[:-1]}, {(None, True, signal.SIGTERM)})
        self.assertGreater(min(end["wall_s"] for end in ends[:-1]), 3)


class Cancelled(ContinueTest):
    def waiting(self):
        """A run whose first segment has ended, and that nobody goes on with. Its steps so far."""
        self.study(goal=40)
        process = self.start("run", "tiny.yaml")
        self.wait_for(lambda: self.executions(), "the first segment")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        first = pathlib.Path(self.executions()[0][0])
        self.wait_for(lambda: (first / "finished.json").exists(), "its end")

    def test_what_waits_between_two_segments_is_not_continued_until_a_retry(self):
        self.waiting()
        done = self.hpcbench("cancel", "tiny.yaml", "--yes")
        self.assertIn("0 running ended, 0 not begun revoked, 1 waiting to be continued stopped.", done.stderr)
        self.assertIn("nothing to cancel", self.hpcbench("cancel", "tiny.yaml", "--yes").stderr)
        for rebuilds in (False, True):
            if rebuilds:
                self.hpcbench("db", "rebuild")
            run, = self.status("tiny.yaml")["runs"]
            self.assertEqual((run["state"], run["reason"]), ("cancelled", "cancelled before it was continued"))
            self.assertNotIn("waits to be continued", self.hpcbench("status", "tiny.yaml", code=None).stdout)
            self.hpcbench("run", "tiny.yaml", code=1)
            self.assertEqual(len(self.executions()), 1)
        self.hpcbench("retry", "tiny.yaml", "--outcome", "cancelled")
        self.each_segment_once(40)

    def test_while_a_run_goes_on_with_it_cancel_says_so(self):
        self.study(goal=1000)
        self.start("run", "tiny.yaml")
        self.wait_for(lambda: self.executions(), "the first segment")
        done = self.hpcbench("cancel", "tiny.yaml", "--yes")
        self.assertIn("running ended", done.stderr)
        self.assertEqual(self.status("tiny.yaml")["runs"][0]["state"], "cancelled")

    def test_killed_at_any_moment_cancel_cancels_or_leaves_it_waiting(self):
        self.waiting()
        for delay_s in (0.02, 0.05, 0.1):
            process = self.start("cancel", "tiny.yaml", "--yes")
            time.sleep(delay_s)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.hpcbench("cancel", "tiny.yaml", "--yes")
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(len(self.executions()), 1)
        self.hpcbench("retry", "tiny.yaml")
        self.each_segment_once(40)


class Counted(ContinueTest):
    """What events say of steps that were done twice."""
    EVENTS = """    if rank == "0":
        with open(run_dir / "events.jsonl", "a") as events:
            events.write('{"v":1,"event":"step","step":%d,"step_s":0.125}\\n' % step)
    if mode == "early" and"""

    def test_steps_done_twice_and_the_time_of_the_others(self):
        self.study("early", limit="1h", goal=50)
        # It saves each 8th step, and ends after 20 of its own.
        program = COUNT.replace('and mode not in ("slow", "silent"):', "and step % 8 == 0:").replace("step % 20 == 0", "step - began == 20")
        program = program.replace("while step < goal:", "began = step\nwhile step < goal:")
        self.write("count.py", program.replace('    if mode == "early" and', self.EVENTS))
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual([step for _, _, step in self.executions()], [0, 16, 32])
        for metric, value in (("steps_redone", 8), ("kept_steps_s", 50 * 0.125)):
            self.assertEqual(self.report("tiny.yaml", "--metric", metric)["rows"][0]["median"], value)

    def test_nothing_is_estimated(self):
        self.study("early", limit="1h", goal=30)
        self.write("count.py", COUNT.replace('    if mode == "early" and', self.EVENTS.replace('if rank == "0"', "if step % 2 == 0")))
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(len(self.executions()), 2)
        done = self.hpcbench("report", "tiny.yaml", "--metric", "steps_redone", "--format", "json", code=None)
        self.assertNotIn('"median":0', done.stdout)
        self.assertFalse([row for row in json.loads(done.stdout or '{"rows":[]}')["rows"] if row.get("median") is not None])


class Ends(ContinueTest):
    def test_no_more_segments_than_said(self):
        self.study(goal=1000)
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("max: 20", "max: 2"))
        done = self.hpcbench("run", "tiny.yaml", code=1)
        self.assertIn("not continued: that was segment 2 of at most 2 (`continue.max`)", done.stderr)
        self.assertEqual([segment for _, segment, _ in self.executions()], [1, 2])
        run, = self.status("tiny.yaml")["runs"]
        self.assertEqual(run["state"], "timeout")
        self.assertIn("segment 2 of at most 2", run["reason"])
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(len(self.executions()), 2)
        row = self.report("tiny.yaml")["rows"][0]
        self.assertEqual((row["censored"], row["continued"]), (1, 1))
        self.assertGreater(row["censored_at_s"], 3, "what both segments took")
        # More of them, and the chain carries on.
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("max: 2", "max: 3"))
        self.assertIn("1 run waits to be continued from what it has saved; `hpcbench run tiny.yaml` does it",
                      self.hpcbench("status", "tiny.yaml", code=None).stdout)
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual([segment for _, segment, _ in self.executions()], [1, 2, 3])
        self.assertGreater(self.executions()[2][2], self.executions()[1][2])

    def test_two_segments_without_progress_end_it(self):
        self.study("stuck", goal=1000)
        done = self.hpcbench("run", "tiny.yaml", code=1)
        self.assertIn("not continued: two segments in a row made no progress", done.stderr)
        begun = self.executions()
        self.assertEqual([segment for _, segment, _ in begun], list(range(1, len(begun) + 1)))
        steps = [step for _, _, step in begun]
        self.assertEqual(steps, sorted(set(steps)) + [4], "it is stuck at 4, which a busy machine may need two segments for")

    def test_a_failure_is_not_continued(self):
        self.study("fails", limit="1h")
        self.hpcbench("run", "tiny.yaml", code=1)
        run, = self.status("tiny.yaml")["runs"]
        self.assertEqual((run["state"], len(self.executions())), ("failed", 1))

    def test_one_that_is_tried_again_is_the_same_segment(self):
        self.study("plain")
        self.write("count.py", COUNT.replace("while step < goal:", """if step > 0 and not os.path.exists("failed"):
    open("failed", "w").close()
    sys.exit(3)
while step < goal:"""))
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(len(self.executions()), 2)
        self.hpcbench("retry", "tiny.yaml")
        begun = self.executions()
        self.assertEqual([segment for _, segment, _ in begun[:3]], [1, 2, 2])
        self.assertEqual(begun[1][2], begun[2][2])
        row = self.row()
        self.assertEqual((row["median"], row["segments"]), (60, begun[-1][1]))


class Faults(ContinueTest):
    def test_killed_at_any_point_each_segment_runs_once(self):
        self.study(goal=80, limit="2s")
        waited = 0
        for kill in range(1, 4):
            process = self.start("run", "tiny.yaml")
            self.wait_for(lambda: len(self.executions()) >= kill or process.poll() is not None, f"segment {kill}")
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            # The job goes on, and ends at its limit without anybody who hands over the next one.
            last = pathlib.Path(self.executions()[-1][0])
            self.wait_for(lambda: (last / "finished.json").exists(), "the segment's end")
            status = self.hpcbench("status", "tiny.yaml", code=None).stdout
            waited += "waits to be continued" in status
        self.assertEqual(waited, 3)
        self.assertIn("  (again)", self.hpcbench("run", "tiny.yaml", "--dry-run").stdout)
        self.hpcbench("run", "tiny.yaml")
        self.each_segment_once(80)


class TheTrainer(StudyTest):
    def a_continued_run_ends_in_the_bits_of_an_undisturbed_one(self, strategy, shape, checkpoints, files):
        """`files`: of its checkpoint, all that are left at the end."""
        if not (PROGRAMS / "hpcbench-train").exists():
            self.skipTest("the trainer is not built")
        study = f"""
trainer: mnist_rnn
parameters: {{strategy: {strategy}, data: {ROOT}/data/mnist, epochs: 9, checkpoint: last, checkpoint_every: 5, {checkpoints}}}
matrix: {{{shape}}}
repeats: 1
"""
        ends, limit = {}, ""
        for name in ("whole", "parts"):
            self.write(f"{name}.yaml", f"experiment: {name}{study}{limit}")
            self.hpcbench("run", f"{name}.yaml")
            wall_s = self.report(f"{name}.yaml", "--metric", "wall_s")["rows"][0]["median"]
            limit = f"resources: {{time: {0.6 * wall_s}s}}\ncontinue: {{on: [timeout]}}\n"
            run, = self.status(f"{name}.yaml")["runs"]
            ends[name] = self.content(pathlib.Path(run["path"], "out/checkpoint"))
        self.assertEqual(len(ends["whole"]), files, ends["whole"].keys())
        self.assertEqual(ends["whole"], ends["parts"])
        rows = {name: self.report(f"{name}.yaml", "--metric", "val_loss")["rows"][0] for name in ends}
        self.assertEqual(rows["whole"]["median"], rows["parts"]["median"])
        self.assertGreaterEqual(rows["parts"]["segments"], 2)
        self.assertEqual(self.report("parts.yaml")["metric"], "wall_s")

    @staticmethod
    def content(folder):
        """What each file says but for the numbers of saves: of a shard its bytes, of the index of shards where the training stands."""
        found = {}
        for path in folder.rglob("*.safetensors"):
            content = path.read_bytes()
            metadata = json.loads(content[8:8 + int.from_bytes(content[:8], "little")]).get("__metadata__", {})
            name = re.sub("^[0-9]+-rank", "rank", path.name)
            found[name] = metadata["hpcbench_training"] if "hpcbench_shards" in metadata else content
        return found

    def test_from_a_whole_checkpoint(self):
        self.a_continued_run_ends_in_the_bits_of_an_undisturbed_one("baseline", "nodes: [1]", "checkpoint_format: whole", 1)

    def test_from_one_in_shards(self):
        self.a_continued_run_ends_in_the_bits_of_an_undisturbed_one("fsdp", "gpus_per_node: [2], nodes: [1]", "checkpoint_format: sharded", 3)


class Reading(ContinueTest):
    def refused(self, keys, message):
        self.study()
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("continue: {on: [timeout], max: 20}", keys))
        self.assertIn(message, self.hpcbench("check", "tiny.yaml", code=2).stderr)

    def test_what_it_may_say(self):
        self.refused("continue: {max: 3}", "tiny.yaml:7:11: error: `continue` needs `on`")
        self.refused("continue: {on: [timeout, lost]}", "tiny.yaml:7:26: error: no run goes on after `lost`")
        self.refused("continue: {on: [timeout], max: 0}", "tiny.yaml:7:32: error: ")
        self.refused("continue: {on: [timeout], warn: -1s}", "tiny.yaml:7:33: error: `continue.warn` must be a time or 0")
        self.refused("continue: {on: [timeout], warn: x}", "tiny.yaml:7:33: error: ")
        self.refused('continue: {on: [timeout]}\npartition: "{{resume_from}}"', "differs from run to run")

    def test_the_trainer_must_keep_something(self):
        study = "experiment: m\ntrainer: mnist_rnn\nmatrix: {nodes: [1]}\nparameters: {data: x}\ncontinue: {on: [timeout]}\n"
        self.write("m.yaml", study)
        self.assertIn("m.yaml:5:11: error: the trainer keeps nothing", self.hpcbench("check", "m.yaml", code=2).stderr)
        self.write("m.yaml", study.replace("data: x", "data: x, checkpoint: last"))
        self.hpcbench("check", "m.yaml")

    def test_identity_does_not_know_it(self):
        self.study()
        self.assertIn("continue: a run has at most 20 segments", self.hpcbench("plan", "tiny.yaml").stdout)
        with_key = json.loads(self.hpcbench("plan", "tiny.yaml", "--format", "json").stdout)
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("continue: {on: [timeout], max: 20}\n", ""))
        self.assertEqual(with_key["rows"], json.loads(self.hpcbench("plan", "tiny.yaml", "--format", "json").stdout)["rows"])


if __name__ == "__main__":
    unittest.main()
