"""The widget of question 2: a log or a published workload put into a scenario, and decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ipywidgets
from markupsafe import Markup

from stackchoice.choose import Decision, decide
from stackchoice.errors import StackchoiceError, TrafficError
from stackchoice.facts import Facts
from stackchoice.facts.traffic import WorkloadPreset
from stackchoice.present.traffic import traffic_table, workload_tables
from stackchoice.present.widgets import dropdown, error_html, text_field
from stackchoice.scenario import Scenario, parse_scenario, save_scenario
from stackchoice.scenario.preset import preset_inputs
from stackchoice.traffic import Measured, measure_log
from stackchoice.traffic.section import workload_inputs

NONE = "none: the scenario's own"
TABLES = ("volume", "seconds", "settings", "reuse", "peak")


class TrafficPanel(ipywidgets.VBox):
    """Traffic from a log or a published workload, in place of a scenario's own.

    Parameters
    ----------
    scenario
        Gives everything else, and the traffic where neither log nor preset is chosen.
    facts
        The fact base.
    log, preset
        What to start with; a log stands before a preset.

    Attributes
    ----------
    found, scenario, decision, error
        The measured log or the preset (None: neither), the scenario with it, its decision, and
        what was said of the last refused value, else an empty text.
    """

    def __init__(
        self, scenario: Scenario, facts: Facts, *, log: str = "", preset: str = ""
    ) -> None:
        self._base, self.facts, self.error = scenario, facts, ""
        self._settling = False
        choices = [(NONE, ""), *((w.id, w.id) for w in facts.workloads.values())]
        self.fields = {
            "log": text_field("Request log (path)", log),
            "preset": dropdown("Published workload", choices, preset),
        }
        self.path = text_field("Save to", f"my-{scenario.name}.yaml")
        self.save_button = ipywidgets.Button(description="Save scenario", icon="save")
        self.save_button.on_click(lambda _: self.save())
        self.message, self.view = ipywidgets.HTML(), ipywidgets.HTML()
        self._values = {"log": log, "preset": preset}
        self.found, self.scenario, self.decision = self._answer(self._values)
        self._show()
        for name, field in self.fields.items():
            field.observe(self._handler(name), names="value")
        row = ipywidgets.Layout(flex_flow="row wrap")
        super().__init__([
            ipywidgets.HBox(list(self.fields.values()), layout=row),
            ipywidgets.HBox([self.path, self.save_button], layout=row), self.message, self.view,
        ])  # fmt: skip

    def set(self, name: str, value: str) -> None:
        """Put a value into one field, exactly as typing or choosing it does."""
        values = {**self._values, name: value.strip()}
        try:
            answer = self._answer(values)
        except StackchoiceError as error:
            self.error = " ".join(str(error).split())
        else:
            self.error, self._values = "", values
            self.found, self.scenario, self.decision = answer
        self._show()

    def save(self) -> None:
        """Write the scenario with its new traffic to the path in the field."""
        path = Path(self.path.value.strip())
        try:
            if path.exists():
                raise TrafficError(f"{path}: is there already; choose another name")
            save_scenario(self.scenario, path)
        except StackchoiceError as error:
            self.message.value = error_html(str(error))
        else:
            self.message.value = Markup(
                '<p class="sc"><span class="saved" role="status">Saved to {}</span></p>'
            ).format(path)

    def _answer(
        self, values: dict[str, str]
    ) -> tuple[Measured | WorkloadPreset | None, Scenario, Decision]:
        found: Measured | WorkloadPreset | None = None
        inputs: dict[str, Any] = {}
        if values["log"]:
            found = measure_log(values["log"], self.facts)
            inputs = workload_inputs(found)
        elif values["preset"]:
            found = self.facts.workloads[values["preset"]]
            inputs = preset_inputs(found)
        scenario = with_workload(self._base, inputs)
        return found, scenario, decide(scenario, self.facts)

    def _handler(self, name: str) -> Any:
        def changed(change: Any) -> None:
            if not self._settling:
                self.set(name, str(change["new"]))

        return changed

    def _show(self) -> None:
        self._settling = True
        try:
            for name, field in self.fields.items():
                field.value = self._values[name]
        finally:
            self._settling = False
        self.message.value = error_html(self.error) if self.error else ""
        verdict = Markup('<div class="sc"><p class="verdict" role="status">{}</p></div>')
        parts = [traffic_table(self.found).html] if self.found is not None else []
        parts += [verdict.format(self.decision.verdict),
                  workload_tables(self.decision, *TABLES).html]  # fmt: skip
        self.view.value = "".join(parts)


def with_workload(scenario: Scenario, inputs: dict[str, Any]) -> Scenario:
    """Return the scenario with these inputs in its workload section, checked as a file would be."""
    if not inputs:
        return scenario
    tree = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    tree["workload"] = {**tree["workload"], **inputs}
    return parse_scenario(tree, "panel")
