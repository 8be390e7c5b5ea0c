"""What a model class assumes where its config is silent."""

from __future__ import annotations

from functools import cache
from typing import Any

from stackchoice.facts.datum import Evidence, Record, Source
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_facts


class ConfigDefaults(Record):
    """Defaults of one ``model_type``, under the keys of ``config.json``."""

    id: str
    values: dict[str, bool | int]
    evidence: Evidence = Evidence.STATED
    source: Source


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """Return the defaults by model type, a table of the package that no own facts change."""
    rows = read_facts(data_dir() / "config_defaults.yaml")["config_defaults"]
    return {row["id"]: row["values"] for row in rows}
