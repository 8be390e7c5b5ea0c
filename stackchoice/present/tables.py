"""Fragments for notebooks: the list of options of one decision, and of several side by side."""

from __future__ import annotations

from stackchoice.choose import Decision, decide
from stackchoice.facts import Facts
from stackchoice.present import charts
from stackchoice.present.page import Reason, Section, no_reasons, section
from stackchoice.scenario import Scenario


def decision_html(decision: Decision, why: Reason = no_reasons) -> str:
    """Return the verdict, the list of options and the memory budgets as HTML."""
    return section("panel", d=decision, memory=charts.memory_chart(decision.fit), why=why).html


def compare(scenarios: dict[str, Scenario], facts: Facts) -> Section:
    """Decide several situations and put the same options side by side, in the first's order."""
    decisions = {title: decide(scenario, facts) for title, scenario in scenarios.items()}
    names = dict.fromkeys(option.name for d in decisions.values() for option in d.options)
    return section("comparison", decisions=decisions, names=names)
