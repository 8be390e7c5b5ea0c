"""Widgets of question 3 and cost: prices, people and terms typed in, every path at once."""

from stackchoice.choose import Decision, decide
from stackchoice.facts import Facts
from stackchoice.present.charts import cost_chart
from stackchoice.present.controls import dropdown, text_field
from stackchoice.present.curves import volume_chart
from stackchoice.present.fields import FIELDS, shown, written
from stackchoice.present.form import SOURCE
from stackchoice.present.kept import Kept
from stackchoice.present.page import Reasons, Section, section
from stackchoice.present.panel import Panel
from stackchoice.scenario import Scenario, parse_scenario

#: What the panel asks, of the fields of a form.
ASKED = (
    "workload.users", "workload.requests_per_user_per_day", "workload.output_tokens",
    "workload.peak_factor", "workload.active_hours_per_day", "money.usd_per_engineer_month",
    "team.ops_fte_managed", "team.ops_fte_rented", "team.ops_fte_owned", "money.horizon_months",
    "money.usd_per_device_hour", "money.commitment_discount", "money.server_usd",
    "money.switching_usd", "money.rented_hours", "money.depreciation",
)  # fmt: skip


class MoneyPanel(Panel):
    """Change prices, people and terms of a scenario and see every path's bill move.

    Parameters
    ----------
    scenario
        Where to start; what is not touched keeps its origin and answerer.

    Attributes
    ----------
    decision
        The last valid decision.
    """

    def __init__(self, scenario: Scenario, facts: Facts, *, keep: str = "") -> None:
        self.start = scenario
        values = {path: shown(scenario, path) for path in ASKED}
        fields = {
            path: dropdown(field.label, [(name, name) for name in field.choices], values[path])
            if field.choices else text_field(field.label, values[path])
            for path in ASKED for field in [FIELDS[path]]
        }  # fmt: skip
        super().__init__(facts, fields, values, Kept(keep, f"money of {scenario.name}"))

    result: tuple[Scenario, Decision]

    @property
    def decision(self) -> Decision:
        """The last valid result."""
        return self.result[1]

    def _answer(self, values: dict[str, str]) -> tuple[Scenario, Decision]:
        scenario = self.start
        for path, text in values.items():
            if text != shown(self.start, path):
                scenario = parse_scenario(written(scenario, path, text), SOURCE)
        return scenario, decide(scenario, self.facts)

    def _table(self) -> Section:
        scenario, decision = self.result
        return section(  # ages are told in the report, which has a day
            "money_panel", d=decision, cost=decision.cost, old=lambda as_of: "",
            costs=cost_chart(decision.cost), curves=volume_chart(decision.cost),
            why=Reasons(scenario, self.facts, later=True),
        )  # fmt: skip
