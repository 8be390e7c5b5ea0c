"""The control that asks for one field of a scenario, with what may be chosen in it."""

import ipywidgets

from stackchoice.facts import Facts
from stackchoice.present.controls import LAYOUT, STYLE, dropdown, listed, text_field
from stackchoice.present.fields import NOT_KNOWN, Field, shown
from stackchoice.scenario import Scenario


def control(field: Field, scenario: Scenario, facts: Facts) -> ipywidgets.Widget:
    """Return the control of a field, with the value that the scenario has."""
    value = shown(scenario, field.path)
    if field.kind in ("count", "text"):
        return text_field(field.label, value)
    if field.kind in ("number", "name", "names"):
        return ipywidgets.Combobox(
            value=value, options=field.choices or (NOT_KNOWN,), ensure_option=False,
            description=field.label, style=STYLE, layout=LAYOUT, continuous_update=False,
        )  # fmt: skip
    if field.path == "model.artifacts":
        return dropdown(field.label, weights(scenario, facts), value)
    return dropdown(field.label, _choices(field, facts, value), value)


def _choices(field: Field, facts: Facts, value: str) -> list[tuple[str, str]]:
    if field.path == "model.id":
        return listed(facts.models)
    if field.path == "candidates.machines.0.id":
        none = [] if value else [("none", "")]
        return [*none, *listed(facts.machines)]
    names = field.choices or ("yes", "no", NOT_KNOWN)
    return [(name, name) for name in names]


def weights(scenario: Scenario, facts: Facts) -> list[tuple[str, str]]:
    """Return the published weights of the scenario's model, and what its file already names."""
    model = facts.models.get(scenario.model.id)
    each = [(f"{a.label}: {a.id}", a.id) for a in model.artifacts] if model else []
    named = shown(scenario, "model.artifacts")
    several = [] if named in ("", *(name for _, name in each)) else [(named, named)]
    return [("any; the most precise that fits", ""), *each, *several]
