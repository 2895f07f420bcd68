#!/usr/bin/env python3
"""Every source and every header compiles by itself: none leans on what another file happened to include before it.

The build compiles a stage as one unit and so does not notice. Each file is only parsed, by clang. A source that begins with its own
header shows that this header stands alone, too. Headers of libraries are read once: LibTorch's as a precompiled header, which every
file includes that includes LibTorch, directly or through a header of ours; all others as modules of clang, a part for each header, so
that a file sees the names of what it includes and no others. Needs the build `default` configured (where LibTorch is).
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
LIBTORCH = re.compile("#include <(torch|ATen|c10|gloo)/")
LIBTORCH_HEADERS = ("#include <ATen/ATen.h>\n#include <ATen/Parallel.h>\n#include <torch/csrc/autograd/custom_function.h>\n"
                    "#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>\n")
# Read as modules, besides the C++ library.
LIBRARIES = ["nlohmann/json.hpp", "fmt/format.h", "rapidcheck.h", "doctest/doctest.h"]
# The seam to GPUs and the null GPU, which only CUDA's headers can compile: scripts/check-cuda.sh and tests/gpu do.
NEEDS_CUDA = re.compile(r"trainers/devices/cuda_(?!absent)|tests/gpu/null/(cudart|driver|nccl)")
# GCC's own vector extensions; the build compiles each of them by itself.
NEEDS_GCC = re.compile(r"trainers/kernels/\w*_kernels\.cpp")
FLAGS = ["-std=c++20", "-w", "-fsyntax-only", "-ferror-limit=5", "-DFMT_HEADER_ONLY=1", "-DUSE_C10D_GLOO", "-DUSE_DISTRIBUTED",
         '-DHPCBENCH_VERSION="0"', '-DHPCBENCH_BUILD="0"', '-DHPCBENCH_SOURCE_DIR="."', '-DHPCBENCH_PROGRAMS="."',
         '-DHPCBENCH_FAKE_NVML="."']
# trainers/ stands behind runner/ nowhere: both have folders of the same names.
FOLDERS = {"cmake": [], "shared": ["shared"], "runner": ["runner", "shared"], "trainers": ["trainers", "shared"], "bench/trainers": ["trainers", "shared"], "bench": ["runner", "shared"],
           "tests/trainers": ["tests", "trainers", "shared"], "tests/fuzz/safetensors": ["trainers"], "tests/fuzz/shards": ["trainers", "shared"],
           "tests": ["tests", "runner", "shared"]}
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


def search_path():
    """The folders in which clang looks for <...>."""
    said = subprocess.run([CLANG, "-E", "-x", "c++", "-v", "/dev/null"], capture_output=True, text=True, check=True).stderr
    return re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", said, re.S)[1].split()


def module_map(headers):
    """A module of each library's header, and one of the C++ library, with a part for each of its headers."""
    folders = search_path()
    def found(name, places):
        return next((f"{folder}/{name}" for folder in places if os.path.exists(f"{folder}/{name}")), None)

    def module(name, kind=""):
        return f'module {re.sub(r"[^A-Za-z0-9]", "_", name)}_ {kind} {{ header "{places[name]}" export * }}'

    standard = [folder for folder in folders if "c++" in folder]
    places = {name: path for name in headers if (path := found(name, standard))}
    parts = "\n".join(map(module, sorted(places)))
    places.update({name: path for name in LIBRARIES if (path := found(name, folders))})
    return "\n".join([f"module std [system] {{\n{parts}\n}}", *(module(name, "[system]") for name in LIBRARIES if name in places), ""])


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

    def of_libraries(self):
        """Every name that is included as <name>."""
        return {name for text in self.text.values() for name in re.findall(r"^#include <([^>]+)>", text, re.M)}

    def on_libtorch(self, path):
        """Whether `path` includes LibTorch, directly or through headers of ours."""
        if path not in self.known:
            self.known[path] = False  # until found: includes may go in circles
            self.known[path] = bool(LIBTORCH.search(self.text[path])) or any(self.on_libtorch(inner) for inner in self.includes(path))
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
        paths = [path for path in self.text if path not in covered and not NEEDS_CUDA.search(path) and not NEEDS_GCC.search(path)
                 and (libtorch or not self.on_libtorch(path))]
        return sorted(paths, key=self.on_libtorch)  # LibTorch's headers are precompiled meanwhile


def main():
    sources, libtorch = Sources(), libtorch_flags()
    paths = sources.to_compile(libtorch)
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(name)
        (folder / "modules").write_text(module_map(sources.of_libraries()))
        modules = ["-fmodules", "-Xclang", "-fmodules-local-submodule-visibility", f"-fmodule-map-file={folder}/modules", f"-fmodules-cache-path={folder}/cache"]
        (folder / "libtorch.hpp").write_text(LIBTORCH_HEADERS)
        flags = [flag for flag in FLAGS if flag != "-fsyntax-only"] + libtorch
        # Templates that LibTorch instantiates in each file are instantiated in what is precompiled: a third of the time.
        command = [CLANG, *flags, "-fpch-instantiate-templates", "-x", "c++-header", folder / "libtorch.hpp", "-o", folder / "libtorch.pch"]
        precompiled = pool.submit(subprocess.run, command, check=True) if libtorch else None

        def parse(path, flags):
            command = [CLANG, *FLAGS, *flags, *(f"-I{folder}" for folder in folders_of(path)), "-x", "c++", path]
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr

        def errors(path):
            if sources.on_libtorch(path):
                precompiled.result()
                return parse(path, [*libtorch, "-fpch-instantiate-templates", "-include-pch", folder / "libtorch.pch"])
            # What clang's modules cannot express is no error of the file: headers as text have the last word.
            return parse(path, modules) and parse(path, [])

        failed = [(path, text) for path, text in zip(paths, pool.map(errors, paths)) if text]
    for path, text in failed:
        print(f"error: {path} does not compile by itself:\n{text}")
    print(f"{len(paths) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
