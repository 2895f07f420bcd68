"""A study from its file to its table, with any program: the real hpcbench, real jobs."""
import csv
import io
import json
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest, alive  # noqa: E402

STUDY = """
experiment: tiny
command: [bash, work.sh, "{{strategy}}", "{{gpus}}"]
launch: once
matrix:
  strategy: [slow, fast]
  gpus_per_node: [1, 2]
exclude: [{strategy: slow, gpus_per_node: 2}]
repeats: 6
resources: {time: 60s}
metrics: [{name: score_s, file: stdout.log, pattern: 'score ([0-9.]+)', unit: s}]
baseline: {strategy: slow}
report: {metric: score_s}
"""
# The score is made up from the arguments, so that medians and speedups are known in advance.
WORK = """
echo "$1 $2" >> executions
case $1 in slow) base=8 ;; fast) base=4 ;; esac
printf 'score %d.%02d\\n' $((base / $2)) "$HPCBENCH_TEST_JITTER"
"""


class WholeStudy(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", STUDY)
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "0"))

    def executions(self):
        path = self.folder / "executions"
        return path.read_text().splitlines() if path.exists() else []

    def test_from_file_to_table(self):
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(sorted(self.executions()), ["fast 1"] * 6 + ["fast 2"] * 6 + ["slow 1"] * 6)
        table = self.report("tiny.yaml")
        rows = {(row["axes"]["strategy"], row["gpus"]): row for row in table["rows"]}
        self.assertEqual(table["metric"], "score_s")
        self.assertEqual([rows[k]["median"] for k in (("slow", 1), ("fast", 1), ("fast", 2))], [8, 4, 2])
        self.assertAlmostEqual(rows["fast", 2]["speedup"]["value"], 4, 12)
        self.assertAlmostEqual(rows["fast", 2]["efficiency"], 2, 12)
        self.assertEqual(rows["fast", 1]["outcomes"], {"succeeded": 6})
        self.assertEqual(rows["fast", 1]["interval"]["coverage"], 0.96875)

    def test_second_run_does_nothing_and_prints_the_same_table(self):
        self.hpcbench("run", "tiny.yaml")
        first = self.hpcbench("report", "--format", "markdown").stdout
        again = self.hpcbench("run", "tiny.yaml")
        self.assertIn("nothing to do", again.stderr)
        self.assertEqual(len(self.executions()), 18)
        self.assertEqual(self.hpcbench("report", "--format", "markdown").stdout, first)

    def test_rebuilt_database_gives_the_same_reports_byte_for_byte(self):
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "0") + '[ "$1 $2" = "fast 2" ] && exit 3\ntrue\n')
        self.hpcbench("run", "tiny.yaml", code=1)
        before = {f: self.hpcbench("report", "tiny.yaml", "--format", f).stdout for f in ("text", "markdown", "csv", "json")}
        (self.folder / "results/hpcbench.db").unlink()
        after = {f: self.hpcbench("report", "tiny.yaml", "--format", f).stdout for f in before}
        self.assertEqual(before, after)
        self.hpcbench("db", "rebuild")
        self.assertEqual(before["json"], self.hpcbench("report", "tiny.yaml", "--format", "json").stdout)

    def test_damaged_database_is_made_anew_and_said_so(self):
        self.hpcbench("run", "tiny.yaml")
        before = self.hpcbench("report", "tiny.yaml", "--format", "json").stdout
        (self.folder / "results/hpcbench.db").write_bytes(b"this is no database" * 1000)
        done = self.hpcbench("report", "tiny.yaml", "--format", "json")
        self.assertIn("made anew", done.stderr)
        self.assertEqual(done.stdout, before)

    def test_failures_are_rows_and_can_be_retried(self):
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "0") + 'echo broken >&2\n[ -e mended ] || exit 3\n')
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        row = self.report("tiny.yaml")["rows"][0]
        self.assertEqual(row["outcomes"]["failed"], 6)
        self.assertIsNone(row["median"])
        failed = self.status("tiny.yaml")["runs"][0]
        self.assertEqual((failed["state"], failed["exit_code"]), ("failed", 3))
        self.assertIn("broken", failed["reason"])
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        self.assertEqual(len(self.executions()), 18, "run does not repeat what failed")
        self.write("mended", "")
        self.hpcbench("retry", "tiny.yaml")
        self.assertEqual(len(self.executions()), 36)
        self.assertEqual(self.report("tiny.yaml")["rows"][0]["runs"][0]["attempt"], "a2")

    def test_retry_says_why_nothing_is_run_again(self):
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "0") + '[ $1 = fast ] || exit 3\n')
        self.hpcbench("run", "tiny.yaml", "--repeats", "2", code=1)
        before = self.executions()
        retry = ["retry", "tiny.yaml", "--set", "repeats=2"]
        said = self.hpcbench(*retry, "--outcome", "timeout,lost", code=1).stderr
        self.assertIn("nothing to run again: no run is timeout or lost, there are 4 succeeded, 2 failed; "
                      "`hpcbench retry tiny.yaml --set repeats=2 --outcome failed` runs those again\n", said)
        said = self.hpcbench(*retry, "--only", "strategy=fast").stderr
        self.assertIn("nothing to run again: all 4 runs that have ended succeeded; --only leaves out 2 runs that would be\n", said)
        self.assertNotIn("0 runs run again", said)
        self.assertEqual(self.executions(), before)
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "0"))
        self.assertIn("2 runs run again\n", self.hpcbench(*retry).stderr)
        self.assertIn("nothing to run again: all 6 runs that have ended succeeded\n", self.hpcbench(*retry).stderr)

    def test_editing_the_matrix_keeps_what_is_still_asked_for(self):
        self.hpcbench("run", "tiny.yaml")
        self.write("tiny.yaml", STUDY.replace("[1, 2]", "[1, 4]", 1).replace("gpus_per_node: 2}", "gpus_per_node: 4}"))
        plan = json.loads(self.hpcbench("plan", "tiny.yaml", "--format", "json").stdout)
        self.assertEqual([plan["new"], plan["kept"], plan["orphaned"]], [6, 12, 6])
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(len(self.executions()), 24)
        self.assertEqual(len(self.report("tiny.yaml")["rows"]), 3)
        self.assertEqual(len(self.report("tiny.yaml", "--orphans")["rows"]), 4)

    def test_only_and_repeats_and_index(self):
        self.hpcbench("run", "tiny.yaml", "--only", "strategy=fast", "--repeats", "2")
        self.assertEqual(sorted(self.executions()), ["fast 1"] * 2 + ["fast 2"] * 2)
        index = (self.folder / "results/tiny/index.tsv").read_text().splitlines()
        self.assertTrue(index[0].startswith("config_id\tstrategy\t"))
        self.assertEqual(len(index), 4)
        self.assertEqual(sum("2 succeeded" in line for line in index), 2)

    def test_formats_agree(self):
        self.hpcbench("run", "tiny.yaml")
        rows = list(csv.DictReader(io.StringIO(self.hpcbench("report", "--format", "csv").stdout)))
        wanted = self.report()["rows"]
        self.assertEqual([float(r["median"]) for r in rows], [r["median"] for r in wanted])
        self.assertEqual([float(r["speedup"]) for r in rows], [round(r["speedup"]["value"], 2) for r in wanted])
        markdown = [line for line in self.hpcbench("report", "--format", "markdown").stdout.splitlines() if line.startswith("|")]
        self.assertEqual(len(markdown), 2 + len(wanted))

    def test_changed_code_is_noticed(self):
        self.hpcbench("run", "tiny.yaml")
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "5"))
        changed = "work.sh changed since 18 of 18 runs"
        self.assertIn(changed, self.hpcbench("plan", "tiny.yaml").stdout)
        done = self.hpcbench("run", "tiny.yaml")
        self.assertIn(changed + ". Their results are kept", done.stderr)
        self.assertLess(done.stderr.index(changed), done.stderr.index("nothing to do"))
        self.assertIn(changed, self.hpcbench("status", "tiny.yaml").stdout)
        self.assertEqual(self.status("tiny.yaml")["changed"], [{"file": "work.sh", "runs": 18, "of": 18}])
        self.assertIn(changed, self.hpcbench("report", "tiny.yaml", "--strict", code=1).stdout)
        self.assertEqual({row["warnings"][0] for row in self.report("tiny.yaml")["rows"]}, {"changed-program"})

    def test_changed_code_is_compared_where_it_was(self):
        """Another folder has another work.sh; a program that is missing now is not said to have changed."""
        self.hpcbench("run", "tiny.yaml")
        (self.folder / "elsewhere").mkdir()
        self.write("elsewhere/work.sh", "another")
        done = self.hpcbench("status", "../tiny.yaml", "--results", "../results", cwd=self.folder / "elsewhere")
        self.assertNotIn("changed since", done.stdout)
        (self.folder / "work.sh").unlink()
        self.assertNotIn("changed since", self.hpcbench("status", "tiny.yaml").stdout)
        self.hpcbench("report", "tiny.yaml")

    def test_rows_that_mix_versions_say_so(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "2")
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "5"))
        done = self.hpcbench("run", "tiny.yaml")
        self.assertIn("work.sh changed since 6 of 6 runs", done.stderr)
        table = self.report("tiny.yaml")
        mixed = next(warning for warning in table["warnings"] if warning["code"] == "mixed-program")
        self.assertEqual(len(mixed["rows"]), 3)
        self.assertIn("2 versions of work.sh (2 and 4 runs)", mixed["seen"])
        self.assertIn("work.sh changed since 6 of 18 runs", self.hpcbench("status", "tiny.yaml").stdout)

    def test_changed_program_on_path_is_noticed(self):
        self.write("bin/solver", "#!/bin/sh\nexec sh work.sh \"$@\"\n", mode=0o755)
        self.write("tiny.yaml", STUDY.replace("[bash, work.sh,", "[solver,"))
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        self.hpcbench("run", "tiny.yaml", env=environment)
        self.assertNotIn("changed since", self.hpcbench("run", "tiny.yaml", env=environment).stderr)
        self.write("bin/solver", "#!/bin/sh\nexec sh work.sh \"$@\" # newer\n", mode=0o755)
        self.assertIn("solver changed since 18 of 18 runs", self.hpcbench("run", "tiny.yaml", env=environment).stderr)
        self.assertIn("solver changed since 18 of 18 runs", self.hpcbench("status", "tiny.yaml").stdout)

    def test_scripts_are_rendered_without_running(self):
        self.hpcbench("plan", "tiny.yaml", "--scripts", "scripts")
        scripts = sorted((self.folder / "scripts").rglob("job.sh"))
        self.assertEqual(len(scripts), 18)
        self.assertEqual(self.executions(), [])
        self.assertFalse((self.folder / "results").exists())

    def test_job_script_runs_by_hand(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        script = next((self.folder / "results/tiny").rglob("job.sh"))
        before = {p: p.stat().st_mtime_ns for p in script.parent.iterdir()}
        done = self.run_by_hand(script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(before, {p: p.stat().st_mtime_ns for p in script.parent.iterdir()})
        self.assertEqual(len(list(self.folder.glob("manual-*"))), 1)
        self.assertEqual(len(self.executions()), 4)

    def run_by_hand(self, script):
        import subprocess
        return subprocess.run(["bash", str(script)], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def test_show_and_logs(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        shown = self.hpcbench("show", "strategy=slow/r01").stdout
        self.assertIn("score_s", shown)
        path = pathlib.Path(self.hpcbench("show", "strategy=slow/r01", "--path").stdout.strip())
        self.assertTrue((path / "finished.json").exists())
        self.assertEqual(self.hpcbench("logs", "strategy=slow/r01").stdout, "score 8.00\n")
        self.assertIn("no run", self.hpcbench("show", "ffff/r01", code=2).stderr)


class Interruptions(StudyTest):
    SLEEPY = """
experiment: sleepy
command: [bash, -c, 'echo $$ >> pids; echo x >> executions; while [ ! -e go ]; do sleep 0.05; done']
launch: once
matrix: {k: [1, 2]}
repeats: 1
"""

    def setUp(self):
        super().setUp()
        self.write("sleepy.yaml", self.SLEEPY)

    def pids(self):
        path = self.folder / "pids"
        return [int(p) for p in path.read_text().split()] if path.exists() else []

    def test_interrupt_detaches_and_run_carries_on(self):
        process = self.start("run", "sleepy.yaml")
        self.wait_for(self.pids, "the first job")
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("detached: 1 job continues, 1 run has not begun", output)
        self.assertIn("hpcbench cancel", output)
        self.assertTrue(alive(self.pids()[0]), "the job goes on without hpcbench")
        self.write("go", "")
        self.hpcbench("run", "sleepy.yaml")
        self.assertEqual(len((self.folder / "executions").read_text().splitlines()), 2)

    def test_run_without_a_file_carries_on_with_what_was_run_last(self):
        said = self.hpcbench("run", code=2).stderr
        self.assertIn("nothing has been run in", said)
        self.assertIn("name an experiment file", said)
        self.write("go", "")
        self.hpcbench("run", "sleepy.yaml", "--set", "repeats=1")
        self.hpcbench("run", "sleepy.yaml", "--set", "repeats=3", "--max-failures", "1", "--dry-run")
        self.assertIn("nothing to do", self.hpcbench("run").stderr, "a rehearsal runs nothing, so it is not what was run last")
        said = self.hpcbench("run", "--set", "repeats=3").stderr
        self.assertIn("what was run last in", said)
        self.assertEqual(len((self.folder / "executions").read_text().splitlines()), 6)

    def test_cancel_ends_running_jobs(self):
        process = self.start("run", "sleepy.yaml")
        self.wait_for(self.pids, "the first job")
        os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=60)
        said = self.hpcbench("cancel", "--yes").stderr
        self.assertFalse(alive(self.pids()[0]), "what is said to have ended has ended")
        self.assertEqual(self.status()["counts"]["cancelled"], 2, "both outcomes stand when `cancel` returns")
        self.assertIn("1 running ended, 1 not begun revoked", said)
        self.hpcbench("run", "sleepy.yaml", code=1)
        self.assertEqual(len((self.folder / "executions").read_text().splitlines()), 1, "cancelled is an outcome")

    def test_what_has_not_begun_waits(self):
        process = self.start("run", "sleepy.yaml")
        self.wait_for(self.pids, "the first job")
        listed = self.hpcbench("status").stdout
        self.assertIn("1 waiting", listed)
        self.assertNotIn("intended", listed)
        self.assertIn("1 waiting", self.hpcbench("report").stdout)
        self.assertEqual(self.status()["counts"]["intended"], 1, "what programs read stays")
        self.assertIn("2 of those kept have no outcome yet", self.hpcbench("plan", "sleepy.yaml").stdout)
        self.write("go", "")
        process.communicate(timeout=60)

    def test_taking_up_says_what_is_done_and_how_long_the_rest_takes(self):
        self.write("timed.yaml", """
experiment: timed
command: [bash, -c, 'echo x >> executions; [ ! -e stop ] || touch halted; while [ -e stop ]; do sleep 0.05; done; sleep 0.5']
launch: once
matrix: {k: [1, 2]}
repeats: 3
""")
        self.hpcbench("run", "timed.yaml", "--repeats", "1")
        self.write("stop", "")
        process = self.start("run", "timed.yaml")
        self.wait_for((self.folder / "halted").exists, "the third run")
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertIn("2 done, 4 to run", output)
        self.assertRegex(output, r"2/6 done, 0 running, elapsed [0-9.]+ s, about [2-9][0-9.]* s left", "from what was kept, at once")
        (self.folder / "stop").unlink()
        again = self.start("run", "timed.yaml")
        output, _ = again.communicate(timeout=60)
        self.assertRegex(output, r"[23] done, [34] to run")
        self.assertNotIn("kept", output)

    def test_cancel_names_a_job_that_does_not_end(self):
        process = self.start("run", "sleepy.yaml")
        self.wait_for(self.pids, "the first job")
        os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=60)
        claim = next((self.folder / "results/sleepy").glob("*/r01/a1/claim")).read_text().split()
        launcher = int(claim[claim.index("pid") + 1]) if "pid" in claim else int(json.loads(" ".join(claim))["pid"])
        os.kill(launcher, signal.SIGSTOP)
        self.addCleanup(self.hpcbench, "cancel", "--yes", code=None)
        self.addCleanup(os.kill, launcher, signal.SIGCONT)
        done = self.hpcbench("cancel", "--yes", code=1)
        self.assertIn("1 job was asked to end and not seen to end yet", done.stderr)
        self.assertIn("/r01/a1", done.stderr)
        self.assertIn("0 running ended, 1 not begun revoked", done.stderr)
        os.kill(launcher, signal.SIGCONT)
        self.wait_for(lambda: not alive(launcher), "the end of the job")
        self.assertEqual(self.status()["counts"]["cancelled"], 2)

    def test_cancel_needs_a_yes(self):
        process = self.start("run", "sleepy.yaml")
        self.wait_for(self.pids, "the first job")
        self.assertIn("--yes", self.hpcbench("cancel", code=2).stderr)
        self.write("go", "")
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_second_run_follows_the_first(self):
        first = self.start("run", "sleepy.yaml")
        self.wait_for(self.pids, "the first job")
        second = self.start("run", "sleepy.yaml")
        self.assertIn("following", second.stdout.readline())
        self.write("go", "")
        first.communicate(timeout=60)
        second.communicate(timeout=60)
        self.assertEqual((first.returncode, second.returncode), (0, 0))
        self.assertEqual(len((self.folder / "executions").read_text().splitlines()), 2)

    def test_second_run_takes_over_when_the_first_is_killed(self):
        first = self.start("run", "sleepy.yaml")
        self.wait_for(self.pids, "the first job")
        second = self.start("run", "sleepy.yaml")
        self.assertIn("following", second.stdout.readline())
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        self.write("go", "")
        second.communicate(timeout=60)
        self.assertEqual(second.returncode, 0)
        self.assertEqual(len((self.folder / "executions").read_text().splitlines()), 2)


class Ranks(StudyTest):
    def test_environment_and_output_per_rank(self):
        self.write("ranks.yaml", """
experiment: ranks
command: [bash, -c, 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $MASTER_ADDR $OMP_NUM_THREADS"']
matrix: {nodes: [2], gpus_per_node: [2]}
repeats: 1
resources: {cpus_per_task: 3}
""")
        self.hpcbench("run", "ranks.yaml", "--simulate-nodes")
        folder = next((self.folder / "results/ranks").glob("*/r01/a1"))
        outputs = [(folder / name).read_text().strip() for name in ("stdout.log", "stdout.1.log", "stdout.2.log", "stdout.3.log")]
        self.assertEqual(outputs, [f"{r}/4 {r % 2}/2 {r // 2} {r // 2} 127.0.0.1 3" for r in range(4)])

    def test_parallel_slots_are_flagged_as_overlapping(self):
        self.write("overlap.yaml", """
experiment: overlap
command: [sleep, "0.3"]
launch: once
matrix: {k: [1, 2]}
repeats: 2
""")
        self.hpcbench("run", "overlap.yaml", "--slots", "2")
        self.assertIn("overlap", {w["code"] for w in self.report()["warnings"]})


if __name__ == "__main__":
    unittest.main()
