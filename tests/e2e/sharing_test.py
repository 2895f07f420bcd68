"""Parts that files share (`use`), and several profiles."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

COMMON = """command: [bash, -c, "echo loss {{n}}"]
metrics: [{name: loss, file: stdout.log, pattern: 'loss (\\S+)'}]
repeats: 2
profiles:
  more: {matrix: {n: [1, 2]}}
  once: {repeats: 1}
"""
STUDY = "experiment: shared\nuse: [../common.yaml]\nmatrix: {n: [1]}\n"


class Sharing(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("common.yaml", COMMON)
        self.write("studies/shared.yaml", STUDY)

    def ids(self, file, *arguments):
        return sorted({row["config_id"] for row in json.loads(self.hpcbench("plan", file, "--format", "json", *arguments).stdout)["rows"]})

    def test_identities_are_those_of_a_file_that_says_the_same(self):
        self.write("whole.yaml", "experiment: whole\nmatrix: {n: [1]}\n" + COMMON)
        self.assertEqual(self.ids("studies/shared.yaml"), self.ids("whole.yaml"))

    def test_results_can_be_read_without_the_files(self):
        self.hpcbench("run", "studies/shared.yaml", "--profile", "more", "--profile", "once")
        before = self.hpcbench("report").stdout
        self.assertIn("--profile more,once", self.hpcbench("ls").stdout)
        (self.folder / "studies/shared.yaml").unlink()
        (self.folder / "common.yaml").unlink()
        self.assertEqual(self.hpcbench("report", "shared").stdout, before)
        rows = self.report("shared")["rows"]
        self.assertEqual([(row["axes"]["n"], row["n"]) for row in rows], [(1, 1), (2, 1)])
        # An archive holds all of it, and a copy that is run is copied again.
        self.hpcbench("export", "shared", "-o", "all.tar.zst")
        self.assertEqual(self.hpcbench("report", "--archive", "all.tar.zst").stdout, before)
        self.hpcbench("run", "results/shared/experiment.yaml")
        self.assertEqual([row["n"] for row in self.report("results/shared/experiment.yaml")["rows"]], [2])

    def test_the_example_runs(self):
        self.hpcbench("run", str(ROOT / "examples/sharing/scaling.yaml"), "--profile", "quick", "--profile", "once")
        self.assertEqual([row["n"] for row in self.report()["rows"]], [1, 1])

    def test_what_is_changed_in_a_used_file_counts(self):
        self.hpcbench("run", "studies/shared.yaml")
        self.write("common.yaml", COMMON.replace("'loss ", "'los. "))
        self.assertIn("read 2 runs again", self.hpcbench("report", "studies/shared.yaml").stderr)
        self.write("common.yaml", COMMON.replace("repeats: 2", "repeats: 3"))
        self.assertIn("1", self.hpcbench("run", "studies/shared.yaml", "--dry-run").stdout)
        self.write("common.yaml", COMMON.replace("repeats: 2", "repeats: two"))
        error = self.hpcbench("check", "studies/shared.yaml", code=2).stderr
        self.assertIn("common.yaml:3:10: error: `repeats` must be a positive integer", error)

    def test_profiles_lie_on_each_other_in_their_order(self):
        self.write("p.yaml", COMMON + "experiment: p\nmatrix: {n: [1]}\n")
        self.assertEqual(len(self.ids("p.yaml")), 1)
        self.assertEqual(len(self.ids("p.yaml", "--profile", "once", "--profile", "more")), 2)
        self.assertIn("no profile `mor`", self.hpcbench("plan", "p.yaml", "--profile", "once", "--profile", "mor", code=2).stderr)

    def test_clean_keeps_what_profiles_together_asked_for(self):
        text = COMMON.replace("echo loss {{n}}", "echo loss {{n}} {{m}}").replace("once: {repeats: 1}", "big: {parameters: {m: 2}}")
        self.write("p.yaml", text + "experiment: p\nmatrix: {n: [1]}\nparameters: {m: 1}\n")
        self.hpcbench("run", "p.yaml", "--profile", "more", "--profile", "big")
        self.hpcbench("run", "p.yaml")
        self.assertNotIn("orphan", self.hpcbench("clean", "p.yaml").stdout)
        (self.folder / "p.yaml").write_text((self.folder / "p.yaml").read_text().replace("big:", "huge:"))
        self.assertIn("orphan", self.hpcbench("clean", "p.yaml").stdout)


if __name__ == "__main__":
    unittest.main()
