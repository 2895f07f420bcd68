"""Pages of docs as tests: a block with a title is a file, each line of a block `sh` is a command."""
import os
import pathlib
import re
import shutil
import subprocess

from harness import PATIENCE_S, PROGRAMS, ROOT, StudyTest

HOW_TO = ROOT / "docs/how-to"


def files_of(page):
    """{name: text} of the blocks ```LANGUAGE title="NAME"."""
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', page.read_text(), re.MULTILINE | re.DOTALL))


def commands_of(page):
    """(command, exit code, program it needs or None), by the remarks `# exits with N`, `... where gnuplot` and `# needs PROGRAM`."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            command, _, remark = line.partition("  # ")
            states = re.match(r"exits with (\d)( where gnuplot)?", remark)
            code = int(states[1]) if states else 0
            if states and states[2] and shutil.which("gnuplot"):
                code = 0
            needs = re.match(r"needs ([\w-]+)", remark)
            found.append((command, code, needs[1] if needs else None))
    return found


class PageTest(StudyTest):
    path = os.environ["PATH"]
    more = {}  # further variables

    def shell(self, command, code=0):
        env = self.environment({"PATH": f"{PROGRAMS}:{self.path}", **self.more})
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}\n{done.stderr}")
        return done

    def run_page(self, page):
        """Writes the page's files and runs its commands in order. Returns {command: what it did}."""
        for name, text in files_of(page).items():
            self.write(name, text)
        return {command: self.shell(command, code) for command, code, needs in commands_of(page)
                if needs is None or shutil.which(needs, path=self.path)}

    def train(self, name, script, python):
        """The how-to page of a launcher, by a Python that has it; one run of each configuration, since torch starts slowly."""
        self.path = f"{pathlib.Path(python).parent}:{self.path}"
        shutil.copy(ROOT / "examples/recipes" / script, self.folder)
        write = self.write
        self.write = lambda path, text, *mode: write(path, text.replace("repeats: 6", "repeats: 1"), *mode)
        report = list(self.run_page(HOW_TO / f"{name}.md").values())[-1].stdout
        self.assertIn("1 succeeded", report)
        self.assertIn("epoch_s", report)
