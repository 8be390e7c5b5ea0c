"""Fragments for notebooks: the list of options of one decision, and of several side by side."""

from stackchoice.choose import Decision, decide
from stackchoice.choose.against import Comparison
from stackchoice.facts import Facts
from stackchoice.present import charts, text
from stackchoice.present.page import Reason, Section, no_reasons, section
from stackchoice.scenario import Scenario


def decision_table(decision: Decision, why: Reason = no_reasons) -> Section:
    """Return the verdict with what it hangs on, the list of options and the memory budgets."""
    return section("panel", d=decision, memory=charts.memory_chart(decision.fit), why=why)


def compare(scenarios: dict[str, Scenario], facts: Facts) -> Section:
    """Decide several situations and put the same options side by side, in the first's order."""
    decisions = {title: decide(scenario, facts) for title, scenario in scenarios.items()}
    names = dict.fromkeys(option.name for d in decisions.values() for option in d.options)
    return section("comparison", decisions=decisions, names=names)


def comparison_table(found: Comparison) -> Section:
    """Return two scenarios side by side."""
    told = [
        (change, text.in_words(change.before), text.in_words(change.after))
        for change in found.changes
    ]
    alike = [change.key for change, before, after in told if before == after and not change.steps]
    rows = [row for row in told if row[0].key not in alike]
    return section("against", c=found, rows=rows, alike=alike)
