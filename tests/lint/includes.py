#!/usr/bin/env python3
"""Every source and every header compiles by itself: none leans on what another file happened to include before it.

The build compiles a stage as one unit and so does not notice. Each file is only parsed, by clang. A source that begins with its own
header shows that this header stands alone, too. LibTorch's headers take seconds to read: they are read once, and given to the files
that include one of them, directly or through a header of ours. Needs the build `default` configured (where LibTorch is).
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = "clang++-16"
LIBTORCH = re.compile(r"<(torch|ATen|c10|gloo)/")
# The seam to GPUs, which only CUDA's headers can compile: scripts/check-cuda.sh does.
NEEDS_CUDA = re.compile(r"trainers/devices/cuda_(?!absent)")
FLAGS = ["-std=c++20", "-w", "-fsyntax-only", "-ferror-limit=5", "-DFMT_HEADER_ONLY=1", "-DUSE_C10D_GLOO", "-DUSE_DISTRIBUTED",
         '-DHPCBENCH_VERSION="0"', '-DHPCBENCH_SOURCE_DIR="."', '-DHPCBENCH_PROGRAMS="."']
# trainers/ stands behind runner/ nowhere: both have folders of the same names.
FOLDERS = {"runner": ["runner"], "trainers": ["trainers"], "bench": ["runner", "trainers"], "tests/trainers": ["tests", "runner", "trainers"],
           "tests/fuzz/safetensors": ["trainers"], "tests": ["tests", "runner"]}
PRECOMPILED = "#include <ATen/ATen.h>\n#include <ATen/Parallel.h>\n#include <torch/csrc/autograd/custom_function.h>\n" \
              "#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>\n"


def folders_of(path):
    return next(folders for prefix, folders in sorted(FOLDERS.items(), reverse=True) if path.startswith(prefix))


def libtorch_flags():
    """Where the build `default` finds LibTorch's headers; empty where it has no trainer."""
    database = ROOT / "build/default/compile_commands.json"
    if not database.exists():
        sys.exit("error: build/default is not configured: cmake --preset default")
    for entry in json.loads(database.read_text()):
        if "hpcbench_trainer.dir" in entry["command"]:
            return re.findall(r"-isystem \S+", entry["command"])
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

    def uses_libtorch(self, path):
        if path not in self.known:
            self.known[path] = False  # until found: includes may go in circles
            self.known[path] = bool(LIBTORCH.search(self.text[path])) or any(map(self.uses_libtorch, self.includes(path)))
        return self.known[path]

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
        return [path for path in self.text if path not in covered and not NEEDS_CUDA.search(path) and (libtorch or not self.uses_libtorch(path))]


def main():
    sources, libtorch = Sources(), libtorch_flags()
    with tempfile.TemporaryDirectory() as folder:
        system = [word for flag in libtorch for word in flag.split()]
        precompiled = []
        if libtorch:
            header = pathlib.Path(folder) / "libtorch.hpp"
            header.write_text(PRECOMPILED)
            subprocess.run([CLANG, *FLAGS[:2], *FLAGS[4:], *system, "-x", "c++-header", str(header), "-o", f"{header}.pch"], check=True)
            precompiled = ["-include-pch", f"{header}.pch"]

        def errors(path):
            command = [CLANG, *FLAGS, *(f"-I{folder}" for folder in folders_of(path))]
            if sources.uses_libtorch(path):
                command += system + precompiled
            return subprocess.run([*command, "-x", "c++", path], cwd=ROOT, capture_output=True, text=True).stderr

        paths = sources.to_compile(libtorch)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            failed = [(path, text) for path, text in zip(paths, pool.map(errors, paths)) if text]
    for path, text in failed:
        print(f"error: {path} does not compile by itself:\n{text}")
    print(f"{len(paths) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
