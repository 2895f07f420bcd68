"""Files that tests leave in the build folder: artifacts/NAME/report.html and report.json of a run of scripts/gpu-check.sh."""
import os
import pathlib
import shutil
import tempfile


def keep_report(out, name, programs):
    """`programs`: the folder of the build's programs. Whole or not at all, as the same test may run twice at once."""
    into = pathlib.Path(programs).resolve().parent / "artifacts" / name
    into.mkdir(parents=True, exist_ok=True)
    for file in ("report.html", "report.json"):
        with tempfile.TemporaryDirectory(dir=into) as folder:
            os.replace(shutil.copy(pathlib.Path(out) / file, folder), into / file)
