#!/usr/bin/env python3
"""Every source and every header compiles by itself: none leans on what another file happened to include before it.

The build compiles a stage as one unit and so does not notice. Each file is only parsed, by clang. A source that begins with its own
header shows that this header stands alone, too. Libraries whose headers take seconds to read are read once for each set of them that
files include, directly or through a header of ours. Needs the build `default` configured (where LibTorch is).
"""
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
# What takes long to read, in the order in which it is precompiled, each on top of those before it: what shows that a file uses it, and
# what is read then.
HEAVY = {
    "LibTorch": (re.compile(r"<(torch|ATen|c10|gloo)/"),
                 "#include <ATen/ATen.h>\n#include <ATen/Parallel.h>\n#include <torch/csrc/autograd/custom_function.h>\n"
                 "#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>\n"),
    "json": (re.compile("<nlohmann/json.hpp>"), "#include <nlohmann/json.hpp>\n"),
    "fmt": (re.compile("<fmt/format.h>"), "#include <fmt/format.h>\n"),
    "rapidcheck": (re.compile("<rapidcheck.h>"), "#include <rapidcheck.h>\n"),
    "doctest": (re.compile("<doctest/doctest.h>"), "#include <doctest/doctest.h>\n"),
}
# The seam to GPUs, which only CUDA's headers can compile: scripts/check-cuda.sh does.
NEEDS_CUDA = re.compile(r"trainers/devices/cuda_(?!absent)")
# GCC's own vector extensions; the build compiles each of them by itself.
NEEDS_GCC = re.compile(r"trainers/kernels/\w*_kernels\.cpp")
# Templates that libraries instantiate in each file are instantiated in what is precompiled: a third of the time.
FLAGS = ["-std=c++20", "-w", "-fpch-instantiate-templates", "-fsyntax-only", "-ferror-limit=5", "-DFMT_HEADER_ONLY=1", "-DUSE_C10D_GLOO", "-DUSE_DISTRIBUTED",
         '-DHPCBENCH_VERSION="0"', '-DHPCBENCH_SOURCE_DIR="."', '-DHPCBENCH_PROGRAMS="."']
# trainers/ stands behind runner/ nowhere: both have folders of the same names.
FOLDERS = {"cmake": [], "shared": ["shared"], "runner": ["runner", "shared"], "trainers": ["trainers", "shared"], "bench/trainers": ["trainers", "shared"], "bench": ["runner", "shared"],
           "tests/trainers": ["tests", "trainers", "shared"], "tests/fuzz/safetensors": ["trainers"], "tests": ["tests", "runner", "shared"]}
def folders_of(path):
    return next(folders for prefix, folders in sorted(FOLDERS.items(), reverse=True) if path.startswith(prefix))


def libtorch_flags():
    """Where the build `default` finds LibTorch's headers; empty where it has no trainer."""
    database = ROOT / "build/default/compile_commands.json"
    if not database.exists():
        sys.exit("error: build/default is not configured: cmake --preset default")
    for entry in json.loads(database.read_text()):
        if "hpcbench_trainer.dir" in entry["command"]:
            words = shlex.split(entry["command"])
            return [word for flag, folder in zip(words, words[1:]) if flag == "-isystem" for word in (flag, folder)]
    return []


class Sources:
    def __init__(self):
        listed = subprocess.run(["git", "ls-files", "*.cpp", "*.hpp"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        self.text = {path: (ROOT / path).read_text() for path in listed.split() if (ROOT / path).exists()}
        self.known = {}

    def includes(self, path):
        """The files of ours that `path` includes."""
        for name in re.findall(r'^#include "([^"]+)"', self.text[path], re.M):
            for folder in [os.path.dirname(path), *folders_of(path)]:
                found = os.path.normpath(f"{folder}/{name}")
                if found in self.text:
                    yield found
                    break

    def heavy(self, path):
        """The names of HEAVY that `path` includes, directly or through headers of ours."""
        if path not in self.known:
            self.known[path] = set()  # until found: includes may go in circles
            self.known[path] = {name for name, (sign, _) in HEAVY.items() if sign.search(self.text[path])}.union(
                *(self.heavy(inner) for inner in self.includes(path)))
        return self.known[path]

    def heavy_in_order(self, path):
        names = self.heavy(path)
        # Both define CHECK: a test says which it means by what it includes in between.
        return tuple(name for name in HEAVY if name in names and not (name == "doctest" and "LibTorch" in names))

    def stand_alone_by_their_sources(self):
        """Headers that a source of the same name includes before anything else."""
        for path in self.text:
            if path.endswith(".cpp"):
                first = re.search(r'^#include ["<]([^">]+)[">]', self.text[path], re.M)
                own = path[:-len("cpp")] + "hpp"
                if own in self.text and first and own.endswith(first[1]):
                    yield own

    def to_compile(self, libtorch):
        covered = set(self.stand_alone_by_their_sources())
        return [path for path in self.text if path not in covered and not NEEDS_CUDA.search(path) and not NEEDS_GCC.search(path)
                and (libtorch or "LibTorch" not in self.heavy(path))]


def main():
    sources, libtorch = Sources(), libtorch_flags()
    paths = sources.to_compile(libtorch)
    def flags_for(names):
        return FLAGS + (libtorch if "LibTorch" in names else [])

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        precompiled = {}

        def precompile(names):
            """The precompiled header of some of HEAVY: the last of them on top of that of the others."""
            if names not in precompiled:
                *below, last = names
                header = pathlib.Path(folder) / ("-".join(names) + ".hpp")
                header.write_text(HEAVY[last][1])
                flags = [flag for flag in flags_for(names) if flag != "-fsyntax-only"]
                subprocess.run([CLANG, *flags, *use(tuple(below)), "-x", "c++-header", header, "-o", f"{header}.pch"], check=True)
                precompiled[names] = f"{header}.pch"
            return precompiled[names]

        def use(names):
            return ["-include-pch", precompile(names)] if names else []

        # One thread for what stands on LibTorch, one for the rest: no header is precompiled twice.
        sets = {sources.heavy_in_order(path) for path in paths}
        on_libtorch = {names for names in sets if "LibTorch" in names}
        for _ in pool.map(lambda some: [use(names) for names in some], [on_libtorch, sets - on_libtorch]):
            pass

        def errors(path):
            names = sources.heavy_in_order(path)
            command = [CLANG, *flags_for(names), *use(names), *(f"-I{folder}" for folder in folders_of(path)), "-x", "c++", path]
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr

        failed = [(path, text) for path, text in zip(paths, pool.map(errors, paths)) if text]
    for path, text in failed:
        print(f"error: {path} does not compile by itself:\n{text}")
    print(f"{len(paths) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
