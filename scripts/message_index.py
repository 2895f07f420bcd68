"""The index of messages with what to do: about an experiment file, each class that tests/golden/spec has; of commands, each that the
runner's code throws. The site puts it into docs/errors.md; python3 scripts/message_index.py prints it."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
MESSAGES = ROOT / "tests/golden/spec"
MESSAGE = re.compile(r"^(?:\S+?:\d+:\d+: )?error: (.*)\n((?:  [|=].*\n?)*)", re.MULTILINE)

HEAD = """
## About an experiment file

`...` stands for the text of your file, N for a number, U for a unit; REASON and KIND vary. Where the second column is empty, the message
is complete.

message | what to do, for example
---|---
"""


def class_of(message):
    """The message without what differs from file to file, and without a reason or a kind that its place in the file makes plain."""
    message = re.sub(r" \(did you mean `[^`]*`\?\)", "", message)
    message = re.sub(r"^(this is no YAML|the pattern is no regular expression): .*", r"\1: ...", message)
    message = re.sub(r"puts (\S+) and (\S+) together", "puts U and U together", message)
    message = re.sub(r"gives \w+, and its", "gives U, and its", re.sub(r"says \w+$", "says U", message))
    message = re.sub(r"^\S+\.yaml has", "FILE has", re.sub(r"not for \S+=\S+", "not for A=V", message))
    message = re.sub(r"itself: .*<-.*", "itself: A <- B <- A", re.sub(r"^the quote . is", "the quote Q is", message))
    message = re.sub(r"\{\{(\*?)[^}]*\}\}", r"{{\1NAME}}", re.sub(r"`[^`]*`", "`...`", message))
    message = re.sub(r"(?:, which is `\.\.\.`,)? cannot stand in `\.\.\.`: .*", " cannot stand in `...`: REASON", message)
    message = re.sub(r"cannot be the name of an? .*", "cannot be the name of a KIND", message)
    message = re.sub(r"is an? \w+: it cannot be .*, too", "is a KIND: it cannot be a KIND, too", message)
    message = re.sub(r"(must be [^:]*), not (`\.\.\.`|a list|a map|one text|\d\S*)$", r"\1", message)
    return re.sub(r"\b\d+(\.\d+)?\b", "N", message)


LISTS = re.compile(r"(names|axes|values of [^:]*|outcomes|functions|known here|tasks of the built-in trainer|(settings|strategies|profiles) there are):")


def advice_for(name, advice):
    """Returns advice for every message of the class: a single message names the keys and values of its own file."""
    if name.endswith("REASON"):
        return "remove it, or use the key that the message names"
    if LISTS.match(advice):
        return "the message lists them"
    return re.sub(r"; .*", "", advice) if len(advice) > 90 else advice


def classes():
    """{class: the advice of its first message that has one}"""
    found = {}
    for path in sorted(MESSAGES.glob("*.txt")):
        for message, rest in MESSAGE.findall(path.read_text() + "\n"):
            advice = re.findall(r"^  = (.*)", rest, re.MULTILINE)
            name = class_of(message)
            found[name] = found.get(name) or advice_for(name, advice[0] if advice else "")
    return found


def cell(text):
    """Of a table: whatever the message holds shows as it is."""
    outside = {"*": "\\*", "\\": "\\\\", "[": "\\[", "<": "&lt;", ">": "&gt;"}
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else "".join(outside.get(c, c) for c in piece) for piece in pieces).replace("|", "\\|")


TEXT = r'"((?:[^"\\]|\\.)*)"'
THROWN = re.compile(r"\b(InputError|UnavailableError)\(\s*(fmt::format\(\s*)?((?:%s\s*)+)" % TEXT)
EXIT_CODES = {"InputError": 2, "UnavailableError": 3}

HEAD_OF_COMMANDS = """
## Of commands

Three dots stand for names, values and reasons. Where the last column is empty, the message is complete, or its reason is the system's:
permissions, a full disk, a quota.

message | exit code | what to do
---|---|---
"""


def shown(literal, formatted):
    """A text of the code as its reader sees it: each value is `...`, a new line a blank."""
    text = literal.replace(r"\"", '"').replace(r"\n", " ").replace(r"\\", "\\")
    if formatted:
        text = re.sub(r"\{\{|\}\}|\{[^{}]*\}", lambda match: match[0][0] if match[0] in ("{{", "}}") else "...", text)
    return re.sub(r"(\.\.\.){2,}", "...", text).strip()


def of_commands():
    """{(message, exit code): advice}: the texts that the code throws, but those that only hand on another one's words."""
    found = {}
    for path in sorted((ROOT / "runner").rglob("*.cpp")):
        for kind, formatted, literals, _ in THROWN.findall(path.read_text()):
            message, _, advice = "".join(re.findall(TEXT, literals)).partition("error: ")[2].partition(r"\n  = ")
            own_words = re.findall(r"[a-z]{2,}", re.sub(r"\{[^{}]*\}", "", message))
            if len(own_words) > 2 and not message.rstrip().endswith(":"):
                advice = shown(advice, formatted)
                found[shown(message, formatted), EXIT_CODES[kind]] = "" if advice == "..." else advice
    return found


def by_letters(rows):
    """Sorted by message, as a reader looks for it."""
    return sorted(rows.items(), key=lambda row: re.sub(r"[^a-z]", "", str(row[0]).lower()))


def row(*cells):
    return " | ".join(cell(str(each)) for each in cells).rstrip() + "\n"


def table():
    """In Markdown."""
    return (HEAD + "".join(row(message, advice) for message, advice in by_letters(classes())) +
            HEAD_OF_COMMANDS + "".join(row(message, code, advice) for (message, code), advice in by_letters(of_commands())))


if __name__ == "__main__":
    print(table(), end="")
