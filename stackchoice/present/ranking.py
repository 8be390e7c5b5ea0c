"""The list of options in any situation of the fact base: traffic, model and machine chosen."""

from __future__ import annotations

import ipywidgets

from stackchoice.choose import decide
from stackchoice.errors import StackchoiceError
from stackchoice.facts import Facts
from stackchoice.present.fields import shown, written
from stackchoice.present.page import Section
from stackchoice.present.tables import decision_table
from stackchoice.present.view import View
from stackchoice.present.widgets import dropdown, error_html
from stackchoice.scenario import Scenario, parse_scenario


class RankingPanel(ipywidgets.VBox):
    """The list of options for any model, machine and traffic of the fact base.

    ``decision`` holds the decision of the situation that is shown.
    """

    def __init__(self, traffic: dict[str, Scenario], facts: Facts) -> None:
        self.facts = facts
        self.traffic = dropdown("Traffic", [(s.title, s) for s in traffic.values()])
        self.model = dropdown("Model", [(m.name, m.id) for m in facts.models.values()])
        self.machine = dropdown("Machine", [(m.name, m.id) for m in facts.machines.values()])
        self.view = View()
        self._settling = False
        self._start()
        self.traffic.observe(lambda _: self._start(), names="value")
        for widget in (self.model, self.machine):
            widget.observe(lambda _: self._update(), names="value")
        super().__init__([self.traffic, self.model, self.machine, self.view])

    def _start(self) -> None:
        """Take model and machine from the chosen scenario; the user may change them then."""
        self._settling = True
        try:
            self.model.value = shown(self.traffic.value, "model.id")
            self.machine.value = shown(self.traffic.value, "candidates.machines.0.id")
        finally:
            self._settling = False
        self._update()

    def _update(self) -> None:
        if self._settling:
            return
        try:
            scenario = moved(self.traffic.value, self.model.value, self.machine.value)
            self.decision = decide(scenario, self.facts)
        except StackchoiceError as error:
            self.view.show(Section("refused", error_html(str(error))))
        else:
            self.view.show(decision_table(self.decision))


def moved(scenario: Scenario, model: str = "", machine: str = "") -> Scenario:
    """Return the same traffic and team with another model or on another machine."""
    for path, text in (("model.id", model), ("candidates.machines.0.id", machine)):
        if text and text != shown(scenario, path):
            scenario = parse_scenario(written(scenario, path, text))
    return scenario
