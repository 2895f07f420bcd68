"""`prepare: [command]` is one preparation, which every run of the study needs: it runs once."""
import json
import re
import shutil
import unittest

from harness import StudyTest

SCRIPT = "echo prepared >> prepared; test ! -e wait || { touch begun; sleep 60; }; test ! -e wrong"
STUDY = f"""
experiment: s
prepare: [sh, -c, '{SCRIPT}']
command: [sh, -c, 'echo score 1']
matrix: {{k: [1, 2]}}
resources: {{time: 60s}}
metrics: [{{name: score, file: stdout.log, pattern: 'score (\\d+)', unit: s}}]
report: {{metric: score}}
"""


class PreparedOnce(StudyTest):
    def write_study(self, text=STUDY):
        self.write("s.yaml", text + "repeats: 1\n")

    def prepared(self):
        return (self.folder / "prepared").read_text().count("prepared\n")

    def check_once(self, more):
        self.write("s.yaml", STUDY + more)
        done = self.hpcbench("run", "s.yaml", code=None)
        self.assertGreaterEqual(done.stderr.count(": 2 rows, "), 2, done.stderr)
        self.assertEqual(self.prepared(), 1)

    def test_with_until(self):
        self.check_once("repeats: {until: 1 %, looks: [6, 10, 15]}\n")

    def test_with_a_budget(self):
        self.check_once("repeats: 3\nbudget: {node_hours: 1}\n")

    def test_once_in_several_calls_unless_it_changes(self):
        self.write_study()
        self.assertIn("prepare: prepare once", self.hpcbench("plan", "s.yaml").stdout)
        self.assertIn("would be made", self.hpcbench("run", "s.yaml", "--dry-run").stdout)
        self.hpcbench("run", "s.yaml")
        self.hpcbench("run", "s.yaml", "--repeats", "2")
        self.assertEqual(self.prepared(), 1)
        self.write_study(STUDY.replace("echo prepared", "echo prepared more; echo prepared"))
        self.hpcbench("run", "s.yaml", "--repeats", "3")
        self.assertEqual(self.prepared(), 2)

    def test_no_identity_and_no_folder(self):
        rows = lambda: [row["config_id"] for row in json.loads(self.hpcbench("plan", "s.yaml", "--format", "json").stdout)["rows"]]
        self.write_study()
        with_it = rows()
        self.write_study(re.sub("prepare: .*", "", STUDY))
        self.assertEqual(rows(), with_it)
        self.write_study(STUDY.replace("score 1", "score {{prepare.dir}}"))
        self.assertIn("nothing defines {{prepare.dir}}", self.hpcbench("check", "s.yaml", code=2).stderr)

    def test_where_it_fails_no_run_begins(self):
        self.write_study()
        self.write("wrong", "")
        failed = self.hpcbench("run", "s.yaml", code=1).stderr
        self.assertIn("prepare: prepare failed: exit code 1; its output is in ", failed)
        self.assertIn("2 runs not begun: prepare failed (exit code 1)", failed)
        self.assertIn("`hpcbench retry --prepare prepare`", failed)
        self.assertEqual(list(self.folder.glob("results/s/*/r*")), [])
        self.hpcbench("run", "s.yaml", code=1)
        self.assertEqual(self.prepared(), 1)
        (self.folder / "wrong").unlink()
        self.assertIn("2 of 2 runs succeeded", self.hpcbench("retry", "s.yaml", "--prepare", "prepare").stderr)
        self.assertEqual(self.prepared(), 2)

    def test_after_a_kill_of_hpcbench_the_same_one_counts(self):
        self.write_study(STUDY.replace("sleep 60", "while ! test -e go; do sleep 0.05; done"))
        self.write("wait", "")
        process = self.start("run", "s.yaml")
        self.wait_for((self.folder / "begun").exists, "the preparation")
        process.kill()
        process.wait()
        self.write("go", "")
        self.assertIn("2 of 2 runs succeeded", self.hpcbench("run", "s.yaml").stderr)
        self.assertEqual(self.prepared(), 1)

    def leave_as_earlier_versions_did(self, command):
        """Results in which an earlier version has run the command: prepare.log, and records of it."""
        shutil.rmtree(self.folder / "results/s/prepare", ignore_errors=True)
        self.write("results/s/prepare.log", "")
        log = self.folder / "results/s/hpcbench.log"
        log.write_text("".join(line for line in log.read_text().splitlines(True) if "prepare" not in line) +
                       f"2026-11-20T08:41:46.123Z [4711] info prepare begins: {command}\n"
                       "2026-11-20T08:41:47.123Z [4711] info prepare: exit status 0\n")

    def test_what_an_earlier_version_has_run_does_not_run_again(self):
        self.write_study()
        self.hpcbench("run", "s.yaml")
        self.leave_as_earlier_versions_did(f"sh -c {SCRIPT}")
        self.assertNotIn("would be made", self.hpcbench("run", "s.yaml", "--repeats", "2", "--dry-run").stdout)
        self.hpcbench("run", "s.yaml", "--repeats", "2")
        self.assertEqual(self.prepared(), 1)
        self.leave_as_earlier_versions_did("make data")
        self.hpcbench("run", "s.yaml", "--repeats", "3")
        self.assertEqual(self.prepared(), 2)


if __name__ == "__main__":
    unittest.main()
