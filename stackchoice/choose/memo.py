"""Sub-results of a decision, kept for as long as what they read has not moved.

A decision is asked at some fifty points that differ in one input each. Every sub-result runs
with a point and facts that note which inputs and assumptions are read; asked again, it is worked
out anew only where one of those has another value. So nobody lists by hand what depends on what.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from stackchoice.facts.load import Facts
from stackchoice.scenario import Point

R = TypeVar("R")

#: What was read: ("input", path) or ("assumption", id).
Reading = tuple[str, str]


class Noted(dict[str, Any]):
    """A mapping that notes which of its keys were read; walking over it reads them all."""

    def __init__(self, known: dict[str, Any]) -> None:
        super().__init__(dict.items(known))  # not noted by a mapping that this one copies
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default; noted either way."""
        self.read.add(key)
        return super().get(key, default)

    def __iter__(self) -> Any:
        self.read.update(super().keys())
        return super().__iter__()

    def keys(self) -> Any:
        """Return every key; all of them count as read."""
        self.read.update(super().keys())
        return super().keys()

    def items(self) -> Any:
        """Return every pair; all of them count as read."""
        self.read.update(super().keys())
        return super().items()

    def values(self) -> Any:
        """Return every value; all of them count as read."""
        self.read.update(super().keys())
        return super().values()


class Memo:
    """Sub-results of one scenario and one fact base, by key and by what they read."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, dict[tuple[Reading, ...], dict[tuple[Any, ...], Any]]] = {}

    def recall(
        self, key: Hashable, point: Point, facts: Facts, work: Callable[[Point, Facts], R]
    ) -> R:
        """Return ``work(point, facts)``, worked out only where something it reads has moved.

        ``key`` names the sub-result and everything it depends on beside point and assumptions.
        """
        kept = self._kept.setdefault(key, {})
        for readings, by_values in kept.items():
            values = _values(readings, point, facts)
            if values in by_values:
                _pass_on(readings, point, facts)
                result: R = by_values[values]
                return result
        inputs, assumptions = Noted(point.inputs), Noted(facts.assumptions)
        seen_facts = facts.model_copy(update={"assumptions": assumptions})
        result = work(Point.model_construct(inputs=inputs), seen_facts)
        readings = (
            *(("input", path) for path in sorted(inputs.read)),
            *(("assumption", name) for name in sorted(assumptions.read)),
        )
        kept.setdefault(readings, {})[_values(readings, point, facts)] = result
        _pass_on(readings, point, facts)
        return result

    def readings(self, key: Hashable) -> set[Reading]:
        """Return everything that a sub-result was seen to read."""
        return {reading for readings in self._kept.get(key, ()) for reading in readings}


def _values(readings: tuple[Reading, ...], point: Point, facts: Facts) -> tuple[Any, ...]:
    """Return what these readings are worth here, without noting that they were looked at."""
    return tuple(
        dict.__getitem__(point.inputs, name).value if kind == "input"
        else dict.__getitem__(facts.assumptions, name).datum.value
        for kind, name in readings
    )  # fmt: skip


def _pass_on(readings: tuple[Reading, ...], point: Point, facts: Facts) -> None:
    """Tell the sub-result that asked what it has read through this one."""
    for kind, table in (("input", point.inputs), ("assumption", facts.assumptions)):
        if isinstance(table, Noted):
            table.read.update(name for what, name in readings if what == kind)
