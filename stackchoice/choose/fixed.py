"""What was held fixed, and every input as it was taken."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from stackchoice.choose.answer import Answer
from stackchoice.facts.load import Facts
from stackchoice.scenario import Point, Scenario, scenario_inputs


def held_fixed(scenario: Scenario, facts: Facts, main: Answer) -> list[str]:
    """Return what was not varied: everything held fixed is a claim somebody should check."""
    engines = ", ".join(f"{e.name} {e.latest.version}" for e in facts.engines.values())
    fixed = [
        f"engine releases: {engines}",
        f"fact base {facts.sha256[:12]}",
        "cache type: the model's own; no quantised KV cache was considered",
        f"sampling preset: {scenario.workload.sampling_preset or 'not named'}",
        "capacity at the release's default settings, as each configuration's reason says",
        "single-stream speed intervals carried over to batches",
        "prices as listed on their dates; no discounts, taxes, egress or currency",
    ]
    if main.site is not None:
        revision = main.site.artifact.revision.value or "unknown"
        fixed.append(f"artifact {main.site.artifact.id}, revision {revision}")
    return fixed


def input_rows(scenario: Scenario, point: Point) -> list[dict[str, Any]]:
    """Return every input at the likely point with its class, origin and answerer."""
    given = scenario_inputs(scenario)
    return [
        {
            "input": path,
            "value": _plain(known.value),
            "low": _plain(given[path].low),
            "high": _plain(given[path].high),
            "evidence": known.evidence.value if known.value is not None else "unknown",
            "origin": known.origin,
            "answered_by": known.answered_by,
        }
        for path, known in point.inputs.items()
    ]


def _plain(value: Any) -> Any:
    """Return a value that JSON gives back equal; bills stay Decimal, an input need not."""
    return float(value) if isinstance(value, Decimal) else value
