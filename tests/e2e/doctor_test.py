"""What `hpcbench doctor` says, here and on a Slurm of stand-ins: what will not work is said before anything is submitted."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, StudyTest, alive  # noqa: E402

STUDY = """
experiment: tiny
command: [bash, -c, "true"]
matrix: {gpus_per_node: [1, 2], nodes: [1, 2]}
repeats: 2
resources: {time: 60s}
"""
LOCAL = STUDY.replace(", nodes: [1, 2]", "")  # one machine is one node
SITE = "executor: slurm\npartition: gpu\naccount: physics\n"
SCONTROL = """#!/bin/bash
[ -e ASKED/silent ] && { echo "slurm_load_partitions error: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
echo "PartitionName=gpu Default=NO DefaultTime=00:10:00 MaxNodes=UNLIMITED MaxTime=01:00:00 State=UP TotalNodes=2"
echo "PartitionName=night Default=YES DefaultTime=00:10:00 MaxNodes=1 MaxTime=UNLIMITED State=DOWN TotalNodes=2"
"""
SINFO = """#!/bin/bash
printf '%s|idle|64|gpu:a100:4(S:0-1)\\n' HOST HOST
"""
SBATCH = """#!/bin/bash
echo "$*" >> ASKED/sbatch
case "$*" in
  *--test-only*) ;;
  *) echo "this submits" >> ASKED/submitted; exit 1 ;;
esac
case "$*" in *--account=physics*) exit 0 ;; esac
echo "allocation failure: Invalid account or account/partition combination specified" >&2
exit 1
"""
SACCTMGR = "#!/bin/bash\necho physics\n"


class Local(StudyTest):
    def doctor(self, *arguments, code, env=None):
        done = self.hpcbench("doctor", *arguments, code=code, env=env)
        return done.stdout

    def probe(self, *arguments, code):
        output = self.doctor("tiny.yaml", "--probe", *arguments, code=code)
        self.assertFalse((self.folder / "results").exists(), "a probe leaves nothing behind")
        return output

    def test_a_probe_runs_one_job_on_this_machine(self):
        self.write("tiny.yaml", LOCAL.replace("[1, 2]", "[1]"))
        self.assertIn("probe on this machine: hpcbench starts", self.probe(code=0))
        output = self.probe("--set", "setup=['echo no license here >&2', 'exit 9']", code=1)
        self.assertIn("fail on this machine (exit status 9): no license here", output)
        output = self.probe("--probe-timeout", "1s", "--set", f"setup=['echo $$ > {self.folder}/pid; sleep 300']", code=1)
        self.assertIn("did not end within", output)
        pid = (self.folder / "pid").read_text().strip()
        self.assertFalse(alive(pid), "it was ended")

    def test_a_probe_looks_for_the_program_after_setup_and_for_pytorch_beside_gpus(self):
        self.write("bin/nvidia-smi", "#!/bin/sh\necho 'GPU 0: one'\n", 0o755)
        self.write("late/python3", "#!/bin/sh\necho 2.13.0, CUDA 13.0, NCCL 2.27.3\n", 0o755)
        self.write("tiny.yaml", LOCAL.replace("[1, 2]", "[1]").replace('[bash, -c, "true"]', "[python3, train.py]"))
        self.write("train.py", "")
        path = f"export PATH={self.folder}/late:{self.folder}/bin:/usr/bin:/bin"
        self.assertIn("; PyTorch 2.13.0, CUDA 13.0, NCCL 2.27.3", self.probe("--set", f"setup=['{path}']", code=0))
        self.write("tiny.yaml", LOCAL.replace("[1, 2]", "[1]").replace('[bash, -c, "true"]', "[no-such-program]"))
        output = self.probe("--set", f"setup=['{path}']", code=1)
        self.assertIn("this machine has no program `no-such-program` after `modules` and `setup`", output)
        self.assertNotIn("PyTorch", output)

    def test_ctrl_c_ends_a_probe_and_what_it_started(self):
        self.write("tiny.yaml", LOCAL.replace("[1, 2]", "[1]"))
        said = self.folder / "pid"
        process = self.start("doctor", "tiny.yaml", "--probe", "--set", f"setup=['echo $$ > {said}; sleep 300']")
        end = time.monotonic() + 60
        while not (said.exists() and said.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertFalse(alive(said.read_text().strip()), "it was ended")
        self.assertFalse((self.folder / "results").exists())

    def test_the_limit_of_a_probe_is_a_duration(self):
        self.write("tiny.yaml", LOCAL.replace("[1, 2]", "[1]"))
        self.assertIn("is no duration", self.hpcbench("doctor", "tiny.yaml", "--probe", "--probe-timeout", "soon", code=2).stderr)

    def test_nothing_wrong(self):
        self.write("tiny.yaml", LOCAL.replace("[1, 2]", "[1]"))
        output = self.doctor("tiny.yaml", code=0)
        self.assertNotIn("problem", output)
        self.assertIn("ok ", output)
        self.assertFalse((self.folder / "results").exists(), "doctor leaves nothing behind")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["tiny.yaml"])

    def test_program_and_script_that_are_not_there(self):
        self.write("tiny.yaml", LOCAL.replace("[bash, -c, \"true\"]", "[no-such-program, train.py]"))
        output = self.doctor("tiny.yaml", code=1)
        self.assertIn("`no-such-program` is not on PATH", output)
        self.assertIn("train.py", output)
        self.write("train.py", "")
        self.assertNotIn("train.py", self.doctor("tiny.yaml", code=1))

    def test_a_line_in_place_of_the_program(self):
        self.write("train.py", "")
        for line in ("python3 train.py", "python3 train.py --nodes={{nodes}}"):
            self.write("tiny.yaml", LOCAL.replace("[bash, -c, \"true\"]", f'["{line}"]').replace("[1, 2]", "[1]"))
            self.assertIn(f"`{line}` is one argument", self.doctor("tiny.yaml", code=1))
        self.write("python3 train.py", "#!/bin/sh\n", 0o755)
        self.write("tiny.yaml", LOCAL.replace("[bash, -c, \"true\"]", '["./python3 train.py"]').replace("[1, 2]", "[1]"))
        self.doctor("tiny.yaml", code=0)

    def test_data_that_are_not_there(self):
        self.write("tiny.yaml", LOCAL + "parameters: {data: some/where}\n")
        output = self.doctor("tiny.yaml", code=0)
        self.assertIn("some/where is not there", output)
        self.assertIn("warning", output)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_results_that_cannot_be_written(self):
        self.write("tiny.yaml", LOCAL)
        (self.folder / "results").mkdir(mode=0o555)
        self.assertIn("cannot write", self.doctor("tiny.yaml", code=1))

    def test_results_folder_that_is_a_file(self):
        self.write("tiny.yaml", LOCAL)
        self.write("results", "")
        self.assertIn("is no folder", self.doctor("tiny.yaml", code=1))

    def test_inside_a_job_of_slurm(self):
        self.write("tiny.yaml", LOCAL)
        self.assertIn("Slurm's job 7", self.doctor("tiny.yaml", code=0, env={"SLURM_JOB_ID": "7"}))

    def quota(self, files_used, files_limit, blocks_limit=0):
        """A PATH on which `quota` says so of the file system of this test's folder."""
        source = subprocess.run(["df", "--output=source", str(self.folder)], capture_output=True, text=True).stdout.splitlines()[-1]
        if source == "-" or source not in pathlib.Path("/proc/self/mountinfo").read_text().split():
            self.skipTest(f"df names no file system of {self.folder} that is mounted, as within chroot")
        self.write("bin/quota", f"""#!/bin/bash
echo "Disk quotas for user somebody (uid 1):"
echo "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace"
echo "{source} 100 0 {blocks_limit} 0 {files_used} 0 {files_limit} 0"
exit 1
""", 0o755)
        return {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def test_quota_of_files_that_is_nearly_used_up(self):
        self.write("tiny.yaml", LOCAL)
        output = self.doctor("tiny.yaml", code=1, env=self.quota(990, 1000))
        self.assertIn("your quota leaves 10 of 1000 files", output)
        self.assertIn("4 runs make about", output)
        self.doctor("tiny.yaml", code=0, env=self.quota(10, 1000))

    def test_quota_of_bytes_that_is_used_up(self):
        self.write("tiny.yaml", LOCAL)
        self.assertIn("MB in", self.doctor("tiny.yaml", code=1, env=self.quota(1, 0, 200)))

    def test_quota_that_says_nothing_of_this_file_system(self):
        self.write("tiny.yaml", LOCAL)
        env = self.quota(990, 1000)
        self.write("bin/quota", "#!/bin/bash\necho 'Disk quotas for user somebody (uid 1): none'\n", 0o755)
        self.assertNotIn("your quota leaves", self.doctor("tiny.yaml", code=0, env=env))

    def test_module_that_is_not_there(self):
        self.write("tiny.yaml", LOCAL)
        self.assertIn("`modules: [nosuch]` fails here", self.doctor("tiny.yaml", "--set", "modules=[nosuch]", code=1))

    def test_modules_are_loaded_together_as_in_a_job(self):
        """As in a hierarchy of Lmod: one module makes another one visible."""
        self.write("init", 'module() { [ $2 != mpi ] || [ "$COMPILER$MODULEPATH" = gcc/opt/m ] || return 1; [ $2 = mpi ] || export COMPILER=$2; }\n')
        self.write("tiny.yaml", LOCAL + "environment: {MODULEPATH: /opt/m}\n")
        env = {"BASH_ENV": str(self.folder / "init")}
        self.doctor("tiny.yaml", "--set", "modules=[gcc, mpi]", code=0, env=env)
        self.assertIn("`modules: [mpi, gcc]` fails here: exit status 1",
                      self.doctor("tiny.yaml", "--set", "modules=[mpi, gcc]", code=1, env=env))

    def test_what_was_run_last(self):
        self.write("tiny.yaml", LOCAL.replace("[1, 2]", "[1]"))
        self.hpcbench("run", "tiny.yaml")
        self.doctor(code=0)


class Slurm(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", STUDY)
        self.write("site.yaml", SITE)
        host = os.uname().nodename
        for name, text in (("scontrol", SCONTROL), ("sinfo", SINFO), ("sbatch", SBATCH), ("sacctmgr", SACCTMGR),
                           ("squeue", "#!/bin/bash\n"), ("scancel", "#!/bin/bash\n"), ("sacct", "#!/bin/bash\n"),
                           ("srun", "#!/bin/bash\n")):
            self.write(f"bin/{name}", text.replace("ASKED", str(self.folder)).replace("HOST", host), 0o755)

    def doctor(self, *arguments, code, path=None):
        env = {"PATH": path or f"{self.folder}/bin:{os.environ['PATH']}"}
        done = self.hpcbench("doctor", "tiny.yaml", "--site", "./site.yaml", *arguments, code=code, env=env)
        self.assertFalse((self.folder / "submitted").exists(), "doctor submits nothing")
        return done.stdout

    def test_nothing_wrong(self):
        output = self.doctor(code=0)
        self.assertIn("Slurm would take jobs of 4 shapes", output)
        self.assertNotIn("problem", output)
        self.assertEqual(len((self.folder / "sbatch").read_text().splitlines()), 4)

    def test_no_slurm(self):
        (self.folder / "bin/sbatch").unlink()
        empty = self.folder / "empty"
        empty.mkdir()
        for tool in ("bash", "env"):
            (empty / tool).symlink_to(f"/bin/{tool}")
        self.assertIn("sbatch is not on PATH", self.doctor(code=1, path=str(empty)))

    def test_unknown_partition(self):
        self.write("site.yaml", SITE.replace("gpu", "gpo"))
        output = self.doctor(code=1)
        self.assertIn("no partition `gpo` (did you mean `gpu`?)", output)
        self.assertIn("gpu, night", output)

    def test_partition_that_is_down_and_too_small(self):
        self.write("site.yaml", "executor: slurm\n")
        output = self.doctor(code=1)
        self.assertIn("partition night is DOWN", output)
        self.assertIn("has 2 nodes, and partition night gives a job at most 1", output)

    def test_more_time_than_the_partition_has(self):
        output = self.doctor("--set", "resources.time=2h", code=1)
        self.assertIn("partition gpu ends jobs after 1 h 00 min", output)

    def test_more_gpus_than_a_node_has(self):
        output = self.doctor("--set", "matrix.gpus_per_node=[8]", code=1)
        self.assertIn("2 nodes with 8 GPUs", output)
        self.assertIn("at most 4 GPUs a node", output)

    def test_gpus_of_another_type(self):
        self.write("site.yaml", SITE + "gres_type: h100\n")
        self.assertIn("of type h100", self.doctor(code=1))

    def test_unknown_account(self):
        self.write("site.yaml", SITE.replace("physics", "chemistry"))
        output = self.doctor(code=1)
        self.assertIn("Invalid account", output)
        self.assertIn("yours are: physics", output)

    def test_controller_that_does_not_answer(self):
        self.write("silent", "")
        self.assertIn("Unable to contact slurm controller", self.doctor(code=1))

    def test_missing_module(self):
        self.assertIn("module load no-such-module", self.doctor("--set", "modules=[no-such-module]", code=1))

    def test_trainer_that_was_built_without_nccl(self):
        self.write("tiny.yaml", "experiment: tiny\ntrainer: mnist_rnn\nmatrix: {strategy: [ddp], gpus_per_node: [2]}\nrepeats: 1\nresources: {time: 60s}\n")
        (self.folder / "programs").mkdir()
        shutil.copy(HPCBENCH, self.folder / "programs")
        for backends, found in (("Gloo", True), ("Gloo, NCCL", False)):
            self.write("programs/hpcbench-train", f"#!/bin/bash\necho 'hpcbench-train 0.3.0 (LibTorch 2.13.0, {backends})'\n", 0o755)
            done = subprocess.run([self.folder / "programs/hpcbench", "doctor", "tiny.yaml", "--site", "./site.yaml"], cwd=self.folder,
                                  env=self.environment({"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual("no NCCL" in done.stdout, found, done.stdout + done.stderr)

    def test_no_time_limit(self):
        self.write("tiny.yaml", STUDY.replace("resources: {time: 60s}\n", ""))
        self.assertIn("partition gpu's default, 00:10:00", self.doctor(code=0))


if __name__ == "__main__":
    unittest.main()
