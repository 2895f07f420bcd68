"""Axes whose values are lists of arguments: what programs are given, by `command`, `shell` and `setup`."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

PROGRAM = "#!/bin/sh\necho \"count=$#\"\nfor each in \"$@\"; do echo \"argument=[$each]\"; done\n"
HOSTILE = "$(touch made) `touch made`; touch made 'it''s' \"x\" \\ *"


class Lists(StudyTest):
    STUDY = """
experiment: lists
command: [./prog, first, "{{{{*flags}}}}", "{{{{*size}}}}", "{{{{*nothing}}}}"]
matrix:
  flags: [[], [--fp16], [--name, two words], [{hostile}]]
  size: [8]
repeats: 1
{more}
metrics: [{{name: count, file: stdout.log, pattern: 'count=([0-9]+)'}}]
baseline: {{flags: []}}
report: {{metric: count}}
"""

    def study(self, more="", change=lambda text: text):
        self.write("prog", PROGRAM, 0o755)
        self.write("lists.yaml", change(self.STUDY.format(hostile=json.dumps(HOSTILE), more=more)))
        self.hpcbench("run", "lists.yaml")
        outputs = []
        for row in self.report("lists.yaml")["rows"]:
            folder = self.folder / "results/lists" / row["config_id"] / "r01/a1"
            lines = (folder / "stdout.log").read_text().splitlines()
            outputs.append([line[len("argument=["):-1] for line in lines if line.startswith("argument=")])
        self.assertFalse((self.folder / "made").exists(), "no shell reads a value")
        return outputs

    def test_a_program_is_given_each_argument(self):
        lists = [[], ["--fp16"], ["--name", "two words"], [HOSTILE]]
        wanted = [["first", *each, "8", "{{*nothing}}"] for each in lists]
        self.assertEqual(self.study(), wanted)
        rows = self.report("lists.yaml")["rows"]
        self.assertEqual([row["axes"]["flags"] for row in rows[:3]], ["", "--fp16", "--name 'two words'"])
        self.assertIn("--name 'two words'", self.hpcbench("report", "lists.yaml").stdout)

    def test_job_sh_and_setup_have_the_same_arguments(self):
        outputs = self.study('setup: ["./prog setup {{*flags}} {{size}}"]')
        self.assertEqual(outputs[2], ["setup", "--name", "two words", "8", "first", "--name", "two words", "8", "{{*nothing}}"])
        self.assertEqual(outputs[3][:3], ["setup", HOSTILE, "8"])

    def test_the_text_of_a_shell_has_words(self):
        command = 'command: [./prog, first, "{{*flags}}", "{{*size}}", "{{*nothing}}"]'
        outputs = self.study(change=lambda text: text.replace(command, 'shell: true\ncommand: "./prog {{*flags}} {{size}} | cat"'))
        self.assertEqual(outputs, [["8"], ["--fp16", "8"], ["--name", "two words", "8"], [HOSTILE, "8"]])

    def test_only_names_a_list_as_it_is_shown(self):
        self.study()
        for only, count in (("flags=--name 'two words'", 1), ("flags == ''", 1), ("flags=|--fp16", 2), ("flags == '--fp16'", 1),
                            ("flags != ''", 3)):
            plan = json.loads(self.hpcbench("plan", "lists.yaml", "--only", only, "--format", "json").stdout)
            self.assertEqual(plan["configurations"], count, only)
        self.hpcbench("show", "flags=--fp16/r01")


if __name__ == "__main__":
    unittest.main()
