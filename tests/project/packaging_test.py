"""packaging/: the recipes against what the build needs. Nothing is built: that takes Spack or a container runtime."""
import ast
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import ROOT  # noqa: E402

PACKAGING = ROOT / "packaging"
# The packages that CMake searches, and their names in Spack. None: comes with the compiler or is a tool.
IN_SPACK = {"PkgConfig": "pkgconfig", "Threads": None, "fmt": "fmt", "Boost": "boost", "boost_program_options": "boost", "boost/program_options.hpp": "boost",
            "spdlog": "spdlog", "nlohmann_json": "nlohmann-json", "SQLiteCpp": "sqlitecpp", "yaml-cpp": "yaml-cpp", "pugixml": "pugixml", "re2": "re2",
            "nettle": "nettle", "libutf8proc": "utf8proc", "sqlite3": "sqlite", "libzstd": "zstd", "zlib": "zlib-api"}
TOOLS = {"c", "cxx", "cmake", "ninja", "pkgconfig"}


def calls(path, function):
    """The first arguments of a function's calls in a class of Python source."""
    tree = ast.parse(path.read_text())
    return [node.args[0].value for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function]


class Packaging(unittest.TestCase):
    def project_version(self):
        return re.search(r"project\(hpcbench VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

    def test_spack_brings_what_cmake_looks_for(self):
        text = "".join((ROOT / name / "CMakeLists.txt").read_text() for name in ("runner", "shared"))
        wanted = set(re.findall(r"find_package\((\S+)", text))
        wanted |= set(re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\S+)\)", text))
        wanted |= set(re.findall(r"find_(?:library|path)\(\w+ (\S+)", text))
        self.assertIn("SQLiteCpp", wanted)
        self.assertEqual(wanted - set(IN_SPACK), set(), "add its name in Spack to this test")
        depends = {re.split(r"[@+ ]", spec)[0] for spec in calls(PACKAGING / "spack/packages/hpcbench/package.py", "depends_on")}
        # Mustache is a header that CMake does not look for.
        self.assertIn("#include <kainjow/mustache.hpp>", "".join(path.read_text() for path in (ROOT / "runner/render").glob("*.cpp")))
        self.assertEqual(depends, {IN_SPACK[name] for name in wanted} - {None} | TOOLS | {"kainjow-mustache"})

    def test_spack_recipes_are_whole(self):
        for path in (PACKAGING / "spack/packages").glob("*/package.py"):
            classes = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
            self.assertEqual(classes, ["".join(word.title() for word in path.parent.name.split("-"))])
            self.assertTrue(calls(path, "version") and calls(path, "license"), path)
        self.assertEqual(calls(PACKAGING / "spack/packages/hpcbench/package.py", "version"), [self.project_version()])
        options = (ROOT / "CMakeLists.txt").read_text()
        given = re.findall(r"-D(HPCBENCH_\w+)", (PACKAGING / "spack/packages/hpcbench/package.py").read_text())
        self.assertIn("HPCBENCH_CCACHE", given, "ccache around Spack's compiler does not see the flags that Spack adds")
        for option in given:
            self.assertRegex(options, rf"(?:option|set|find_program)\({option}\b")

    def test_spack_builds_the_libraries_of_boost_that_are_linked(self):
        text = "".join((ROOT / name / "CMakeLists.txt").read_text() for name in ("runner", "shared"))
        boost = next(spec for spec in calls(PACKAGING / "spack/packages/hpcbench/package.py", "depends_on") if spec.startswith("boost"))
        self.assertEqual(set(re.findall(r"\+(\w+)", boost)), set(re.findall(r"find_library\(\w+ boost_(\w+)", text)))

    def test_sources_name_the_headers_that_newer_libraries_want(self):
        # Spack takes the newest: fmt has join in ranges.h since 11.
        for path in (path for folder in ("runner", "shared", "tests") for path in (ROOT / folder).rglob("*.[ch]pp")):
            text = path.read_text()
            self.assertTrue("fmt::join" not in text or "#include <fmt/ranges.h>" in text, path)

    def test_what_spack_fetches_by_tag_is_a_known_commit(self):
        for path in (PACKAGING / "spack/packages").glob("*/package.py"):
            for line in re.findall(r"version\(.*tag=.*", path.read_text()):
                self.assertRegex(line, r'commit="[0-9a-f]{40}"', path)

    def test_the_image_is_built_as_setup_and_release_do(self):
        text = (PACKAGING / "Dockerfile").read_text()
        setup = (ROOT / "scripts/setup.sh").read_text()
        words = re.search(r"^RUN /src/scripts/setup.sh (.*)$", text, re.MULTILINE)[1].split()
        self.assertEqual(words, ["--runner-only", "--dependencies"], "the list of packages is setup.sh's own")
        for word in words:
            self.assertIn(f"{word})", setup)
        presets = json.loads((ROOT / "CMakePresets.json").read_text())
        for kind, name in (("configurePresets", r"cmake --preset (\w+)"), ("buildPresets", r"cmake --build --preset (\w+)")):
            self.assertIn(re.search(name, text)[1], [preset["name"] for preset in presets[kind]])
        for source in re.findall(r"^COPY (?!--)(\S+)", text, re.MULTILINE):
            self.assertTrue((ROOT / source).exists(), source)
        self.assertEqual(len(set(re.findall(r"^FROM (\S+)", text, re.MULTILINE))), 1)

    def test_apptainer_installs_the_package_of_the_release(self):
        text = (PACKAGING / "hpcbench.def").read_text()
        sections = set(re.findall(r"^%(\w+)", text, re.MULTILINE))
        self.assertEqual(sections, {"files", "post", "runscript", "test", "help"})
        for where in (text, (ROOT / "docs/install.md").read_text()):
            self.assertIn(f"deb=build/release/hpcbench_{self.project_version()}_amd64.deb hpcbench.sif packaging/hpcbench.def", where)


if __name__ == "__main__":
    unittest.main()
