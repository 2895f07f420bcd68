#!/usr/bin/env python3
"""Makes the wheel of hpcbench from an installed tree: the program, what it shares, and the Python package.

  scripts/wheel.py --installed FOLDER --out FOLDER      FOLDER: what `cmake --install BUILD --prefix FOLDER` made

The same tree gives the same bytes: entries are sorted and have one date (SOURCE_DATE_EPOCH, else 1980). The wheel's name says for
which machines it is; a program that is wholly static starts on any Linux of its architecture (the tag manylinux_2_17).
"""
import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import stat
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "hpcbench-runner"  # `hpcbench` is another project's on PyPI
MODULE = NAME.replace("-", "_")


def version():
    return re.search(r"project\(hpcbench VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def is_static(program):
    """Without a PT_INTERP header: no loader, and so no C library, is needed."""
    data = program.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return False
    offset, size, count = (int.from_bytes(data[at:at + width], "little") for at, width in ((32, 8), (54, 2), (56, 2)))
    return all(int.from_bytes(data[offset + number * size:offset + number * size + 4], "little") != 3 for number in range(count))


def metadata():
    summary = "A declarative experiment runner for scaling studies of distributed training"
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\nSummary: {summary}\nLicense: Apache-2.0\nRequires-Python: >=3.9\n"
            "Provides-Extra: frames\nRequires-Dist: pandas; extra == \"frames\"\nProvides-Extra: trainer\nRequires-Dist: torch; extra == \"trainer\"\n"
            "Classifier: Operating System :: POSIX :: Linux\nDescription-Content-Type: text/markdown\n\n" + (ROOT / "README.md").read_text())


def entries(installed):
    """(name in the wheel, bytes, whether it is a program), without RECORD."""
    data = f"{MODULE}-{version()}.data"
    info = f"{MODULE}-{version()}.dist-info"
    yield f"{data}/scripts/hpcbench", (installed / "bin/hpcbench").read_bytes(), True
    for path in sorted((installed / "share").rglob("*")):
        if path.is_file():
            yield f"{data}/data/share/{path.relative_to(installed / 'share').as_posix()}", path.read_bytes(), False
    for path in sorted((ROOT / "python/hpcbench").glob("*")):
        if path.is_file() and path.suffix in (".py", ".typed"):
            yield f"hpcbench/{path.name}", path.read_bytes(), False
    yield f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes(), False
    yield f"{info}/METADATA", metadata().encode(), False
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: hpcbench\nRoot-Is-Purelib: false\nTag: {tag(installed)}\n".encode(), False


def tag(installed):
    system = "manylinux_2_17" if is_static(installed / "bin/hpcbench") else "linux"
    return f"py3-none-{system}_{platform.machine()}"


def make_wheel(installed, out):
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800))[:6]
    path = out / f"{MODULE}-{version()}-{tag(installed)}.whl"
    record = f"{MODULE}-{version()}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def put(name, data, is_program):
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            archive.writestr(entry, data)

        for name, data, is_program in entries(installed):
            put(name, data, is_program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
        put(record, ("".join(lines) + f"{record},,\n").encode(), False)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--installed", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if not (options.installed / "bin/hpcbench").exists():
        sys.exit(f"error: {options.installed} has no bin/hpcbench: cmake --install build/default --prefix {options.installed}")
    options.out.mkdir(parents=True, exist_ok=True)
    print(make_wheel(options.installed, options.out))


if __name__ == "__main__":
    main()
