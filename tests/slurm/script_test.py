"""Scripts on a real Slurm: texts arrive whole and run nothing, scripts are those that `plan` shows, and a person can run them."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_study import SITE, SlurmStudyTest, without_hash  # noqa: E402


class Scripts(SlurmStudyTest):
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
        self.assertEqual(sorted(p.read_text() for p in self.folder.glob("results/strange/*/r01/a1/out/got")), sorted(texts))
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

    def test_plan_writes_the_scripts_that_run_submits(self):
        self.study(**{"resources:": "overrides: [{when: {k: 4}, resources: {cpus_per_task: 2}}]\nresources:"})
        self.hpcbench("plan", "trivial.yaml", "--site", self.site, "--scripts", "scripts")
        self.run_study()
        results = self.folder / "results/trivial"
        jobs = sorted(path.relative_to(results) for path in results.glob("*/r*/a1/job.sh"))
        self.assertEqual(len(jobs), 20)
        for path in jobs:
            self.assertEqual((results / path).read_bytes(), (self.folder / "scripts" / path).read_bytes(), path)
        # A batch gets its id when it is made, and the hash of its attempts when it is submitted.
        batches = {}
        for place in (results, self.folder / "scripts"):
            batches[place] = sorted(without_hash((batch / "job.sh").read_text().replace(batch.name, "ID"))
                                    + (batch / "attempts.txt").read_text() for batch in (place / "batches").iterdir())
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


if __name__ == "__main__":
    unittest.main()
