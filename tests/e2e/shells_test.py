"""What bash, zsh and fish themselves offer at TAB, against tests/golden/completion; and the pages of the manual.

Renewed with HPCBENCH_RENEW_GOLDEN=1 python3 -m pytest tests/e2e/shells_test.py; the diff is to be read.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402

GOLDEN = ROOT / "tests/golden/completion"
STUDY = """
experiment: small
command: ["true", "{{strategy}}", "{{tag}}"]
launch: once
matrix: {strategy: [baseline, ddp, fsdp2], tag: [a, "b c", "x,y", "p|q"]}
repeats: 2
prepare: {build: {command: ["true"]}, data: {command: ["true"]}}
metrics: [{name: loss, file: stdout.log, pattern: 'loss (.*)'}, {name: speed, file: stdout.log, pattern: 'speed (.*)'}]
success: {require: ["loss < 1"]}
profiles: {quick: {repeats: 1}, whole: {repeats: 6}}
"""
WIDE = """
experiment: wide
command: ["true", "{{lr}}"]
launch: once
zip: [{lr: [0.1, 0.01], wd: [1, 2]}]
matrix: {nodes: [1, 2]}
"""
# Every kind of word, once in each shell.
LINES = [line for line in """
hpcbench |
hpcbench r|
hpcbench --|
hpcbench db |
hpcbench db unlock |
hpcbench db rebuild --re|
hpcbench help pl|
hpcbench help plan |
hpcbench man s|
hpcbench completion |
hpcbench run |
hpcbench run sm|
hpcbench run my|
hpcbench run conf/|
hpcbench run small.yaml --|
hpcbench run small.yaml --yes --k|
hpcbench run small.yaml --profile |
hpcbench run small.yaml --profile=q|
hpcbench run small.yaml --profile quick --profile w|
hpcbench run --profile |
hpcbench run small.yaml --site |
hpcbench run small.yaml --site=m|
hpcbench run small.yaml --site sites/|
hpcbench run small.yaml --only |
hpcbench run small.yaml --only s|
hpcbench run small.yaml --only strategy=|
hpcbench run small.yaml --only=strategy=d|
hpcbench run small.yaml --only strategy=ddp,|
hpcbench run small.yaml --only strategy=ddp,tag=|
hpcbench run small.yaml --only 'strategy=ddp;|
hpcbench run small.yaml --only nosuch=|
hpcbench run 'my study.yaml' --only |
hpcbench run my\\ study.yaml --only lr=|
hpcbench run wide.yaml --only nodes=|
hpcbench run nosuch.yaml --only |
hpcbench run small.yaml --slots |
hpcbench run small.yaml --results |
hpcbench run small.yaml --log-level |
hpcbench run --log-level=w|
hpcbench -v run --det|
hpcbench report |
hpcbench report small --metric |
hpcbench report --metric l|
hpcbench report --format |
hpcbench report --format=ma|
hpcbench report --time-unit h|
hpcbench report --time-unit=h:m|
hpcbench report -o out/|
hpcbench report --group-by |
hpcbench report --group-by strategy,|
hpcbench retry --outcome |
hpcbench retry --outcome failed,t|
hpcbench retry --prepare |
hpcbench show |
hpcbench show small/strategy=ddp,tag=a/|
hpcbench show strategy=ddp,tag=a/r01/|
hpcbench logs strategy=f|
hpcbench compare sm|
hpcbench compare small w|
hpcbench ingest --experiment small.yaml --run |
hpcbench ingest |
hpcbench plot --kind ti|
hpcbench plot --out |
hpcbench launch -n 2 -- sm|
hpcbench init --trainer |
""".splitlines() if line]

BASH = """
PS1= HISTFILE= PATH='{programs}':$PATH
source <(hpcbench completion bash)
bind 'set bell-style none'
bind '"\\C-t": insert-completions'
answer() {{ printf '%s\\n' "$READLINE_LINE" >> answers; READLINE_LINE= READLINE_POINT=0; }}
bind -x '"\\C-y": answer'
: >> answers
"""
ZSH = """
PROMPT= PATH='{programs}':$PATH
unsetopt beep
autoload -Uz compinit && compinit -u -D
source <(hpcbench completion zsh)
offer-all() {{ _main_complete; compstate[insert]=all }}
zle -C offer-all menu-complete offer-all
bindkey '^T' offer-all
answer() {{ print -r -- "$BUFFER" >> answers; BUFFER= }}
zle -N answer
bindkey '^Y' answer
: >> answers
"""


class Terminal:
    """A shell on a terminal of its own, whose output is thrown away."""

    def __init__(self, command, folder, environment):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.ends, self.end = os.pipe()
        self.reader = threading.Thread(target=self.drain)
        self.reader.start()

    def drain(self):
        while True:
            ready, _, _ = select.select([self.descriptor, self.ends], [], [])
            if self.ends in ready:
                return
            try:
                if not os.read(self.descriptor, 65536):
                    return
            except OSError:
                return

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def close(self):
        os.close(self.end)
        self.reader.join()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        os.close(self.ends)


class Shells(StudyTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        for name, text in (("small.yaml", STUDY), ("my study.yaml", WIDE), ("wide.yaml", WIDE), ("conf/deep.yml", WIDE), ("notes.txt", ""),
                           ("sites/mine.yaml", "executor: local\n"), ("sites/other.yaml", "executor: local\n"), ("out/table.csv", ""),
                           ("broken.yaml", "experiment: [")):
            self.write(name, text)

    def environment(self, extra=None):
        return super().environment({"HOME": str(self.folder), "TERM": "dumb", "ZDOTDIR": str(self.folder / "rc"), "XDG_DATA_HOME": str(self.folder),
                                    "LC_ALL": "C.UTF-8", "INPUTRC": "/dev/null", **(extra or {})})

    def measure(self):
        """Runs are on record: some succeeded, none of which has a loss."""
        self.hpcbench("run", "small.yaml", "--only", "strategy=ddp", "--yes", "--keep-going", code=1)

    def answers(self):
        path = self.folder / "answers"
        return path.read_text().splitlines() if path.exists() else None

    def ask_terminal(self, command):
        """Types each line, all that is offered, and the key at which the shell writes its line down."""
        terminal = Terminal(command, self.folder, self.environment())
        self.addCleanup(terminal.close)
        self.wait_for(lambda: self.answers() is not None, "the shell")
        for count, line in enumerate(LINES, 1):
            terminal.type(self.typed(line) + "\x14\x19")
            self.wait_for(lambda: len(self.answers()) >= count, f"an answer to {line}")  # noqa: B023
        return [answer.rstrip() for answer in self.answers()]

    @staticmethod
    def typed(line):
        return line.removesuffix("|").replace(";", "|")

    def compare(self, shell, answers):
        self.assertEqual(len(answers), len(LINES))
        text = "".join(f"$ {self.typed(line)}\n{answer}\n\n" for line, answer in zip(LINES, answers))
        path = GOLDEN / f"{shell}.txt"
        if "HPCBENCH_RENEW_GOLDEN" in os.environ:
            path.write_text(text)
        self.assertEqual(text, path.read_text(), f"{path}: HPCBENCH_RENEW_GOLDEN=1 writes it anew; read the diff")

    def need(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def test_bash(self):
        self.need("bash")
        self.measure()
        rc = self.write("rc/bashrc", BASH.format(programs=PROGRAMS))
        self.compare("bash", self.ask_terminal(["bash", "--noprofile", "--rcfile", str(rc), "-i"]))

    def test_zsh(self):
        self.need("zsh")
        self.measure()
        self.write("rc/.zshrc", ZSH.format(programs=PROGRAMS))
        self.compare("zsh", self.ask_terminal(["zsh", "-d", "-i"]))

    def test_fish(self):
        self.need("fish")
        self.measure()
        script = f"set -gx PATH '{PROGRAMS}' $PATH\nhpcbench completion fish | source\n"
        for line in LINES:
            quoted = self.typed(line).replace("\\", "\\\\").replace("'", "\\'")
            script += f"complete -C '{quoted}'; echo ----\n"
        self.write("ask.fish", script)
        done = subprocess.run(["fish", "--no-config", "ask.fish"], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.compare("fish", [answer.strip("\n") for answer in done.stdout.split("----\n")[:-1]])

    def test_bash_gets_words_quoted_for_where_they_stand(self):
        self.write("odd.yaml", STUDY.replace('"x,y"', r"""'q"$`\'""").replace('"p|q"', '"it\'s"'))
        for begin, offers in (("tag=q", [r'tag=q\"\$\`\\\\']), ("'tag=q", [r'tag=q"$`\\']), ('"tag=q', [r'tag=q\"\$\`\\\\']),
                              ("tag=i", [r"tag=it\'s"]), ("'tag=i", [r"tag=it'\''s"]), ('"tag=i', ["tag=it's"])):
            said = self.hpcbench("complete-words", "--line", f"hpcbench run odd.yaml --only {begin}", " \t\n").stdout
            self.assertEqual(said.splitlines(), offers, begin)

    def test_it_writes_and_says_nothing(self):
        self.measure()
        before = {path: path.stat().st_mtime_ns for path in (self.folder / "results").rglob("*")}
        for words in (["show", ""], ["run", "broken.yaml", "--only", ""], ["report", "--metric", ""], ["run", "nosuch.yaml", "--profile", ""]):
            self.assertEqual(self.hpcbench("complete-words", "--", *words).stderr, "")
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in (self.folder / "results").rglob("*")})


class Manual(StudyTest):
    def test_a_page_for_each_command_with_each_option(self):
        self.hpcbench("man", "--out", "pages")
        names = {path.name for path in (self.folder / "pages").iterdir()}
        helped = {path.stem for path in (ROOT / "tests/golden/help").glob("hpcbench*.txt")}
        self.assertEqual(names, {f"{name}.1" for name in helped if not name.startswith("hpcbench-train") and name != "hpcbench-train"})
        for path in (self.folder / "pages").iterdir():
            options = re.findall(r"^  (?:-\w,)?(--[a-z-]+)", (ROOT / f"tests/golden/help/{path.stem}.txt").read_text(), re.MULTILINE)
            page = path.read_text().replace("\\-", "-")
            for option in options:
                self.assertIn(f"\\fB{option}\\fR", page, path.name)
        self.assertEqual(self.hpcbench("man", "run").stdout, (self.folder / "pages/hpcbench-run.1").read_text())

    def test_man_shows_it_without_complaint(self):
        if shutil.which("man") is None or shutil.which("groff") is None:
            self.skipTest("man or groff is not installed")
        self.hpcbench("man", "--out", "pages")
        for path in sorted((self.folder / "pages").iterdir()):
            done = subprocess.run(["man", "--warnings", "-l", str(path)], env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "200", "LC_ALL": "C.UTF-8"},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path.name)
            words = path.stem.removeprefix("hpcbench").replace("set-aside", "set_aside").replace("-", " ").replace("_", "-").split()
            self.assertIn(self.hpcbench(*words, "--help").stdout.splitlines()[0], done.stdout)

    def test_install_brings_pages_and_completion(self):
        build = PROGRAMS.parent
        if not (build / "runner/cmake_install.cmake").exists() or shutil.which("cmake") is None:
            self.skipTest(f"{build} is no build folder, or cmake is missing")
        prefix = self.folder / "installed"
        subprocess.run(["cmake", "--install", str(build), "--prefix", str(prefix)], check=True, capture_output=True, timeout=PATIENCE_S)
        for name in ("man/man1/hpcbench-run.1", "bash-completion/completions/hpcbench", "zsh/site-functions/_hpcbench",
                     "fish/vendor_completions.d/hpcbench.fish", "hpcbench/schema/experiment.json", "hpcbench/schema/site.json"):
            self.assertGreater((prefix / "share" / name).stat().st_size, 0, name)
        installed = subprocess.run([str(prefix / "bin/hpcbench"), "init", "new.yaml"], cwd=self.folder, env=self.environment(), timeout=60)
        self.assertEqual(installed.returncode, 0)
        self.assertIn(f"$schema={prefix}/share/hpcbench/schema/experiment.json\n", (self.folder / "new.yaml").read_text())

    def test_unknown_commands_are_refused_with_advice(self):
        self.assertIn("did you mean `run`?", self.hpcbench("man", "rum", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
