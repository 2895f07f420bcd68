"""Values, metrics and files with names that shells, tables, terminals and paths take for something else: they stay what they are from the
experiment file to the last report, a study of them can be interrupted and carried on, and each of its runs can be named."""
import csv
import io
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

NAMES = ["with space", "ünïcode→", "-dash", "--only", "a,b", "k=v", "x|y", "tab\there", "new\nline", "", "'q\"", "$(id)", "<b>&", "org/name/r01", "back\\slash", "C:\\\\x\\",
         "\x1b[31mred"]
STUDY = """
experiment: odd
command: [bash, -c, 'printf %s "$1" > value; echo "score 5.5"', program, "{{name}}"]
launch: once
workdir: attempt
matrix: {name: NAMES}
repeats: 2
metrics: [{name: score_s, file: stdout.log, pattern: 'score ([0-9.]+)', unit: s}]
report: {metric: score_s}
"""


class Names(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("a study.yaml", STUDY.replace("NAMES", json.dumps(NAMES)))

    def run_all(self):
        self.hpcbench("run", "a study.yaml", "--slots", "4")

    def test_values_arrive_and_are_reported(self):
        self.run_all()
        report = self.report("a study.yaml")
        self.assertEqual([row["axes"]["name"] for row in report["rows"]], NAMES)
        for row in report["rows"]:
            self.assertEqual(row["median"], 5.5)
            for run in row["runs"]:
                folder = self.folder / "results/odd" / row["config_id"] / run["run"] / run["attempt"]
                self.assertEqual((folder / "out/value").read_bytes().decode(), row["axes"]["name"])
        rows = list(csv.DictReader(io.StringIO(self.hpcbench("report", "--format", "csv").stdout, newline="")))
        self.assertEqual([row["name"] for row in rows], NAMES)

    def test_a_strategy_of_a_command_may_have_any_value(self):
        self.write("s.yaml", 'experiment: s\ncommand: [bash, -c, \'printf %s "$1" > value\', bash, "{{*strategy}}"]\nlaunch: once\nworkdir: attempt\nrepeats: 1\n'
                             "matrix: {strategy: [data parallel, \"it's `odd`; $HOME\", [two, words]]}\nbaseline: {strategy: data parallel}\n"
                             "report: {metric: wall_s}\n")
        self.hpcbench("run", "s.yaml")
        self.assertEqual([row["is_baseline"] for row in self.report("s.yaml")["rows"]], [True, False, False])
        for strategy, value in (("data parallel", "data parallel"), ("it's `odd`; $HOME", "it's `odd`; $HOME"), ("two words", "two")):
            path = self.hpcbench("show", f"strategy={strategy}/r01", "--path").stdout.rstrip("\n")
            self.assertEqual((pathlib.Path(path) / "out/value").read_text(), value)
        self.write("t.yaml", "experiment: t\ntrainer: mnist_rnn\nmatrix: {strategy: [data parallel, [a, b]]}\n")
        said = self.hpcbench("check", "t.yaml", code=2).stderr
        self.assertIn("t.yaml:3:21: error: the built-in trainer has no strategy `data parallel`", said)
        self.assertEqual(said.count("t.yaml:3:36: error"), 1)

    def test_texts_for_people_keep_their_lines_and_drive_no_terminal(self):
        self.hpcbench("run", "a study.yaml", "--slots", "4", "--set", "experiment=even")
        self.run_all()
        for arguments in (["report"], ["report", "--format", "markdown"], ["compare", "odd", "even"], ["compare", "odd", "even", "--format", "markdown"],
                          ["status"], ["plan", "a study.yaml"], ["show", "name=new\nline/r01"], ["show", "name=\x1b[31mred/r01"]):
            with self.subTest(arguments):
                done = self.hpcbench(*arguments)
                text = done.stdout.split("\ncommand ")[0]  # a command is shown as a shell takes it
                self.assertNotIn("\x1b", text)
                self.assertNotIn("\t", text)
                self.assertNotIn("new\nline", text)
        table = [line for line in self.hpcbench("compare", "odd", "even").stdout.splitlines() if "not resolved;" in line]
        self.assertEqual(len({line.index("not resolved;") for line in table}), 1, "columns stand below each other")

    def test_each_value_can_be_selected(self):
        self.run_all()
        for name in NAMES:
            if not name:
                continue
            said = re.sub(r"[,|\\]", r"\\\g<0>", name)
            with self.subTest(name):
                rows = self.report("--where", f"name={said}")["rows"]
                self.assertEqual([row["axes"]["name"] for row in rows], [name])
                path = self.hpcbench("show", f"name={said}/r02/a1", "--path").stdout.rstrip("\n")
                self.assertEqual((pathlib.Path(path) / "out/value").read_bytes().decode(), name)
                self.assertTrue(path.endswith("/r02/a1"))
                if name == name.strip() and not name.startswith("--"):
                    self.hpcbench("ingest", "--experiment", "a study.yaml", "--run", f"name={said}", "--value", "score_s=1")
        self.assertIn("is no run", self.hpcbench("show", "0a/r01/a1/x", code=2).stderr)
        self.assertIn("is no run", self.hpcbench("show", "0a/x/a1", code=2).stderr)

    def test_killed_and_carried_on(self):
        self.write("slow.yaml", (self.folder / "a study.yaml").read_text().replace("printf %s", "sleep 0.2; printf %s").replace("experiment: odd", "experiment: slow"))
        process = self.start("run", "slow.yaml")
        self.wait_for(lambda: self.status("slow.yaml")["counts"]["succeeded"] >= 2, "two runs")
        process.kill()
        process.wait()
        self.hpcbench("run", "slow.yaml", "--slots", "8")
        report = self.report("slow.yaml")
        self.assertEqual([row["n"] for row in report["rows"]], [2] * len(NAMES))
        self.assertEqual({run["attempt"] for row in report["rows"] for run in row["runs"]}, {"a1"})

    def test_archive_and_plots(self):
        self.run_all()
        wanted = self.hpcbench("report", "--format", "csv").stdout
        self.hpcbench("export", "-o", "an archive.tar.zst")
        self.assertEqual(self.hpcbench("report", "--archive", "an archive.tar.zst", "--format", "csv").stdout, wanted)
        done = self.hpcbench("plot", "--kind", "time", "--out", "some plots", code=None)
        self.assertIn(done.returncode, (0, 3), done.stderr)  # 3: no gnuplot here
        self.assertTrue((self.folder / "some plots/time.tsv").exists())

    def test_files_that_begin_like_an_option(self):
        said = self.hpcbench("init", "--", "-x.yaml").stderr
        self.assertIn("hpcbench check ./-x.yaml", said)
        self.hpcbench("check", "./-x.yaml")
        self.assertIn("hpcbench check 'a b.yaml'", self.hpcbench("init", "a b.yaml").stderr)


if __name__ == "__main__":
    unittest.main()
