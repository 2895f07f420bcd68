#!/usr/bin/env python3
"""Says in SPDX 2.3 (JSON) what is inside a built hpcbench: libraries linked statically, and those that are headers alone.

  scripts/sbom.py --build FOLDER --program FILE --out FILE      FOLDER: of a build by Ninja; FILE: the program as it is packed

Which libraries: the linker's map and Ninja's record of headers. Their versions and licences: dpkg's data of this machine. The same
build gives the same bytes: dates are SOURCE_DATE_EPOCH's.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Debian's short names of licences that SPDX calls otherwise. What is not a name of SPDX's is told as Debian has it.
LICENCES = {"Expat": "MIT", "MIT": "MIT", "Apache-2.0": "Apache-2.0", "Zlib": "Zlib", "zlib": "Zlib", "BSL-1.0": "BSL-1.0", "BSD-3-clause": "BSD-3-Clause",
            "BSD-3-google": "BSD-3-Clause", "BSD-3-clause or GPL-2": "BSD-3-Clause OR GPL-2.0-only", "X11": "X11", "LGPL-3+ or GPL-2+": "LGPL-3.0-or-later OR GPL-2.0-or-later"}


def output_of(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}).stdout
    except OSError as error:
        sys.exit(f"error: cannot start {command[0]}: {error.strerror}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(command[:4])}: {error.stderr.strip()}")


def linked_archives(build):
    """Paths of the system's static libraries of which the program holds something."""
    path = build / "hpcbench.map"
    if not path.exists():
        sys.exit(f"error: there is no {path}: build the target hpcbench first")
    head = path.read_text(errors="replace").partition("\nMemory Configuration")[0]
    return {os.path.realpath(name) for name in re.findall(r"^(/[^\n(]*\.a)\(", head, re.MULTILINE) if not name.startswith(f"{build}/")}


def read_headers(build):
    """Paths of the system's headers that the program's objects read."""
    objects = re.compile(r"^(runner|shared)/\S*: #deps")
    found = set()
    counts = False
    for line in output_of("ninja", "-C", str(build), "-t", "deps").splitlines():
        if not line.startswith(" "):
            counts = bool(objects.match(line))
        elif counts and line.strip().startswith("/usr/"):
            found.add(os.path.realpath(line.strip()))
    return found


def packages_of(paths):
    """{package: its paths}"""
    found = {}
    if not paths:
        return found
    # Exit code 1: somebody else's, as /usr/local; they are named by their paths.
    done = subprocess.run(["dpkg", "-S", *sorted(paths)], capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    for line in done.stdout.splitlines():
        names, _, path = line.partition(": ")
        found.setdefault(names.split(",")[0].strip(), set()).add(path)
    for path in paths - set().union(*found.values(), set()):
        found.setdefault(path, set()).add(path)
    return found


def licence_of(package):
    """What Debian's copyright file says of most files; None where it is no file for machines."""
    path = pathlib.Path("/usr/share/doc", package.split(":")[0], "copyright")
    text = path.read_text(errors="replace") if path.exists() else ""
    said = re.search(r"^Files: \*\n(?:(?!\n\n).)*?^License: *(\S[^\n]*)", text, re.MULTILINE | re.DOTALL)
    return said[1].strip() if said else None


def distribution():
    """As purls name it: debian, ubuntu."""
    path = pathlib.Path("/etc/os-release")
    said = re.search(r"^ID=\"?([a-z0-9.-]+)", path.read_text() if path.exists() else "", re.MULTILINE)
    return said[1] if said else "debian"


def entry(package, paths, how):
    if package.startswith("/"):
        return {"name": package, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", package), "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "comment": "no package of dpkg's"}
    version, architecture, source = output_of("dpkg-query", "-W", "-f", "${Version} ${Architecture} ${source:Package}", package).split()
    name = package.split(":")[0]
    licence = licence_of(package)
    libraries = sorted(os.path.basename(path) for path in paths if path.endswith(".a"))
    return {"name": name, "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": LICENCES.get(licence, "NOASSERTION"), "copyrightText": "NOASSERTION",
            "licenseComments": f"Debian's copyright file says: {licence}" if licence else f"see Debian's copyright file of {name}",
            "sourceInfo": f"built from the source package {source}", "comment": f"{how}: {', '.join(libraries)}" if libraries else how,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/{distribution()}/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"}]}


def document(build, program):
    version = re.search(r"project\(hpcbench VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), datetime.timezone.utc)
    linked = packages_of(linked_archives(build))
    read = {package: paths for package, paths in packages_of(read_headers(build)).items() if package not in linked}
    own = {"name": "hpcbench", "SPDXID": "SPDXRef-hpcbench", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
           "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "licenseConcluded": "NOASSERTION", "licenseDeclared": "Apache-2.0",
           "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"}
    inside = [(entry(package, paths, how), kind) for found, how, kind in ((linked, "linked statically", "STATIC_LINK"), (read, "headers", "CONTAINS"))
              for package, paths in sorted(found.items())]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"hpcbench-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/hpcbench-{version}-{digest}",
            "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: hpcbench-sbom"]},
            "packages": [own, *(package for package, _ in inside)],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-hpcbench"},
                              *({"spdxElementId": "SPDXRef-hpcbench", "relationshipType": kind, "relatedSpdxElement": package["SPDXID"]} for package, kind in inside)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    text = json.dumps(document(options.build.resolve(), options.program), indent=1, ensure_ascii=False) + "\n"
    options.out.write_text(text)
    print(options.out)


if __name__ == "__main__":
    main()
