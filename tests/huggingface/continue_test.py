"""The recipes of examples/recipes for `continue`, with the real Lightning, Trainer and torchrun: warned they save and end with 85, and what
resumes there does the steps that are left. Skipped with the reason where tests/huggingface/venv.sh --peers cannot bring them."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPES = ROOT / "examples/recipes"
sys.path.append(str(ROOT / "bench"))
sys.path.append(str(ROOT / "tests/e2e"))
from harness import python_with_packages  # noqa: E402
from ports import free_port  # noqa: E402

PATIENCE_S = 300
RANKS = 2
STEPS = 24  # 512 samples, 32 a step on each of 2 ranks, 3 epochs


def catches_usr1(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1
    return False


class Continued(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bin = pathlib.Path(python_with_packages()).parent

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-continue-")).resolve()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, command, rank, run_dir, resume, port):
        variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_WORLD_SIZE": RANKS, "NODE_RANK": 0, "GROUP_RANK": 0,
                     "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1, "HPCBENCH_RESUME_FROM": resume or ""}
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "HPCBENCH_"))}
        environment |= {name: str(value) for name, value in variables.items()} | {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        with open(run_dir / f"stdout.{rank}.log", "w") as out, open(run_dir / f"stderr.{rank}.log", "w") as error:
            process = subprocess.Popen(command, cwd=RECIPES, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=error,
                                       start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def segment(self, number, command, processes, resume, warns):
        """Returns its folder, the exit codes, and rank 0's output."""
        run_dir = self.folder / f"a{number}"
        run_dir.mkdir()
        port = free_port()
        started = [self.start(command(run_dir), rank, run_dir, resume, port) for rank in range(processes)]
        end = time.monotonic() + PATIENCE_S
        for process in started if warns else []:
            while process.poll() is None and not catches_usr1(process.pid):
                self.assertLess(time.monotonic(), end, "waited for a rank that knows SIGUSR1")
                time.sleep(0.02)
        for process in started if warns else []:
            process.send_signal(signal.SIGUSR1)
        codes = [process.wait(timeout=PATIENCE_S) for process in started]
        return run_dir, codes, (run_dir / "stdout.0.log").read_text()

    def goes_on(self, command, processes=RANKS):
        first, codes, said = self.segment(1, command, processes, None, True)
        errors = "\n".join(path.read_text()[-2000:] for path in first.glob("stderr.*.log"))
        self.assertEqual(codes, [85] * processes, said + errors)
        self.assertNotIn("done: ", said)
        second, codes, said = self.segment(2, command, processes, first, False)
        errors = "\n".join(path.read_text()[-2000:] for path in second.glob("stderr.*.log"))
        self.assertEqual(codes, [0] * processes, said + errors)
        self.assertIn(f"done: {STEPS} steps", said)
        return first, said

    def test_lightning(self):
        first, _ = self.goes_on(lambda run_dir: ["python3", "continue_lightning.py", run_dir, f"--devices={RANKS}"])
        self.assertTrue((first / "last.ckpt").exists())

    def test_trainer(self):
        first, _ = self.goes_on(lambda run_dir: ["python3", "continue_trainer.py", run_dir])
        self.assertEqual(len(list(first.glob("out/checkpoint-*/trainer_state.json"))), 1)

    def test_torch(self):
        _, said = self.goes_on(lambda run_dir: ["python3", "continue_train.py", run_dir])
        self.assertIn("resumes after step", said)

    def test_torchrun(self):
        text = (RECIPES / "continue_torchrun.yaml").read_text()
        script = textwrap.dedent(text[text.index("  - |\n") + 6:text.index("  - torchrun\n")])
        script = script.replace("{{nodes}}", "1").replace("{{gpus_per_node}}", str(RANKS))
        _, said = self.goes_on(lambda run_dir: ["bash", "-c", script, "torchrun", run_dir], processes=1)
        self.assertIn("resumes after step", said)
        self.assertEqual(list(self.folder.glob(".warned*")), [])


if __name__ == "__main__":
    unittest.main()
