#!/usr/bin/env python3
"""Checks the English of comments, messages and pages: a list of words, and in pages the length of sentences, paragraphs and cells.

    prose.py [--all] [PATH...]    checks tracked files (below PATH); --all also those that prose_exceptions.txt leaves out

Prints `path:line: "goes on": write "continues"` for each fault. Comments are those of C++, Python, shell, CMake, YAML and Mustache;
messages are string literals that contain a space; pages are Markdown. Code between backticks and fenced blocks are not read.
"""
import argparse
import ast
import bisect
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXCEPTIONS = pathlib.Path(__file__).with_name("prose_exceptions.txt")
MOST_WORDS_OF_SENTENCE, MOST_WORDS_OF_PARAGRAPH, MOST_LETTERS_OF_CELL = 35, 120, 200

# A pattern, which begins and ends at a word's boundary and ignores case, and the advice.
WORDS = [
    (r"(go|goes|going|went|gone) on(?= ?(?:[.,;:)]|$| (?:with|as|after|until|from|while|where|in|without|if|when|to|for|by|and|at)\b))", "continue"),
    (r"mend(s|ed|ing)?", "fix, correct"),
    (r"anew", "again"),
    (r"once more(?! than)", "again"),
    (r"(no|some|any)body( else)?", "the actor: the runner, another process, a user"),
    (r"(is|are|was|were) there(?= ?(?:[.,;:)]|$))", "exists, is available"),
    (r"be had", "missing, unavailable"),
    (r"(take|takes|taken|taking|took) in", "import"),
    (r"(say|says|said|saying)", "print, state, set, report"),
    (r"(of|from|by|for|with) those (that|which|who)", "name the things"),
    (r"(wish|wishes|wished)", "request, want"),
    (r"(hear|hears|heard|hearing)", "receive, learn"),
    (r"ask(s|ed|ing)? for", "request, need"),
    (r"hand(s|ed|ing)? over", "submit, pass"),
    (r"(give|gives|giving|gave) way( to)?", "is preempted by, yields to"),
    (r"so with", "likewise"),
    (r"in any case", "always, regardless"),
    (r"as ever", "as before"),
    (r"by hand", "manually (pages), explicit (code)"),
    (r"look(s|ed|ing)? at", "check, read, inspect"),
    (r"(stand|stands|stood|standing) (in|on|there)(?! for)", "is in"),
    (r"thereby", "so, by this"),
    (r"in vain", "without success"),
    (r"for good(?! reason)", "permanently"),
    (r"of (theirs|his|hers|its own kind)", "their, its"),
    (r"as (he|she|they) likes?", "name the freedom"),
    (r"what (of|is|was) (that|these|this|it)(?= (has|is|are|was|were|does|cannot)\b)", "name the thing"),
    (r"of (several|these|those|both|all|two|many) the", "put the subject first"),
    (r"whoever", "name the actor"),
    (r"dies it", "subject first"),
    (r"(does|is|has|are|can|did|was) not (so|yet so)(?= ?[.,;])", "name it"),
]
# A sentence that begins so, and is no question, has no subject.
HEADLESS = re.compile(r"(?:^|[.!?] )(What|Who|Whose|Of (?:that|those|which|what))\b(?![^.!?]*\?)")
PATTERN = re.compile("|".join(rf"(?P<word{number}>\b{pattern}(?!\w))" for number, (pattern, _) in enumerate(WORDS)), re.I)
CODE = re.compile(r"(`+)[^`]*?\1")

CPP = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"(?P<tag>[^(\s"]*)\((?P<raw>.*?)\)(?P=tag)"|"(?P<string>(?:\\.|[^"\\\n])*)"|\d['\w.]*|'(?:\\.|[^'\\\n])+'""", re.S)
CPP_NAMES = (".cpp", ".hpp", ".h", ".c", ".inc")
WHOLE_LINE_NAMES = (".yml", ".yaml", ".mustache")
LINE_NAMES = (*WHOLE_LINE_NAMES, ".sh", ".cmake", "CMakeLists.txt", "/run", ".in")


class Passage:
    """A text that belongs together, which may have begun in several lines of a file."""

    def __init__(self, kind):
        self.kind = kind  # "comment", "message", "paragraph" or "cell"
        self.text, self.starts, self.lines = "", [], []

    def add(self, line, text, separator=" "):
        for number, part in enumerate(text.split("\n")):
            part = part.strip() if separator else part
            if self.text and part:
                self.text += separator if number == 0 else " "
            self.starts.append(len(self.text))
            self.lines.append(line + number)
            self.text += part

    def line(self, position):
        return self.lines[bisect.bisect_right(self.starts, position) - 1]


def joined(pieces, text):
    """Passages of pieces (kind, begin, end, words) of `text`: those of one kind with only white space between them are one."""
    passage, last = None, 0
    for kind, begin, end, words in pieces:
        line = text.count("\n", 0, begin) + 1
        between = text[last:begin]
        if passage is None or passage.kind != kind or between.strip() or between.count("\n") > 1:
            if passage is not None:
                yield passage
            passage = Passage(kind)
        passage.add(line, words, " " if kind == "comment" else "")
        last = end
    if passage is not None:
        yield passage


def cpp_passages(text):
    def pieces():
        for match in CPP.finditer(text):
            if (comment := match["comment"]) is not None:
                words = re.sub(r"(?m)^\s*(///?<?|/\*+|\*(?!\S*/)) ?", "", comment.removesuffix("*/"))
                yield "comment", match.start(), match.end(), words
            elif (words := match["string"]) is not None or (words := match["raw"]) is not None:
                yield "message", match.start(), match.end(), words.replace("\\n", " ").replace('\\"', '"')

    return joined(pieces(), text)


def python_passages(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def pieces():
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            if token.type == tokenize.COMMENT:
                yield "comment", begin, end, token.string.lstrip("#! ")
            elif token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
                docstring = token.string.startswith('"""') and not token.line[:token.start[1]].strip()
                yield "comment" if docstring else "message", begin, end, re.sub(r"""^\w*('''|\"\"\"|'|")|('''|\"\"\"|'|")$""", "", re.sub(r"\{[^{}]*\}", "{}", token.string)).replace("\\n", " ")

    return joined(pieces(), text)


def line_passages(text, quoted_only=False):
    """Comments of shell, CMake and YAML, and each other line by itself, or with `quoted_only` its quoted texts."""
    def pieces():
        position = 0
        for line in text.splitlines(keepends=True):
            code, mark, comment = re.match(r"((?:[^#]|(?<=\S)#)*)(#?)(.*)", line, re.S).groups()
            words = re.sub(r"\$\{?\w+", "$", " | ".join(map("".join, re.findall(r"\"([^\"]*)\"|'([^']*)'", code))) if quoted_only else code.strip())
            if code.strip():
                yield "message", position, position + len(code), words + " "
            if mark:
                yield "comment", position + len(code), position + len(line), comment.strip(" #!\n")
            position += len(line)

    return joined(pieces(), text)


def page_passages(text):
    passage, fenced = None, False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        fence = stripped.startswith(("```", "~~~"))
        begins = re.match(r"([-*+]|\d+\.|#+|>) ", stripped)
        table = stripped.startswith("|")
        if passage is not None and (fence or fenced or not stripped or begins or table):
            yield passage
            passage = None
        if fence:
            fenced = not fenced
        elif table and not fenced and not re.fullmatch(r"[|:\- ]+", stripped):
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                one = Passage("cell")
                one.add(number, cell)
                yield one
        elif stripped and not fenced and not table and not stripped.startswith("<") and (passage is not None or not line.startswith("    ")):
            passage = passage or Passage("paragraph")
            passage.add(number, stripped[begins.end():] if begins else stripped)
    if passage is not None:
        yield passage


def passages(path, text):
    """The passages of a file; none where files of its kind hold no prose."""
    if path.endswith(CPP_NAMES):
        return cpp_passages(text)
    if path.endswith(".py"):
        return python_passages(text)
    if path.endswith(".md"):
        return page_passages(text)
    if path.endswith(LINE_NAMES):
        return line_passages(text, quoted_only=not path.endswith(WHOLE_LINE_NAMES))
    return ()


def shown(text):
    """A page's text without the addresses of its links."""
    return re.sub(r"\]\([^)]*\)", "]", text)


def faults(path, text):
    """(line, what was found, advice) of each fault in a file, in order."""
    for passage in passages(path, text):
        if passage.kind == "message" and " " not in passage.text.strip():
            continue
        prose = CODE.sub(lambda code: "`" + "x" * (len(code[0]) - 2) + "`", passage.text)
        for match in PATTERN.finditer(prose):
            yield passage.line(match.start()), f'"{match[0]}"', f'write "{WORDS[int(match.lastgroup[4:])][1]}"'
        if passage.kind != "message" and re.search(r"[.:;]", prose):  # not the heading of a page
            for match in HEADLESS.finditer(prose):
                yield passage.line(match.start(1)), f'"{match[1]} ..."', "begin with the subject"
        if passage.kind == "cell" and len(shown(passage.text).strip()) > MOST_LETTERS_OF_CELL:
            yield passage.line(0), f"a cell of {len(shown(passage.text).strip())} letters", f"at most {MOST_LETTERS_OF_CELL}"
        if passage.kind == "paragraph":
            yield from long_ones(passage, CODE.sub("`", prose))


def long_ones(passage, prose):
    if (count := len(prose.split())) > MOST_WORDS_OF_PARAGRAPH:
        yield passage.line(0), f"a paragraph of {count} words", f"at most {MOST_WORDS_OF_PARAGRAPH}"
    for sentence in re.split(r"(?<=[.!?])[)\"*_]* +(?=[A-Z`*_(\[])", prose):
        if (count := len(sentence.split())) > MOST_WORDS_OF_SENTENCE:
            first = " ".join(sentence.split()[:5])
            yield passage.line(max(passage.text.find(first), 0)), f'a sentence of {count} words, "{first} ..."', f"at most {MOST_WORDS_OF_SENTENCE}"


def read_exceptions(text):
    """The paths that are left out: each line is `PATH: reason`; a folder ends with a slash."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for line in lines:
        if not re.fullmatch(r"\S+: \S.*", line):
            raise SystemExit(f"{EXCEPTIONS.name}: expected `PATH: reason`, got: {line}")
    return [line.partition(": ")[0] for line in lines]


def left_out(path, exceptions):
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in exceptions)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("paths", nargs="*")
    arguments = parser.parse_args()
    listed = subprocess.run(["git", "ls-files", "-z", *arguments.paths], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.split("\0") if path and (ROOT / path).is_file()]
    exceptions = read_exceptions(EXCEPTIONS.read_text())
    unused = [one for one in exceptions if not arguments.paths and not any(left_out(path, [one]) for path in paths)]
    found = [f"{EXCEPTIONS.relative_to(ROOT)}:1: {one} names no tracked file: delete its line" for one in unused]
    for path in paths:
        if arguments.all or not left_out(path, exceptions):
            text = (ROOT / path).read_bytes().decode(errors="replace")
            found += [f"{path}:{line}: {fault}: {advice}" for line, fault, advice in faults(path, text)]
    print("\n".join(found) if found else f"{len(paths)} files: no fault found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
