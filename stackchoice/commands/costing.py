"""``cost``: the bills of a month path by path, and where one path overtakes another."""

import json

from stackchoice.commands.options import JsonFlag, ScenarioArg


def cost_command(scenario: ScenarioArg, as_json: JsonFlag = False) -> None:
    """Print the monthly bill of every open path, the break-evens, and who says which price."""
    from datetime import UTC, datetime

    from stackchoice.cases import load_case
    from stackchoice.choose import decide
    from stackchoice.commands.bill import describe
    from stackchoice.prices import quotes
    from stackchoice.this_machine import facts_for

    loaded = load_case(scenario)
    facts = facts_for(loaded)
    decision = decide(loaded, facts)
    listed, why_none = quotes(facts, loaded.model.id, datetime.now(UTC).date())
    if not as_json:
        print(describe(decision, listed, why_none))
        return
    tree = {
        "scenario": decision.scenario,
        "currency": "USD",
        **decision.cost.model_dump(mode="json"),
        "ops": decision.ops.model_dump(mode="json"),
        "price_lists": [quote.model_dump(mode="json") for quote in listed],
        "price_lists_note": why_none,
        "facts_sha256": decision.facts_sha256,
        "version": decision.version,
    }
    print(json.dumps(tree, indent=2))
