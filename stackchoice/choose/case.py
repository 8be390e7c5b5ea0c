"""What every step of a decision is given, and sub-results kept while what they read stands still.

A decision is asked at some fifty points that differ in one input each. Every sub-result runs with
a case that notes which inputs and assumptions are read; asked again, it is worked out anew only
where one of those has another value. So nobody lists by hand what depends on what.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

from stackchoice.choose.traffic import Traffic
from stackchoice.facts.load import Facts
from stackchoice.scenario import Point, Scenario

R = TypeVar("R")

#: What was read: ("input", path) or ("assumption", id).
Reading = tuple[str, str]
#: Sub-results by key, by what they read, and by what that was worth.
Kept = dict[Hashable, dict[tuple[Reading, ...], dict[tuple[Any, ...], Any]]]


class Case:
    """One scenario at one point with one fact base; ``case["workload.users"]`` is an input there.

    Cases made from one another share their sub-results.
    """

    def __init__(
        self, scenario: Scenario, facts: Facts, point: Point, kept: Kept | None = None
    ) -> None:
        self.scenario, self.facts, self.point = scenario, facts, point
        self._kept: Kept = {} if kept is None else kept

    def __getitem__(self, path: str) -> Any:
        return self.point.inputs[path].value

    @cached_property
    def flow(self) -> Traffic:
        """Arrival rates and tokens per request that follow from the inputs."""
        return Traffic(self.point, self.facts)

    def moved(self, values: dict[str, Any]) -> Case:
        """Return the case with some inputs at other values."""
        return Case(self.scenario, self.facts, self.point.moved(values), self._kept)

    def assuming(self, values: dict[str, float]) -> Case:
        """Return the case with some assumptions at other values."""
        return Case(self.scenario, self.facts.assuming(values), self.point, self._kept)

    def recall(self, key: Hashable, work: Callable[[Case], R]) -> R:
        """Return ``work(case)``, worked out only where something it reads has moved.

        ``key`` names the sub-result and everything it depends on beside inputs and assumptions.
        """
        kept = self._kept.setdefault(key, {})
        for readings, by_values in kept.items():
            values = self._values(readings)
            if values in by_values:
                self._pass_on(readings)
                found: R = by_values[values]
                return found
        inputs, assumptions = Noted(self.point.inputs), Noted(self.facts.assumptions)
        result = work(
            Case(
                self.scenario, self.facts.model_copy(update={"assumptions": assumptions}),
                Point.model_construct(inputs=inputs), self._kept,
            )
        )  # fmt: skip
        readings = (
            *(("input", path) for path in sorted(inputs.read)),
            *(("assumption", name) for name in sorted(assumptions.read)),
        )
        kept.setdefault(readings, {})[self._values(readings)] = result
        self._pass_on(readings)
        return result

    def readings(self, key: Hashable) -> set[Reading]:
        """Return everything that a sub-result was seen to read."""
        return {reading for readings in self._kept.get(key, ()) for reading in readings}

    def _values(self, readings: tuple[Reading, ...]) -> tuple[Any, ...]:
        """Return what these readings are worth here, without noting that they were looked at."""
        inputs, assumptions, get = self.point.inputs, self.facts.assumptions, dict.__getitem__
        return tuple([
            get(inputs, name).value if kind == "input" else get(assumptions, name).datum.value
            for kind, name in readings
        ])  # fmt: skip

    def _pass_on(self, readings: tuple[Reading, ...]) -> None:
        """Tell the sub-result that asked what it has read through this one."""
        for kind, table in (("input", self.point.inputs), ("assumption", self.facts.assumptions)):
            if isinstance(table, Noted):
                table.read.update([name for what, name in readings if what == kind])


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
