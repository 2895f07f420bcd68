"""Calls the program hpcbench."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sysconfig


class ProgramError(RuntimeError):
    """The program is missing, or has ended with an error; the text is its message."""


def find_program() -> str:
    """The path of hpcbench: the variable HPCBENCH, else that of this Python environment, else on PATH."""
    named = os.environ.get("HPCBENCH")
    if named:
        return named
    beside = pathlib.Path(sysconfig.get_path("scripts")) / "hpcbench"
    if beside.exists():
        return str(beside)
    found = shutil.which("hpcbench")
    if found is None:
        raise ProgramError("there is no program hpcbench on PATH; set the variable HPCBENCH to its path")
    return found


def call(*arguments: str, accept: tuple[int, ...] = (0,)) -> str:
    """Returns the output of a command, in UTF-8 whatever the locale. Exit codes that are not in `accept` are a ProgramError."""
    program = find_program()
    try:
        done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ProgramError(f"cannot start {program}: {error.strerror}") from error
    if done.returncode not in accept:
        raise ProgramError(done.stderr.strip() or f"hpcbench {' '.join(arguments)} has ended with exit code {done.returncode}")
    return done.stdout
