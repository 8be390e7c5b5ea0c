"""A decision defended and carried out, in pictures, sections and a panel; nothing is computed."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import altair as alt

from stackchoice.choose.against import ReleaseRow
from stackchoice.choose.case import Case
from stackchoice.choose.decide import decided, likely_case
from stackchoice.choose.decision import Decision
from stackchoice.choose.defend import Defence, Tornado, defended
from stackchoice.facts import Facts
from stackchoice.facts.told import Why
from stackchoice.present import text
from stackchoice.present.charts import INK, finish, rows_axis
from stackchoice.present.controls import dropdown
from stackchoice.present.drawing import ROWS, Built, Chart, Filled
from stackchoice.present.kept import Kept
from stackchoice.present.page import Section, section
from stackchoice.present.panel import Panel
from stackchoice.scenario import Scenario
from stackchoice.scenario.words import label
from stackchoice.why import explain

LOW, HIGH = "#0b4f8a", "#e69f00"
#: Bars of a tornado beyond these say little; the table has them all.
MOST_BARS = 12
PREFERENCES = ("cost", "latency", "privacy", "simplicity")
RANKS = {"first": "First preference", "second": "Then", "third": "Then"}
NONE = "nothing more"


def tornado_chart(tornado: Tornado) -> tuple[Chart, str]:
    """Return the widest bars of a tornado around today's total, in USD a month, and its text."""
    rows, spoken = [], []
    centre = float(tornado.usd or 0)
    surviving = [b for b in tornado.bars if None not in (b.usd_at_low, b.usd_at_high)]
    for bar in surviving[:MOST_BARS]:
        ends = [("low", bar.low, bar.usd_at_low), ("high", bar.high, bar.usd_at_high)]
        said = ", ".join(f"{text.usd(usd)} at {text.number(at)}" for _, at, usd in ends)
        spoken.append(f"{label(bar.input)}: {said}")
        for end, _, usd in ends:
            rows.append(
                {"row": f"{label(bar.input)} [{bar.evidence.value}]", "end": end,
                 "from": centre, "to": float(usd or 0), "said": said}
            )  # fmt: skip
    bars = len({row["row"] for row in rows})
    return Filled(_tornado(bars), {"rows": rows}), (
        f"What the monthly total of {tornado.option}, {text.usd(tornado.usd)}, hangs on. "
        f"{'; '.join(spoken) or 'No range moves it'}."
    )


@cache
def _tornado(rows: int) -> Built:
    base = alt.Chart(ROWS).encode(y=rows_axis())
    axis = alt.X("from:Q", title="USD a month, all else as likely", scale=alt.Scale(zero=False))
    colour = alt.Color(
        "end:N", title=None, scale=alt.Scale(domain=["low", "high"], range=[LOW, HIGH]),
        legend=alt.Legend(orient="top", labelExpr="'input at its ' + datum.label + ' end'",
                          labelLimit=300),
    )  # fmt: skip
    chart = alt.layer(
        base.mark_bar(height=18).encode(x=axis, x2="to:Q", color=colour),
        base.mark_tick(thickness=2, size=24, color=INK).encode(x=axis),
        base.transform_filter("datum.end == 'low'")
        .mark_text(align="left", dx=2, dy=21, color=INK)
        .encode(x=alt.value(0), text="said:N"),
    )
    return Built(finish(chart, rows=rows, step=58))


def shares_chart(defence: Defence) -> tuple[Chart, str]:
    """Return how often each outcome came of the draws, and its text."""
    shares = defence.shares
    rows = [
        {"row": name, "share": share, "said": f"{share:.1%}"} for name, share in shares.wins.items()
    ]
    spoken = "; ".join(f"{row['row']}: {row['said']}" for row in rows)
    return Filled(_shares(len(rows), f"share of {shares.draws:,} draws"), {"rows": rows}), (
        f"How often each option wins. {spoken}."
    )


@cache
def _shares(rows: int, title: str) -> Built:
    base = alt.Chart(ROWS).encode(y=rows_axis())
    axis = alt.X("share:Q", title=title, axis=alt.Axis(format="%"),
                 scale=alt.Scale(domain=[0, 1]))  # fmt: skip
    chart = alt.layer(
        base.mark_bar(height=20, color=LOW).encode(x=axis),
        base.mark_text(align="left", dx=4, color=INK).encode(x=axis, text="said:N"),
    )
    return Built(finish(chart, rows=rows, step=36))


def releases_table(engine: str, rows: list[ReleaseRow]) -> Section:
    """Return the answer at each release of an engine."""
    return section("releases", engine=engine, rows=rows)


def defence_context(defence: Defence) -> dict[str, Any]:
    """Return what the template of a defence shows."""
    return {
        "defence": defence,
        "tornados": [(t, tornado_chart(t)) for t in defence.tornados],
        "shares": shares_chart(defence),
    }


class DecisionPanel(Panel):
    """Rank the survivors of a scenario by other preferences, and see what would change it.

    Parameters
    ----------
    scenarios
        To choose from, by name.
    draws
        How often every range is drawn from.

    Attributes
    ----------
    decision, defence
        Of the scenario with the preferences that are chosen.
    """

    def __init__(
        self, scenarios: dict[str, Scenario], facts: Facts, *, draws: int = 2000, keep: str = ""
    ) -> None:
        self.draws, self._scenarios, self._cases = draws, scenarios, dict[str, Case]()
        titles = [(scenario.title, name) for name, scenario in scenarios.items()]
        values = {"scenario": titles[0][1], **dict.fromkeys(RANKS, ""), "first": "cost"}
        ranks = [(NONE, ""), *((name, name) for name in PREFERENCES)]
        fields = {
            "scenario": dropdown("Scenario", titles, values["scenario"]),
            **{name: dropdown(label, ranks, values[name]) for name, label in RANKS.items()},
        }
        super().__init__(facts, fields, values, Kept(keep, "preferences"))

    result: tuple[Case, Decision, Defence]

    @property
    def decision(self) -> Decision:
        """The last valid decision."""
        return self.result[1]

    @property
    def defence(self) -> Defence:
        """What stands behind it."""
        return self.result[2]

    def _answer(self, values: dict[str, str]) -> tuple[Case, Decision, Defence]:
        """Decide; of a scenario that is new the answer is shown at once: the rest takes longer."""
        name = values["scenario"]
        new = name not in self._cases
        if new:
            self._cases[name] = likely_case(self._scenarios[name], self.facts)
        ranked = list(dict.fromkeys(values[rank] for rank in RANKS if values[rank]))
        case = self._cases[name].preferring(ranked)
        decision = decided(case)
        if new:
            self.view.show(section("defended", d=decision, defence=None))
        return case, decision, defended(case, draws=self.draws, groups=40)

    def _why(self) -> Iterable[Why]:
        return explain(self.result[0].scenario, self.facts).of("recommendation", "option")

    def _table(self) -> Section:
        return section("defended", d=self.decision, **defence_context(self.defence))
