"""The executor `commands`, against a batch system of scripts (tests/fakes/batch_system.py). A real Grid Engine: tests/gridengine."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from commands_study import FAKE_SITE, CommandsStudy  # noqa: E402


class Commands(CommandsStudy):
    def test_each_run_is_one_job(self):
        self.study(more="partition: fast\nresources: {time: 90s, mem: 2G, cpus_per_task: 3}")
        said = self.run_study()
        self.assertIn("4 of 4 runs succeeded", said.stderr)
        self.check_each_once(4)
        names = self.submitted()
        self.assertEqual((len(names), len(set(names))), (4, 4))
        self.assertTrue(all(name.startswith("hb.s.") for name in names), names)
        script = (self.batch / "1.copy").read_text()
        self.assertIn("\n#FAKE cpus 3 of 3 on 1 mem 2G\n#FAKE limit 00:02:30 150 3\n#FAKE queue fast\n", script)
        run, = self.report("s.yaml", "--site", self.site)["rows"][0]["runs"][:1]
        self.assertEqual(run["outcome"], "succeeded")
        self.assertIn("nothing to do", self.run_study().stderr)
        self.assertEqual(len(self.submitted()), 4)

    def test_a_line_without_a_value_is_left_out(self):
        self.study(repeats=1, matrix="n: [1]")
        self.run_study()
        script = (self.batch / "1.copy").read_text()
        self.assertNotIn("limit", script)
        self.assertNotIn("queue", script)
        self.assertIn("\n#FAKE cpus 1 of 1 on 1\n", script)

    def test_killed_between_submission_and_record(self):
        self.study()
        self.say("kill", "hold")
        killed = self.run_study(code=None)
        self.assertEqual(killed.returncode, -9)
        self.assertEqual(len(self.submitted()), 1)
        self.take_back("hold")
        self.run_study()
        self.check_each_once(4)
        self.assertEqual(len(set(self.submitted())), len(self.submitted()), "a job was submitted under the same name twice")
        self.assertEqual(len(self.submitted()), 4, "the job that was not recorded was submitted again")

    def test_killed_while_jobs_wait_and_run(self):
        self.study("sleep 0.3")
        self.say("hold")
        running = self.start("run", "s.yaml", "--site", self.site)
        self.wait_for(lambda: (self.batch / "submitted").exists() and len(self.submitted()) == 4, "four jobs")
        self.kill(running)
        self.take_back("hold")
        running = self.start("run", "s.yaml", "--site", self.site)
        self.wait_for(lambda: len(self.executions()) > 0, "a job that runs")
        self.kill(running)
        self.run_study()
        self.check_each_once(4)
        self.assertEqual(len(self.submitted()), 4)

    def test_a_submission_without_an_answer_is_found_by_its_name(self):
        for fault in ("mute", "broken"):
            with self.subTest(fault):
                self.forget()
                self.study(repeats=1)
                before = len(self.submitted()) if (self.batch / "submitted").exists() else 0
                self.say(fault)
                self.run_study()
                self.check_each_once(2)
                self.assertEqual(len(self.submitted()) - before, 2)
                self.take_back(fault)

    def test_refused_and_full(self):
        self.study()
        self.say("refuse")
        said = self.run_study(code=3)
        self.assertIn("executor `commands` takes no job: ", said.stderr)
        self.assertIn("job rejected: unknown queue", said.stderr)
        self.assertFalse((self.batch / "submitted").exists())
        self.take_back("refuse")
        self.say("full")
        running = self.start("run", "s.yaml", "--site", self.site)
        self.read_until(running, "Fake Batch takes no more jobs for now")
        self.take_back("full")
        self.assertEqual(running.wait(120), 0)
        self.check_each_once(4)

    def test_cancel(self):
        self.study("sleep 100")
        (self.batch / "slots").write_text("1")
        running = self.start("run", "s.yaml", "--site", self.site)
        self.wait_for(lambda: len(self.executions()) == 1 and len(self.submitted()) == 4, "one job that runs")
        self.kill(running)
        said = self.hpcbench("cancel", "s.yaml", "--yes", code=None)
        self.assertIn("3 not begun revoked", said.stderr)
        self.assertEqual(list(self.batch.glob("*.job")), [], "jobs were left in the queue")
        self.run_study(code=1)
        self.assertEqual(self.outcomes(), {"cancelled": 4})
        self.assertEqual(len(self.executions()), 1)

    def test_interrupted_jobs_go_on(self):
        self.study("sleep 0.5")
        self.run_study("--detach")
        self.run_study()
        self.check_each_once(4)
        self.assertEqual(len(self.submitted()), 4)

    def test_the_time_limit_is_the_runs_own(self):
        self.study("[ $1 = 1 ] || sleep 100", more="resources: {time: 2s}", repeats=1)
        self.run_study(code=1)
        self.assertEqual(self.outcomes(), {"succeeded": 1, "timeout": 1})

    def test_a_job_that_cannot_begin(self):
        site = self.folder / "fake.yaml"
        site.write_text(site.read_text() + "hpcbench: /nonexistent/hpcbench\n")
        self.study(repeats=1, matrix="n: [1]", more="retries: {lost: 0}")
        said = self.run_study(code=1)
        self.assertIn("ended before hpcbench began", said.stderr)
        self.assertIn("/nonexistent/hpcbench", said.stderr)
        self.assertEqual(self.outcomes(), {"failed": 1})

    def test_a_list_that_fails_concludes_nothing(self):
        self.say("go_on_not")
        self.study(f"while [ -e {self.batch}/go_on_not ]; do sleep 0.05; done", repeats=1)
        running = self.start("run", "s.yaml", "--site", self.site)
        self.wait_for(lambda: len(self.executions()) > 0, "a job that runs")
        self.say("down")
        self.read_until(running, "Fake Batch does not list jobs")
        self.take_back("down", "go_on_not")
        self.assertEqual(running.wait(120), 0)
        self.check_each_once(2)

    def test_doctor(self):
        self.study()
        self.assertIn("Fake Batch lists jobs", self.hpcbench("doctor", "s.yaml", "--site", self.site).stdout)
        self.say("down")
        said = self.hpcbench("doctor", "s.yaml", "--site", self.site, code=1)
        self.assertIn("Fake Batch does not list jobs", said.stdout)
        self.assertIn("--probe submits jobs to Slurm only", self.hpcbench("doctor", "s.yaml", "--site", self.site, "--probe", code=2).stderr)


class Refusals(CommandsStudy):
    def refused(self, *arguments):
        said = self.hpcbench("check", "s.yaml", *arguments, code=2).stderr
        return said

    def test_mistakes_in_a_site(self):
        """Each with the line of the file that begins so."""
        self.study()
        for old, new, line, message in (
                ("  waiting: [Q]", "  wating: [Q]", "  wating", "did you mean `waiting`"),
                ("  waiting: [Q]\n", "", "  name: Fake", "`commands.waiting` is missing"),
                ("  running: [R]", "  running: [Q]", "  running", "the state `Q` is listed twice"),
                ("{{script}}", "{{scrip}}", "  submit", "`commands.submit` has no {{scrip}} (did you mean `script`?)"),
                ("{{script}}", "x", "  submit", "`commands.submit` must have {{script}}: it is the job"),
                ("{{ids}}", "x", "  cancel", "`commands.cancel` must have {{ids}}"),
                ("#FAKE name {{name}}", "#FAKE", '    - "#FAKE"', "`commands.directives` must have {{name}}"),
                ("{{cpus_node}}", "{{cores}}", '    - "#FAKE cpus', "`commands.directives` has no {{cores}}"),
                ("[[ mem {{mem}}]]", "[[ mem {{mem}}", '    - "#FAKE name', "`[[` and `]]` do not match"),
                ("(?P<state>", "(?P<stat>", "  job:", "`commands.job` has no group `state`"),
                ("'Job ([0-9]+) was'", "'Job ([0-9]+ was'", "  id:", "`commands.id` is no regular expression"),
                ("'Job ([0-9]+) was'", "'Job was'", "  id:", "`commands.id` has no group"),
                ("executor: commands", "executor: local", "  name: Fake", "`commands` is for `executor: commands` alone"),
                ("name: fake\n", "name: fake\ngres_type: a100\n", "gres_type", "`gres_type` is for Slurm"),
                ("job_variable: FAKE", "job_variable: $FAKE", "  job_variable", "no name of a variable")):
            with self.subTest(new):
                site = (self.folder / "fake.yaml").read_text()
                self.assertIn(old, site)
                bad = self.write("bad.yaml", site.replace(old, new, 1)).read_text()
                said = self.refused("--site", "bad.yaml")
                self.assertIn(message, said)
                number = next(i for i, text in enumerate(bad.splitlines(), 1) if text.startswith(line))
                self.assertIn(f"bad.yaml:{number}:", said)
        self.write("bad.yaml", FAKE_SITE[:FAKE_SITE.index("commands:\n  name")])
        self.assertIn("needs `commands`, which describes the batch system", self.refused("--site", "bad.yaml"))

    def test_what_the_site_cannot_do(self):
        for more, message in (
                ("resources: {gres: gpu:2}", "`resources.gres` would have no effect: no line of the site's `commands.directives` has {{gres}}"),
                ("resources: {exclusive: true}", "`resources.exclusive` would have no effect"),
                ("resources: {extra: [--hint=nomultithread]}", "`resources.extra` has options of sbatch"),
                ("allocation: {per: block}", "`allocation: {per: block}` needs Slurm")):
            with self.subTest(more):
                self.study(more=more)
                self.assertIn(message, self.refused("--site", self.site))
        self.study(matrix="n: [1], nodes: [1, 2]")
        self.hpcbench("check", "s.yaml", "--site", self.site)
        self.write("s.yaml", (self.folder / "s.yaml").read_text().replace("launch: once", "launch: rank"))
        self.assertIn("the executor commands starts processes on the first one only", self.refused("--site", self.site))
        self.study(more="executor: commands")
        self.assertIn("`executor: commands` needs a site", self.refused())
        self.study(matrix="n: [1], gpus_per_node: [2]")
        self.write("fake.yaml", (self.folder / "fake.yaml").read_text().replace("[[ gpus {{gpus}}]]", ""))
        self.assertIn("the study has gpus, and no line of the site's `commands.directives` requests them", self.refused("--site", self.site))

    def test_the_sites_that_come_with_it(self):
        self.study(more="resources: {time: 10m, mem: 4G}")
        for site in ("gridengine", "pbs", "lsf"):
            self.hpcbench("check", "s.yaml", "--site", site)
            self.hpcbench("plan", "s.yaml", "--site", site, "--scripts", f"scripts-{site}")
        self.study(more="resources: {time: 10m}")
        self.hpcbench("check", "s.yaml", "--site", "flux")
        script, = (self.folder / "scripts-pbs").glob("**/batches/*/job.sh")
        self.assertIn("\n#PBS -l select=1:ncpus=1:mpiprocs=1:mem=4G\n#PBS -l walltime=00:11:00\n", script.read_text())
        self.assertNotIn("place=excl", script.read_text())


if __name__ == "__main__":
    unittest.main()
