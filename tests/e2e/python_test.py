"""The Python package: events that training scripts write, and frames of what the program measured."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, PATIENCE_S, ROOT, StudyTest  # noqa: E402

PACKAGE = ROOT / "python"
sys.path.insert(0, str(PACKAGE))
TRAIN = """
import sys
from hpcbench import events
events.run_start(precision="bf16", versions={"torch": "2"})
for epoch in (1, 2):
    events.step(epoch, loss=1 / epoch)
    events.epoch(epoch, train_loss=float(sys.argv[1]) / 3 / epoch, samples=10)
    events.evaluation(epoch, val_loss=0.1 + epoch)
events.run_end(train_s=float(sys.argv[1]) / 7, speed_per_s=float("nan"))
"""
STUDY = """
experiment: py
command: ["%s", train.py, "{{size}}"]
launch: once
matrix: {size: [1, 2], n: [a, b]}
environment: {PYTHONPATH: "%s"}
repeats: 6
metrics: [{name: bytes_read, file: stdout.log, pattern: 'never (.*)', unit: MB}]
baseline: {size: 1, n: a}
report: {metric: train_s}
"""


class Events(StudyTest):
    def write_events(self, code, **variables):
        done = subprocess.run([sys.executable, "-c", f"from hpcbench import events\n{code}"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env=self.environment({"PYTHONPATH": str(PACKAGE), **variables}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_outside_of_a_run_nothing_is_written(self):
        self.write_events("events.epoch(1, train_loss=2)\nassert events.path() is None")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_lines_are_those_of_the_documentation(self):
        run = {"HPCBENCH_RUN": str(self.folder / "run.json")}
        self.write_events("events.epoch(1, train_loss=0.84, samples=3)\nevents.log('own', text='ä\\ud800', list=[1, float('inf')])", **run)
        self.write_events("events.error('no memory', code='out_of_memory')\nevents.checkpoint('last', bytes=5)\nevents.warning('w', 't')", RANK="3", **run)
        first, own = map(json.loads, (self.folder / "events.jsonl").read_text().splitlines())
        self.assertEqual({key: first[key] for key in first if key != "t"},
                         {"v": 1, "rank": 0, "event": "epoch", "epoch": 1, "train_loss": 0.84, "samples": 3})
        self.assertEqual((own["text"], own["list"]), ("ä?", [1, float("inf")]))
        self.assertEqual([json.loads(line)["event"] for line in (self.folder / "events.3.jsonl").read_text().splitlines()], ["error", "checkpoint", "warning"])

    def test_values_of_other_packages_become_numbers(self):
        code = "class Tensor:\n  def item(self): return 0.5\nevents.run_end(train_s=Tensor(), odd=object())"
        self.write_events(code, HPCBENCH_RUN=str(self.folder / "run.json"))
        end = json.loads((self.folder / "events.jsonl").read_text())
        self.assertEqual(end["train_s"], 0.5)
        self.assertIn("object", end["odd"])

    def test_a_value_that_is_no_number_ends_no_training(self):
        code = "class Tensor:\n  def item(self): raise ValueError('2 elements')\n  def __str__(self): return '[1, 2]'\nevents.epoch(1, weights=Tensor())"
        self.write_events(code, HPCBENCH_RUN=str(self.folder / "run.json"))
        self.assertEqual(json.loads((self.folder / "events.jsonl").read_text())["weights"], "[1, 2]")


class Measured(StudyTest):
    """A study that was run once for all tests of the class."""

    @classmethod
    def setUpClass(cls):
        if importlib.util.find_spec("pandas") is None:
            raise unittest.SkipTest("pandas is not installed: python3-pandas")
        cls.study = Measured("hpcbench")
        cls.study.setUp()
        cls.study.write("train.py", TRAIN)
        cls.study.write("py.yaml", STUDY % (sys.executable, PACKAGE))
        cls.study.hpcbench("run", "py.yaml", "--slots", "2", "--yes")
        cls.results = cls.study.folder / "results"
        os.environ["HPCBENCH"] = HPCBENCH
        import hpcbench

        cls.package = hpcbench

    @classmethod
    def tearDownClass(cls):
        os.environ.pop("HPCBENCH", None)
        cls.study.doCleanups()

    def test_runs_have_the_same_doubles(self):
        frame = self.package.runs(self.results, "py", facts=True)
        self.assertEqual(len(frame), 24)
        self.assertEqual(set(frame["state"]), {"succeeded"})
        self.assertEqual(frame.attrs["axes"][:2], ["size", "n"])
        for _, row in frame.iterrows():
            self.assertEqual(row["train_s"], row["size"] / 7)
            self.assertEqual(row["train_loss"], row["size"] / 3 / 2)
            self.assertEqual(row["fact:precision"], "bf16")
        self.assertGreater(frame["wall_s"].min(), 0)
        self.assertNotIn("speed_per_s", frame)
        self.assertEqual(len(self.package.runs(self.results, "nosuch")), 0)

    def test_series(self):
        frame = self.package.series(self.results, name="train_loss")
        self.assertEqual(len(frame), 48)
        for _, row in frame.iterrows():
            self.assertEqual(row["value"], row["size"] / 3 / row["index"])
        self.assertIn("val_loss", set(self.package.series(self.results)["name"]))

    def test_table_is_the_report(self):
        frame = self.package.table(results=self.results)
        report = json.loads(self.study.hpcbench("report", "--format", "json").stdout)
        self.assertEqual(list(frame["config_id"]), [row["config_id"] for row in report["rows"]])
        for (_, row), said in zip(frame.iterrows(), report["rows"]):
            self.assertEqual((row["size"], row["median"], row["median_low"], row["median_coverage"]),
                             (said["axes"]["size"], said["median"], said["interval"]["low"], said["interval"]["coverage"]))
            self.assertEqual(row["axis:n"], said["axes"]["n"])
            self.assertEqual((row["n"], row["outcome:succeeded"]), (6, 6))
            if said["speedup"]:
                self.assertEqual(row["speedup"], said["speedup"]["value"])
        self.assertEqual((frame.attrs["metric"], frame.attrs["unit"], frame.attrs["confidence"]), ("train_s", "s", 0.95))
        wall = self.package.table("py", "--only", "size=1", results=self.results, metric="wall_s")
        self.assertEqual((len(wall), wall.attrs["metric"]), (2, "wall_s"))

    def test_an_axis_takes_no_column_of_the_report(self):
        self.write("odd.yaml", 'experiment: odd\ncommand: ["true", "{{speedup}}", "{{median_low}}"]\nlaunch: once\n'
                               "matrix: {speedup: [1, 2], median_low: [x]}\nrepeats: 1\nreport: {metric: wall_s}\n")
        self.hpcbench("run", "odd.yaml", "--yes")
        frame = self.package.table("odd", results=self.folder / "results")
        self.assertEqual((sorted(frame["axis:speedup"]), set(frame["axis:median_low"])), ([1, 2], {"x"}))
        # One run has no interval: absent numbers are NaN.
        for name in ("speedup", "median_low", "efficiency"):
            self.assertEqual((str(frame[name].dtype), frame[name].count()), ("float64", 0), name)

    def test_a_table_of_an_archive(self):
        archive = str(self.study.folder / "py.tar.zst")
        self.study.hpcbench("export", "py", "-o", archive)
        self.assertEqual(len(self.package.table(None, "--archive", archive)), 4)

    def test_numbers_keep_their_digits_and_kinds(self):
        big = 2**53 + 1  # no double holds it
        self.write("big.yaml", "experiment: big\ncommand: [bash, -c, 'echo x=0 y={{repeat}}', '{{k}}', '{{m}}']\nlaunch: once\n"
                               f"matrix: {{k: [{big}, 0.5], m: [{big}, {big + 2}]}}\nrepeats: 2\nreport: {{metric: x}}\nmetrics:\n"
                               "  - {name: x, file: stdout.log, pattern: 'x=([0-9]+)', unit: MB}\n"
                               "  - {name: y, file: stdout.log, pattern: 'y=([0-9]+)', unit: MB, series: s}\n")
        self.write("other.yaml", "experiment: other\ncommand: [echo, x=5]\nlaunch: once\nmatrix: {nodes: [1]}\nrepeats: 1\n")
        for name in ("big", "other"):
            self.hpcbench("run", f"{name}.yaml")
        results = self.folder / "results"
        runs, series, table = self.package.runs(results, "big"), self.package.series(results, "big"), self.package.table("big", results=results)
        for frame in (runs, series, table):
            self.assertEqual(({type(k) for k in frame["k"]}, set(frame["k"])), ({int, float}, {big, 0.5}))
            self.assertEqual((str(frame["m"].dtype), set(frame["m"])), ("int64", {big, big + 2}))
        for column in (runs["x"], runs["y"], runs["max_rss_bytes"], series["value"], table["median"], table["min"], table["best_epoch"]):
            self.assertEqual(str(column.dtype), "float64", column.name)
        self.assertEqual((str(table["n"].dtype), set(table["median"]), set(runs["y"])), ("int64", {0.0}, {1.0, 2.0}))
        both = self.package.runs(results)  # without an m in one of them
        self.assertEqual((set(both["m"].dropna()), int(both["m"].isna().sum())), ({big, big + 2}, 1))

    def test_several_studies_in_one_frame(self):
        for name, unit in (("one", "MB"), ("two", "GB")):
            self.write(f"{name}.yaml", f"experiment: {name}\ncommand: [echo, x=5]\nlaunch: once\nmatrix: {{nodes: [1]}}\nrepeats: 1\n"
                                       f"metrics: [{{name: x, file: stdout.log, pattern: 'x=(.*)', unit: {unit}}}]\nreport: {{metric: x}}\n")
            self.hpcbench("run", f"{name}.yaml")
        frame = self.package.runs(self.folder / "results")
        self.assertEqual(frame.attrs["units"]["x"], "MB | GB")
        self.assertEqual((str(frame["signal"].dtype), str(frame["exit_code"].dtype)), ("float64", "int64"), "absent numbers are NaN")
        (self.folder / "results/hpcbench.db").unlink()
        os.environ["HPCBENCH"] = shutil.which("true")  # as a program that can write no index
        self.addCleanup(os.environ.__setitem__, "HPCBENCH", HPCBENCH)
        with self.assertRaisesRegex(PermissionError, "has no index, and none can be written"):
            self.package.runs(self.folder / "results")

    def test_what_cannot_be_read_is_said(self):
        with self.assertRaisesRegex(FileNotFoundError, "there is no folder"):
            self.package.runs(self.study.folder / "nowhere")
        with self.assertRaisesRegex(self.package.ProgramError, "nosuch"):
            self.package.table("nosuch", results=self.results)
        empty = self.study.folder / "empty"
        empty.mkdir(exist_ok=True)
        with self.assertRaisesRegex(FileNotFoundError, "no results"):
            self.package.runs(empty)
        self.assertFalse(list(empty.iterdir()))
        os.environ["HPCBENCH"] = "/no/such/program"
        self.addCleanup(os.environ.__setitem__, "HPCBENCH", HPCBENCH)
        with self.assertRaisesRegex(self.package.ProgramError, "cannot start"):
            self.package.runs(self.results)

    def test_texts_are_utf_8_in_any_locale(self):
        self.write("words.yaml", "experiment: words\ncommand: ['true', '{{w}}']\nlaunch: once\nmatrix: {w: [größe]}\nrepeats: 1\n")
        self.hpcbench("run", "words.yaml")
        done = subprocess.run([sys.executable, "-X", "utf8=0", "-c", "import hpcbench; print(ascii(hpcbench.table('words')['w'][0]))"], cwd=self.folder,
                              env=self.environment({"PYTHONPATH": str(PACKAGE), "HPCBENCH": HPCBENCH, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}),
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((done.stdout.strip(), done.stderr), (ascii("größe"), ""))

    def test_options_that_print_no_table_are_named(self):
        for options in (["-o", str(self.study.folder / "report.json")], ["--help"]):
            with self.assertRaisesRegex(self.package.ProgramError, f"report {options[0]} .*has printed no table"):
                self.package.table("py", *options, results=self.results)

    def test_numbers_stay_what_they_are_in_files(self):
        import pandas

        frame = self.package.runs(self.results)
        frame.to_csv(self.study.folder / "runs.csv", index=False)
        again = pandas.read_csv(self.study.folder / "runs.csv", float_precision="round_trip")
        self.assertEqual(list(again["train_s"]), list(frame["train_s"]))


class Types(unittest.TestCase):
    def test_mypy_finds_nothing(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed (Debian: mypy)")
        # Which `type: ignore` is unused depends on mypy's version and on whether Lightning and transformers are installed.
        options = ["--strict", "--no-warn-unused-ignores", "--cache-dir=/dev/null", "--ignore-missing-imports"]
        done = subprocess.run([sys.executable, "-m", "mypy", *options, "-p", "hpcbench"], cwd=PACKAGE, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
