"""docs/how-to: every page's files and commands, in their order, in an empty folder."""
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT  # noqa: E402
from launchers_test import python_with_torch  # noqa: E402
from pages import HOW_TO, PageTest, commands_of  # noqa: E402

ELSEWHERE = {"blocks", "accelerate", "lightning"}  # tests/slurm/page_test.py, example_test.py
HEAT = """#!/bin/bash
[ "$OMPI_COMM_WORLD_RANK" != 0 ] || echo "main loop: 0.0$OMPI_COMM_WORLD_SIZE s"
"""


class HowTo(PageTest):
    def page(self, name, *examples):
        """Runs the page beside copies of the files that it links."""
        for example in examples:
            shutil.copy(ROOT / "examples" / example, self.folder)
        return self.run_page(HOW_TO / f"{name}.md")

    def test_from_other_tools(self):
        report = self.run_page(ROOT / "docs/from-other-tools.md")["hpcbench report old.yaml"].stdout
        self.assertIn("2 succeeded, 1 failed", report)

    def test_which_launch(self):
        self.run_page(ROOT / "docs/recipes.md")
        self.assertIn("launch: node", (self.folder / "study.yaml").read_text())

    def test_torchrun(self):
        self.train("torchrun", "train.py", python_with_torch())

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed (Debian: openmpi-bin)")
    def test_mpirun(self):
        self.write("heat", HEAT, 0o755)
        self.more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        report = self.page("mpirun")["hpcbench report heat.yaml"].stdout
        self.assertIn("0.02", report)
        self.assertIn("6 succeeded", report)

    def test_long_runs(self):
        report = self.page("long-runs")["hpcbench report count.yaml --columns 'n,metric:steps,metric:segments'"].stdout
        self.assertRegex(report, r"\b40 +[2-9]\b")

    def test_budgets(self):
        done = self.page("budgets")
        self.assertIn("node-hours", done["hpcbench plan sums.yaml"].stdout)

    def test_preparations(self):
        done = self.page("preparations", "prepare/sum.c")
        self.assertIn("6 succeeded", done["hpcbench report flags.yaml"].stdout)
        self.assertEqual(len(list(self.folder.glob("results/flags/prepare/build-*/a2"))), 0, "nothing failed, so nothing is built again")

    def test_throughput(self):
        done = self.page("throughput", "metrics/steps.py")
        report = next(done[command].stdout for command in done if "--columns" in command)
        self.assertRegex(report, r"(?m)^ *4 +6 +51200 ")

    def test_tables_of_sizes(self):
        report = self.page("tables-of-sizes", "metrics/latency.py")["hpcbench report sizes.yaml"].stdout
        self.assertIn("4194304", report)

    def test_publishing(self):
        self.page("publishing")
        self.assertIn("\\label{tab:workers}", (self.folder / "table.tex").read_text())
        self.assertIn("Methods", (self.folder / "methods.txt").read_text())
        self.assertIn("<table", (self.folder / "report.html").read_text())
        self.assertTrue((self.folder / "figures/time.gp").exists())

    def test_moving_results(self):
        done = self.page("moving-results")
        self.assertEqual(done["hpcbench report --archive study.tar.zst"].stdout, done["hpcbench report --results elsewhere/results"].stdout)

    def test_sharing(self):
        done = self.page("sharing")
        self.assertIn("sizes", done["hpcbench ls --results shared"].stdout)
        self.assertIn("2 succeeded", done["hpcbench report sizes --results shared"].stdout)

    def test_old_logs(self):
        done = self.page("old-logs")
        self.assertEqual(done["hpcbench report old.yaml"].stdout.count("6 succeeded"), 2)
        self.assertIn("fast-1.log:1", done["hpcbench show version=fast/i01"].stdout)
        self.assertEqual(done["hpcbench report listed.yaml"].stdout.count("6 succeeded"), 2)

    def test_containers(self):
        done = self.page("containers")
        self.assertIn("12", done["hpcbench plan boxed.yaml"].stdout)

    def test_import_folders(self):
        for case, name in (("25-axes-in-folder-names", "runs"), ("27-mlruns-store", "mlruns"), ("28-hydra-multirun", "multirun")):
            shutil.copytree(ROOT / "tests/data/cases" / case / name, self.folder / name)
        done = self.page("import-folders")
        self.assertEqual(len(done["hpcbench ingest --experiment old-runs.yaml --dry-run"].stdout.splitlines()), 13)
        self.assertIn("3 succeeded", done["hpcbench report old-runs.yaml"].stdout)
        self.assertIn("1 out_of_memory", done["hpcbench report sweep.yaml"].stdout)
        self.assertIn("2 succeeded, 1 failed", done["hpcbench report tracked.yaml"].stdout)

    def test_every_page_has_a_test_and_commands(self):
        pages = sorted(path.stem for path in HOW_TO.glob("*.md"))
        tests = {name[len("test_"):].replace("_", "-") for name in dir(self) if name.startswith("test_")}
        self.assertEqual([page for page in pages if page not in tests | ELSEWHERE], [])
        self.assertEqual([page for page in pages if not commands_of(HOW_TO / f"{page}.md")], [])


if __name__ == "__main__":
    unittest.main()
