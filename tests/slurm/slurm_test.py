"""Studies on a real Slurm, from `hpcbench run` to the table: outcomes, restarts, and what it costs."""
import collections
import contextlib
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import PROGRAMS, ROOT, SlurmTest  # noqa: E402

LONG = os.environ.get("HPCBENCH_LONG") == "1"
SITE = "executor: slurm\n"
STUDY = """
experiment: trivial
command: [bash, -c, 'echo "$1" >> executions; PAUSE', bash, "{{run_dir}}"]
launch: once
matrix: {k: [1, 2, 3, 4]}
repeats: 5
resources: {time: "00:02:00"}
"""


class SlurmStudyTest(SlurmTest):
    def setUp(self):
        super().setUp()
        self.site = str(self.write("site.yaml", SITE))

    def study(self, pause="true", **replacements):
        text = STUDY.replace("PAUSE", pause)
        for old, new in replacements.items():
            text = text.replace(old, new)
        self.write("trivial.yaml", text)

    def executions(self, name="executions"):
        path = self.folder / name
        return collections.Counter(path.read_text().splitlines() if path.exists() else [])

    def run_study(self, *arguments, name="trivial.yaml", code=0, env=None):
        return self.hpcbench("run", name, "--site", self.site, *arguments, code=code, env=env)

    def index(self, experiment):
        """[(attempt, outcome), ...] as the database has them."""
        with contextlib.closing(sqlite3.connect(self.folder / "results/hpcbench.db")) as database:
            return database.execute("SELECT 'a' || attempt, state FROM attempt WHERE experiment = ? ORDER BY attempt", (experiment,)).fetchall()

    def shown(self, experiment, outcomes):
        """These outcomes, {state: runs}, in `status`, in `report` and in the database."""
        counts = {state: count for state, count in self.status(f"{experiment}.yaml")["counts"].items() if count}
        self.assertEqual(counts, outcomes, "status")
        reported = collections.Counter()
        for row in self.report(f"{experiment}.yaml")["rows"]:
            reported.update({state: count for state, count in row["outcomes"].items() if count})
        self.assertEqual(reported, outcomes, "report")
        with contextlib.closing(sqlite3.connect(self.folder / "results/hpcbench.db")) as database:
            rows = database.execute("SELECT state, count(*) FROM run WHERE experiment = ? GROUP BY state", (experiment,)).fetchall()
        self.assertEqual(dict(rows), outcomes, "database")

    def each_executed_once(self, runs):
        executed = self.executions()
        self.assertEqual({path: n for path, n in executed.items() if n > 1}, {}, "attempts that executed twice")
        counts = collections.Counter(str(pathlib.Path(path).parent) for path in executed.elements())
        self.assertEqual((len(counts), set(counts.values())), (runs, {1}), "runs that executed, and how often")


class Studies(SlurmStudyTest):
    def test_from_file_to_table_with_one_sbatch(self):
        self.study()
        self.run_study()
        self.each_executed_once(20)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        table = self.report("trivial.yaml")
        self.assertEqual([row["outcomes"] for row in table["rows"]], [{"succeeded": 5}] * 4)
        self.assertTrue(all(row["median"] is not None for row in table["rows"]))
        self.assertIn("nothing to do", self.run_study().stderr)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        runs = self.status()["runs"]
        self.assertEqual({run["executor"] for run in runs}, {"slurm"})
        self.assertTrue(all(run["job"] for run in runs))
        before = self.hpcbench("report", "--format", "json").stdout
        (self.folder / "results/hpcbench.db").unlink()
        self.assertEqual(self.hpcbench("report", "--format", "json").stdout, before)

    def test_ranks_over_two_nodes(self):
        self.write("ranks.yaml", """
experiment: ranks
command: [bash, -c, 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $OMP_NUM_THREADS $MASTER_ADDR:$MASTER_PORT $SLURMD_NODENAME"']
matrix: {nodes: [2], gpus_per_node: [2]}
repeats: 1
resources: {cpus_per_task: 3, time: 60s}
""")
        self.run_study(name="ranks.yaml")
        folder = next((self.folder / "results/ranks").glob("*/r01/a1"))
        lines = [(folder / name).read_text().split() for name in ("stdout.log", "stdout.1.log", "stdout.2.log", "stdout.3.log")]
        self.assertEqual([line[:5] for line in lines], [[f"{r}/4", f"{r % 2}/2", str(r // 2), str(r // 2), "3"] for r in range(4)])
        self.assertEqual(len({line[5] for line in lines}), 1, "one address and port for all")
        self.assertEqual(len({line[6] for line in lines}), 2, "two nodes")

    def test_one_process_a_node_and_one_a_run(self):
        self.write("torchrun.yaml", """
experiment: pernode
command: [bash, -c, 'echo "$SLURMD_NODENAME" >> executions']
launch: node
overrides: [{when: {who: once}, launch: once}]
matrix: {who: [node, once], nodes: [2], gpus_per_node: [2]}
repeats: 1
resources: {time: 60s}
""")
        self.run_study(name="torchrun.yaml")
        self.assertEqual(sum(self.executions().values()), 3)

    def test_users_own_settings_of_slurm_change_nothing(self):
        self.study()
        self.run_study(env={"SQUEUE_PARTITION": "closed", "SQUEUE_STATES": "PD", "SBATCH_PARTITION": "closed", "SBATCH_TIMELIMIT": "1",
                            "SBATCH_ARRAY_INX": "0-1", "SLURM_JOB_NAME": "x", "SQUEUE_FORMAT": "%i", "SACCT_FORMAT": "jobid"})
        self.each_executed_once(20)

    def test_strange_texts_arrive_whole_and_run_nothing(self):
        texts = ["it's \"quoted\"", "$(touch injected)", "`touch injected`", "a\nb; touch injected", "größe 雪 \U0001f600", "--x", "#SBATCH -N 99", "* ? ~"]
        self.write("strange.yaml", f"""
experiment: strange
command: [bash, -c, 'printf "%s" "$1" > "$2/got"', bash, "{{{{text}}}}", "{{{{run_dir}}}}"]
launch: once
matrix: {{text: {json.dumps(texts, ensure_ascii=False)}}}
repeats: 1
resources: {{time: 60s}}
""")
        self.run_study(name="strange.yaml")
        self.assertEqual(sorted(p.read_text() for p in self.folder.glob("results/strange/*/r01/a1/got")), sorted(texts))
        self.assertEqual(list(self.folder.rglob("injected")), [])

    def test_strange_comments_arrive_whole_and_what_could_do_harm_is_refused_in_check(self):
        self.study()
        study = (self.folder / "trivial.yaml").read_text()
        self.write("trivial.yaml", 'description: "a\\n touch injected\\n$(touch injected) `touch injected` \\" \' 雪"' + study)
        comment = "a b; touch injected # ü & | > x"
        self.write("site.yaml", SITE + f'extra: ["--comment={comment}"]\n')
        self.run_study()
        self.each_executed_once(20)
        self.assertIn(f"Comment={comment}", self.cluster.tool("scontrol", "-o", "show", "job"))
        for text in ("$(touch injected)", "`touch injected`", "a'b", 'a\\"b', "a\\nb", "a\\\\b"):
            for line in (f'partition: "{text}"', f'account: "{text}"', f'extra: ["--comment={text}"]'):
                self.write("site.yaml", SITE + line + "\n")
                refused = self.hpcbench("check", "trivial.yaml", "--site", self.site, code=2)
                self.assertIn("error: ", refused.stderr + refused.stdout, line)
        for name in ("a b", "a;b", "$(touch injected)", "a/b", "-a", "ä"):
            self.write("named.yaml", study.replace("experiment: trivial", f'experiment: "{name}"'))
            self.hpcbench("check", "named.yaml", "--site", self.site, code=2)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        self.assertEqual(list(self.folder.rglob("injected")), [])

    def test_folder_with_a_strange_name(self):
        folder = self.folder / "a b'c $(touch injected) é"
        folder.mkdir()
        self.study()
        (folder / "trivial.yaml").write_text((self.folder / "trivial.yaml").read_text())
        self.hpcbench("run", "trivial.yaml", "--site", self.site, "--results", str(folder / "results"))
        self.each_executed_once(20)
        self.assertEqual(list(self.folder.rglob("injected")), [])

    def test_refusal_is_said_and_nothing_is_lost(self):
        self.study()
        self.write("site.yaml", SITE + "partition: nosuch\n")
        done = self.run_study(code=3)
        self.assertIn("nvalid partition", done.stderr)
        self.assertEqual(sum(self.executions().values()), 0)
        self.write("site.yaml", SITE)
        self.run_study()
        self.each_executed_once(20)

    def test_job_that_waits_says_why(self):
        self.study()
        self.write("site.yaml", SITE + "partition: closed\n")
        self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: len(self.cluster.jobs("PD")) == 20, "jobs in the queue")
        self.wait_for(lambda: all("PartitionDown" in (run["reason"] or "") or "down" in (run["reason"] or "") for run in self.status()["runs"]),
                      "the reason in `status`")
        self.hpcbench("cancel", "--yes")
        self.wait_for(lambda: self.cluster.jobs("PD") == [], "an empty queue")
        self.wait_for(lambda: self.status()["counts"]["cancelled"] == 20, "outcomes")
        self.assertEqual(sum(self.executions().values()), 0)

    def test_cancel_of_running_jobs(self):
        self.study(pause="sleep 600")
        process = self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: sum(self.executions().values()) >= 4, "running jobs")
        self.hpcbench("cancel", "--yes")
        process.communicate(timeout=120)
        other = [(run["path"], run["state"], run["reason"]) for run in self.status()["runs"] if run["state"] != "cancelled"]
        self.assertEqual(other, [])
        self.wait_for(lambda: self.cluster.jobs("PD,R,CG") == [], "an empty queue")

    @unittest.skipUnless((PROGRAMS / "hpcbench-train").exists(), "the trainer is not built")
    def test_ddp_over_two_nodes(self):
        (self.folder / "data").symlink_to(ROOT / "data")
        shutil.copy(ROOT / "experiments/mnist_rnn.yaml", self.folder)
        self.hpcbench("run", "mnist_rnn.yaml", "--site", self.site, "--set", "matrix.nodes=[1, 2]", "--set", "matrix.gpus_per_node=[1, 2]",
                      "--set", "matrix.epochs=[1]", "--set", "exclude=[{strategy: baseline, nodes: 2}, {strategy: baseline, gpus_per_node: 2}]",
                      "--set", "warmups=0", "--repeats", "1", "--set", "parameters.max_steps=20", code=None)
        bad = [(run["axes"], run["state"], run["reason"]) for run in self.status()["runs"] if run["state"] not in ("succeeded", "planned")]
        self.assertEqual(bad, [])
        table = self.report()
        rows = {(row["axes"]["strategy"], row["axes"]["nodes"], row["axes"]["gpus_per_node"]): row["median"] for row in table["rows"]}
        wanted = {("baseline", 1, 1), *itertools.product(["ddp"], [1, 2], [1, 2])}
        self.assertEqual({key for key, median in rows.items() if median is not None}, wanted)
        runs = {tuple(run["axes"][axis] for axis in ("strategy", "nodes", "gpus_per_node")): pathlib.Path(run["path"])
                for run in self.status()["runs"] if run["path"]}
        for (_, nodes, gpus), path in runs.items():
            # Each slurmd is a node of its own, and each rank tells its own losses.
            place = json.loads((path / "started.json").read_text())["nodes"]
            self.assertEqual("-" in place or "," in place, nodes == 2, place)
            self.assertEqual(len(list(path.glob("stdout*.log"))), nodes * gpus, path)
        self.assertIn("ddp", self.hpcbench("report", "--format", "markdown").stdout)


class Restarts(SlurmStudyTest):
    def test_killed_in_the_middle_and_run_again(self):
        self.study(pause="sleep 1")
        for wait in (0.1, 0.5, 1.5):
            process = self.start("run", "trivial.yaml", "--site", self.site)
            time.sleep(wait)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        self.run_study()
        self.each_executed_once(20)

    def test_detached_and_taken_up_again(self):
        self.study(pause="sleep 1")
        self.run_study("--detach")
        self.run_study()
        self.each_executed_once(20)
        self.assertEqual(self.cluster.count("sbatch"), 1)

    def test_two_at_once(self):
        self.study(pause="sleep 0.5")
        both = [self.start("run", "trivial.yaml", "--site", self.site) for _ in range(2)]
        outputs = [process.communicate(timeout=120)[0] for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0], outputs)
        self.each_executed_once(20)
        self.assertEqual(self.cluster.count("sbatch"), 1)

    def test_controller_killed_and_restarted(self):
        self.write("site.yaml", SITE + "gres_type: none\n")  # see KILLS_CONTROLLER in fault_trials.py
        self.study(pause="sleep 2")
        process = self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: sum(self.executions().values()) >= 4, "running jobs")
        self.cluster.kill("ctld")
        time.sleep(2)
        self.cluster.revive("ctld")
        with self.cluster.attended():
            output, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, output)
        executed = self.executions()
        self.assertEqual({path: n for path, n in executed.items() if n > 1}, {})
        self.assertEqual(self.status()["counts"]["succeeded"], 20)


class Outcomes(SlurmStudyTest):
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
        self.assertEqual(rows["timeout"]["censored_at_s"], 60)
        self.shown("outcomes", {"succeeded": 1, "failed": 3, "timeout": 1, "cancelled": 1})

    def test_lost(self):
        """The job's shell is killed with -9 and leaves no finished.json: known after a minute, in which slow disks may show it."""
        self.write("gone.yaml", """
experiment: gone
command: [bash, -c, 'kill -9 $(sed -n "s/^pid //p" "$1/claim"); sleep 60', bash, "{{run_dir}}"]
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
command: [bash, -c, 'echo "$SLURMD_NODENAME" >> executions; case "{{run_dir}}" in */a1) sleep 600 ;; esac']
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
        self.assertIn("node_failure", self.hpcbench("show", run["run"] + "/a1").stdout)


    def preempted(self, partition, retries):
        """A study of one run whose first attempt gives way to an urgent job as soon as it runs; what `run` printed."""
        name = f"give_way_{partition}_{retries}"
        self.write("site.yaml", SITE + f"partition: {partition}\n")
        self.write(f"{name}.yaml", f"""
experiment: {name}
command: [bash, -c, 'echo "$1" >> {name}.executions; case "$1" in */a1) sleep 600 ;; esac', bash, "{{{{run_dir}}}}"]
launch: rank
matrix: {{nodes: [4]}}
repeats: 1
resources: {{time: "00:10:00", exclusive: true}}
retries: {{preempted: {retries}}}
""")
        process = self.start("run", f"{name}.yaml", "--site", self.site)
        self.wait_for(lambda: len(self.executions(f"{name}.executions")) == 1, "the job")
        self.cluster.tool("sbatch", "-p", "urgent", "-N4", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 2")
        output, _ = process.communicate(timeout=170)
        self.assertEqual(process.returncode, 1 if retries == 0 else 0, output)
        return name, output

    def test_preempted_is_told_and_run_again_within_retries(self):
        for partition in ("preemptable", "evictable"):  # Slurm would requeue, Slurm cancels: our jobs end either way
            with self.subTest(partition):
                name, output = self.preempted(partition, 1)
                self.assertIn("preempted", output)
                run = next(run for run in self.status(f"{name}.yaml")["runs"])
                self.assertEqual((run["state"], run["attempt"]), ("succeeded", "a2"), output)
                self.assertIn("preempted", self.hpcbench("show", run["run"] + "/a1").stdout)
                self.assertEqual(self.index(name), [("a1", "preempted"), ("a2", "succeeded")])
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


@unittest.skipUnless(LONG, "Slurm needs up to two minutes to notice: --long")
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


class Forgotten(SlurmStudyTest):
    """A cluster without accounting that forgets jobs soon after their end: their own files must tell."""
    CLUSTER = ("--set", "MinJobAge=2")

    def test_taken_up_after_slurm_has_forgotten(self):
        self.study()
        self.run_study("--detach")
        self.wait_for(lambda: sum(self.executions().values()) == 20, "all jobs")
        self.wait_for(lambda: self.cluster.jobs() == [], "Slurm's forgetting")
        self.run_study()
        self.each_executed_once(20)

    def test_killed_without_a_word_and_forgotten(self):
        """A job that leaves no finished.json and that Slurm has forgotten is lost, then run again."""
        self.write("gone.yaml", """
experiment: gone
command: [bash, -c, 'echo x >> executions; case "{{run_dir}}" in */a1) while kill -9 $PPID; do sleep 0.1; done ;; esac']
launch: once
matrix: {k: [1]}
repeats: 1
resources: {time: "00:02:00"}
""")
        self.run_study(name="gone.yaml", code=None)
        self.assertIn(self.status()["runs"][0]["state"], ("succeeded", "failed"))


class Accounting(SlurmStudyTest):
    CLUSTER = ("--accounting", "--set", "MinJobAge=2")

    def test_from_file_to_table(self):
        self.study()
        self.run_study()
        self.each_executed_once(20)

    def test_killed_in_the_middle_and_run_again(self):
        self.study(pause="sleep 1")
        process = self.start("run", "trivial.yaml", "--site", self.site)
        self.wait_for(lambda: self.cluster.count("sbatch") == 1, "the submission")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.wait_for(lambda: sum(self.executions().values()) == 20, "all jobs")
        self.run_study()
        self.each_executed_once(20)

    def test_submit_limit_is_waited_out(self):
        self.study()
        self.write("site.yaml", SITE + "qos: tight\n")
        self.run_study("--only", "k=1")
        self.assertEqual(sum(self.executions().values()), 5)

    def test_doctor_knows_the_accounts(self):
        self.study()
        self.write("site.yaml", SITE + "account: nobody\n")
        self.assertIn("bench", self.hpcbench("doctor", "trivial.yaml", "--site", self.site, code=1).stdout)
        self.write("site.yaml", SITE + "account: bench\n")
        self.hpcbench("doctor", "trivial.yaml", "--site", self.site)
        self.assertEqual(self.cluster.jobs(), [])


class Cost(SlurmStudyTest):
    def test_many_runs_cost_few_calls_and_little_time(self):
        runs = 200  # bench/slurm_bench.py does it with 1,000, against an array written by hand
        self.study(**{"[1, 2, 3, 4]": str(list(range(1, runs // 5 + 1)))})
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        self.run_study()
        took = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.each_executed_once(runs)
        self.assertEqual(self.cluster.count("sbatch"), 1)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{runs} runs: {took:.1f} s, {cpu:.2f} s of CPU with all tools, "
              + ", ".join(f"{self.cluster.count(tool)} {tool}" for tool in ("sbatch", "squeue", "sacct", "scancel", "scontrol")), file=sys.stderr)
        self.assertLess(self.cluster.count("squeue"), 10 + 1.1 * took)
        self.assertLess(cpu, 5)


if __name__ == "__main__":
    unittest.main()
