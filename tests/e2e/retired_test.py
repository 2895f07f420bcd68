"""Keys of earlier versions: no run begins with them, and results that had them stay readable."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: tiny
command: [bash, -c, 'echo ran >> executions']
launch: once
matrix: {k: [1]}
repeats: 2
"""


class Retired(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", STUDY.replace("echo ran", "echo {{k}}"))
        self.hpcbench("run", "tiny.yaml")
        text = (self.folder / "tiny.yaml").read_text()
        self.write("tiny.yaml", text + "inject: {kill_rank: {at: 30s}}\n")

    def test_no_run_begins_and_results_are_read(self):
        for command in ("check", "plan", "run", "retry"):
            refused = self.hpcbench(command, "tiny.yaml", code=2).stderr
            self.assertIn("tiny.yaml:7:1: error: `inject` was retired", refused, command)
            self.assertIn("timeout -s KILL 30", refused, command)
        self.assertEqual((self.folder / "executions").read_text(), "1\n1\n")
        shown = self.hpcbench("report", "tiny.yaml")
        self.assertIn("`inject` was retired; `hpcbench report --orphans` shows the runs that had it", shown.stdout + shown.stderr)
        self.assertEqual(self.report("tiny.yaml")["rows"][0]["n"], 2)
        self.hpcbench("status", "tiny.yaml")

    def test_calibrate_is_refused_with_what_to_do_instead(self):
        text = (self.folder / "tiny.yaml").read_text()
        self.write("tiny.yaml", text.replace("inject: {kill_rank: {at: 30s}}", "allocation: {per: block, calibrate: true}"))
        refused = self.hpcbench("check", "tiny.yaml", code=2).stderr
        self.assertIn("tiny.yaml:7:26: error: `allocation.calibrate` was retired", refused)
        self.assertIn("hpcbench compare FILE --results", refused)

    def test_a_report_says_how_many_runs_had_faults(self):
        attempt = next(self.folder.glob("results/tiny/*/r01/a1"))
        run = json.loads((attempt / "run.json").read_text())
        (attempt / "run.json").write_text(json.dumps({**run, "inject": {"kill_rank": {"at_s": 30, "rank": 0}}}))
        self.hpcbench("db", "rebuild")
        self.assertIn("1 of 2 runs had faults by `inject`, a retired key", self.report("tiny.yaml")["notes"])


if __name__ == "__main__":
    unittest.main()
