"""Studies on a real Slurm, from `hpcbench run` to the table: submission, restarts, hostile texts, and what it costs."""
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import PROGRAMS, ROOT  # noqa: E402
from slurm_study import SITE, SlurmStudyTest  # noqa: E402


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
        self.each_rank_has_times_and_memory(folder, 4)

    def each_rank_has_times_and_memory(self, attempt, ranks):
        processes = json.loads((attempt / "finished.json").read_text())["processes"]
        self.assertEqual([process["rank"] for process in processes], list(range(ranks)))
        for process in processes:
            self.assertGreater(process["max_rss_bytes"], 1_000_000)
            self.assertGreater(process["user_s"] + process["sys_s"], 0)
        run = self.status()["runs"][0]["run"]
        for name in ("user_s", "sys_s", "max_rss_bytes"):
            self.assertIn(name, self.hpcbench("show", run).stdout)

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
        for folder in (self.folder / "results/pernode").glob("*/r01/a1"):
            processes = json.loads((folder / "finished.json").read_text())["processes"]
            self.assertIn(len(processes), (1, 2))

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

    def test_a_study_that_fails_throughout_stops_and_goes_on_once_it_is_mended(self):
        # The first repeats fail at once. Whatever else has begun by then would take minutes, and the rest waits in the queue.
        self.study(pause='test -e mended && exit; case $1 in */r01/*) echo "no module named torch" >&2; exit 3 ;; *) sleep 600 ;; esac')
        done = self.run_study(code=1)
        self.assertIn("stopped: a run of each of 4 configurations failed in the same way", done.stderr)
        counts = {state: count for state, count in self.status("trivial.yaml")["counts"].items() if count}
        self.assertEqual(counts.pop("failed"), 4, counts)
        self.assertNotIn("running", counts)
        self.assertEqual(self.cluster.jobs("PD,R"), [], "what runs on after the study has stopped")
        (self.folder / "mended").touch()
        self.hpcbench("retry", "trivial.yaml", "--site", self.site)
        self.assertEqual({run["state"] for run in self.status("trivial.yaml")["runs"]}, {"succeeded"})
        self.assertEqual({path: n for path, n in self.executions().items() if n > 1}, {}, "attempts that executed twice")

    def test_nodes_that_cannot_start_hpcbench_stop_the_study_with_that_reason(self):
        self.study()
        launcher = self.write("launcher", "no program\n")
        for code, path in ((127, self.folder / "nowhere/hpcbench"), (126, launcher)):
            self.write("site.yaml", SITE + f"hpcbench: {path}\n")
            done = self.run_study(code=1)
            self.assertIn(f"(exit code {code})", done.stderr)
            self.assertIn("stopped: Slurm job", done.stderr)
            states = {run["state"] for run in self.status("trivial.yaml")["runs"]}
            self.assertLessEqual(states, {"failed", "cancelled"}, "nothing is tried again by itself")
            self.assertEqual(self.executions(), {})
            (self.folder / "results").rename(self.folder / f"results-{code}")

    def test_plan_writes_the_scripts_that_run_submits(self):
        self.study(**{"resources:": "overrides: [{when: {k: 4}, resources: {cpus_per_task: 2}}]\nresources:"})
        self.hpcbench("plan", "trivial.yaml", "--site", self.site, "--scripts", "scripts")
        self.run_study()
        results = self.folder / "results/trivial"
        jobs = sorted(path.relative_to(results) for path in results.glob("*/r*/a1/job.sh"))
        self.assertEqual(len(jobs), 20)
        for path in jobs:
            self.assertEqual((results / path).read_bytes(), (self.folder / "scripts" / path).read_bytes(), path)
        # A batch gets its id when it is made.
        batches = {}
        for place in (results, self.folder / "scripts"):
            batches[place] = sorted((batch / "job.sh").read_text().replace(batch.name, "ID") + (batch / "attempts.txt").read_text()
                                    for batch in (place / "batches").iterdir())
        self.assertEqual(batches[results], batches[self.folder / "scripts"])
        self.assertEqual(len(batches[results]), 2)

    def test_scripts_are_short_and_run_by_hand_in_an_allocation(self):
        self.write("ranks.yaml", """
experiment: ranks
command: [bash, -c, 'echo "$RANK/$WORLD_SIZE $WHERE"; test -f "$HPCBENCH_RUN"']
setup: ["export WHERE=here"]
matrix: {nodes: [2], gpus_per_node: [2]}
repeats: 1
resources: {time: 60s}
""")
        self.run_study(name="ranks.yaml")
        attempt = next((self.folder / "results/ranks").glob("*/r01/a1"))
        for script in (attempt / "job.sh", *self.folder.glob("results/ranks/batches/*/job.sh")):
            self.assertLessEqual(len(script.read_text().splitlines()), 40, script)
        before = {path: path.stat().st_mtime_ns for path in attempt.iterdir()}
        # salloc gives a shell on this machine; sbatch gives the same allocation without a terminal.
        self.cluster.tool("sbatch", "--wait", "-N2", "--ntasks-per-node=2", "-o", "/dev/null", "-D", str(self.folder), "--wrap", f"bash {attempt}/job.sh")
        manual = next(self.folder.glob("manual-*"))
        self.assertEqual((manual / "stdout.3.log").read_text(), "3/4 here\n")
        self.assertEqual({path: path.stat().st_mtime_ns for path in attempt.iterdir()}, before)

    def test_variables_options_of_srun_a_container_and_one_file_for_ranks(self):
        apptainer = self.write("bin/apptainer", "#!/bin/bash\nwhile [[ $1 != *.sif ]]; do shift; done\nshift\nIN_IMAGE=yes exec \"$@\"\n")
        apptainer.chmod(0o755)
        self.write("boxed.yaml", f"""
experiment: boxed
command: [bash, -c, 'echo "$RANK $LEVEL $OMP_NUM_THREADS ${{IN_IMAGE-host}} $SLURM_DISTRIBUTION"']
environment: {{LEVEL: "a b", OMP_NUM_THREADS: "{{{{threads}}}}"}}
setup: ['PATH={self.folder}/bin:$PATH']
srun: ["--distribution={{{{spread}}}}"]
container: torch.sif
output: merged
matrix: {{nodes: [2], gpus_per_node: [2], threads: [5], spread: [cyclic]}}
repeats: 1
resources: {{time: 60s}}
""")
        self.run_study(name="boxed.yaml")
        attempt = next((self.folder / "results/boxed").glob("*/r01/a1"))
        self.assertEqual((attempt / "stdout.log").read_text(), "0 a b 5 yes cyclic\n")
        self.assertEqual(sorted((attempt / "ranks.log").read_text().splitlines()), [f"{rank}: {rank} a b 5 yes cyclic" for rank in (1, 2, 3)])
        self.assertEqual(sorted(path.name for path in attempt.glob("*.log")), ["ranks.log", "stderr.log", "stdout.log"])

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
        self.wait_for(lambda: next(self.folder.glob("results/*/*/r*/a1/finished.json"), None), "a run that ends meanwhile")
        self.cluster.revive("ctld")
        with self.cluster.attended():
            output, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, output)
        executed = self.executions()
        self.assertEqual({path: n for path, n in executed.items() if n > 1}, {})
        self.assertEqual(self.status()["counts"]["succeeded"], 20)


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
command: [bash, -c, 'echo "$1" >> executions; case "$1" in */a1) kill -9 $(sed -n "s/^pid //p" "$1/claim"); sleep 60 ;; esac', bash, "{{run_dir}}"]
launch: once
matrix: {k: [1]}
repeats: 1
resources: {time: "00:02:00"}
""")
        self.run_study(name="gone.yaml")
        self.assertEqual(self.index("gone"), [("a1", "lost"), ("a2", "succeeded")])
        self.assertEqual(sorted(self.executions().values()), [1, 1])


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

    def test_figures_of_accounting_become_metrics(self):
        """One sacct for all runs, after they have ended; and again for those that ended while no hpcbench was there."""
        self.write("figures.yaml", """
experiment: figures
command: [bash, -c, 'sleep 2']
launch: once
matrix: {k: [1, 2]}
repeats: 2
resources: {time: "00:02:00"}
metrics: [{name: elapsed_s, file: sacct.txt, accounting: Elapsed, unit: s}]
report: {metric: elapsed_s}
""")
        self.run_study("--only", "k=1", name="figures.yaml")
        self.run_study("--only", "k=2", "--detach", name="figures.yaml")
        self.wait_for(lambda: self.cluster.jobs() == [], "all jobs")

        def fetched():
            self.run_study(name="figures.yaml")
            return len(list(self.folder.glob("results/figures/*/*/a1/sacct.txt"))) == 4
        self.wait_for(fetched, "accounting of all runs")
        for row in self.report("figures.yaml")["rows"]:
            self.assertEqual(row["n"], 2)
            self.assertGreaterEqual(row["median"], 2)

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


class Probes(SlurmStudyTest):
    """`doctor --probe`: jobs that ask the nodes, and nothing of them is left."""

    def probe(self, *arguments, code, site=SITE):
        self.write("site.yaml", site)
        done = self.hpcbench("doctor", "probed.yaml", "--site", self.site, "--probe", *arguments, code=code)
        self.assertEqual(list(self.folder.glob("results/.probe*")), [], "its folder is removed")
        self.assertEqual(self.cluster.jobs("PD,R"), [], "no job is left")
        self.assertEqual(list(self.folder.glob("results/probed")), [], "it counts as no run")
        return done.stdout

    def setUp(self):
        super().setUp()
        self.write("probed.yaml", """
experiment: probed
command: [bash, -c, "true"]
matrix: {nodes: [1, 2]}
repeats: 1
resources: {time: 60s, gres: "gpu:1"}
""")

    def test_nodes_say_what_they_are(self):
        output = self.probe(code=0)
        self.assertEqual(output.count("hpcbench starts"), 3, "one node, then two")
        self.assertEqual(output.count("the clock of node"), 3)
        self.assertEqual(self.cluster.count("sbatch"), 2 + 2, "two asked with --test-only, two submitted")

    def test_a_program_that_is_not_on_the_node(self):
        output = self.probe(code=1, site=SITE + "hpcbench: /nowhere/hpcbench\n")
        self.assertIn("/nowhere/hpcbench does not start", output)
        self.assertIn("`hpcbench: PATH` in the site's file", output)

    def test_modules_and_setup_that_fail_in_the_job(self):
        output = self.probe("--set", "setup=['echo no license here >&2', 'exit 9']", code=1)
        self.assertIn("exit status 9", output)
        self.assertIn("no license here", output)
        output = self.probe("--set", "modules=[nosuchmodule]", code=1)
        self.assertIn("the launcher fail", output)

    def test_a_job_that_waits_is_cancelled_at_the_limit_and_named(self):
        output = self.probe("--probe-timeout", "3s", code=1, site=SITE + 'extra: ["--begin=now+1hour"]\n')
        self.assertIn("did not begin within", output)
        self.assertIn("--probe-timeout", output)

    def test_ctrl_c_leaves_nothing(self):
        self.write("site.yaml", SITE + 'extra: ["--begin=now+1hour"]\n')
        process = self.start("doctor", "probed.yaml", "--site", self.site, "--probe")
        end = time.monotonic() + 60
        while len(self.cluster.jobs("PD")) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertEqual(list(self.folder.glob("results/.probe*")), [])
        self.assertEqual(self.cluster.jobs("PD,R"), [])


class Cost(SlurmStudyTest):
    def test_many_runs_cost_few_calls_and_little_time(self):
        runs = 200  # bench/slurm_work.py does it with 1,000, against an array written by hand
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
