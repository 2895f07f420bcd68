"""Each outcome, from a real job on a real Slurm, in `status`, `report` and the database."""
import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import SITE, SlurmStudyTest, only_long  # noqa: E402

LIMIT_S = 12  # of a run that is suspended


class Suspension(SlurmStudyTest):
    """A job that stands still for a while, as where `PreemptMode=SUSPEND` lets another one go first."""

    def suspended(self, name, allocation):
        """A run that goes on after its job was suspended for longer than its limit; what the launcher wrote of it, and the report."""
        self.write(f"{name}.yaml", f"""
experiment: {name}
command: [bash, -c, 'touch {name}.begun; until [ -e {name}.resumed ]; do sleep 0.1; done; sleep 2']
launch: once
matrix: {{nodes: [1]}}
repeats: 1
resources: {{time: {LIMIT_S}s}}
allocation: {{per: {allocation}}}
""")
        process = self.start("run", f"{name}.yaml", "--site", self.site)
        self.wait_for(lambda: (self.folder / f"{name}.begun").exists(), "the program")
        job = self.cluster.jobs("R")[0][0]
        self.cluster.tool("scontrol", "suspend", job)
        time.sleep(LIMIT_S + 1)
        self.cluster.tool("scontrol", "resume", job)
        self.write(f"{name}.resumed", "")
        output, _ = process.communicate(timeout=170)
        self.assertEqual(process.returncode, 0, output)
        finished = json.loads(next(self.folder.glob(f"results/{name}/*/r01/a1/finished.json")).read_text())
        return finished, self.report(f"{name}.yaml")

    def check_suspended(self, name, allocation):
        finished, report = self.suspended(name, allocation)
        self.assertFalse(finished["timed_out"], finished)
        self.assertTrue(LIMIT_S < finished["suspended_s"] < finished["wall_s"] - 1, finished)  # with cgroups the program stops 2 s later
        self.assertGreater(finished["wall_s"], LIMIT_S, finished)
        warning, = [warning for warning in report["warnings"] if warning["code"] == "suspended"]
        self.assertIn(f"for {finished['suspended_s']:.1f} s", warning["seen"])


class Outcomes(Suspension):
    """Each outcome from a real job."""

    def test_succeeded_failed_timeout_and_cancelled(self):
        self.write("outcomes.yaml", """
experiment: outcomes
command: [bash, -c, 'case "{{what}}" in succeeded) ;; failed) exit 3 ;; signal) kill -SEGV $$ ;; timeout) sleep 600 ;;
  cancelled) scancel "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"; sleep 60 ;; high) exit 130 ;; esac']
launch: once
matrix: {what: [succeeded, failed, signal, timeout, cancelled, high]}
repeats: 1
resources: {time: 60s}
""")
        self.run_study(name="outcomes.yaml", code=1)
        runs = {run["axes"]["what"]: run for run in self.status()["runs"]}
        self.assertEqual({what: run["state"] for what, run in runs.items()},
                         {"succeeded": "succeeded", "failed": "failed", "signal": "failed", "timeout": "timeout", "cancelled": "cancelled", "high": "failed"})
        self.assertEqual((runs["failed"]["exit_code"], runs["signal"]["signal"]), (3, 11))
        rows = {row["axes"]["what"]: row for row in self.report("outcomes.yaml")["rows"]}
        self.assertEqual(rows["timeout"]["outcomes"]["timeout"], 1)
        ended_s = rows["timeout"]["censored_at_s"]
        self.assertTrue(40 <= ended_s <= 60, f"Slurm says up to 70 s before the end that it is near; the run went on until 15 s before: {ended_s} s")
        self.shown("outcomes", {"succeeded": 1, "failed": 3, "timeout": 1, "cancelled": 1})

    def test_word_that_the_job_is_ended_may_come_long_after_its_program_has_heard_it(self):
        """squeue answers the launcher as the controller does in a cancelled job, and the word reaches it only 5 s later."""
        self.cluster.fault("squeue", '[[ "$*" != *%T ]] || { echo CANCELLED; (sleep 5; kill -TERM $PPID) < /dev/null > /dev/null 2>&1 & exit; }\n')
        self.addCleanup(self.cluster.fault, "squeue", None)
        self.write("late.yaml", """
experiment: late
command: [bash, -c, 'exit {{code}}']
launch: once
matrix: {code: [143, 5]}
repeats: 1
resources: {time: 60s}
""")
        said = self.run_study(name="late.yaml", code=1).stderr
        self.assertIn("asked to end from outside", said)
        self.shown("late", {"cancelled": 2})

    def test_time_limit_ends_the_step_and_ranks_have_the_time_to_report(self):
        """Rank 0 saves its work when it is asked to end (by Slurm and by what started it); rank 1 does not listen, and is killed with the step."""
        self.write("limit.yaml", """
experiment: limit
command: [bash, -c, 'if [ $RANK = 0 ]; then trap "trap : TERM; echo saved; exit 6" TERM; else trap "" TERM; fi; while true; do sleep 0.1; done']
matrix: {gpus_per_node: [2]}
repeats: 1
resources: {time: 60s}
""")
        self.run_study(name="limit.yaml", code=1)
        self.shown("limit", {"timeout": 1})
        attempt = next(self.folder.glob("results/limit/*/r01/a1"))
        self.assertEqual((attempt / "stdout.log").read_text(), "saved\n")
        finished = json.loads((attempt / "finished.json").read_text())
        self.assertEqual([(process["rank"], process["exit_code"]) for process in finished["processes"]], [(0, 6)])
        self.assertEqual(list(attempt.glob("try*")), [])
        # The batch step is the launcher's, which has said all and ends.
        self.assertNotRegex(self.cluster.tool("squeue", "-h", "-s"), r"(?m)^\s*\d+_\d+\.\d", "steps that run on")

    def test_a_suspended_job_says_for_how_long_it_stood_still(self):
        self.check_suspended("still", "run")

    def test_a_suspended_block_does_not_count_that_against_the_limit_of_its_run(self):
        self.check_suspended("still_block", "block")

    def test_a_full_disk_is_the_reason_why_a_run_is_lost(self):
        disk = self.small_disk(mib=4)
        self.write("full.yaml", """
experiment: full
command: [bash, -c, 'while [ -e hold ]; do sleep 0.1; done; head -c 100000000 /dev/zero > "$HPCBENCH_RUN.big"; true']
launch: once
matrix: {nodes: [1]}
repeats: 1
retries: {lost: 0}
""")
        self.write("hold", "")
        results = ("--results", str(disk / "results"))
        self.run_study("--detach", *results, name="full.yaml")
        (self.folder / "hold").unlink()
        self.wait_for(lambda: not self.cluster.jobs("PD,R,CG"), "the job's end")
        big, = disk.rglob("*.big")
        big.unlink()
        self.run_study(*results, name="full.yaml", code=1)
        run, = self.status("full.yaml", *results)["runs"]
        self.assertEqual(run["state"], "lost")
        self.assertIn("cannot write finished.json: No space left on device", run["reason"])

    def test_lost(self):
        """The job's shell is killed with -9 and leaves no finished.json: known after a minute, in which slow disks may show it."""
        self.write("gone.yaml", """
experiment: gone
command: [bash, -c, 'kill -9 $(sed -n "s/^pid //p" "$1/../claim"); sleep 60', bash, "{{run_dir}}"]
launch: once
matrix: {k: [1]}
repeats: 1
resources: {time: "00:05:00"}
retries: {lost: 0}
""")
        self.run_study(name="gone.yaml", code=1)
        self.shown("gone", {"lost": 1})
        self.assertIn("finished.json", self.status("gone.yaml")["runs"][0]["reason"])

    def test_node_failure_and_a_retry_elsewhere(self):
        self.write("node.yaml", """
experiment: node
command: [bash, -c, 'echo "$SLURMD_NODENAME" >> executions; case "{{run_dir}}" in */a1/out) sleep 600 ;; esac']
launch: once
matrix: {k: [1]}
repeats: 1
resources: {time: "00:10:00"}
""")
        process = self.start("run", "node.yaml", "--site", self.site)
        self.wait_for(self.executions, "the job")
        node = next(iter(self.executions()))
        self.cluster.kill(node)
        output, _ = process.communicate(timeout=170)
        self.cluster.revive(node)
        self.assertEqual(process.returncode, 0, output)
        run = self.status()["runs"][0]
        self.assertEqual((run["state"], run["attempt"]), ("succeeded", "a2"))
        self.assertEqual(len(self.executions()), 2, "on another node")
        self.assertEqual(self.index("node"), [("a1", "node_failure"), ("a2", "succeeded")])
        self.rebuilding_changes_nothing()
        self.assertIn("node_failure", self.hpcbench("show", run["run"] + "/a1").stdout)


    def preempted(self, partition, retries):
        """A study of one run whose first attempt gives way to an urgent job as soon as it runs; what `run` printed."""
        name = f"give_way_{partition}_{retries}"
        self.write("site.yaml", SITE + f"partition: {partition}\n")
        self.write(f"{name}.yaml", f"""
experiment: {name}
command: [bash, -c, 'echo "$1" >> {name}.executions; case "$1" in */a1/out) sleep 600 ;; esac', bash, "{{{{run_dir}}}}"]
launch: rank
matrix: {{nodes: [4]}}
repeats: 1
resources: {{time: "00:10:00", exclusive: true}}
retries: {{preempted: {retries}}}
""")
        process = self.start("run", f"{name}.yaml", "--site", self.site)
        self.wait_for(lambda: list(self.executions(f"{name}.executions").values()) == [4], "all ranks of the job")
        self.cluster.tool("sbatch", "-p", "urgent", "-N4", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 2")
        output, _ = process.communicate(timeout=170)
        self.assertEqual(process.returncode, 1 if retries == 0 else 0, output)
        return name, output

    def test_preempted_is_told_and_run_again_within_retries(self):
        for partition in ("preemptable", "evictable", "lenient"):  # Slurm would requeue, cancels, tells the steps first: our jobs end
            with self.subTest(partition):
                name, output = self.preempted(partition, 1)
                self.assertIn("preempted", output)
                run = next(run for run in self.status(f"{name}.yaml")["runs"])
                self.assertEqual((run["state"], run["attempt"]), ("succeeded", "a2"), output)
                self.assertIn("preempted", self.hpcbench("show", run["run"] + "/a1").stdout)
                self.assertEqual(self.index(name), [("a1", "preempted"), ("a2", "succeeded")])
                self.rebuilding_changes_nothing()
                self.assertEqual(set(self.executions(f"{name}.executions").values()), {4}, "each rank of each attempt once")

    def test_preempted_without_retries_is_an_outcome(self):
        name, output = self.preempted("preemptable", 0)
        status = self.status(f"{name}.yaml")
        self.assertEqual((status["counts"]["preempted"], status["runs"][0]["state"]), (1, "preempted"), output)
        self.assertIn("PREEMPTED", status["runs"][0]["reason"])
        self.shown(name, {"preempted": 1})
        # What only Slurm knew is on disk beside the attempt: an index made again says the same.
        (self.folder / "results/hpcbench.db").unlink()
        self.hpcbench("ingest")
        self.assertEqual(self.index(name), [("a1", "preempted")])


@only_long  # Slurm needs up to two minutes to notice
class Launch(SlurmStudyTest):
    """A prolog that fails on one node: Slurm cancels the job there before it begins, or says NODE_FAIL minutes later."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hpcbench-prolog-", dir="/tmp")
        cls.addClassCleanup(folder.cleanup)
        prolog = pathlib.Path(folder.name) / "prolog"
        prolog.write_text('#!/bin/bash\n[ "$SLURMD_NODENAME" != n0 ]\n')
        prolog.chmod(0o755)
        cls.CLUSTER = ("--set", f"Prolog={prolog}")
        super().setUpClass()

    def test_launch_that_fails_is_a_node_failure_and_tried_elsewhere(self):
        self.study()
        self.run_study()
        self.each_executed_once(20)
        self.shown("trivial", {"succeeded": 20})
        first = [state for attempt, state in self.index("trivial") if attempt == "a1"]
        self.assertIn("node_failure", first)


class Memory(SlurmStudyTest):
    CLUSTER = ("--memory-limits",)

    def test_out_of_memory(self):
        for launch in ("once", "rank"):
            self.write(f"hungry_{launch}.yaml", f"""
experiment: hungry_{launch}
command: [python3, -c, "x = bytearray(300_000_000); print(len(x))"]
launch: {launch}
matrix: {{k: [1]}}
repeats: 1
resources: {{time: "00:02:00", mem: 60M}}
""")
            self.run_study(name=f"hungry_{launch}.yaml", code=1)
            self.shown(f"hungry_{launch}", {"out_of_memory": 1})


class Signals(Suspension):
    """Where Slurm tracks processes by cgroups it signals its direct child alone: the program hears what that passes on."""

    CLUSTER = ("--nodes", "1", "--set", "ProctrackType=proctrack/cgroup")

    def test_a_suspended_job_says_for_how_long_it_stood_still(self):
        self.check_suspended("frozen", "block")

    def test_usr1_and_term_reach_the_program_and_each_rank_reports(self):
        self.write("signals.yaml", """
experiment: signals
command: [bash, -c, 'trap "echo heard USR1" USR1; trap "echo heard TERM; exit 6" TERM; touch ready.$RANK; while true; do sleep 0.1; done']
matrix: {gpus_per_node: [2]}
repeats: 1
resources: {time: "00:05:00", mem: 200M}
""")
        process = self.start("run", "signals.yaml", "--site", self.site)
        self.wait_for(lambda: all((self.folder / f"ready.{rank}").exists() for rank in (0, 1)), "the ranks")
        attempt = next(self.folder.glob("results/signals/*/r01/a1"))
        logs = [attempt / "stdout.log", attempt / "stdout.1.log"]
        job = self.cluster.jobs("R")[0][0]
        self.cluster.tool("scancel", "-s", "USR1", job)
        self.wait_for(lambda: all("USR1" in log.read_text() for log in logs), "USR1 in the programs")
        self.hpcbench("cancel", "signals.yaml", "--site", self.site, "--yes")
        output, _ = process.communicate(timeout=170)
        self.assertEqual([log.read_text() for log in logs], ["heard USR1\nheard TERM\n"] * 2, output)
        finished = json.loads((attempt / "finished.json").read_text())
        self.assertTrue(finished["cancelled"], finished)
        self.assertEqual([process["exit_code"] for process in finished["processes"]], [6, 6])
        self.shown("signals", {"cancelled": 1})


if __name__ == "__main__":
    unittest.main()
