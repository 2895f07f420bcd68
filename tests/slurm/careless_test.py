"""Programs that delete what is in their run directory, on a real Slurm: each run executes once, and its record is right."""
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import SITE, SlurmStudyTest  # noqa: E402

STUDY = """
experiment: careless
command: [bash, -c, 'DELETES; echo "$1" >> "FOLDER/executions"; while [ -e "FOLDER/hold" ]; do sleep 0.1; done; echo value 42.5; exit CODE', bash, "{{run_dir}}"]
matrix: {k: [1]}
repeats: 1
resources: {time: 2m}
metrics: [{name: value, file: stdout.log, pattern: 'value (\\S+)'}]
"""
DELETES = ('rm -rf "$1"/*', 'rm -rf "$1"/*/', 'rm -rf "$1"')


class Careless(SlurmStudyTest):
    def careless(self, deletes, code=0):
        self.write("site.yaml", SITE + "gres_type: none\n")
        self.write("careless.yaml", STUDY.replace("DELETES", deletes).replace("FOLDER", str(self.folder)).replace("CODE", str(code)))

    def each_once(self, state="succeeded"):
        run, = self.status("careless.yaml")["runs"]
        self.assertEqual((run["state"], run["attempt"]), (state, "a1"))
        self.assertEqual(list(self.executions().values()), [1])
        self.assertEqual(self.cluster.count("sbatch"), 1)

    def test_hpcbench_is_killed_and_called_again_while_the_program_runs(self):
        self.careless(DELETES[0])
        self.write("hold", "")
        first = self.start("run", "careless.yaml", "--site", self.site)
        self.wait_for(self.executions, "the program")
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        log = self.folder / "results/careless/hpcbench.log"
        begun = log.read_text().count("squeue")
        second = self.start("run", "careless.yaml", "--site", self.site)
        self.wait_for(lambda: log.read_text().count("squeue") > begun, "the second call's look at the job")
        (self.folder / "hold").unlink()
        said, _ = second.communicate(timeout=300)
        self.assertEqual(second.returncode, 0, said)
        self.each_once()

    def test_a_program_that_succeeds(self):
        self.careless(DELETES[1])
        self.run_study(name="careless.yaml")
        self.each_once()
        self.assertEqual(self.report("careless.yaml", "--metric", "value")["rows"][0]["median"], 42.5)

    def test_a_program_that_fails(self):
        self.careless(DELETES[1], code=3)
        self.run_study(name="careless.yaml", code=1)
        self.each_once("failed")

    def test_a_program_that_removes_the_directory_itself(self):
        self.careless(DELETES[2])
        self.run_study(name="careless.yaml")
        self.each_once()

    def test_a_program_that_removes_the_folder_of_the_attempt(self):
        self.careless('rm -rf "${1%/out}"')
        self.run_study(name="careless.yaml", code=1)
        self.each_once("failed")
        self.assertIn("the attempt's folder was deleted while its program ran", self.status("careless.yaml")["runs"][0]["reason"])


if __name__ == "__main__":
    unittest.main()
