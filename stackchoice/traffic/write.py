"""Put a workload into a scenario file: comments and other sections stay, nothing goes unasked."""

import os
import re
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.util import load_yaml_guess_indent

from stackchoice.errors import ScenarioError, TrafficError
from stackchoice.facts.write import ANYTHING, text_at, write_whole
from stackchoice.facts.yaml import read_yaml, shown
from stackchoice.scenario import parse_scenario, scenario_path
from stackchoice.scenario.inputs import NOT_KNOWN

#: What a new scenario says until somebody chooses; ``decide`` names the models there are.
NO_MODEL = "not chosen"


def into_scenario(path: Path, inputs: dict[str, Any], *, replace: bool = False) -> list[str]:
    """Put inputs into the workload section of a scenario; return the keys that changed.

    TrafficError when a key holds another value already and ``replace`` was not said, or the file
    cannot be written. The file is then as it was.
    """
    text, tree = _read(path)
    taken = _taken(tree, inputs)
    if taken and not replace:
        raise TrafficError(
            f"{shown(str(path))}: workload has {', '.join(taken)} already; say --replace to "
            "overwrite, or write a new file with -o"
        )
    changed = _put(tree, inputs)
    write_whole(path, _dump(tree, text, str(path)), TrafficError, read=text)
    return changed


def new_scenario(
    path: Path, inputs: dict[str, Any], *, like: str | None = None, replace: bool = False
) -> list[str]:
    """Write a new scenario around a workload, from another one where ``like`` names it.

    TrafficError when the file is there and ``replace`` was not said, or cannot be written.
    """
    if os.path.exists(path) and not replace:
        raise TrafficError(
            f"{shown(str(path))}: is there already; say --replace to overwrite it, or --into to "
            "put the workload into it"
        )
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:61] or "measured"
    if like is None:
        tree: Any = {
            "schema_version": 1, "name": name, "title": f"Traffic of {shown(path.stem)}",
            "model": {"id": NO_MODEL}, "candidates": {"machines": []}, "workload": {},
        }  # fmt: skip
        text = ""
    else:
        text, tree = _read(scenario_path(like))
        tree["name"] = name
    changed = _put(tree, inputs)
    there = ANYTHING if replace else None
    write_whole(path, _dump(tree, text, str(path)), TrafficError, read=there)
    return changed


def _read(path: Path) -> tuple[str, Any]:
    text = text_at(path) or ""  # before the tree, so that a change in between is noticed
    tree = read_yaml(path, with_lines=True)
    if not isinstance(tree.get("workload"), dict):
        raise ScenarioError(f"{path}: has no workload section; name a scenario file")
    return text, tree


def _taken(tree: Any, inputs: dict[str, Any]) -> list[str]:
    section = tree["workload"]
    return [
        key for key, value in inputs.items()
        if key in section and section[key] != value and not _unknown(section[key])
    ]  # fmt: skip


def _unknown(value: Any) -> bool:
    if isinstance(value, dict):
        value = value.get("value") if not {"low", "high"} & set(value) else value
    return value is None or (isinstance(value, str) and value.strip().lower() in NOT_KNOWN)


def _put(tree: Any, inputs: dict[str, Any]) -> list[str]:
    section = tree["workload"]
    changed = [key for key, value in inputs.items() if section.get(key) != value]
    for key in changed:
        section[key] = inputs[key]
    return changed


def _dump(tree: Any, text: str, where: str) -> str:
    """Return the file's text again, in the indentation it had; it must still be a scenario."""
    parse_scenario(tree, where)
    yaml = YAML(typ="rt")
    yaml.width, yaml.preserve_quotes = 4096, True
    _, indent, dash = load_yaml_guess_indent(text) if text else (None, None, None)
    offset = 2 if dash is None else dash
    yaml.indent(mapping=2, sequence=max(indent or 4, offset + 2), offset=offset)
    out = StringIO()
    yaml.dump(tree, out)
    return out.getvalue()
