"""Ranks that are no gpus: what an MPI program is given, how many there are, what a report compares. examples/mpi with the real
mpirun, which is Debian's openmpi-bin with python3-mpi4py; skipped with its reason where they are missing."""
import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Counts(StudyTest):
    STUDY = """
experiment: ranks
command: [sh, -c, 'echo "of=$WORLD_SIZE here=$LOCAL_WORLD_SIZE threads=$OMP_NUM_THREADS told=$1/$2/$3"', sh, "{{ranks}}", "{{gpus}}", "{{cells}}"]
matrix: {ranks_per_node: [1, 2], threads: [1, 2]}
derive: {cells: 100 * ranks}
repeats: 1
resources: {cpus_per_task: "{{threads}}"}
metrics: [{name: told_s, file: stdout.log, pattern: 'told=([0-9.]+)', unit: s}]
baseline: {ranks_per_node: 1}
report: {metric: told_s}
"""

    def study(self, *changes):
        text = self.STUDY
        for before, after in changes:
            self.assertIn(before, text)
            text = text.replace(before, after)
        return self.write("ranks.yaml", text).name

    def test_each_rank_is_started_and_none_needs_a_gpu(self):
        self.hpcbench("run", self.study())
        rows = self.report("ranks.yaml")["rows"]
        self.assertEqual([(r["axes"]["ranks_per_node"], r["axes"]["threads"], r["gpus"], r["scale"]) for r in rows],
                         [(1, 1, 0, 1), (1, 2, 0, 1), (2, 1, 0, 2), (2, 2, 0, 2)])
        for row in rows:
            ranks, threads = row["axes"]["ranks_per_node"], row["axes"]["threads"]
            folder = self.folder / "results/ranks" / row["config_id"] / "r01/a1"
            self.assertEqual((folder / "stdout.log").read_text(),
                             f"of={ranks} here={ranks} threads={threads} told={ranks}/0/{100 * ranks}\n")
            run = json.loads((folder / "run.json").read_text())
            self.assertEqual((run["gpus"], run["ranks_per_node"], run["ranks"], run["processes"]), (0, ranks, ranks, ranks))
            self.assertEqual(run["resources"]["cpus_per_task"], threads)
            self.assertNotIn("gpus-mismatch", row["warnings"])
            self.assertIsNone(row["gpu_hours"])
        # Each row is compared with one rank of as many threads: half as fast by two ranks, which is a quarter of the ideal.
        self.assertEqual([(r["ratio_of_medians"], r["efficiency"]) for r in rows], [(1, 1), (1, 1), (0.5, 0.25), (0.5, 0.25)])
        self.assertIn("Efficiency: speedup / (ranks / the baseline's ranks).", self.hpcbench("report", "ranks.yaml").stdout)

    def test_a_report_scales_by_what_it_says(self):
        self.hpcbench("run", self.study())
        for unit, sizes, wanted in (("nodes", [1, 1, 1, 1], None), ("cores", [1, 2, 2, 4], [1, 1 / 2, 0.5 / 2, 0.5 / 4])):
            baseline = ("baseline: {ranks_per_node: 1}", "baseline: {ranks_per_node: 1, threads: 1}")
            report = self.report(self.study(("metric: told_s", f"metric: told_s, scale_by: {unit}"), *([baseline] if unit == "cores" else [])))
            self.assertEqual(report["scale_by"], unit)
            self.assertEqual([row["scale"] for row in report["rows"]], sizes)
            if wanted is None:  # all on one node
                self.assertEqual([row["efficiency"] for row in report["rows"]], [None] * 4)
            for row, efficiency in zip(report["rows"], wanted or []):
                self.assertAlmostEqual(row["efficiency"], efficiency)
        table = list(csv.DictReader(io.StringIO(self.hpcbench("report", "ranks.yaml", "--format", "csv").stdout)))
        self.assertEqual([row["scale"] for row in table], ["1", "2", "2", "4"])
        self.hpcbench("plot", "ranks.yaml", "--out", "plots", code=None)
        self.assertIn("set xlabel 'cores'", (self.folder / "plots/efficiency.gp").read_text())

    def test_json_obeys_its_schema_whatever_scales(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        schema = json.loads((ROOT / "docs/report.schema.json").read_text())
        schema["additionalProperties"] = schema["$defs"]["row"]["additionalProperties"] = False  # it names all that there is
        more = ("ranks_per_node: [1, 2], threads: [1, 2]", "ranks_per_node: [1, 2, 4], threads: [1]")
        self.hpcbench("run", self.study(more))
        for unit in ("ranks", "cores", "nodes"):
            report = self.report(self.study(more, ("metric: told_s", f"metric: told_s, scale_by: {unit}")))
            jsonschema.validate(report, schema)
            self.assertEqual([point[unit] for fit in report["fits"] for point in fit["points"]], [] if unit == "nodes" else [1, 2, 4])

    def test_slurm_is_asked_for_tasks_and_no_gpus(self):
        site = self.write("site.yaml", "executor: slurm\n").name
        self.hpcbench("plan", self.study(("ranks_per_node: [1, 2]", "nodes: [2], ranks_per_node: [1, 8]")), "--site", f"./{site}",
                      "--scripts", "scripts", code=None)
        scripts = [path.read_text() for path in (self.folder / "scripts").rglob("*.sh") if "#SBATCH" in path.read_text()]
        asked = {tuple(line.split()[1] for line in text.splitlines() if "task" in line and line.startswith("#SBATCH")) for text in scripts}
        self.assertIn(("--ntasks-per-node=8", "--cpus-per-task=2"), asked)
        self.assertFalse([text for text in scripts if "gpu" in text or "gres" in text])

    def test_a_bad_value_names_the_point(self):
        failed = self.hpcbench("plan", self.study(("threads: [1, 2]", "threads: [1, many]")), code=2)
        self.assertIn("ranks.yaml:7:28: error: `resources.cpus_per_task` is `many` for ranks_per_node=1, threads=many", failed.stderr)


class Mpi(StudyTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("mpirun"):
            self.skipTest("mpirun is not installed (Debian: openmpi-bin python3-mpi4py)")
        if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], capture_output=True).returncode != 0:
            self.skipTest("mpi4py is not installed (Debian: python3-mpi4py)")
        for name in ("stencil.py", "stencil_weak.yaml", "hybrid.yaml"):
            shutil.copy(ROOT / "examples/mpi" / name, self.folder)
        self.write("bin/python3", '#!/bin/sh\nexec /usr/bin/python3 "$@"\n', 0o755)
        self.env = {**AS_ROOT, "PATH": f"{self.folder}/bin:/usr/bin:/bin"}

    def test_the_ranks_of_a_stencil_meet(self):
        self.hpcbench("run", "stencil_weak.yaml", "--set", "repeats=2", env=self.env)
        report = self.report("stencil_weak.yaml")
        self.assertEqual([(r["scale"], r["outcomes"]) for r in report["rows"]], [(1, {"succeeded": 2}), (2, {"succeeded": 2})])
        for row in report["rows"]:
            folder = self.folder / "results/stencil_weak" / row["config_id"] / "r01/a1"
            self.assertIn(f"{row['scale']} ranks, main loop: ", (folder / "stdout.log").read_text())
            self.assertIn("heat: 1.000000000", (folder / "stdout.log").read_text())
            self.assertEqual(len(list(folder.glob("stdout*.log"))), row["scale"], "each rank is hpcbench's")
        self.assertEqual(report["rows"][1]["efficiency"], report["rows"][1]["speedup"]["value"])

    def test_a_rank_that_fails_is_named(self):
        self.write("stencil.py", "import os, sys\nsys.exit(3 if os.environ['RANK'] == '1' else 0)\n")
        self.hpcbench("run", "stencil_weak.yaml", "--set", "repeats=1", "--keep-going", env=self.env, code=1)
        ends = [json.loads(path.read_text()) for path in self.folder.rglob("finished.json")]
        self.assertEqual(sorted((end["exit_code"], end["first_failed_rank"]) for end in ends if end["exit_code"]), [(3, 1)])

    def test_launch_once_is_given_the_ranks(self):
        text = (self.folder / "stencil_weak.yaml").read_text().replace("launcher: mpirun", "launch: once")
        text = text.replace("command: [python3,", 'command: [mpirun, -np, "{{ranks}}", --oversubscribe, python3,')
        self.write("stencil_weak.yaml", text)
        self.hpcbench("run", "stencil_weak.yaml", "--set", "repeats=1", env=self.env)
        for row in self.report("stencil_weak.yaml")["rows"]:
            folder = self.folder / "results/stencil_weak" / row["config_id"] / "r01/a1"
            self.assertIn(f"{row['scale']} ranks, main loop: ", (folder / "stdout.log").read_text())

    def test_examples_pass_check(self):
        for file in ("stencil_weak.yaml", "hybrid.yaml"):
            self.assertIn("ok: ", self.hpcbench("check", file).stdout)
        plan = json.loads(self.hpcbench("plan", "hybrid.yaml", "--format", "json").stdout)
        self.assertEqual((plan["configurations"], plan["excluded"]), (10, 6))


if __name__ == "__main__":
    unittest.main()
