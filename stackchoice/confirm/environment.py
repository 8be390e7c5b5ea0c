"""What is installed in the environment that a command starts from: the engine's release, torch.

A server may not know its own release. The interpreter that runs it does: it is asked for the
versions of the distributions that ``data/beside.yaml`` names, and starts nothing of them.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from stackchoice.confirm.account import PACKAGE
from stackchoice.confirm.beside import table
from stackchoice.facts.yaml import shown
from stackchoice.load.untrusted import parse_json

ASK_S = 30.0
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?\Z", re.I)
#: How installers name an interpreter whose path is too long, or holds a space, for the first line.
_THROUGH_SH = re.compile(r"""#!/bin/sh\n\'\'\'exec\' (?:"([^"]+)"|\'([^\']+)\'|(\S+)) """)
#: Run in the other interpreter, whatever its release; ``-I`` keeps this package's path out of it.
_ASK = """
import json
from importlib.metadata import distributions
found = {}
for one in distributions():  # in the order of imports: the first of a name is the one that runs
    found.setdefault(one.metadata["Name"] or "", one.version)
print(json.dumps(found))
"""


def program_of(line: Sequence[str], folder: Path | None = None) -> Path | None:
    """Return the program that a command starts; None where there is none of that name."""
    name = line[0]
    if os.path.dirname(name):
        path = Path(name) if Path(name).is_absolute() else (folder or Path.cwd()) / name
        return path if path.is_file() and os.access(path, os.X_OK) else None
    found = shutil.which(name)
    return Path(found) if found else None


def interpreter_of(program: Path) -> Path | None:
    """Return the Python that runs a program: itself, or the one that its first line names."""
    if _PYTHON.match(program.name):
        return program
    try:
        with program.open("rb") as file:
            begin = file.read(4096).decode("utf-8", "replace")
    except OSError:
        return None
    words = begin[2:].partition("\n")[0].split() if begin.startswith("#!") else []
    if through := _THROUGH_SH.match(begin):
        words = [next(filter(None, through.groups()))]
    if words and Path(words[0]).name == "env":
        words = [w for w in words[1:] if not w.startswith("-")]
        words[:1] = [shutil.which(words[0]) or words[0]] if words else []
    named = Path(words[0]) if words else None
    return named if named and _PYTHON.match(named.name) and named.is_file() else None


def installed_in(interpreter: Path) -> dict[str, str]:
    """Return the distributions of an interpreter with their versions, by its own account."""
    try:
        done = subprocess.run(
            [interpreter, "-I", "-c", _ASK], capture_output=True, encoding="utf-8",
            errors="replace", timeout=ASK_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return {}
    found = parse_json(done.stdout.strip()) if done.returncode == 0 else None
    return {
        canonicalize_name(k): shown(v, 80) for k, v in (found or {}).items() if isinstance(v, str)
    }


def environment_of(line: Sequence[str], folder: Path | None = None) -> dict[str, Any]:
    """Return items of identity that the environment of a command tells.

    The engine is the one that a word of the command names, else the only one that is there; with
    several and none named its release stays unknown. ``packages`` has all of them.
    """
    program = program_of(line, folder)
    interpreter = interpreter_of(program) if program else None
    found = installed_in(interpreter) if interpreter else {}
    engines = {p: found[p] for row in table().engines.values() for p in row.packages if p in found}
    kernels = {name: v for name, v in found.items() if PACKAGE.match(name)}
    chosen = _chosen(engines, line)
    return {"runtime_build": engines.get(chosen or ""), "torch": found.get("torch"),
            "packages": {**engines, **kernels}}  # fmt: skip


def _chosen(engines: Mapping[str, str], line: Sequence[str]) -> str | None:
    """Return the package of the engine that a command starts."""
    names = {canonicalize_name(re.split(r"[./\\]", os.path.basename(w))[0]) for w in line}
    named = [p for p in engines if p in names]
    if len(named) == 1:
        return named[0]
    return next(iter(engines)) if len(engines) == 1 else None
