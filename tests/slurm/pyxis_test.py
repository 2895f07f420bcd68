"""Containers of the real pyxis and enroot in steps of a real Slurm, of an image that is made here from this machine's bash."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import HPCBENCH  # noqa: E402
from slurm_study import SlurmStudyTest  # noqa: E402

from boxed_study import copy_program  # noqa: E402

PLUGINS = ("/usr/lib/*/slurm*/spank_pyxis.so", "/usr/lib*/slurm/spank_pyxis.so", "/usr/local/lib*/slurm/spank_pyxis.so")
STUDY = """experiment: boxed
command: [bash, -c, COMMAND]
matrix: {gpus_per_node: [2]}
repeats: 1
resources: {time: 60s}
environment: {LEVEL: high}
container: {image: IMAGE, runtime: pyxis}
"""


class Pyxis(SlurmStudyTest):
    @classmethod
    def setUpClass(cls):
        plugins = [path for pattern in PLUGINS for path in pathlib.Path("/").glob(pattern[1:])]
        missing = [name for name in ("enroot", "mksquashfs") if shutil.which(name) is None] + ([] if plugins else ["spank_pyxis.so"])
        if missing:
            raise unittest.SkipTest(f"{', '.join(missing)} not installed (https://github.com/NVIDIA/pyxis and enroot; Debian has neither)")
        place = pathlib.Path(tempfile.mkdtemp(prefix="hpcbench-pyxis-"))
        cls.addClassCleanup(shutil.rmtree, place, ignore_errors=True)
        (place / "plugstack.conf").write_text(f"required {plugins[0]} runtime_path={place}/run\n")
        (place / "run").mkdir(mode=0o755)
        for name in ("bash", "sh", "sleep", "touch", HPCBENCH):
            copy_program(name, place / "tree")
        (place / "tree/etc").mkdir()
        (place / "tree/etc/environment").write_text("LEVEL=low\nOTHER=image\n")
        cls.image = place / "image.sqsh"
        subprocess.run(["mksquashfs", place / "tree", cls.image, "-all-root", "-quiet", "-no-progress"], check=True, stdout=subprocess.DEVNULL)
        cls.home = place
        cls.CLUSTER = ("--nodes", "1", "--set", f"PlugStackConfig={place}/plugstack.conf")
        super().setUpClass()

    def environment(self, extra=None):
        return super().environment({"HOME": str(self.home), **(extra or {})})

    def study(self, command):
        self.home = self.folder  # where enroot unpacks images; its name may have no space
        self.folder /= "a folder"
        self.folder.mkdir()
        self.write("boxed.yaml", STUDY.replace("COMMAND", json.dumps(command)).replace("IMAGE", str(self.image)))

    def attempt(self):
        return next(self.folder.glob("results/boxed/*/r01")) / "a1"

    def run_boxed(self, code=0):
        done = self.run_study(name="boxed.yaml", code=None)
        self.assertEqual(done.returncode, code, done.stderr + "".join(path.read_text() for path in self.attempt().glob("std*.log")))
        return json.loads((self.attempt() / "finished.json").read_text())

    def outputs(self):
        paths = [self.attempt() / name for name in ("stdout.log", "stdout.1.log")]
        return [path.read_text() if path.exists() else "" for path in paths]

    def test_each_rank_has_its_variables_and_folders(self):
        self.study('echo "$RANK of $WORLD_SIZE: $LEVEL $OTHER $OMP_NUM_THREADS $PWD"; touch "${HPCBENCH_RUN%/*}/written.$RANK"')
        finished = self.run_boxed()
        self.assertEqual(self.outputs(), [f"{rank} of 2: high image 1 {self.folder}\n" for rank in (0, 1)])
        self.assertTrue((self.attempt() / "written.0").exists() and (self.attempt() / "written.1").exists())
        self.assertEqual([process["exit_code"] for process in finished["processes"]], [0, 0])

    def test_signals_are_the_programs_own(self):
        self.study("((RANK)) && kill -SEGV $$; exec sleep 300")
        failed = self.run_boxed(code=1)["processes"][1]
        self.assertEqual((failed["exit_code"], failed["signal"]), (None, 11))

    def test_a_cancelled_run_is_told(self):
        self.study("trap 'echo heard; exit 3' TERM; echo begun; while :; do sleep 0.02; done")
        running = self.start("run", "boxed.yaml", "--site", self.site)
        self.wait_for(lambda: list(self.folder.glob("results/boxed/*/r01/a1")) and self.outputs() == ["begun\n"] * 2, "two programs")
        self.hpcbench("cancel", "--yes", "boxed.yaml")
        running.communicate(timeout=120)
        self.assertEqual(self.outputs(), ["begun\nheard\n"] * 2)


if __name__ == "__main__":
    unittest.main()
