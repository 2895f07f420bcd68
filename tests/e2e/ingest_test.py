"""Results that hpcbench did not start: `hpcbench ingest` and `import:`, read with the real program."""
import csv
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, ROOT, StudyTest  # noqa: E402

GOLDEN = ROOT / "tests/golden/sources"
STUDY = """
experiment: old
command: [bash, -c, "echo took {{epochs}} s"]
launch: once
matrix:
  strategy: [baseline, ddp]
  nodes: [1, 2]
  epochs: [2]
exclude: [{strategy: baseline, nodes: 2}]
repeats: 2
metrics:
  - {name: train_s, file: "*.log", pattern: 'took ([0-9.]+) s', unit: s}
  - {name: train_loss, file: metrics.csv, column: loss, index: epoch, series: epoch}
baseline: {strategy: baseline, nodes: 1}
report: {metric: train_s}
"""


class OldResults(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("old.yaml", STUDY)

    def ingest(self, run, *arguments, code=0, file="old.yaml"):
        return self.hpcbench("ingest", "--experiment", file, "--run", run, *arguments, code=code)

    def rows(self, file="old.yaml"):
        return {(row["axes"]["strategy"], row["axes"]["nodes"]): row for row in self.report(file)["rows"]}

    def folders(self):
        return sorted(str(path.parent.relative_to(self.folder / "results/old")) for path in self.folder.glob("results/old/*/i*/a*/run.json"))

    def imported(self, index=0):
        return json.loads((self.folder / "results/old" / self.folders()[index] / "imported.json").read_text())

    @staticmethod
    def outcomes(row):
        return {outcome: count for outcome, count in row["outcomes"].items() if count}


class Ingest(OldResults):
    def test_files_become_rows_and_the_same_again_changes_nothing(self):
        self.write("a.log", "took 100.5 s\n")
        self.write("metrics.csv", "epoch,loss\n1,0.5\n2,0.25\n")
        self.write("b.log", "noise\ntook 50.25 s\n")
        done = self.ingest("baseline", "a.log", "metrics.csv")
        self.assertIn("i01/a1: succeeded", done.stdout)
        self.ingest("ddp,nodes=2", "b.log")
        rows = self.rows()
        self.assertEqual((rows["baseline", 1]["median"], rows["ddp", 2]["median"]), (100.5, 50.25))
        self.assertEqual(rows["ddp", 2]["ratio_of_medians"], 2)
        self.assertEqual(rows["baseline", 1]["train_loss"], 0.25)
        self.assertEqual([run["run"] for run in rows["ddp", 2]["runs"]], ["i01"])
        before = {path: path.read_bytes() for path in self.folder.glob("results/old/*/i*/**/*") if path.is_file()}
        again = self.ingest("strategy=ddp, nodes=2", "b.log")
        self.assertIn("0 taken in, 0 read again, 1 there already: nothing has changed", again.stderr)
        self.assertRegex(again.stderr, r"note: old/[0-9a-f]{16}/i01 holds it\n")
        self.assertEqual(before, {path: path.read_bytes() for path in self.folder.glob("results/old/*/i*/**/*") if path.is_file()})
        self.assertEqual(len(self.folders()), 2)
        report = self.hpcbench("report", "old.yaml", "--format", "json").stdout
        self.hpcbench("db", "rebuild")
        self.assertEqual(report, self.hpcbench("report", "old.yaml", "--format", "json").stdout)
        (self.folder / "results/hpcbench.db").unlink()
        self.assertEqual(report, self.hpcbench("report", "old.yaml", "--format", "json").stdout)

    def test_what_was_taken_in_by_hand_follows_the_metrics_of_today(self):
        """From its own copies: the files that it came from are gone. What was given beside them stays."""
        self.write("old.yaml", STUDY.replace("took ([", "needed (["))
        self.write("a.log", "took 100.5 s\n")
        self.write("b.log", "took 50.25 s\n")
        self.assertIn("failed: no metric found", self.ingest("baseline", "a.log").stdout)
        self.ingest("ddp,nodes=2", "b.log", "--value", "samples=12", "--fact", "precision=bf16", "--note", "by Ada")
        for name in ("a.log", "b.log"):
            (self.folder / name).unlink()
        self.write("old.yaml", STUDY)
        mended = self.hpcbench("report", "old.yaml", "--format", "json")
        self.assertIn("imports: 0 taken in, 2 read again, 0 revoked", mended.stderr)
        self.assertNotIn("more than one attempt", mended.stdout, "what was read twice ran once")
        rows = self.rows()
        self.assertEqual((rows["baseline", 1]["median"], rows["ddp", 2]["median"]), (100.5, 50.25))
        self.assertEqual(self.outcomes(rows["ddp", 2]), {"succeeded": 1})
        again = [self.imported(index) for index, folder in enumerate(self.folders()) if folder.endswith("a2")]
        self.assertEqual(sorted(one["values"]["train_s"] for one in again), [50.25, 100.5])
        ddp = next(one for one in again if one["values"]["train_s"] == 50.25)
        self.assertEqual((ddp["values"]["samples"], ddp["facts"]["precision"], ddp["note"]), (12, "bf16", "by Ada"))
        folders = self.folders()
        self.assertEqual(self.hpcbench("report", "old.yaml").stderr, "", "once read again is enough")
        self.assertEqual(self.folders(), folders)

    def test_run_does_not_count_imported_runs_as_its_repeats(self):
        self.write("a.log", "took 100.5 s\n")
        self.ingest("baseline", "a.log")
        plan = json.loads(self.hpcbench("plan", "old.yaml", "--format", "json").stdout)
        self.assertEqual((plan["new"], plan["kept"], plan["orphaned"]), (6, 0, 0))
        self.hpcbench("run", "old.yaml", "--simulate-nodes", "--set", "metrics=[{name: train_s, file: stdout.log, pattern: 'took ([0-9.]+)', unit: s}]")
        row = self.rows()["baseline", 1]
        self.assertEqual(sorted(run["run"] for run in row["runs"]), ["i01", "r01", "r02"])
        self.assertEqual(row["n"], 3)
        self.assertEqual(self.hpcbench("run", "old.yaml").stderr.count("nothing was run again"), 1)

    def test_status_and_watch_count_imported_runs(self):
        self.write("a.log", "took 100.5 s\n")
        self.ingest("baseline", "a.log")
        self.ingest("ddp,nodes=1", "--outcome", "timeout")
        status = self.hpcbench("status", "old.yaml").stdout
        self.assertIn("old: 6 runs: 6 planned; 2 imported runs: 1 succeeded, 1 timeout\n", status)
        self.assertRegex(status, r"/i01/a1  timeout.*strategy=ddp")
        alone = STUDY.replace("repeats: 2", "").replace("launch: once", "").replace('command: [bash, -c, "echo took {{epochs}} s"]', "")
        self.write("old.yaml", alone + "import: [{files: b.log, run: {strategy: ddp, nodes: 2}}]\n")
        shutil.rmtree(self.folder / "results")
        self.assertIn("none imported yet: `hpcbench report old.yaml` takes in what `import` names", self.hpcbench("status", "old.yaml").stdout)
        self.ingest("baseline", "a.log")
        self.ingest("ddp,nodes=1", "--outcome", "timeout")
        first = "old: 2 imported runs: 1 succeeded, 1 timeout"
        self.assertEqual(self.hpcbench("status", "old.yaml").stdout.splitlines()[0], first)
        self.assertIn("/i01/a1  succeeded", self.hpcbench("status", "old.yaml", "--all").stdout)
        self.assertEqual(self.hpcbench("watch", "old.yaml").stdout.splitlines()[-1], first)
        counts = self.status("old.yaml")
        self.assertEqual((sum(counts["counts"].values()), counts["imported"]), (0, {"succeeded": 1, "timeout": 1}))

    def test_each_file_a_run_or_all_one(self):
        self.write("a.log", "took 1.5 s\n")
        self.write("b.log", "took 2.5 s\n")
        both = self.ingest("ddp,nodes=1", "a.log", "b.log", code=2)
        self.assertIn("a.log and b.log both give train_s", both.stderr)
        self.assertIn("--each", both.stderr)
        self.assertEqual(self.folders(), [])
        self.ingest("ddp,nodes=1", "--each", "a.log", "b.log")
        self.assertEqual([run["value"] for run in self.rows()["ddp", 1]["runs"]], [1.5, 2.5])

    def test_values_facts_and_outcomes(self):
        self.ingest("baseline", "--value", "train_s=63 min 48 s", "--fact", "precision=bf16", "--statistic", "median", "--n", "5", "--note", "table 2")
        self.ingest("ddp,nodes=2", "--outcome", "out_of_memory")
        self.write("limit.log", "epoch 1\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-10-23T21:22:52 DUE TO TIME LIMIT ***\n")
        self.ingest("ddp,nodes=1", "limit.log")
        rows = self.rows()
        self.assertEqual(rows["baseline", 1]["median"], 3828)
        self.assertEqual(rows["baseline", 1]["n"], 5)
        self.assertEqual(self.outcomes(rows["ddp", 2]), {"out_of_memory": 1})
        self.assertEqual(self.outcomes(rows["ddp", 1]), {"timeout": 1})
        with sqlite3.connect(self.folder / "results/hpcbench.db") as database:
            facts = dict(database.execute("SELECT name, value FROM fact JOIN attempt USING (id) WHERE state = 'succeeded'"))
            reasons = [reason for reason, in database.execute("SELECT reason FROM run WHERE state = 'timeout'")]
        database.close()
        self.assertEqual(facts, {"note": "table 2", "precision": "bf16", "printed_train_s": "63 min 48 s", "source": "imported",
                                 "statistic": "median", "statistic_n": "5"})
        self.assertIn("DUE TO TIME LIMIT", reasons[0])

    def test_values_by_hand_and_those_of_the_file_are_runs_of_their_own(self):
        self.write("old.yaml", STUDY + "import:\n  - {run: {strategy: ddp, nodes: 2}, values: {train_s: 10}}\n")
        self.assertEqual(self.rows()["ddp", 2]["n"], 1)
        self.ingest("ddp,nodes=2", "--value", "train_s=20")
        again = self.ingest("ddp,nodes=2", "--value", "train_s=30")
        self.assertIn("this replaces what was given by hand", again.stderr)
        self.assertIn("1 there already", self.ingest("ddp,nodes=2", "--value", "train_s=30").stderr)
        self.assertIn("1 there already", self.ingest("ddp,nodes=2", "--value", "train_s=10").stderr)
        for _ in range(2):
            self.assertEqual([run["value"] for run in self.rows()["ddp", 2]["runs"]], [10, 30])

    def test_slurms_words(self):
        for name, text, outcome in (
                ("oom", "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0.\nsrun: error: n1: task 0: Out Of Memory", "out_of_memory"),
                ("node", "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2025-10-23T21:22:52 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", "node_failure"),
                ("preempted", "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2025-10-23T21:22:52 DUE TO PREEMPTION ***", "preempted"),
                ("scancel", "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2025-10-23T21:22:52 ***", "cancelled"),
                ("nothing", "Segmentation fault", "failed")):
            self.write(f"{name}.log", text + "\n")
            self.assertIn(f"{outcome}: ", self.ingest("baseline", f"{name}.log").stdout)
        self.assertEqual(self.outcomes(self.rows()["baseline", 1]),
                         {"cancelled": 1, "failed": 1, "node_failure": 1, "out_of_memory": 1, "preempted": 1})

    def test_events_and_gpu_samples_of_another_machine(self):
        self.write("events.jsonl", '{"v":1,"event":"run_start","precision":"bf16"}\n{"v":1,"event":"run_end","train_s":12.5}\n')
        self.write("gpu.csv", "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
                   "2025/11/12 09:00:00.000, 0, 50 %, 10 MiB, 360.00 W\n2025/11/12 09:00:10.000, 0, 70 %, 10 MiB, 360.00 W\n")
        self.ingest("baseline", "events.jsonl", "gpu.csv")
        self.assertEqual(self.rows()["baseline", 1]["median"], 12.5)
        shown = self.hpcbench("show", "old/strategy=baseline").stdout
        self.assertRegex(shown, r"energy_wh +1\b")
        self.assertRegex(shown, r"gpu_utilization_percent +60\b")
        self.assertRegex(shown, r"precision +bf16\b")

    def test_what_is_wrong_is_said(self):
        self.write("a.log", "took 1 s\n")
        for run, files, words in (
                ("ddp", ["a.log"], "strategy=ddp is 2 points"), ("2", ["a.log"], "2 is a value of nodes and of epochs; write axis=2"),
                ("dpd", ["a.log"], "no axis has the value dpd"), ("node=2", ["a.log"], "`node` is no axis (did you mean `nodes`?)"),
                ("baseline,nodes=2", ["a.log"], "no point has strategy=baseline, nodes=2 at once"), ("baseline", ["b.log"], "there is no file b.log"),
                ("baseline", ["."], "is no regular file"), ("baseline", [], "name the files of the run"),
                ("baseline", ["--value", "train_s=soon"], "neither a number nor a time"), ("baseline", ["--fact", "x"], "write name=value")):
            self.assertIn(words, self.ingest(run, *files, code=2).stderr)
        self.hpcbench("ingest", "--run", "baseline", "a.log", code=2)
        self.hpcbench("ingest", "a.log", "b.log", code=2)
        self.assertFalse((self.folder / "results/old").exists())

    def test_broken_files_cost_only_themselves(self):
        self.write("a.log", "took 3 s\n")
        (self.folder / "b.log").write_bytes(bytes(range(256)) * 4096 + b"\xff\xfe\n")
        self.write("metrics.csv", 'epoch,loss\n1,0.5\n2\n3,"0.25\n')
        done = self.ingest("baseline", "a.log", "b.log", "metrics.csv")
        self.assertIn("metrics.csv:3: 1 cells under a header of 2", done.stderr)
        self.assertIn("metrics.csv:4: a quote is opened here and never closed", done.stderr)
        self.assertEqual((self.rows()["baseline", 1]["median"], self.rows()["baseline", 1]["train_loss"]), (3, 0.5))

    def test_a_large_file_is_named_not_copied(self):
        with (self.folder / "big.log").open("wb") as file:
            file.write(b"took 7 s\n")
            file.seek(80 << 20)
            file.write(b"\n")
        self.ingest("baseline", "big.log")
        source, = self.imported()["sources"]
        self.assertIsNone(source["file"])
        self.assertEqual(len(source["sha256"]), 64)
        (self.folder / "big.log").unlink()
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.rows()["baseline", 1]["median"], 7)

    def test_an_interrupted_import_leaves_nothing_that_counts(self):
        self.write("a.log", "took 1 s\n")
        self.ingest("baseline", "a.log")
        config = self.folder / "results/old" / self.folders()[0].split("/")[0]
        shutil.copytree(config / "i01/a1", config / ".importing-0123456789abcdef")
        (config / ".importing-0123456789abcdef/imported.json").unlink()
        (config / "i02").mkdir()
        self.write("b.log", "took 2 s\n")
        self.ingest("baseline", "b.log")
        self.assertFalse((config / ".importing-0123456789abcdef").exists())
        self.assertEqual([run["run"] for run in self.rows()["baseline", 1]["runs"]], ["i01", "i02"])

    def test_two_at_once_take_in_once(self):
        self.write("a.log", "took 1 s\n")
        command = [HPCBENCH, "ingest", "--experiment", "old.yaml", "--run", "baseline", "a.log"]
        processes = [subprocess.Popen(command, cwd=self.folder, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                     for _ in range(6)]
        self.assertEqual([process.wait() for process in processes], [0] * 6)
        self.assertEqual(len(self.folders()), 1)

    def test_files_of_lightning_and_hugging_face(self):
        self.write("hf.yaml", STUDY.replace("old", "hf").replace("metrics:", "metrics:\n"
                   "  - {name: step_loss, file: 'trainer_state.json', pointer: /log_history/*/loss, index: step, series: step}\n"
                   "  - {name: tensorboard_loss, file: '*tfevents*', tag: train/loss, series: step}\n"
                   "  - {name: csv_loss, file: lightning_metrics.csv, column: train_loss_epoch, index: epoch, series: epoch}\n"))
        self.ingest("baseline", *(str(GOLDEN / name) for name in ("trainer_state.json", "events.out.tfevents.huggingface", "lightning_metrics.csv")),
                    "--value", "train_s=1", file="hf.yaml")
        imported = json.loads(next(self.folder.glob("results/hf/*/i01/a1/imported.json")).read_text())
        history = [entry for entry in json.loads((GOLDEN / "trainer_state.json").read_text())["log_history"] if "loss" in entry]
        self.assertEqual(imported["series"]["step_loss"], [[entry["step"], entry["loss"]] for entry in history])
        self.assertEqual(imported["series"]["tensorboard_loss"],
                         json.loads((GOLDEN / "tensorboard_reads.json").read_text())["events.out.tfevents.huggingface"]["train/loss"])
        epochs = [[int(row["epoch"]), float(row["train_loss_epoch"])] for row in csv.DictReader((GOLDEN / "lightning_metrics.csv").read_text().splitlines())
                  if row["train_loss_epoch"]]
        self.assertEqual(imported["series"]["csv_loss"], epochs)
        self.assertEqual(imported["places"]["csv_loss"], "lightning_metrics.csv:13")


class Import(OldResults):
    """`import:` of the experiment file. Files are relative to the folder of results."""

    def study(self, imports):
        self.write("old.yaml", STUDY + "import:\n" + imports)

    def test_import_tables_and_maps(self):
        self.write("results/data/runs.csv", "strategy,nodes,train_s,fact:device,outcome\nbaseline,1,1:40,A100,\nddp,1,,,timeout\n")
        self.write("results/data/ddp.log", "took 25 s\n")
        self.study("  - data/runs.csv\n  - {files: data/*.log, run: {strategy: ddp, nodes: 2}, facts: {device: H100}}\n")
        self.hpcbench("check", "old.yaml")
        rows = self.rows()
        self.assertEqual((rows["baseline", 1]["median"], rows["ddp", 2]["median"]), (100, 25))
        self.assertEqual(self.outcomes(rows["ddp", 1]), {"timeout": 1})
        self.assertEqual(self.hpcbench("report", "old.yaml").stderr, "")
        folders = self.folders()
        shutil.rmtree(self.folder / "results/data")
        kept = json.loads(self.hpcbench("report", "old.yaml", "--format", "json", code=2).stdout)["rows"]
        self.assertEqual([row["median"] for row in kept], [100, None, 25])
        self.assertEqual(self.folders(), folders)

    def test_import_follows_the_file(self):
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\nddp,2,50\n")
        self.study("  - runs.csv\n")
        self.assertEqual(self.rows()["ddp", 2]["median"], 50)
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\nddp,2,40\n")
        self.assertEqual(self.rows()["ddp", 2]["median"], 40)
        self.assertEqual(self.rows()["ddp", 2]["n"], 1)
        self.study("  - {table: runs.csv, unit: min}\n")
        self.assertEqual(self.rows()["ddp", 2]["median"], 2400)
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\n")
        rows = self.rows()
        self.assertEqual((rows["ddp", 2]["n"], rows["baseline", 1]["n"]), (0, 1))
        before = self.hpcbench("report", "old.yaml", "--format", "csv").stdout
        self.hpcbench("db", "rebuild")
        self.assertEqual(before, self.hpcbench("report", "old.yaml", "--format", "csv").stdout)

    def test_a_table_of_another_program_has_columns_that_nothing_reads(self):
        """As W&B exports it: names, states and tags beside the axes; a value that diverged."""
        table = ('"Name","State","Tags","strategy","nodes","train_s","eval/loss","train/loss"\n'
                 '"misty-sun-1","finished","a, b","baseline","1","100","0.5","1"\n"misty-sun-2","crashed","","ddp","1","","","1"\n'
                 '"misty-sun-3","finished","","ddp","2","%s","NaN","1"\n')
        self.write("results/runs.csv", table % 50)
        self.study('  - {table: runs.csv, values: {val_loss: "eval/loss"}}\n')
        checked = self.hpcbench("check", "old.yaml").stderr
        self.assertIn("runs.csv: left out, as `values` maps no metric to them: train/loss", checked)
        self.assertIn("runs.csv: left out, as they hold texts and `values` maps no metric to them: Name, State, Tags", checked)
        self.assertIn("runs.csv: no value of val_loss in 1 line, as it is not finite there", checked)
        rows = self.rows()
        self.assertEqual((rows["baseline", 1]["validation_loss"], rows["baseline", 1]["median"]), (0.5, 100))
        self.assertEqual((rows["ddp", 2]["validation_loss"], rows["ddp", 2]["median"]), (None, 50))
        self.assertEqual(self.outcomes(rows["ddp", 1]), {"failed": 1})
        self.write("results/runs.csv", table % 40)
        row = self.rows()["ddp", 2]
        self.assertEqual((row["n"], row["median"]), (1, 40), "a line that changed replaces what it was")
        self.write("results/runs.csv", (table % 40).replace('"100"', '"soon"'))
        self.assertIn("`soon` in column train_s is neither", self.hpcbench("check", "old.yaml", "--set", "import=[runs.csv]", code=2).stderr
                      + self.hpcbench("check", "old.yaml", "--set", "import=[{table: runs.csv, values: {train_s: train_s}}]", code=2).stderr)

    def test_an_imported_study_has_no_file_that_was_run(self):
        self.ingest("baseline", "--value", "train_s=3")
        self.assertIn("holds only imported runs: give its experiment file", self.hpcbench("report", "old", code=2).stderr)
        self.assertRegex(self.hpcbench("logs", "old/baseline/i01", code=2).stderr, "is an imported run, which prints nothing; its files are in .*/i01/a1/sources")

    def test_import_problems_have_places_and_cost_only_themselves(self):
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\nddp,3,50\nddp,2,soon\nddp\n")
        self.study("  - runs.csv\n  - {files: none/*.log, run: {strategy: ddp, nodes: 2}}\n")
        checked = self.hpcbench("check", "old.yaml", code=2).stderr
        self.assertIn("runs.csv:3: error: no point has nodes=3 (there are: 1, 2)", checked)
        self.assertIn("\n  = line 4: `soon` in column train_s is neither a number nor a time", checked)
        self.assertIn("\n  = line 5: 1 cells under a header of 3", checked)
        self.assertIn("old.yaml:18:5: no file is none/*.log", checked)
        done = self.hpcbench("report", "old.yaml", "--format", "json", code=2)
        self.assertIn("runs.csv:3: error: no point has nodes=3", done.stderr)
        medians = {(row["axes"]["strategy"], row["axes"]["nodes"]): row["median"] for row in json.loads(done.stdout)["rows"]}
        self.assertEqual(medians["baseline", 1], 100, "what can be read is shown all the same")
        shutil.copytree(self.folder / "results", self.folder / "others")
        compared = self.hpcbench("compare", "old.yaml", "--results", "results", "others", code=2)
        self.assertIn("runs.csv:3: error: no point has nodes=3", compared.stderr)
        self.assertIn("baseline", compared.stdout)
        plotted = self.hpcbench("plot", "old.yaml", "--kind", "time", code=2)
        self.assertIn("runs.csv:3: error: no point has nodes=3", plotted.stderr)
        self.assertTrue((self.folder / "plots/time.svg").is_file(), "what can be read is drawn all the same")

    def test_a_table_that_is_gone_is_told_and_its_runs_are_still_shown(self):
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\nddp,2,50\n")
        self.study("  - {table: runs.csv}\n  - {files: none/*.log, run: {strategy: ddp, nodes: 2}}\n")
        self.hpcbench("report", "old.yaml")  # a file that never was is a note
        (self.folder / "results/runs.csv").unlink()
        done = self.hpcbench("report", "old.yaml", "--format", "json", code=2)
        self.assertRegex(done.stderr, r"old\.yaml:\d+:\d+: error: \S+/results/runs\.csv is gone, and 2 runs imported from it still count\n"
                                      r"  = put the file back, or remove it from `import`, which withdraws its runs")
        self.assertEqual(sorted(row["median"] for row in json.loads(done.stdout)["rows"] if row["n"]), [50, 100])
        self.assertIn("runs.csv is gone", self.hpcbench("plot", "old.yaml", "--kind", "time", code=2).stderr)
        shutil.copytree(self.folder / "results", self.folder / "others")
        compared = self.hpcbench("compare", "old.yaml", "--results", "results", "others", "--fail-if", "missing", "--format", "json", code=2)
        self.assertIn("runs.csv is gone", "".join(json.loads(compared.stdout)["errors"]))
        self.study("  - {files: none/*.log, run: {strategy: ddp, nodes: 2}}\n")
        self.write("results/none/x.log", "train_s 3")
        self.assertIn("1 read again, 1 revoked", self.hpcbench("report", "old.yaml").stderr)

    def test_a_file_full_of_errors_is_one_message(self):
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\n" + "ddp,3,50\n" * 200)
        self.write("results/other.csv", "strategy,nodes,train_s\nddp,5,50\n")
        self.study("  - runs.csv\n  - other.csv\n")
        for command in ("check", "report"):
            said = self.hpcbench(command, "old.yaml", code=2).stderr
            self.assertEqual(said.count(": error: "), 2, said)
            self.assertIn("runs.csv:3: error: no point has nodes=3 (there are: 1, 2)\n  = line 4: no point has nodes=3", said)
            self.assertIn("\n  = 200 lines of this file have errors\n", said)
            self.assertIn("other.csv:2: error: no point has nodes=5 (there are: 1, 2)\n", said + "\n")
        found = json.loads(self.hpcbench("check", "old.yaml", "--format", "json", code=2).stdout)["findings"]
        self.assertEqual([(each["file"].rpartition("/")[2], each["line"], each["column"]) for each in found], [("runs.csv", 3, None), ("other.csv", 2, None)])

    def test_a_column_of_sizes_must_agree_with_the_axes(self):
        self.study("  - {table: runs.csv}\n")
        self.write("results/runs.csv", "strategy,nodes,gpus,train_s\nddp,2,2,50\n")
        self.assertEqual(self.rows()[("ddp", 2)]["n"], 1)
        self.write("results/runs.csv", "strategy,nodes,gpus,train_s\nddp,2,8,50\n")
        self.assertIn("runs.csv:2: error: no point has gpus=8 (there are: 1, 2); `gpus` is nodes x gpus_per_node: put nodes and gpus_per_node that "
                      "give it into `matrix`", self.hpcbench("check", "old.yaml", code=2).stderr)

    def test_tables_as_people_write_them(self):
        for table in ("strategy;nodes;train_s\nddp;2;1.240,5\n", "strategy\tnodes\ttrain_s\nddp\t2\t1.240,5\n", "# made by x\n#strategy|nodes|train_s\nddp|2|1.240,5\n",
                      'strategy,nodes,train_s\nddp,2,"1,240.5"\n', 'strategy,nodes,train_s\nddp,2,"1240,5"\nbaseline,1,-\n'):
            with self.subTest(table=table):
                self.write("results/runs.csv", table)
                self.study("  - runs.csv\n")
                self.assertEqual(self.rows()[("ddp", 2)]["median"], 1240.5)

    def test_cells_with_two_readings(self):
        self.write("results/runs.csv", 'strategy,nodes,loss,train_s\nddp,2,"0.5","1,240"\nddp,1,"0,25",7\n')
        table = "{{table: runs.csv, values: {{train_s: train_s, val_loss: loss}}{}}}\n"
        self.study("  - " + table.format(""))
        told = self.hpcbench("check", "old.yaml", code=2).stderr
        self.assertIn("runs.csv:2:13: error: `1,240` in column train_s is neither a number nor a time, nor a number with a unit: it may be 1240 or 1.24", told)
        self.write("results/runs.csv", 'strategy,nodes,loss,train_s\nddp,2,"0,5","1,240"\n')
        for decimal, want in ((", decimal: comma", 1.24), (", decimal: point", 1240)):
            self.study("  - " + table.format(decimal))
            if decimal.endswith("point"):  # and then `0,5` is none
                self.assertIn("`0,5` in column val_loss is neither", self.hpcbench("check", "old.yaml", code=2).stderr)
                self.write("results/runs.csv", 'strategy,nodes,loss,train_s\nddp,2,0.5,"1,240"\n')
            self.assertEqual(self.rows()[("ddp", 2)]["median"], want)
        # Other cells of the column decide.
        self.write("results/runs.csv", 'strategy,nodes,loss,train_s\nddp,2,"0,5","1,240"\nddp,1,"0,5","2,5"\n')
        self.study("  - " + table.format(""))
        self.assertEqual(self.rows()[("ddp", 2)]["median"], 1.24)
        # A column of a table whose headings are mapped is never dropped for its numbers' spelling.
        self.write("results/runs.csv", 'strategy,nodes,train_s,loss,state\nddp,2,"240,5","1,240",ok\nddp,1,7.25,3,ok\n')
        self.study("  - {table: runs.csv, values: {val_loss: loss}}\n")
        self.assertIn("`240,5` in column train_s is neither a number nor a time, nor a number with a unit: with `decimal: comma` it is 240.5", self.hpcbench("check", "old.yaml", code=2).stderr)

    def test_a_mended_import_is_exit_0_again(self):
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\nddp,3,50\n")
        self.study("  - runs.csv\n")
        self.hpcbench("report", "old.yaml", code=2)
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\nddp,2,50\n")
        self.hpcbench("report", "old.yaml", code=0)

    def test_import_under_a_profile(self):
        self.write("results/runs.csv", "strategy,nodes,train_s\nbaseline,1,100\nddp,2,50\n")
        self.study("  - runs.csv\nprofiles:\n  one: {matrix: {nodes: [1]}, exclude: []}\n  other: {parameters: {x: 1}}\n".replace(", exclude: []", ""))
        self.rows()
        folders = self.folders()
        for profile in ("one", "other"):
            self.hpcbench("report", "old.yaml", "--profile", profile, "--metric", "train_s", code=None)
            self.assertEqual(self.folders(), folders)
        self.assertEqual(self.rows()["ddp", 2]["median"], 50)


class FailedImports(StudyTest):
    """Results of others that failed: no advice would start anything, and what is told is told once."""

    def test_nothing_starts_because_imports_failed(self):
        self.write("old/n1.log", "time=4\n")
        self.write("old/n2.log", "time=3\n")
        study = """
experiment: s
command: ["bash", "-c", "echo $HPCBENCH_RUN >>%s/executions; echo {{n}}"]
launch: once
matrix: {n: [1, 2]}
repeats: 3
report: {metric: train_s}
metrics: [{name: train_s, file: "*.log", pattern: 'time=(.*)'}]
success: {pattern: "well done"}
import: [{files: old/n1.log, run: {n: 1}}, {files: old/n2.log, run: {n: 2}}]
""" % self.folder
        self.write("s.yaml", study)
        text = self.hpcbench("report", "s.yaml").stdout
        self.assertIn("no-success: none of 2 runs that ended succeeded: 2 failed (success pattern well done not found)", text)
        self.assertEqual(text.count("What to do"), 1, text)
        self.assertLess(text.index("No run succeeded"), text.index("median"))
        self.assertNotIn("hpcbench retry", text)
        refused = self.hpcbench("retry", "s.yaml", code=3).stderr
        self.assertIn("error: nothing to retry: no run of s has been started, and imported runs stand as they are", refused)
        self.assertEqual(refused.count("error"), 1, refused)
        self.assertFalse((self.folder / "executions").exists(), "retry started the study")
        self.write("s.yaml", study.replace("well done", "time"))  # what the warning advises
        self.assertNotIn("no-success", self.hpcbench("report", "s.yaml").stdout)


if __name__ == "__main__":
    unittest.main()
