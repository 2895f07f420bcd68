"""results/EXPERIMENT/hpcbench.log: what hpcbench did, line by line, and what does not depend on it."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: s
command: [bash, -c, "exit {{k}}"]
launch: once
matrix: {k: [0, 3]}
repeats: 2
"""
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[\d+\] (debug|info|warning|error) (\S.*)")
SLURM = {
    "sbatch": "echo 815",
    "squeue": 'printf "815_0|PENDING|Priority||N/A|x\\n"',
    "sacct": "echo Slurm accounting storage is disabled >&2; exit 1",
    "scontrol": "echo MaxArraySize = 1001",
    "scancel": "true",
}


class Log(StudyTest):
    @property
    def path(self):
        return self.folder / "results/s/hpcbench.log"

    def texts(self):
        """What the records say; each line must be one."""
        matches = [LINE.fullmatch(line) for line in self.path.read_text().splitlines()]
        self.assertTrue(matches and all(matches), self.path.read_text())
        return [match.group(2) for match in matches]

    def in_order(self, *wanted):
        texts = iter(self.texts())
        for want in wanted:
            self.assertTrue(any(re.search(want, text) for text in texts), f"{want} in\n{self.path.read_text()}")

    def test_a_local_run_from_its_call_to_its_exit_code(self):
        self.write("s.yaml", STUDY)
        self.hpcbench("run", "s.yaml", code=1)
        self.in_order(r"^begins: '?/.*hpcbench'? run s\.yaml \(hpcbench [0-9.]+, on \S+, in /", "^intends batch [0-9a-f]{16}: 4 attempts",
                      r"^submitted \w{16}/r01/a1 as job \d+$", "^ends with exit code 1$")
        texts = self.texts()
        verdicts = [text for text in texts if text.startswith("verdict ")]
        self.assertEqual(len(verdicts), 4)
        self.assertEqual(sum(": succeeded, wall_s " in text for text in verdicts), 2)
        self.assertEqual(sum(": failed, " in text for text in verdicts), 2)
        for text in verdicts:
            self.assertRegex(text, r"; claimed by job \d+, process \d+ of \S+$")
        self.assertEqual(sum(text.startswith("submitted ") for text in texts), 4)

    def test_a_later_call_appends_and_errors_stand_in_it(self):
        self.write("s.yaml", STUDY)
        self.hpcbench("run", "s.yaml", code=1)
        before = self.path.read_bytes()
        self.hpcbench("retry", "s.yaml", code=1)
        self.assertTrue(self.path.read_bytes().startswith(before))
        self.write("s.yaml", STUDY.replace("bash, -c", "no-such-program, -c"))
        said = self.hpcbench("run", "s.yaml", code=3).stderr
        self.assertIn(said.splitlines()[0].split("error: ")[1], self.path.read_text())
        self.in_order("exit code 1", "^begins: .* retry s.yaml", "exit code 1", "^error: ", "^ends with exit code 3$")

    def test_commands_that_only_look_leave_it_alone(self):
        self.write("s.yaml", STUDY)
        self.hpcbench("run", "s.yaml", code=1)
        before = self.path.read_bytes()
        for command in (["status"], ["report"], ["ls"], ["plan", "s.yaml"], ["clean"], ["-v", "show", "k=0/r01"], ["db", "rebuild"]):
            self.hpcbench(*command, code=1 if command == ["status"] else 0)
        self.assertEqual(self.path.read_bytes(), before)
        self.assertEqual(len(self.status("s.yaml")["runs"]), 4)

    def test_the_terminal_shows_what_it_always_did_and_more_or_less_only_when_asked(self):
        self.write("s.yaml", STUDY)
        usual = self.hpcbench("run", "s.yaml", code=1).stderr
        self.assertNotRegex(usual, r"Z \[\d+\]")
        self.assertNotIn("hpcbench.log", usual)
        told = self.hpcbench("retry", "-v", code=1).stderr
        self.assertRegex(told, r"(?m)^\d{4}-\S+Z \[\d+\] info submitted \w{16}/r01/a2 as job \d+$")
        self.assertEqual(self.hpcbench("-q", "retry", code=1).stderr, "")
        self.assertEqual(self.hpcbench("retry", "--quiet", "--only", "k=7", code=2).stderr.count("error"), 1)

    def test_levels(self):
        self.write("s.yaml", STUDY)
        self.hpcbench("run", "--log-level", "error", "s.yaml", code=1)
        self.assertEqual(self.path.read_text(), "")
        self.hpcbench("run", "--log-level=debug", "s.yaml", "--repeats", "3", code=1)
        self.assertRegex(self.path.read_text(), r"\] debug \S")
        self.assertRegex(self.path.read_text(), r"\] info verdict ")
        self.hpcbench("run", "--log-level", "off", "s.yaml", "--repeats", "4", code=1)
        self.in_order("exit code 1")
        self.assertEqual(sum(text.startswith("begins") for text in self.texts()), 1)
        said = self.hpcbench("run", "s.yaml", "--log-level", "debgu", code=2).stderr
        self.assertIn("`debgu` is not in {debug,info,warning,error,off} (did you mean `debug`?)", said)
        self.hpcbench("run", "s.yaml", "--log-level", code=2)

    def test_what_follows_two_dashes_belongs_to_the_command(self):
        done = self.hpcbench("launch", "-n", "1", "--", "echo", "-v", "--log-level", "-q")
        self.assertIn("-v --log-level -q", done.stdout)

    def test_a_log_that_cannot_be_written_stops_nothing(self):
        self.write("s.yaml", STUDY)
        self.path.parent.mkdir(parents=True)
        self.path.symlink_to("/dev/full")
        done = self.hpcbench("run", "s.yaml", code=1)
        self.assertIn("note: hpcbench.log is not complete: it is a link or no plain file", done.stderr)
        self.assertEqual(sorted(run["state"] for run in self.status("s.yaml")["runs"]), ["failed", "failed", "succeeded", "succeeded"])
        self.path.unlink()
        self.path.mkdir()
        self.assertIn("Is a directory", self.hpcbench("retry", code=1).stderr)

    def test_an_archive_takes_it_along(self):
        self.write("s.yaml", STUDY)
        self.hpcbench("run", "s.yaml", code=1)
        before = self.hpcbench("report", "--format", "csv").stdout
        self.hpcbench("export", "-o", "s.tar.zst")
        self.assertEqual(self.hpcbench("report", "--archive", "s.tar.zst", "--format", "csv").stdout, before)
        self.hpcbench("export", "--extract", "s.tar.zst", "--to", "there")
        self.assertEqual((self.folder / "there/results/s/hpcbench.log").read_bytes(), self.path.read_bytes())

    def slurm(self, **changed):
        for name, script in {**SLURM, **changed}.items():
            self.write(f"bin/{name}", f"#!/bin/bash\n{script}\n", 0o755)
        self.write("s.yaml", STUDY + "executor: slurm\n")
        return {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}

    def test_calls_of_slurm_and_what_they_answered(self):
        self.hpcbench("run", "s.yaml", "--detach", "--keep-going", env=self.slurm())
        self.in_order("^begins: ", r"^call scontrol show config: exit status 0 after \d+\.\d{3} s, output: MaxArraySize = 1001\\n$",
                      r"^call sbatch --parsable --array=0-3 \S+: exit status 0 after \d+\.\d{3} s, output: 815\\n$",
                      r"^submitted \w{16}/r\d\d/a1 as job 815_0$", "^ends with exit code 0$")

    def test_a_refusal_of_slurm_in_its_own_words(self):
        refused = "echo 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified' >&2; exit 1"
        self.hpcbench("run", "s.yaml", "--detach", "--keep-going", env=self.slurm(sbatch=refused), code=3)
        self.in_order(r"^call sbatch .*: exit status 1 after \S+ s, errors: sbatch: error: Batch job submission failed: Invalid account",
                      "^error: .*takes no job", "^ends with exit code 3$")


if __name__ == "__main__":
    unittest.main()
