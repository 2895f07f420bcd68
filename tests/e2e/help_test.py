"""Every page of --help and what mistakes are answered with, against tests/golden/help.

Renewed with HPCBENCH_RENEW_GOLDEN=1 python3 -m pytest tests/e2e/help_test.py; the diff is to be read.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import PROGRAMS, ROOT, StudyTest  # noqa: E402

GOLDEN = ROOT / "tests/golden/help"
# Command lines that are refused before anything is read.
MISTAKES = {
    "hpcbench": [
        [], ["rnu", "a.yaml"], ["--rnu"], ["help", "reprot"], ["help", "--x"], ["completion", "x"],
        ["plan"], ["run", "--slot", "3"], ["run", "a.yaml", "--slot=2", "--x"], ["plan", "a.yaml", "b", "c"], ["run", "a.yaml", "--yes=x"],
        ["run", "a.yaml", "--slots"], ["run", "a.yaml", "--slots", "x"], ["run", "a.yaml", "--slots=0"], ["run", "a.yaml", "--slots", "-1"],
        ["run", "a.yaml", "--slots", "1", "--slots", "2"], ["plan", "a.yaml", "--repeats", "1.5"], ["run", "a.yaml", "--max-failures", "99999999999"],
        ["run", "a.yaml", "--set"], ["doctor", "--sit", "x"], ["status", "--al"], ["status", "--format"], ["watch", "--interval", "0"],
        ["watch", "--interval", "x"], ["report", "--format", "pdf"], ["report", "--format", ""], ["report", "-o"], ["report", "a.yaml", "--archive", "b"],
        ["report", "--archive", "b", "--results", "c"], ["db"], ["db", "rebuidl"], ["db", "rebuild", "x"], ["db", "unlock"],
        ["db", "unlock", "e", "--resluts", "r"], ["export", "--to", "x"], ["export", "--limit-gb", "x", "--extract", "a"],
        ["export", "--extract", "a", "--models"], ["ingest", "--experiment", "x"], ["ingest", "--each"], ["init", "--command", "x", "--import"],
        ["init", "--trainer", "nosuch"], ["logs"], ["logs", "a", "--rank", "-1"], ["logs", "a", "-x"], ["launch"], ["launch", "-n"],
        ["launch", "-n0", "--", "true"], ["launch", "-n", "1", "echo", "-x"], ["retry", "--outcome", "fail"], ["list"], ["validate", "a.yaml"], ["submit", "a.yaml"], ["start"], ["rm", "x"], ["diff", "a", "b"],
        ["stop"], ["new"], ["version"], ["a.yaml"], ["report", "--format", "tex"], ["report", "--format", "md"], ["report", "-o", "out.pdf"],
        ["report", "-o", "out.xlsx"], ["report", "-o", "out.doc"], ["plot", "--out", "speedup.pdf"], ["plot", "-o", "speedup.svg"]],
    "hpcbench-train": [
        [], ["rum"], ["--nosuch"], ["run", "--epoch", "3"], ["run", "digits"], ["run", "--epochs"], ["run", "--epochs", "two"],
        ["run", "--shuffle", "maybe"], ["run", "--lr="], ["features"], ["features", "--dat", "x"], ["features", "x"], ["features", "--threads", "x"],
        ["features", "--data", "d", "--vocab", "v", "--padding", "min"], ["score"], ["score", "--data", "d"], ["score", "--predictoins", "x"]],
}


class Help(StudyTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.programs = [name for name in MISTAKES if (PROGRAMS / name).exists()]

    def call(self, program, *arguments):
        return subprocess.run([str(PROGRAMS / program), *arguments], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def compare(self, name, text):
        path = GOLDEN / name
        if "HPCBENCH_RENEW_GOLDEN" in os.environ:
            path.write_text(text)
        self.assertTrue(path.exists(), f"{path} is missing: HPCBENCH_RENEW_GOLDEN=1 writes it")
        self.assertEqual(text, path.read_text(), f"{path}: HPCBENCH_RENEW_GOLDEN=1 writes it anew; read the diff")

    def pages(self, program, *path):
        """The page of a command, then those of the commands below it."""
        done = self.call(program, *path, "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""), path)
        yield "-".join((program, *path)) + ".txt", done.stdout
        listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", done.stdout, re.MULTILINE)
        for line in listed[1].splitlines() if listed else []:
            yield from self.pages(program, *path, line.split()[0])

    def test_pages(self):
        names = set()
        for program in self.programs:
            for name, text in self.pages(program):
                with self.subTest(page=name):
                    names.add(name)
                    self.compare(name, text)
        left = {path.name for path in GOLDEN.glob("*.txt") if not path.name.startswith("mistakes-")} - names
        if len(self.programs) == len(MISTAKES):
            self.assertEqual(left, set(), "pages of commands that are gone")

    def test_mistakes(self):
        for program in self.programs:
            text = ""
            for arguments in MISTAKES[program]:
                done = self.call(program, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
                text += f"$ {' '.join([program, *(a or repr(a) for a in arguments)])}\n{done.stderr}\n"
            self.compare(f"mistakes-{program}.txt", text)

    def test_help_wins_and_values_may_look_like_options(self):
        page = self.call("hpcbench", "run", "--help").stdout
        for arguments in (["run", "-h"], ["run", "--bogus", "--help"], ["run", "a", "b", "-h"], ["help", "run"], ["--help", "run"]):
            self.assertEqual(self.call("hpcbench", *arguments).stdout, page, arguments)
        self.write("small.yaml", 'experiment: small\ncommand: ["echo", "{{x}}"]\nlaunch: once\nmatrix: {x: [1]}\n')
        for arguments in (["check", "--", "small.yaml"], ["check", "--results=-x", "small.yaml"], ["check", "small.yaml", "--results", "--x"],
                          ["check", "small.yaml", "--set=repeats=2", "--set", "matrix.x=[-1]"], ["check", "--only", "-1 < x", "small.yaml"]):
            self.assertEqual(self.call("hpcbench", *arguments).returncode, 0, arguments)
        self.assertIn("cannot read --site", self.call("hpcbench", "check", "--", "--site").stderr)
        for arguments, printed in ((["-n2", "--", "echo", "--", "-n", "--x"], "-- -n --x\n" * 2), (["-n", "1", "echo", "-5", "-", ""], "-5 - \n")):
            self.assertEqual(self.call("hpcbench", "launch", *arguments).stdout, printed, arguments)


if __name__ == "__main__":
    unittest.main()
