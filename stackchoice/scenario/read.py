"""Read and write scenario files. A wrong file gets one error: place, value, reason, fix."""

import difflib
import os
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML

from stackchoice.errors import ScenarioError
from stackchoice.facts.place import data_dir
from stackchoice.facts.write import ANYTHING, write_whole
from stackchoice.facts.yaml import YamlError, read_yaml, shown
from stackchoice.scenario.scenario import Scenario

#: What to write instead, by pydantic's error type. ``{…}`` are taken from the error's context.
FIXES = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"),
                    "write a whole number without unit or separator, such as 8192"),
    **dict.fromkeys(("float_parsing", "float_type"),
                    "write a plain number such as 1000 or 3.5; the unit stands in its name"),
    **dict.fromkeys(("decimal_parsing", "decimal_type"),
                    "write a plain number of USD, such as 18000"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "write true, false or not known"),
    "model_type": "write its keys below it, or leave it out",
    "list_type": "write a list, such as [a, b]",
    "string_pattern_mismatch": "write lower-case letters, digits and hyphens, at most 61",
    "missing": "add the key; write `not known` where nobody could say",
    "string_type": "write text in quotes",
    "finite_number": "write a finite number",
}  # fmt: skip
SUFFIXES = (".yaml", ".yml")
#: What a value is not, by the first word of pydantic's error type.
NOT = {"int": "whole number", "float": "number", "decimal": "number", "bool": "yes or no"}
BOUNDS = {
    "greater_than": ("gt", "a value above"),
    "greater_than_equal": ("ge", "a value of at least"),
    "less_than": ("lt", "a value below"),
    "less_than_equal": ("le", "a value of at most"),
}
#: What a file is that is no scenario, by a key of it, and who takes it.
OTHERS = {
    "format": "a passport; give it to `stackchoice passport show`, or to a report with --passport",
    "architectures": "a model's config; give it to `stackchoice inspect`",
    "model_type": "a model's config; give it to `stackchoice inspect`",
    "recommended": "a decision; give the scenario that it was made of",
}


def scenario_path(name: str | Path) -> Path:
    """Return the file for a path or for the bare name of a scenario that ships with us.

    ScenarioError where it is neither.
    """
    path = Path(name)
    if os.path.exists(path):
        return path
    if path.suffix in SUFFIXES:
        others = [path.with_suffix(suffix) for suffix in SUFFIXES]
        if found := next(filter(os.path.exists, others), None):
            raise ScenarioError(f"{shown(str(name))}: no such file; did you mean {found.name}?")
        return path
    shipped = data_dir() / "scenarios" / f"{path.name}.yaml"
    if len(path.parts) == 1 and os.path.exists(shipped):
        return shipped
    names = sorted(p.stem for p in (data_dir() / "scenarios").glob("*.yaml"))
    raise ScenarioError(
        f"{shown(str(name))}: no such scenario; give the path of a .yaml file or one of: "
        f"{', '.join(names)}"
    )


def load_scenario(name: str | Path) -> Scenario:
    """Load a scenario from a path, or by its name among the shipped ones.

    Raises
    ------
    ScenarioError
        One text with file, line, key, value, reason and fix.

    Examples
    --------
    >>> from stackchoice import load_scenario
    >>> load_scenario("json-chat").model.id
    'Qwen/Qwen3.8-27B'
    """
    path = scenario_path(name)
    try:
        tree = read_yaml(path, with_lines=True)
    except YamlError as error:
        raise ScenarioError(str(error)) from None
    return parse_scenario(tree, str(path))


def parse_scenario(tree: Any, where: str = "scenario") -> Scenario:
    """Check a parsed mapping into a :class:`Scenario` (``where`` names it in errors).

    ScenarioError says what is wrong, and where.
    """
    try:
        return Scenario.model_validate(_plain(tree))
    except ValidationError as error:
        raise ScenarioError(_other(tree, where) or _explain(error, tree, where)) from None


def dump_scenario(scenario: Scenario) -> str:
    """Return the scenario as YAML text; :func:`load_scenario` reads it back equal.

    Examples
    --------
    >>> from stackchoice import dump_scenario, load_scenario
    >>> dump_scenario(load_scenario("json-chat")).splitlines()[:2]
    ['schema_version: 1', 'name: json-chat']
    """
    out = StringIO()
    yaml = YAML(typ="rt")
    yaml.width = 100
    kept = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    yaml.dump({"schema_version": scenario.schema_version, **kept}, out)
    return out.getvalue()


def save_scenario(scenario: Scenario, path: Path | str, *, read: str | None = ANYTHING) -> Path:
    """Write a scenario; the old file stays whole until the new one is complete.

    Parameters
    ----------
    read
        What the file held when it was read (:func:`stackchoice.facts.write.text_at`); a file that
        somebody else wrote since is not overwritten.

    Raises
    ------
    ScenarioError
        When it cannot be written, or was changed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from stackchoice import load_scenario, save_scenario
    >>> mine = load_scenario("json-chat").model_copy(update={"name": "mine"})
    >>> load_scenario(save_scenario(mine, Path(mkdtemp(), "mine.yaml"))) == mine
    True
    """
    return write_whole(path, dump_scenario(scenario), ScenarioError, read=read)


def _plain(node: Any) -> Any:
    """Turn ruamel's commented tree into plain values, keeping the written number types."""
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node if node is None else str(node)


def _other(tree: Any, where: str) -> str:
    """Say what else a file is, where it names neither model nor workload."""
    if not isinstance(tree, dict) or {"model", "workload"} & set(tree):
        return ""
    found = next((what for key, what in OTHERS.items() if key in tree), None)
    return f"{where}: is no scenario, but {found}" if found else ""


def _explain(error: ValidationError, tree: Any, where: str) -> str:
    first = min(
        error.errors(include_url=False),
        # an unknown key explains more than the key then found missing
        key=lambda e: (e["type"] != "extra_forbidden", e["type"] == "missing"),
    )
    keys = [str(part) for part in first["loc"]]
    line, found = _line(tree, keys)
    named = shown(".".join(found))
    place = f"{where}:{line}: {named}" if line else f"{where}: {named}"
    others = len({e["loc"] for e in error.errors()}) - 1
    more = f" ({others} more after this one)" if others else ""
    return f"{place}: {_reason(first, keys)}{more}"


def _reason(first: Any, keys: list[str]) -> str:
    kind, value = first["type"], first.get("input")
    if kind == "extra_forbidden":
        known = _known_keys(keys[:-1])
        close = difflib.get_close_matches(keys[-1], known, 1, 0.6)
        hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"
        return f"unknown key; {hint}"
    if kind == "missing":
        return f"is missing; {FIXES['missing']}"
    quoted = repr(value) if isinstance(value, str) else value
    given = shown(quoted) if not isinstance(value, dict | BaseModel) else "this value"
    if kind in BOUNDS:
        key, words = BOUNDS[kind]
        unit = ", in seconds" if any(key.endswith("_s") for key in keys[-2:]) else ""
        return f"{given} is not possible here; write {words} {first['ctx'][key]:.12g}{unit}"
    if kind == "value_error":
        return shown(str(first["ctx"]["error"]), 300)
    if kind == "literal_error":
        return f"{given} is not one of {first['ctx']['expected']}; write one of these"
    fix = FIXES.get(kind, "see docs/scenarios.md")
    what = NOT.get(kind.partition("_")[0])
    return f"{given} is {f'no {what}' if what else 'wrong (' + first['msg'].lower() + ')'}; {fix}"


def _known_keys(keys: list[str]) -> list[str]:
    """Return the keys a mapping at this place may have."""
    model: Any = Scenario
    for key in keys:
        field = model.model_fields.get(key) if hasattr(model, "model_fields") else None
        if field is None:
            break
        nested = [t for t in _types(field.annotation) if hasattr(t, "model_fields")]
        model = nested[0] if nested else model
    return ["from" if name == "origin" else name for name in model.model_fields]


def _types(annotation: Any) -> list[Any]:
    inner = getattr(annotation, "__args__", None)
    if hasattr(annotation, "model_fields") or not inner:
        return [annotation]
    return [t for part in inner for t in _types(part)]


def _line(tree: Any, keys: list[str]) -> tuple[int | None, list[str]]:
    """Follow keys into ruamel's tree; return the last line known and the keys that exist."""
    node, line, shown = tree, None, []
    for key in keys:
        step = int(key) if isinstance(node, list) and key.isdigit() else key
        if isinstance(node, dict):  # a key may have been read as a number or a date
            step = next((k for k in node if str(k) == key), key)
        marks = getattr(node, "lc", None)
        try:
            child = node[step]
        except (KeyError, IndexError, TypeError):
            if isinstance(node, dict):
                shown.append(key)
            break
        if marks is not None:
            line = (marks.item(step) if isinstance(node, list) else marks.key(step))[0] + 1
        shown.append(key)
        node = child
    return line, shown
