"""The list of options in any situation of the fact base: traffic, model and machine chosen."""

from stackchoice.choose import Decision, decide
from stackchoice.facts import Facts
from stackchoice.present.controls import WIDE, dropdown, listed
from stackchoice.present.fields import shown, written
from stackchoice.present.kept import Kept
from stackchoice.present.page import Reasons, Section
from stackchoice.present.panel import Panel
from stackchoice.present.tables import decision_table
from stackchoice.scenario import Scenario, parse_scenario

MODEL, MACHINE = "model.id", "candidates.machines.0.id"


class RankingPanel(Panel):
    """The list of options for any model, machine and traffic of the fact base.

    Another traffic brings its own model and machine, which may be changed then.

    Parameters
    ----------
    traffic
        Scenarios to take the traffic and the team of, by name.

    Attributes
    ----------
    decision
        That of the situation that is shown.
    """

    def __init__(self, traffic: dict[str, Scenario], facts: Facts, *, keep: str = "") -> None:
        self._traffic = traffic
        titles = [(scenario.title, name) for name, scenario in traffic.items()]
        values = self._of(titles[0][1])
        fields = {
            "traffic": dropdown("Traffic", titles, values["traffic"], WIDE),
            "model": dropdown("Model", listed(facts.models), values["model"]),
            "machine": dropdown("Machine", listed(facts.machines), values["machine"]),
        }
        super().__init__(facts, fields, values, Kept(keep, "situation"))

    @property
    def decision(self) -> Decision:
        """The last valid result."""
        found: Decision = self.result
        return found

    def _of(self, name: str) -> dict[str, str]:
        scenario = self._traffic[name]
        return {"traffic": name, "model": shown(scenario, MODEL),
                "machine": shown(scenario, MACHINE)}  # fmt: skip

    def _follow(self, values: dict[str, str], changed: str) -> dict[str, str]:
        return self._of(values["traffic"]) if changed == "traffic" else values

    def _answer(self, values: dict[str, str]) -> Decision:
        return decide(self._moved(values), self.facts)

    def _moved(self, values: dict[str, str]) -> Scenario:
        return moved(self._traffic[values["traffic"]], values["model"], values["machine"])

    def _table(self) -> Section:
        why = Reasons(self._moved(self.values), self.facts, later=True)
        return decision_table(self.decision, why)


def moved(scenario: Scenario, model: str = "", machine: str = "") -> Scenario:
    """Return the same traffic and team with another model or on another machine."""
    for path, text in ((MODEL, model), (MACHINE, machine)):
        if text and text != shown(scenario, path):
            scenario = parse_scenario(written(scenario, path, text))
    return scenario
