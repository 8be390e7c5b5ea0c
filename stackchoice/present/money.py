"""Question 3 and the cost as tables: who, what engines ask, bills, break-evens, prices, exits."""

from datetime import UTC, date, datetime
from typing import Any

from stackchoice.choose import Decision
from stackchoice.facts import Facts
from stackchoice.present import text
from stackchoice.present.charts import cost_chart
from stackchoice.present.curves import volume_chart
from stackchoice.present.page import Reason, Section, no_reasons, section
from stackchoice.prices import quotes
from stackchoice.scenario import Scenario, parse_scenario


def money_context(decision: Decision, facts: Facts, today: date) -> dict[str, Any]:
    """Return what the templates of question 3 and cost are rendered with."""
    return {
        "d": decision,
        "cost": decision.cost,
        "model": decision.fit.model,
        "quotes": quotes(facts, decision.fit.model, today),
        "old": lambda as_of: text.age_mark(as_of, today),
        "costs": cost_chart(decision.cost),
        "curves": volume_chart(decision.cost),
    }


def money_tables(
    decision: Decision,
    facts: Facts,
    *parts: str,
    why: Reason = no_reasons,
    today: date | None = None,
) -> Section:
    """Return some of the tables of question 3 and cost as one section.

    Parameters
    ----------
    parts
        Of ``team``, ``asks``, ``bills``, ``evens``, ``prices``, ``board``, in the wanted order.
    why
        What tells why; nothing is told without it.
    today
        The day by which facts are old and other lists are read; this day when not given.
    """
    return section(
        "money", parts=[f"{part}.html.j2" for part in parts], why=why,
        **money_context(decision, facts, today or datetime.now(UTC).date()),
    )  # fmt: skip


def with_work(scenario: Scenario, decision: Decision, facts: Facts, factor: float) -> Scenario:
    """Return the scenario with this much work for its chosen engine (the reference takes 1).

    The same scenario where no engine was chosen.
    """
    names = {engine.name: engine.id for engine in facts.engines.values()}
    chosen = names.get(decision.best_self_hosted or "")
    if chosen is None:
        return scenario
    work = {**scenario.team.engine_work, chosen: factor}
    tree = scenario.model_dump(mode="json", by_alias=True)
    return parse_scenario({**tree, "team": {**tree["team"], "engine_work": work}})
