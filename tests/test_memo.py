"""Sub-results are worked out anew exactly where something they read has moved."""

import random

from stackchoice import load_scenario
from stackchoice.choose.answer import answer
from stackchoice.choose.memo import Memo
from stackchoice.scenario import ends, likely_point


def moved(point, path, value):
    known = point.inputs[path].model_copy(update={"value": value})
    return point.model_copy(update={"inputs": {**point.inputs, path: known}})


def test_only_what_was_read_counts(facts):
    point, memo, asked = likely_point(load_scenario("json-chat"), facts), Memo(), []

    def inner(p, _):
        asked.append("inner")
        return p["workload.users"]

    def outer(p, f):
        asked.append("outer")
        return memo.recall("inner", p, f, inner) * f.assumed("pue")

    def ask(at, base=facts):
        asked.clear()
        return memo.recall("outer", at, base, outer)

    assert ask(point) == 200 * facts.assumed("pue")
    assert asked == ["outer", "inner"]
    ask(moved(point, "workload.output_tokens", 5))
    assert asked == []
    assert ask(moved(point, "workload.users", 3)) == 3 * facts.assumed("pue")
    assert asked == ["outer", "inner"]
    assumption = facts.assumptions["pue"]
    datum = assumption.datum.model_copy(update={"value": 2.0})
    other = facts.model_copy(
        update={"assumptions": {**facts.assumptions,
                                "pue": assumption.model_copy(update={"datum": datum})}}
    )  # fmt: skip
    assert ask(point, other) == 400
    assert asked == ["outer"]


def test_an_answer_with_a_shared_memo_is_the_answer_without(facts):
    """In any order, at any point of the ranges."""
    chance = random.Random(7)
    for name in ("json-chat", "spiky-volume", "nvidia-throughput"):
        scenario = load_scenario(name)
        point, memo = likely_point(scenario, facts), Memo()
        ranges = list(ends(scenario, facts).items())
        for _ in range(12):
            path, sides = chance.choice(ranges)
            there = moved(point, path, chance.choice(sides))
            one, two = answer(scenario, facts, there, memo), answer(scenario, facts, there)
            assert one.verdict == two.verdict
            assert one.candidates == two.candidates
            assert one.lines == two.lines


def test_walking_over_all_inputs_reads_them_all(facts):
    point = likely_point(load_scenario("json-chat"), facts)
    memo = Memo()
    memo.recall("all", point, facts, lambda p, _: list(p.inputs))
    changed = moved(point, "workload.images", True)
    assert memo.recall("all", changed, facts, lambda *_: "again") == "again"
