"""The limits of a comparison, read from ``data/compare_rules.yaml``."""

import hashlib
from functools import lru_cache

from stackchoice.facts.datum import Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml
from stackchoice.load.rules import Limit, load_rules


class CompareRules(Record):
    """Limits with their rules in words, and the sha256 of what was read."""

    limits: tuple[Limit, ...]
    launch_scatter: float
    sha256: str

    def limit(self, name: str) -> float:
        """Return the value of one limit."""
        return next(limit.value for limit in self.limits if limit.id == name)


@lru_cache
def load_compare_rules() -> CompareRules:
    """Read the rules of this release."""
    path = data_dir() / "compare_rules.yaml"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    scatter = load_rules().assumed_launch_scatter["value"]
    return CompareRules.model_validate(
        {**read_yaml(path), "launch_scatter": scatter, "sha256": digest}
    )
