"""The JSON Schema of a passport, as it is published in ``data/schemas/``."""

import json
from typing import Any

from stackchoice.confirm.passport import FORMAT, Passport


def schema_text() -> str:
    """Return the schema as its file holds it."""
    text = json.dumps(Passport.model_json_schema(mode="serialization"))
    tree = json.loads(text, object_hook=_without_examples)
    draft = "https://json-schema.org/draft/2020-12/schema"
    tree |= {"$schema": draft, "title": f"Benchmark passport, {FORMAT}"}
    return json.dumps(tree, indent=1, sort_keys=True) + "\n"


def _without_examples(node: dict[str, Any]) -> dict[str, Any]:
    """Cut a class's examples in Python off its description."""
    if isinstance(said := node.get("description"), str):
        node["description"] = said.partition("\n\nExamples\n")[0]
    return node
