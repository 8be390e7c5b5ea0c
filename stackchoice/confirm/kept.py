"""Passports on disk: written whole or not at all, read within bounds, described by a schema."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stackchoice.confirm.passport import FORMAT, Passport, PassportError
from stackchoice.facts.write import ANYTHING, write_whole
from stackchoice.facts.yaml import bounded_text
from stackchoice.load.untrusted import visible

#: 10,000 samples of some kilobytes; anything beyond is no passport.
MAX_BYTES = 256 * 2**20
SCHEMA_FILE = "schemas/passport.schema.json"


def save_passport(passport: Passport, path: Path | str, *, read: str | None = ANYTHING) -> Path:
    """Write as JSON, whole, and over nothing but what was ``read`` there."""
    text = passport.model_dump_json(indent=2) + "\n"
    return write_whole(path, text, PassportError, read=read, folders=True)


def load_passport(path: Path | str) -> Passport:
    """Read a passport.

    PassportError when the file is missing or is no passport of this format.
    """
    text = read_bounded(path, "give the path of a passport")
    try:
        return Passport.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise PassportError(
            f"{path}: no passport of format {FORMAT}: {visible(where, 100)}: "
            f"{visible(first['msg'], 200)}; {_advice(text)}"
        ) from None


def read_bounded(path: Path | str, fix: str) -> str:
    """Read a text file of a sane size."""
    return bounded_text(Path(path), MAX_BYTES, PassportError, fix)


def _advice(text: str) -> str:
    """Tell a passport that is broken from a file that is none."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return "it is no JSON; give the path of a passport"
    said = tree.get("format") if isinstance(tree, dict) else None
    if said is None:
        return "it says no format; give another tool's result to `stackchoice passport import`"
    if str(said).startswith("stackchoice-passport/"):
        return "measure again with this version"
    return "give the path of a passport"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a passport, as it is published in ``data/schemas/``."""
    text = json.dumps(Passport.model_json_schema(mode="serialization"))
    tree = json.loads(text, object_hook=_without_examples)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Benchmark passport, {FORMAT}",
        **{k: v for k, v in tree.items() if k != "title"},
    }


def _without_examples(node: dict[str, Any]) -> dict[str, Any]:
    """Cut a class's examples in Python off its description."""
    if isinstance(said := node.get("description"), str):
        node["description"] = said.partition("\n\nExamples\n")[0]
    return node


def schema_text() -> str:
    """Return the schema as its file holds it."""
    return json.dumps(schema(), indent=1, sort_keys=True) + "\n"
