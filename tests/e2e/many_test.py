"""One `hpcbench run` of several studies: their order, slots, failures, adaptive repeats, refusals, and a call that is killed."""
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

# Each run notes its begin, its end, and how many run then: one that a stop killed left its folder.
WORK = """mkdir at.$$
count=0
for each in at.*; do kill -0 ${each#at.} 2>/dev/null && count=$((count + 1)); done
echo $count >>most; echo "$1" >>began; sleep ${2:-0}; rmdir at.$$; exit ${3:-0}
"""
STUDY = """
experiment: %s
command: [bash, %s/work.sh, %s, "%s", "%s"]
launch: once
matrix: {k: [1, 2]}
repeats: %s
"""


class Many(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("work.sh", f"cd {self.folder}\n" + WORK)

    def study(self, name, seconds="0", code="0", repeats="2"):
        self.write(name + ".yaml", STUDY % (name, self.folder, name, seconds, code, repeats))
        return name + ".yaml"

    def lines(self, name):
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def test_a_failure_stops_no_other_and_repeats_are_adaptive(self):
        files = [self.study("bad", code="3"), self.study("adaptive", repeats="{from: 6, to: 8, until: 99 %}"), self.study("good")]
        done = self.hpcbench("run", *files, "--yes", code=1)
        began = self.lines("began")
        self.assertEqual(began, sorted(began, key=["bad", "adaptive", "good"].index), "one study after the other")
        self.assertEqual(began.count("good"), 4)
        self.assertGreaterEqual(began.count("adaptive"), 12)
        self.assertEqual(set(self.lines("most")), {"1"}, "one slot for all")
        self.assertIn("bad: stopped: ", done.stderr)
        self.assertIn("good: 4 of 4 runs succeeded. Next: hpcbench report good", done.stderr)
        for name in ("bad", "adaptive", "good"):
            self.assertIn("ends with exit code", (self.folder / "results" / name / "hpcbench.log").read_text())
        again = self.hpcbench("run", *files[1:])
        self.assertEqual(self.lines("began"), began)
        self.assertIn("good: nothing to do", again.stderr)

    def test_a_study_that_waits_for_its_turn_says_so_and_can_be_cancelled(self):
        waits = WORK.replace("sleep ${2:-0}", "while [ $1 = a ] && [ ! -e go ] && [ -e work.sh ]; do sleep 0.05; done")
        self.write("work.sh", f"cd {self.folder}\n" + waits)
        files = [self.study("a"), self.study("b")]
        running = self.start("run", *files)
        self.wait_for(lambda: self.lines("began"), "the first run of a")
        waiting = self.hpcbench("status", "b.yaml")
        self.assertRegex(waiting.stderr, r"b has no results yet: its runs wait until process \d+ on \S+ begins them")
        self.assertIn("4 planned", waiting.stdout)
        said = self.hpcbench("cancel", "b.yaml", "--only", "k=1", "--yes").stderr
        self.assertRegex(said, r"nothing to cancel: .*\nnote: process \d+ on \S+ runs the study and begins 2 runs that are not submitted yet; "
                               r"without --only, `hpcbench cancel` ends it")
        said = self.hpcbench("cancel", "b.yaml", "--yes").stderr
        self.assertIn("0 running ended, 0 not begun revoked, 4 not submitted: `hpcbench run` begins them.\n", said)
        self.assertIsNone(running.poll(), "a continues")
        self.write("go", "")
        output, _ = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 1)
        self.assertIn("b: ended by `hpcbench cancel`: 4 of 4 runs were not carried out; `hpcbench run b` carries them out", output)
        self.assertNotIn("of 4 runs succeeded. Next: hpcbench report b", output)
        self.assertEqual(self.lines("began"), ["a"] * 4)
        self.hpcbench("run", "b.yaml")
        self.assertEqual(self.lines("began"), ["a"] * 4 + ["b"] * 4)

    def test_cancel_ends_what_has_begun_and_begins_no_more(self):
        file = self.study("a", seconds="100", repeats="600")  # more than are written before the first begins
        running = self.start("run", file)
        self.wait_for(lambda: self.lines("began"), "the first run")
        follower = self.start("run", file)
        next(line for line in follower.stdout if "following it" in line)
        said = self.hpcbench("cancel", file, "--yes").stderr
        self.assertRegex(said, r"1 running ended, 999 not begun revoked, 200 not submitted: `hpcbench run` begins them. `hpcbench retry")
        for process in (running, follower):
            output, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, output)
            self.assertIn("ended by `hpcbench cancel`: 1200 of 1200 runs were not carried out; `hpcbench retry", output)
        self.assertEqual(self.lines("began"), ["a"])

    def test_what_is_made_here_comes_one_at_a_time_before_all_runs(self):
        files = [self.study("plain", repeats="3")]
        for name in ("one", "two"):
            self.study(name, seconds="0.2")
            make = f"prepare: {{build: {{command: [bash, {self.folder}/work.sh, made, '0.4']}}}}\nworkdir: '{{{{build.dir}}}}'\n"
            files.append(self.write(name + ".yaml", (self.folder / (name + ".yaml")).read_text() + make))
        self.hpcbench("run", *map(str, files), "--slots", "2")
        began = self.lines("began")
        self.assertEqual(began[:2], ["made"] * 2)
        self.assertEqual({name: began.count(name) for name in set(began)}, {"made": 2, "plain": 6, "one": 4, "two": 4})
        self.assertEqual(self.lines("most")[:2], ["1"] * 2)
        self.assertEqual(max(self.lines("most")), "2")

    def test_an_interrupt_while_something_is_made_here_begins_no_run(self):
        plain, built = self.study("plain"), self.study("built")
        make = f"prepare: {{build: {{command: [bash, {self.folder}/work.sh, made, '1']}}}}\nworkdir: '{{{{build.dir}}}}'\n"
        self.write(built, (self.folder / built).read_text() + make)
        call = self.start("run", plain, built)
        self.wait_for(lambda: self.lines("began"), "what is made")
        call.send_signal(signal.SIGINT)
        said, _ = call.communicate(timeout=120)
        self.assertEqual(call.returncode, 130, said)
        self.assertIn("built: prepare: what ran here was ended", said)
        self.assertEqual(self.lines("began"), ["made"])
        self.hpcbench("run", plain, built)
        self.assertEqual(len(self.lines("began")), 2 + 8)

    def test_a_build_that_fails_stops_no_other_study(self):
        self.study("bad")
        self.write("bad.yaml", (self.folder / "bad.yaml").read_text() + "prepare: {build: {command: ['false']}}\nworkdir: '{{build.dir}}'\n")
        said = self.hpcbench("run", "bad.yaml", self.study("good"), code=1).stderr
        self.assertIn("bad: prepare: build failed: exit code 1", said)
        self.assertIn("good: 4 of 4 runs succeeded", said)
        self.assertEqual(self.lines("began"), ["good"] * 4)

    def test_killed_and_called_again_each_run_begins_once(self):
        files = [self.study(name, seconds="0.3", repeats="3") for name in ("a", "b", "c")]
        call = self.start("run", *files, "--slots", "2")
        self.wait_for(lambda: self.lines("began").count("b") >= 1, "a run of the second study")
        os.kill(call.pid, signal.SIGKILL)
        self.reap(call)
        self.hpcbench("run", *files, "--slots", "2")
        began = self.lines("began")
        self.assertEqual({name: began.count(name) for name in "abc"}, {"a": 6, "b": 6, "c": 6})
        self.assertLessEqual(max(map(int, self.lines("most"))), 2)

    def test_an_interrupt_leaves_all_of_them_in_order(self):
        files = [self.study(name, seconds="0.3") for name in ("a", "b")]
        call = self.start("run", *files)
        self.wait_for(lambda: self.lines("began"), "a run")
        call.send_signal(signal.SIGINT)
        said, _ = call.communicate(timeout=120)
        self.assertEqual(call.returncode, 130, said)
        self.hpcbench("run", *files)
        self.assertEqual(len(self.lines("began")), 8)

    def test_the_advice_after_an_interrupt_continues_this_call(self):
        files = [self.study(name, seconds="0.3", repeats="9") for name in ("a", "b")]
        call = self.start("run", *files, "--only", "k=1", "--repeats", "2")
        self.wait_for(lambda: self.lines("began"), "a run")
        call.send_signal(signal.SIGINT)
        said, err = call.communicate(timeout=120)
        self.assertIn("`hpcbench run a --only k=1 --repeats 2` carries on", said + (err or ""))
        for name in "ab":
            self.hpcbench("run", name, "--only", "k=1", "--repeats", "2")
        self.assertEqual(sorted(self.lines("began")), ["a", "a", "b", "b"])

    def test_a_block_that_is_too_dear_is_not_called_done(self):
        self.write("b.yaml", STUDY % ("b", self.folder, "b", 0, 0, 2) + "resources: {time: 1h}\n")
        said = self.hpcbench("run", "b.yaml", "--at-most", "0.1 node-hours").stderr
        self.assertIn("no block is begun", said)
        self.assertNotIn("all 0 runs", said)

    def test_nothing_begins_where_a_file_is_wrong_or_there_twice(self):
        good = self.study("good")
        self.write("x.yaml", "experiment: x\nmatrx: {}\n")
        self.write("y.yaml", "experiment: y\nrepeats: [\n")
        said = self.hpcbench("run", good, "x.yaml", "y.yaml", code=2).stderr
        self.assertIn("x.yaml:2:1: error", said)
        self.assertIn("y.yaml:", said)
        self.assertIn("another file of this call", self.hpcbench("run", good, good, code=2).stderr)
        self.write("other.yaml", (self.folder / good).read_text())
        self.assertIn("another file of this call", self.hpcbench("run", good, "other.yaml", code=2).stderr)
        self.assertIn("another file of this call", self.hpcbench("run", good, good, "--dry-run", code=2).stderr)
        self.write("lacks.yaml", "experiment: lacks\ncommand: [no-such-program]\nmatrix: {k: [1]}\n")
        self.assertIn("lacks: error: nothing was started", self.hpcbench("run", good, "lacks.yaml", code=3).stderr)
        limited = self.write("limited.yaml", STUDY % ("limited", self.folder, "limited", "0", "0", "2") + "resources: {time: 1m}\n")
        said = self.hpcbench("run", str(limited), good, "--at-most", "1 node-hours", code=3).stderr
        self.assertRegex(said, r"good: .*good.yaml: error: what a run of `k=1, .*` costs is not known")
        self.assertIn("Nothing was started.", said)
        said = self.hpcbench("run", good, str(limited), "--detach", code=2).stderr
        self.assertEqual(said.count(".yaml: error: --detach needs the executor slurm"), 2)
        self.assertEqual(self.lines("began"), [])

    def test_a_rehearsal_names_each_study(self):
        done = self.hpcbench("run", self.study("a"), self.study("b"), "--dry-run")
        self.assertIn("# a\n", done.stdout)
        self.assertIn("b: 4 runs would be started", done.stderr)
        self.assertEqual(self.lines("began"), [])

    def test_an_error_of_one_study_leaves_the_others_no_endless_wait(self):
        for name, code in (("bad", "rm -rf results/bad; sleep 1"), ("good", "true")):
            self.write(f"{name}.yaml", f"experiment: {name}\ncommand: [bash, -c, '{code}']\nlaunch: once\nmatrix: {{k: [1]}}\nresources: {{time: 4s}}\n")
        said = self.hpcbench("run", "bad.yaml", "good.yaml", "--at-most", f"{6 / 3600} node-hours", code=3).stderr
        self.assertIn("good: no block is begun: the next one takes about 0.00111 node-hours, and 0.000556 are left", said)

    def test_a_rehearsal_shares_the_budget_of_the_call(self):
        files = [self.study(name) for name in "abc"]
        for name in files:  # a block has two runs of at most an hour
            self.write(name, (self.folder / name).read_text() + "resources: {time: 1h}\n")
        said = self.hpcbench("run", *files, "--dry-run", "--at-most", "5 node-hours")
        self.assertIn("a: 2 runs would be started", said.stderr)
        self.assertIn("b: 2 runs would be started", said.stderr)
        self.assertIn("the next one takes about 2 node-hours, and 1 are left beside the blocks of the files before it", said.stderr)
        self.assertIn("c: nothing would be started", said.stderr)
        self.assertEqual([line for line in said.stdout.splitlines() if line.startswith("#")], ["# a", "# b", "# c"])
        self.assertEqual(self.lines("began"), [])


if __name__ == "__main__":
    unittest.main()
