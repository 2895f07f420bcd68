"""tests/lint/prose.py finds what is planted, and nothing in plain English."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import prose


def found(path, text):
    return [(line, what) for line, what, _ in prose.faults(path, text)]


class Words(unittest.TestCase):
    def test_each_pattern_finds_its_words(self):
        for text, fault in (
                ("It goes on.", "goes on"), ("It went on until noon", "went on"), ("They mend it", "mend"), ("Nobody else reads it", "nobody else"),
                ("One more, if it is there.", "is there"), ("It cannot be had", "be had"), ("He took in a log", "took in"),
                ("The file says so", "says"), ("one of those that end", "of those that"), ("a job asks for nodes", "asks for"),
                ("as handed over", "handed over"), ("So with names", "so with"), ("Done by hand", "by hand"), ("it looks at both", "looks at"),
                ("What of that has a wrong type: names", "what of that"), ("Of several the last", "of several the"),
                ("it stands in a file", "stands in"), ("off for good", "for good"), ("Whoever ends it", "whoever")):
            self.assertIn((1, f'"{fault}"'), [(line, what.lower()) for line, what in found("a.cpp", f"// {text}\n")], text)

    def test_common_english_passes(self):
        for text in ("cargo one, mango on", "He goes online", "amend, recommend, commend", "Once more than half arrived", "There is one, and there are two",
                     "for good reason", "It stands in for a cluster", "So without names", "takes into account", "Prints `asks for` and `say`",
                     "Which one? What is it?", "Returns what the user wrote", "from the task and onwards"):
            self.assertEqual(found("a.cpp", f"// {text}\n"), [], text)

    def test_a_sentence_without_subject(self):
        self.assertEqual(found("a.hpp", "/// Done. What is advised names it.\n"), [(1, '"What ..."')])


class Passages(unittest.TestCase):
    def test_lines_of_one_comment_are_read_together(self):
        self.assertEqual(found("a.cpp", "int a;\n// It goes\n// on.\n"), [(2, '"goes on"')])
        self.assertEqual(found("a.cpp", "// It goes\n\n// on.\n"), [])
        self.assertEqual(found("a.cpp", "int goes = 1;  // goes\nint on;\n"), [])

    def test_messages_of_programs(self):
        self.assertEqual(found("a.cpp", 'print("it goes "\n      "on");\n'), [(1, '"goes on"')])
        self.assertEqual(found("a.cpp", 'f("anew"); char quote = \'"\'; int n = 1\'000; // a\n'), [])
        self.assertEqual(found("a.cpp", 'f(R"(one\nit says two)");\n'), [(2, '"says"')])
        self.assertEqual(found("a.py", 'print(f"it says {x}")  # anew\n'), [(1, '"says"'), (1, '"anew"')])
        self.assertEqual(found("a.py", '"""One.\n\nIt says two."""\n'), [(3, '"says"')])
        self.assertEqual(found("a.py", 'def f():\n    \"\"\"What it returns.\"\"\"\n'), [(2, '"What ..."')])
        self.assertEqual(found("a.sh", "said=1\n# b\necho 'it says'  \"$said is\"\n"), [(3, '"says"')])
        self.assertEqual(found("a.yaml", "description: it says\n"), [(1, '"says"')])

    def test_pages(self):
        self.assertEqual(found("a.md", "One\ngoes on.\n\n```\nit says\n```\n"), [(2, '"goes on"')])
        self.assertEqual(found("a.md", "- one goes\n- on.\n"), [])
        words = "word " * 34
        self.assertEqual(found("a.md", f"{words}end. Next one.\n"), [])
        self.assertEqual([what[:24] for _, what in found("a.md", f"One.\nTwo {words}end.\n")], ["a sentence of 36 words, "])
        self.assertEqual([what for _, what in found("a.md", "One two three. " * 41)], ["a paragraph of 123 words"])
        self.assertEqual(found("a.md", f"| a | {'b' * 201} |\n|---|---|\n| [{'c' * 199}](d.md) |\n"), [(1, "a cell of 201 letters"), (3, "a cell of 201 letters")])


class Exceptions(unittest.TestCase):
    def test_folders_and_files(self):
        exceptions = prose.read_exceptions("# why\n\nrunner/a/: not yet\nb.md: data\n")
        self.assertEqual([prose.left_out(path, exceptions) for path in ("runner/a/b.cpp", "runner/ab.cpp", "b.md", "c/b.md")], [True, False, True, False])

    def test_a_reason_is_required(self):
        with self.assertRaises(SystemExit):
            prose.read_exceptions("runner/a/\n")


if __name__ == "__main__":
    unittest.main()
