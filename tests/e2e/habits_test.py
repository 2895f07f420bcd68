"""What people type, and what they are told: names of runs and studies, lists, rehearsals, cleaning up."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import study_test  # noqa: E402
from harness import HPCBENCH, StudyTest  # noqa: E402

STUDY = study_test.STUDY
WORK = study_test.WORK


class Habits(StudyTest):
    """What people type, and what they are told."""

    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", STUDY)
        self.write("work.sh", WORK.replace("$HPCBENCH_TEST_JITTER", "0"))

    def test_show_and_logs_take_what_ingest_takes(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "2")
        for run in ("fast,2/r02", "fast,gpus_per_node=2/r02", "strategy=fast,2/r02", "tiny/fast, 2/r02", "strategy=fast,gpus_per_node=2/r02"):
            self.assertEqual(self.hpcbench("logs", run).stdout, "score 2.00\n", run)
        self.assertIn("state              succeeded", self.hpcbench("show", "slow/r01/a1").stdout)

    def test_errors_of_show_name_what_was_typed(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        for run, said in (("slwo/r01", "`slwo/r01` is no run of tiny: no configuration's id begins with `slwo`, and no axis has that value "
                          "(gpus_per_node: 1, 2; nodes: 1; strategy: fast, slow)"), ("1/r01", "`1` is a value of gpus_per_node and of nodes"),
                          ("strat=slow/r01", "is no run of tiny: `strat` is no axis"),
                          ("strategy=medium/r01", "no run of tiny that has begun has strategy=medium (there are: fast, slow)"),
                          ("tiny/strategy=fast,gpus_per_node=3|4", "has gpus_per_node=3|4 (there are: 1, 2)"), ("nosuch/strategy=fast", "`nosuch` is no experiment"), ("nosuch/fast/r01", "`nosuch` is no experiment"), ("strategy=/r01", "is not axis=value"),
                          ("slow/r07", "there are:"), ("strategy=slow,gpus_per_node=2/r01", "`hpcbench status tiny --all`")):
            for command in ("show", "logs"):
                text = self.hpcbench(command, run, code=2).stderr
                self.assertIn(f"`{run}`", text)
                self.assertIn(said, text)
                self.assertNotIn("--only", text)
        self.assertIn("`slow/r01` has no rank 3", self.hpcbench("logs", "slow/r01", "--rank", "3", code=2).stderr)

    def test_status_lists_all_runs_when_asked(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        self.assertNotIn("strategy=slow", self.hpcbench("status", "tiny.yaml").stdout)
        listed = self.hpcbench("status", "--all").stdout.splitlines()
        self.assertIn("no `hpcbench run` goes on: `hpcbench run tiny` would begin the 15 runs that wait for it", listed[1])
        self.assertEqual(len(listed), 2 + 18)
        self.assertEqual(len([line for line in listed if "succeeded" in line]), 1 + 3)

    def test_status_and_report_agree_on_how_many_repeats_there_are(self):
        self.write("tiny.yaml", STUDY.replace("repeats: 6", "repeats: 2"))
        self.hpcbench("run", "tiny.yaml", "--repeats", "4")
        succeeded = self.status("tiny.yaml")["counts"]["succeeded"]
        table = self.report("tiny.yaml")
        self.assertEqual((succeeded, sum(row["n"] for row in table["rows"])), (6, 6))
        self.assertIn("6 runs beyond `repeats: 2`", " ".join(table["notes"]))
        self.assertIn("`--orphans` shows them", " ".join(table["notes"]))
        everything = json.loads(self.hpcbench("report", "tiny.yaml", "--orphans", "--format", "json").stdout)
        self.assertEqual(sum(row["n"] for row in everything["rows"]), 12)

    def test_advised_commands_mean_the_study_at_hand(self):
        self.write("tiny.yaml", STUDY.replace("repeats: 6", "repeats: 1"))
        said = self.hpcbench("run", "tiny.yaml", "--results", "old runs").stderr
        self.assertIn("Next: hpcbench report --results 'old runs' --format markdown", said)
        # Another file of the study, by which it was not run: the name alone would stand for the file that was.
        self.write("less.yaml", STUDY.replace("strategy: [slow, fast]", "strategy: [slow]"))
        said = self.hpcbench("clean", "less.yaml", "--results", "old runs").stderr
        self.assertIn("`hpcbench clean less.yaml --results 'old runs' --remove void|orphans|prepare|all`", said)

    def test_a_heading_of_a_table_is_a_name_for_the_next(self):
        self.write("tiny.yaml", STUDY.replace("strategy", "n").replace("repeats: 6", "repeats: 1"))
        self.hpcbench("run", "tiny.yaml")
        heads = self.hpcbench("report", "--format", "csv").stdout.splitlines()[0].split(",")
        self.assertEqual(heads[0], "axis:n")
        told = self.hpcbench("report", "--format", "csv", "--columns", "axis:n,column:n", "--sort=-axis:n").stdout.splitlines()
        self.assertEqual([line.split(",")[:2] for line in told[:2]], [["axis:n", "n"], ["slow", "1"]])

    def test_advice_of_a_report_names_the_study(self):
        failing = STUDY.replace("experiment: tiny", "experiment: broken").replace("repeats: 6", "repeats: 1").replace("work.sh", "nowork.sh")
        self.write("broken.yaml", failing)
        self.hpcbench("run", "broken.yaml", "--keep-going", code=1)
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")  # what `hpcbench retry` alone would be about
        self.assertIn("`hpcbench retry broken` runs them again", self.hpcbench("report", "broken").stdout)

    def test_studies_are_known_by_name(self):
        self.write("site.yaml", "executor: local\nsetup: [\"true\"]\n")
        self.write("studies/other.yaml", STUDY.replace("experiment: tiny", "experiment: other"))
        self.hpcbench("run", "tiny.yaml", "--repeats", "1", "--site", "site.yaml", "--set", "repeats=2")
        self.hpcbench("run", "studies/other.yaml", "--repeats", "1")
        self.assertEqual(self.status("tiny")["counts"], {**self.status("tiny")["counts"], "succeeded": 3, "planned": 3})
        self.assertEqual(self.status("other")["counts"]["planned"], 15)
        self.assertEqual(len(self.report("tiny")["rows"]), 3)
        self.assertIn("+3 new", self.hpcbench("plan", "tiny").stdout)
        self.hpcbench("check", "tiny")
        self.hpcbench("run", "tiny")
        self.assertEqual(self.status("tiny")["counts"]["succeeded"], 6)
        wrong = self.hpcbench("status", "tinny", code=2).stderr
        self.assertIn("tinny is neither a file nor a study in", wrong)
        self.assertIn("did you mean `tiny`", wrong)
        self.assertIn("nosuch.yaml", self.hpcbench("status", "nosuch.yaml", code=3).stderr)

    def test_status_remembers_the_site(self):
        self.write("site.yaml", "executor: local\nsetup: [\"true\"]\n")
        self.hpcbench("run", "tiny.yaml", "--repeats", "1", "--site", "site.yaml")
        self.write("other.yaml", STUDY.replace("experiment: tiny", "experiment: other"))
        self.hpcbench("run", "other.yaml", "--repeats", "1")
        self.assertRegex(self.hpcbench("status", "tiny.yaml").stderr, r"--site /\S+/site.yaml: as in the last run")
        (self.folder / "below").mkdir()
        done = subprocess.run([HPCBENCH, "status", "../tiny.yaml", "--results", "../results"], cwd=self.folder / "below", env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertIn("3 succeeded", done.stdout, done.stderr)
        self.assertNotIn("as in the last run", self.hpcbench("doctor", "tiny.yaml", code=None).stderr)
        self.assertNotIn("--site", self.hpcbench("status", "other.yaml").stderr)
        self.assertNotIn("as in the last run", self.hpcbench("check", "tiny.yaml").stderr)

    def test_ls_lists_all_studies(self):
        self.assertIn("no results yet", self.hpcbench("ls").stderr)
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        self.write("other.yaml", STUDY.replace("experiment: tiny", "experiment: other").replace('"{{strategy}}"', '"{{strategy}}x"'))
        self.hpcbench("run", "other.yaml", "--repeats", "1", "--set", "command=['false']", code=1)
        text = self.hpcbench("ls").stdout
        self.assertRegex(text, r"other +3 runs: 3 failed\n +/.*/other.yaml --set 'command=")
        self.assertRegex(text, r"tiny +3 runs: 3 succeeded\n +/.*/tiny.yaml\n")
        listed = json.loads(self.hpcbench("ls", "--format", "json").stdout)
        self.assertEqual([(s["experiment"], s["counts"]) for s in listed["studies"]], [("other", {"failed": 3}), ("tiny", {"succeeded": 3})])

    def test_help_of_a_command(self):
        self.assertEqual(self.hpcbench("help", "run").stdout, self.hpcbench("run", "--help").stdout)
        self.assertEqual(self.hpcbench("help").stdout, self.hpcbench("--help").stdout)
        self.assertIn("did you mean `report`", self.hpcbench("help", "reprot", code=2).stderr)

    def test_dry_run_starts_nothing(self):
        dry = self.hpcbench("run", "tiny.yaml", "--repeats", "2", "--dry-run")
        self.assertEqual(len(dry.stdout.splitlines()), 6)
        self.assertIn("6 runs would be started by the executor local; 0 of 6 have an outcome. Nothing was started.", dry.stderr)
        self.assertFalse((self.folder / "executions").exists())
        self.assertFalse((self.folder / "results").exists())
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        dry = self.hpcbench("run", "tiny.yaml", "--repeats", "2", "--dry-run", "--only", "strategy=slow")
        self.assertRegex(dry.stdout, r"^[0-9a-f]{16}/r02  strategy=slow, gpus_per_node=1, nodes=1\n$")

    def test_clean_lists_and_removes_only_what_it_is_told(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        self.hpcbench("run", "tiny.yaml", "--repeats", "1", "--set", "matrix.strategy=[slow, fast, gone]")
        self.write("tiny.yaml", STUDY + "profiles: {small: {parameters: {x: 1}}}\n")
        self.hpcbench("run", "tiny.yaml", "--repeats", "1", "--profile", "small")
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        before = sorted(p for p in (self.folder / "results/tiny").glob("*/r*/a*"))
        listed = self.hpcbench("clean", "tiny.yaml")
        orphans = [line.split() for line in listed.stdout.splitlines()]
        self.assertEqual([o[0] for o in orphans], ["orphan"] * 2, "those of a profile are none")
        self.assertIn("nothing was removed", listed.stderr)
        self.assertEqual(before, sorted(p for p in (self.folder / "results/tiny").glob("*/r*/a*")))
        self.assertIn("--yes", self.hpcbench("clean", "tiny.yaml", "--remove", "orphans", code=2).stderr)
        self.assertIn("nothing of that kind", self.hpcbench("clean", "tiny.yaml", "--remove", "void", "--yes").stderr)
        self.hpcbench("clean", "tiny.yaml", "--remove", "orphans", "--yes")
        after = sorted(p for p in (self.folder / "results/tiny").glob("*/r*/a*"))
        self.assertEqual(len(before) - len(after), 2)
        self.assertEqual(set(before) - set(after), {p for p in before if p.parts[-3] in [o[3] for o in orphans]})
        self.assertIn("nothing to clean", self.hpcbench("clean", "tiny.yaml").stderr)
        executions = (self.folder / "executions").read_text()
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        self.assertEqual((self.folder / "executions").read_text(), executions, "nothing runs again")

    def test_what_a_killed_clean_left_is_no_result_and_goes_with_the_next(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        self.hpcbench("run", "tiny.yaml", "--repeats", "1", "--set", "matrix.strategy=[slow, fast, gone]")
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        half = self.folder / "results/tiny/.removing-0123abcd"
        (half / "r01/a1").mkdir(parents=True)
        (half / "r01/a1/run.json").write_text("{}")
        self.hpcbench("export", "tiny.yaml", "-o", "tiny.tar.zst")
        self.hpcbench("export", "--extract", "tiny.tar.zst", "--to", "unpacked")
        self.assertEqual(list((self.folder / "unpacked").rglob(".removing-*")), [])
        self.hpcbench("clean", "tiny.yaml", "--remove", "orphans", "--yes")
        self.assertFalse(half.exists())

    def test_clean_keeps_the_last_attempt_of_a_run(self):
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        first = next((self.folder / "results/tiny").glob("*/r01/a1"))
        (first / "finished.json").unlink()
        (first / "claim").write_text("revoked void: an earlier call ended before its job began\n")
        self.hpcbench("db", "rebuild")
        self.assertNotIn("void", self.hpcbench("clean", "tiny.yaml").stdout)
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        self.assertTrue((first.parent / "a2").exists())
        self.assertRegex(self.hpcbench("clean", "tiny.yaml").stdout, r"^void +[0-9.]+ kB  [0-9a-f]{16}/r01/a1  never ran")
        self.hpcbench("clean", "--remove", "void", "--yes")
        self.assertFalse(first.exists())
        self.assertTrue((first.parent / "a2").exists())
        self.hpcbench("db", "rebuild")
        self.hpcbench("run", "tiny.yaml", "--repeats", "1")
        self.assertEqual(self.status()["counts"]["succeeded"], 3)

    def peak_kilobytes(self, *arguments):
        """The largest memory of one call of hpcbench."""
        with open(os.devnull, "w") as nowhere:
            process = subprocess.Popen([HPCBENCH, *arguments], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=nowhere)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, arguments)
        return usage.ru_maxrss

    def test_check_of_many_configurations_needs_no_more_than_plan(self):
        numbers = ", ".join(map(str, range(1, 201)))
        self.write("many.yaml", f"""
experiment: many
command: [echo, "{{{{a}}}}", "{{{{b}}}}", "{{{{strategy}}}}"]
launch: once
matrix: {{strategy: [one, two], a: [{numbers}], b: [{numbers}]}}
baseline: {{strategy: one}}
report: {{where: {{a: 7}}, sort: [b]}}
""")
        plan = self.peak_kilobytes("plan", "many.yaml")
        check = self.peak_kilobytes("check", "many.yaml")
        self.assertLess(check, 1.3 * plan, "a row for each configuration would need several times as much")


class Starters(StudyTest):
    def read(self, name):
        return (self.folder / name).read_text()

    def test_the_study_is_named_after_the_file(self):
        self.hpcbench("init", "scaling.yaml")
        self.assertIn("experiment: scaling ", self.read("scaling.yaml"))
        self.hpcbench("init", "my study (2).yaml")
        self.assertIn("experiment: my_study__2_ ", self.read("my study (2).yaml"))
        for name in ("scaling.yaml", "my study (2).yaml"):
            self.hpcbench("check", name)
            self.hpcbench("check", name, "--profile", "laptop")

    def test_a_starter_of_a_command(self):
        for command, line, launch in (
            ("torchrun train.py --lr {{lr}}", '["torchrun", "--nproc_per_node={{gpus_per_node}}", "train.py", "--lr", "{{lr}}"]', "node"),
            ("torchrun --nproc-per-node=2 train.py", '["torchrun", "--nproc-per-node={{gpus_per_node}}", "train.py"]', "node"),
            ("accelerate launch train.py", '["accelerate", "launch", "--num_processes={{gpus}}", "train.py"]', "node"),
            ("/usr/bin/mpirun ./solve 'a b'", '["/usr/bin/mpirun", "-n", "{{ranks}}", "./solve", "a b"]', "once"),
            ("python train.py", '["python", "train.py"]', "once"),
            ("python train.py --lr {{ lr }}", '["python", "train.py", "--lr", "{{lr}}"]', "once"),
        ):
            self.hpcbench("init", "a.yaml", "--command", command)
            text = self.read("a.yaml")
            self.assertIn(f"\ncommand: {line}\n", text)
            self.assertIn(f"\nlaunch: {launch} ", text)
            self.assertEqual("\n  lr: [1, 2]" in text, "lr" in command)
            self.hpcbench("check", "a.yaml")
            self.hpcbench("check", "a.yaml", "--profile", "quick")
            (self.folder / "a.yaml").unlink()
        for command, launch in (("CUDA_VISIBLE_DEVICES=0 python3 t.py --lr {{lr}} | tee log", "once"), ("python3 t.py > log 2>&1", "once"),
                                ('echo "$HOME" \'{{lr}}\'', "once"), ("wc ~/x {{lr}}", "once"), ("wc *.csv", "once"),
                                ("echo '$HOME' '|'", "once"), ('echo "a & b" \\> {{*flags}}', "once")):
            self.hpcbench("init", "a.yaml", "--command", command)
            text = self.read("a.yaml")
            written = "set -o pipefail; " + command if "| tee" in command or "'|'" in command else command
            self.assertIn(f"\ncommand: {json.dumps(written)}\nshell: true ", text)
            self.assertIn(f"\nlaunch: {launch} ", text)
            self.hpcbench("check", "a.yaml")
            (self.folder / "a.yaml").unlink()
        for command in ("python3 t.py lr=1e-3", 'echo "a & b" {{*flags}}'):
            self.hpcbench("init", "a.yaml", "--command", command)
            self.assertNotIn("shell: true", self.read("a.yaml"))
            (self.folder / "a.yaml").unlink()
        self.assertIn("names no program", self.hpcbench("init", "a.yaml", "--command", " ", code=2).stderr)
        self.assertIn("a quote is not closed", self.hpcbench("init", "a.yaml", "--command", "sh -c 'x", code=2).stderr)
        self.assertFalse((self.folder / "a.yaml").exists())

    def test_starters_of_the_trainer_and_of_imports(self):
        for task in ("mnist_rnn", "bert_squad"):
            self.hpcbench("init", f"{task}.yaml", "--trainer", task)
            self.assertIn(f"trainer: {task} ", self.read(f"{task}.yaml"))
            self.hpcbench("check", f"{task}.yaml")
            self.hpcbench("check", f"{task}.yaml", "--profile", "quick")
        self.hpcbench("init", "old.yaml", "--import")
        self.write("runs.csv", "strategy,gpus_per_node,train_s,eval/loss,gpu/0 util\nbaseline,1,10,0.5,99\nddp,2,5,0.75,98\n")
        self.hpcbench("check", "old.yaml")
        rows = {row["axes"]["strategy"]: row for row in self.report("old.yaml")["rows"] if row["n"] > 0}
        self.assertEqual([(rows[s]["median"], rows[s]["validation_loss"]) for s in ("baseline", "ddp")], [(10, 0.5), (5, 0.75)])
        for other in (["--trainer", "mnist_rnn", "--import"], ["--command", "x", "--import"], ["--trainer", "nosuch"]):
            self.hpcbench("init", "b.yaml", *other, code=2)

    IMPORTED = """
experiment: imported
matrix: {{strategy: [baseline, ddp]}}
baseline: {{strategy: baseline}}
report: {{metric: train_s}}
import: [{{table: runs.csv{more}}}]
"""

    def test_a_study_of_imports_needs_no_command(self):
        self.write("imported.yaml", self.IMPORTED.format(more=""))
        self.write("runs.csv", "strategy,train_s\nbaseline,10\nddp,5\n")
        self.assertIn("2 configurations, 0 runs", self.hpcbench("check", "imported.yaml").stdout)
        self.hpcbench("plan", "imported.yaml")
        self.assertEqual([row["median"] for row in self.report("imported.yaml")["rows"]], [10, 5])
        self.assertEqual(self.status("imported.yaml")["runs"], [])
        for command in (["run"], ["run", "--dry-run"]):
            refused = self.hpcbench(*command, "imported.yaml", code=2).stderr
            self.assertIn("there is nothing to run", refused)
            self.assertIn("hpcbench report imported.yaml", refused)
        self.write("imported.yaml", self.IMPORTED.format(more="") + "repeats: 3\n")
        self.assertIn("imported.yaml:7:1: error: `repeats`", self.hpcbench("check", "imported.yaml", code=2).stderr)

    def test_headings_of_others_are_mapped_or_refused_once(self):
        self.write("runs.csv", "strategy,train/loss,eval/loss,Relative Time (Process)\nbaseline,0.25,0.5,10\nddp,0.75,1,5\n")
        self.write("imported.yaml", self.IMPORTED.format(more=""))
        refused = self.hpcbench("check", "imported.yaml", code=2).stderr
        self.assertEqual(refused.count("error:"), 1, refused)
        self.assertIn('`train/loss`, `eval/loss`, `Relative Time (Process)` are no name of an axis or a metric', refused)
        self.assertIn('values: {train_loss: "train/loss"}', refused)
        self.write("imported.yaml", self.IMPORTED.format(more=', values: {{train_s: "Relative Time (Process)", val_loss: "eval/los"}}'.replace("{{", "{").replace("}}", "}")))
        refused = self.hpcbench("check", "imported.yaml", code=2).stderr
        self.assertIn("`val_loss` shall come from the column `eval/los`, which is not there (did you mean `eval/loss`?)", refused)
        self.assertEqual(refused.count("error:"), 1, refused)
        self.write("imported.yaml", self.IMPORTED.format(more=', values: {train_s: "Relative Time (Process)", val_loss: "eval/loss"}'))
        checked = self.hpcbench("check", "imported.yaml").stderr
        self.assertEqual(checked.count("train/loss"), 1, "what is left out is said once")
        rows = self.report("imported.yaml")["rows"]
        self.assertEqual([(row["median"], row["validation_loss"]) for row in rows], [(10, 0.5), (5, 1)])


if __name__ == "__main__":
    unittest.main()
