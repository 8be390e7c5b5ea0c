"""The inputs a panel shows, and how one is written as text and read back.

A number may be written ``200``, as a range ``3 to 30``, as a likely value in a range
``10, 3 to 30``, or ``not known``. Whether a value is possible is the file reader's to say.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from stackchoice.errors import ScenarioError
from stackchoice.facts import Evidence
from stackchoice.facts.prices import Terms
from stackchoice.facts.values import typed
from stackchoice.present.form import SOURCE
from stackchoice.present.typed import EITHER, two_ways
from stackchoice.scenario import NOBODY, Input, Preference, Scenario, scenario_inputs
from stackchoice.scenario.words import label

NOT_KNOWN = "not known"
ORIGIN = "set in the notebook"
ASSUMED = Evidence.ASSUMED.value
#: A range, ``3 to 30`` or ``3-30``, and before it a likely value where there is one.
RANGE = re.compile(
    r"(?:(?P<value>[^\s,]+)\s*,\s+)?(?P<low>\S+?)"
    r"(?:\s+to\s+|(?<=\d)\s*[-\N{EN DASH}]\s*(?=\d))(?P<high>\S+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Field:
    """One input: its path in the scenario file, and how it is asked.

    ``nothing`` is what an empty list or a missing value is called.
    """

    path: str
    kind: Literal["number", "yes or no", "choice", "name", "names", "count", "text"]
    choices: tuple[str, ...] = ()
    nothing: str = ""

    @property
    def label(self) -> str:
        """What people call it, with its unit."""
        words = label(self.path)
        return words[0].upper() + words[1:]


def _numbers(section: str, *names: str) -> list[Field]:
    return [Field(f"{section}.{name}", "number") for name in names]


#: What a panel asks, by group.
GROUPS: dict[str, list[Field]] = {
    "Model and machine": [
        Field("title", "text"),
        Field("model.id", "choice"),
        Field("model.artifacts", "choice"),
        Field("candidates.machines.0.id", "choice"),
        Field("candidates.machines.0.count", "count"),
        Field("candidates.machines.0.devices_per_replica", "number", nothing=NOT_KNOWN),
        Field("candidates.machines.0.already_owned", "yes or no", ("yes", "no"), "no"),
        Field("candidates.machines.0.interconnect", "text", nothing="the machine's own"),
        Field("candidates.sellers", "names", ("any",)),
        Field("candidates.future_vendors", "names", ("nvidia", "amd", "apple"), "none named"),
    ],
    "Team": [
        *_numbers("team", "engineers", "ops_share_each"),
        *(Field(f"team.{duty}", "name", (NOBODY, NOT_KNOWN))
          for duty in ("upgrades", "watches_p99", "awake_at_night")),
        Field("team.runtime_engineering", "yes or no"),
        Field("team.accepts_young_ecosystem", "yes or no"),
        *_numbers("team", "ops_fte_managed", "ops_fte_rented", "ops_fte_owned"),
    ],
    "Traffic": [
        *_numbers("workload", "users", "requests_per_user_per_day", "requests_per_day",
                  "days_per_month", "active_hours_per_day", "peak_factor"),
        Field("workload.volume_pattern", "choice",
              ("steady", "spiky", "unpredictable", NOT_KNOWN)),
        *_numbers("workload", "growth_per_month", "concurrency", "spare_replicas", "input_tokens",
                  "output_tokens", "context_tokens", "shared_prefix_tokens", "turns_per_session",
                  "resent_share"),
        *(Field(f"workload.{need}", "yes or no")
          for need in ("json_schema", "tools", "images", "thinking")),
        Field("workload.interactive", "yes or no", ("yes", "no")),
        *_numbers("workload", "ttft_p99_s", "itl_p99_s", "end_to_end_p99_s"),
        Field("workload.purpose", "choice", ("serving", "reference run")),
    ],
    "Money": [
        *_numbers("money", "can_fund_devices", "usd_per_engineer_month", "horizon_months",
                  "usd_per_device_hour", "commitment_discount", "server_usd", "switching_usd",
                  "batch_share", "peak_hours_share", "cache_write_share"),
        Field("money.rented_hours", "choice", ("always on", "active hours")),
        Field("money.depreciation", "choice", ("straight line", "annuity")),
        Field("money.dominant_cost", "choice", ("throughput", "people", "balanced")),
        Field("money.rental_terms", "names", get_args(Terms)),
    ],
    "Limits": [
        Field("constraints.data_may_leave", "yes or no"),
        Field("constraints.regions_allowed", "names", ("anywhere", NOT_KNOWN, "EU", "US"),
              "anywhere"),
        Field("constraints.licences_acceptable", "names", ("any", NOT_KNOWN), "any"),
        Field("preferences", "names", get_args(Preference), "not stated"),
    ],
}  # fmt: skip
#: How the groups that unfold stand side by side.
COLUMNS = (("Model and machine", "Team"), ("Traffic",), ("Money", "Limits"))
FIELDS = {field.path: field for fields in GROUPS.values() for field in fields}

#: What is asked first; the rest unfolds.
FIRST = (
    "model.id", "model.artifacts", "candidates.machines.0.id", "candidates.machines.0.count",
    "workload.users", "workload.images", "workload.shared_prefix_tokens",
    "constraints.data_may_leave",
)  # fmt: skip


def shown(scenario: Scenario, path: str) -> str:
    """Return an input as the text a panel shows for it."""
    item: Any = scenario
    for key in path.split("."):
        if isinstance(item, list):
            item = item[int(key)] if int(key) < len(item) else None
        else:
            item = getattr(item, key, None)
    if isinstance(item, bool):
        return "yes" if item else "no"
    if not isinstance(item, Input):
        text = ", ".join(item) if isinstance(item, list) else "" if item is None else str(item)
        return text or FIELDS[path].nothing
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
    ScenarioError where a number may be read in two ways.
    """
    tree = {"schema_version": scenario.schema_version,
            **scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)}  # fmt: skip
    if path in scenario_inputs(scenario):
        value = _value(path, text)
        if value is not None:
            by = {"answered_by": answered_by} if answered_by else {"evidence": ASSUMED}
            value |= {"from": ORIGIN, **by}
        _put(tree, path, NOT_KNOWN if value is None else value)
        return tree
    _put(tree, path, _plain(FIELDS[path], text.strip()))
    if path == "model.id":
        tree["model"] = {"id": text}
        tree["workload"].pop("sampling_preset", None)
    if path in ("model.id", "candidates.machines.0.id"):
        tree["candidates"].pop("stated_budget", None)
    return tree


def _plain(field: Field, text: str) -> Any:
    """Return what a file holds for a text of a field that has no origin."""
    empty = text in ("", field.nothing)
    if field.kind == "names" or field.path == "model.artifacts":
        if text in (NOT_KNOWN, "any") and not empty:
            return text
        return [] if empty else [name.strip() for name in text.split(",") if name.strip()]
    if field.kind == "yes or no":
        return text == "yes"
    if empty and field.nothing:
        return None
    return text if field.kind == "text" else _scalar(field.path, text)


def described(scenario: Scenario, start: Scenario, name: str, machine: str) -> Scenario:
    """Return the scenario with words that are true of it, once it is no longer ``start``.

    Title and situation of a case that was changed speak of another model, machine or team. The
    title is made of what is decided, and the situation tells what was changed, and from what.

    Parameters
    ----------
    name, machine
        Of the model and of the first machine, as people call them.
    """
    inputs = [field for field in FIELDS.values() if field.path != "title"]
    changed = [f.label for f in inputs if shown(scenario, f.path) != shown(start, f.path)]
    if not changed:
        return scenario.model_copy(update={"title": start.title, "situation": start.situation})
    places, users = scenario.candidates.machines, shown(scenario, "workload.users")
    title = name + (f" on {places[0].count} x {machine}" if places else "")
    title += f" for {users} users" if users != NOT_KNOWN else ""
    told = f"Changed in the notebook, from the case {start.title!r}: {', '.join(changed)}. "
    told += "All else is as it was there."
    if start.candidates.stated_budget and not scenario.candidates.stated_budget:
        told += " The memory budget stated there is left out: it was of that model and machine."
    return scenario.model_copy(update={"title": title[:200], "situation": told})


def _value(path: str, text: str) -> dict[str, Any] | None:
    text = text.strip()
    if text.lower() in ("", NOT_KNOWN):
        return None
    if text in ("yes", "no"):
        return {"value": text == "yes"}
    if span := RANGE.fullmatch(text):
        return {key: _scalar(path, part) for key, part in span.groupdict().items() if part}
    return {"value": _scalar(path, text)}


def _scalar(path: str, text: str) -> int | float | str:
    if reason := two_ways(text):
        raise ScenarioError(f"{SOURCE}: {path}: {reason}")
    return typed(text)


def _text(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)
    return f"{text}0" if EITHER.fullmatch(text) else text


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
