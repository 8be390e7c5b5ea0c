"""People: duties by name, nobody or not known; thin cover said, three nobodies veto."""

import pytest

from stackchoice.ops import asks, duties, ops, people, upkeep
from stackchoice.scenario import likely_point


@pytest.fixture
def team(changed, facts):
    def build(name="json-chat", **values):
        scenario = changed(name, **{f"team__{k}": v for k, v in values.items()})
        return scenario, ops(scenario, likely_point(scenario, facts), facts)

    return build


def test_each_duty_has_a_name_nobody_or_not_known(team):
    scenario, _ = team(upgrades="Ana", watches_p99="not known", awake_at_night="Nobody")
    assert [d.status for d in duties(scenario)] == ["named", "not known", "nobody"]


def test_three_nobodies_veto_a_service(team):
    nobody = dict.fromkeys(("upgrades", "watches_p99", "awake_at_night"), "nobody")
    assert team(**nobody)[1].veto is True
    assert team(**{**nobody, "upgrades": "Ana"})[1].veto is False
    assert team("apple-one-user", **nobody)[1].veto is False, "one user needs no rotation"


def test_thin_cover_says_what_is_missing(team):
    _, found = team(engineers=3, ops_share_each=0.05)
    assert found.team_fte == pytest.approx(0.15)
    text = "; ".join(found.thin)
    assert "nobody is awake when it breaks" in text
    assert "3 engineers are fewer" in text
    assert "0.15 of an engineer" in text


def test_an_unknown_share_is_not_guessed(team):
    assert team(ops_share_each="not known")[1].team_fte is None


def test_one_user_at_a_machine_of_their_own_takes_no_people(facts):
    assert people(facts, "owned", one_user=True, already_owned=True).value == 0
    assert people(facts, "managed", one_user=True, already_owned=False).value == 0
    for path in ("owned", "rented"):
        found = people(facts, path, one_user=True, already_owned=False)
        assert found.value == facts.assumed(f"ops_fte_{path}")


def test_what_the_scenario_says_of_people_goes_before_what_is_published(changed, facts):
    scenario = changed("json-chat", team__ops_fte_owned=0.4, team__ops_share_each=0.1)
    point = likely_point(scenario, facts)
    plain = {"one_user": False, "already_owned": False, "point": point}
    assert people(facts, "owned", **plain).value == 0.4
    assert people(facts, "rented", **plain).value == facts.assumed("ops_fte_rented")
    assert "owning is assumed to take 0.4" in "; ".join(ops(scenario, point, facts).thin)


def test_work_scales_the_published_figure_and_its_range(facts, changed):
    scenario = changed("json-chat")
    work = upkeep(scenario, facts, "tensorrt-llm", "cuda")
    found = people(facts, "owned", one_user=False, already_owned=False, work=work)
    base = facts.assumptions["ops_fte_owned"].datum
    assert found.value == base.value * work.value
    assert (found.low, found.high) == (base.low * work.low, base.high * work.high)
    assert people(facts, "managed", one_user=False, already_owned=False, work=work).value == 0.05


def test_a_platform_without_its_own_row_takes_the_engines(facts, changed):
    scenario = changed("json-chat")
    assert upkeep(scenario, facts, "vllm", "cuda").value == 1
    assert upkeep(scenario, facts, "vllm", "rocm").value > 1
    assert upkeep(scenario, facts, "no-such", "cuda").value is None
    own = changed("json-chat", team__engine_work={"vllm": 3})
    assert upkeep(own, facts, "vllm", "rocm").value == 3


def test_only_engines_that_run_there_are_asked(facts, changed):
    found = asks(changed("json-chat"), facts, ["metal", "cuda", "metal"])
    assert {(a.engine, a.platform) for a in found} >= {("MLX-LM", "metal"), ("vLLM", "cuda")}
    assert ("TensorRT-LLM", "metal") not in {(a.engine, a.platform) for a in found}
    assert len(found) == len({(a.engine, a.platform) for a in found})
