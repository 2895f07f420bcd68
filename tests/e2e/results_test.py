"""Where commands find results, what they say where there are none, and that no answer is about another study."""
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: NAME
command: [sh, -c, 'echo $0', "{{k}}"]
launch: once
matrix: {k: [1, 2]}
repeats: 1
"""
LOOKING = (["report"], ["plot"], ["export", "-o", "study.tar.zst"], ["clean"])


class Elsewhere(StudyTest):
    def setUp(self):
        super().setUp()
        (self.folder / "x").mkdir()
        (self.folder / "y").mkdir()
        self.write("x/s.yaml", STUDY.replace("NAME", "a"))

    def at(self, folder, *arguments, code=0):
        top, self.folder = self.folder, self.folder / folder
        try:
            return self.hpcbench(*arguments, code=code)
        finally:
            self.folder = top

    def test_results_beside_the_file_are_found_from_elsewhere(self):
        self.at("x", "run", "s.yaml")
        beside = self.folder / "x/results"
        for command in (["report"], ["status"], ["watch"], ["cancel", "--yes"], ["export", "-o", "a.tar.zst"], ["clean"], ["retry"]):
            done = self.at("y", *command, "../x/s.yaml")
            self.assertIn(f"--results {beside}: {self.folder / 'y/results'} has no results of a", done.stderr, command)
            self.assertFalse((self.folder / "y/results").exists(), command)
        self.assertIn("2 succeeded", self.at("y", "status", "../x/s.yaml").stdout)
        self.write("y/t.yaml", STUDY.replace("NAME", "a").replace("[1, 2]", "[1]"))
        self.at("y", "run", "t.yaml")
        self.assertNotIn("--results", self.at("y", "report", "../x/s.yaml").stderr, "results here go first")

    def test_compare_finds_them_too(self):
        self.write("x/t.yaml", STUDY.replace("NAME", "b"))
        for name in ("s", "t"):
            self.at("x", "run", f"{name}.yaml")
        self.at("y", "compare", "../x/s.yaml", "../x/t.yaml")

    def test_what_needs_no_file_says_where_results_are(self):
        self.at("x", "run", "s.yaml")
        for command, code in ((["report"], 2), (["status"], 2), (["show", "k=1/r01"], 3), (["logs", "k=1/r01"], 3), (["ls"], 0), (["report", "a"], 2)):
            self.assertIn("x/results holds a: add `--results x/results`", self.hpcbench(*command, code=code).stderr, command)
        self.assertIn(". holds a: add `--results .`", self.at("x/results", "report", code=2).stderr)

    def test_an_empty_table_is_exit_3_and_writes_nothing(self):
        for command in LOOKING:
            done = self.hpcbench(*command, "x/s.yaml", code=3)
            self.assertIn("error: no results of a in", done.stderr, command)
            self.assertIn("`hpcbench run x/s.yaml` makes some", done.stderr, command)
            self.assertEqual(done.stdout, "", command)
        self.write("page.html", "kept")
        self.hpcbench("report", "x/s.yaml", "-o", "page.html", code=3)
        self.assertEqual((self.folder / "page.html").read_text(), "kept")
        self.assertIn("note: no results of a in", self.hpcbench("status", "x/s.yaml").stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["page.html", "x", "y"])

    def test_runs_of_other_configurations_are_no_table(self):
        self.at("x", "run", "s.yaml")
        self.write("x/s.yaml", STUDY.replace("NAME", "a").replace("[1, 2]", "[3]"))
        self.assertIn("`hpcbench report s.yaml --orphans` shows runs", self.at("x", "report", "s.yaml", code=3).stderr)
        self.at("x", "report", "s.yaml", "--orphans")

    def test_runs_that_were_set_aside_are_something_to_show(self):
        self.at("x", "run", "s.yaml")
        self.at("x", "set-aside", "k=1/r01", "k=2/r01", "--why", "a test")
        self.at("x", "report", "s.yaml")

    def test_comparing_with_nothing_is_exit_3(self):
        self.at("x", "run", "s.yaml")
        self.write("x/t.yaml", STUDY.replace("NAME", "b"))
        self.assertIn("no results of b in", self.at("x", "compare", "s.yaml", "t.yaml", "--fail-if", "slower > 5%", code=3).stderr)


class Refused(StudyTest):
    def test_a_refused_run_leaves_no_folder(self):
        self.write("program.yaml", STUDY.replace("NAME", "program").replace("[sh, ", "[nosuchprogram, "))
        self.write("nodes.yaml", STUDY.replace("NAME", "nodes").replace("k: [1, 2]", "k: [1], nodes: [2]"))
        self.write("good.yaml", STUDY.replace("NAME", "good"))
        for arguments, code in ((["run", "program.yaml"], 3), (["run", "nodes.yaml"], 2), (["run", "good.yaml", "program.yaml"], 3),
                                (["run", "program.yaml", "good.yaml"], 3), (["run", "good.yaml", "nodes.yaml"], 2), (["retry", "good.yaml"], 3)):
            self.hpcbench(*arguments, code=code)
            self.assertFalse((self.folder / "results").exists(), arguments)
        self.hpcbench("run", "good.yaml")
        self.hpcbench("run", "program.yaml", code=3)
        self.assertEqual(sorted(path.name for path in (self.folder / "results").iterdir() if path.is_dir()), ["good"])


class Renamed(StudyTest):
    """The file of a study gets another name of the experiment, or becomes another study."""

    def setUp(self):
        super().setUp()
        self.write("s.yaml", STUDY.replace("NAME", "a"))
        self.hpcbench("run", "s.yaml")
        self.write("s.yaml", STUDY.replace("NAME", "b").replace("[1, 2]", "[1, 2, 3]"))

    def names(self, *arguments):
        table = self.report(*arguments)
        return table["experiment"], len(table["rows"])

    def test_commands_that_look_see_the_study_as_it_was_run(self):
        self.assertEqual(self.names(), ("a", 2))
        self.assertIn("s.yaml is the study b now; this is a as it was run", self.hpcbench("report").stderr)
        done = self.hpcbench("report", "s.yaml", code=3)
        self.assertIn("no results of b", done.stderr)
        self.assertIn("s.yaml was run as the study a: name that instead of the file", done.stderr)
        self.hpcbench("run", "s.yaml")
        self.assertEqual(self.names("a"), ("a", 2))
        self.assertEqual(self.names("s.yaml"), ("b", 3))
        self.assertEqual(self.names(), ("b", 3))

    def test_run_does_not_choose_between_the_two(self):
        for arguments in (["run"], ["run", "a"]):
            self.assertIn("was run as the study a and is b now", self.hpcbench(*arguments, code=2).stderr)
        self.assertFalse((self.folder / "results/b").exists())

    def test_a_renamed_folder(self):
        shutil.move(self.folder / "results/a", self.folder / "results/c")
        self.assertIn("results/c holds the results of the study a: rename the folder", self.hpcbench("report", "c", code=2).stderr)

    def test_two_files_with_one_name(self):
        self.write("t.yaml", STUDY.replace("NAME", "b"))
        self.hpcbench("run", "s.yaml")
        self.assertIn("the results of b were made from", self.hpcbench("report", "t.yaml").stderr)
        self.assertNotIn("were made from", self.hpcbench("report", "s.yaml").stderr)


if __name__ == "__main__":
    unittest.main()
