"""`watch`, `status` and `cancel` on a real Slurm: what is said of jobs that run, wait, or cannot start; ends that come early."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import HPCBENCH, SlurmTest  # noqa: E402

PATIENCE_S = 180
ROUNDS = 20 if os.environ.get("HPCBENCH_LONG") == "1" else 3
STUDY = """
experiment: trivial
command: [bash, -c, 'until [ -e go ]; do sleep 0.1; done; exit {{code}}']
launch: once
matrix: {code: [0, 3]}
repeats: 2
resources: {time: "00:02:00"}
"""
# No job of it ends by itself; `ranks` are started by srun.
ENDLESS = """
experiment: endless
command: [bash, -c, 'sleep 600']
launch: LAUNCH
matrix: {k: [1, 2, 3, 4], nodes: [1]}
repeats: 5
resources: {time: "00:10:00"}
"""


class WatchTest(SlurmTest):
    def setUp(self):
        super().setUp()
        self.site = str(self.write("site.yaml", "executor: slurm\n"))

    def submit(self, text, *arguments):
        self.write("study.yaml", text)
        self.hpcbench("run", "study.yaml", "--site", self.site, "--detach", *arguments)

    def watch(self, *arguments):
        return self.start("watch", "study.yaml", "--site", self.site, "--interval", "0.5", *arguments)

    def test_detached_jobs_are_watched_to_their_end(self):
        self.submit(STUDY)
        self.assertEqual(self.status()["counts"]["intended"], 0, "what was submitted shows as submitted")
        watching = self.watch()
        self.wait_for(lambda: list(self.folder.glob("results/*/*/r01/a1/started.json")), "runs that have begun")
        looks = self.cluster.count("squeue")
        self.wait_for(lambda: self.cluster.count("squeue") >= looks + 2, "a look of watch that begins after that")
        self.write("go", "")
        text = watching.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(watching.returncode, 1, text)
        self.assertRegex(text, r"/r01/a1  running .*job \d+_\d+ on n\d")
        self.assertEqual(len(re.findall(r"/r0\d/a1  succeeded", text)), 2, text)
        self.assertEqual(len(re.findall(r"/r0\d/a1  failed .*exit code 3", text)), 2, text)
        self.assertIn("every run has an outcome", text)
        self.assertEqual(self.cluster.count("sbatch"), 1, "watching submits nothing")

    @unittest.skipUnless(os.geteuid() == 0, "only root can act as another user")
    def test_another_user_of_the_results_sees_the_jobs_and_cannot_take_them_over(self):
        os.umask(0o002)
        self.addCleanup(os.umask, 0o022)
        temporary = pathlib.Path(tempfile.gettempdir())  # of this check alone, or the machine's, which all may enter
        for folder, mode in ((temporary, temporary.stat().st_mode | 0o011), (self.folder, 0o775), (self.cluster.folder, 0o755)):
            folder.chmod(mode)
        self.submit(STUDY.replace("[0, 3]", "[0]"))
        self.wait_for(lambda: len(list(self.folder.glob("results/*/*/r*/a1/started.json"))) == 2, "runs that have begun")
        environment = {**self.environment(), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}

        another = ["setpriv", "--reuid", "65534", "--regid", "0", "--clear-groups"]

        def as_another(*arguments):
            return subprocess.Popen([*another, HPCBENCH, *arguments], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        for path, flag in ((HPCBENCH, "-x"), (self.folder / "study.yaml", "-r")):
            if subprocess.run([*another, "test", flag, str(path)]).returncode != 0:
                self.skipTest(f"another user cannot reach {path}")
        said = as_another("status", "study.yaml", "--site", self.site, "--all").communicate(timeout=60)[0]
        self.assertEqual(len(re.findall(r"/r0\d/a1  running .*\(job \d+_\d+ on n\d\)", said)), 2, said)
        run = as_another("run", "study.yaml", "--site", self.site)
        said = run.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(run.returncode, 3, said)
        self.assertIn("belongs to", said)
        self.write("go", "")
        said = self.hpcbench("run", "study.yaml", "--site", self.site).stdout
        self.assertEqual(list(self.folder.glob("results/*/*/r*/a2")), [], said)

    def test_looks_are_as_rare_as_polls_of_run(self):
        self.submit(STUDY)
        self.wait_for(lambda: len(self.cluster.jobs("R")) == 4, "running jobs")
        before = self.cluster.count("squeue")
        begin = time.monotonic()
        watching = self.start("watch", "study.yaml", "--site", self.site)
        self.wait_for(lambda: self.cluster.count("squeue") - before >= 4, "a few looks")
        self.assertLessEqual(self.cluster.count("squeue") - before, 2 + (time.monotonic() - begin))
        watching.send_signal(signal.SIGINT)
        text = watching.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(watching.returncode, 130, text)
        self.assertIn("everything goes on as it was", text)
        self.assertEqual(len(self.cluster.jobs("R")), 4)

    def test_why_jobs_wait_is_said_in_words(self):
        self.write("site.yaml", "executor: slurm\npartition: closed\n")
        self.submit(STUDY)
        watching = self.watch()
        self.wait_for(lambda: all("partition is down" in (run["reason"] or "") for run in self.status()["runs"]), "the reason")
        self.hpcbench("cancel", "--yes")
        text = watching.communicate(timeout=PATIENCE_S)[0]
        self.assertIn("PartitionDown: its partition is down", text)
        self.assertEqual(len(re.findall(r"cancelled: cancelled before it began", text)), 4, text)

    def test_drained_nodes_are_said(self):
        nodes = self.cluster.tool("sinfo", "-h", "-p", "main", "-o", "%N").strip()
        self.cluster.tool("scontrol", "update", f"nodename={nodes}", "state=drain", "reason=test")
        self.addCleanup(self.cluster.tool, "scontrol", "update", f"nodename={nodes}", "state=resume")
        self.write("study.yaml", STUDY)
        running = self.start("run", "study.yaml", "--site", self.site)
        reasons = lambda: [run["reason"] or "" for run in self.status("study.yaml", "--site", self.site)["runs"]]  # noqa: E731
        self.wait_for(lambda: all("nodes that it needs are down, drained" in reason for reason in reasons()), "the reason")
        self.hpcbench("cancel", "--yes")
        text = running.communicate(timeout=PATIENCE_S)[0]
        self.assertIn("nodes that it needs are down, drained", text)

    def test_preempted_is_tried_again_and_said(self):
        self.write("site.yaml", "executor: slurm\npartition: preemptable\n")
        self.write("study.yaml", STUDY.replace("[0, 3]", "[0]").replace("repeats: 2", "repeats: 1").replace("repeats", "retries: {preempted: 5}\nrepeats"))
        running = self.start("run", "study.yaml", "--site", self.site)
        self.wait_for(lambda: self.cluster.jobs("R"), "the job")
        self.cluster.tool("sbatch", "-p", "urgent", "-N4", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 3")
        self.wait_for(lambda: any(run["attempt"] == "a2" for run in self.status("study.yaml", "--site", self.site)["runs"]), "a new attempt")
        self.write("go", "")
        text = running.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(running.returncode, 0, text)
        self.assertIn("preempted", text)

    def test_cancel_of_some_that_wait_leaves_the_others(self):
        self.write("site.yaml", "executor: slurm\npartition: closed\n")
        self.submit(STUDY)
        self.assertEqual(len(self.cluster.jobs("PD")), 4)
        self.hpcbench("cancel", "study.yaml", "--site", self.site, "--yes", "--only", "code=3")
        self.wait_for(lambda: len(self.cluster.jobs("PD")) <= 2, "the end of two")
        self.assertEqual(len(self.cluster.jobs("PD")), 2)
        states = {(run["axes"]["code"], run["state"]) for run in self.status("study.yaml", "--site", self.site)["runs"]}
        self.assertEqual(states, {(0, "submitted"), (3, "cancelled")})

    def test_cancel_at_any_moment_cancels_all(self):
        for number in range(ROUNDS):
            launch = "once" if number % 2 else "rank"
            self.write("endless.yaml", ENDLESS.replace("LAUNCH", launch).replace("endless", f"endless{number}"))
            running = self.start("run", "endless.yaml", "--site", self.site)
            self.wait_for(lambda: self.cluster.jobs("R"), "running jobs")
            time.sleep(random.random())
            self.hpcbench("cancel", "endless.yaml", "--site", self.site, "--yes")
            text = running.communicate(timeout=PATIENCE_S)[0]
            runs = self.status("endless.yaml", "--site", self.site)["runs"]
            other = [(run["path"], run["state"], run["reason"]) for run in runs if run["state"] != "cancelled"]
            self.assertEqual(other, [], text)
            self.wait_for(lambda: self.cluster.jobs("PD,R,CG") == [], "an empty queue")


if __name__ == "__main__":
    unittest.main()
