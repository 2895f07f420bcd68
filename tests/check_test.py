"""tests/check.py: what it counts, and what it does not let a check leave behind."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

CHECK = pathlib.Path(__file__).parent / "check.py"


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, script, *options):
        """(exit code, lines that are added up, output)"""
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, str(CHECK), *options, "sample", "bash", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**os.environ, "HPCBENCH_CHECKS": str(told), "TMPDIR": str(self.folder)}, timeout=120)
        self.assertEqual(list(self.folder.glob("hpcbench-check-*")), [], "its folder")
        return done.returncode, told.read_text().splitlines(), done.stdout + done.stderr

    def test_single_tests_are_counted(self):
        for said, counted in (
                ("[doctest] test cases: 12 | 11 passed | 1 failed | 3 skipped", "11 passed, 1 failed, 0 skipped"),
                ("20 passed, 2 skipped in 1.20s", "20 passed, 0 failed, 2 skipped"),
                ("7 passed, 0 failed", "7 passed, 0 failed, 0 skipped"),
                ("nothing that is counted", "1 passed, 0 failed, 0 skipped")):
            code, told, output = self.check(f"echo '{said}'")
            self.assertEqual((code, told), (0, [f"sample: {counted}"]), output)
            self.assertIn(f"check: sample: {counted}", output)

    def test_a_check_that_fails_is_never_a_pass(self):
        self.assertEqual(self.check("exit 3")[:2], (3, ["sample: 0 passed, 1 failed, 0 skipped"]))
        self.assertEqual(self.check("echo '5 passed in 1.00s'; exit 1")[:2], (1, ["sample: 5 passed, 1 failed, 0 skipped"]))

    def test_what_is_skipped_has_its_reason(self):
        self.assertEqual(self.check("echo 'no browser'; exit 77")[:2], (77, ["skipped sample: no browser", "sample: 0 passed, 0 failed, 1 skipped"]))

    def test_a_check_that_hangs_is_stopped(self):
        code, told, output = self.check("trap 'echo cleaned up; exit' INT; while :; do sleep 0.1; done", "--limit", "1")
        self.assertEqual((code, told), (1, ["sample: 0 passed, 1 failed, 0 skipped"]))
        self.assertIn("cleaned up", output)
        self.assertIn("it took longer than 1 s", output)

    def test_the_file_is_not_of_a_check_within_a_check(self):
        self.assertIn("[]", self.check('echo "[$HPCBENCH_CHECKS]"')[2])


class Killed(unittest.TestCase):
    def test_a_run_that_is_ended_while_it_builds_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "scripts").mkdir()
            shutil.copy(CHECK.parents[1] / "scripts/test.sh", folder / "scripts")
            # As cmake starts ninja, which starts compilers.
            (folder / "scripts/setup.sh").write_text("#!/bin/bash\nbash -c 'bash -c \"echo \\$\\$ > pid; exec sleep 600\"; true'; true\n")
            (folder / "scripts/setup.sh").chmod(0o755)
            run = subprocess.Popen([folder / "scripts/test.sh"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not (folder / "pid").exists() or not (folder / "pid").read_text():
                time.sleep(0.01)
            compiler = int((folder / "pid").read_text())
            run.terminate()
            self.assertEqual(run.wait(60), 1)
            for _ in range(1000):  # it is gone, or has ended and not been waited for yet
                try:
                    state = pathlib.Path(f"/proc/{compiler}/stat").read_text().rpartition(")")[2].split()[0]
                except OSError:
                    break
                if state in "ZX":
                    break
                time.sleep(0.01)
            else:
                self.fail("a process continues")
            self.assertEqual([path.name for path in (folder / "build").iterdir()], [])


if __name__ == "__main__":
    unittest.main()
