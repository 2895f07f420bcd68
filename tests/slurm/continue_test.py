"""`continue` on a real Slurm: time limits of jobs, and a run over several of them."""
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import SlurmStudyTest  # noqa: E402
from harness import PATIENCE_S, ROOT  # noqa: E402

# Counts to GOAL, and saves when it is warned.
COUNT = """
import os, pathlib, signal, sys, time
run_dir, goal = pathlib.Path(sys.argv[1]), int(sys.argv[2])
resume = os.environ["HPCBENCH_RESUME_FROM"]
rank = os.environ["RANK"]
step = 0
def save(*_):
    if rank == "0":
        print("warned", flush=True)
        time.sleep(0.5)
        (run_dir / "state").write_text(str(step))
    sys.exit(85)
signal.signal(signal.SIGUSR1, save)
step = int(pathlib.Path(resume, "state").read_text()) if resume else 0
if rank == "0":
    with open("executions", "a") as log:
        log.write(f"{run_dir}\\n")
    with open("segments", "a") as log:
        log.write(f"{os.environ['HPCBENCH_SEGMENT']} {step}\\n")
while step < goal:
    time.sleep(0.1)
    step += 1
print("steps", step)
"""
# Knows no signal, and saves each step.
SAVES_EACH_STEP = COUNT.replace("signal.signal(signal.SIGUSR1, save)\n", "").replace("    step += 1\n", """    step += 1
    if rank == "0":
        (run_dir / "state.tmp").write_text(str(step))
        (run_dir / "state.tmp").rename(run_dir / "state")
""")
STUDY = """
experiment: long
command: [python3, count.py, "{{run_dir}}", "GOAL"]
matrix: {gpus_per_node: [2]}
repeats: 1
resources: {time: LIMIT}
continue: {on: [timeout, preempted, node_failure]}
"""


class Continued(SlurmStudyTest):
    def study(self, goal, limit="60s", more=""):
        self.write("count.py", COUNT)
        self.write("long.yaml", STUDY.replace("GOAL", str(goal)).replace("LIMIT", limit) + more)

    def attempt(self, number):
        return next((self.folder / "results/long").glob(f"*/r01/a{number}"))

    def finished(self, number):
        return json.loads((self.attempt(number) / "finished.json").read_text())

    def segments(self):
        return [tuple(map(int, line.split())) for line in (self.folder / "segments").read_text().splitlines()]

    def all_once(self):
        run, = self.status("long.yaml")["runs"]
        self.assertEqual(run["state"], "succeeded", run)
        self.assertEqual([path for path, count in self.executions().items() if count != 1], [])

    def test_a_job_that_reaches_its_time_limit_is_warned_and_the_next_one_goes_on(self):
        self.study(goal=500)
        self.run_study(name="long.yaml")
        self.all_once()
        segments = self.segments()
        self.assertEqual([number for number, _ in segments], [1, 2])
        self.assertGreater(segments[1][1], 0)
        first = self.finished(1)
        self.assertEqual((first["exit_code"], first.get("warned"), first["timed_out"]), (85, True, False))
        self.assertEqual([rank["exit_code"] for rank in first["processes"]], [85, 85], "both saved, none was ended")
        self.assertEqual((self.attempt(1) / "stdout.log").read_text(), "warned\n", "once, and nothing more")
        self.assertNotEqual((self.attempt(1) / "claim").read_text(), (self.attempt(2) / "claim").read_text())
        self.assertEqual(self.report("long.yaml", "--metric", "wall_s")["rows"][0]["continued"], 1)
        self.assertIn("nothing to do", self.run_study(name="long.yaml").stderr)

    def test_one_that_does_not_want_the_warning_runs_to_its_limit(self):
        self.study(goal=500)
        self.write("long.yaml", (self.folder / "long.yaml").read_text().replace("node_failure]}", "node_failure], warn: 0}"))
        self.write("count.py", SAVES_EACH_STEP)
        self.run_study(name="long.yaml")
        self.all_once()
        self.assertGreater(self.segments()[1][1], 0)
        first = self.finished(1)
        self.assertEqual((first.get("warned"), first["timed_out"]), (None, True))
        queued = self.report("long.yaml", "--metric", "queue_s")["rows"][0]["median"]
        self.assertGreater(queued, 0)

    def test_what_another_job_preempts_goes_on_from_what_it_saved(self):
        self.write("site.yaml", "executor: slurm\npartition: preemptable\n")
        self.study(goal=10000, limit="10m", more="retries: {preempted: 0}\n")
        # Preemption sends SIGTERM: it saves then, too, and does not say that it is done.
        self.write("count.py", COUNT.replace("signal.signal(signal.SIGUSR1, save)", "for each in (signal.SIGUSR1, signal.SIGTERM):\n    signal.signal(each, save)")
                   .replace("while step < goal:", "while step < goal and not os.path.exists('go'):"))
        running = self.start("run", "long.yaml", "--site", self.site)
        self.wait_for(self.executions, "the job")
        self.cluster.tool("sbatch", "-p", "urgent", "-N4", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 3")
        self.wait_for(lambda: len(self.executions()) == 2, "the next segment")
        self.write("go", "")
        text = running.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(running.returncode, 0, text)
        self.all_once()
        self.assertEqual([state for _, state in self.index("long")], ["preempted", "succeeded"])
        self.assertEqual([number for number, _ in self.segments()], [1, 2])
        self.assertRegex((self.attempt(1) / "stopped").read_text(), r"^TERM\nwall_s \d")
        took = float((self.attempt(1) / "stopped").read_text().split()[2])
        self.assertAlmostEqual(self.report("long.yaml")["rows"][0]["median"], took + self.finished(2)["wall_s"], places=3)

    def test_a_run_whose_node_fails_goes_on_elsewhere_from_what_it_saved(self):
        self.study(goal=10000, limit="10m", more="retries: {node_failure: 0}\n")
        self.write("count.py", SAVES_EACH_STEP.replace("while step < goal:", "while step < goal and not os.path.exists('go'):"))
        running = self.start("run", "long.yaml", "--site", self.site)
        self.wait_for(lambda: self.executions() and (self.attempt(1) / "out/state").exists(), "something saved")
        node = self.nodes_of(1)
        for state in ("down", "drain"):  # its slurmd lives, and would bring it back
            self.cluster.tool("scontrol", "update", f"nodename={node}", f"state={state}", "reason=test")
        self.addCleanup(self.cluster.tool, "scontrol", "update", f"nodename={node}", "state=resume")
        self.wait_for(lambda: len(self.executions()) == 2, "the next segment")
        self.write("go", "")
        text = running.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(running.returncode, 0, text)
        self.all_once()
        self.assertEqual([state for _, state in self.index("long")], ["node_failure", "succeeded"])
        (first, _), (second, step) = self.segments()
        self.assertEqual((first, second), (1, 2))
        self.assertGreater(step, 0)
        self.assertNotEqual(self.nodes_of(2), node)

    def nodes_of(self, attempt):
        return json.loads((self.attempt(attempt) / "started.json").read_text())["nodes"]

    def test_in_a_block_the_next_segment_is_in_a_new_block(self):
        self.study(goal=220, limit="20s", more="allocation: {per: block}\n")
        self.run_study(name="long.yaml")
        self.all_once()
        self.assertGreaterEqual(len(self.segments()), 2)
        self.assertEqual(len(list((self.folder / "results/long/batches").iterdir())), len(self.segments()))


if __name__ == "__main__":
    unittest.main()
