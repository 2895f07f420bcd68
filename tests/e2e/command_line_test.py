"""The command line as a person meets it: help, mistakes, exit codes, nobody at the terminal."""
import os
import pathlib
import pty
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, PROGRAMS, ROOT, StudyTest  # noqa: E402

COMMANDS = ["init", "check", "plan", "run", "status", "watch", "cancel", "retry", "ingest", "report", "plot", "compare", "show", "logs", "db",
            "launch",
            "completion"]
STUDY = """
experiment: small
command: ["true"]
launch: once
matrix: {k: [1, 2]}
repeats: 2
"""


class CommandLine(StudyTest):
    def test_every_command_has_help_with_examples(self):
        overview = self.hpcbench("--help").stdout
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", overview)
            text = self.hpcbench(command, "--help").stdout
            self.assertIn("Examples:", text)
            self.assertIn("hpcbench", text)

    def test_what_the_file_system_refuses_is_no_defect(self):
        self.write("small.yaml", STUDY)
        self.hpcbench("run", "small.yaml")
        self.hpcbench("export", "-o", "small.tar.zst")
        (self.folder / "loop").symlink_to("loop")
        name = "n" * 300
        for arguments in (["check", name], ["check", "loop"], ["compare", name, "small"], ["db", "rebuild", "--results", name]):
            said = self.hpcbench(*arguments, code=3).stderr
            self.assertRegex(said, "^error: .*(File name too long|Too many levels of symbolic links)")
            self.assertNotIn("internal error", said)
        for arguments in (["report", "--archive", "small.tar.zst"], ["report", "--format", "html"]):
            said = self.hpcbench(*arguments, code=3, env={"TMPDIR": "/nonexistent"}).stderr
            self.assertIn("error: cannot create a temporary folder in /nonexistent: No such file or directory\n  = TMPDIR", said)

    def test_the_folder_of_the_call_is_gone(self):
        gone = self.folder / "gone"
        for command in ("status", "ls", "plan small.yaml", "doctor", "db rebuild"):
            gone.mkdir()
            done = subprocess.run(["bash", "-c", 'rmdir ../gone; exec "$@"', "bash", HPCBENCH, *command.split()], cwd=gone,
                                  env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, (command, done.stderr))
            self.assertIn("error: the folder in which hpcbench was called cannot be used", done.stderr)

    def test_a_report_goes_into_a_pipe_and_leaves_it_one(self):
        self.write("small.yaml", STUDY)
        self.hpcbench("run", "small.yaml")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(reader.kill)
        self.hpcbench("report", "-o", str(pipe))
        self.assertIn("small", reader.communicate(timeout=60)[0])
        self.assertTrue(pipe.is_fifo())
        said = self.hpcbench("export", "-o", str(pipe), code=2).stderr
        self.assertIn("is there and no plain file", said)
        self.assertIn("is there and no plain file", self.hpcbench("export", "-o", ".", code=2).stderr)

    def test_version(self):
        self.assertRegex(self.hpcbench("--version").stdout, r"^hpcbench \d+\.\d+\.\d+ \(.+\)\n$")

    def test_mistakes_are_exit_2_with_advice(self):
        self.write("small.yaml", STUDY)
        for arguments, advice in (
            (["rnu", "small.yaml"], "did you mean `run`?"),
            (["run", "small.yaml", "--slot", "2"], "did you mean `--slots`?"),
            (["run", "small.yaml", "--only", "kk=1"], "did you mean `k`?"),
            (["report", "small.yaml", "--format", "pdf"], "markdown"),
            (["retry", "small.yaml", "--outcome", "fail"], "failed"),
            (["plan"], "FILE"),
            (["run"], "name an experiment file"),
            ([], "hpcbench --help"),
        ):
            self.assertIn(advice, self.hpcbench(*arguments, code=2).stderr, arguments)

    def test_missing_file_is_exit_3(self):
        self.assertIn("none.yaml", self.hpcbench("run", "none.yaml", code=3).stderr)

    def test_errors_in_a_file_are_located(self):
        self.write("bad.yaml", STUDY.replace("repeats", "repeat"))
        self.assertIn("bad.yaml:6:1: error:", self.hpcbench("check", "bad.yaml", code=2).stderr)

    def test_init_writes_what_check_accepts_and_run_runs(self):
        self.hpcbench("init", "mine.yaml")
        self.hpcbench("check", "mine.yaml")
        self.assertIn("exists already", self.hpcbench("init", "mine.yaml", code=2).stderr)
        self.hpcbench("run", "mine.yaml", "--repeats", "1", "--yes")
        self.assertEqual(set(self.report()["rows"][0]["outcomes"]), {"succeeded"})

    def test_shipped_experiments_are_valid(self):
        for file in sorted((ROOT / "experiments").glob("*.yaml")):
            self.hpcbench("check", str(file))
            self.hpcbench("check", str(file), "--profile", "laptop")

    def test_question_without_a_terminal_is_exit_2(self):
        self.write("small.yaml", STUDY + "limits: {gpu_hours: 0.001}\nresources: {time: 60s}\n")
        self.assertIn("--yes", self.hpcbench("run", "small.yaml", code=2).stderr)
        self.hpcbench("run", "small.yaml", "--yes")

    def test_terminal_gets_a_bar_and_can_answer(self):
        self.write("small.yaml", STUDY + "limits: {gpu_hours: 0.001}\nresources: {time: 60s}\n")
        main, other = pty.openpty()
        process = subprocess.Popen([HPCBENCH, "run", "small.yaml"], cwd=self.folder, stdin=other, stdout=other, stderr=other,
                                   env=self.environment({"TERM": "xterm"}), close_fds=True, start_new_session=True)
        os.close(other)
        os.write(main, b"y\n")
        output = b""
        while True:
            try:
                chunk = os.read(main, 4096)
            except OSError:
                break
            if not chunk:
                break
            output += chunk
        os.close(main)
        self.assertEqual(process.wait(timeout=60), 0, output.decode())
        self.assertIn("[y/N]", output.decode())
        self.assertIn("\r\x1b[K[", output.decode())

    def test_report_before_anything_was_run(self):
        self.write("small.yaml", STUDY)
        self.assertIn("nothing has been run", self.hpcbench("report", code=2).stderr)
        self.assertIn("no results of", self.hpcbench("report", "small.yaml", code=3).stderr)

    def test_closed_pipe_is_quiet(self):
        self.write("small.yaml", STUDY)
        done = subprocess.run(f"'{HPCBENCH}' plan small.yaml | true", shell=True, cwd=self.folder, env=self.environment(),
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")

    def test_completion_is_valid_bash(self):
        script = self.hpcbench("completion").stdout
        check = subprocess.run(["bash", "-c", script + "\ncomplete -p hpcbench"], capture_output=True, text=True, timeout=60)
        self.assertEqual(check.returncode, 0, check.stderr)
        self.assertIn("_hpcbench", check.stdout)

    def completed(self, line):
        """What bash puts in the place of the last piece of a line."""
        done = self.hpcbench("complete-words", "--line", line, " \t\n\"'><=;|&(:")
        self.assertEqual(done.stderr, "")
        return [offer.split("\t")[0] for offer in done.stdout.splitlines()]

    def test_completion_offers_the_values_that_parsing_takes(self):
        """Each option whose --help names a set `{a,b}` is completed with that set."""
        offered = 0
        for command in COMMANDS:
            text = self.hpcbench(command, "--help").stdout
            for option, values in re.findall(r"(--[a-z-]+) [A-Z]+:\{([^}]+)\}", text):
                with self.subTest(command=command, option=option):
                    self.assertEqual(self.completed(f"hpcbench {command} {option} "), values.split(","))
                    offered += 1
        self.assertGreaterEqual(offered, 9)
        self.assertEqual(self.completed("hpcbench plot --kind sp"), ["speedup"])
        self.assertEqual(self.completed("hpcbench report a.yaml --format=ma"), ["markdown"])
        self.assertEqual(self.completed("hpcbench report --speedup-style "), ["plain", "x"])
        self.assertEqual(self.completed("hpcbench retry --outcome failed,time"), ["failed,timeout"])

    def test_completion_of_what_bash_splits(self):
        # `:` and `=` part words; what is offered takes the place of the last part only.
        self.assertEqual(self.completed("hpcbench report --time-unit h:m"), ["mm:ss"])
        self.assertEqual(self.completed("hpcbench report --time-unit=h"), ["h", "h:mm:ss"])
        done = self.hpcbench("complete-words", "--line", "hpcbench report --time-unit=h:m", " ")
        self.assertEqual((done.stdout, done.stderr), ("--time-unit=h:mm:ss\n", ""))

    def test_completion_of_commands_options_and_files(self):
        self.write("small.yaml", STUDY)
        self.assertEqual(self.completed("hpcbench comp"), ["compare", "completion"])
        self.assertEqual(self.completed("hpcbench db "), ["rebuild", "unlock"])
        self.assertEqual(self.completed("hpcbench db rebuild --re"), ["--results"])
        self.assertEqual(self.completed("hpcbench run --det"), ["--detach"])
        for command in COMMANDS:
            self.assertEqual(self.completed(f"hpcbench {command} --log-"), ["--log-level"], command)
            self.assertEqual(self.completed(f"hpcbench {command} --qu"), ["--quiet"], command)
            self.assertEqual(self.completed(f"hpcbench {command} --verb"), ["--verbose"], command)
            self.assertEqual(self.completed(f"hpcbench {command} --log-level w"), ["warning"], command)
        self.assertEqual(self.completed("hpcbench run sm"), ["small.yaml"])
        self.assertEqual(self.completed("hpcbench report -o sm"), ["small.yaml"])
        self.assertEqual(self.completed("hpcbench plot --out sm"), [])

    def test_launch_ranks(self):
        # Rank 1, whose failure ends the others, waits until rank 0 has spoken.
        program = ("until [ $RANK = 0 ] || [ -e spoken ]; do sleep 0.01; done; echo rank $RANK of $WORLD_SIZE; touch spoken; "
                   "exit $((RANK * 5))")
        done = self.hpcbench("launch", "-n", "2", "--", "bash", "-c", program, code=5)
        self.assertEqual(sorted(done.stdout.splitlines()), ["rank 0 of 2", "rank 1 of 2"])

    def test_slurm_that_is_not_there_is_said(self):
        self.write("small.yaml", STUDY + "executor: slurm\n")
        self.hpcbench("check", "small.yaml")
        done = self.hpcbench("run", "small.yaml", code=3, env={"PATH": str(self.folder)})
        self.assertIn("sbatch", done.stderr)
        self.assertIn("takes no job", done.stderr)

    def test_check_knows_the_settings_of_the_trainer(self):
        trainer = PROGRAMS / "hpcbench-train"
        if not trainer.exists():
            self.skipTest("the trainer is not built")
        text = subprocess.run([str(trainer), "run", "--help"], capture_output=True, text=True, timeout=60).stdout
        options = {name.replace("-", "_") for name in re.findall(r"^  --([a-z0-9-]+)", text, re.M)} - {"help", "task", "seed"}
        self.write("bad.yaml", """
experiment: bad
trainer: mnist_rnn
matrix: {strategy: [ddp], nonsense: [1]}
""")
        listed = self.hpcbench("check", "bad.yaml", code=2).stderr.split("settings there are: ")[1].split("\n")[0]
        self.assertEqual(set(listed.split(", ")) - {"nodes", "gpus_per_node"}, options)

    def test_runner_has_no_libtorch(self):
        libraries = subprocess.run(["ldd", HPCBENCH], capture_output=True, text=True, timeout=60).stdout
        self.assertIn("libc.so", libraries)
        self.assertNotIn("torch", libraries)


if __name__ == "__main__":
    unittest.main()
