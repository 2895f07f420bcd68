"""`hpcbench watch` on local runs: in lines, on a terminal, and that it changes nothing."""
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, PATIENCE_S, StudyTest  # noqa: E402

STUDY = """
experiment: tiny
command: [bash, -c, 'until [ -e go ]; do sleep 0.05; done; exit {{code}}']
matrix: {code: [0, 3]}
repeats: 2
"""


class Terminal:
    """A program on a terminal of its own; `text` grows as it writes."""

    def __init__(self, arguments, folder, environment, rows, columns):
        self.main, side = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen(arguments, cwd=folder, env={**environment, "TERM": "xterm"}, stdin=side, stdout=side,
                                        stderr=side, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(side)
        self.text = ""
        self.reader = threading.Thread(target=self.read, daemon=True)  # an interrupted test does not wait for it
        self.reader.start()

    def read(self):
        while True:
            try:
                part = os.read(self.main, 65536)
            except OSError:  # the other side is closed
                return
            if not part:
                return
            self.text += part.decode(errors="replace")

    def resize(self, rows, columns):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def screens(self):
        """Each picture as its lines, without the codes that place them."""
        pictures = self.text.split("\x1b[H")[1:]
        return [[re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in picture.split("\x1b[J")[0].replace("\r", "").split("\n")] for picture in pictures]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        os.close(self.main)


class Watch(StudyTest):
    def start_study(self):
        self.write("tiny.yaml", STUDY)
        process = self.start("run", "tiny.yaml")
        self.wait_for(lambda: self.status("tiny.yaml")["counts"]["running"] == 1, "a running job")
        return process

    def test_lines_until_nothing_is_left_to_wait_for(self):
        running = self.start_study()
        watching = self.start("watch", "tiny.yaml")
        first = watching.stdout.readline()
        self.assertRegex(first, r"^tiny: 4 runs: .*1 running")
        self.write("go", "")
        rest = watching.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(watching.returncode, 1, rest)
        running.communicate(timeout=PATIENCE_S)
        self.assertEqual(len(re.findall(r"/r0\d/a1  succeeded", rest)), 2, rest)
        self.assertEqual(len(re.findall(r"/r0\d/a1  failed .*exit code 3", rest)), 2, rest)
        self.assertIn("tiny: 4 runs: 2 succeeded, 2 failed", rest)
        self.assertIn("every run has an outcome", rest)
        self.assertNotIn("\x1b", rest)

    def test_nothing_to_wait_for_ends_at_once_and_changes_nothing(self):
        self.write("tiny.yaml", STUDY)
        done = self.hpcbench("watch", "tiny.yaml")
        self.assertIn("4 planned", done.stdout)
        self.assertIn("nothing runs, and no `hpcbench run` goes on: `hpcbench run tiny.yaml` would begin the 4 runs that wait for it", done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["tiny.yaml"])

    def test_job_whose_run_was_killed_is_watched_to_its_end(self):
        running = self.start_study()
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        watching = self.start("watch", "tiny.yaml")
        self.assertRegex(watching.stdout.readline(), "running")
        self.write("go", "")
        rest = watching.communicate(timeout=PATIENCE_S)[0]
        self.assertIn("nothing runs, and no `hpcbench run` goes on: `hpcbench run tiny.yaml` would begin the 3 runs that wait for it", rest)

    def test_status_says_who_goes_on_with_the_study(self):
        running = self.start_study()
        self.assertRegex(self.hpcbench("status", "tiny.yaml").stdout.splitlines()[1], rf"^  `hpcbench run` goes on in .*\b{running.pid}\b")
        self.assertIn(str(running.pid), self.status("tiny.yaml")["owner"])
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        nobody = "no `hpcbench run` goes on: `hpcbench run tiny.yaml` would begin the 3 runs that wait for it"
        self.assertEqual(self.hpcbench("status", "tiny.yaml").stdout.splitlines()[1], "  " + nobody)
        self.assertIsNone(self.status("tiny.yaml")["owner"])
        self.write("go", "")
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertNotIn("goes on", self.hpcbench("status", "tiny.yaml", code=1).stdout)

    def test_watching_writes_nothing(self):
        self.write("go", "")
        self.write("tiny.yaml", STUDY)
        self.hpcbench("run", "tiny.yaml", code=1)
        files = lambda: {p: p.stat().st_mtime_ns for p in (self.folder / "results").rglob("*")}  # noqa: E731
        before = files()
        self.hpcbench("watch", "tiny.yaml", code=1)
        self.assertEqual(files(), before)

    def test_on_a_terminal_in_place_through_a_new_size_until_ctrl_c(self):
        running = self.start_study()
        terminal = Terminal([HPCBENCH, "watch", "tiny.yaml"], self.folder, self.environment(), 12, 100)
        self.addCleanup(terminal.end)
        self.wait_for(lambda: len(terminal.screens()) >= 2, "two pictures")
        self.assertTrue(any("running" in line for line in terminal.screens()[0]))
        self.assertTrue(all(len(lines) <= 12 and max(map(len, lines)) <= 100 for lines in terminal.screens()[:-1]))
        drawn = len(terminal.screens())
        terminal.resize(8, 40)
        self.wait_for(lambda: len(terminal.screens()) >= drawn + 4, "pictures of the new size")
        lines = terminal.screens()[-2]
        self.assertTrue(len(lines) <= 8 and max(map(len, lines)) <= 40, lines)
        os.write(terminal.main, b"\x03")
        self.assertEqual(terminal.process.wait(timeout=PATIENCE_S), 130)
        terminal.reader.join(timeout=PATIENCE_S)
        after = terminal.text[terminal.text.index("\x1b[?1049l"):]
        self.assertIn("everything goes on as it was", after)
        self.assertIsNone(running.poll())
        self.write("go", "")
        running.communicate(timeout=PATIENCE_S)
        self.assertEqual(self.status("tiny.yaml")["counts"]["succeeded"], 2)


if __name__ == "__main__":
    unittest.main()
