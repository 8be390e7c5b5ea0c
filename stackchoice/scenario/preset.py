"""A published workload fills in what a scenario does not know of its own traffic."""

from typing import Any

from stackchoice.errors import ScenarioError
from stackchoice.facts.datum import Datum
from stackchoice.facts.load import Facts
from stackchoice.facts.traffic import Distribution, WorkloadPreset
from stackchoice.scenario.inputs import Input
from stackchoice.scenario.scenario import Scenario, Workload


def with_preset(scenario: Scenario, facts: Facts) -> Scenario:
    """Return the scenario with the inputs of its preset where it says nothing itself.

    ScenarioError when no published workload has that name.
    """
    name = scenario.workload.preset
    if not name:
        return scenario
    if name not in facts.workloads:
        raise ScenarioError(
            f"{scenario.name}: workload.preset {name!r} is not a published workload here; known: "
            f"{', '.join(facts.workloads)}"
        )
    given = scenario.workload
    filled = {
        key: value for key, value in preset_inputs(facts.workloads[name]).items()
        if not _says(key, getattr(given, key))
    }  # fmt: skip
    kept = {key: getattr(given, key) for key in Workload.model_fields if key not in filled}
    return scenario.model_copy(update={"workload": Workload.model_validate({**kept, **filled})})


def preset_inputs(preset: WorkloadPreset) -> dict[str, Any]:
    """Return the inputs that a published workload answers, as a scenario writes them."""
    found = {key: _fact(datum, preset) for key, datum in preset.inputs.items() if datum.known}
    for key in ("input_distribution", "output_distribution"):
        if (lengths := getattr(preset, key)) is not None:
            found[key] = written(lengths)
    return found


def written(lengths: Distribution) -> dict[str, float]:
    """Return a distribution to one decimal, as it is written."""
    return {k: round(v, 1) for k, v in lengths.model_dump().items() if v is not None}


def _says(key: str, value: Any) -> bool:
    """Whether the scenario says this itself; a bare default, without an origin, is no word."""
    if value == Workload.model_fields[key].default:
        return False
    return value.known if isinstance(value, Input) else value is not None


def _fact(datum: Datum[Any], preset: WorkloadPreset) -> dict[str, Any]:
    source = datum.source or preset.source
    ends = {k: v for k, v in (("low", datum.low), ("high", datum.high)) if v is not None}
    note = f"; {datum.note}" if datum.note else ""
    origin = f"preset {preset.id}: {source.label} ({source.as_of}){note}"
    return {"value": datum.value, **ends, "from": origin, "evidence": datum.evidence.value}
