#!/usr/bin/env python3
"""bench/kept.py and bench/run.py: a command that is killed continues where it stopped, by the real hpcbench with measurements whose values are known."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import duration  # noqa: E402
import kept  # noqa: E402
import rested_disk  # noqa: E402
import run  # noqa: E402
import table  # noqa: E402

# Repeat k takes 1 + 0.01 k s, the peer twice that. Every measurement is recorded with its begin and end; the fifth measurement of the
# second study of `slow` waits while a file `hold` exists.
MEASURE = """
import pathlib, sys, time
here, HOLD = pathlib.Path(__file__).parent, 12 + 5
suite, tool, repeat = sys.argv[1], sys.argv[2], int(sys.argv[sys.argv.index("--repeat") + 1])
with open(here / "noted", "a") as file:
    file.write(f"{suite} {tool} {repeat}\\n")
began = time.monotonic()
if suite == "broken" and not (here / "fixed").exists():
    sys.exit("it does not work")
waits = suite == "slow" and sum(line.startswith("slow") for line in open(here / "noted")) == HOLD
while waits and (here / "hold").exists():
    time.sleep(0.01)
with open(here / "times", "a") as file:
    file.write(f"{began} {time.monotonic()}\\n")
print("seconds", {"ours": 1, "peer": 2}[tool] * (1 + 0.01 * repeat))
"""
# bench/run.py with three suites of made-up measurements: of one study, of two, and of one that fails until it is fixed.
DRIVER = """
import sys
sys.path.insert(0, {bench!r})
import duration, pathlib, run, study, table
study.BENCH = pathlib.Path({folder!r})
duration.expected_s = lambda name, options: 60


def rows_of(suite, names):
    def rows(place):
        for name in names:
            known = study.Study(place, name, suite, ["ours", "peer"], ["seconds"])
            known.measure(first=6)
            yield table.against(known, name, name, "peer", "a peer", "at most", 1.5)
    return rows


run.SUITES = {{"first": rows_of("first", ["first"]), "slow": rows_of("slow", ["before", "slow", "after"]), "broken": rows_of("broken", ["broken"])}}
sys.exit(run.main())
"""


def until(condition, seconds=60):
    end_s = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end_s:
            raise AssertionError("it did not come to that")
        time.sleep(0.01)


class CommandTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "measure.py").write_text(MEASURE)
        (self.folder / "driver.py").write_text(DRIVER.format(bench=str(BENCH), folder=str(self.folder)))
        self.file, self.data = self.folder / "table.json", self.folder / "table.json.data"

    def command(self, *arguments, file=None):
        return [sys.executable, "-B", str(self.folder / "driver.py"), *arguments, "--save", str(file or self.file)]

    def run_it(self, *arguments, code=0, file=None):
        done = subprocess.run(self.command(*arguments, file=file), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def noted(self, suite=""):
        path = self.folder / "noted"
        return [line for line in (path.read_text().splitlines() if path.exists() else []) if line.startswith(suite)]

    def told(self):
        return json.loads(self.file.read_text())

    def killed(self, *arguments, whole_session=False):
        """Starts the command, and kills it without warning when the fifth measurement of the study `slow` is running."""
        (self.folder / "hold").touch()
        with subprocess.Popen(self.command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            self.addCleanup(lambda: (self.folder / "hold").unlink(missing_ok=True))
            try:
                until(lambda: len(self.noted("slow")) == 12 + 5)
            finally:
                os.kill(process.pid, signal.SIGKILL)
        if whole_session:
            self.kill_measurements()

    def kill_measurements(self):
        """As when the machine stops: all that a measurement consists of, by its command line, which names our folder."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError, ValueError):
                words = path.read_bytes().decode(errors="replace")
                if str(self.folder) in words and "measure.py" in words or "launch" in words.split("\0")[1:2] and self.is_ours(path.parent):
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def hpcbench_runs(self):
        return any(word in ("run", "retry") and self.is_ours(path.parent) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") for word in self.command_of(path))

    @staticmethod
    def command_of(path):
        """The command of hpcbench that a process is, if it is one."""
        with contextlib.suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            return words[1:2] if words[0].endswith("/hpcbench") else []
        return []

    def is_ours(self, process):
        with contextlib.suppress(OSError):
            return str(self.folder) in os.readlink(process / "cwd") + (process / "cmdline").read_bytes().decode(errors="replace")
        return False

    def check_whole(self):
        told = self.told()
        self.assertTrue(told["complete"])
        self.assertEqual([row["key"] for row in told["rows"]], ["first", "before", "slow", "after"])
        for row in told["rows"]:
            self.assertEqual(len(row["values"]), 6)
            self.assertAlmostEqual(row["ratio"], 0.5)
        self.assertFalse(self.data.exists())

    def test_killed_it_goes_on_where_it_stopped(self):
        self.killed("first", "slow")
        told = self.told()
        self.assertFalse(told["complete"])
        self.assertEqual([row["key"] for row in told["rows"]], ["first", "before"])
        self.assertEqual(told["done"], ["first"])
        self.assertTrue((self.data / "first").exists())  # nothing is deleted during a measurement
        self.assertTrue(table.load(self.file)[0]["incomplete"])
        before = self.noted()
        (self.folder / "hold").unlink()
        words = self.run_it("first", "slow")
        self.assertIn("first measured before", words)
        self.assertIn("continued", words)
        self.check_whole()
        # Nothing was measured twice: the measurement that was running when the command was killed has ended by itself.
        noted = self.noted()
        self.assertEqual(noted[:len(before)], before)
        self.assertEqual(len(noted), 12 + 3 * 12)
        # Again: the table is complete.
        self.assertIn("nothing is measured again", self.run_it("first", "slow"))
        self.assertEqual(self.noted(), noted)

    def test_what_a_killed_command_left_running_is_waited_for(self):
        self.killed("first", "slow")
        noted = self.noted()
        with subprocess.Popen(self.command("first", "slow"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            until(lambda: "resumed" in self.told()["machine"] and self.hpcbench_runs())
            beside = self.noted()
            (self.folder / "hold").unlink()
            self.assertEqual(process.wait(60), 0)
        self.assertEqual(beside, noted)
        times = sorted(tuple(map(float, line.split())) for line in (self.folder / "times").read_text().splitlines())
        self.assertEqual(len(times), 12 + 3 * 12)
        for (_, ended), (began, _) in zip(times, times[1:]):
            self.assertLessEqual(ended, began)  # nothing was measured beside it
        self.check_whole()
        self.assertEqual(len(self.noted()), 12 + 3 * 12)

    def test_studies_that_are_gone_are_measured_again(self):
        self.killed("first", "slow")
        (self.folder / "hold").unlink()
        until(lambda: len(list(self.data.glob("slow/results/slow/*/*/*/finished.json"))) == 5)  # the process that was left running
        shutil.rmtree(self.data)
        self.assertIn("is gone", self.run_it("first", "slow"))
        self.check_whole()
        self.assertEqual(len(self.noted("first")), 12)
        self.assertEqual(len(self.noted("slow")), 12 + 5 + 3 * 12)

    def test_killed_just_before_it_ended(self):
        self.run_it("first")
        self.data.mkdir()
        (self.data / "rest").touch()
        self.assertIn("nothing is measured again", self.run_it("first"))
        self.assertFalse(self.data.exists())
        # ... and just after it began: a lock, and half of a table that was never put in place
        self.file.unlink()
        self.data.mkdir()
        (self.data / "lock").touch()
        (self.folder / "table.json.1.new").write_text("{")
        self.run_it("first")
        self.assertTrue(self.told()["complete"])
        self.assertEqual(list(self.folder.glob("*.new")), [])
        # studies without their table belong to no command
        self.file.unlink()
        self.data.mkdir()
        (self.data / "first").mkdir()
        self.assertIn("is there without", self.run_it("first", code=2))

    def test_killed_with_its_measurement_that_one_is_measured_again(self):
        self.killed("first", "slow", whole_session=True)
        before = len(self.noted())
        (self.folder / "hold").unlink()
        self.run_it("first", "slow")
        self.check_whole()
        self.assertEqual(len(self.noted()), 12 + 3 * 12 + 1)
        self.assertLess(before, len(self.noted()))

    def test_other_options_are_refused(self):
        self.killed("first", "slow")
        (self.folder / "hold").unlink()
        kept_text = self.file.read_text()
        words = self.run_it("first", "slow", "--repeats", "7", code=2)
        self.assertIn("cut off of another command (options: repeats None there, 7 now): measure into another file (--save OTHER)", words)
        self.assertEqual(self.file.read_text(), kept_text)
        self.assertTrue(self.data.exists())
        self.assertIn("is an unfinished table: repeat the command that measures it", self.run_it("--saved", str(self.file), code=2))
        told = self.told()
        told["same"]["commit"] = "another"
        self.file.write_text(json.dumps(told))
        self.assertIn("commit another there", self.run_it("first", "slow", code=2))

    def test_a_whole_table_of_another_command_stays(self):
        self.run_it("first")
        text = self.file.read_text()
        self.assertIn("is a whole table of another command", self.run_it("first", "slow", code=2))
        self.assertEqual(self.file.read_text(), text)
        other = self.folder / "other.json"
        other.write_text('{"schema": 1, "machine": {}, "quick": false, "rows": []}')
        self.assertIn("not of this command", self.run_it("first", code=2, file=other))
        other.write_text("my letter")
        self.assertIn("is no table", self.run_it("first", code=2, file=other))
        self.assertEqual(other.read_text(), "my letter")

    def test_what_failed_is_tried_again(self):
        words = self.run_it("broken", "first", code=2)
        self.assertIn("it does not work", words)
        self.assertIn("is not whole", words)
        self.assertEqual([row["key"] for row in self.told()["rows"]], ["first"])
        (self.folder / "fixed").touch()
        self.run_it("broken", "first")
        self.assertEqual(sorted(row["key"] for row in self.told()["rows"]), ["broken", "first"])
        self.assertEqual(len(self.noted("first")), 12)
        self.assertTrue(self.told()["complete"])

    def test_what_is_measured_knows_of_no_repository_around_it(self):
        for words in (["init", "-q"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "a commit"]):
            subprocess.run(["git", *words], cwd=self.folder, check=True)
        self.run_it("broken", code=2)
        texts = [path.read_text() for path in self.data.rglob("run.json")]
        self.assertEqual(len(texts), 24)  # 12 runs, each tried twice
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.folder, text=True).strip()
        self.assertFalse([text for text in texts if commit in text])

    def test_a_suite_that_breaks_does_not_end_the_others(self):
        driver = self.folder / "driver.py"
        driver.write_text(driver.read_text().replace('"first": rows_of("first", ["first"])', '"first": lambda place: 1 / 0'))
        words = self.run_it("first", "slow", code=2)
        self.assertIn("ZeroDivisionError", words)
        self.assertEqual((self.told()["done"], self.told()["complete"]), (["slow"], False))

    def test_two_at_once_are_refused(self):
        (self.folder / "hold").touch()
        with subprocess.Popen(self.command("slow"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                until(lambda: self.noted("slow"))
                self.assertIn("another command measures", self.run_it("slow", code=2))
            finally:
                (self.folder / "hold").unlink()
            self.assertEqual(process.wait(60), 0)



    def test_two_tables_are_compared(self):
        second = self.folder / "second.json"
        self.run_it("first", "slow")
        words = self.run_it("first", "slow", "--check-against", str(self.file), file=second)
        self.assertIn("4 rows in both tables: 4 agree, 0 differ", words)
        told = self.told()
        lost = told["rows"].pop()
        for row in told["rows"][:1]:
            row["values"] = [value * 3 for value in row["values"]]
        self.file.write_text(json.dumps(told))
        words = self.run_it("first", "slow", "--check-against", str(self.file), file=second, code=1)  # measures nothing
        self.assertRegex(words, f"{lost['work']} .*ONLY IN THE SECOND")
        self.assertIn("3 rows in both tables: 2 agree, 1 differ", words)
        # Rows that were not requested are not missing; different ones are still reported.
        self.run_it("--saved", str(second), "--only", "any", "--check-against", str(self.file), file=self.folder / "third.json", code=1)
        told["rows"] = told["rows"][1:]
        told["complete"] = False
        self.file.write_text(json.dumps(told))
        words = self.run_it("--saved", str(second), "--only", "any", "--check-against", str(self.file), file=self.folder / "third.json")
        self.assertIn("NOT WHOLE", words)


class WholeFileTests(unittest.TestCase):
    def test_a_write_that_fails_leaves_what_was_there(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.json"
            table.save(path, {"load_before": 0.1}, [], False)
            text = path.read_text()
            with self.assertRaises(TypeError):
                table.write(path, {"rows": object()})
            self.assertEqual(path.read_text(), text)
            self.assertEqual(table.load(path)[0], {"load_before": 0.1})

    def test_a_place_that_cannot_be_written_is_told_at_once(self):
        with self.assertRaisesRegex(SystemExit, "cannot write"):
            table.save(pathlib.Path("/nonexistent/table.json"), {}, [], False)

    def test_without_a_file_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            each = kept.Kept(None, {}, False, {}, folder)
            each.measure("suite", lambda place: [])
            each.end(True)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


class DurationTests(unittest.TestCase):
    def options(self, *arguments):
        argv, sys.argv = sys.argv, ["run.py", *arguments]
        try:
            return run.parse_arguments()
        finally:
            sys.argv = argv

    def words(self, *arguments, done=(), took_s=None):
        options = self.options(*arguments)
        return duration.as_text(run.names_of(options), options, types.SimpleNamespace(done=list(done), took_s=took_s or {}, data="/"))

    def test_every_suite_is_told(self):
        for more in ((), ("--quick",)):
            words = self.words(*more)
            for name in run.SUITES:
                self.assertIn(f"{name} ", words)
        self.assertIn("nothing is kept", self.words("roofs"))

    def test_what_is_left(self):
        # 15 + 48 x 6 s; 5 x 20 s
        self.assertIn("slurm 5", self.words("slurm", "--save", "file"))
        self.assertIn("about 2 minutes of what is left", self.words("slurm", "roofs", "--save", "file", done=["slurm"], took_s={"slurm": 300.0}))

    def test_the_disk_rests_before_local_unless_enough_comes_first(self):
        options = self.options("local")
        with mock.patch.object(rested_disk, "left_s", return_value=100.0):
            self.assertEqual(duration.with_rest({"local": 60.0}, options, "/"), {"local": 160.0})
            self.assertEqual(duration.with_rest({"roofs": 30.0, "local": 60.0, "slurm": 50.0}, options, "/"), {"roofs": 30.0, "local": 130.0, "slurm": 50.0})
            self.assertEqual(duration.with_rest({"trainers": 300.0, "local": 60.0}, options, "/"), {"trainers": 300.0, "local": 60.0})
            self.assertEqual(duration.with_rest({"local": 0.0}, options, "/"), {"local": 0.0})  # measured before
            self.assertEqual(duration.with_rest({"local": 60.0}, self.options("local", "--quick"), "/"), {"local": 60.0})

    def test_part_of_the_trainers_takes_less(self):
        whole, small, tuned = (duration.of_trainers(self.options("trainers", *more)) for more in ((), ("--size", "small"), ("--only", "tuned", "--size", "small")))
        self.assertLess(small, whole)
        self.assertLess(tuned, small)
        self.assertLess(duration.of_trainers(self.options("trainers", "--quick")), 600)

    def test_against_itself_is_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as words:
            self.options("--save", "a", "--check-against", "./a")
        self.assertIn("agrees with itself", words.getvalue())


if __name__ == "__main__":
    unittest.main()
