"""docs/continuous-integration.md: its study, its workflow and its commands are run as they are printed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402

PAGE = (ROOT / "docs/continuous-integration.md").read_text()
STUDY, WORKFLOW = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.search(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1].splitlines()
PROGRAM = "import sys\nprint(f'step {LEVEL}.{sys.argv[2]} ms')\n"


@unittest.skipIf(shutil.which("git") is None, "git is not installed")
class ContinuousIntegration(StudyTest):
    def git(self, *arguments, at):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", *arguments], cwd=at, check=True,
                       capture_output=True)

    def check_out(self, new_program):
        """A clone with the new program; origin/main has the old one."""
        upstream = self.folder / "upstream"
        self.write("upstream/bench.py", PROGRAM.replace("LEVEL", "100"))
        self.write("upstream/bench.yaml", STUDY)
        self.git("init", "-q", "-b", "main", at=upstream)
        self.git("add", ".", at=upstream)
        self.git("commit", "-q", "-m", "old", at=upstream)
        self.git("clone", "-q", "upstream", "clone", at=self.folder)
        self.write("clone/bench.py", new_program)
        return self.folder / "clone"

    def shell(self, command, at):
        env = self.environment({"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "GITHUB_BASE_REF": "main"})
        return subprocess.run(["bash", "-e", "-c", command], cwd=at, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S)

    def job(self, new_program):
        """The steps of the workflow, as its runner takes them: after one that fails, only those with `if: always()`."""
        folder = self.check_out(new_program)
        failed, said = False, ""
        steps = re.findall(r"^ *(?:- run|(- if: always\(\)\n *run)): (.*)$", WORKFLOW, re.MULTILINE)
        self.assertEqual(len(steps), 5)
        for always, command in steps:
            if failed and not always:
                continue
            done = self.shell(command, folder)
            said += done.stdout + done.stderr
            failed = failed or done.returncode != 0
        suites = ElementTree.fromstring((folder / "gate.xml").read_text())
        return failed, said, [case for case in suites.iter("testcase") if len(case) > 0]

    def test_green_where_nothing_changed(self):
        failed, said, cases = self.job(PROGRAM.replace("LEVEL", "100"))
        self.assertEqual((failed, cases), (False, []), said)
        self.assertIn("::notice title=hpcbench%3A slower > 5%25::passes", said)

    def test_red_for_a_slowdown(self):
        failed, said, cases = self.job(PROGRAM.replace("LEVEL", "dict(small=100, large=120)[sys.argv[1]]"))
        self.assertTrue(failed, said)
        self.assertEqual([(case.get("classname"), case.get("name"), case[0].tag) for case in cases], [("slower > 5%", "size=large", "failure")])
        self.assertIn("::error title=hpcbench%3A slower > 5%25::size=large: slower by more than 5 %25: B / A is 1.19", said)

    def test_red_where_the_new_version_measures_nothing(self):
        failed, said, cases = self.job("raise SystemExit(3)\n")
        self.assertTrue(failed, said)
        self.assertIn("::error title=hpcbench%3A no value of step_ms in B::size=large: no value in B:", said)
        self.assertIn("failure", {case[0].tag for case in cases})

    def test_the_commands_for_other_systems(self):
        folder = self.check_out(PROGRAM.replace("LEVEL", "101"))
        self.assertEqual(len(COMMANDS), 5)
        for command in COMMANDS:
            done = self.shell(command, folder)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        self.assertIn("| size |", (folder / "comparison.md").read_text())


if __name__ == "__main__":
    unittest.main()
