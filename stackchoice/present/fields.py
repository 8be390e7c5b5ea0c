"""The inputs a panel shows, and how one is written as text and read back.

A number may be written ``200``, as a range ``3 to 30``, as a likely value in a range
``10, 3 to 30``, or ``not known``. Whether a value is possible is the file reader's to say.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from stackchoice.facts import Evidence
from stackchoice.scenario import NOBODY, Scenario, scenario_inputs

NOT_KNOWN = "not known"
ORIGIN = "set in the notebook"
ASSUMED = Evidence.ASSUMED.value
RANGE = re.compile(r"(?:(?P<value>[^\s,]+)\s*,\s*)?(?P<low>\S+)\s+to\s+(?P<high>\S+)")


@dataclass(frozen=True)
class Field:
    """One input: its path in the scenario file, its label with unit, and how it is asked."""

    path: str
    label: str
    kind: Literal["number", "yes or no", "choice", "name", "count", "text"]
    choices: tuple[str, ...] = ()


#: The one input without an origin that may be not known.
REPLICA = "candidates.machines.0.devices_per_replica"

#: What a panel asks, by group.
GROUPS: dict[str, tuple[Field, ...]] = {
    "Model and machine": (
        Field("title", "Title of the case", "text"),
        Field("model.id", "Model", "choice"),
        Field("model.artifacts", "Weights", "choice"),
        Field("candidates.machines.0.id", "Machine (first candidate)", "choice"),
        Field("candidates.machines.0.count", "Machines or devices there", "count"),
        Field(REPLICA, "Devices a replica takes", "number"),
    ),
    "Traffic": (
        Field("workload.users", "Users", "number"),
        Field("workload.requests_per_user_per_day", "Requests a user and day", "number"),
        Field("workload.requests_per_day", "Requests a day, all users", "number"),
        Field("workload.active_hours_per_day", "Active hours a day", "number"),
        Field("workload.peak_factor", "Peak over mean (factor)", "number"),
        Field("workload.volume_pattern", "Volume", "choice",
              ("steady", "spiky", "unpredictable", NOT_KNOWN)),
        Field("workload.input_tokens", "Input (tokens a request)", "number"),
        Field("workload.output_tokens", "Output (tokens a request)", "number"),
        Field("workload.context_tokens", "Context (tokens)", "number"),
        Field("workload.shared_prefix_tokens", "Shared prefix (tokens)", "number"),
        Field("workload.json_schema", "Output must match a schema", "yes or no"),
        Field("workload.tools", "Tool calls", "yes or no"),
        Field("workload.images", "Images in the input", "yes or no"),
        Field("workload.growth_per_month", "Growth a month (0.1 is 10 %)", "number"),
        Field("workload.spare_replicas", "Spare replicas", "number"),
        Field("workload.ttft_p99_s", "Time to first token, p99 (s)", "number"),
    ),
    "Team": (
        Field("team.engineers", "Engineers", "number"),
        Field("team.ops_share_each", "Ops share of each (0 to 1)", "number"),
        Field("team.upgrades", "Upgrades drivers and engine", "name"),
        Field("team.watches_p99", "Watches p99", "name"),
        Field("team.awake_at_night", "Awake at night", "name"),
    ),
    "Money and limits": (
        Field("money.can_fund_devices", "Can fund (devices)", "number"),
        Field("money.usd_per_engineer_month", "Engineer (USD a month)", "number"),
        Field("money.horizon_months", "Horizon (months)", "number"),
        Field("constraints.data_may_leave", "Data may leave", "yes or no"),
    ),
}  # fmt: skip

#: What is asked first; the rest unfolds.
FIRST = (
    "model.id", "model.artifacts", "candidates.machines.0.id", "candidates.machines.0.count",
    "workload.users", "workload.images", "workload.shared_prefix_tokens",
    "constraints.data_may_leave",
)  # fmt: skip

#: Suggestions for a duty; any other name may be typed.
DUTY_NAMES = (NOBODY, NOT_KNOWN)


def shown(scenario: Scenario, path: str) -> str:
    """Return an input as the text a panel shows for it."""
    inputs = scenario_inputs(scenario)
    if path not in inputs:
        found = _get(_tree(scenario, exclude_defaults=False), path)
        if isinstance(found, list):
            return ", ".join(found)
        nothing = NOT_KNOWN if path == REPLICA else ""
        return nothing if found is None else str(found)
    item = inputs[path]
    if isinstance(item.value, bool):
        return "yes" if item.value else "no"
    if not item.known:
        return NOT_KNOWN
    span = "" if item.low is None else f"{_text(item.low)} to {_text(item.high)}"
    value = "" if item.value is None else _text(item.value)
    return ", ".join(part for part in (value, span) if part)


def written(scenario: Scenario, path: str, text: str, answered_by: str = "") -> dict[str, Any]:
    """Return the scenario as a mapping with one input replaced, not yet checked.

    An input that nobody stands behind counts as assumed, as it does in a file. Another model
    brings its own artifacts and presets; another model or machine makes a stated budget void.
    """
    tree = _tree(scenario)
    if path in ("title", "model.artifacts"):
        names = [name.strip() for name in text.split(",") if name.strip()]
        _put(tree, path, text.strip() if path == "title" else names)
        return tree
    if path not in scenario_inputs(scenario):
        unknown = path == REPLICA and text.strip().lower() in ("", NOT_KNOWN)
        _put(tree, path, None if unknown else _scalar(text))
        if path == "model.id":
            tree["model"] = {"id": text}
            tree["workload"].pop("sampling_preset", None)
        if path in ("model.id", "candidates.machines.0.id"):
            tree["candidates"].pop("stated_budget", None)
        return tree
    value = _value(text)
    if value is not None:
        by = {"answered_by": answered_by} if answered_by else {"evidence": ASSUMED}
        value |= {"from": ORIGIN, **by}
    _put(tree, path, NOT_KNOWN if value is None else value)
    return tree


def described(scenario: Scenario, start: Scenario, name: str, machine: str) -> Scenario:
    """Return the scenario with words that are true of it, once it is no longer ``start``.

    Title and situation of a case that was changed speak of another model, machine or team. The
    title is made of what is decided, and the situation tells what was changed, and from what.

    Parameters
    ----------
    name, machine
        Of the model and of the first machine, as people call them.
    """
    inputs = [field for fields in GROUPS.values() for field in fields if field.path != "title"]
    changed = [f.label for f in inputs if shown(scenario, f.path) != shown(start, f.path)]
    if not changed:
        return scenario.model_copy(update={"title": start.title, "situation": start.situation})
    places, users = scenario.candidates.machines, shown(scenario, "workload.users")
    title = name + (f" on {places[0].count} x {machine}" if places else "")
    title += f" for {users} users" if users != NOT_KNOWN else ""
    told = f"Changed in the notebook, from the case {start.title!r}: {', '.join(changed)}."
    return scenario.model_copy(update={"title": title[:200], "situation": told})


def _value(text: str) -> dict[str, Any] | None:
    text = text.strip()
    if text.lower() in ("", NOT_KNOWN):
        return None
    if text in ("yes", "no"):
        return {"value": text == "yes"}
    if span := RANGE.fullmatch(text):
        return {key: _scalar(part) for key, part in span.groupdict().items() if part}
    return {"value": _scalar(text)}


def _scalar(text: str) -> int | float | str:
    for cast in (int, float):
        try:
            return cast(text)
        except ValueError:
            continue
    return text


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)


def _tree(scenario: Scenario, *, exclude_defaults: bool = True) -> dict[str, Any]:
    tree = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=exclude_defaults)
    return {"schema_version": scenario.schema_version, **tree}


def _get(tree: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(tree, list):
            tree = tree[int(key)] if int(key) < len(tree) else None
        elif isinstance(tree, dict):
            tree = tree.get(key)
    return tree


def _put(tree: dict[str, Any], path: str, value: Any) -> None:
    *keys, last = path.split(".")
    node: Any = tree
    for key in keys:
        if isinstance(node, list):
            node.extend([{}] if not node else [])
            node = node[int(key)]
        else:
            node = node.setdefault(key, [] if key == "machines" else {})
    node[last] = value
