"""The JSON Schemas that `hpcbench schema` prints, against `check`: nothing that it accepts is refused, and of the golden broken files
those of tests/golden/schema/caught.txt are caught. Renewed with HPCBENCH_RENEW_GOLDEN=1; the diff is to be read.
"""
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import HPCBENCH, PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402

try:
    import jsonschema
    import yaml
except ImportError as error:
    raise unittest.SkipTest(f"{error.name} is not installed: python3-jsonschema, python3-yaml")

CAUGHT = ROOT / "tests/golden/schema/caught.txt"
SERVER = "yaml-language-server@1.15.0"


class Loader(yaml.SafeLoader):
    """YAML as the files have it: numbers in JSON's form, true and false; all else is text."""


Loader.yaml_implicit_resolvers = {}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), "tf")
Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), "-0123456789")
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"), "-0123456789")
Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def parsed(text):
    """Absent for what is no YAML at all."""
    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError):
        return None


def files(*patterns):
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern) if "build" not in path.relative_to(ROOT).parts)


class Schema(StudyTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.schema = json.loads(self.hpcbench("schema").stdout)
        self.validator = jsonschema.Draft7Validator(self.schema)

    def check(self, path, cwd=ROOT):
        return subprocess.run([HPCBENCH, "check", str(path)], cwd=cwd, env=self.environment(), capture_output=True, text=True,
                              errors="replace", timeout=PATIENCE_S)

    def complaints(self, document):
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in self.validator.iter_errors(document)]

    def test_they_are_schemas(self):
        for kind in ("experiment", "site"):
            jsonschema.Draft7Validator.check_schema(json.loads(self.hpcbench("schema", kind).stdout))

    def test_what_check_accepts_is_accepted(self):
        accepted = 0
        for path in files("experiments/**/*.yaml", "examples/**/*.yaml", "tests/**/*.yaml"):
            if self.check(path).returncode == 0:
                accepted += 1
                self.assertEqual(self.complaints(parsed(path.read_text())), [], path)
        self.assertGreater(accepted, 50)

    def test_words_that_yaml_reads_as_truth_are_names(self):
        path = self.write("true.yaml", "experiment: true\ncommand: [a, '{{k}}']\nmatrix: {k: [1]}\n"
                                       "metrics: [{name: true, file: stdout.log, pattern: 'x(.*)'}]\nreport: {metric: true}\n")
        self.assertEqual(self.check(path).returncode, 0)
        self.assertEqual(self.complaints(parsed(path.read_text())), [])

    def test_short_forms_are_accepted(self):
        for text in ("resources: {time: 2 h}",
                     "success: {require: [wall_s < 3]}\nprofiles: {bare: {success: {require: []}}}"):
            path = self.write("short.yaml", f"experiment: x\ncommand: [a, '{{{{k}}}}']\nmatrix: {{k: [1]}}\n{text}\n")
            done = self.check(path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.complaints(parsed(path.read_text())), [], text)

    def test_ranges_are_accepted_as_check_does(self):
        for axis, good in (("{from: 1, to: 8, times: 2}", True), ("{from: 0, to: 1, step: 0.25}", True), ("{from: 1, to: 8}", False),
                           ("{from: 1, to: 8, step: 1, times: 2}", False), ("{from: 1, step: 1}", False), ("{from: 1, to: 8, stp: 1}", False), ("1..8", False)):
            for name in ("k", "nodes"):
                if name == "nodes" and "0.25" in axis:
                    continue
                path = self.write("range.yaml", f"experiment: x\ncommand: [a, '{{{{k}}}}']\nmatrix: {{k: [1], {name}: {axis}}}\nlaunch: node\n".replace("k: [1], k:", "k:"))
                self.assertEqual(self.check(path).returncode, 0 if good else 2, axis)
                self.assertEqual(self.complaints(parsed(path.read_text())) == [], good, axis)
        path = self.write("range.yaml", "experiment: x\ncommand: [a, '{{k}}']\nmatrix: {k: [1]}\nprofiles: {p: {matrix: {k: {from: 1, to: 8, step: 7}}}}\n")
        self.assertEqual((self.check(path).returncode, self.complaints(parsed(path.read_text()))), (0, []))

    def test_sites_are_accepted(self):
        validator = jsonschema.Draft7Validator(json.loads(self.hpcbench("schema", "site").stdout))
        for path in files("sites/*.yaml", "examples/**/sites/*.yaml"):
            self.assertEqual(list(validator.iter_errors(parsed(path.read_text()))), [], path)
        for text in ("partitoin: x", "limits: {max_queued: 0}", "executor: pbs", "modules: gcc"):
            self.assertNotEqual(list(validator.iter_errors(parsed(text))), [], text)

    def test_what_changes_at_random_is_accepted_where_check_accepts_it(self):
        """Values of good files change places and kinds: whatever check still accepts, so does the schema."""
        chance = random.Random(1)
        texts = [path.read_bytes().decode("utf-8", "replace") for path in files("tests/golden/spec/*.yaml", "examples/**/*.yaml")]
        documents = [document for document in map(parsed, texts) if isinstance(document, dict)]
        values = [0, 1, 2.5, "x", "{{k}}", True, [], {}, ["a"], [1, 2], {"k": 1}, "2h", "5 %", None, "k == 1"]
        accepted = 0
        for number in range(10_000 if os.environ.get("HPCBENCH_LONG") == "1" else 400):
            document = json.loads(json.dumps(chance.choice(documents)))
            node = document
            while True:
                key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
                if not isinstance(node[key], (dict, list)) or not node[key] or chance.random() < 0.3:
                    break
                node = node[key]
            node[key] = chance.choice(values)
            path = self.write(f"changed-{number}.yaml", yaml.dump(document, sort_keys=False))
            code = self.check(path, self.folder).returncode
            self.assertIn(code, (0, 2), path.read_text())
            if code == 0:
                accepted += 1
                self.assertEqual(self.complaints(parsed(path.read_text())), [], path.read_text())
        self.assertGreater(accepted, 20)

    def test_broken_files_are_caught(self):
        caught, broken = [], 0
        for path in files("tests/golden/spec/*.yaml"):
            document = parsed(path.read_bytes().decode("utf-8", "replace"))
            if self.check(path.name, path.parent).returncode != 2 or not isinstance(document, (dict, list)):
                continue
            broken += 1
            complaints = self.complaints(document)
            if complaints:
                caught.append(path.name)
        text = "".join(f"{name}\n" for name in caught)
        if "HPCBENCH_RENEW_GOLDEN" in os.environ:
            CAUGHT.parent.mkdir(exist_ok=True)
            CAUGHT.write_text(text)
        self.assertEqual(text, CAUGHT.read_text())
        self.assertGreater(broken, len(caught))

    def test_every_key_is_documented(self):
        docs = "".join((ROOT / "docs" / name).read_text() for name in ("experiment-file.md", "sources.md", "expressions.md", "other-schedulers.md"))
        for kind in ("experiment", "site"):
            for name, definition in json.loads(self.hpcbench("schema", kind).stdout)["definitions"].items():
                for key, shape in definition["properties"].items():
                    self.assertTrue(re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`", docs), f"no page of docs/ names `{key}` of {name}")
                    self.assertTrue(shape["description"], f"{name}.{key}")

    def test_init_names_the_schema_that_is_there(self):
        self.hpcbench("init", "new.yaml")
        first = (self.folder / "new.yaml").read_text().splitlines()[0]
        self.assertRegex(first, r"^# yaml-language-server: \$schema=(/|file:///)\S+$", "a blank would end it")
        self.assertEqual(json.loads(pathlib.Path(urllib.parse.unquote(first.split("=", 1)[1].removeprefix("file://"))).read_text()), self.schema)
        self.hpcbench("check", "new.yaml")


class Findings(StudyTest):
    """check --format: what is wrong, for programs."""

    BROKEN = 'experiment: x\ncommand: ["true", "{{kk}}"]\nlaunch: once\nmatrix: {k: [1]}\nrepeat: 2\n'

    def test_json(self):
        self.write("a b.yaml", self.BROKEN)
        found = json.loads(self.hpcbench("check", "a b.yaml", "--format", "json", code=2).stdout)
        self.assertEqual((found["schema"], found["file"], found["runs"]), (1, "a b.yaml", None))
        said = self.hpcbench("check", "a b.yaml", code=2).stderr
        self.assertEqual(len(found["findings"]), said.count(": error: "))
        for row in found["findings"]:
            self.assertIn(f"{row['file']}:{row['line']}:{row['column']}: {row['level']}: {row['message']}\n", said)
            self.assertIn(row["advice"] or "", said)

    def test_what_is_right(self):
        self.write("good.yaml", self.BROKEN.replace("kk", "k").replace("repeat", "repeats") + "report: {metric: nosuch}\n")
        found = json.loads(self.hpcbench("check", "good.yaml", "--format", "json").stdout)
        self.assertEqual((found["configurations"], found["runs"]), (1, 2))
        self.assertEqual([row["level"] for row in found["findings"]], ["warning", "note"])
        self.assertIn("good.yaml", self.hpcbench("check", "good.yaml", "--format", "github").stdout)

    def test_github(self):
        self.write("a,b.yaml", self.BROKEN)
        lines = self.hpcbench("check", "a,b.yaml", "--format", "github", code=2).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertRegex(line, r"^::error file=a%2Cb\.yaml,line=\d+,col=\d+::[^\n]+")
        self.assertIn("%0A", "".join(lines))

    def test_sarif(self):
        self.write("broken.yaml", self.BROKEN)
        sarif = json.loads(self.hpcbench("check", "broken.yaml", "--format", "sarif", code=2).stdout)
        self.assertEqual(sarif["version"], "2.1.0")
        results = sarif["runs"][0]["results"]
        self.assertEqual([result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results], [2, 5])
        self.assertEqual({result["level"] for result in results}, {"error"})
        for rule in sarif["runs"][0]["tool"]["driver"]["rules"]:
            self.assertTrue(all(rule[text]["text"] for text in ("shortDescription", "fullDescription", "help")), "GitHub wants them")

    def test_sarif_names_files_by_uris(self):
        name = "a b:ä%.yaml"
        path = self.write(name, self.BROKEN)
        for given, uri in ((name, "a%20b%3A%C3%A4%25.yaml"), (str(path), path.as_uri())):
            sarif = json.loads(self.hpcbench("check", given, "--format", "sarif", code=2).stdout)
            for result in sarif["runs"][0]["results"]:
                said = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                self.assertEqual(urllib.parse.unquote(said), urllib.parse.unquote(uri))
                self.assertRegex(said, r"^(file://)?[A-Za-z0-9._~/%-]+$")

    def test_a_finding_without_a_place(self):
        self.write("good.yaml", self.BROKEN.replace("kk", "k").replace("repeat", "repeats"))
        found = json.loads(self.hpcbench("check", "good.yaml", "--only", "j=1", "--format", "json", code=2).stdout)
        self.assertEqual(found["findings"][0]["line"], None)
        self.assertIn("j", found["findings"][0]["message"])


def language_server():
    """yaml-language-server, installed by npm beside the build. SkipTest if it is unavailable."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise unittest.SkipTest("npm is not installed")
    folder = PROGRAMS.parent / "yaml-language-server"
    folder.mkdir(exist_ok=True)
    program = folder / "node_modules/.bin/yaml-language-server"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), SERVER],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
            if done.returncode != 0:
                raise unittest.SkipTest(f"npm cannot install {SERVER} here")
            (folder / "installed").write_text(SERVER)
    return str(program)


def parts_of(shape, indent):
    """(definition, lines below the key, indent of its own keys) of the maps that a value may be or hold."""
    if "$ref" in shape:
        yield shape["$ref"].rpartition("/")[2], [], indent
    for inner in (inner for word in ("allOf", "anyOf", "oneOf") for inner in shape.get(word, [])):
        yield from parts_of(inner, indent)
    for word, line in (("items", "-"), ("additionalProperties", "some:")):
        if isinstance(shape.get(word), dict):
            for name, lines, deeper in parts_of(shape[word], indent + 2):
                yield name, [" " * indent + line, *lines], deeper


def places(definitions, root):
    """{definition: (lines of a file before its keys, their indent)}, each at the first place that it has."""
    found, waiting = {root: ([], 0)}, [root]
    for name in waiting:
        lines, indent = found[name]
        for key, shape in definitions[name]["properties"].items():
            for inner, more, deeper in parts_of(shape, indent + 2):
                if inner not in found:
                    found[inner] = ([*lines, f"{' ' * indent}{key}:", *more], deeper)
                    waiting.append(inner)
    return found


class Editor(StudyTest):
    """The real server, as an editor talks to it."""

    def setUp(self):
        super().setUp()
        server = language_server()
        self.process = subprocess.Popen([server, "--stdio"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)
        self.last = 0
        self.diagnostics = {}
        self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {}})
        self.send({"method": "initialized", "params": {}})

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        self.assertGreater(length, 0, "the server has ended")
        message = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:  # it requests settings: there are none
            count = len(message["params"].get("items", [])) if isinstance(message.get("params"), dict) else 0
            self.send({"id": message["id"], "result": [None] * count})
        return message

    def ask(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while (message := self.receive()).get("id") != self.last or "method" in message:
            pass
        return message.get("result")

    def open(self, name, text):
        uri = f"file://{self.folder}/{name}"
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}}})
        while uri not in self.diagnostics:
            self.receive()
        return uri

    def first_line(self):
        self.hpcbench("init", "new.yaml")
        return (self.folder / "new.yaml").read_text().splitlines()[0] + "\n"

    def test_a_started_file_is_clean_and_mistakes_are_shown(self):
        self.hpcbench("init", "new.yaml")
        uri = self.open("new.yaml", (self.folder / "new.yaml").read_text())
        self.assertEqual(self.diagnostics[uri], [])
        first = (self.folder / "new.yaml").read_text().splitlines()[0]
        uri = self.open("bad.yaml", f"{first}\nexperiment: x\ncommand: [a]\nrepeets: 3\norder: any\n")
        self.assertEqual({row["range"]["start"]["line"] for row in self.diagnostics[uri]}, {3, 4})

    def test_keys_are_completed_and_explained(self):
        head = self.first_line()
        uri = self.open("half.yaml", head + "experiment: x\ncommand: [a]\nre\n")
        offered = self.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 2}})
        labels = {item["label"] for item in offered["items"]}
        self.assertTrue({"repeats", "report", "resources", "require", "retries"} <= labels, labels)
        uri = self.open("inner.yaml", head + "experiment: x\ncommand: [a]\nreport:\n  sc\n")
        offered = self.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 4}})
        labels = {item["label"] for item in offered["items"]}
        self.assertTrue({"scaling", "scale_by"} <= labels, labels)

    def test_every_key_is_completed_and_has_a_hover_text(self):
        """In its place: those of maps, lists and maps by name inside of others, too."""
        for kind, root in (("experiment", "experiment"), ("site", "site_over")):
            schema = self.write(f"{kind}.json", self.hpcbench("schema", kind).stdout)
            definitions = json.loads(schema.read_text())["definitions"]
            found = places(definitions, root)
            self.assertLessEqual(set(definitions) - {"experiment_over"}, set(found))
            for name, (before, indent) in found.items():
                keys = definitions[name]["properties"]
                before = [f"# yaml-language-server: $schema={schema.as_uri()}", *before]
                uri = self.open(f"{kind}-{name}-none.yaml", "\n".join([*before, " " * indent, ""]))
                offered = self.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": {"line": len(before), "character": indent}})
                self.assertLessEqual(set(keys), {item["label"] for item in offered["items"]}, name)
                uri = self.open(f"{kind}-{name}.yaml", "\n".join([*before, *(f"{' ' * indent}{key}: 1" for key in keys), ""]))
                for line, (key, shape) in enumerate(keys.items(), len(before)):
                    said = self.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": indent + 1}})
                    shown = re.sub(r"\W+", " ", said["contents"]["value"].replace("\\", ""))
                    self.assertIn(re.sub(r"\W+", " ", shape["description"]).strip(), shown, f"{name}.{key}")


if __name__ == "__main__":
    unittest.main()
