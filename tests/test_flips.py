"""Flips are true: deciding again on either side of a printed value gives the two answers."""

import pytest

from stackchoice import decide, load_scenario
from stackchoice.choose.defend import defend
from stackchoice.errors import ScenarioError
from stackchoice.facts.load import data_dir
from stackchoice.scenario import parse_scenario, scenario_inputs

SHIPPED = sorted(
    path.stem for path in (data_dir() / "scenarios").glob("*.yaml") if path.stem != "this-machine"
)


def named(decision):
    """The answer as a flip words it."""
    recommended, own = decision.recommended, decision.best_self_hosted
    if recommended is None:
        return (
            f"too close to call or nothing (self-hosted: {own})"
            if own
            else "none: no option is left"
        )
    return recommended if own in (None, recommended) else f"{recommended} (self-hosted: {own})"


def decided_at(scenario, path, value, facts):
    """Decide again with one input at a value, as somebody would who writes it into the file."""
    section, key = path.split(".")
    tree = scenario.model_dump(mode="json", by_alias=True)
    whole = isinstance(value, float) and value == int(value)
    words = {"true": True, "false": False, None: "not known"}
    tree[section][key] = words.get(value, int(value) if whole else value)
    return decide(parse_scenario(tree), facts)


def check(scenario, flip, facts):
    if flip.at is None or flip.input not in scenario_inputs(scenario):
        return 0
    under = decided_at(scenario, flip.input, flip.under, facts)
    over = decided_at(scenario, flip.input, flip.at, facts)
    assert named(under) == flip.from_option, flip
    assert named(over) == flip.to_option, flip
    assert (under.recommended != over.recommended) == flip.changes_recommendation, flip
    return 1


@pytest.mark.parametrize("name", SHIPPED)
def test_every_flip_of_every_shipped_scenario_is_true(name, facts):
    scenario = load_scenario(name)
    decision = decide(scenario, facts)
    for flip in decision.flips:
        check(scenario, flip, facts)
    inputs = {flip.input for flip in decision.flips}
    assert {p for p, item in scenario_inputs(scenario).items() if item.ranged} <= inputs


@pytest.mark.parametrize("name", ["json-chat", "internal-api", "spiky-volume"])
def test_flips_beyond_what_was_given_are_true_too(name, facts):
    scenario = load_scenario(name)
    beyond = defend(scenario, facts, draws=20, groups=2).beyond
    assert sum(check(scenario, flip, facts) for flip in beyond) >= 2
    assert not any(flip.within_range for flip in beyond)


def test_two_flips_on_one_input_are_both_said(changed, facts):
    """Short texts make the prefix a heavy share; long ones overload the card."""
    scenario = changed(
        "internal-api", workload__input_tokens={"low": 50, "value": 1500, "high": 40_000}
    )
    decision = decide(scenario, facts)
    flips = [f for f in decision.flips if f.input == "workload.input_tokens" and f.at]
    assert {flip.at < 1500 for flip in flips} == {True, False}
    assert sum(check(scenario, flip, facts) for flip in flips) == len(flips)


def test_neighbours_are_one_token_or_one_cent_apart(changed, facts):
    decision = decide(load_scenario("spiky-volume"), facts)
    tokens = next(f for f in decision.flips if f.input == "workload.input_tokens")
    assert abs(tokens.at - tokens.under) == 1
    today = {"what": "old", "works": True, "usd_per_month": {"low": 100, "value": 800,
                                                              "high": 9000}}  # fmt: skip
    scenario = changed("json-chat", current=today)
    flips = [f for f in decide(scenario, facts).flips if f.input == "current.usd_per_month"]
    assert flips
    for flip in flips:
        assert round(abs(flip.at - flip.under), 6) == 0.01
        assert check(scenario, flip, facts)


def test_what_is_counted_flips_at_whole_numbers(facts):
    beyond = defend(load_scenario("json-chat"), facts, draws=20, groups=2).beyond
    users = next(f for f in beyond if f.input == "workload.users" and f.at)
    assert (users.at, users.under) == (int(users.at), users.at - 1)


def test_an_input_that_flips_nothing_says_so(decision):
    quiet = [f for f in decision.flips if f.to_option is None]
    assert quiet
    assert all(flip.at is None for flip in quiet)


def test_a_flip_of_the_self_hosted_choice_alone_says_that_the_answer_stays(facts):
    """ "Becomes X" where X is the answer already would read as news."""
    scenario = load_scenario("json-chat")
    decision = decide(scenario, facts)
    found = [*decision.flips, *defend(scenario, facts, draws=20, groups=2).beyond]
    flips = [flip for flip in found if flip.to_option is not None]
    assert {flip.changes_recommendation for flip in flips} == {True, False}
    for flip in flips:
        assert ("the answer becomes" in flip.text) is flip.changes_recommendation
        assert ("the answer stays managed endpoint" in flip.text) is not flip.changes_recommendation


def test_what_is_defended_is_checked_like_what_is_decided(changed, facts):
    wild = changed("json-chat", model__id="meta-llama/Llama-3.3-70B-Instruct", model__artifacts=[])
    for call in (decide, defend):
        with pytest.raises(ScenarioError, match=r"'instruct' is not .*none is known here"):
            call(wild, facts)
