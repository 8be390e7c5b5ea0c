"""A decision's plan carried out: the numbers of made passports against its limits."""

import pytest

from stackchoice import decide, load_scenario
from stackchoice.carried_out import carried_out
from stackchoice.choose.carried import Limit
from stackchoice.confirm import Passport
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.passport import Protocol, Validity
from stackchoice.confirm.results import Results
from stackchoice.facts import Evidence
from stackchoice.load.records import Spread
from stackchoice.read.log_against import Compared

DECODE = Limit(figure="decode_tokens_per_s", measure="decode", unit="tokens/s", pass_at_least=20,
               fail_below=20, predicted=(20, 50), evidence=Evidence.INFERRED,
               derived_from="t")  # fmt: skip
RATE = Limit(figure="requests_per_s", at_once=8, measure="rate", unit="requests/s",
             pass_at_least=2, fail_below=2, predicted=(2, 4), evidence=Evidence.INFERRED,
             derived_from="t")  # fmt: skip
ERRORS = Limit(figure="error_share", measure="errors", unit="share", pass_at_most=0.01,
               fail_above=0.01, evidence=Evidence.ASSUMED, derived_from="t")  # fmt: skip
TAIL = Limit(figure="ttft_p99_s", measure="ttft", unit="s", pass_at_most=2, fail_above=2,
             evidence=Evidence.STATED, derived_from="t")  # fmt: skip


@pytest.fixture(scope="module")
def decision(facts):
    return decide(load_scenario("internal-api"), facts)


def with_limits(decision, *limits):
    plan = decision.plan.model_copy(update={"limits": list(limits)})
    return decision.model_copy(update={"plan": plan})


def run(*, streams=1, decode=30.0, rate=3.0, errors=0, requests=1000, ttft=None, **validity):
    return Passport(
        arm="arm", identity=Identity(), protocol=Protocol(concurrency=streams),
        validity=Validity(**{"valid": True, **validity}),
        results=Results(
            requests=requests, errors=errors, requests_per_s=rate, ttft_s=ttft,
            decode_tokens_per_s=Spread(n=5, median=decode, low=decode, high=decode),
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "outcome", "stands", "refuted"),
    [
        (30.0, "confirmed", "stands", False),
        (10.0, "refuted", "does not stand", True),
        (90.0, "refuted", "stands", True),  # to the team's advantage
    ],
)
def test_a_rate_against_its_interval(decision, facts, rate, outcome, stands, refuted):
    found = carried_out(with_limits(decision, DECODE), [run(decode=rate)], facts)
    assert found.numbers[0].outcome == outcome
    assert (found.stands, found.refuted) == (stands, refuted)


def test_a_wide_interval_confirms_nothing(decision, facts):
    wide = DECODE.model_copy(update={"predicted": (20.0, 200.0)})
    found = carried_out(with_limits(decision, wide), [run()], facts)
    assert found.numbers[0].outcome == "not informative"
    assert found.stands == "stands so far"


def test_a_number_counts_only_under_its_own_load(decision, facts):
    planned = with_limits(decision, DECODE, RATE)
    alone = carried_out(planned, [run()], facts)
    assert [n.outcome for n in alone.numbers] == ["confirmed", "not measured"]
    assert "8 streams" in alone.numbers[1].why
    both = carried_out(planned, [run(), run(streams=8, decode=1.0)], facts)
    assert [n.outcome for n in both.numbers] == ["confirmed", "confirmed"]
    assert both.stands == "stands"


@pytest.mark.parametrize(
    ("errors", "requests", "outcome"),
    [
        (0, 1000, "confirmed"), (50, 1000, "refuted"), (0, 5, "not informative"),
        (1, 5, "not informative"), (3, 5, "refuted"),
    ],
)  # fmt: skip
def test_few_requests_tell_no_small_share(decision, facts, errors, requests, outcome):
    passport = run(errors=errors, requests=requests)
    found = carried_out(with_limits(decision, ERRORS), [passport], facts)
    assert found.numbers[0].outcome == outcome


def test_a_p99_without_samples_is_refuted_by_the_median_only(decision, facts):
    planned = with_limits(decision, TAIL)
    slow, quick = (Spread(n=5, median=m, low=m, high=m) for m in (3.0, 1.0))
    assert carried_out(planned, [run(ttft=slow)], facts).numbers[0].outcome == "refuted"
    assert carried_out(planned, [run(ttft=quick)], facts).numbers[0].outcome == "not informative"
    enough = quick.model_copy(update={"n": 700, "p99": 1.5})
    assert carried_out(planned, [run(ttft=enough)], facts).numbers[0].outcome == "confirmed"


def test_an_unusable_run_decides_nothing_and_a_hold_decides_against(decision, facts):
    planned = with_limits(decision, DECODE)
    bad = run(valid=False, reasons=("the machine was busy",))
    found = carried_out(planned, [bad], facts)
    assert (found.stands, found.refuted) == ("not decided", False)
    assert found.numbers[0].outcome == "not measured"
    held = carried_out(planned, [run(hold=("canary capital failed",))], facts)
    assert (held.stands, held.refuted) == ("does not stand", True)


def test_another_kernel_or_another_model_is_no_confirmation(decision, facts):
    planned = with_limits(decision, DECODE)
    other = Compared(part="linear", outcome="refuted", predicted="a", found="b", reason="differs")
    found = carried_out(planned, [run()], facts, [other])
    assert (found.stands, found.refuted) == ("not decided", True)
    ids = [m for m in facts.models if m != decision.fit.model]
    elsewhere = run().model_copy(update={"identity": Identity(model=ids[0])})
    assert carried_out(planned, [elsewhere], facts).stands == "not decided"


def test_every_limit_of_a_shipped_decision_names_its_figure(facts):
    for name in ("json-chat", "internal-api", "shared-prefix"):
        plan = decide(load_scenario(name), facts).plan
        assert all(limit.figure for limit in plan.limits)
