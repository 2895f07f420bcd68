"""`inject`: faults that a run meets once, what hpcbench notes of them, and how long the run took to recover."""
import json
import os
import pathlib
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

STUDY = """
experiment: tiny
command: [python3, count.py, "{{goal}}", "0.05"]
matrix: {gpus_per_node: [2], goal: [40]}
repeats: 1
"""
# A launcher that starts its ranks again, all of them, as torchrun --max-restarts does.
LAUNCHER = """
import os, subprocess, sys
ranks = 2
for restart in range(3):
    print("start", restart, flush=True)
    workers = []
    for rank in range(ranks):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks))
        if restart:
            environment["HPCBENCH_RESUME_FROM"] = os.environ["HPCBENCH_RUN_DIR"]
        workers.append(subprocess.Popen([sys.executable, *sys.argv[1:]], env=environment))
    codes = []
    for worker in reversed(workers):  # rank 1 first
        codes.append(worker.wait())
        if codes[-1] != 0:
            for other in workers:
                other.kill()
                other.wait()
            break
    if codes == [0] * ranks:
        sys.exit(0)
sys.exit(1)
"""


class Inject(StudyTest):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "examples/faults/count.py", self.folder)

    def study(self, more):
        self.write("tiny.yaml", STUDY + more)

    def record(self, attempt=1):
        """(folder of an attempt, what injected*.jsonl note there)"""
        folder, = self.folder.glob(f"results/tiny/*/r01/a{attempt}")
        files = sorted(folder.glob("injected*.jsonl"))
        return folder, [json.loads(line) for path in files for line in path.read_text().splitlines()]

    def run_of(self):
        run, = self.status("tiny.yaml")["runs"]
        return run

    def events(self, folder, rank=0):
        path = folder / "out" / (f"events.{rank}.jsonl" if rank else "events.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def test_a_rank_is_killed_at_a_step_and_the_run_goes_on_from_what_it_saved(self):
        self.study("inject: {kill_rank: {step: 18}}\ncontinue: {on: [failed]}\n")
        self.assertIn("it is continued", self.hpcbench("run", "tiny.yaml").stderr)
        first, noted = self.record(1)
        self.assertEqual([(each["fault"], each["rank"]) for each in noted], [("kill_rank", 1)])
        self.assertRegex(noted[0]["text"], r"^rank 1 got SIGKILL at step 18, after \d+\.\d s$")
        ends = json.loads((first / "finished.json").read_text())
        self.assertEqual((ends["first_failed_rank"], ends["signal"]), (1, signal.SIGKILL))
        self.assertGreaterEqual(max(e["step"] for r in (0, 1) for e in self.events(first, r)), 18)
        # Once: the segment after it meets nothing, and says where the fault was.
        second, none = self.record(2)
        self.assertEqual(none, [])
        described = json.loads((second / "run.json").read_text())
        self.assertEqual((described["injected_in"], "inject" in described), (1, False))
        run = self.run_of()
        self.assertEqual((run["state"], run["path"][-2:]), ("succeeded", "a2"))
        reason = self.hpcbench("show", "tiny/" + str(first.relative_to(self.folder / "results/tiny"))).stdout
        self.assertIn("injected fault (rank 1 got SIGKILL", reason)
        # From the kill to the first step of that rank which the run had not done before.
        struck = noted[0]["t"]
        reached = max(e["step"] for r in (0, 1) for e in self.events(first, r) if e["t"] <= struck)
        new = next(e["t"] for e in self.events(second, 1) if e["step"] > reached)
        report = self.report("tiny.yaml", "--metric", "recovery_s")
        self.assertAlmostEqual(report["rows"][0]["median"], new - struck, places=2)
        self.assertIn("1 of 1 runs, in 1 of 1 rows, met a fault that `inject` asked for", report["notes"])
        self.hpcbench("db", "rebuild")
        self.assertAlmostEqual(self.report("tiny.yaml", "--metric", "recovery_s")["rows"][0]["median"], new - struck, places=2)

    def test_a_kill_by_time_ends_the_run_where_nothing_goes_on_and_a_retry_by_hand_meets_it_again(self):
        self.study("inject: {kill_rank: {at: 0.3 s, rank: 0, signal: TERM}}\n")
        self.hpcbench("run", "tiny.yaml", code=1)
        folder, noted = self.record()
        self.assertEqual(json.loads((folder / "finished.json").read_text())["signal"], signal.SIGTERM)
        self.assertRegex(noted[0]["text"], r"^rank 0 got SIGTERM after 0\.\d s$")
        run = self.run_of()
        self.assertEqual(run["state"], "failed")
        self.assertIn("injected fault (rank 0 got SIGTERM", run["reason"])
        self.hpcbench("retry", "tiny.yaml", code=1)
        self.assertEqual(len(self.record(2)[1]), 1)

    def test_a_retry_of_its_own_accord_begins_anew_without_the_fault(self):
        self.study("inject: {kill_rank: {step: 5}}\nretries: {failed: 1}\n")
        self.hpcbench("run", "tiny.yaml")
        first, noted = self.record(1)
        second, none = self.record(2)
        self.assertEqual((len(noted), none), (1, []))
        self.assertEqual(self.events(second)[0]["step"], 1)
        recovered = self.report("tiny.yaml", "--metric", "recovery_s")["rows"][0]["median"]
        self.assertGreater(recovered, self.events(second)[0]["t"] - noted[0]["t"])

    def test_a_launcher_that_starts_its_ranks_again_recovers_within_the_attempt(self):
        self.write("launch.py", LAUNCHER)
        self.study("inject: {kill_rank: {step: 18, rank: 1}}\nlaunch: node\n")
        text = (self.folder / "tiny.yaml").read_text()
        self.write("tiny.yaml", text.replace("[python3, count.py", "[python3, launch.py, count.py"))
        self.hpcbench("run", "tiny.yaml")
        folder, noted = self.record()
        self.assertEqual([each["rank"] for each in noted], [1])
        steps = [event["step"] for event in self.events(folder, 1)]
        self.assertEqual((steps.count(1), steps[-1]), (1, 40), steps)  # it went on from what rank 0 had saved
        self.assertEqual((folder / "stdout.log").read_text(), "start 0\nstart 1\n")
        self.assertEqual(self.report("tiny.yaml", "--metric", "recovery_s")["rows"][0]["n"], 1)

    def test_a_slow_node_is_stopped_for_a_part_of_the_time(self):
        self.study("inject: {slow_node: {by: 4, from: 0.2 s, for: 10m}}\nworkdir: attempt\n")
        self.write("busy.py", "import os, resource, time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass\n"
                              "used = resource.getrusage(resource.RUSAGE_SELF)\nopen('used.' + os.environ['RANK'], 'w').write(str(used.ru_utime + used.ru_stime))\n")
        text = (self.folder / "tiny.yaml").read_text().replace('count.py, "{{goal}}", "0.05"', f"{self.folder}/busy.py")
        self.write("tiny.yaml", text.replace("gpus_per_node: [2], goal: [40]", "nodes: [2]"))
        self.hpcbench("run", "tiny.yaml", "--simulate-nodes")
        folder, noted = self.record()
        self.assertEqual([(each["fault"], each["rank"]) for each in noted], [("slow_node", 1)])
        self.assertRegex(noted[0]["text"], r"^node 1 slowed by 4 after 0\.\d s$")
        self.assertLess(float((folder / "out/used.1").read_text()), 1.6)  # processor time of 2 s by the clock, of which it has a quarter
        self.assertEqual(self.run_of()["state"], "succeeded")

    def test_a_run_that_ends_before_its_fault_says_so(self):
        self.study("inject: {kill_rank: {at: 10m}}\n")
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.record()[1], [])
        warnings = self.report("tiny.yaml")["warnings"]
        self.assertIn("not-injected", [each["code"] for each in warnings], warnings)

    def test_the_same_where_a_script_starts_the_ranks(self):
        self.study("inject: {kill_rank: {step: 18}}\ncontinue: {on: [failed]}\nlauncher: mpirun\n")
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        text = (self.folder / "tiny.yaml").read_text().replace("gpus_per_node: [2]", "ranks_per_node: [2]")
        self.write("tiny.yaml", text)
        self.hpcbench("run", "tiny.yaml", env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assertEqual([each["rank"] for each in self.record()[1]], [1])

    def test_a_program_that_fails_and_has_saved_nothing_is_not_continued(self):
        self.study("continue: {on: [failed]}\n")
        self.write("count.py", "import sys\nsys.exit(3)\n")
        self.hpcbench("run", "tiny.yaml", code=1)
        self.assertEqual(len(list(self.folder.glob("results/tiny/*/r01/a*"))), 1)

    def test_the_example_compares_runs_with_and_without_the_fault(self):
        os.symlink(ROOT / "examples", self.folder / "examples")
        self.hpcbench("run", "examples/faults/recovery.yaml")
        rows = {row["axes"]["fault"]: row for row in self.report("examples/faults/recovery.yaml", "--metric", "recovery_s")["rows"]}
        self.assertEqual((rows["kill"]["n"], rows["none"]["n"]), (3, 0), rows)
        self.assertEqual(rows["kill"]["continued"], 3)
        self.assertNotIn("not-injected", [w["code"] for w in self.report("examples/faults/recovery.yaml")["warnings"]])


class Identity(StudyTest):
    def ids(self, more):
        self.write("tiny.yaml", STUDY + more)
        return [each["config_id"] for each in json.loads(self.hpcbench("plan", "tiny.yaml", "--format", "json").stdout)["rows"]]

    def test_a_fault_is_part_of_what_is_run_and_none_is_not(self):
        plain = self.ids("")
        self.assertNotEqual(self.ids("inject: {kill_rank: {at: 30s}}\n"), plain)
        self.assertEqual(self.ids("inject: {kill_rank: {at: 30 s}}\n"), self.ids("inject: {kill_rank: {at: \"0:00:30\"}}\n"))
        self.assertEqual(self.ids("inject: {slow_node: {by: 1}}\n"), plain)
        self.assertEqual(self.ids("inject: {}\n"), plain)

    def test_values_may_come_from_an_axis_and_are_checked_for_each_point(self):
        self.write("tiny.yaml", STUDY.replace("goal: [40]", "goal: [40], kill_at: [none, 30s]") + 'inject: {kill_rank: {at: "{{kill_at}}"}}\n')
        for command in ("check", "plan"):
            said = self.hpcbench(command, "tiny.yaml")
            self.assertIn("`inject` hits the runs of 1 of 2 configurations: rank 1 gets SIGKILL after 30 s", said.stdout + said.stderr)
            self.assertIn("`continue: {on: [failed]}` or `retries: {failed: 1}` lets it go on", said.stdout + said.stderr)
        self.write("tiny.yaml", STUDY.replace("goal: [40]", "goal: [40], kill_at: [soon]") + 'inject: {kill_rank: {at: "{{kill_at}}"}}\n')
        self.assertIn("`inject.kill_rank.at` is `soon`", self.hpcbench("check", "tiny.yaml", code=2).stderr)
        self.write("tiny.yaml", STUDY + "inject: {kill_rank: {at: 30s, rank: 2}}\n")
        self.assertIn("`inject.kill_rank.rank` is 2, and there are 2 ranks", self.hpcbench("check", "tiny.yaml", code=2).stderr)
        self.write("tiny.yaml", STUDY + "inject: {slow_node: {by: 2}}\nlaunch: once\n")
        self.assertIn("with `launch: once` the command starts them", self.hpcbench("check", "tiny.yaml", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
