"""Sub-results are worked out anew exactly where something they read has moved."""

import gc
import random

import pytest

from stackchoice import decide, load_scenario
from stackchoice.choose.answer import answer, opened
from stackchoice.choose.case import Case
from stackchoice.choose.decide import decided, likely_case
from stackchoice.choose.defend import defend, defended
from stackchoice.scenario import ends, likely_point


def case_of(name, facts):
    scenario = load_scenario(name)
    return Case(scenario, facts, likely_point(scenario, facts))


def test_only_what_was_read_counts(facts):
    case, asked = case_of("json-chat", facts), []

    def inner(here):
        asked.append("inner")
        return here["workload.users"]

    def outer(here):
        asked.append("outer")
        return here.recall("inner", inner) * here.facts.assumed("pue")

    def ask(at):
        asked.clear()
        return at.recall("outer", outer)

    assert ask(case) == 200 * facts.assumed("pue")
    assert asked == ["outer", "inner"]
    ask(case.moved({"workload.output_tokens": 5}))
    assert asked == []
    assert ask(case.moved({"workload.users": 3})) == 3 * facts.assumed("pue")
    assert asked == ["outer", "inner"]
    assert ask(case.assuming({"pue": 2.0})) == 400
    assert asked == ["outer"]


def test_an_answer_that_shares_sub_results_is_the_answer_that_does_not(facts):
    """In any order, at any point of the ranges."""
    chance = random.Random(7)
    for name in ("json-chat", "spiky-volume", "nvidia-throughput"):
        case = case_of(name, facts)
        ranges = list(ends(case.scenario, facts).items())
        for _ in range(12):
            path, sides = chance.choice(ranges)
            there = case.moved({path: chance.choice(sides)})
            one, two = answer(there), answer(Case(case.scenario, facts, there.point))
            assert one.verdict == two.verdict
            assert one.candidates == two.candidates
            assert one.lines == two.lines


def test_walking_over_all_inputs_reads_them_all(facts):
    case = case_of("json-chat", facts)
    case.recall("all", lambda here: list(here.point.inputs))
    changed = case.moved({"workload.images": True})
    assert changed.recall("all", lambda _: "again") == "again"


@pytest.mark.parametrize("name", ["json-chat", "spiky-volume", "apple-one-user"])
def test_other_preferences_on_one_case_are_decided_and_defended_as_on_a_new_one(facts, name):
    scenario = load_scenario(name)
    shared = likely_case(scenario, facts)
    for order in (["cost"], ["latency", "cost"], ["privacy"], ["simplicity"], ["cost"]):
        asked = scenario.model_copy(update={"preferences": order})
        case = shared.preferring(order)
        assert decided(case) == decide(asked, facts)
        assert defended(case, draws=80, groups=8) == defend(asked, facts, draws=80, groups=8)


def test_other_preferences_work_out_nothing_but_the_last_step(facts):
    case = case_of("json-chat", facts)
    found = opened(case)
    assert opened(case.preferring(["privacy", "latency"])) is found
    assert opened(case.moved({"workload.users": 3})) is not found


@pytest.mark.parametrize("go", [decide, lambda *given: defend(*given, draws=200, groups=10)])
def test_nothing_is_left_to_the_cycle_collector(go, facts):
    scenario = load_scenario("json-chat")

    def cases():
        return {id(one) for one in gc.get_objects() if isinstance(one, Case)}

    gc.collect()
    gc.disable()
    try:
        before = cases()  # those that other tests keep
        kept = go(scenario, facts)
        left = cases() - before
    finally:
        gc.enable()
    assert kept is not None
    assert left == set()
