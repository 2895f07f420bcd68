"""Runs that a person sets aside: tables leave them out, nothing is deleted, and `run --again` measures them again, exactly once."""
import csv
import io
import json
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: tiny
command: [bash, work.sh, "{{strategy}}"]
launch: once
matrix: {strategy: [slow, fast]}
repeats: 6
resources: {time: 60s}
metrics: [{name: score_s, file: stdout.log, pattern: 'score ([0-9.]+)', unit: s}]
baseline: {strategy: slow}
report: {metric: score_s}
"""
WORK = """
echo "$1" >> executions
case $1 in slow) base=8 ;; fast) base=4 ;; esac
[ -e newer ] && base=$((base / 2))
echo "score $base"
"""


class SettingAside(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", STUDY)
        self.write("work.sh", WORK)

    def executions(self):
        path = self.folder / "executions"
        return path.read_text().split() if path.exists() else []

    def row(self, strategy, *arguments):
        return next(row for row in self.report("tiny.yaml", *arguments)["rows"] if row["axes"]["strategy"] == strategy)

    def test_a_run_is_left_out_with_its_reason_everywhere(self):
        self.hpcbench("run", "tiny.yaml")
        self.hpcbench("set-aside", "fast/r03", "--why", "a backup ran")
        row = self.row("fast")
        self.assertEqual((row["n"], row["outcomes"]["succeeded"]), (5, 5))
        aside = row["set_aside"]
        self.assertEqual([(run["run"], run["attempt"], run["outcome"], run["value"], run["reason"]) for run in aside],
                         [("r03", "a1", "succeeded", 4, "a backup ran")])
        self.assertIn("set-aside", row["warnings"])
        self.assertNotIn("set_aside", self.row("slow"))
        self.assertIn("5 succeeded, 1 set aside", self.hpcbench("report", "tiny.yaml").stdout)
        for line in csv.DictReader(io.StringIO(self.hpcbench("report", "--format", "csv").stdout)):
            self.assertEqual(line["set_aside"], "r03/a1: a backup ran" if line["strategy"] == "fast" else "")
        html = self.hpcbench("report", "--format", "html").stdout
        self.assertIn("set aside (succeeded)", html)
        self.assertIn("a backup ran", html)
        methods = self.hpcbench("report", "--methods").stdout
        self.assertIn("1 measurement was set aside and counts in nothing: a backup ran (1)", " ".join(methods.split()))
        self.assertRegex(self.hpcbench("show", "fast/r03").stdout, r"set aside +a backup ran \(by .*UTC\)")
        status = self.status("tiny.yaml")
        self.assertEqual((status["counts"]["succeeded"], status["counts"]["planned"], status["set_aside"]), (11, 0, 1))
        self.assertIn("12 runs: 11 succeeded, 1 set aside", self.hpcbench("status", "tiny.yaml").stdout)
        index = (self.folder / "results/tiny/index.tsv").read_text()
        self.assertEqual(len(list((self.folder / "results").rglob("finished.json"))), 12, "nothing is deleted")
        self.assertEqual(index.count("6 succeeded"), 2)

    def test_run_leaves_it_out_and_undo_takes_it_back(self):
        self.hpcbench("run", "tiny.yaml")
        before = self.hpcbench("report", "--format", "json").stdout
        self.hpcbench("set-aside", "fast/r03", "--why", "a backup ran")
        done = self.hpcbench("run", "tiny.yaml")
        self.assertIn("nothing to do: all 11 runs have an outcome, and 1 run is set aside", done.stderr)
        self.assertEqual(len(self.executions()), 12)
        self.assertIn("1 set aside", (self.folder / "results/tiny/index.tsv").read_text())
        self.hpcbench("retry", "tiny.yaml")
        self.assertEqual(len(self.executions()), 12)
        self.assertIn("1 run counts again", self.hpcbench("set-aside", "fast/r03", "--undo").stderr)
        self.assertEqual(self.hpcbench("report", "--format", "json").stdout, before)
        self.assertIn("nothing to undo", self.hpcbench("set-aside", "fast/r03", "--undo").stderr)

    def test_a_rebuilt_index_says_the_same(self):
        self.hpcbench("run", "tiny.yaml")
        self.hpcbench("set-aside", "--only", "strategy=fast", "--why", "wrong library")
        before = self.hpcbench("report", "--format", "json").stdout
        self.assertIsNone(self.row("fast")["median"])
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.hpcbench("report", "--format", "json").stdout, before)
        self.hpcbench("export", "-o", "tiny.tar.zst")
        unpacked = json.loads(self.hpcbench("report", "--archive", "tiny.tar.zst", "--format", "json").stdout)
        self.assertEqual(unpacked["rows"], json.loads(before)["rows"])

    def test_again_measures_all_again_and_compares(self):
        self.hpcbench("run", "tiny.yaml")
        self.write("newer", "")
        self.hpcbench("set-aside", "fast/r03", "--why", "a backup ran")
        self.assertIn("12 runs would be started", self.hpcbench("run", "tiny.yaml", "--again", "--dry-run").stderr)
        self.assertEqual(len(self.executions()), 12)
        self.hpcbench("run", "tiny.yaml", "--again")
        self.assertEqual(sorted(self.executions()), ["fast"] * 12 + ["slow"] * 12)
        row = self.row("fast")
        self.assertEqual((row["n"], row["median"], row["runs"][0]["attempt"]), (6, 2, "a2"))
        self.assertEqual(sorted(run["reason"] for run in row["set_aside"]), ["a backup ran"] + ["measured again"] * 5)
        self.assertNotIn("set-aside", row["warnings"], "all were measured again: none was chosen")
        self.assertNotIn("tried_again", row)
        compared = json.loads(self.hpcbench("compare", "tiny@aside", "tiny", "--format", "json").stdout)
        self.assertEqual({(line["axes"]["strategy"], line["a"]["median"], line["b"]["median"]) for line in compared["rows"]},
                         {("slow", 8, 4), ("fast", 4, 2)})
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(len(self.executions()), 24, "run does not go on measuring")

    def test_again_of_a_selection(self):
        self.hpcbench("run", "tiny.yaml")
        self.hpcbench("run", "tiny.yaml", "--again", "--only", "strategy=fast")
        self.assertEqual(sorted(self.executions()), ["fast"] * 12 + ["slow"] * 6)
        self.assertNotIn("set_aside", self.row("slow"))

    def test_an_older_measurement_counts_again(self):
        self.hpcbench("run", "tiny.yaml")
        self.write("newer", "")
        self.hpcbench("run", "tiny.yaml", "--again", "--only", "strategy=fast")
        done = self.hpcbench("set-aside", "fast/r01/a1", "--undo")
        self.assertIn("later attempts still count", done.stderr)
        self.assertEqual(self.row("fast")["runs"][0]["value"], 2)
        self.hpcbench("set-aside", "fast/r01/a2", "--why", "the new one was disturbed")
        self.hpcbench("set-aside", "fast/r01/a1", "--undo")
        self.assertEqual(self.row("fast")["runs"][0]["value"], 4)
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(len(self.executions()), 18)

    def test_undo_takes_back_the_last_time_only(self):
        self.hpcbench("run", "tiny.yaml")
        self.write("newer", "")
        self.hpcbench("run", "tiny.yaml", "--again")
        compared = self.hpcbench("compare", "tiny@aside", "tiny", "--format", "json").stdout
        for named in (["fast/r03"], ["--only", "strategy=fast"]):
            self.hpcbench("set-aside", *named, "--why", "a backup ran")
            said = self.hpcbench("set-aside", *named, "--undo").stderr
            self.assertRegex(said, r"(1 run counts|6 runs count) again: \w+/r0\d/a2 \(a backup ran\)")
            self.assertRegex(said, r"note: earlier measurements stay set aside: \w+/r0\d/a1 \(measured again\)")
            self.assertEqual(self.hpcbench("compare", "tiny@aside", "tiny", "--format", "json").stdout, compared)
            said = self.hpcbench("set-aside", *named, "--undo").stderr
            self.assertRegex(said, r"nothing to undo: earlier measurements stay set aside: \w+/r0\d/a1 \(measured again\).*/a1 --undo`\n$")
        self.assertIn("1 run counts again", self.hpcbench("set-aside", "fast/r03/a1", "--undo").stderr)
        self.assertEqual(len(self.row("fast")["set_aside"]), 5)

    def test_undo_takes_back_all_attempts_of_that_time(self):
        self.write("tiny.yaml", STUDY.replace("repeats: 6", "repeats: 1\nretries: {failed: 1}"))
        self.write("work.sh", 'if [ $1 = fast ] && [ ! -e failed ]; then touch failed; exit 3; fi\n' + WORK)
        self.hpcbench("run", "tiny.yaml")
        before = self.hpcbench("report", "--format", "json").stdout
        self.hpcbench("set-aside", "fast/r01", "--why", "a backup ran")
        self.hpcbench("set-aside", "fast/r01", "--why", "a long backup ran")
        self.assertEqual([(run["attempt"], run["reason"]) for run in self.row("fast")["set_aside"]],
                         [("a1", "a long backup ran"), ("a2", "a long backup ran")])
        self.hpcbench("set-aside", "fast/r01", "--undo")
        self.assertEqual(self.hpcbench("report", "--format", "json").stdout, before)

    def test_compare_takes_the_last_attempt_of_each_run_that_was_set_aside(self):
        self.hpcbench("run", "tiny.yaml")
        self.hpcbench("run", "tiny.yaml", "--again")
        self.write("newer", "")
        self.hpcbench("run", "tiny.yaml", "--again")
        compared = json.loads(self.hpcbench("compare", "tiny@aside", "tiny", "--format", "json").stdout)
        self.assertEqual([(row["a"]["n"], row["a"]["median"]) for row in compared["rows"]], [(6, 8), (6, 4)])
        self.assertIn("tiny@aside: 12 runs have several attempts that were set aside: the last one counts, 12 earlier ones do not", compared["notes"])

    def test_measuring_a_row_again_ends_the_warning(self):
        self.write("tiny.yaml", STUDY.replace("repeats: 6", "repeats: 6\nretries: {failed: 1}"))
        self.write("work.sh", 'if [ $1 = fast ] && [ ! -e failed ]; then touch failed; exit 3; fi\n' + WORK)
        self.hpcbench("run", "tiny.yaml")
        self.hpcbench("set-aside", "fast/r03", "--why", "a backup ran")
        self.assertIn("set-aside", self.row("fast")["warnings"])
        self.hpcbench("run", "tiny.yaml", "--again")
        self.assertNotIn("set-aside", self.row("fast")["warnings"], "one run was tried twice: its attempts are not a choice")
        self.write("work.sh", "sleep 0.3\n" + WORK)
        process = self.start("run", "tiny.yaml", "--again")
        self.wait_for(lambda: len(self.executions()) >= 30, "some runs that are measured again")
        os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=60)
        self.hpcbench("run", "tiny.yaml", "--again")
        self.assertEqual([row["warnings"].count("set-aside") for row in self.report("tiny.yaml")["rows"]], [0, 0])
        self.hpcbench("set-aside", "fast/r03", "--why", "a backup ran")
        self.assertIn("set-aside", self.row("fast")["warnings"])

    def test_killed_at_any_moment_each_run_is_measured_once_more(self):
        self.hpcbench("run", "tiny.yaml")
        for seen in (1, 6, 12):
            with self.subTest(seen=seen):
                already = len(list((self.folder / "results/tiny").rglob("aside.json")))
                process = self.start("run", "tiny.yaml", "--again")
                self.wait_for(lambda: process.poll() is not None or
                              len(list((self.folder / "results/tiny").rglob("aside.json"))) >= already + seen, "runs set aside")
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                self.hpcbench("run", "tiny.yaml")
                aside = {path.parent for path in (self.folder / "results/tiny").rglob("aside.json")}
                finished = {path.parent for path in (self.folder / "results/tiny").rglob("finished.json")}
                self.assertEqual(len(finished - aside), 12, "one attempt of each run counts")
                self.assertEqual(len({path.parent for path in finished - aside}), 12)
                self.assertEqual(len(self.executions()), len(finished), "each attempt was executed once")
                self.assertEqual(self.status("tiny.yaml")["counts"]["succeeded"], 12)
                self.assertGreaterEqual(len(aside), already + seen)

    def test_failures_set_aside_are_not_retried(self):
        self.write("tiny.yaml", STUDY.replace("repeats: 6", "repeats: 1\nretries: {failed: 1}"))
        self.write("work.sh", WORK + "[ -e well ] || [ $1 = slow ] || exit 3\n")
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        self.assertEqual(sorted(self.executions()), ["fast", "fast", "slow"])
        self.hpcbench("set-aside", "fast/r01", "--why", "the disk was full")
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(len(self.executions()), 3)
        # Measured again it has all its retries.
        self.hpcbench("run", "tiny.yaml", "--again", "--only", "strategy=fast", "--keep-going", code=1)
        self.assertEqual(len(self.executions()), 5)

    def test_a_run_measured_again_begins_anew(self):
        self.write("tiny.yaml", STUDY.replace("repeats: 6", "repeats: 1\ncontinue: {on: [timeout], max: 3}")
                   .replace('"{{strategy}}"]', '"{{run_dir}}"]'))
        self.write("work.sh", 'from=$(echo "$HPCBENCH_RESUME_FROM" | sed "s|.*/r01/||; s|/.*||")\necho "$HPCBENCH_SEGMENT $from" >> executions\n'
                   'if [ -z "$from" ]; then echo 1 > "$1/state"; exit 85; fi\necho score 1\n')
        self.hpcbench("run", "tiny.yaml", "--only", "strategy=slow")
        before = (self.folder / "executions").read_text().splitlines()
        self.assertEqual(before, ["1 ", "2 a1"])
        self.hpcbench("run", "tiny.yaml", "--only", "strategy=slow", "--again")
        self.assertEqual((self.folder / "executions").read_text().splitlines()[2:], ["1 ", "2 a3"])

    def test_what_cannot_be_set_aside(self):
        self.write("work.sh", WORK + "while [ ! -e go ]; do sleep 0.05; done\n")
        self.write("tiny.yaml", STUDY.replace("repeats: 6", "repeats: 1"))
        process = self.start("run", "tiny.yaml")
        self.wait_for(lambda: "slow" in self.executions() or "fast" in self.executions(), "a run that goes on")
        name = self.executions()[0]
        refused = self.hpcbench("set-aside", f"{name}/r01", "--why", "x", code=2).stderr
        self.assertIn("has not ended: set it aside once it has", refused)
        self.write("go", "")
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertIn("--why is missing", self.hpcbench("set-aside", "slow/r01", code=2).stderr)
        self.assertIn("name the runs", self.hpcbench("set-aside", "--why", "x", code=2).stderr)
        self.assertIn("no run of tiny was set aside", self.hpcbench("compare", "tiny@aside", "tiny", code=2).stderr)
        self.write("looks.yaml", STUDY.replace("tiny", "looks").replace("repeats: 6", "repeats: {until: 50 %, looks: [6, 8]}"))
        self.hpcbench("run", "looks.yaml")
        refused = self.hpcbench("set-aside", "looks/slow/r01", "--why", "x", code=2).stderr
        self.assertIn("`repeats.until` decides by all runs of a row", refused)

    def test_blocks_of_a_budget_go_on_after_a_run_left_out(self):
        self.write("tiny.yaml", STUDY + "budget: {node_hours: 100}\n")
        self.hpcbench("run", "tiny.yaml", "--repeats", "3")
        self.hpcbench("set-aside", "fast/r02", "--why", "a backup ran")
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(len(self.executions()), 12)
        self.assertEqual((self.row("fast")["n"], self.row("slow")["n"]), (5, 6))

    def test_imported_runs(self):
        self.write("tiny.yaml", STUDY + "import: [{files: ['old/*.log'], each: true, run: {strategy: fast}}]\n")
        for number in (1, 2):
            self.write(f"old/{number}.log", f"score {number}\n")
        self.assertEqual(self.row("fast")["n"], 2)
        self.hpcbench("set-aside", "tiny/strategy=fast/i02", "--why", "another machine")
        self.assertEqual(self.row("fast")["n"], 1)
        self.assertIn("another machine", self.hpcbench("status", "tiny.yaml").stdout)
        # Read again by another rule, the run is its next attempt, and stays set aside.
        self.write("tiny.yaml", (self.folder / "tiny.yaml").read_text().replace("unit: s}", "unit: s, take: first}"))
        row = self.row("fast")
        self.assertEqual((row["n"], row["runs"][0]["attempt"]), (1, "a2"))
        self.hpcbench("set-aside", "tiny/strategy=fast/i02", "--undo")
        self.assertEqual(self.row("fast")["n"], 2)


class SetAsideLines(StudyTest):
    """A line of an imported table that was set aside, and a table that grows."""
    def setUp(self):
        super().setUp()
        self.write("e.yaml", "experiment: e\nmatrix: {strategy: [baseline, ddp]}\nmetrics: [{name: train_s, unit: s, better: lower}]\n"
                             "report: {metric: train_s}\nimport: [t.csv]\n")
        self.lines = ["strategy,train_s", "baseline,100", "ddp,50", "ddp,999"]
        self.table()
        self.report("e.yaml")
        self.hpcbench("set-aside", "e/strategy=ddp/i02", "--why", "backup ran")

    def table(self):
        self.write("t.csv", "\n".join(self.lines) + "\n")

    def values(self):
        return sorted(run["value"] for row in self.report("e.yaml")["rows"] for run in row["runs"] if row["axes"]["strategy"] == "ddp")

    def test_it_stays_so_where_lines_come_and_move(self):
        self.assertEqual(self.values(), [50])
        for change in (lambda: self.lines.append("ddp,51"), lambda: self.lines.insert(1, "baseline,101"), lambda: self.lines.reverse()):
            change()
            if not self.lines[0].startswith("strategy"):
                self.lines.remove("strategy,train_s")
                self.lines.insert(0, "strategy,train_s")
            self.table()
            self.assertEqual(self.values(), [50, 51])

    def test_with_another_value_it_counts_again_and_a_note_says_so(self):
        self.lines[3] = "ddp,52"
        self.table()
        said = self.hpcbench("report", "e.yaml").stderr
        self.assertIn("was set aside (backup ran) and has other values now: it counts again", said)
        self.assertEqual(self.values(), [50, 52])


class Selection(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("e.yaml", 'experiment: e\nmatrix: {opt: ["", "-O2"]}\nrepeats: 1\ncommand: ["true", "{{opt}}"]\nlaunch: once\n')
        self.hpcbench("run", "e.yaml")

    def test_an_empty_selection_is_refused_and_sets_nothing_aside(self):
        for command in (["run", "e.yaml", "--again"], ["retry", "e.yaml"], ["plan", "e.yaml"], ["status", "e.yaml"], ["report", "e.yaml"], ["cancel", "e.yaml"],
                        ["compare", "e", "e"], ["set-aside", "--why", "x"], ["plot", "e.yaml"], ["watch", "e.yaml"]):
            for empty in ("", "  "):
                self.assertIn("error: --only is empty: give it a value, or leave the option out", self.hpcbench(*command, "--only", empty, code=2).stderr)
        self.assertIn("--where is empty", self.hpcbench("report", "e.yaml", "--where", "", code=2).stderr)
        self.assertIn("--outcome is empty", self.hpcbench("retry", "e.yaml", "--outcome", "", code=2).stderr)
        self.assertEqual(self.status("e.yaml")["set_aside"], 0)

    def test_the_empty_text_is_a_value_that_can_be_named(self):
        for only, rows in (('opt=""', 1), ('opt=""|-O2', 2), ("opt == ''", 1)):
            self.assertEqual(len(self.report("e.yaml", "--only", only)["rows"]), rows)
        self.assertIn('(the empty text is opt="")', self.hpcbench("report", "e.yaml", "--only", "opt=", code=2).stderr)
        self.assertIn('(there are: "", -O2)', self.hpcbench("report", "e.yaml", "--only", "opt=x", code=2).stderr)
        self.hpcbench("set-aside", 'e/opt=""', "--why", "x")
        self.assertEqual(self.status("e.yaml")["set_aside"], 1)


if __name__ == "__main__":
    unittest.main()
