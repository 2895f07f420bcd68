"""hpcbench compare: two experiments, two results folders, two commits; verdicts, formats, exit codes."""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

# Six runs of 101 to 106 s (as they say) for k = 1, of LEVEL1 to LEVEL6 for k = 2.
STUDY = """
experiment: NAME
command: [sh, -c, 'if [ "$0" = 1 ]; then echo "T 10$1"; else echo "T LEVEL$1"; fi', "{{k}}", "{{repeat}}"]
launch: once
matrix: {k: [1, 2]}
repeats: 6
metrics: [{name: t_s, file: stdout.log, pattern: 'T ([0-9.]+)', unit: s}]
report: {metric: t_s}
"""


class Compare(StudyTest):
    def make(self, name, level, results="results"):
        self.write(f"{name}.yaml", STUDY.replace("NAME", name).replace("LEVEL", level))
        self.hpcbench("run", f"{name}.yaml", "--results", results)

    def compare(self, *arguments, code=0):
        return json.loads(self.hpcbench("compare", *arguments, "--format", "json", code=code).stdout)

    def test_two_experiments(self):
        self.make("old", "20")
        self.make("new", "24")
        found = self.compare("old.yaml", "new.yaml")
        self.assertEqual([row["axes"]["k"] for row in found["rows"]], [1, 2])
        same, slower = found["rows"]
        self.assertEqual(same["ratio"], 1)
        self.assertEqual(same["verdict"], "equivalent")
        self.assertEqual(slower["verdict"], "slower")
        # 36 ratios of 241 to 246 and 201 to 206: every one lies between 241/206 and 246/201.
        self.assertTrue(241 / 206 <= slower["low"] < 243.5 / 203.5 < slower["high"] <= 246 / 201, slower)
        self.assertAlmostEqual(slower["coverage"], 0.9588744588744589)
        self.assertAlmostEqual(slower["p_value"], 2 / 924)
        self.assertAlmostEqual(slower["adjusted_p_value"], 4 / 924)
        self.assertFalse(found["fails"])
        self.assertEqual(self.compare("new", "old")["rows"][1]["verdict"], "faster")  # by name

    def test_studies_of_one_file_by_name(self):
        """With the settings that they were run with: the file alone is another study, or none."""
        self.make("old", "20")
        for name, repeats in (("short", "6"), ("long", "7")):
            self.hpcbench("run", "old.yaml", "--set", f"experiment={name}", "--set", f"repeats={repeats}")
        (self.folder / "short").mkdir()  # a folder of that name is no experiment file
        row = self.compare("short", "long")["rows"][1]
        self.assertEqual((row["a"]["n"], row["b"]["n"]), (6, 7))

    def test_fail_if(self):
        self.make("old", "20")
        self.make("new", "24")
        self.assertTrue(self.compare("old.yaml", "new.yaml", "--fail-if", "slower > 5%", code=1)["fails"])
        self.compare("old.yaml", "new.yaml", "--fail-if", "slower > 19%")
        self.compare("new.yaml", "old.yaml", "--fail-if", "slower")
        self.compare("old.yaml", "new.yaml", "--only", "k=1", "--fail-if", "slower")
        text = self.hpcbench("compare", "old.yaml", "new.yaml", "--fail-if", "slower > 5%", code=1).stdout
        self.assertIn("slower (fails)", text)
        self.assertIn("--fail-if `slower > 5%`: fails (rows: 1 passes, 1 fails)\n  k=2: slower by more than 5 %: B / A is 1.19", text)
        self.assertIn("The gate fails.", text)
        self.assertIn("| k |", self.hpcbench("compare", "old.yaml", "new.yaml", "--format", "markdown").stdout)

    def test_two_folders_of_results(self):
        self.make("study", "20", "site-a")
        self.make("study", "20", "site-b")
        for arguments in (("study.yaml", "--results", "site-a", "site-b"), ("--results", "site-a", "site-b", "study.yaml"),
                          ("study", "--results", "site-a", "site-b"), ("--results", "site-a", "site-b")):
            found = self.compare(*arguments)
            self.assertEqual({row["verdict"] for row in found["rows"]}, {"equivalent"}, arguments)

    def test_two_folders_as_sides(self):
        self.write("study.yaml", STUDY.replace("NAME", "study").replace("LEVEL", "20"))
        for folder, repeats in (("site-a", "5"), ("site-b", "6"), ("results", "5")):
            self.hpcbench("run", "study.yaml", "--results", folder, "--repeats", repeats)
        for sides in (("site-a", "site-b"), ("site-a/", "./site-b"), ("site-a/study", "site-b/study"), ("study.yaml", "site-b")):
            found = self.compare(*sides)
            self.assertEqual([(row["a"]["n"], row["b"]["n"]) for row in found["rows"]], [(5, 6), (5, 6)], sides)
        (self.folder / "empty").mkdir()
        self.assertIn("the folder empty holds no results; write `hpcbench compare OLD.yaml NEW.yaml`",
                      self.hpcbench("compare", "site-a", "empty", code=2).stderr)
        self.assertIn("both sides are the same runs", self.hpcbench("compare", "site-a", "site-a/study", code=2).stderr)
        self.assertIn("name the folders once",
                      self.hpcbench("compare", "site-a", "site-b", "--results", "site-a", "site-b", code=2).stderr)

    def test_folders_of_imports(self):
        for name in ("old", "new"):
            self.write(f"{name}.yaml", IMPORTED.replace("NAME", name))
            self.write(f"{name}.csv", "kernel,step_ms\nstencil,1\n")
        self.hpcbench("compare", "old.yaml", "new.yaml")  # makes the folder of results
        said = self.hpcbench("compare", "results/old", "results/new", code=2).stderr
        self.assertIn("`old` holds only imported runs\n  = name the experiment file of each side, for example `hpcbench compare old.yaml new.yaml`", said)
        self.assertIn("results holds several studies; write one of new, old as A or B, with `--results results`",
                      self.hpcbench("compare", "results", "new.yaml", code=2).stderr)

    def test_two_commits(self):
        if shutil.which("git") is None:
            self.skipTest("git is not installed")

        def commit(text):
            self.write("version.txt", text)
            git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
            for arguments in (["add", "version.txt"], ["commit", "-q", "-m", text]):
                subprocess.run([*git, *arguments], cwd=self.folder, check=True)
            return subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.folder, check=True, capture_output=True,
                                  text=True).stdout.strip()

        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
        first = commit("one")
        self.make("study", "20")
        second = commit("two")
        self.hpcbench("run", "study.yaml", "--repeats", "12")
        found = self.compare(f"study@{first[:8]}", f"study.yaml@{second[:8]}")
        self.assertEqual([(row["a"]["n"], row["b"]["n"]) for row in found["rows"]], [(6, 6), (6, 6)])
        self.assertIn("commit", [difference["name"] for difference in found["differences"]])
        self.assertIn("no run of study was made at commit `abcdef`",
                      self.hpcbench("compare", "study@abcdef", "study", code=2).stderr)

    def test_mistakes_are_exit_2_with_advice(self):
        self.make("old", "20")
        self.make("new", "20")
        for arguments, advice in (
            (["old.yaml"], "one side is missing"),
            (["old.yaml", "odl"], "did you mean `old`?"),
            (["old.yaml", "new", "--metric", "t_z"], "did you mean `t_s`?"),
            (["old.yaml", "old", "--fail-if", "slowr"], "did you mean `slower`?"),
            (["old.yaml", "old", "--margin", "0"], "not a share"),
            (["old.yaml", "--results", "results", "nowhere"], "there is no folder nowhere"),
            (["old.yaml", "old", "--only", "kk=1"], "did you mean `k`?"),
            (["old.yaml", "old"], "both sides are the same runs"),
        ):
            self.assertIn(advice, self.hpcbench("compare", *arguments, code=2).stderr, arguments)


# An import alone: no run, no program.
IMPORTED = """
experiment: NAME
matrix: {kernel: [stencil]}
metrics: [{name: step_ms, unit: ms, file: stdout.log, pattern: 'step ([0-9.]+)'}]
report: {metric: step_ms}
import: [{table: NAME.csv}]
"""
CASES = ROOT / "tests/golden/compare"


class OneNameOfImports(StudyTest):
    """Two files of one name that only import, each with its own table."""

    def setUp(self):
        super().setUp()
        for side, values in (("a", "100 101 99 102 98.5"), ("b", "120 121 119 122 118.5")):
            self.write(f"{side}/g.yaml", IMPORTED.replace("NAME", "g"))
            self.write(f"{side}/g.csv", "kernel,step_ms\n" + "".join(f"stencil,{value}\n" for value in values.split()))

    def follow(self, said, code):
        """Calls the command that the message names last, between backquotes."""
        words = said.split("`")[-2].split()
        self.assertEqual(words[:2], ["hpcbench", "compare"], said)
        return self.hpcbench(*words[1:], "--fail-if", "slower > 5%", code=code)

    def test_one_file_for_both_folders_is_refused_and_the_advice_compares(self):
        self.hpcbench("report", "a/g.yaml", "--results", "ra")
        self.hpcbench("report", "b/g.yaml", "--results", "rb")
        command = ["compare", "a/g.yaml", "--results", "ra", "rb", "--fail-if", "slower > 5%"]
        said = self.hpcbench(*command, code=2).stderr
        self.assertIn("a/g.yaml only imports runs, so both results folders would hold the same values", said)
        self.assertIn("`hpcbench compare a/g.yaml b/g.yaml --results ra rb`", said)
        self.assertNotIn("imports:", said)  # a refused command imports nothing
        self.assertIn("The gate fails.", self.follow(said, 1).stdout)
        for sides in (["ra", "rb"], ["g", "--results", "ra", "rb"]):
            said = self.hpcbench("compare", *sides, code=2).stderr
            self.assertIn("`g` holds only imported runs", said)
            self.assertIn("The gate fails.", self.follow(said, 1).stdout)

    def test_two_files_of_one_study_need_two_folders_which_need_not_exist(self):
        said = self.hpcbench("compare", "a/g.yaml", "b/g.yaml", code=2).stderr
        self.assertIn("both files are the study g", said)
        self.assertIn("`hpcbench compare a/g.yaml b/g.yaml --results DIR1 DIR2`", said)
        self.assertFalse((self.folder / "results").exists())
        self.assertIn("The gate fails.", self.follow(said, 1).stdout)

    def test_imports_beside_runs_are_named(self):
        self.write("m.yaml", STUDY.replace("NAME", "m").replace("LEVEL", "20") + "import: [{table: m.csv, values: {t_s: t_s}}]\n")
        self.write("m.csv", "k,t_s\n1,101\n")
        for folder in ("ra", "rb"):
            self.hpcbench("run", "m.yaml", "--results", folder)
        self.assertIn("runs that m.yaml imports are the same on both sides", self.compare_notes("m.yaml", "--results", "ra", "rb"))

    def compare_notes(self, *arguments):
        return json.loads(self.hpcbench("compare", *arguments, "--format", "json").stdout)["notes"]


class BrokenImports(StudyTest):
    FORMATS = ("text", "markdown", "html", "latex", "csv", "json", "github", "junit")

    def outputs(self, code, *rules):
        for name in self.FORMATS:
            done = self.hpcbench("compare", "old.yaml", "new.yaml", *rules, "--format", name, code=code)
            self.assertNotRegex(done.stdout + done.stderr, r"\bpass(es)?\b", name)
            yield name, done.stdout

    def test_no_output_says_that_a_gate_passes(self):
        for name in ("old", "new"):
            self.write(f"{name}.yaml", IMPORTED.replace("NAME", name))
            self.write(f"{name}.csv", "kernel,step_ms\n" + "".join(f"stencil,{100 + i}\n" for i in range(8)))
        rules = ("--fail-if", "slower > 50%", "--fail-if", "failed > 0", "--fail-if", "missing")
        self.hpcbench("compare", "old.yaml", "new.yaml", *rules)
        for broken in ("kernel,step_ms\nstencil,1,2,3\n", None):
            if broken:
                self.write("new.csv", broken)
            else:
                (self.folder / "new.csv").unlink()
            for name, output in self.outputs(2, *rules):
                if name == "json":
                    found = json.loads(output)
                    self.assertEqual((found["gate"], found["fails"], len(found["errors"])), ("undecided", False, 1))
                    self.assertEqual({rule["state"] for rule in found["rules"]}, {"undecided"})
                elif name == "junit":
                    suites = ElementTree.fromstring(output)
                    self.assertTrue(all(case.find("error") is not None for case in suites.iter("testcase")))
                    self.assertIn("new.", suites.find("testsuite/testcase/error").get("message"))
                elif name == "github":
                    self.assertTrue(all(line.startswith("::error ") for line in output.splitlines()), output)
                elif name == "csv":
                    self.assertEqual([row["fails"] for row in csv.DictReader(output.splitlines())], [""])
                else:
                    self.assertIn("The gate cannot be decided: an import is broken.", output)

    def test_a_broken_import_is_not_judged_by_its_old_values(self):
        for name, level in (("old", 100), ("new", 200)):
            self.write(f"{name}.yaml", IMPORTED.replace("NAME", name))
            self.write(f"{name}.csv", "kernel,step_ms\n" + "".join(f"stencil,{level + i}\n" for i in range(8)))
        rule = ("--fail-if", "slower > 50%")
        self.assertIn("B / A is", self.hpcbench("compare", "old.yaml", "new.yaml", *rule, "--format", "github", code=1).stdout)
        (self.folder / "new.csv").unlink()
        for name, output in self.outputs(2, *rule):
            self.assertNotIn("slower by more than", output, name)
            self.assertNotIn("(fails)", output, name)
            if name == "github":
                self.assertIn("an import is broken, so values may be missing or old", output)

    def test_lines_below_a_rule_are_bullets_below_it_in_markdown(self):
        for name, level in (("old", 100), ("new", 200)):
            self.write(f"{name}.yaml", IMPORTED.replace("NAME", name))
            self.write(f"{name}.csv", "kernel,step_ms\n" + "".join(f"stencil,{level + i}\n" for i in range(8)))
        shown = self.hpcbench("compare", "old.yaml", "new.yaml", "--fail-if", "slower > 50%", "--format", "markdown", code=1).stdout
        self.assertRegex(shown, r"\n- --fail-if [^\n]*\n  - [^\n]*slower by more than 50 %")
        (self.folder / "new.csv").unlink()
        shown = self.hpcbench("compare", "old.yaml", "new.yaml", "--fail-if", "slower > 50%", "--format", "markdown", code=2).stdout
        self.assertRegex(shown, r"\n- [^\n]*new\.csv is gone[^\n]*\n  - = put the file back")
        self.assertNotIn("- \\n", shown)

    def test_no_results_and_too_few_runs(self):
        self.write("old.yaml", STUDY.replace("NAME", "old").replace("LEVEL", "20").replace("repeats: 6", "repeats: 2"))
        self.write("new.yaml", STUDY.replace("NAME", "new").replace("LEVEL", "20").replace("repeats: 6", "repeats: 2"))
        self.hpcbench("run", "old.yaml")
        for name, output in self.outputs(3, "--fail-if", "slower > 5%"):
            if name == "junit":
                self.assertIn("no results of new", ElementTree.fromstring(output).find("testsuite/testcase/error").get("message"))
            elif name == "github":
                self.assertRegex(output, r"^::error title=hpcbench%3A compare::error: no results of new")
            else:
                self.assertEqual(output, "")
        self.hpcbench("run", "new.yaml")
        for name, output in self.outputs(2, "--fail-if", "slower > 5%", "--allow-missing"):
            if name == "junit":
                self.assertTrue(all(case.find("error") is not None for case in ElementTree.fromstring(output).iter("testcase")))


class WithoutResults(Compare):
    def test_the_advice_is_true_when_followed(self):
        self.make("s", "20", "mx")
        (self.folder / "my").mkdir()
        for sides in (("mx", "my"), ("my", "mx")):
            said = self.hpcbench("compare", "s.yaml", "--results", *sides, code=3).stderr
            self.assertNotIn("add `--results", said)
            self.assertRegex(said, r"no results of s in \S+/my\n  = `hpcbench run s\.yaml --results my` makes some")
        self.hpcbench("run", "s.yaml", "--results", "my")
        self.compare("s.yaml", "--results", "mx", "my")
        self.make("other", "21", "elsewhere/results")
        self.hpcbench("run", "s.yaml", "--results", "results")
        said = self.hpcbench("compare", "s.yaml", "other.yaml", "--results", "my", code=3).stderr
        self.assertRegex(said, r"  = elsewhere/results holds other: write `--results my elsewhere/results`")
        self.compare("s.yaml", "other.yaml", "--results", "my", "elsewhere/results")


class LeftOut(StudyTest):
    """Measurements of B that give no value are named beside every gate."""

    PROGRAM = "import sys\nk, r = sys.argv[1:3]\n{}print(f'T 20.{{r}}')\n"

    def setUp(self):
        super().setUp()
        self.write("s.yaml", STUDY.replace("NAME", "s").replace("[sh, -c, 'if [ \"$0\" = 1 ]; then echo \"T 10$1\"; else echo \"T LEVEL$1\"; fi',",
                                                               "[python3, p.py,").replace("([0-9.]+)", "(\\S+)"))
        self.write("p.py", self.PROGRAM.format(""))
        self.hpcbench("run", "s.yaml", "--results", "ra")

    def gate(self, *rules, code=0):
        arguments = [word for rule in rules for word in ("--fail-if", rule)]
        done = self.hpcbench("compare", "s.yaml", "--results", "ra", "rb", *arguments, "--format", "json", code=code)
        return json.loads(done.stdout), done.stderr

    def test_failed_nan_absent_and_set_aside(self):
        bad = "if k + r == '23': sys.exit(1)\nif k + r == '24': sys.exit()\nif k + r == '25': print('T nan'); sys.exit()\n"
        self.write("p.py", self.PROGRAM.format(bad))
        self.hpcbench("run", "s.yaml", "--results", "rb", code=1)
        found, _ = self.gate("failed > 0", code=1)
        self.assertEqual(found["left_out"], ["k=2 in B: 3 with a value, 2 succeeded without a value (1 nan), 1 failed"])
        self.hpcbench("set-aside", "s/k=2/r03", "--results", "rb", "--why", "backup")
        found, log = self.gate("failed > 0", "missing")
        self.assertEqual(found["gate"], "passes")
        self.assertEqual(found["left_out"], ["k=2 in B: 3 with a value, 2 succeeded without a value (1 nan), 1 set aside"])
        self.assertIn("left out of the values:\n  k=2 in B: 3 with a value", log)
        self.assertEqual(found["rows"][1]["b"]["runs"], {"with_value": 3, "without_value": 2, "nan": 1, "failed": 0, "unfinished": 0,
                                                         "not_begun": 0, "set_aside": 1, "measured_again": 0})
        for name, begin in (("github", "::warning title=hpcbench%3A left out of the values::k=2 in B: 3"), ("junit", "left out of the values: k=2"),
                            ("text", "left out of the values:\n  k=2 in B: 3"), ("csv", '"3 with a value, 2 succeeded')):
            done = self.hpcbench("compare", "s.yaml", "--results", "ra", "rb", "--fail-if", "failed > 0", "--format", name)
            self.assertIn(begin, done.stdout)
        # All runs of a row: the reason is the true one.
        self.hpcbench("set-aside", "--only", "k=1", "--results", "rb", "--why", "backup")
        found, log = self.gate("missing", "failed > 0", code=1)
        self.assertIn("k=1: no value in B: 6 runs set aside", log)
        self.assertIn("no run of B counts: 6 runs set aside", [row["reason"] for row in found["rules"][1]["rows"]])
        self.assertTrue(any(note.startswith("warning set-aside of B: ") for note in found["notes"]), found["notes"])

    def test_measured_again_and_changed_programs(self):
        self.hpcbench("run", "s.yaml", "--results", "rb")
        self.hpcbench("run", "s.yaml", "--results", "rb", "--again", "--only", "k=1")
        found, _ = self.gate("failed > 0")
        self.assertEqual(found["left_out"], ["k=1 in B: 6 with a value, 6 measured again"])
        self.write("p.py", self.PROGRAM.format("# another\n"))
        found, _ = self.gate("failed > 0")
        changed = [note for note in found["notes"] if note.startswith("warning changed-program of ")]
        self.assertEqual([note[:45] for note in changed], ["warning changed-program of A: p.py changed si", "warning changed-program of B: p.py changed si"])
        for kind, begin in (("github", "::warning title=hpcbench%3A compare::warning changed-program of B"), ("junit", "warning changed-program of B")):
            shown = self.hpcbench("compare", "s.yaml", "--results", "ra", "rb", "--fail-if", "failed > 0", "--format", kind)
            self.assertIn(begin, shown.stdout, kind)

    def test_failures_that_a_retry_healed_are_told(self):
        self.write("p.py", self.PROGRAM.format("import os\nif k == '2' and not os.path.exists('ok'): sys.exit(1)\n"))
        self.hpcbench("run", "s.yaml", "--results", "rb", code=1)
        self.write("ok", "")
        self.hpcbench("retry", "s.yaml", "--results", "rb")
        found, _ = self.gate("failed > 0")
        self.assertEqual(found["gate"], "passes")
        self.assertIn("warning tried-again of B: 6 runs needed more than one attempt, and earlier ones do not count as failed", found["notes"])

    def test_a_study_that_was_cut_short(self):
        self.hpcbench("run", "s.yaml", "--results", "rb", "--repeats", "5")
        found, log = self.gate("failed > 0", code=2)
        self.assertEqual(found["gate"], "undecided")
        self.assertEqual(found["left_out"], ["k=1 in B: 5 with a value, 1 not begun", "k=2 in B: 5 with a value, 1 not begun"])
        self.assertIn("k=1: 1 run of B has not begun: run it, or give --allow-missing", log)
        self.assertEqual(self.gate("failed > 1")[0]["gate"], "passes")
        both = ("compare", "s.yaml", "--results", "ra", "rb", "--fail-if", "failed > 0")
        self.assertIn("The gate passes.", self.hpcbench(*both, "--allow-missing").stdout)
        self.assertIn("The gate passes.", self.hpcbench(*both, "--set", "repeats=5").stdout)
        self.hpcbench("run", "s.yaml", "--results", "rb")
        self.assertEqual(self.gate("failed > 0")[0]["gate"], "passes")

    def test_a_smaller_plan_of_its_own_is_complete(self):
        """What `run` was told by --set is the plan of the folder; --only leaves rows of it unmeasured."""
        self.hpcbench("run", "s.yaml", "--results", "rb", "--set", "repeats=5")
        self.assertIn("The gate passes.", self.hpcbench("compare", "ra", "rb", "--fail-if", "failed > 0").stdout)
        self.hpcbench("run", "s.yaml", "--results", "rc", "--only", "k=1")
        rules = ("--fail-if", "failed > 0", "--fail-if", "slower > 90%")
        said = self.hpcbench("compare", "s.yaml", "--results", "ra", "rc", *rules, code=1).stdout
        self.assertIn("k=2: no value in B: no runs", said)
        self.assertIn("k=2: 6 runs of B have not begun: run them, or give --allow-missing", said)
        self.hpcbench("compare", "s.yaml", "--results", "ra", "rc", *rules, "--only", "k=1")

    def test_a_configuration_that_only_b_has_must_give_a_value(self):
        self.write("p.py", self.PROGRAM.format("if k == '3': sys.exit(1)\n"))
        self.write("s.yaml", (self.folder / "s.yaml").read_text().replace("k: [1, 2]", "k: [1, 2, 3]"))
        self.hpcbench("run", "s.yaml", "--results", "rb", code=1)
        rule = ("--fail-if", "slower > 90%")
        self.write("old.yaml", (self.folder / "s.yaml").read_text().replace("k: [1, 2, 3]", "k: [1, 2]").replace("experiment: s", "experiment: old"))
        self.hpcbench("run", "old.yaml", "--results", "ro")
        for sides, why in ((("s.yaml", "--results", "ra", "rb"), "A has no runs"),
                           (("old.yaml", "s.yaml", "--results", "ro", "rb"), "A has no such configuration")):
            said = self.hpcbench("compare", *sides, *rule, code=1).stdout
            self.assertRegex(said, rf"no value of t_s in B: fails .*\n  k=3.*: no value in B: 6 runs failed \({why}\)")
            self.assertIn("The gate passes.", self.hpcbench("compare", *sides, *rule, "--allow-missing").stdout)

    def test_a_metric_with_the_name_of_a_rule(self):
        text = (self.folder / "s.yaml").read_text().replace("t_s", "failed")
        self.write("s.yaml", text)
        for folder in ("ra", "rb"):
            self.hpcbench("run", "s.yaml", "--results", folder)
        said = self.hpcbench("compare", "s.yaml", "--results", "ra", "rb", "--fail-if", "failed > 0", code=2).stderr
        self.assertIn("`failed` is a rule, and a metric of s.yaml, too", said)
        self.hpcbench("compare", "s.yaml", "--results", "ra", "rb", "--metric", "failed", "--fail-if", "higher > 5%")


class Gates(StudyTest):
    """Outputs of two versions of a program, in which `slower > 5%` holds, does not, or cannot be decided."""

    def take(self, case):
        for name in ("old", "new"):
            self.write(f"{name}.yaml", IMPORTED.replace("NAME", name))
            self.write(f"{name}.csv", (CASES / case / f"{name}.csv").read_text())

    def gate(self, *arguments, code):
        return self.hpcbench("compare", "old.yaml", "new.yaml", *arguments, code=code)

    def test_red_for_a_slowdown_green_for_noise_and_never_green_without_values(self):
        for case, code, medians, said in (
            ("noise", 0, (198.85, 213.25), "The gate passes."),
            ("same", 0, (100.15, 100.1), "The gate passes."),
            ("slower", 1, (100.15, 108.3), "slower by more than 5 %: B / A is 1.081 [1.076, 1.087]"),
            ("nothing", 1, (100.15, None), "no value in B: 8 runs failed"),
            ("too-few", 2, (100.15, 106.65), "not proven (8 + 2 runs; at least 4 + 4 are needed)"),
        ):
            with self.subTest(case):
                shutil.rmtree(self.folder / "results", ignore_errors=True)
                self.take(case)
                self.assertIn(said, self.gate("--fail-if", "slower > 5%", code=code).stdout)
                done = self.gate("--fail-if", "slower > 5%", "--format", "json", code=code)
                found = json.loads(done.stdout)
                row = found["rows"][0]
                for side, median in zip("ab", medians):
                    self.assertEqual(row[side]["median"] and round(row[side]["median"], 6), median)
                self.assertEqual(found["gate"], ("passes", "fails", "undecided")[code])
                self.assertIn(said, done.stderr, "a log shows the result, whatever the format")

    def test_missing_values_are_accepted_only_when_told_and_decide_nothing(self):
        self.take("nothing")
        said = self.gate("--fail-if", "slower > 5%", "--allow-missing", code=2).stdout
        self.assertIn("The gate cannot be decided.", said)
        self.gate("--fail-if", "missing", code=1)
        self.gate("--fail-if", "failed > 7", code=1)
        self.gate("--fail-if", "failed > 8", "--allow-missing", code=0)
        self.assertIn("contradicts", self.gate("--fail-if", "missing", "--allow-missing", code=2).stderr)
        self.gate("--allow-missing", code=2)

    def test_a_metric_that_b_has_no_more(self):
        self.take("same")
        self.write("new.csv", "kernel,outcome,other_ms\n" + "stencil,succeeded,100\n" * 2)
        said = self.gate("--fail-if", "slower > 5%", code=1).stdout
        self.assertIn("no value in B: 2 runs succeeded without a value", said)

    def test_several_rules_and_other_metrics(self):
        names = "kernel,outcome,step_ms,mem_gb\n"
        for name, mem in (("old", 10), ("new", 12)):
            self.write(f"{name}.yaml", IMPORTED.replace("NAME", name))
            self.write(f"{name}.csv", names + "".join(f"stencil,succeeded,{100 + 0.1 * i},{mem + 0.01 * i}\n" for i in range(5)))
        rules = ["--fail-if", "slower > 5%", "--fail-if", "mem_gb > 10%", "--fail-if", "failed > 0"]
        done = self.gate(*rules, "--format", "json", code=1)
        states = {rule["rule"]: rule["state"] for rule in json.loads(done.stdout)["rules"]}
        self.assertEqual(states, {"no value of step_ms in B": "passes", "slower > 5%": "passes", "failed > 0": "passes",
                                  "no value of mem_gb in B": "passes", "mem_gb > 10%": "fails"})
        self.assertIn("larger by more than 10 %: B / A is 1.2", done.stderr)
        self.write("new.csv", (self.folder / "new.csv").read_text() + "stencil,succeeded,100.2,nan\n")
        left_out = json.loads(self.gate(*rules, "--format", "json", code=1).stdout)["left_out"]
        self.assertEqual([line.split(" in B: ")[1] for line in left_out], ["5 with a value, 1 succeeded without a value (1 nan)"])
        self.assertTrue(left_out[0].startswith("mem_gb of "), left_out)
        self.gate("--fail-if", "mem_gb > 25%", code=0)
        self.gate("--fail-if", "mem_gb < -10%", code=0)
        self.hpcbench("compare", "new.yaml", "old.yaml", "--fail-if", "mem_gb < -10%", code=1)
        self.assertIn("did you mean `mem_gb`?", self.gate("--fail-if", "mem_bg > 5%", code=2).stderr)
        # JUnit's and GitHub's words for it.
        junit = self.gate(*rules, "--format", "junit", code=1).stdout
        suites = ElementTree.fromstring(junit)
        failed = [(case.get("classname"), case.get("name")) for case in suites.iter("testcase") if case.find("failure") is not None]
        self.assertEqual([name for name, _ in failed], ["mem_gb > 10%"])
        self.assertEqual(sum(int(suite.get("tests")) for suite in suites), len(list(suites.iter("testcase"))))
        lines = self.gate(*rules, "--format", "github", code=1).stdout.splitlines()
        self.assertEqual(sum(line.startswith("::error title=hpcbench%3A mem_gb > 10%25::") for line in lines), 1)
        self.assertEqual(sum(line.startswith("::notice title=") for line in lines), 4)
        for name in ("github", "junit"):
            self.assertIn("give --fail-if", self.gate("--format", name, code=2).stderr)

    def test_csv_html_and_latex(self):
        self.take("slower")
        rows = list(csv.DictReader(self.gate("--format", "csv", code=0).stdout.splitlines()))
        self.assertEqual((rows[0]["kernel"], rows[0]["n_a"], rows[0]["verdict"]), ("stencil", "8", "slower"))
        self.assertAlmostEqual(float(rows[0]["b"]), 108.3)
        page = self.gate("--format", "html", "--fail-if", "slower > 5%", code=1).stdout
        ElementTree.fromstring(page.split("\n", 1)[1].replace('<meta charset="utf-8">', "").replace('initial-scale=1">', 'initial-scale=1"/>').replace(
            'img-src data:">', 'img-src data:"/>').replace('href="data:,">', 'href="data:,"/>'))
        self.assertIn("<li>The gate fails.</li>", page)
        latex = self.gate("--format", "latex", code=0).stdout
        self.assertRegex(latex, r"(?m)^8 & 8 & 100\.2 & 108\.3 & 1\.081 \{\[\}1\.076, 1\.087\{\]\} & ")


class Strict(StudyTest):
    def test_any_warning_is_exit_1_and_methods_are_printed(self):
        self.write("few.yaml", STUDY.replace("NAME", "few").replace("LEVEL", "20").replace("repeats: 6", "repeats: 2"))
        self.hpcbench("run", "few.yaml")
        self.hpcbench("report")
        done = self.hpcbench("report", "--strict", code=1)
        self.assertIn("few-repeats", done.stdout)
        self.assertNotIn("Hoefler", done.stdout)
        table = self.report("--methods")
        self.assertEqual([rule["number"] for rule in table["rules"]], list(range(1, 13)))
        self.assertIn("2 times", table["methods"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
