"""Compares the lists in docs with the program's own: a new entry of the program must be added to its page. The links and command lines
of all pages."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402


def page(name):
    return (ROOT / "docs" / name).read_text()


def quoted(text):
    """Words in backquotes."""
    return re.findall(r"`([^`]+)`", text)


class DocsAgree(StudyTest):
    def commands(self):
        overview = self.hpcbench("--help").stdout
        return re.findall(r"^  ([a-z-]+) ", overview[overview.index("Subcommands:"):overview.index("Examples:")], re.MULTILINE)

    def help_of(self, command):
        return self.hpcbench(*command.split(), "--help").stdout

    def test_every_command_has_its_row(self):
        rows = re.findall(r"^\| `([a-z-]+)", page("commands.md"), re.MULTILINE)
        self.assertEqual(sorted(set(rows)), sorted(self.commands()))

    def test_options_of_a_row_are_options_of_its_command(self):
        for row in re.findall(r"^\| (`[a-z].*)\|$", page("commands.md"), re.MULTILINE):
            cells = row.split(" | ")
            names = {words.split()[0] for words in quoted(cells[0])}
            self.assertEqual(len(names), 1, row)
            name = names.pop()
            if name in ("help", "completion"):
                continue  # they speak of options of other commands
            text = self.help_of(name)
            said = re.findall(r"`(--[a-z-]+)", " | ".join(cells))
            for option in said:
                if option != "--help":
                    self.assertRegex(text, rf"{option}\b", f"{option} in the row of {cells[0]}")

    def test_commands_take_what_the_page_says_that_they_take(self):
        common = ["--profile", "--site", "--set", "--results", "--only"]
        for command in ("check", "plan", "run", "doctor", "status", "watch", "cancel", "retry", "report", "plot"):
            for option in common:
                self.assertRegex(self.help_of(command), rf"{option}\b", command)
        for command in ("show", "logs", "ls", "clean"):
            self.assertNotIn("--only", self.help_of(command))

    def test_formats_and_kinds(self):
        text = page("commands.md")
        for command, option in (("report", "--format"), ("plot", "--kind"), ("clean", "--remove"), ("compare", "--format")):
            own = re.search(rf"{option} [^\n]*\{{([a-z_,:\- ]+)\}}", self.help_of(command), re.IGNORECASE) or re.search(
                rf"{option} [A-Z]+:\{{([^}}]+)\}}", self.help_of(command))
            self.assertIsNotNone(own, f"{command} {option}")
            row = re.search(rf"^\| `{command} .*$", text, re.MULTILINE)[0]
            said = row[row.index(f"`{option}"):]
            for value in own[1].split(","):
                self.assertRegex(said, rf"\b{re.escape(value)}\b", f"{command} {option}")

    def complaint(self, more, code=2):
        self.write("wrong.yaml", "experiment: wrong\nmatrix: {nodes: [1], gpus_per_node: [1]}\n" + more)
        return self.hpcbench("check", "wrong.yaml", code=code).stderr

    def test_tasks_and_strategies(self):
        row = re.search(r"^\| `trainer` .*$", page("experiment-file.md"), re.MULTILINE)[0]
        tasks, strategies = row.split("strategies are")
        own_tasks = quoted(re.search(r"tasks of the built-in trainer: (.*)", self.complaint("trainer: nosuch\n") + "\n")[1])
        self.assertEqual(quoted(tasks)[1:], own_tasks)
        own = self.complaint("trainer: mnist_rnn\nparameters: {strategy: nosuch, data: x}\n")
        self.assertEqual(quoted(strategies), quoted(re.search(r"strategies there are: (.*)", own)[1]))

    def test_keys_of_an_experiment(self):
        text = page("experiment-file.md")
        table = text[text.index("| key | default | meaning |"):text.index("`resources`:")]
        said = re.findall(r"^\| `([a-z_]+)`", table, re.MULTILINE)
        self.assertGreater(len(said), 25)
        for key in said:
            self.assertNotIn(f"unknown key `{key}`", self.complaint(f"command: [p]\n{key}: {{nosuch_key_of_it: {{}}}}\n", code=None))
        self.assertIn("unknown key `nosuch`", self.complaint("command: [p]\nnosuch: 1\n"))


def tracked_pages():
    """Every page of the repository; golden ones are output of the program."""
    done = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in done.stdout.split("\0") if name] or [str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")]
    return [ROOT / name for name in names if not name.startswith("tests/golden/")]


def without_code(text):
    """Without fenced and indented blocks and words in backquotes: brackets there are no links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", re.sub(r"(?m)(?<=\n\n)(?: {4}.*\n)+", "", text))


def anchors(path):
    """Those that GitHub makes of the headings of a page."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (name := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(name)
    return found


def broken_links(page):
    """`line: target` of each link of a page to nothing."""
    text = page.read_text()
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", without_code(text)):
        name, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", name):
            continue  # the web
        other = (page.parent / name).resolve() if name else page
        line = text[:text.index(target)].count("\n") + 1
        if not other.exists() or (anchor and other.suffix == ".md" and anchor not in anchors(other)):
            yield f"{os.path.relpath(page, ROOT)}:{line}: {target}"


class Links(unittest.TestCase):
    def test_every_link_and_anchor_leads_somewhere(self):
        pages = tracked_pages()
        self.assertGreater(len(pages), 25)
        self.assertEqual([link for page in pages for link in broken_links(page)], [])

    def test_a_broken_link_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("# One `two` (three)\n[a](#one-two-three) [b](#four) [c](nosuch.md)\n`[d](no.md)` [e](https://x.org/#y)\n\n    [f](g)\n")
            self.assertEqual([link.split(": ")[1] for link in broken_links(page)], ["#four", "nosuch.md"])


def called(text):
    """(program, command, options) of each command line of hpcbench on a page: a line of a block, or words in backquotes."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    blocks = [block for language, block in fenced if language in ("", "sh", "console")] + re.findall(r"(?m)^ {4}.*$", text)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```", "", text))
    for line in lines:
        words = re.match(r"(?:\$ |-   )? *(hpcbench(?:-train)?) ([a-z][^#]*)", line)
        if not words or "exits with 2" in line:
            continue
        try:
            rest = shlex.split(words[2].partition(" -- ")[0])
        except ValueError:
            continue  # prose with an apostrophe
        yield words[1], rest[0], [word.partition("=")[0] for word in rest[1:] if re.match(r"--?[a-z]", word)]


class Experiments(StudyTest):
    def test_check_accepts_every_experiment_of_a_page(self):
        """Blocks of YAML with the key `experiment`; what they name need not exist."""
        seen = 0
        for path in tracked_pages():
            if path.name == "CHANGELOG.md":
                continue
            for block in re.findall(r"^```yaml[^\n]*\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
                if re.search(r"^experiment:", block, re.MULTILINE) and not re.search(r"^use:", block, re.MULTILINE):
                    seen += 1
                    self.write("page.yaml", block)
                    with self.subTest(str(path.relative_to(ROOT)), block=block.splitlines()[0]):
                        self.hpcbench("check", "page.yaml")
        self.assertGreater(seen, 20)


class CommandLines(StudyTest):
    def test_commands_and_options_of_all_pages_exist(self):
        helps = {}
        seen = 0
        for page_path in tracked_pages():
            if page_path.name == "CHANGELOG.md":
                continue  # of commands that are refused, too
            for program, command, options in called(page_path.read_text()):
                if not (PROGRAMS / program).exists():
                    continue
                where = f"{page_path.relative_to(ROOT)}: {program} {command}"
                if (program, command) not in helps:
                    done = subprocess.run([str(PROGRAMS / program), command, "--help"], capture_output=True, text=True, timeout=PATIENCE_S)
                    self.assertEqual(done.returncode, 0, where)
                    helps[program, command] = done.stdout
                for option in options:
                    seen += 1
                    if option != "--help":
                        self.assertRegex(helps[program, command], rf"(?m)(?:^|[ ,\[]){re.escape(option)}(?![a-z-])", where)
        self.assertGreater(seen, 30)


if __name__ == "__main__":
    unittest.main()
