"""Programs that fail under torchrun and accelerate: their own exception is the reason."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

STUDY = """experiment: fails
command: %s
matrix: {ranks_per_node: [2]}
launch: node
repeats: 1
environment: {OMP_NUM_THREADS: 1}
"""
PROGRAM = """import os, time
if os.environ["RANK"] == "1":
    raise ValueError("no data in /data/train")
time.sleep(60)
"""


def python_with_torch():
    for python in (shutil.which("python3"), str(ROOT / ".venv/bin/python3")):
        if os.path.exists(python) and subprocess.run([python, "-c", "import torch.distributed.run"], capture_output=True).returncode == 0:
            return python
    raise unittest.SkipTest("no Python has torch")


class Launchers(StudyTest):
    def fails(self, command):
        self.write("fails.yaml", STUDY % command)
        self.hpcbench("run", "fails.yaml", code=1)
        return self.hpcbench("show", "fails/ranks_per_node=2").stdout

    def test_recorded_output(self):
        for name in ("torchrun-plain", "torchrun-error-file", "accelerate"):
            with self.subTest(name):
                self.folder.joinpath("output.txt").write_text((ROOT / f"tests/golden/launchers/{name}.txt").read_text())
                shown = self.fails("[bash, -c, 'cat %s/output.txt >&2; exit 1']" % self.folder)
                self.assertRegex(shown, r"(?m)^reason +.*failed with exit code 1: ValueError: no data in /data/train$")
                self.assertRegex(shown, r'(?m)^traceback +Traceback \(most recent call last\):\n +  File "/')
                shutil.rmtree(self.folder / "results")

    def test_a_real_torchrun(self):
        python = python_with_torch()
        self.write("train.py", PROGRAM)
        shown = self.fails(f"[{python}, -m, torch.distributed.run, --standalone, --nproc-per-node=2, {self.folder}/train.py]")
        self.assertRegex(shown, r"(?m)^reason +.*: ValueError: no data in /data/train$")
        self.assertIn("train.py\", line 3", shown)

    def test_the_recipe_without_gpus(self):
        folder = pathlib.Path(python_with_torch()).parent
        for name in ("torchrun_cpus.yaml", "train.py"):
            shutil.copy(ROOT / "examples/recipes" / name, self.folder)
        self.hpcbench("run", "torchrun_cpus.yaml", "--set", "repeats=1", env={"PATH": f"{folder}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": ""})
        report = self.hpcbench("report", "torchrun_cpus.yaml").stdout
        self.assertNotIn("gpu", report.lower())
        outputs = "".join(path.read_text() for path in self.folder.rglob("stdout.log"))
        self.assertIn(", 1 ranks", outputs)
        self.assertIn(", 2 ranks", outputs)


if __name__ == "__main__":
    unittest.main()
