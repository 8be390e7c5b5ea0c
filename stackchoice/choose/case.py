"""What every step of a decision is given, and sub-results kept while what they read stands still.

A decision is asked at some fifty points that differ in one input each. Every sub-result runs with
a case that notes which inputs and assumptions are read; asked again, it is worked out anew only
where one of those has another value. So nobody lists by hand what depends on what.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from stackchoice.choose.traffic import Traffic
from stackchoice.facts.load import Facts
from stackchoice.scenario import Point, Scenario

R = TypeVar("R")

#: What was read: paths of inputs, and ids of assumptions.
Readings = tuple[tuple[str, ...], tuple[str, ...]]
#: Sub-results by key, by what they read, and by what that was worth.
Kept = dict[Hashable, dict[Readings, dict[tuple[Any, ...], Any]]]


class Case:
    """One scenario at one point with one fact base; ``case["workload.users"]`` is an input there.

    Cases made from one another share their sub-results.
    """

    def __init__(
        self, scenario: Scenario, facts: Facts, point: Point, kept: Kept | None = None
    ) -> None:
        self.scenario = scenario
        self._facts, self._point = facts, point
        self._assumptions: Mapping[str, Any] = facts.assumptions
        self._inputs: Mapping[str, Any] = point.inputs
        self._bare = bare(self._inputs), bare(self._assumptions)
        self._kept: Kept = {} if kept is None else kept

    def __getitem__(self, path: str) -> Any:
        return self._inputs[path].value

    def assumed(self, name: str) -> float:
        """Return the middle value of a named assumption."""
        value: float | None = self._assumptions[name].datum.value
        return self.facts.assumed(name) if value is None else value  # which says what is wrong

    @cached_property
    def facts(self) -> Facts:
        """The fact base; what is read of its assumptions is noted in a sub-result."""
        if self._assumptions is self._facts.assumptions:
            return self._facts
        return self._facts.model_copy(update={"assumptions": self._assumptions})

    @cached_property
    def point(self) -> Point:
        """Every input at its value here; what is read is noted in a sub-result."""
        if self._inputs is self._point.inputs:
            return self._point
        noted: Any = self._inputs  # stands in for the dict, which a copy would read in whole
        return Point.model_construct(inputs=noted)

    @property
    def flow(self) -> Traffic:
        """Arrival rates and tokens per request that follow from the inputs."""
        return Traffic(self)  # not kept: the two would hold each other

    def moved(self, values: dict[str, Any]) -> Case:
        """Return the case with some inputs at other values."""
        return Case(self.scenario, self.facts, self.point.moved(values), self._kept)

    def assuming(self, values: dict[str, float]) -> Case:
        """Return the case with some assumptions at other values."""
        return Case(self.scenario, self.facts.assuming(values), self.point, self._kept)

    def preferring(self, preferences: list[str]) -> Case:
        """Return the case with other preferences: the last step's, which no sub-result reads."""
        scenario = self.scenario.model_copy(update={"preferences": preferences})
        return Case(scenario, self.facts, self.point, self._kept)

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
        here = Case(self.scenario, self._facts, self._point, self._kept)
        here._inputs = inputs = Noted(self._inputs)
        here._assumptions = assumptions = Noted(self._assumptions)
        result = work(here)
        readings = (tuple(sorted(inputs.read)), tuple(sorted(assumptions.read)))
        kept.setdefault(readings, {})[self._values(readings)] = result
        self._pass_on(readings)
        return result

    def close(self) -> None:
        """Let go of every sub-result, which hold the cases that they were worked out with.

        Who is done with a case calls this, and the memory is free at once: the cycle collector
        would have to walk the whole fact base to find it.
        """
        self._kept.clear()

    def readings(self, key: Hashable) -> set[tuple[str, str]]:
        """Return what a sub-result was seen to read: ("input", path) or ("assumption", id)."""
        return {
            (kind, name)
            for readings in self._kept.get(key, ())
            for kind, names in zip(("input", "assumption"), readings, strict=True)
            for name in names
        }

    def _values(self, readings: Readings) -> tuple[Any, ...]:
        """Return what these readings are worth here, without noting that they were looked at."""
        (inputs, assumptions), (paths, names) = self._bare, readings
        return (*[inputs[path].value for path in paths],
                *[assumptions[name].datum.value for name in names])  # fmt: skip

    def _pass_on(self, readings: Readings) -> None:
        """Tell the sub-result that asked what it has read through this one."""
        for table, names in zip((self._inputs, self._assumptions), readings, strict=True):
            if isinstance(table, Noted):
                table.read.update(names)


class Noted(Mapping[str, Any]):
    """A mapping that notes which of its keys were read; walking over it reads them all."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = bare(known)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return self.known[key]

    def __iter__(self) -> Iterator[str]:
        self.read.update(self.known)
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


def bare(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a mapping that notes nothing."""
    return table.known if isinstance(table, Noted) else table
