"""The widget of question 2: a log or a published workload put into a scenario, and decided."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ipywidgets
from markupsafe import Markup

from stackchoice.choose import Decision, decide
from stackchoice.errors import StackchoiceError, TrafficError
from stackchoice.facts import Facts
from stackchoice.facts.names import named
from stackchoice.facts.told import Why
from stackchoice.facts.traffic import WorkloadPreset
from stackchoice.present.controls import WIDE, dropdown, saved_html, text_field
from stackchoice.present.form import ROW, SOURCE
from stackchoice.present.kept import Kept
from stackchoice.present.page import Section, joined
from stackchoice.present.panel import Panel
from stackchoice.present.traffic import traffic_table, workload_tables
from stackchoice.scenario import Scenario, parse_scenario, save_scenario
from stackchoice.scenario.preset import preset_inputs
from stackchoice.traffic import Measured, measure_log
from stackchoice.traffic.section import workload_inputs
from stackchoice.why import explain
from stackchoice.why.chosen import logged

NONE = "none: the scenario's own"
TABLES = ("volume", "seconds", "settings", "reuse", "peak")


class TrafficPanel(Panel):
    """Traffic from a log or a published workload, in place of a scenario's own.

    Parameters
    ----------
    scenario
        Gives everything else, and the traffic where neither log nor preset is chosen.
    log, preset
        What to start with; a log stands before a preset.

    Attributes
    ----------
    found, scenario, decision, error
        The measured log or the preset (None: neither), the scenario with it, its decision, and
        what was said of the last refused value, else an empty text.
    """

    def __init__(
        self, scenario: Scenario, facts: Facts, *, log: str = "", preset: str = "", keep: str = ""
    ) -> None:
        self._base = scenario
        choices = [(NONE, ""), *((w.id, w.id) for w in facts.workloads.values())]
        fields = {
            "log": text_field("Request log (path)", log, WIDE),
            "preset": dropdown("Published workload", choices, preset),
        }
        values = {"log": log, "preset": preset}
        self.path = text_field("Save to", f"my-{scenario.name}.yaml")
        super().__init__(facts, fields, values, Kept(keep, f"traffic of {scenario.name}"),
                         {"path": self.path})  # fmt: skip
        self.save_button = ipywidgets.Button(description="Save scenario", icon="save")
        self.save_button.on_click(lambda _: self.save())
        saving = ipywidgets.HBox([self.form.boxes["path"], self.save_button], layout=ROW)
        self.children = (self.children[0], saving, *self.children[1:])

    children: tuple[Any, ...]
    result: tuple[Measured | WorkloadPreset | None, Scenario, Decision]

    @property
    def found(self) -> Measured | WorkloadPreset | None:
        """The measured log or the preset; None: neither."""
        return self.result[0]

    @property
    def scenario(self) -> Scenario:
        """The scenario with that traffic."""
        return self.result[1]

    @property
    def decision(self) -> Decision:
        """Its decision."""
        return self.result[2]

    def save(self) -> None:
        """Write the scenario with its new traffic to the path in the field."""
        path = Path(self.path.value.strip())
        try:
            if os.path.exists(path):
                raise TrafficError(f"{path}: is there already; choose another name")
            save_scenario(self.scenario, path, read=None)
        except StackchoiceError as error:
            self.form.refuse(str(error), "path")
        else:
            self.form.say(saved_html(path))

    def _answer(
        self, values: dict[str, str]
    ) -> tuple[Measured | WorkloadPreset | None, Scenario, Decision]:
        found: Measured | WorkloadPreset | None = None
        inputs: dict[str, Any] = {}
        if values["log"]:
            found = measure_log(values["log"], self.facts)
            inputs = workload_inputs(found)
        elif values["preset"]:
            found = named("preset", values["preset"], self.facts.workloads)
            inputs = preset_inputs(found)
        scenario = with_workload(self._base, inputs)
        return found, scenario, decide(scenario, self.facts)

    def _why(self) -> Iterable[Why]:
        whys = explain(self.scenario, self.facts)
        log = [logged(self.found)] if isinstance(self.found, Measured) else []
        return [*log, *whys.of("recommendation", "need", "decode", "prefill", "replica", "peak")]

    def _follow(self, values: dict[str, str], changed: str) -> dict[str, str]:
        return {name: text.strip() for name, text in values.items()}

    def _table(self) -> Section:
        verdict = Markup('<div class="sc"><p class="verdict" role="status">{}</p></div>')
        parts = [traffic_table(self.found)] if self.found is not None else []
        parts += [Section("verdict", verdict.format(self.decision.verdict)),
                  workload_tables(self.decision, *TABLES)]  # fmt: skip
        return joined("traffic", *parts)


def with_workload(scenario: Scenario, inputs: dict[str, Any]) -> Scenario:
    """Return the scenario with these inputs in its workload section, checked as a file would be."""
    if not inputs:
        return scenario
    tree = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    tree["workload"] = {**tree["workload"], **inputs}
    return parse_scenario(tree, SOURCE)
