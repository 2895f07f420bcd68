"""Several nodes on one machine: refused unless asked for, and then every table, plot and archive says so. And other rows that are not what their gpus say."""
import csv
import io
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: s
command: [bash, -c, "sleep 0.01"]
matrix:
  nodes: [1, 2]
repeats: 2
baseline: {nodes: 1}
"""


class Nodes(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("s.yaml", STUDY)

    def test_several_nodes_are_refused_by_name_where_they_stand(self):
        done = self.hpcbench("run", "s.yaml", code=2)
        self.assertIn("s.yaml:5:10: error: `nodes: 2` with the executor local", done.stderr)
        self.assertFalse(list(self.folder.rglob("run.json")))
        self.assertIn("--simulate-nodes", self.hpcbench("check", "s.yaml").stderr)
        self.assertIn("problem  a configuration has 2 nodes", self.hpcbench("doctor", "s.yaml", code=1).stdout)

    def test_one_node_of_the_same_file_runs(self):
        self.hpcbench("run", "s.yaml", "--only", "nodes=1")
        self.assertNotIn("simulated", self.hpcbench("report", "s.yaml").stdout)
        self.hpcbench("run", "s.yaml", code=2)

    def test_every_table_says_simulated_nodes(self):
        self.hpcbench("run", "s.yaml", "--simulate-nodes")
        for kind in ("text", "markdown", "latex", "html"):
            self.assertIn("s (simulated nodes)", self.hpcbench("report", "--format", kind).stdout, kind)
        for kind in ("text", "markdown", "latex", "html", "csv", "json"):
            self.assertIn("simulated-nodes", self.hpcbench("report", "--format", kind).stdout, kind)
        rows = list(csv.DictReader(io.StringIO(self.hpcbench("report", "--format", "csv").stdout)))
        self.assertEqual(["simulated-nodes" in row["warnings"] for row in rows], [False, True])
        rows = self.report()["rows"]
        self.assertEqual(["simulated-nodes" in row["warnings"] for row in rows], [False, True])
        # What has an outcome needs no leave.
        self.assertIn("nothing to do", self.hpcbench("run", "s.yaml").stderr)
        self.hpcbench("db", "rebuild")
        self.assertIn("simulated-nodes", self.hpcbench("report").stdout)

    def test_plots_say_so(self):
        self.hpcbench("run", "s.yaml", "--simulate-nodes")
        self.hpcbench("plot", "--out", "plots", code=None)  # 3 without gnuplot; the scripts are there all the same
        scripts = sorted((self.folder / "plots").glob("*.gp"))
        self.assertGreaterEqual(len(scripts), 3)
        for script in scripts:
            self.assertIn("(simulated nodes)", script.read_text(), script.name)
        if shutil.which("gnuplot"):
            self.assertIn("simulated nodes", (self.folder / "plots/time.svg").read_text())

    def test_an_archive_says_so(self):
        self.hpcbench("run", "s.yaml", "--simulate-nodes")
        self.assertIn("simulated nodes", self.hpcbench("export", "-o", "s.tar.zst").stderr)
        self.assertIn("s (simulated nodes)", self.hpcbench("report", "--archive", "s.tar.zst").stdout)

    def test_data_and_nodes_are_refused_in_one_message(self):
        self.write("s.yaml", STUDY.replace('[bash, -c, "sleep 0.01"]', "[python3, train.py]"))
        said = self.hpcbench("run", "s.yaml", code=3).stderr
        self.assertIn("train.py", said)
        self.assertIn("nodes: 2", said)


class Machine(StudyTest):
    def warnings(self):
        return {warning["code"]: warning for warning in self.report()["warnings"]}

    def test_more_ranks_than_cores_is_a_warning_of_the_report(self):
        cores = len(os.sched_getaffinity(0))
        self.write("s.yaml", f"experiment: s\ncommand: [\"true\"]\nmatrix: {{gpus_per_node: [1, {cores + 1}]}}\nrepeats: 1\n")
        self.hpcbench("run", "s.yaml")
        warning = self.warnings()["cores-shared"]
        self.assertEqual(len(warning["rows"]), 1)
        self.assertIn(f"{cores + 1} cores asked for, {cores} there", warning["seen"])

    def test_one_process_does_not_pass_for_two_nodes(self):
        self.write("s.yaml", "experiment: s\ncommand: [\"true\"]\nlaunch: once\nmatrix: {nodes: [1, 2]}\nrepeats: 1\n")
        self.hpcbench("run", "s.yaml", "--simulate-nodes")
        warning = self.warnings()["ranks-mismatch"]
        self.assertEqual(len(warning["rows"]), 1)
        self.assertIn("2 nodes claimed, but `launch: once` started one process", warning["seen"])

    def test_ranks_that_the_program_names_are_compared_with_the_gpus(self):
        self.write("work.sh", 'printf \'{"schema":1,"event":"run_start","world_size":%s}\\n\' "$1" >"$2/events.jsonl"\n')
        self.write("s.yaml", 'experiment: s\ncommand: [bash, work.sh, "{{n}}", "{{run_dir}}"]\nlaunch: once\n'
                             "matrix: {n: [1, 2], gpus_per_node: [2]}\nrepeats: 1\n")
        self.hpcbench("run", "s.yaml")
        warning = self.warnings()["gpus-mismatch"]
        self.assertEqual(len(warning["rows"]), 1)
        self.assertIn("2 gpus claimed, 1 ranks ran", warning["seen"])


if __name__ == "__main__":
    unittest.main()
