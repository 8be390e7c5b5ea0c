"""The limits of a comparison, read from ``data/compare_rules.yaml``."""

from functools import lru_cache

from stackchoice.facts.datum import Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml
from stackchoice.load.rules import Limit, load_rules


class CompareRules(Record):
    """Limits with their rules in words, and what a pattern of two moves is consistent with."""

    limits: tuple[Limit, ...]
    patterns: dict[str, str]
    launch_scatter: float

    def limit(self, name: str) -> float:
        """Return the value of one limit."""
        return next(limit.value for limit in self.limits if limit.id == name)


@lru_cache
def load_compare_rules() -> CompareRules:
    """Read the rules of this release."""
    scatter = load_rules().assumed_launch_scatter["value"]
    tree = read_yaml(data_dir() / "compare_rules.yaml")
    return CompareRules.model_validate({**tree, "launch_scatter": scatter})
