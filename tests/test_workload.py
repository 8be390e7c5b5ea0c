"""Needs, pushes and conflicts: three-valued, shown, settled by precedence or not at all."""

import pytest

from stackchoice import decide
from stackchoice.facts import Source
from stackchoice.facts.rules import Push, Rule
from stackchoice.scenario import likely_point, load_scenario
from stackchoice.workload import PREDICATES, Need, Situation, conflicts, favourite, meets, pushes

SOURCE = Source(title="test", as_of="2026-01-01")


def rule(name, when, engine, precedence, **more):
    words = dict.fromkeys(("text", "why", "how_far", "resolves"), name)
    return Rule(
        id=name,
        question="workload",
        when=when,
        favours=[Push(engine=engine)],
        precedence=precedence,
        source=SOURCE,
        **words,
        **more,
    )


@pytest.fixture
def situation(facts):
    scenario = load_scenario("json-chat")
    return Situation(
        scenario=scenario,
        point=likely_point(scenario, facts),
        machines=[facts.machines["h100_sxm"]],
        devices=1,
        mean_utilisation=None,
        thresholds={"many_users": 20, "heavy_shared_prefix_share": 0.3, "low_utilisation": 0.1},
    )


def test_every_predicate_of_the_rules_exists(facts):
    named = {name for r in facts.rules for name in [*r.when, *r.unless]}
    assert named <= set(PREDICATES)
    assert set(PREDICATES) <= named, "a predicate nobody uses"


def test_every_engine_a_rule_favours_exists(facts):
    favoured = {push.engine for r in facts.rules for push in r.favours}
    assert favoured <= {*facts.engines, "managed"}


def test_an_unknown_condition_leaves_the_push_unknown(situation):
    found = pushes([rule("r", ["json_schema", "shared_prefix_heavy"], "sglang", 1)], situation)
    assert found[0].holds is None
    assert found[0].unknown == ["shared_prefix_heavy"]


def test_one_false_condition_settles_it_whatever_is_unknown(situation):
    found = pushes([rule("r", ["one_user", "shared_prefix_heavy"], "sglang", 1)], situation)
    assert found[0].holds is False


def test_unless_turns_a_push_off(situation):
    found = pushes([rule("r", ["json_schema"], "sglang", 1, unless=["many_users"])], situation)
    assert found[0].holds is False


def test_two_pushes_that_disagree_are_a_conflict_settled_by_precedence(situation):
    found = pushes(
        [rule("a", ["json_schema"], "sglang", 5), rule("b", ["many_users"], "vllm", 3)], situation
    )
    shown = conflicts(found, {"sglang", "vllm"})
    assert [(c.rules, c.engines, c.settled) for c in shown] == [
        (("a", "b"), ("sglang", "vllm"), True)
    ]


def test_equal_precedence_is_not_settled(situation):
    found = pushes(
        [rule("a", ["json_schema"], "sglang", 5), rule("b", ["many_users"], "vllm", 5)], situation
    )
    assert conflicts(found, {"sglang", "vllm"})[0].settled is False


def test_a_default_never_conflicts_and_the_eliminated_do_not_argue(situation):
    found = pushes(
        [
            rule("a", ["json_schema"], "sglang", 5),
            rule("b", ["many_users"], "vllm", 3, default=True),
            rule("c", ["many_users"], "max", 2),
        ],
        situation,
    )
    assert conflicts(found, {"sglang", "vllm"}) == []
    assert favourite(found[2], {"sglang"}) is None


@pytest.mark.parametrize(
    ("needed", "has", "met"),
    [
        (False, None, True), (True, True, True), (True, False, False), (True, None, None),
        (None, True, True), (None, False, None), (None, None, None),
    ],
)  # fmt: skip
def test_a_need_is_met_missed_or_unknown(needed, has, met):
    need = Need(feature="json_schema", needed=needed, text="t", evidence="assumed")
    assert meets(has, need) is met


def test_a_seller_without_schemas_is_out_where_they_are_needed(facts, changed):
    """DeepSeek's own API has a JSON mode without a schema; other sellers of the model take one."""
    scenario = changed(
        "json-chat", model__id="deepseek-ai/DeepSeek-V4-Flash",
        model__artifacts=[], candidates__sellers="any", workload__sampling_preset="",
        candidates__stated_budget=None,
    )  # fmt: skip
    found = {c.seller: c for c in decide(scenario, facts).candidates if c.seller}
    assert found["DeepSeek"].status == "eliminated"
    assert found["DeepSeek"].question == "workload shape"
    assert "enforce a JSON schema" in found["DeepSeek"].reason
    assert found["Fireworks"].status == "viable"


def test_a_push_toward_buying_meets_a_push_toward_serving(facts, changed):
    """Nobody awake and a low volume against replies as JSON: shown, and settled by money."""
    decision = decide(changed("json-chat", workload__volume_pattern="spiky"), facts)
    assert [(c.rules, c.engines, c.settled) for c in decision.conflicts] == [
        (("low-volume-no-rotation", "json-schema"), ("managed", "sglang"), True)
    ]
    assert "money" in decision.conflicts[0].resolution


def test_no_seller_left_is_no_conflict(facts, changed):
    decision = decide(
        changed("json-chat", workload__volume_pattern="spiky", constraints__data_may_leave=False),
        facts,
    )
    assert decision.conflicts == []
