"""The rules of a run, read from ``data/run_rules.yaml`` before it starts."""

import hashlib
from functools import lru_cache
from typing import Any

from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml


class Limit(Record):
    """One limit on the client, with its rule in words."""

    id: str
    value: float
    rule: str
    evidence: Evidence


class Rules(Record):
    """Floors of percentiles and limits on the client, with the sha256 of what was read."""

    percentile_floors: dict[str, int]
    percentile_source: dict[str, Any]
    client_limits: tuple[Limit, ...]
    assumed_launch_scatter: dict[str, Any]
    discard_limits: dict[str, int | float]
    discard_rules: tuple[str, ...]
    sha256: str

    def limit(self, name: str) -> float:
        """Return the value of one limit."""
        return next(limit.value for limit in self.client_limits if limit.id == name)


@lru_cache
def load_rules() -> Rules:
    """Read the rules of this release."""
    path = data_dir() / "run_rules.yaml"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Rules.model_validate({**read_yaml(path), "sha256": digest})
