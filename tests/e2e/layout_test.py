"""The folders of an attempt: aN is hpcbench's, aN/out is the program's, which may delete everything there; results of earlier versions have no out."""
import json
import os
import pathlib
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

EARLIER = ROOT / "tests/golden/layout"
# What the version that wrote earlier.tar.zst printed, without its columns of GPUs.
REPORT = """axis:n,nodes,n,median,low,high,coverage,speedup,speedup_low,speedup_high,ratio_of_medians,efficiency,train_loss,validation_loss,nodes_seen,outcomes,warnings
1,1,2,1.1,,,,,,,,,,,1,2 succeeded,overlap;not-interleaved;few-repeats
2,1,2,>3.92,,,,,,,,,,,1,1 succeeded;1 timeout,overlap;failures
"""
STUDY = """
experiment: careless
command: [bash, "FOLDER/work.sh", "{{run_dir}}"]
matrix: {k: [1]}
repeats: 1
resources: {time: 10m}
metrics: [{name: value, file: stdout.log, pattern: 'value (\\S+)'}]
"""


FOLDER_LOST = ("the attempt's folder was deleted while its program ran, and its output with it; a program may delete only what is in "
               "{{run_dir}}")


class Careless(StudyTest):
    """A program deletes what is in its run directory; meanwhile hpcbench is killed and called again."""

    def check_once(self, deletes, more="", lost_folder=False):
        self.write("s.yaml", STUDY.replace("FOLDER", str(self.folder)) + more)
        self.write("work.sh", f'cd "{self.folder}"\n{deletes}\necho begun >> executions\nwhile [ -e hold ]; do sleep 0.05; done\necho value 42.5\n')
        self.write("hold", "")
        log = self.folder / "results/careless/hpcbench.log"
        first = self.start("run", "s.yaml")
        self.wait_for((self.folder / "executions").exists, "the program")
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        begun = len(log.read_text().splitlines())
        second = self.start("run", "s.yaml")
        self.wait_for(lambda: len(log.read_text().splitlines()) > begun, "the second call")
        self.wait_for(lambda: (self.folder / "executions").read_text() != "begun\n" or second.poll() is not None
                      or (log.read_text().count("submitted") > 1 if lost_folder else self.follows()), "what it does with the run")
        (self.folder / "hold").unlink()
        said, _ = second.communicate()
        self.assertEqual(second.returncode, int(lost_folder), said)
        self.assertEqual((self.folder / "executions").read_text(), "begun\n")
        run, = self.status("s.yaml")["runs"]
        if lost_folder:
            self.assertEqual((run["state"], run["attempt"], run["reason"]), ("failed", "a1", FOLDER_LOST))
            return
        self.assertEqual((run["state"], run["attempt"]), ("succeeded", "a1"))
        self.assertEqual(self.report("s.yaml", "--metric", "value")["rows"][0]["median"], 42.5)

    def follows(self):
        run, = self.status("s.yaml")["runs"]
        return run["state"] == "running"

    def test_it_empties_its_run_directory(self):
        self.check_once('rm -rf "$1"/*')

    def test_it_makes_its_run_directory_anew(self):
        self.check_once('rm -rf "$1"; mkdir -p "$1"')

    def test_it_removes_its_run_directory(self):
        self.check_once('rm -rf "$1"')

    def test_it_removes_the_directory_in_which_it_was_started(self):
        self.check_once('rm -rf "$1"', "workdir: attempt\n")

    def test_it_removes_the_folder_of_the_attempt(self):
        self.check_once('rm -rf "${1%/out}"', lost_folder=True)

    def test_it_empties_the_folder_of_the_attempt(self):
        self.check_once('rm -rf "${1%/out}"/*', lost_folder=True)

    def test_it_removes_the_folder_of_the_run(self):
        self.check_once('rm -rf "${1%/a1/out}"', lost_folder=True)

    def test_it_removes_the_folder_of_the_attempt_and_its_launcher_is_killed(self):
        self.write("s.yaml", STUDY.replace("FOLDER", str(self.folder)) + "retries: {lost: 0}\n")
        self.write("work.sh", f'echo begun >> "{self.folder}/executions"\nrm -rf "${{1%/out}}"\nkill -9 $(cut -d" " -f4 /proc/$PPID/stat)\n')
        said = self.hpcbench("run", "s.yaml", code=1)
        self.assertIn("its folder was deleted after its job was submitted", said.stderr)
        self.hpcbench("run", "s.yaml", code=1)
        self.assertEqual((self.folder / "executions").read_text(), "begun\n")
        self.assertEqual(self.status("s.yaml")["runs"][0]["state"], "lost")

    def test_a_script_starts_it(self):
        self.check_once('rm -rf "$1"/*', "setup: ['export X=1']\n")


class Others(StudyTest):
    """A program deletes folders of other runs, too."""

    def begin(self, levels):
        self.write("s.yaml", STUDY.replace("FOLDER", str(self.folder)).replace("[1]", "[1, 2, 3]").replace("repeats: 1", "repeats: 2")
                   .replace('"{{run_dir}}"]', '"{{run_dir}}", "{{k}}"]'))
        self.write("work.sh", f'echo $2 >> "{self.folder}/executions"\necho value 1\n[ $2 != 2 ] || rm -rf "$(cd "$1/{levels}"; pwd)"\n')

    def executions(self):
        return sorted((self.folder / "executions").read_text().split())

    def test_the_attempts_own(self):
        self.begin("..")
        said = self.hpcbench("run", "s.yaml", code=1).stderr
        self.assertIn(f"2 runs failed, all in this way: {FOLDER_LOST}", said)
        self.assertEqual(self.executions(), list("112233"))
        self.hpcbench("run", "s.yaml", code=1)
        self.assertEqual(self.executions(), list("112233"))
        self.hpcbench("retry", "s.yaml", code=1)
        self.assertEqual(self.executions(), list("11222233"))

    def test_all_of_a_configuration(self):
        self.begin("../../..")
        said = self.hpcbench("run", "s.yaml", code=1).stderr
        self.assertIn(FOLDER_LOST, said)
        self.assertEqual(self.executions(), list("112233"))
        # The folder of the run that ended first went with that of the second.
        if "its folder was deleted before it began; the run gets a new attempt" in said:
            self.assertIn("note: the folders of 1 run are gone from", self.hpcbench("run", "s.yaml", code=1).stderr)

    def test_all_results(self):
        for levels in ("../../../..", "../../../../.."):
            self.begin(levels)
            said = self.hpcbench("run", "s.yaml", code=3).stderr
            self.assertIn("results/careless/batches was deleted while runs of the study ran, and perhaps results with it. A program may delete only", said)


class Files(StudyTest):
    def test_where_the_files_of_a_run_are_found(self):
        metrics = "metrics:\n  - {name: value, file: stdout.log, pattern: 'value (\\S+)'}\n"
        self.write("s.yaml", STUDY.replace("FOLDER", str(self.folder)).partition("metrics:")[0] + metrics + """  - {name: own, file: costs.csv, column: cost}
  - {name: named_as_a_record, file: finished.json, pointer: /mine}
  - {name: beside, file: old.txt, pattern: 'old (\\S+)'}
  - {name: all, file: '*.log', pattern: 'value (\\S+)', take: count}
workdir: attempt
""")
        self.write("work.sh", """
echo value 1; echo value 2 > stdout.log; echo value 3 > own.log
echo value 4 > "$HPCBENCH_RUN_DIR/fourth.log"
printf 'cost\\n7\\n' > costs.csv; echo '{"mine": 8}' > finished.json; echo old 9 > "${HPCBENCH_RUN%/*}/old.txt"
echo '{"v":1,"event":"run_end","train_s":2.5}' > "${HPCBENCH_RUN%/*}/events.jsonl"
""")
        self.hpcbench("run", "s.yaml")
        shown = self.hpcbench("show", "careless/k=1").stdout
        for line in ("value              1                        from stdout.log:1", "own                7                        from costs.csv:2",
                     "named_as_a_record  8", "beside             9                        from old.txt:1", "all                3 ",
                     "train_s            2.5                      from events.jsonl:1 (run_end)"):
            self.assertIn(line, shown)
        self.assertIn("files              alive claim events.jsonl finished.json job.sh old.txt out/ out/costs.csv out/finished.json out/fourth.log out/own.log "
                      "out/stdout.log", shown)


class Earlier(StudyTest):
    """Results that hpcbench 0.3.0 wrote, one of whose runs waits to be continued."""

    def setUp(self):
        super().setUp()
        self.hpcbench("export", "--extract", str(EARLIER / "earlier.tar.zst"), "--to", "there")
        for name in ("work.sh", "deck.txt"):
            shutil.copy(EARLIER / name, self.folder / name)
        self.results = ("--results", "there/results")

    def test_the_report_and_its_numbers_are_the_same(self):
        self.assertEqual(self.hpcbench("report", "--archive", str(EARLIER / "earlier.tar.zst"), "--format", "csv").stdout, REPORT)
        for _ in range(2):
            self.assertEqual(self.hpcbench("report", *self.results, "--format", "csv").stdout, REPORT)
            shown = self.hpcbench("show", "earlier/n=2/r01", *self.results).stdout
            for line in ("value              2.1 s                    from stdout.log:1", "cost               21                       from costs.csv:3",
                         "size               3                        from parts/2.csv:2 (sum of 2 values)",
                         "train_s            2.25                     from events.jsonl:3 (run_end)",
                         "files              claim costs.csv deck.txt events.jsonl finished.json job.sh outside.txt parts/ run.json"):
                self.assertIn(line, shown)
            self.hpcbench("db", "rebuild", *self.results)

    def test_what_waits_is_continued_from_what_it_saved(self):
        self.hpcbench("run", "there/study/study.yaml", *self.results)
        self.assertEqual([run["state"] for run in self.status("there/study/study.yaml", *self.results)["runs"]], ["succeeded"] * 4)
        shown = self.hpcbench("show", "earlier/n=2/r02", *self.results).stdout
        for line in ("/r02/a2\n", "value              2.2 s ", "cost               22 ", "size               3 ", "segments           2 ", "steps_redone       0 ",
                     "kept_steps_s       1 "):
            self.assertIn(line, shown)
        second = next(path for path in self.folder.glob("there/results/earlier/*/r02/a2/run.json") if json.loads(path.read_text())["axes"]["n"] == 2)
        self.assertEqual(json.loads(second.read_text())["environment"]["HPCBENCH_RESUME_FROM"], str(second.parent.parent / "a1"))
        self.assertEqual((second.parent / "out/state").read_text(), "2\n")


if __name__ == "__main__":
    unittest.main()
