"""The lists in docs against the program's own: whoever adds one to the program adds it to the page."""
import re
import sys
import pathlib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402


def page(name):
    return (ROOT / "docs" / name).read_text()


def quoted(text):
    """Words in backquotes."""
    return re.findall(r"`([^`]+)`", text)


class DocsAgree(StudyTest):
    def commands(self):
        overview = self.hpcbench("--help").stdout
        return re.findall(r"^  ([a-z]+) ", overview[overview.index("Subcommands:"):overview.index("Examples:")], re.MULTILINE)

    def help_of(self, command):
        return self.hpcbench(*command.split(), "--help").stdout

    def test_every_command_has_its_row(self):
        rows = re.findall(r"^\| `([a-z]+)", page("commands.md"), re.MULTILINE)
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


if __name__ == "__main__":
    unittest.main()
