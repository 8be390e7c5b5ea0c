"""Fragments for notebooks: the list of options of one decision, and of several side by side."""

from __future__ import annotations

from stackchoice.choose import Decision, decide
from stackchoice.facts import Facts
from stackchoice.present import charts
from stackchoice.present.report import Section, environment, style
from stackchoice.scenario import Scenario


def decision_html(decision: Decision) -> str:
    """Return the verdict, the list of options and the memory budgets as HTML."""
    return (
        environment()
        .get_template("panel.html.j2")
        .render(d=decision, memory=charts.memory_chart(decision.fit), style=style())
    )


def compare(scenarios: dict[str, Scenario], facts: Facts) -> Section:
    """Decide several situations and put the same list of options side by side."""
    decisions = {title: decide(scenario, facts) for title, scenario in scenarios.items()}
    names = sorted({option.name for d in decisions.values() for option in d.options}, key=str.lower)
    html = (
        environment()
        .get_template("comparison.html.j2")
        .render(decisions=decisions, names=names, style=style())
    )
    return Section("comparison", html)
