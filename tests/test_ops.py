"""People: duties by name, nobody or not known; thin cover said, three nobodies veto."""

import pytest

from stackchoice.ops import duties, ops, people
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
