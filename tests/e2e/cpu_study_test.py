"""Studies without GPUs: no output speaks of them, and sizes are counted in ranks or nodes."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

PLAIN = """
experiment: plain
matrix: {n: [10, 20]}
command: [sh, -c, 'echo "time $1"', sh, "{{n}}"]
launch: once
repeats: 2
metrics: [{name: t_s, file: stdout.log, pattern: 'time (.*)', unit: s}]
resources: {time: 1m}
baseline: {n: 10}
report: {metric: t_s}
"""
RANKS = PLAIN.replace("plain", "ranks").replace("n: [10, 20]", "ranks_per_node: [1, 2]").replace("launch: once\n", "") \
    .replace("{{n}}", "{{ranks_per_node}}").replace("{n: 10}", "{ranks_per_node: 1}")
NODES = PLAIN.replace("plain", "nodes").replace("n: [10, 20]", "nodes: [1, 2]").replace("{{n}}", "{{nodes}}").replace("{n: 10}", "{nodes: 1}")
SHOWN = [["check"], ["plan"], ["plan", "--format", "json"], ["run", "--dry-run"], ["status"], ["status", "--format", "json"],
         ["report", "--methods", "--provenance"], *(["report", "--methods", "--format", each] for each in ("json", "csv", "markdown", "latex", "html"))]


class CpuStudy(StudyTest):
    def speaks_of_no_gpu(self, *arguments):
        done = self.hpcbench(*arguments)
        for text in (done.stdout, done.stderr):
            self.assertNotIn("gpu", text.lower(), f"hpcbench {' '.join(arguments)}\n{text}")
        return done.stdout + done.stderr

    def all_outputs(self, name):
        for command, *options in SHOWN:
            self.speaks_of_no_gpu(command, f"{name}.yaml", *options)
        self.speaks_of_no_gpu("plot", f"{name}.yaml", "--out", "plots")
        self.assertEqual([path.name for path in (self.folder / "plots").rglob("*") if "gpu" in path.read_text(errors="replace").lower()], [])
        index = (self.folder / "results" / name / "index.tsv").read_text()
        self.assertNotIn("gpu", index)
        rows = json.loads(self.hpcbench("report", f"{name}.yaml", "--format", "json").stdout)["rows"]
        self.speaks_of_no_gpu("show", f"{name}/{rows[0]['config_id']}/r01")

    def test_no_output_speaks_of_gpus(self):
        for name, text in (("plain", PLAIN), ("ranks", RANKS)):
            self.write(f"{name}.yaml", text)
            self.assertIn("node-hours", self.speaks_of_no_gpu("plan", f"{name}.yaml"))
            self.speaks_of_no_gpu("run", f"{name}.yaml", "--dry-run")
            self.assertIn("node-hours in all", self.speaks_of_no_gpu("run", f"{name}.yaml"))
            self.all_outputs(name)

    def test_ranks_and_nodes_scale(self):
        self.write("ranks.yaml", RANKS)
        self.hpcbench("run", "ranks.yaml")
        report = self.speaks_of_no_gpu("report", "ranks.yaml")
        self.assertIn("Efficiency: speedup / (ranks / the baseline's ranks).", report)
        self.assertIn("ranks_per_node  ranks  n", report)
        self.write("nodes.yaml", NODES)
        self.hpcbench("run", "nodes.yaml", "--simulate-nodes")
        report = self.speaks_of_no_gpu("report", "nodes.yaml")
        self.assertIn("Efficiency: speedup / (nodes / the baseline's nodes).", report)
        found = json.loads(self.hpcbench("report", "nodes.yaml", "--format", "json").stdout)
        self.assertEqual((found["scale_by"], [row["scale"] for row in found["rows"]]), ("nodes", [1, 2]))
        self.assertEqual([row["efficiency"] for row in found["rows"]], [1, 0.25])

    def test_a_limit_of_gpu_hours_of_a_site_is_none_of_its_concern(self):
        self.write("plain.yaml", PLAIN)
        self.write("sites/small.yaml", "limits: {gpu_hours: 0.001}\n")
        self.speaks_of_no_gpu("run", "plain.yaml", "--site", "sites/small.yaml")

    def test_a_run_that_recorded_a_gpu_brings_them_back(self):
        self.write("event.json", '{"v": 1, "t": 1, "rank": 0, "event": "run_start", "gpu_model": "H100"}\n')
        self.write("seen.yaml", PLAIN.replace("plain", "seen").replace('echo "time $1"', 'cp event.json "$HPCBENCH_RUN_DIR/events.jsonl"; echo "time $1"'))
        self.hpcbench("run", "seen.yaml")
        self.assertIn("gpus", self.hpcbench("report", "seen.yaml").stdout)

    def test_a_study_that_names_gpus_keeps_them(self):
        self.write("gpus.yaml", PLAIN.replace("plain", "gpus").replace("n: [10, 20]", "gpus_per_node: [1, 2]").replace("{{n}}", "{{gpus}}")
                   .replace("{n: 10}", "{gpus_per_node: 1}"))
        self.assertIn("GPU-hours at most", self.hpcbench("plan", "gpus.yaml").stdout)
        self.hpcbench("run", "gpus.yaml")
        report = self.hpcbench("report", "gpus.yaml").stdout
        self.assertIn("gpus_per_node  gpus  n", report)
        self.assertIn("Efficiency: speedup / (gpus / the baseline's gpus).", report)


class Threads(StudyTest):
    """OMP_NUM_THREADS: `cpus_per_task` or `environment` decides, else the calling shell, else it is 1, with a note."""
    NOTE = "note: OMP_NUM_THREADS is 1 in the runs"

    def threads(self, more="", called="", program="sh"):
        self.write("show.sh", 'echo "threads $OMP_NUM_THREADS"\n')
        self.write("t.yaml", "experiment: t\nmatrix: {n: [1]}\nrepeats: 1\nlaunch: once\ncommand: [%s, show.sh, '{{n}}']\n"
                             "metrics: [{name: threads, file: stdout.log, pattern: 'threads (.*)'}]\n%s" % (program, more))
        env = {"OMP_NUM_THREADS": called}
        noted = [self.NOTE in self.hpcbench(*arguments, env=env).stderr for arguments in (("check", "t.yaml"), ("run", "t.yaml", "--again"))]
        self.assertEqual(noted[0], noted[1])
        return self.report("t.yaml", "--metric", "threads")["rows"][0]["median"], noted[0]

    def test_who_decides(self):
        self.hpcbench("init", "t.yaml", "--command", "true {{n}}")
        self.assertEqual(self.threads(), (1, True))
        self.assertEqual(self.threads(called="3"), (3, False))
        self.assertEqual(self.threads("resources: {cpus_per_task: 2}\n", called="3"), (2, False))
        self.assertEqual(self.threads("resources: {cpus_per_task: '{{n}}'}\n", called="3"), (1, False))
        self.assertEqual(self.threads("environment: {OMP_NUM_THREADS: 5}\n", called="3"), (5, False))
        self.assertEqual(self.threads("setup: [export OMP_NUM_THREADS=6]\n"), (6, False))
        self.assertEqual(self.threads("overrides: [{when: {n: 1}, resources: {cpus_per_task: 2}}]\n", called="3"), (2, False))
        self.assertEqual(self.threads("setup: [true]\n", called="3"), (3, False))


    def test_runs_with_other_numbers_of_threads_are_told(self):
        self.threads(called="2")
        for environment, said in (("", True), ("environment: {OMP_NUM_THREADS: 2}\n", False)):
            self.write("t.yaml", "experiment: t\nmatrix: {n: [1, 2]}\nrepeats: 2\nlaunch: once\ncommand: [sh, show.sh, '{{n}}']\nbaseline: {n: 1}\n"
                                 "metrics: [{name: threads, unit: MB/s, file: stdout.log, pattern: 'threads (.*)'}]\nreport: {metric: threads}\n" + environment)
            self.hpcbench("run", "t.yaml", "--repeats", "1", "--results", "r" + str(said), env={"OMP_NUM_THREADS": "2"})
            self.hpcbench("run", "t.yaml", "--results", "r" + str(said), env={"OMP_NUM_THREADS": "4"})
            found = [warning["seen"] for warning in self.report("t.yaml", "--results", "r" + str(said))["warnings"] if warning["code"] == "confounded"]
            self.assertEqual([seen.split(" among")[0] for seen in found], ["OMP_NUM_THREADS: 2 and 4"] if said else [], found)


class RankAxes(StudyTest):
    def test_an_axis_that_launch_rank_ignores_is_refused(self):
        for more in ("", "launch: rank\n"):
            self.write("r.yaml", "experiment: r\nmatrix: {ranks: [1, 2]}\nrepeats: 1\n%scommand: [./a.out, '{{ranks}}']\n" % more)
            said = self.hpcbench("check", "r.yaml", code=2).stderr
            self.assertIn("r.yaml:2:10: error: the axis `ranks` does not say how many processes `launch: rank` starts", said)
            self.assertIn("write `ranks_per_node: [...]`, and {{ranks}} is nodes x ranks_per_node; or `launch: once`", said)
        for command, more in (("[./a.out, '{{ranks}}']", "launch: once\n"), ("[mpirun, -n, '{{ranks}}', ./a.out]", "")):
            self.write("r.yaml", f"experiment: r\nmatrix: {{ranks: [1, 2]}}\nrepeats: 1\n{more}command: {command}\n")
            self.hpcbench("check", "r.yaml")
        for more, code in (("", 0), ("launch: rank\n", 2)):
            self.write("r.yaml", "experiment: r\nmatrix: {processes: [1, 2]}\nrepeats: 1\n%scommand: [./a.out, '{{processes}}']\n" % more)
            self.hpcbench("check", "r.yaml", code=code)


if __name__ == "__main__":
    unittest.main()
