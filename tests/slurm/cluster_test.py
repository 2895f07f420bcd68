"""The test cluster itself: if this fails, the other tests on Slurm say nothing about hpcbench."""
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import Cluster, SlurmTest  # noqa: E402


class Plain(SlurmTest):
    def submit(self, *arguments):
        return self.cluster.tool("sbatch", "--parsable", "-o", "/dev/null", *arguments).strip()

    def state(self, job):
        return {j[0]: j[1] for j in self.cluster.jobs()}.get(job)

    def test_job_ends_as_its_program_did(self):
        self.assertEqual(self.cluster.tool("sbatch", "--wait", "-o", "/dev/null", "--wrap", "exit 3", code=3).split()[0], "Submitted")
        job = self.submit("--wrap", "true")
        self.wait_for(lambda: self.state(job) == "COMPLETED", "the job")

    def test_two_nodes_with_their_gpus(self):
        output = self.folder / "out"
        self.cluster.tool("sbatch", "--wait", "-o", str(output), "-N2", "--ntasks-per-node=2", "--gpus-per-node=2", "--wrap",
                          "srun bash -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURMD_NODENAME ${CUDA_VISIBLE_DEVICES:-0,1}'")
        lines = sorted(output.read_text().split("\n")[:-1])
        self.assertEqual([line.split()[0] for line in lines], ["0/4", "1/4", "2/4", "3/4"])
        self.assertEqual(len({line.split()[1] for line in lines}), 2)
        self.assertEqual({line.split()[2] for line in lines}, {"0,1"})

    def test_array_and_cancel(self):
        job = self.submit("--array=0-3", "--wrap", "sleep 600")
        self.wait_for(lambda: len(self.cluster.jobs("R")) == 4, "four elements")
        self.cluster.tool("scancel", job)
        self.wait_for(lambda: self.cluster.jobs("R,CG") == [], "their end")
        self.assertEqual(self.state(f"{job}_0"), "CANCELLED")

    def test_controller_comes_back_and_a_job_goes_on(self):
        job = self.submit("--wrap", "sleep 8")
        self.wait_for(lambda: self.state(job) == "RUNNING", "the job")
        self.cluster.wait_until_saved()
        self.cluster.kill("ctld")
        self.cluster.revive("ctld")
        self.wait_for(lambda: self.state(job) == "COMPLETED", "the job's end")

    def test_two_clusters_at_once(self):
        other = Cluster()
        self.addCleanup(other.stop)
        self.submit("--wrap", "sleep 600")
        self.wait_for(lambda: len(self.cluster.jobs("R")) == 1, "the job")
        self.assertEqual(other.jobs(), [])

    @staticmethod
    def processes_of(cluster, name=b""):
        """Folders in /proc of processes whose environment names this cluster and whose command line begins so."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(cluster.name).encode() in (process / "environ").read_bytes() and (process / "cmdline").read_bytes().startswith(name):
                    found.append(process)
            except OSError:
                pass
        return found

    def test_nothing_is_left(self):
        other = Cluster()
        self.addCleanup(other.stop)
        other.tool("sbatch", "-o", "/dev/null", "--wrap", "exec sleep 4711")
        self.wait_for(lambda: self.processes_of(other, b"sleep\x004711\x00"), "the job")
        other.kill("n0")  # its job lives on
        other.stop()
        self.assertEqual(self.processes_of(other), [])
        self.assertFalse(other.folder.exists())


class WithAccounting(SlurmTest):
    CLUSTER = ("--accounting",)

    def test_sacct_knows_it_and_accounts_are_checked(self):
        job = self.cluster.tool("sbatch", "--parsable", "-o", "/dev/null", "-J", "a.b", "--wrap", "exit 3").strip()
        read = lambda: self.cluster.tool("sacct", "-P", "-n", "-X", "-S", "now-1day", "-j", job, "-o", "jobname,state,exitcode").strip()  # noqa: E731
        self.wait_for(lambda: read() == "a.b|FAILED|3:0", "the record")
        self.cluster.tool("sbatch", "-A", "nobody", "--wrap", "true", code=1)


if __name__ == "__main__":
    unittest.main()
