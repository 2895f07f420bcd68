#!/usr/bin/env python3
"""Makes wheels from installed trees: that of hpcbench, and that of its trainer.

  scripts/wheel.py --installed FOLDER --out FOLDER    what `cmake --install BUILD --prefix FOLDER` made: the program, what it shares,
                                                      and the Python package
  scripts/wheel.py --trainer FOLDER --out FOLDER      with `--component trainer`: hpcbench-train and the data of `hpcbench demo`
  --installed-from BUILD, --trainer-from BUILD        the build of the tree: its wheel then lists the content of its program in SPDX
                                                      (scripts/sbom.py; PEP 770), and the same file is put beside the wheel

The same tree gives the same bytes: entries are sorted and have one date (SOURCE_DATE_EPOCH, else 1980). A wheel's name states for
which machines it is: a program that is wholly static starts on any Linux of its architecture (the tag manylinux_2_17); the trainer
needs the C and C++ libraries whose symbols it names, and the torch that it was compiled with.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import stat
import subprocess
import sys
import time
import zipfile

import elf
import sbom

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNNER = "hpcbench-runner"  # `hpcbench` is another project's on PyPI
TRAINER = "hpcbench-trainer"
DATA = "share/hpcbench/data/"  # the trainer's
# Besides torch's own, libraries that every Linux with that C library has.
TORCH_LIBRARIES = {"libtorch.so", "libtorch_cpu.so", "libc10.so", "libgomp.so.1"}
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libmvec|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux-[a-z0-9-]+)\.so\.\d+")
# Symbols of libstdc++ up to 3.4.N and 1.3.N are in distributions with glibc 2.M: (N, M), by their releases.
LIBSTDCXX = {"GLIBCXX_3.4": ((19, 17), (22, 24), (25, 28), (28, 31), (29, 34), (30, 35), (32, 38), (33, 39), (34, 42)),
             "CXXABI_1.3": ((7, 17), (10, 24), (11, 28), (12, 31), (13, 34), (14, 38), (15, 39), (16, 42))}


def version():
    return re.search(r"project\(hpcbench VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def metadata(name, summary, licence, more, text):
    return (f"Metadata-Version: 2.1\nName: {name}\nVersion: {version()}\nSummary: {summary}\nLicense: {licence}\nRequires-Python: >=3.9\n{more}"
            f"Classifier: Operating System :: POSIX :: Linux\nDescription-Content-Type: text/markdown\n\n{text}").encode()


def shared(installed, module, *, of_trainer):
    """(name in the wheel, bytes, whether it is a program) of each file in share/."""
    for path in sorted((installed / "share").rglob("*")):
        name = path.relative_to(installed).as_posix()
        if path.is_file() and name.startswith(DATA) == of_trainer:
            yield f"{module}-{version()}.data/data/{name}", path.read_bytes(), False


def package(name):
    for path in sorted((ROOT / "python" / name).glob("*")):
        if path.is_file() and path.suffix in (".py", ".typed"):
            yield f"{name}/{path.name}", path.read_bytes(), False


class Runner:
    name = RUNNER
    program_name = "hpcbench"

    def __init__(self, installed):
        self.installed = installed
        self.program = (installed / "bin/hpcbench").read_bytes()
        system = "manylinux_2_17" if elf.Program(self.program).is_static else "linux"
        self.tag = f"py3-none-{system}_{platform.machine()}"

    def metadata(self):
        more = ("Provides-Extra: frames\nRequires-Dist: pandas; extra == \"frames\"\n"
                f"Provides-Extra: trainer\nRequires-Dist: {TRAINER} (=={version()}); extra == \"trainer\"\n")
        return metadata(self.name, "A declarative experiment runner for scaling studies of distributed training", "Apache-2.0", more, (ROOT / "README.md").read_text())

    def files(self, module):
        yield f"{module}-{version()}.data/scripts/hpcbench", self.program, True
        yield from shared(self.installed, module, of_trainer=False)
        yield from package("hpcbench")


class Trainer:
    name = TRAINER
    program_name = "hpcbench-train"

    def __init__(self, installed):
        self.installed = installed
        path = installed / "bin/hpcbench-train"
        said = subprocess.run([path, "--version"], capture_output=True, text=True)
        match = re.match(rf"hpcbench-train {re.escape(version())} \(LibTorch (\d+\.\d+)\.", said.stdout)
        if match is None:
            sys.exit(f"error: {path} --version prints no version {version()} with a LibTorch: {(said.stdout + said.stderr).strip()}")
        self.torch = match[1]
        program = elf.Program(path.read_bytes())
        others = [name for name in program.needed if name not in TORCH_LIBRARIES and not SYSTEM_LIBRARIES.fullmatch(name)]
        if others:
            sys.exit(f"error: {path} needs {', '.join(others)}, which neither every torch {self.torch} nor every Linux has: "
                     "link them statically (trainers/CMakeLists.txt), and build it with -DHPCBENCH_CUDA=OFF")
        # In site-packages, torch lies beside the program's folder.
        self.program = program.with_search_path("$ORIGIN/../torch/lib")
        self.tag = f"py3-none-manylinux_2_{least_glibc(program.versions)}_{platform.machine()}"

    def metadata(self):
        text = (f"`hpcbench-train`, the built-in trainer of hpcbench ({RUNNER}), for torch {self.torch} on CPUs, and 10,000 handwritten digits "
                "(MNIST, CC BY-SA 3.0) for `hpcbench demo`.\n")
        return metadata(self.name, "The built-in trainer of hpcbench", "Apache-2.0 AND CC-BY-SA-3.0", f"Requires-Dist: torch (=={self.torch}.*)\n", text)

    def files(self, module):
        yield from shared(self.installed, module, of_trainer=True)
        yield from package(module)
        yield f"{module}/hpcbench-train", self.program, True
        yield f"{module}-{version()}.dist-info/entry_points.txt", f"[console_scripts]\nhpcbench-train = {module}:main\n".encode(), False


def least_glibc(versions):
    """M of the first glibc 2.M that a program with these versions of symbols starts with, in a distribution of its time."""
    least = 17
    for name in (name for names in versions.values() for name in names):
        library, _, last = name.rpartition(".")
        if library == "GLIBC_2":
            least = max(least, int(last))
        elif name.startswith("GLIBC_2."):
            least = max(least, int(name.split(".")[1]))
        elif library in LIBSTDCXX:
            known = [glibc for newest, glibc in LIBSTDCXX[library] if int(last) <= newest]
            if not known:
                sys.exit(f"error: scripts/wheel.py does not know which distributions have {name}: add it to LIBSTDCXX")
            least = max(least, known[0])
    return least


def make_wheel(wheel, out, inside):
    """inside: None, or what is inside its program, in SPDX"""
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800))[:6]
    module = wheel.name.replace("-", "_")
    path = out / f"{module}-{version()}-{wheel.tag}.whl"
    info = f"{module}-{version()}.dist-info"
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def put(name, data, is_program):
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            archive.writestr(entry, data)

        def list_and_put(name, data, is_program):
            put(name, data, is_program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")

        for name, data, is_program in wheel.files(module):
            list_and_put(name, data, is_program)
        list_and_put(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes(), False)
        list_and_put(f"{info}/METADATA", wheel.metadata(), False)
        if inside is not None:
            list_and_put(f"{info}/sboms/{wheel.program_name}.spdx.json", inside.encode(), False)
        list_and_put(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: hpcbench\nRoot-Is-Purelib: false\nTag: {wheel.tag}\n".encode(), False)
        put(f"{info}/RECORD", ("".join(lines) + f"{info}/RECORD,,\n").encode(), False)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--installed", type=pathlib.Path)
    parser.add_argument("--trainer", type=pathlib.Path)
    parser.add_argument("--installed-from", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--trainer-from", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    trees = [(tree, build, kind) for tree, build, kind in
             ((options.installed, options.installed_from, Runner), (options.trainer, options.trainer_from, Trainer)) if tree]
    if not trees:
        parser.error("name a tree: --installed, --trainer or both")
    for tree, _, kind in trees:
        if not (tree / "bin" / kind.program_name).exists():
            sys.exit(f"error: {tree} has no bin/{kind.program_name}: cmake --install build/default --prefix {tree}")
    options.out.mkdir(parents=True, exist_ok=True)
    for tree, build, kind in trees:
        wheel = kind(tree)
        inside = sbom.text_of(build, wheel.program_name, wheel.program) if build else None
        if inside is not None:
            (options.out / f"{wheel.program_name}.spdx.json").write_text(inside)
        print(make_wheel(wheel, options.out, inside))


if __name__ == "__main__":
    main()
