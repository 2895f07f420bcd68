#!/usr/bin/env python3
"""Checks that every source and every header compiles by itself, without includes that another file happened to make before it.

The build compiles a stage as one unit and so does not notice a missing include. Here clang also parses the sources of a part of the
project at once and instantiates their templates once, but as a module in which each file is a submodule: it sees only the names of
the files that it includes. Headers, of libraries and ours, are modules as well. Each of ours is also parsed alone, because a header
that others of its module include may see more than it includes. After an error files are read one by one, and finally as text:
a limit of clang's modules is no error of a file. Needs the build `default` configured (where LibTorch is).
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = "clang++-16"
# Libraries that are read as modules, besides the C++ library. Each file reads headers in C as text.
LIBRARIES = ["SQLiteCpp/SQLiteCpp.h", "doctest/doctest.h", "fmt/format.h", "kainjow/mustache.hpp", "nlohmann/json.hpp", "pugixml.hpp",
             "rapidcheck.h", "re2/re2.h"]
LIBTORCH = "(torch|ATen|c10|gloo)/"
IN_LIBTORCH_MODULE = re.compile(LIBTORCH + "(?!.*(cuda|NCCL|Gloo))")
# LibTorch's headers instantiate each other's templates: they are one module, whose parts see each other. It includes these first.
LIBTORCH_FIRST = ["condition_variable", "deque", "functional", "future", "list", "map", "optional", "set", "sstream", "unordered_map",
                  "unordered_set", "variant"]
# The seam to GPUs and the null GPU, which only CUDA's headers can compile: scripts/check-cuda.sh and tests/gpu do.
NEEDS_CUDA = re.compile(r"trainers/devices/cuda_(?!absent)|tests/gpu/null/(cudart|driver|nccl)")
# GCC's own vector extensions; the build compiles each of them by itself.
NEEDS_GCC = re.compile(r"trainers/kernels/\w*_kernels\.cpp")
# Defines a name that other files define as well: a program's entry, or a function of the C library.
BY_ITSELF = re.compile(r'^(extern "C" |int main\()', re.M)
FLAGS = ["-std=c++20", "-w", "-fsyntax-only", "-ferror-limit=5", "-DFMT_HEADER_ONLY=1", "-DUSE_C10D_GLOO", "-DUSE_DISTRIBUTED",
         '-DHPCBENCH_VERSION="0"', '-DHPCBENCH_BUILD="0"', '-DHPCBENCH_SOURCE_DIR="."', '-DHPCBENCH_PROGRAMS="."',
         '-DHPCBENCH_FAKE_NVML="."']
# The parts of the project, and where each finds headers. No list has both trainers/ and runner/: they have folders of the same names.
PARTS = {"cmake": [], "shared": ["shared"], "runner": ["runner", "shared"], "trainers": ["trainers", "shared"],
         "bench/trainers": ["trainers", "shared"], "bench": ["runner", "shared"], "tests/trainers": ["tests", "trainers", "shared"],
         "tests/fuzz/safetensors": ["trainers", "shared"], "tests/fuzz/shards": ["trainers", "shared"], "tests": ["tests", "runner", "shared"]}


def part_of(path):
    return max((part for part in PARTS if path.startswith(part)), key=len)


def is_header(path):
    return path.endswith(".hpp")


def libtorch_flags():
    """Returns the flags with which the build `default` finds LibTorch's headers; empty if it has no trainer."""
    database = ROOT / "build/default/compile_commands.json"
    if not database.exists():
        sys.exit("error: build/default is not configured: cmake --preset default")
    for entry in json.loads(database.read_text()):
        if "hpcbench_trainer.dir" in entry["command"]:
            words = shlex.split(entry["command"])
            return [word for flag, folder in zip(words, words[1:]) if flag == "-isystem" for word in ("-idirafter", folder)]
    return []


def search_path(flags):
    """Returns the folders in which clang searches for <...>."""
    said = subprocess.run([CLANG, *flags, "-E", "-x", "c++", "-v", "/dev/null"], capture_output=True, text=True, check=True).stderr
    listed = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", said, re.S)[1]
    return [line.strip() for line in listed.splitlines()]


def sources():
    """Returns the text of every file that can be read here, by path."""
    listed = subprocess.run(["git", "ls-files", "*.cpp", "*.hpp"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {path: (ROOT / path).read_text() for path in listed.split()
            if (ROOT / path).exists() and not NEEDS_CUDA.search(path) and not NEEDS_GCC.search(path)}


def on_libtorch(texts):
    """Returns the files that include LibTorch, directly or through others."""
    def included(path):
        names = re.findall(r'^#include "([^"]+)"', texts[path], re.M)
        return {os.path.normpath(f"{folder}/{name}") for name in names for folder in [os.path.dirname(path), *PARTS[part_of(path)]]}

    found = {path for path, text in texts.items() if re.search("^#include <" + LIBTORCH, text, re.M)}
    while further := {path for path in texts.keys() - found if included(path) & found}:
        found |= further
    return found


class Modules:
    """Writes the module map for clang into `folder`. `torch`: the paths in `texts` that include LibTorch."""

    def __init__(self, folder, texts, torch, flags):
        self.folder = folder
        self.files = collections.defaultdict(list)  # of each module of ours: a part's headers or sources, with LibTorch or without
        for path, text in texts.items():
            if is_header(path) or not BY_ITSELF.search(text):
                kind = ("headers" if is_header(path) else "sources") + ("_on_libtorch" if path in torch else "")
                self.files[kind, part_of(path)].append(path)
        names = {name for text in texts.values() for name in re.findall(r"^#include <([^>]+)>", text, re.M)}
        ours = [self.module("_".join(module), [ROOT / path for path in sorted(paths)]) for module, paths in self.files.items()]
        (folder / "map").write_text("\n".join([*self.libraries(names, search_path(flags)), *ours, ""]))
        (folder / "overlay").write_text(json.dumps({"version": 0, "use-external-names": False, "roots": list(self.named_copies(texts))}))
        self.flags = ["-fmodules", "-Xclang", "-fmodules-local-submodule-visibility", f"-fmodule-map-file={folder}/map",
                      f"-fmodules-cache-path={folder}/cache", "-ivfsoverlay", folder / "overlay"]

    @staticmethod
    def module(name, paths, kind=""):
        """Returns a module of which each header is a part."""
        def identifier(text):
            return re.sub(r"\W", "_", str(text)) + "_"

        parts = "\n".join(f'module {identifier(path)} {{ header "{path}" export * }}' for path in paths)
        return f"module {identifier(name)} {kind} {{\n{parts}\n}}"

    def libraries(self, names, folders):
        def found(wanted, places):
            paths = ((name, next((f"{folder}/{name}" for folder in places if os.path.exists(f"{folder}/{name}")), None)) for name in sorted(wanted))
            return {name: path for name, path in paths if path}

        standard = found(names | set(LIBTORCH_FIRST), [folder for folder in folders if "c++" in folder])
        yield self.module("std", standard.values(), "[system]")
        for name, path in found(LIBRARIES, folders).items():
            yield self.module(name, [path], "[system]")
        if libtorch := found(filter(IN_LIBTORCH_MODULE.match, names), folders):
            first = self.folder / "first.hpp"
            first.write_text("".join(f"#include <{name}>\n" for name in LIBTORCH_FIRST))
            yield "\n".join(["module libtorch [system] {", *(f'header "{path}"' for path in [first, *libtorch.values()]), "export *\n}"])

    def named_copies(self, texts):
        """Writes a copy of each source, for clang to read, whose nameless namespace has a name: clang sees only one nameless namespace in a module."""
        for number, (path, text) in enumerate(texts.items()):
            copy = self.folder / f"{number}.cpp"
            named = re.sub(r"^namespace \{", f"inline namespace file_{number} {{", text, flags=re.M)
            if named != text:
                copy.write_text(named)
                yield {"type": "file", "name": str(ROOT / path), "external-contents": str(copy)}


def main():
    torch_flags = libtorch_flags()
    texts = sources()
    torch = on_libtorch(texts)
    if not torch_flags:
        texts = {path: text for path, text in texts.items() if path not in torch}
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        modules = Modules(pathlib.Path(name), texts, torch, torch_flags)

        def parse(path, part, flags=()):
            command = [CLANG, *FLAGS, *torch_flags, *flags, *(f"-I{folder}" for folder in PARTS[part]), "-x", "c++", path]
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr

        def has_errors(module):
            unit = modules.folder / ("_".join(module).replace("/", "_") + ".cpp")
            unit.write_text(f'#include "{ROOT / modules.files[module][0]}"\n')  # clang builds the module that it is a part of
            return bool(parse(unit, module[1], modules.flags))

        def with_errors(kind):
            """Returns the files of the modules of a kind that have errors; the largest is read first."""
            order = sorted((module for module in modules.files if module[0].startswith(kind)), key=lambda module: -len(modules.files[module]))
            return {path for module, failed in zip(order, pool.map(has_errors, order)) if failed for path in modules.files[module]}

        def errors(path):
            # Clang would build a module with errors again for each of its headers.
            return (path in doubtful or parse(path, part_of(path), modules.flags)) and parse(path, part_of(path))

        def failed_of(paths):
            return [(path, text) for path, text in zip(paths, pool.map(errors, paths)) if text]

        doubtful = with_errors("headers")
        headers = [path for path in texts if is_header(path)]
        read = headers
        failed = failed_of(headers)
        if not failed:  # else every file that includes one of these fails as well
            in_modules = {path for paths in modules.files.values() for path in paths} - with_errors("sources")
            alone = [path for path in texts if path not in in_modules]
            print(f"{len(alone)} sources were read one by one")
            failed, read = failed_of(alone), list(texts)
    for path, text in failed:
        print(f"error: {path} does not compile by itself:\n{text}")
    print(f"{len(read) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
