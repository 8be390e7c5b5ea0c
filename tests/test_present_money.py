"""Question 3 and cost on a page: numbers with their class, texts escaped, never as a word."""

from datetime import date

import pytest

from stackchoice import decide, load_scenario
from stackchoice.errors import InputError
from stackchoice.facts import Evidence
from stackchoice.present.curves import volume_chart
from stackchoice.present.money import money_tables, with_work
from stackchoice.present.money_panel import ASKED, MoneyPanel
from stackchoice.present.report import Report
from stackchoice.present.text import price, times

PARTS = ("team", "asks", "bills", "evens", "prices", "board")
DAY = date(2026, 11, 29)


def page(decision, facts, *parts):
    return money_tables(decision, facts, *parts, today=DAY).html


def test_every_line_of_every_bill_is_on_the_page(decision, facts):
    html = page(decision, facts, "bills")
    for line in decision.cost.lines:
        for item in line.bill:
            assert item.item in html
            assert f"{item.usd:,.2f} USD" in html
            assert f'badge-{item.evidence.value}">' in html
        assert f"{line.total_usd:,.2f} USD" in html


def test_a_review_board_finds_its_questions(decision, facts):
    html = page(decision, facts, *PARTS)
    for words in (
        "When the one card dies", "How to leave again", "measures again when the engine",
        "One name, different products", "smallest change", "pays for its people",
    ):  # fmt: skip
        assert words in html
    assert "never" in html
    assert html.count("<table") >= 10


def test_nobody_owns_the_re_test_where_nobody_upgrades(changed, facts):
    html = page(decide(changed("json-chat", team__upgrades="nobody"), facts), facts, "team")
    assert "nobody who upgrades is named" in html


def test_what_people_wrote_is_escaped(changed, facts):
    quote = {"value": 2, "from": "<script>alert(1)</script>"}
    html = page(decide(changed("json-chat", money__usd_per_device_hour=quote), facts), facts,
                "bills", "team")  # fmt: skip
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_an_old_price_is_flagged(decision, facts):
    late = money_tables(decision, facts, "prices", today=date(2028, 1, 1)).html
    assert '<strong class="old">old</strong>' in late
    assert '<strong class="old">old</strong>' not in page(decision, facts, "prices")


def test_the_picture_of_the_volume_says_never_or_where(decision, facts, changed):
    chart, spoken = volume_chart(decision.cost)
    assert spoken.count("never (assumed)") == 4, "owned and rented, at both ends"
    assert "never cross" in str(chart.spec["datasets"])
    near = changed(
        "json-chat", candidates__sellers=["cerebras"], workload__users=700,
        workload__output_tokens=100, team__ops_fte_rented=0, team__ops_fte_managed=1,
    )  # fmt: skip
    chart, spoken = volume_chart(decide(near, facts).cost)
    assert "M tokens a month (assumed)" in spoken
    assert "crosses" in str(chart.spec["datasets"])


def test_without_a_volume_the_picture_says_so(changed, facts):
    cost = decide(changed("json-chat", workload__users="not known"), facts).cost
    chart, spoken = volume_chart(cost)
    assert "Not drawn" in spoken
    assert chart.spec["datasets"] == {"rows": [], "marks": []}


def test_the_report_shows_the_same(decision, facts):
    report = Report(load_scenario("json-chat"), facts, decision, DAY)
    assert "1,472.94 USD" in report.section("cost").html
    assert "lead" in report.section("people").html


def test_a_panel_starts_as_the_scenario_and_moves_like_the_file(decision, facts, changed):
    panel = MoneyPanel(load_scenario("json-chat"), facts)
    assert panel.decision == decision
    assert set(panel.values) == set(ASKED)
    panel.fields["money.server_usd"].value = "24000"
    panel.fields["money.rented_hours"].value = "active hours"
    assert panel.error == ""
    same = changed("json-chat", money__server_usd=24_000, money__rented_hours="active hours")
    found, wanted = panel.decision.cost.lines, decide(same, facts).cost.lines
    assert [line.total_usd for line in found] == [line.total_usd for line in wanted]
    quoted = next(line for line in found if line.path == "owned").bill[0]
    assert quoted.evidence is Evidence.ASSUMED
    before = panel.decision
    panel.set("team.ops_fte_owned", "-1")
    assert "-1" in panel.error
    assert panel.decision == before
    with pytest.raises(InputError, match="no field"):
        panel.set("x", "1")


def test_more_work_for_the_chosen_engine_or_none(decision, facts, changed):
    busier = with_work(load_scenario("json-chat"), decision, facts, 2.0)
    assert busier.team.engine_work == {"sglang": 2.0}
    none = changed("json-chat", candidates__machines=[])
    assert with_work(none, decide(none, facts), facts, 2.0) == none


def test_prices_and_gains_in_words():
    from decimal import Decimal

    assert [price(Decimal(p)) for p in ("0.42", "3.00", "18000.0", "2.224977950")] == [
        "0.42", "3", "18,000", "2.225",
    ]  # fmt: skip
    assert [times(gain) for gain in (None, 0.0, 0.1)] == ["never", "any gain", "1.1 times"]
