"""What goes wrong on real machines: each ends in the right outcome or a clear error, and the other runs are unharmed."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest, alive  # noqa: E402


# A program's parent is `hpcbench rank`, and the parent of that is the launcher.
KILL_LAUNCHER = 'kill -9 $(cut -d" " -f4 /proc/$PPID/stat)'


def study(name, command, extra=""):
    """A study of two configurations: k=bad runs what the test is about, k=good must succeed beside it."""
    return f"""
experiment: {name}
command: [bash, -c, {command!r}, program, "{{{{k}}}}"]
launch: once
matrix: {{k: [bad, good]}}
repeats: 1
{extra}
"""


class Hostile(StudyTest):
    def outcomes(self, file, code=1):
        self.hpcbench("run", file, code=code)
        return {run["axes"]["k"]: run for run in self.status(file)["runs"]}

    def test_program_that_writes_a_gigabyte(self):
        self.write("s.yaml", study("big", '[ "$1" = good ] || yes a line of some length | head -c 1000000000; echo done',
                                   "success: {pattern: done}\nmetrics: [{name: m_s, file: stdout.log, pattern: '([0-9]+) s'}]"))
        runs = self.outcomes("s.yaml", code=0)
        self.assertEqual({k: r["state"] for k, r in runs.items()}, {"bad": "succeeded", "good": "succeeded"})

    def test_program_that_ignores_sigterm_meets_its_time_limit(self):
        self.write("s.yaml", study("deaf", '[ "$1" = good ] && exit 0; trap "" TERM; echo $$ > pid; while :; do sleep 0.1; done',
                                   "resources: {time: 1s}"))
        runs = self.outcomes("s.yaml")
        self.assertEqual((runs["bad"]["state"], runs["good"]["state"]), ("timeout", "succeeded"))
        self.assertFalse(alive(int((self.folder / "pid").read_text())))
        row = [r for r in self.report("s.yaml")["rows"] if r["axes"]["k"] == "bad"][0]
        self.assertEqual(row["censored_at_s"], 1)
        self.assertIsNone(row["median"])

    def test_program_that_leaves_children_behind(self):
        self.write("s.yaml", study("parent", '[ "$1" = good ] || { sleep 1000 & echo $! > child1; setsid sleep 1000 & echo $! > child2; }'))
        runs = self.outcomes("s.yaml", code=0)
        self.assertEqual(runs["bad"]["state"], "succeeded")
        for name in ("child1", "child2"):
            pid = int((self.folder / name).read_text())
            self.wait_for(lambda pid=pid: not alive(pid), f"the end of {name}")

    def test_program_that_is_missing(self):
        self.write("s.yaml", """
experiment: missing
command: ["{{k}}"]
launch: once
matrix: {k: [no-such-program, "true"]}
repeats: 1
""")
        runs = self.outcomes("s.yaml")
        self.assertEqual(runs["true"]["state"], "succeeded")
        self.assertEqual(runs["no-such-program"]["state"], "failed")
        self.assertIn("no-such-program", runs["no-such-program"]["reason"])
        self.assertIn("No such file", runs["no-such-program"]["reason"])

    def test_killed_program_is_failed_with_its_signal(self):
        self.write("s.yaml", study("killed", '[ "$1" = good ] || kill -9 $$'))
        runs = self.outcomes("s.yaml")
        self.assertEqual((runs["bad"]["state"], runs["bad"]["signal"], runs["bad"]["exit_code"]), ("failed", 9, None))

    def test_rank_that_dies_takes_its_run_down(self):
        self.write("s.yaml", """
experiment: ranks
command: [bash, -c, 'if [ $RANK = 1 ] && [ "$1" = bad ]; then echo cause >&2; exit 7; fi; [ "$1" = good ] || sleep 1000', p, "{{k}}"]
matrix: {k: [bad, good], gpus_per_node: [3]}
repeats: 1
""")
        runs = self.outcomes("s.yaml")
        self.assertEqual((runs["bad"]["state"], runs["bad"]["exit_code"], runs["good"]["state"]), ("failed", 7, "succeeded"))
        self.assertIn("rank 1", runs["bad"]["reason"])
        self.assertIn("cause", runs["bad"]["reason"])

    def test_values_reach_the_program_as_they_are(self):
        hard = ["$(touch injected)", "two\nlines", "it's \"quoted\"", "-n", "{{{k}}}", "ä€😀", "a b  c", "`touch injected`", "*", "\\"]
        values = ", ".join('"' + v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"' for v in hard)
        self.write("s.yaml", f"""
experiment: hard
command: [bash, -c, 'printf "%s\\0" "$1" >> arguments', program, "{{{{k}}}}"]
launch: once
order: sequential
matrix: {{k: [{values}]}}
repeats: 1
""")
        self.hpcbench("run", "s.yaml")
        self.assertEqual((self.folder / "arguments").read_text().split("\0")[:-1], hard)
        self.assertFalse((self.folder / "injected").exists())
        for form in ("text", "markdown", "csv", "json"):
            self.hpcbench("report", "s.yaml", "--format", form)

    @unittest.skipIf(os.geteuid() == 0 and not pathlib.Path("/usr/bin/setpriv").exists(), "root may write anywhere")
    def test_results_folder_that_cannot_be_written(self):
        self.write("s.yaml", study("readonly", "true"))
        (self.folder / "results").mkdir(mode=0o555)
        if os.geteuid() != 0:
            self.assertIn("results", self.hpcbench("run", "s.yaml", code=3).stderr)
            return
        self.folder.chmod(0o755)
        from harness import HPCBENCH
        as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        if subprocess.run([*as_nobody, HPCBENCH, "--version"], capture_output=True).returncode != 0:
            self.skipTest("another user cannot reach the program here")
        done = subprocess.run([*as_nobody, HPCBENCH, "run", "s.yaml"], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("results", done.stderr)

    def test_full_disk(self):
        disk = self.small_disk(mib=1)
        self.write("s.yaml", study("full", "true"))
        (disk / "filler").write_bytes(b"x" * (1 << 20))
        done = self.hpcbench("run", "s.yaml", "--results", str(disk / "results"), code=3)
        self.assertIn("no space left", done.stderr.lower())
        (disk / "filler").unlink()
        self.hpcbench("run", "s.yaml", "--results", str(disk / "results"))

    def test_a_disk_that_is_full_at_the_end_of_a_run_is_the_reason_why_it_is_lost(self):
        disk = self.small_disk(mib=4)
        results = ("--results", str(disk / "results"))
        self.write("s.yaml", study("filler", 'head -c 100000000 /dev/zero > "$HPCBENCH_RUN.big"; true', "retries: {lost: 0}"))
        self.hpcbench("run", "s.yaml", *results, code=3)
        for big in disk.rglob("*.big"):
            self.wait_for(lambda: (big.parent / "launch_error").is_symlink(), "the launcher's end")

        def said():  # a call that meets a launcher which still ends, or a disk that the next run fills, says nothing yet
            for big in disk.rglob("*.big"):
                big.unlink()
            self.hpcbench("run", "s.yaml", *results, code=None)
            lost = [run["reason"] for run in self.status("s.yaml", *results)["runs"] if run["state"] == "lost"]
            return "has gone and left no finished.json: cannot write finished.json: No space left on device" in "\n".join(lost)
        self.wait_for(said, "why a run was lost")

    def test_cancel_ends_what_has_filled_the_disk(self):
        disk = self.small_disk(mib=4)
        results = ("--results", str(disk / "results"))
        self.write("s.yaml", study("filler", 'head -c 100000000 /dev/zero > "$HPCBENCH_RUN.big"; echo $$ > pid; exec sleep 1000', "retries: {lost: 0}"))
        self.start("run", "s.yaml", *results)
        self.wait_for(lambda: (self.folder / "pid").exists() and (self.folder / "pid").read_text(), "the program")
        pid = int((self.folder / "pid").read_text())
        said = self.hpcbench("cancel", "s.yaml", "--yes", *results, code=None).stderr
        self.assertIn("running ended", said)
        self.assertFalse(alive(pid))
        for big in disk.rglob("*.big"):
            big.unlink()

    def test_run_fills_the_disk(self):
        disk = self.small_disk(mib=4)
        results = ("--results", str(disk / "results"))
        self.write("s.yaml", study("filler", '[ -e mended ] || [ "$1" = good ] || head -c 100000000 /dev/zero'))
        self.hpcbench("run", "s.yaml", *results, code=None)
        for log in disk.rglob("stdout.log"):
            log.write_text("")
        self.write("mended", "")
        self.hpcbench("run", "s.yaml", *results, code=None)
        runs = {r["axes"]["k"]: r["state"] for r in self.status("s.yaml", *results)["runs"]}
        self.assertEqual(runs["good"], "succeeded")
        # What the full disk ended is an outcome, or was lost and ran again: never a gap, never a success with half its output.
        self.assertIn(runs["bad"], ("failed", "succeeded"))

    def test_job_launcher_killed_is_lost_and_run_again(self):
        self.write("s.yaml", study("lostjob", '[ -e second ] && exit 0; touch second; ' + KILL_LAUNCHER + '; sleep 1000'))
        self.hpcbench("run", "s.yaml")
        runs = {r["axes"]["k"]: r for r in self.status("s.yaml")["runs"]}
        self.assertEqual({r["state"] for r in runs.values()}, {"succeeded"})
        self.assertEqual(sorted(r["attempt"] for r in runs.values()), ["a1", "a2"])

    def test_lost_runs_survive_a_rebuilt_database(self):
        self.write("s.yaml", study("lostjob", '[ "$1" = good ] && exit 0; ' + KILL_LAUNCHER + '; exec sleep 1000', "retries: {lost: 0}"))
        self.hpcbench("run", "s.yaml", code=1)
        before = self.hpcbench("report", "s.yaml", "--format", "json").stdout
        self.assertIn('"lost"', before)
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.hpcbench("report", "s.yaml", "--format", "json").stdout, before)

    def test_unreadable_training_data(self):
        if not (pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin")) / "hpcbench-train").exists():
            self.skipTest("the trainer is not built")
        self.write("data/t10k-images-idx3-ubyte", "no images")
        self.write("s.yaml", """
experiment: digits
trainer: mnist_rnn
matrix: {strategy: [baseline], epochs: [1]}
parameters: {data: data}
repeats: 1
""")
        self.hpcbench("run", "s.yaml", code=1)
        run = self.status("s.yaml")["runs"][0]
        self.assertEqual(run["state"], "failed")
        self.assertIn("data", run["reason"])

    def test_prepare_that_fails_stops_before_any_job(self):
        self.write("s.yaml", study("prepared", "true", 'prepare: [bash, -c, "echo no data >&2; exit 4"]'))
        said = self.hpcbench("run", "s.yaml", code=1).stderr
        folder = re.search("prepare failed: exit code 4; its output is in (\\S+)", said)[1]
        self.assertEqual(pathlib.Path(folder, "stderr.log").read_text(), "no data\n")
        self.assertEqual(self.status("s.yaml")["counts"]["planned"], 2)

    def test_hangup_leaves_jobs_alone(self):
        self.write("s.yaml", study("hangup", 'echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done'))
        process = self.start("run", "s.yaml")
        self.wait_for((self.folder / "pid").exists, "the first job")
        os.kill(process.pid, signal.SIGHUP)
        self.assertEqual(process.wait(timeout=60), 129)
        self.write("go", "")
        self.hpcbench("run", "s.yaml")


if __name__ == "__main__":
    unittest.main()
