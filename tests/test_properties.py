"""Any scenario that the schema allows gets a decision, and every decision keeps its promises."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackchoice import decide, load_facts
from stackchoice.choose import Decision
from stackchoice.scenario import parse_scenario

FACTS = load_facts()
OPTIONS = 11
TINY = 1e-6


def given_as(values, *, ranges=True):
    """An input as people write it: not known, a value, a sourced value, or a range."""
    forms = [
        st.just("not known"),
        values,
        values.map(lambda value: {"value": value, "from": "logs", "answered_by": "Ana"}),
    ]
    if ranges:
        pairs, threes = st.tuples(values, values), st.tuples(values, values, values)
        forms.append(pairs.map(lambda v: dict(zip(("low", "high"), sorted(v), strict=True))))
        forms.append(
            threes.map(lambda v: dict(zip(("low", "value", "high"), sorted(v), strict=True)))
        )
    return st.one_of(*forms)


def floats(low, high):
    usual = st.floats(max(low, min(1.0, high)), min(high, 500.0))
    sums = st.floats(max(low, TINY), high)  # nearer to 0 is refused
    return given_as(st.one_of(st.sampled_from([low, high]), usual, sums))


def integers(low, high):
    return given_as(st.one_of(st.integers(low, min(high, 20_000)), st.integers(low, high)))


def choice(*values):
    return given_as(st.sampled_from(values), ranges=False)


def section(**keys):
    """A section with any of its keys left out."""
    return st.fixed_dictionaries({}, optional=keys)


YES_NO = choice(True, False)
SHARE, TOKENS, SECONDS, USD = (
    floats(0.0, 1.0), integers(0, 10**8), floats(TINY, 86_400.0), floats(0.0, 1e12),
)  # fmt: skip
WHO = st.sampled_from(["nobody", "not known", "Ana"])
WORKLOAD = section(
    purpose=st.sampled_from(["serving", "reference run"]),
    users=floats(TINY, 1e9), requests_per_user_per_day=floats(TINY, 1e9),
    days_per_month=floats(TINY, 31.0), active_hours_per_day=floats(TINY, 24.0),
    peak_factor=floats(1.0, 1e4), volume_pattern=choice("steady", "spiky", "unpredictable"),
    input_tokens=TOKENS, output_tokens=TOKENS, context_tokens=integers(1, 10**8),
    shared_prefix_tokens=TOKENS, turns_per_session=floats(1.0, 1e5), resent_share=SHARE,
    json_schema=YES_NO, tools=YES_NO, images=YES_NO, thinking=YES_NO,
    ttft_p99_s=floats(TINY, 120.0), itl_p99_s=floats(TINY, 10.0), end_to_end_p99_s=SECONDS,
)  # fmt: skip
TEAM = section(
    engineers=floats(0.0, 1e5), ops_share_each=SHARE, upgrades=WHO, watches_p99=WHO,
    awake_at_night=WHO, runtime_engineering=YES_NO, accepts_young_ecosystem=YES_NO,
)  # fmt: skip
MONEY = section(
    can_fund_devices=floats(0.0, 1e6), usd_per_engineer_month=USD,
    horizon_months=floats(TINY, 240.0),
    dominant_cost=st.sampled_from(["throughput", "people", "balanced"]),
)  # fmt: skip
CONSTRAINTS = section(
    data_may_leave=YES_NO,
    regions_allowed=st.lists(st.sampled_from(["EU", "US"]), max_size=2),
    licences_acceptable=st.lists(st.sampled_from(["Apache-2.0", "MIT"]), max_size=2),
)
MACHINE = st.fixed_dictionaries(
    {
        "id": st.sampled_from(sorted(FACTS.machines)),
        "count": st.integers(16, 64),
        "devices_per_replica": st.integers(1, 16),
    },
    optional={"already_owned": st.booleans()},
)
CURRENT = st.fixed_dictionaries(
    {"what": st.just("the old server")}, optional={"usd_per_month": USD, "works": YES_NO}
)


@st.composite
def scenarios(draw):
    """A scenario tree: any model, artifacts, machines and sellers of the fact base."""
    model = FACTS.models[draw(st.sampled_from(sorted(FACTS.models)))]
    some = st.lists(st.sampled_from(sorted(FACTS.sellers)), max_size=3)
    tree = {
        "name": "x",
        "title": "t",
        "model": {
            "id": model.id,
            "artifacts": draw(
                st.lists(st.sampled_from([a.id for a in model.artifacts]), max_size=2, unique=True)
            ),
        },
        "candidates": {
            "machines": draw(st.lists(MACHINE, max_size=2)),
            "sellers": draw(st.one_of(st.just("any"), some)),
        },
        "workload": draw(WORKLOAD),
        "team": draw(TEAM),
        "money": draw(MONEY),
        "constraints": draw(CONSTRAINTS),
    }
    if draw(st.booleans()):
        tree["current"] = draw(CURRENT)
    if model.sampling_presets and draw(st.booleans()):
        tree["workload"]["sampling_preset"] = draw(st.sampled_from(sorted(model.sampling_presets)))
    return tree


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_every_scenario_gets_a_decision_that_keeps_its_promises(tree):
    scenario = parse_scenario(tree)
    decision = decide(scenario, FACTS)

    assert len({option.name for option in decision.options}) == len(decision.options) == OPTIONS
    assert all(option.reason and option.status for option in decision.options)
    chosen = [option.name for option in decision.options if option.status == "chosen"]
    assert chosen == ([decision.recommended] if decision.recommended else [])
    viable = {c.option for c in decision.candidates if c.status == "viable"}
    assert decision.best_self_hosted is None or decision.best_self_hosted in viable

    for even in decision.cost.break_even:
        assert even.mtok_per_month is None or even.mtok_per_month >= 0
    for line in decision.cost.lines:
        assert min(line.people_usd, line.one_time_usd, line.infrastructure_usd or 0) >= 0
    for candidate in decision.candidates:
        assert candidate.live_sequences is None or candidate.live_sequences >= 0

    text = decision.model_dump_json()
    assert Decision.model_validate_json(text) == decision
    json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(AssertionError(name)))
    assert decide(parse_scenario(tree), FACTS) == decision
