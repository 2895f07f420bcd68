"""What `hpcbench run` refuses before it starts anything, and when it stops by itself because going on would only fail again."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import PROGRAMS, StudyTest  # noqa: E402

STUDY = """
experiment: s
command: [bash, work.sh, "{{k}}", "{{repeat}}"]
launch: once
matrix: {k: [1, 2, 3]}
repeats: 4
"""


class Needs(StudyTest):
    def refused(self, *arguments):
        done = self.hpcbench("run", "s.yaml", *arguments, code=3)
        self.assertIn("nothing was started", done.stderr)
        self.assertEqual(done.stderr.count("error:"), 1)
        self.assertFalse(list(self.folder.rglob("run.json")))
        return done.stderr

    def test_a_program_and_a_script_that_are_not_there(self):
        self.write("s.yaml", STUDY.replace("bash, work.sh", "no-such-program, train.py"))
        said = self.refused()
        self.assertIn("`no-such-program` is not on PATH", said)
        self.assertIn("train.py, which is not in", said)
        self.assertEqual(said.count("no-such-program"), 1, "three configurations lack one program")

    def test_a_rehearsal_says_what_the_run_would_say(self):
        self.write("s.yaml", STUDY)
        rehearsed = self.refused("--dry-run")
        self.assertIn("12 runs would be started", rehearsed)
        self.assertIn(self.refused(), rehearsed)
        self.hpcbench("run", "s.yaml", "--dry-run", "--keep-going")
        self.write("work.sh", "true")
        self.hpcbench("run", "s.yaml", "--dry-run")

    def test_the_advice_of_the_refusal_works(self):
        self.write("s.yaml", STUDY)
        self.assertIn("--keep-going", self.refused())
        self.hpcbench("run", "s.yaml", "--keep-going", code=1)
        self.assertEqual(len(self.status("s.yaml")["runs"]), 12)

    def test_what_prepare_brings_need_not_be_there(self):
        self.write("s.yaml", STUDY + "prepare: [bash, -c, 'echo true >work.sh']\n")
        self.hpcbench("run", "s.yaml")

    def test_a_study_that_is_done_needs_nothing(self):
        self.write("s.yaml", STUDY)
        self.write("work.sh", "true")
        self.hpcbench("run", "s.yaml")
        (self.folder / "work.sh").unlink()
        self.assertIn("nothing to do", self.hpcbench("run", "s.yaml").stderr)

    def test_a_site_that_is_not_there_is_wrong_input(self):
        self.write("s.yaml", STUDY)
        self.assertIn("there is no site", self.hpcbench("run", "s.yaml", "--site", "nowhere", code=2).stderr)

    def test_data_and_model_of_the_trainer_come_with_one_command(self):
        if not (PROGRAMS / "hpcbench-train").exists():
            self.skipTest("the trainer is not built")
        self.write("s.yaml", "experiment: s\ntrainer: bert_squad\nmatrix: {strategy: [baseline]}\n"
                             "parameters: {data: data/squad2, model: data/bert-base-uncased}\n")
        said = self.refused()
        self.assertIn("`scripts/get-data.sh squad2 bert` brings them", said)
        said = self.refused("--set", "parameters.model=tiny")
        self.assertIn("`scripts/get-data.sh squad2` brings it", said)
        self.assertIn("mend the path", self.refused("--set", "parameters.data=my.json"))


class Stops(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("s.yaml", STUDY)

    def work(self, text):
        self.write("work.sh", f'echo "$1 $2" >>{self.folder}/executions\n{text}\n')

    def executions(self):
        return (self.folder / "executions").read_text().splitlines()

    def test_one_repeat_of_each_that_fails_alike_is_enough(self):
        self.work('echo "no module named torch at $RANDOM" >&2; exit 3')
        done = self.hpcbench("run", "s.yaml", code=1)
        self.assertIn("stopped: a run of each of 3 configurations failed in the same way", done.stderr)
        self.assertLessEqual(len(self.executions()), 4, "one that had begun may be among them")
        self.assertGreaterEqual(len(self.executions()), 3)
        self.assertEqual(done.stderr.count("/a1)"), 1, "told once: " + done.stderr)
        self.assertRegex(done.stderr, r"[34] runs failed, all in this way: rank 0 failed with exit code 3: no module named torch")
        self.assertEqual(done.stderr.count("no module named torch"), 2, "when it happens, and in the end with a count: " + done.stderr)
        self.assertEqual(done.stderr.count("hpcbench retry"), 1, done.stderr)
        self.work("true")
        self.hpcbench("retry", "s.yaml")
        self.assertEqual({run["state"] for run in self.status("s.yaml")["runs"]}, {"succeeded"})
        self.assertEqual(len(self.status("s.yaml")["runs"]), 12)

    def test_keep_going_overrules(self):
        self.work("exit 3")
        done = self.hpcbench("run", "s.yaml", "--keep-going", code=1)
        self.assertEqual(len(self.executions()), 12)
        self.assertNotIn("stopped", done.stderr)
        self.assertIn("12 runs failed, all in this way: rank 0 failed with exit code 3", done.stderr)
        self.assertEqual(done.stderr.count("exit code 3"), 2, done.stderr)

    def test_different_failures_and_successes_go_on(self):
        self.work('exit $1')
        self.assertNotIn("stopped", self.hpcbench("run", "s.yaml", code=1).stderr)
        self.assertEqual(len(self.executions()), 12)

    def test_one_configuration_that_works_keeps_the_study_going(self):
        self.work('[ $1 = 2 ] || exit 1')
        self.assertNotIn("stopped", self.hpcbench("run", "s.yaml", code=1).stderr)
        self.assertEqual(len(self.executions()), 12)

    def test_a_study_of_one_configuration_stops_after_two(self):
        self.work("exit 1")
        done = self.hpcbench("run", "s.yaml", "--only", "k=1", code=1)
        self.assertIn("the first 2 runs failed in the same way", done.stderr)
        self.assertLess(len(self.executions()), 4)

    def test_a_second_call_tries_again_and_counts_what_failed_before(self):
        self.work("exit 1")
        said = self.hpcbench("run", "s.yaml", "--only", "k=1", code=1).stderr
        self.assertIn("the first 2 runs failed in the same way. 2 of 4 runs were not carried out", said)
        self.hpcbench("retry", "s.yaml", "--only", "k=1", "--outcome", "cancelled", "--max-failures", "1", code=1)
        self.write("s.yaml", (self.folder / "s.yaml").read_text().replace("repeats: 4", "repeats: 8"))
        said = self.hpcbench("run", "s.yaml", "--only", "k=1", code=1).stderr
        failed = self.status("s.yaml")["counts"]["failed"]
        self.assertIn(f"the first 2 runs of this call failed in the same way ({failed} have failed in all). {8 - failed} of 8 runs were not carried out", said)

    def test_max_failures(self):
        self.work('[ $1 = 2 ] || exit $1')
        done = self.hpcbench("run", "s.yaml", "--max-failures", "3", code=1)
        self.assertIn("stopped: 3 runs of this call did not succeed (--max-failures 3)", done.stderr)
        self.assertLess(len(self.executions()), 8)

    def test_a_job_that_runs_when_the_study_stops_is_ended(self):
        self.work('[ $2 = 2 ] && sleep 1000; exit 1')
        done = self.hpcbench("run", "s.yaml", "--slots", "2", code=1)
        self.assertIn("stopped", done.stderr)
        states = {run["state"] for run in self.status("s.yaml")["runs"]}
        self.assertLessEqual(states, {"failed", "cancelled", "intended", "planned", "waiting"})


if __name__ == "__main__":
    unittest.main()
