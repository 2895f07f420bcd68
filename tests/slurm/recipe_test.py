"""examples/recipes on a real Slurm of two nodes and more, with the real launchers. torch, Accelerate and Lightning come from
tests/huggingface/venv.sh --peers, mpirun and mpi4py from Debian; what cannot be had is skipped with its reason."""
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import SlurmTest  # noqa: E402
from harness import python_with_packages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPES = ROOT / "examples/recipes"
# Without Python's own end: a thread of Gloo's that lets go of its last tensor meanwhile aborts the process once in a while, also after
# destroy_process_group (pytorch/pytorch issue 190489).
END = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"


class Recipes(SlurmTest):
    def setUp(self):
        super().setUp()
        for path in RECIPES.iterdir():
            shutil.copy(path, self.folder)
            if path.name.startswith("train"):
                self.write(path.name, path.read_text() + END)
        self.write("site.yaml", "executor: slurm\n")

    def rows(self, name, env):
        """The report's rows of one node and of two, every run succeeded."""
        self.hpcbench("run", f"{name}.yaml", "--site", "./site.yaml", "--set", "repeats=1", env=env)
        rows = self.report(f"{name}.yaml")["rows"]
        self.assertEqual([(row["axes"]["nodes"], row["gpus"], row["outcomes"]) for row in rows],
                         [(1, 2, {"succeeded": 1}), (2, 4, {"succeeded": 1})])
        return rows

    def python(self):
        folder = pathlib.Path(python_with_packages()).parent
        return {"PATH": f"{folder}:{self.cluster.environment()['PATH']}", "OMP_NUM_THREADS": "1"}

    def trains(self, name):
        for row, ranks in zip(self.rows(name, self.python()), (2, 4)):
            self.assertGreater(row["median"], 0)
            output = next(self.folder.glob(f"results/recipe_{name}/{row['config_id']}/r01/a1/stdout.log")).read_text()
            epochs = [line for line in output.splitlines() if line.startswith("epoch ")]
            self.assertEqual(len(epochs), 3, "rank 0 alone reports")
            self.assertTrue(all(line.endswith(f", {ranks} ranks") for line in epochs), epochs)

    def test_rank(self):
        self.trains("rank")

    def test_torchrun(self):
        self.trains("torchrun")

    def test_accelerate(self):
        self.trains("accelerate")

    def test_lightning(self):
        self.trains("lightning")

    def mpi(self):
        if not shutil.which("mpirun"):
            self.skipTest("mpirun is not installed (Debian: openmpi-bin python3-mpi4py)")
        if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], capture_output=True).returncode != 0:
            self.skipTest("mpi4py is not installed (Debian: python3-mpi4py)")
        # Nodes that are one machine: what passes messages through its memory would find ranks of the other node there.
        env = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PATH": f"/usr/bin:{self.cluster.environment()['PATH']}"}
        return env

    def test_mpirun(self):
        for row in self.rows("mpirun", self.mpi()):
            self.assertGreater(row["median"], 0)

    def test_ranks_that_are_no_gpus(self):
        env = self.mpi()
        shutil.copy(ROOT / "examples/mpi/stencil.py", self.folder)
        study = (ROOT / "examples/mpi/stencil_weak.yaml").read_text()
        self.write("stencil_weak.yaml", study.replace("nodes: [1],", "nodes: [1, 2],") + "repeats: 1\n")
        self.hpcbench("run", "stencil_weak.yaml", "--site", "./site.yaml", env=env)
        rows = self.report("stencil_weak.yaml")["rows"]
        self.assertEqual([(row["axes"]["nodes"], row["scale"], row["outcomes"]) for row in rows],
                         [(1, 1, {"succeeded": 1}), (1, 2, {"succeeded": 1}), (2, 2, {"succeeded": 1}), (2, 4, {"succeeded": 1})])
        for row in rows:
            output = next(self.folder.glob(f"results/stencil_weak/{row['config_id']}/r01/a1/stdout.log")).read_text()
            self.assertIn(f"{row['scale']} ranks, main loop: ", output)
            self.assertIn("heat: 1.000000000", output)


if __name__ == "__main__":
    unittest.main()
