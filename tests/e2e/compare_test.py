"""hpcbench compare: two experiments, two results folders, two commits; verdicts, formats, exit codes."""
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

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
        self.assertIn("`slower > 5%`: true", text)
        self.assertIn("| k |", self.hpcbench("compare", "old.yaml", "new.yaml", "--format", "markdown").stdout)

    def test_two_folders_of_results(self):
        self.make("study", "20", "site-a")
        self.make("study", "20", "site-b")
        for arguments in (("study.yaml", "--results", "site-a", "site-b"), ("--results", "site-a", "site-b", "study.yaml"),
                          ("study", "--results", "site-a", "site-b"), ("--results", "site-a", "site-b")):
            found = self.compare(*arguments)
            self.assertEqual({row["verdict"] for row in found["rows"]}, {"equivalent"}, arguments)

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
        for arguments, advice in (
            (["old.yaml"], "one side is missing"),
            (["old.yaml", "odl"], "did you mean `old`?"),
            (["old.yaml", "old", "--metric", "t_z"], "did you mean `t_s`?"),
            (["old.yaml", "old", "--fail-if", "slowr"], "did you mean `slower`?"),
            (["old.yaml", "old", "--margin", "0"], "not a share"),
            (["old.yaml", "--results", "results", "nowhere"], "there is no folder nowhere"),
            (["old.yaml", "old", "--only", "kk=1"], "did you mean `k`?"),
            (["old.yaml", "old"], "both sides are the same runs"),
        ):
            self.assertIn(advice, self.hpcbench("compare", *arguments, code=2).stderr, arguments)


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
