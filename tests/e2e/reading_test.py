"""Metrics and `success` are a way of reading: mended in the file, they are read from the kept logs, and nothing runs again."""
import json
import os
import pathlib
import signal
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402
from scored_study import METRIC, STUDY, WORK, WRONG, ScoredStudyTest  # noqa: E402


class Reading(ScoredStudyTest):
    def setUp(self):
        super().setUp()
        self.study()

    def study(self, more="", text=STUDY):
        self.write("tiny.yaml", text + more)

    def executions(self):
        return len((self.folder / "executions").read_text().splitlines())

    def rows(self):
        """All that the index says of attempts and series, but for the ids, which are of one file only."""
        with sqlite3.connect(self.folder / "results/hpcbench.db") as database:
            columns = [row[1] for row in database.execute("PRAGMA table_info(attempt)") if row[1] != "id"]
            attempts = database.execute(f"SELECT {','.join(columns)} FROM attempt ORDER BY path").fetchall()
            series = database.execute("SELECT path, name, points FROM series JOIN attempt USING (id) ORDER BY path, name").fetchall()
        return attempts, series

    def medians(self, *arguments):
        return [row["median"] for row in self.report("tiny.yaml", *arguments)["rows"]]

    def test_a_forgotten_metric_is_read_from_the_kept_logs_once(self):
        self.hpcbench("run", "tiny.yaml")
        ids = [row["config_id"] for row in self.report("tiny.yaml")["rows"]]
        self.study(METRIC + "report: {metric: score}\n")
        first = self.hpcbench("report", "tiny.yaml")
        self.assertIn("read 6 runs again: the file's metrics changed\n", first.stderr)
        self.assertNotIn("again", self.hpcbench("report", "tiny.yaml").stderr)
        table = self.report("tiny.yaml")
        self.assertEqual([row["median"] for row in table["rows"]], [1.5, 2.5])
        self.assertEqual([row["config_id"] for row in table["rows"]], ids)
        again = self.hpcbench("run", "tiny.yaml")
        self.assertIn("nothing to do", again.stderr)
        self.assertEqual(self.executions(), 6)

    def test_another_version_of_hpcbench_may_have_read_them_otherwise(self):
        self.study(METRIC)
        self.hpcbench("run", "tiny.yaml")
        reading = self.folder / "results/tiny/reading.json"
        ours = json.loads(reading.read_text())["usual"]
        reading.write_text(reading.read_text().replace(ours, "0123456789ab"))
        with sqlite3.connect(self.folder / "results/hpcbench.db") as database:
            database.execute("UPDATE attempt SET rules = '0123456789ab'")
        self.assertIn("read 6 runs again: this version of hpcbench reads them in another way\n", self.hpcbench("report", "tiny.yaml").stderr)
        self.assertEqual(json.loads(reading.read_text())["usual"], ours)
        self.assertNotIn("again", self.hpcbench("report", "tiny.yaml").stderr)

    def test_every_command_notices(self):
        self.study(WRONG)
        self.hpcbench("run", "tiny.yaml")
        for number, command in enumerate((["report", "tiny.yaml"], ["plan", "tiny.yaml"], ["status", "tiny.yaml"],
                                          ["run", "tiny.yaml"], ["ingest", "tiny"])):
            self.study(METRIC.replace("score (", f"score ({number}|"))
            with self.subTest(command=command):
                self.assertIn("read 6 runs again: the file's metrics changed", self.hpcbench(*command).stderr)
        self.assertEqual(self.executions(), 6)

    def test_outcomes_follow_success_and_no_run_is_repeated(self):
        self.hpcbench("run", "tiny.yaml")
        self.study("success: {pattern: 'accuracy reached'}\n")
        told = self.hpcbench("run", "tiny.yaml", code=1).stderr
        self.assertIn("read 6 runs again: the file's `success` changed (6 succeeded -> failed; no run is repeated for that)", told)
        self.assertIn("nothing to do", told)
        self.assertEqual(self.status("tiny.yaml")["counts"]["failed"], 6)
        self.assertEqual(self.executions(), 6)
        self.study("success: {pattern: 'all is well'}\n")
        self.assertIn("6 failed -> succeeded", self.hpcbench("status", "tiny.yaml").stderr)
        self.assertEqual(self.status("tiny.yaml")["counts"]["succeeded"], 6)
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.executions(), 6)

    def test_an_exit_code_is_read_by_the_file_of_today(self):
        self.write("work.sh", WORK + "exit 3\n")
        self.hpcbench("run", "tiny.yaml", "--keep-going", code=1)
        self.study("success: {exit_code: 3}\n")
        self.hpcbench("run", "tiny.yaml")
        self.assertEqual(self.status("tiny.yaml")["counts"]["succeeded"], 6)
        self.assertEqual(self.executions(), 6)

    def test_a_rebuilt_index_is_the_same(self):
        self.study(WRONG)
        self.hpcbench("run", "tiny.yaml")
        self.study(METRIC.replace("}]", ", series: epoch}]") + "success: {pattern: 'score 1'}\n")
        self.hpcbench("status", "tiny.yaml", code=1)
        before = self.rows()
        self.assertEqual(len(before[1]), 6)
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.rows(), before)
        (self.folder / "results/hpcbench.db").unlink()
        self.assertNotIn("again", self.hpcbench("status", "tiny.yaml", code=1).stderr)
        self.assertEqual(self.rows(), before)

    def test_results_without_reading_json_are_read_as_their_runs_say(self):
        self.study(METRIC + "report: {metric: score}\n")
        self.hpcbench("run", "tiny.yaml")
        before = self.rows()
        (self.folder / "results/tiny/reading.json").unlink()
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.rows(), before)
        self.assertEqual(self.hpcbench("report", "tiny.yaml").stderr.count("again"), 0)
        self.assertEqual(self.medians(), [1.5, 2.5])

    def test_overrides_have_rules_of_their_own_and_what_the_file_no_longer_asks_for_keeps_its(self):
        self.study(METRIC + "report: {metric: score}\n")
        self.hpcbench("run", "tiny.yaml")
        override = "overrides: [{when: {size: 2}, metrics: [{name: score, file: stdout.log, pattern: '([0-9])[.]5'}]}]\n"
        self.study(METRIC + "report: {metric: score}\n" + override)
        self.assertIn("read 3 runs again", self.hpcbench("report", "tiny.yaml").stderr)
        self.assertEqual(self.medians(), [1.5, 2])
        only_two = STUDY.replace("[1, 2]", "[2]")
        self.study(METRIC.replace("score (", "score [0-9][.](") + "report: {metric: score}\n", only_two)
        self.assertIn("read 3 runs again", self.hpcbench("report", "tiny.yaml").stderr)
        self.assertEqual(sorted(self.medians("--orphans")), [1.5, 5])
        before = self.rows()
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.rows(), before)

    def test_provenance_says_what_was_used(self):
        self.study(WRONG)
        self.hpcbench("run", "tiny.yaml")
        self.study(METRIC + "success: {pattern: 'all is well'}\n")
        text = self.hpcbench("report", "tiny.yaml", "--provenance").stdout
        self.assertIn("stdout.log, pattern score ([0-9.]+)", text)
        self.assertIn("all is well", text)
        self.assertNotIn("Score: ", text)

    def test_killed_while_it_reads_the_next_command_carries_on(self):
        self.study(text=STUDY.replace("[1, 2]", "[1]").replace("repeats: 3", "repeats: 1"))
        self.hpcbench("run", "tiny.yaml")
        runs = 6000
        study = STUDY.replace("[1, 2]", "[1]").replace("repeats: 3", f"repeats: {runs}")
        self.clone_run(runs)
        self.study(text=study)
        self.assertEqual(self.status("tiny.yaml")["counts"]["succeeded"], runs)
        for number in range(3):
            self.study(METRIC.replace("score (", f"score ({number}|"), text=study)
            process = self.start("status", "tiny.yaml")
            if number > 0:
                self.wait_for(lambda: self.hashes()[1] > 1 or process.poll() is not None, "some to be read again")
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.hpcbench("status", "tiny.yaml")
            self.assertEqual(self.hashes(), (runs, 1))
            self.assertNotIn("again", self.hpcbench("status", "tiny.yaml").stderr)
        before = self.rows()
        self.assertTrue(all('"score":' in row for row in map(str, before[0])))
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.rows(), before)

    def hashes(self):
        with sqlite3.connect(f"file:{self.folder}/results/hpcbench.db?mode=ro", uri=True, timeout=30) as database:
            return database.execute("SELECT count(*), count(DISTINCT rules) FROM attempt").fetchone()

    def clone_run(self, runs):
        """Makes r02 ... of r01, as if they had run."""
        first = next((self.folder / "results/tiny").glob("*/r01/a1"))
        names = [f"r{number:02d}" for number in range(2, runs + 1)]
        for name in names:
            folder = first.parents[1] / name / "a1"
            folder.mkdir(parents=True)
            for file in first.iterdir():
                if file.name == "run.json":
                    (folder / file.name).write_text(file.read_text().replace('"r01"', f'"{name}"'))
                elif file.is_file():
                    os.link(file, folder / file.name)
        batch = next((self.folder / "results/tiny/batches").iterdir())
        config_id = first.parents[1].name
        with open(batch / "attempts.txt", "a") as attempts:
            attempts.writelines(f"{config_id}/{name}/a1\n" for name in names)


OUTSIDE = """
experiment: outside
command: [bash, outside.sh, "{{size}}"]
launch: once
matrix: {size: [1, 2]}
repeats: 2
order: sequential
metrics: [{name: score, file: "logs/*.csv", column: score}]
report: {metric: score}
"""


class OutsideTheFolder(StudyTest):
    """Every run writes the same file of the working directory: of each a copy is kept, and copies alone are read."""

    def setUp(self):
        super().setUp()
        self.write("outside.sh", 'mkdir -p logs; printf "score,loss\\n%s.5,%s.25\\n" "$1" "$1" > logs/a.csv\n')
        self.write("outside.yaml", OUTSIDE)

    def medians(self):
        return [row["median"] for row in self.report("outside.yaml")["rows"]]

    def test_each_run_has_its_own_numbers_also_when_they_are_read_again(self):
        self.hpcbench("run", "outside.yaml")
        self.assertEqual(self.medians(), [1.5, 2.5])
        self.write("outside.yaml", OUTSIDE.replace("column: score", "column: loss"))
        self.assertIn("read 4 runs again", self.hpcbench("report", "outside.yaml").stderr)
        self.assertEqual(self.medians(), [1.25, 2.25])
        (self.folder / "logs/a.csv").unlink()
        self.hpcbench("db", "rebuild")
        self.assertEqual(self.medians(), [1.25, 2.25])
        copies = [str(path) for path in (self.folder / "results/outside").rglob("outside/**/a.csv")]
        self.assertEqual(len(copies), 4)
        self.assertTrue(all(path.endswith(f"a1/outside{self.folder}/logs/a.csv") for path in copies), copies)

    def test_runs_that_go_on_at_once_may_have_read_one_another(self):
        self.write("outside.sh", (self.folder / "outside.sh").read_text() + "sleep 1\n")

        def told(results):
            report = self.report("outside.yaml", "--results", results)
            return report["rows"][0]["config_id"], [w["seen"] for w in report["warnings"] if w["code"] == "shared-files"]

        self.hpcbench("run", "outside.yaml", "--results", "in turn")
        self.assertEqual(told("in turn")[1], [])
        self.hpcbench("run", "outside.yaml", "--results", "at once", "--slots", "4")
        config_id, (seen,) = told("at once")
        self.assertRegex(seen, "size=1: [12] of 2 runs read a file that another run may have written; size=2: ")
        self.assertRegex(self.hpcbench("show", f"{config_id}/r01", "--results", "at once").stdout, f"\noutside +{self.folder}/logs/a.csv\n")
        # In folders of their own they cannot.
        self.write("outside.sh", (self.folder / "outside.sh").read_text().replace("logs", "$(dirname $HPCBENCH_RUN)/logs"))
        self.hpcbench("run", "outside.yaml", "--results", "apart", "--slots", "4")
        self.assertEqual(told("apart")[1], [])

    def test_a_file_that_nobody_named_is_not_read_afterwards(self):
        self.write("outside.yaml", OUTSIDE.replace('metrics: [{name: score, file: "logs/*.csv", column: score}]\n', "")
                   .replace("report: {metric: score}\n", ""))
        self.hpcbench("run", "outside.yaml")
        self.write("outside.yaml", OUTSIDE.replace("report: {metric: score}\n", ""))
        row = self.report("outside.yaml")
        self.assertIn("no copy was kept when the run ended", [w for w in row["warnings"] if w["code"] == "no-value"][0]["seen"])

    def test_one_that_is_too_large_is_said_and_absent(self):
        self.write("outside.sh", 'mkdir -p logs; printf "score\\n%s\\n" "$1" > logs/a.csv; truncate -s 65M logs/a.csv\n')
        self.write("outside.yaml", OUTSIDE.replace("report: {metric: score}\n", ""))
        self.hpcbench("run", "outside.yaml")
        warnings = [w for w in self.report("outside.yaml")["warnings"] if w["code"] == "no-value"]
        self.assertIn("too many to keep (64 MiB a file, 256 MiB a run)", warnings[0]["seen"])

    def test_runs_from_before_copies_were_kept_have_no_number_of_another_run(self):
        self.hpcbench("run", "outside.yaml")
        for run in sorted((self.folder / "results/outside").glob("*/r0*/a1")):
            text = (run / "run.json").read_text().splitlines(keepends=True)
            (run / "run.json").write_text("".join(line for line in text if '"outside":' not in line))
            (run / "outside.txt").unlink()
        os.utime(self.folder / "logs/a.csv", (4e9, 4e9))
        self.hpcbench("db", "rebuild")
        self.assertIn("was not changed last by this run", self.hpcbench("report", "outside.yaml", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
