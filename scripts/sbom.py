#!/usr/bin/env python3
"""Lists in SPDX 2.3 (JSON) the content of a built hpcbench or hpcbench-train: libraries linked statically, those that are headers alone,
and data that is packed with it.

  scripts/sbom.py --build FOLDER --program FILE --out FILE      FOLDER: of a build by Ninja; FILE: the program as it is packed

Which libraries: the linker's map and Ninja's record of headers. Their versions and licences: dpkg's data of this machine, and torch's
own. The same build gives the same bytes: dates are SOURCE_DATE_EPOCH's. scripts/wheel.py puts such a file into each wheel.
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
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Debian's short names of licences that differ from SPDX's. A name unknown to SPDX is given as in Debian.
LICENCES = {"Expat": "MIT", "MIT": "MIT", "Apache-2.0": "Apache-2.0", "Zlib": "Zlib", "zlib": "Zlib", "BSL-1.0": "BSL-1.0", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
            "BSD-3-google": "BSD-3-Clause", "BSD-3-clause or GPL-2": "BSD-3-Clause OR GPL-2.0-only", "X11": "X11", "LGPL-3+ or GPL-2+": "LGPL-3.0-or-later OR GPL-2.0-or-later"}


class Program(NamedTuple):
    folders: str  # of its sources, as a pattern
    data: dict  # {name: (licence, description)}


PROGRAMS = {"hpcbench": Program("runner|shared", {}),
            "hpcbench-train": Program("trainers|shared", {"mnist": ("CC-BY-SA-3.0", "data: the 10,000 test images of MNIST, which hpcbench demo trains on")})}


def output_of(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}).stdout
    except OSError as error:
        sys.exit(f"error: cannot start {command[0]}: {error.strerror}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(command[:4])}: {error.stderr.strip()}")


def linked_archives(build, name):
    """Paths of the system's static libraries of which the program holds something."""
    path = build / f"{name}.map"
    if not path.exists():
        sys.exit(f"error: there is no {path}: build the target {name} first")
    head = path.read_text(errors="replace").partition("\nMemory Configuration")[0]
    return {os.path.realpath(archive) for archive in re.findall(r"^(/[^\n(]*\.a)\(", head, re.MULTILINE) if not archive.startswith(f"{build}/")}


def read_headers(build, folders):
    """Paths of the headers that the program's objects read, ours among them."""
    objects = re.compile(rf"^({folders})/\S*: #deps")
    found = set()
    counts = False
    for line in output_of("ninja", "-C", str(build), "-t", "deps").splitlines():
        if not line.startswith(" "):
            counts = bool(objects.match(line))
        elif counts:
            found.add(line.strip())
    return {os.path.realpath(build / path) for path in found}  # ccache makes some relative


def packages_of(paths):
    """{package: its paths}"""
    found = {}
    if not paths:
        return found
    # Exit code 1: files of no package, such as /usr/local; they are named by their paths.
    done = subprocess.run(["dpkg", "-S", *sorted(paths)], capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    for line in done.stdout.splitlines():
        names, _, path = line.partition(": ")
        found.setdefault(names.split(",")[0].strip(), set()).add(path)
    for path in paths - set().union(*found.values(), set()):
        found.setdefault(path, set()).add(path)
    return found


def licence_of(package):
    """Returns the licence of most files in Debian's copyright file; None if that is not machine-readable."""
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
            "licenseComments": f"Debian's copyright file: {licence}" if licence else f"see Debian's copyright file of {name}",
            "sourceInfo": f"built from the source package {source}", "comment": f"{how}: {', '.join(libraries)}" if libraries else how,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/{distribution()}/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"}]}


def torch_folder(headers):
    """The LibTorch whose headers these are; None: there are none of it."""
    found = {match[1] for match in (re.match(r"(.*)/include/(?:ATen|c10|torch)/", path) for path in headers) if match}
    return pathlib.Path(min(found)) if found else None


def torch_entry(folder):
    """LibTorch, of which the trainer holds what its headers define."""
    metadata = "".join(path.read_text(errors="replace") for path in folder.parent.glob("torch-*.dist-info/METADATA"))  # of pip's torch
    said = {key: match[1] for key in ("Version", "License-Expression", "License") if (match := re.search(rf"^{key}: (.+)$", metadata, re.MULTILINE))}
    archive = folder / "build-version"  # of an archive from pytorch.org
    version = said.get("Version") or (archive.read_text().strip() if archive.exists() else "NOASSERTION")
    return {"name": "torch", "SPDXID": "SPDXRef-torch", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": said.get("License-Expression", said.get("License", "BSD-3-Clause")), "copyrightText": "NOASSERTION",
            "comment": "headers; its libraries are linked dynamically, and are not inside",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:pypi/torch@{version.replace('+', '%2B')}"}]}


def data_entry(name, licence, what):
    return {"name": name, "SPDXID": f"SPDXRef-{name}", "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", "comment": what}


def document(build, name, program):
    """program: its bytes, as they are packed."""
    version = re.search(r"project\(hpcbench VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    digest = hashlib.sha256(program).hexdigest()
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), datetime.timezone.utc)
    linked = packages_of(linked_archives(build, name))
    headers = read_headers(build, PROGRAMS[name].folders)
    torch = torch_folder(headers)
    system = {path for path in headers if path.startswith("/usr/") and not (torch and path.startswith(f"{torch}/"))}
    read = {package: paths for package, paths in packages_of(system).items() if package not in linked}
    own = {"name": name, "SPDXID": f"SPDXRef-{name}", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
           "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "licenseConcluded": "NOASSERTION", "licenseDeclared": "Apache-2.0",
           "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"}
    inside = [(entry(package, paths, how), kind) for found, how, kind in ((linked, "linked statically", "STATIC_LINK"), (read, "headers", "CONTAINS"))
              for package, paths in sorted(found.items())]
    inside += [(torch_entry(torch), "CONTAINS")] if torch else []
    inside += [(data_entry(data, *said), "CONTAINS") for data, said in PROGRAMS[name].data.items()]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{digest}",
            "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: hpcbench-sbom"]},
            "packages": [own, *(package for package, _ in inside)],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": own["SPDXID"]},
                              *({"spdxElementId": own["SPDXID"], "relationshipType": kind, "relatedSpdxElement": package["SPDXID"]} for package, kind in inside)]}


def text_of(build, name, program):
    return json.dumps(document(build.resolve(), name, program), indent=1, ensure_ascii=False) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if options.program.name not in PROGRAMS:
        parser.error(f"{options.program} is neither of {', '.join(PROGRAMS)}")
    options.out.write_text(text_of(options.build, options.program.name, options.program.read_bytes()))
    print(options.out)


if __name__ == "__main__":
    main()
