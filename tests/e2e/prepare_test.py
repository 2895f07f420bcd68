"""Preparations: what runs need is made once for each filled definition, by the protocol of runs."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, StudyTest, processes_of  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples/prepare"
STUDY = """
experiment: made
prepare:
  lib:
    command: [sh, -c, 'echo lib >> made.txt; cp lib.txt {{lib.dir}}/lib']
    inputs: [lib.txt]
  build:
    command: [sh, -c, '. ./act; echo {{flag}} >> made.txt; cat {{lib.dir}}/lib > {{build.dir}}/out; echo {{flag}} >> {{build.dir}}/out']
    environment: {FLAG: "{{flag}}"}
    inputs: ["src/*.c"]
command: [cat, "{{build.dir}}/out"]
matrix: {flag: [one, two], n: [1, 2]}
repeats: 2
metrics: [{name: m, file: stdout.log, pattern: '([0-9]+)'}]
report: {metric: m}
"""


class Preparations(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("made.yaml", STUDY)
        self.write("lib.txt", "lib 7\n")
        self.write("src/a.c", "a")
        self.write("act", "true\n")

    def made(self):
        return sorted((self.folder / "made.txt").read_text().split())

    def attempts(self, name):
        return sorted(p.relative_to(self.folder / "results/made/prepare").as_posix()[len(name):]
                      for p in self.folder.glob(f"results/made/prepare/{name}-*/a*"))

    def stdouts(self):
        return sorted(p.read_text() for p in self.folder.glob("results/made/*/r*/a*/stdout.log"))

    def test_each_filled_definition_is_made_once_before_the_runs_that_need_it(self):
        self.assertIn("1 preparation of lib, 2 preparations of build", self.hpcbench("check", "made.yaml").stdout)
        self.assertIn("prepare: lib once, build 2 times", self.hpcbench("plan", "made.yaml").stdout)
        self.assertEqual(json.loads(self.hpcbench("plan", "made.yaml", "--format", "json").stdout)["prepare"], {"lib": 1, "build": 2})
        dry = self.hpcbench("run", "made.yaml", "--dry-run").stdout
        self.assertEqual(dry.count("would be made"), 3, dry)
        self.assertFalse((self.folder / "made.txt").exists())
        self.hpcbench("run", "made.yaml")
        self.assertEqual(self.made(), ["lib", "one", "two"])
        self.assertEqual(self.stdouts(), ["lib 7\none\n"] * 4 + ["lib 7\ntwo\n"] * 4)
        self.hpcbench("run", "made.yaml", "--repeats", "3")
        self.assertEqual(self.made(), ["lib", "one", "two"])
        self.assertEqual(len(self.stdouts()), 12)
        self.assertNotIn("confounded", self.hpcbench("report", "made.yaml").stdout)

    def test_what_is_made_is_identity_and_where_is_not(self):
        ids = lambda: [row["config_id"] for row in json.loads(self.hpcbench("plan", "made.yaml", "--format", "json").stdout)["rows"]]
        before = ids()
        self.hpcbench("run", "made.yaml")
        self.assertEqual(ids(), before)
        self.write("made.yaml", STUDY.replace("src/*.c", "src/a.c"))
        self.assertEqual(ids(), before)
        self.write("made.yaml", STUDY.replace("FLAG:", "OTHER_FLAG:"))
        self.assertEqual(set(ids()) & set(before), set())

    def test_a_build_that_fails_leaves_its_runs_not_begun(self):
        self.write("act", 'test "$FLAG" = one || { echo no >&2; exit 3; }\n')
        failed = self.hpcbench("run", "made.yaml", code=1)
        text = failed.stdout + failed.stderr
        self.assertIn("4 runs not begun: build failed (exit code 3); its output is in ", text)
        log = pathlib.Path(text.split("its output is in ")[1].split()[0].rstrip(";.")) / "stderr.log"
        self.assertEqual(log.read_text(), "no\n")
        self.assertEqual(self.stdouts(), ["lib 7\none\n"] * 4)
        self.assertEqual(len(list(self.folder.glob("results/made/*/r*"))), 4)
        self.assertEqual(self.hpcbench("status", "made.yaml", code=None).stdout.count("not begun: build failed (exit code 3)"), 4)
        report = self.hpcbench("report", "made.yaml")
        self.assertIn("4 runs not begun: build failed", report.stdout + report.stderr)
        self.hpcbench("run", "made.yaml", code=1)
        self.assertEqual(self.attempts("build"), sorted(self.attempts("build")))
        self.assertEqual(len(self.attempts("build")), 2)
        self.write("act", "true\n")
        self.hpcbench("retry", "made.yaml", "--prepare", "build")
        self.assertEqual(len(self.stdouts()), 8)
        self.assertEqual(len(self.attempts("build")), 3)
        self.assertIn("did you mean `build`?", self.hpcbench("retry", "made.yaml", "--prepare", "biuld", code=2).stderr)
        self.assertIn("nothing of build has failed or is out of date", self.hpcbench("retry", "made.yaml", "--prepare", "build").stderr)
        self.assertEqual(len(self.attempts("build")), 3)
        clean = self.hpcbench("clean", "made.yaml").stdout
        self.assertIn("did not succeed", clean)
        self.hpcbench("clean", "made.yaml", "--remove", "prepare", "--yes")
        self.assertEqual(len(self.attempts("build")), 2)

    def test_changed_inputs_refuse_and_confound(self):
        self.hpcbench("run", "made.yaml")
        self.write("src/b.c", "b")
        refused = self.hpcbench("run", "made.yaml", "--repeats", "3", code=3).stderr
        self.assertIn("since `build` was made, files that it is made of have changed: src/b.c", refused)
        self.hpcbench("run", "made.yaml")  # nothing to run: nothing to refuse
        self.write("made.yaml", STUDY.replace("repeats: 2", "repeats: 3"))
        self.hpcbench("retry", "made.yaml", "--prepare", "build")
        self.assertEqual(self.made(), ["lib", "one", "one", "two", "two"])
        self.assertEqual(len(self.stdouts()), 12)
        self.assertIn("mixed-program", self.hpcbench("report", "made.yaml").stdout)
        # What is made of something else is made again.
        self.write("lib.txt", "lib 8\n")
        self.write("made.yaml", STUDY.replace("repeats: 2", "repeats: 4"))
        self.assertIn("lib.txt", self.hpcbench("run", "made.yaml", code=3).stderr)
        self.hpcbench("retry", "made.yaml", "--prepare", "lib")
        self.assertEqual(self.stdouts().count("lib 8\none\n"), 2)

    def test_what_a_refusal_of_more_repeats_advises_works(self):
        self.hpcbench("run", "made.yaml", "--results", "elsewhere")
        self.write("src/b.c", "b")
        refused = self.hpcbench("run", "made.yaml", "--results", "elsewhere", "--repeats", "3", code=3).stderr
        self.assertIn("`hpcbench retry made.yaml --results elsewhere --prepare build` makes it again", refused)
        self.hpcbench("retry", "made.yaml", "--results", "elsewhere", "--prepare", "build")  # although no run of the file waits for it
        self.assertIn("12 of 12 runs succeeded",
                      self.hpcbench("run", "made.yaml", "--results", "elsewhere", "--repeats", "3").stderr)

    def test_what_more_repeats_advise_after_a_failed_build_works(self):
        self.hpcbench("run", "made.yaml")
        self.write("src/b.c", "b")
        self.write("act", "exit 3\n")
        self.hpcbench("retry", "made.yaml", "--prepare", "build", code=1)  # no run waits for it, but it failed
        self.assertIn("then `hpcbench retry --prepare build`", self.hpcbench("run", "made.yaml", "--repeats", "3", code=1).stderr)
        self.write("act", "true\n")
        self.hpcbench("retry", "--prepare", "build")
        self.assertIn("12 of 12 runs succeeded", self.hpcbench("run", "made.yaml", "--repeats", "3").stderr)

    def test_builds_are_no_runs_of_tables(self):
        self.hpcbench("run", "made.yaml")
        report = self.hpcbench("report", "made.yaml", "--orphans").stdout
        self.assertNotIn("on record", self.hpcbench("report", "made.yaml").stdout)
        self.assertEqual(report.count("2 succeeded"), 4, report)
        self.assertNotIn(" 1 succeeded", report)
        self.assertIn("8 runs: 8 succeeded", self.hpcbench("ls").stdout)

    def test_cancel_only_ends_the_builds_that_no_other_run_needs(self):
        self.write("act", "touch begun; while ! test -e go; do sleep 0.05; done\n")
        process = self.begun()
        self.assertEqual(len(self.launchers()), 1)
        name = json.loads(next(self.folder.glob("results/made/prepare/build-*/a1/run.json")).read_text())["environment"]["FLAG"]
        other = "two" if name == "one" else "one"
        for needed_by_others in (f"flag={other}", "n=1"):
            self.hpcbench("cancel", "made.yaml", "--only", needed_by_others, "--yes")
            self.assertEqual(len(self.launchers()), 1)
        self.hpcbench("cancel", "made.yaml", "--only", f"flag={name}", "--yes")
        self.write("go", "")
        self.assertEqual(process.wait(60), 1)
        self.assertEqual(self.made(), sorted(["lib", other]))
        self.assertEqual(self.stdouts(), [f"lib 7\n{other}\n"] * 4)

    def test_after_cancel_run_is_not_said_to_begin_what_a_cancelled_build_keeps_back(self):
        self.write("act", "touch begun; sleep 60\n")
        process = self.begun(stderr=subprocess.PIPE)
        told = self.hpcbench("cancel", "made.yaml", "--yes").stderr
        self.assertIn("`hpcbench run` begins them, but for those whose preparation failed or was cancelled", told)
        told = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1)
        self.assertIn("`hpcbench run` carries them out, but for those whose preparation failed or was cancelled", told)

    def test_an_archive_has_no_builds(self):
        self.hpcbench("run", "made.yaml")
        text = self.hpcbench("export", "made.yaml")
        self.assertIn("3 files that preparations made are left out", text.stdout + text.stderr)

    def test_a_definition_that_is_gone_is_listed(self):
        self.hpcbench("run", "made.yaml")
        self.write("made.yaml", STUDY.replace("[one, two]", "[one]"))
        self.assertEqual(self.hpcbench("clean", "made.yaml").stdout.count("no run needs it"), 1)
        self.hpcbench("clean", "made.yaml", "--remove", "prepare", "--yes")
        self.assertEqual(len(self.attempts("build")), 1)

    def launchers(self):
        return processes_of("launch", self.folder.resolve() / "results/made/prepare/build")

    def begun(self, stderr=subprocess.DEVNULL):
        """`run`, until the first build has begun."""
        process = subprocess.Popen([HPCBENCH, "run", "made.yaml"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=stderr, text=True, start_new_session=True)
        end = time.monotonic() + 60
        while not (self.folder / "begun").exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return process

    def test_after_kill_of_hpcbench_the_same_build_counts(self):
        self.write("act", "touch begun; while ! test -e go; do sleep 0.05; done\n")
        process = self.begun()
        process.kill()
        process.wait()
        self.assertEqual(len(self.launchers()), 1)
        self.write("go", "")
        self.hpcbench("run", "made.yaml")
        self.assertEqual(self.made(), ["lib", "one", "two"])
        self.assertEqual([a[-2:] for a in self.attempts("build")], ["a1", "a1"])

    def test_after_kill_of_the_build_another_folder_counts(self):
        self.write("act", "touch begun; while ! test -e go; do sleep 0.05; done\n")
        process = self.begun()
        killed = self.launchers()
        self.assertEqual(len(killed), 1)
        os.kill(killed[0], signal.SIGKILL)
        self.write("go", "")
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(sorted(a[-2:] for a in self.attempts("build")), ["a1", "a1", "a2"])
        self.assertEqual(self.stdouts(), ["lib 7\none\n"] * 4 + ["lib 7\ntwo\n"] * 4)

    def test_ctrl_c_ends_the_build(self):
        self.write("act", "touch begun; sleep 60\n")
        process = self.begun()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertEqual(self.launchers(), [])
        self.write("act", "true\n")
        self.hpcbench("run", "made.yaml")
        self.assertIn("a2", [a[-2:] for a in self.attempts("build")])

    def test_the_example(self):
        if shutil.which("cc") is None:
            self.skipTest("there is no C compiler")
        for name in ("flags.yaml", "sum.c"):
            shutil.copy(EXAMPLES / name, self.folder / name)
        self.hpcbench("run", "flags.yaml", "--repeats", "2")
        self.assertEqual(len(list(self.folder.glob("results/flags/prepare/build-*/a1/out/sum"))), 2)
        self.assertEqual([row["n"] for row in self.report("flags.yaml")["rows"]], [2] * 4)
        self.assertNotIn("confounded", self.hpcbench("report", "flags.yaml").stdout)


if __name__ == "__main__":
    unittest.main()
