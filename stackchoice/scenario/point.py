"""One point of a scenario: every input at one value, each with its evidence class.

The decision is made at the likely point and again at the ends of every range, so that it
can say which inputs it hangs on.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from stackchoice.facts.datum import Evidence, Record, sure, weakest
from stackchoice.facts.load import Facts
from stackchoice.scenario.inputs import Input
from stackchoice.scenario.scenario import Scenario

SECTIONS = ("current", "workload", "team", "money", "constraints")

#: Inputs that fall back on an assumption of ``data/assumptions.yaml`` when not known.
ASSUMED_WHEN_UNKNOWN = {
    "workload.peak_factor": "peak_factor",
    "workload.active_hours_per_day": "active_hours_per_day",
    "money.horizon_months": "horizon_months",
    "money.usd_per_engineer_month": "usd_per_engineer_month",
}


class Known(Record):
    """One input at one value (None: not known), with its class and origin."""

    value: Any = None
    evidence: Evidence = Evidence.ASSUMED
    origin: str = ""
    answered_by: str = ""


class Point(Record):
    """Every input of a scenario at one value; index it by path: ``point["workload.users"]``."""

    inputs: dict[str, Known]

    def __getitem__(self, path: str) -> Any:
        return self.inputs[path].value

    def moved(self, values: dict[str, Any]) -> Point:
        """Return the point with some inputs at other values."""
        changed = {
            path: self.inputs[path].model_copy(update={"value": value})
            for path, value in values.items()
        }
        return Point.model_construct(inputs={**self.inputs, **changed})

    def evidence(self, *paths: str) -> Evidence:
        """Return the weakest class among these inputs."""
        return weakest(*(self.inputs[path].evidence for path in paths))

    @property
    def volume_paths(self) -> tuple[str, ...]:
        """The inputs that a day's requests rest on here."""
        total = "workload.requests_per_day"
        if self[total] is not None:
            return (total,)
        return "workload.users", "workload.requests_per_user_per_day"

    @property
    def requests_per_day(self) -> float | None:
        """Requests of all users on a day: as given in total, else users times requests of each."""
        if not self.known(*self.volume_paths):
            return None
        total: float = math.prod(self[path] for path in self.volume_paths)
        return total

    def known(self, *paths: str) -> bool:
        """Whether all of these inputs have a value."""
        return all(self.inputs[path].value is not None for path in paths)


def scenario_inputs(scenario: Scenario) -> dict[str, Input[Any]]:
    """Return every :class:`Input` of the scenario by its path."""
    return {
        f"{section}.{name}": value
        for section in SECTIONS
        for name, value in getattr(scenario, section) or ()  # nothing may run today
        if isinstance(value, Input)
    }


def likely_point(scenario: Scenario, facts: Facts) -> Point:
    """Return the scenario at its likely values.

    A range without a likely value is taken at its arithmetic middle. An unknown input takes
    the assumption of ``ASSUMED_WHEN_UNKNOWN``, else stays unknown.
    """
    inputs = scenario_inputs(scenario).items()
    return Point(inputs={path: _known(path, item, facts) for path, item in inputs})


def ends(scenario: Scenario, facts: Facts) -> dict[str, tuple[Any, Any]]:
    """Return the two ends of every input that is a range, or unknown with two sides to it."""
    found: dict[str, tuple[Any, Any]] = {}
    for path, item in scenario_inputs(scenario).items():
        if item.ranged:
            found[path] = (item.low, item.high)
        elif not item.known and path in ASSUMED_WHEN_UNKNOWN:
            datum = facts.assumptions[ASSUMED_WHEN_UNKNOWN[path]].datum
            if datum.low is not None:
                found[path] = (_as_input(path, datum.low), _as_input(path, datum.high))
        elif not item.known and _is_bool(scenario, path):
            found[path] = (False, True)
    return found


def _known(path: str, item: Input[Any], facts: Facts) -> Known:
    if item.known:
        value: Any = item.value
        if value is None:
            middle = (sure(item.low) + sure(item.high)) / 2
            value = int(middle) if isinstance(item.low, int) else middle
        return Known(
            value=value, evidence=item.evidence_class, origin=item.origin,
            answered_by=item.answered_by,
        )  # fmt: skip
    if path in ASSUMED_WHEN_UNKNOWN:
        datum = facts.assumptions[ASSUMED_WHEN_UNKNOWN[path]].datum
        return Known(value=_as_input(path, datum.value), origin=datum.note)
    return Known()


def _as_input(path: str, value: float | None) -> Any:
    """Money is Decimal on the bill; everything else stays a float."""
    return Decimal(str(value)) if "usd" in path and value is not None else value


def _is_bool(scenario: Scenario, path: str) -> bool:
    section, name = path.split(".")
    annotation = type(getattr(scenario, section)).model_fields[name].annotation
    return annotation is Input[bool]
