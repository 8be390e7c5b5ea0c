"""A scenario's paths in money: bills add up, terms are matched, turns are true."""

import socket
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from stackchoice import decide, load_facts, load_scenario
from stackchoice.choose.answer import answer
from stackchoice.choose.buying import purchase, servers_for
from stackchoice.choose.case import Case
from stackchoice.choose.decide import likely_case
from stackchoice.choose.money import break_evens, compare, path_lines, volume
from stackchoice.cost.breakeven import crossover
from stackchoice.errors import ScenarioError
from stackchoice.facts import Evidence, Source
from stackchoice.facts.load import data_dir
from stackchoice.facts.prices import HourPrice
from stackchoice.facts.records import Upkeep
from stackchoice.prices import quotes
from stackchoice.scenario import Known, Point, likely_point

SCENARIOS = sorted(path.stem for path in (data_dir() / "scenarios").glob("*.yaml"))
#: Tokens dear enough, and people few enough, for a card to be worth thinking about.
NEAR = {
    "candidates__sellers": ["groq"], "workload__users": 700, "team__ops_fte_owned": 0.02,
}  # fmt: skip


@pytest.fixture(scope="module")
def bill(changed, facts):
    """Return the cost of the worked case with some values replaced."""

    def build(name="json-chat", base=None, **by_path):
        return decide(changed(name, **by_path), base or facts).cost

    return build


def usd(cost, path, field="infrastructure_usd"):
    found = {line.path: getattr(line, field) for line in cost.lines}[path]
    return None if found is None else float(found)


@pytest.mark.parametrize("name", [n for n in SCENARIOS if n != "this-machine"])
def test_the_lines_of_a_bill_add_up_and_say_how_they_are_known(name, facts):
    cost = decide(load_scenario(name), facts).cost
    for line in cost.lines:
        assert line.bill
        amounts = [item.usd for item in line.bill]
        assert (None in amounts) == (line.total_usd is None)
        if line.total_usd is not None:
            assert float(sum(amounts)) == pytest.approx(float(line.total_usd), abs=1e-12)
        for item in line.bill:
            assert isinstance(item.evidence, Evidence)
            assert item.source or item.note
            if item.quantity is not None and item.unit_usd is not None:
                product = item.quantity * float(item.unit_usd)
                assert float(item.usd) == pytest.approx(product, rel=1e-12)


def test_the_worked_case_keeps_its_figures(bill):
    cost = bill()
    assert usd(cost, "managed") == 260.4384
    assert usd(cost, "owned") == pytest.approx(1674.029448)
    assert usd(cost, "rented") == 1963.70
    assert [round(usd(cost, path, "total_usd"), 2) for path in ("managed", "rented", "owned")] == [
        1472.94, 6397.03, 7215.70,
    ]  # fmt: skip


def test_an_unknown_price_is_an_unknown_line_and_never_zero(bill):
    cost = bill("json-chat", candidates__machines=[{"id": "mi300x"}])
    for path in ("rented", "owned"):
        line = next(line for line in cost.lines if line.path == path)
        assert line.infrastructure_usd is None
        assert line.total_usd is None
        assert "in the fact base" in line.note
    assert cost.break_even == []


def test_only_offers_on_the_scenarios_terms_are_taken(bill, facts):
    assert usd(bill(money__rental_terms=["on demand"]), "rented") == pytest.approx(3.2 * 730)
    spot = HourPrice(
        machine="h100_sxm", seller="s", kind="spot", terms="can be taken away",
        starts="2026-11-28", usd_per_device_hour="0.5",
        source=Source(title="t", as_of="2026-11-28"),
    )  # fmt: skip
    with_spot = facts.model_copy(update={"hours": [*facts.hours, spot]})
    assert usd(bill(base=with_spot), "rented") == 1963.70
    shown = next(
        o for o in bill(base=with_spot).hours if o["kind"] == "spot" and o["seller"] == "s"
    )
    assert not shown["taken"]
    assert usd(bill(base=with_spot, money__rental_terms=["spot"]), "rented") == 365


def test_of_a_listing_only_the_newest_price_counts(bill):
    """Nebius asked 3.85 in September and 4.50 in October."""
    rows = [row for row in bill().hours if row["seller"] == "Nebius"]
    assert [float(row["usd_per_device_hour"]) for row in rows] == [4.5]


def test_whole_units_are_paid(bill):
    aws = next(row for row in bill().hours if row["seller"] == "AWS")
    assert float(aws["usd_per_month"]) == pytest.approx(8 * 6.88 * 730)


def test_active_hours_pay_the_start_too(bill):
    """Ten hours and 300 s to boot, in whole hours since no step is listed: 11 hours x 30 days."""
    cost = bill(money__rented_hours="active hours", workload__active_hours_per_day=10)
    assert usd(cost, "rented") == pytest.approx(2.69 * 330)
    line = next(line for line in cost.lines if line.path == "rented")
    assert "which is assumed" in line.note


def test_a_dedicated_endpoint_bills_its_start_or_not(bill):
    only = {"money__rental_terms": ["dedicated endpoint"], "money__rented_hours": "active hours",
            "workload__active_hours_per_day": 10}  # fmt: skip
    cost = bill(**only)
    # Together bills from running on, Hugging Face while starting too; both by the minute.
    by_seller = {row["seller"]: float(row["usd_per_month"]) for row in cost.hours}
    assert by_seller["Together"] == pytest.approx(3.99 * 10 * 30)
    assert by_seller["Hugging Face"] == pytest.approx(10 * 30 * (10 + 300 / 3600))


def test_quotes_of_ones_own(bill):
    assert usd(bill(money__usd_per_device_hour=2), "rented") == 1460
    assert usd(bill(money__commitment_discount=0.4), "rented") == pytest.approx(1963.7 * 0.6)
    # 330 of 730 hours are less than 60 %: the commitment does not pay, so it is not made
    part = {"money__rented_hours": "active hours", "workload__active_hours_per_day": 10}
    assert usd(bill(money__commitment_discount=0.4, **part), "rented") == pytest.approx(2.69 * 330)
    # depreciation, capital and maintenance move with the price; installation and power do not
    quoted = bill(money__server_usd=24_000)
    half = (24_000 * 0.8 + 3900) / 48 + (27_900 + 4800) / 2 * 0.08 / 12 + 24_000 * 0.05 / 12
    assert usd(quoted, "owned") == pytest.approx(half + 1.15 * (1.54 * 0.1256 * 730 + 196))
    level = bill(money__depreciation="annuity")
    assert usd(level, "owned") == pytest.approx(1096.6666 + 200 + 162.379448 + 225.4, abs=1e-4)


def test_a_quote_makes_unlisted_hardware_a_path(bill):
    cost = bill(candidates__machines=[{"id": "mi300x"}], money__server_usd=20_000,
                money__usd_per_device_hour=2)  # fmt: skip
    assert usd(cost, "rented") == 1460
    # 750 W of board and 450 W of host
    owned = 16_000 / 48 + (20_000 + 4000) / 2 * 0.08 / 12 + 20_000 * 0.05 / 12
    assert usd(cost, "owned") == pytest.approx(owned + 1.2 * (1.54 * 0.1256 * 730 + 196))


@pytest.mark.parametrize(
    ("replicas", "group", "size", "servers"),
    [(1, 1, 1, 1), (3, 1, 1, 3), (3, 1, 8, 1), (3, 3, 8, 2), (2, 8, 8, 2), (1, 16, 8, 2)],
)
def test_a_replica_is_not_spread_over_servers_where_one_holds_it(replicas, group, size, servers):
    assert servers_for(replicas, group, size) == servers


@pytest.mark.parametrize(
    ("count", "group", "servers", "devices"),
    [
        (1, 1, 1, 1),
        (2, 1, 2, 1),  # two at 51,900 beat one of two at 104,900
        (5, 1, 5, 1),  # five at 51,900 beat one of eight at 307,300
        (6, 1, 1, 8),
        (1, 4, 1, 8),  # nothing smaller holds four
        (1, 16, 2, 8),
    ],
)
def test_the_servers_that_cost_least_together_are_bought(count, group, servers, devices, facts,
                                                         changed):  # fmt: skip
    scenario = changed("json-chat", candidates__machines=[{"id": "h100_sxm", "count": 16}])
    case = likely_case(scenario, facts)
    site = answer(case).site
    found = purchase(case, replace(site, devices=group), count)
    assert (found.servers, found.devices) == (servers, devices)


def test_people_and_their_work_are_the_scenarios_to_say(bill):
    assert usd(bill(team__ops_fte_owned=0.5), "owned", "people_usd") == 9000
    heavier = bill(team__engine_work={"sglang": 2})
    assert [usd(heavier, p, "people_usd") for p in ("managed", "rented", "owned")] == [
        900, 7200, 9000,
    ]  # fmt: skip
    line = next(line for line in heavier.lines if line.path == "owned")
    work = next(item for item in line.bill if item.kind == "people")
    assert "x 2" in work.note


def test_work_for_an_engine_nobody_knows_is_an_error(changed, facts):
    with pytest.raises(ScenarioError, match=r"team.engine_work 'sgl'.*known: llama.cpp"):
        decide(changed("json-chat", team__engine_work={"sgl": 2}), facts)


def test_ones_own_row_of_work_wins(facts):
    own = Upkeep(engine="sglang", backend="cuda", work={"value": 3, "evidence": "assumed",
                                                       "note": "ours"})  # fmt: skip
    there = facts.model_copy(update={"upkeep": [*facts.upkeep, own]})
    cost = decide(load_scenario("json-chat"), there).cost
    assert usd(cost, "owned", "people_usd") == 13_500


def test_leaving_what_runs_today_is_on_every_path(bill):
    before, after = bill(), bill(money__switching_usd=4800)
    for path in ("managed", "rented", "owned"):
        more = usd(after, path, "total_usd") - usd(before, path, "total_usd")
        assert more == pytest.approx(100), "4,800 over 48 months"


def test_the_load_never_enters_the_bill_of_a_machine_that_is_always_on(bill):
    quiet, busy = bill(workload__users=20), bill(workload__users=400)
    for path in ("rented", "owned"):
        assert usd(quiet, path) == usd(busy, path)
    assert usd(quiet, "managed") < usd(busy, "managed")


RISES = [
    ("workload__users", 400, "managed"), ("workload__output_tokens", 800, "managed"),
    ("money__usd_per_engineer_month", 20_000, "managed"), ("team__ops_fte_managed", 0.2, "managed"),
    ("money__switching_usd", 1, "managed"), ("money__usd_per_device_hour", 2.7, "rented"),
    ("team__ops_fte_rented", 0.3, "rented"), ("money__usd_per_engineer_month", 20_000, "rented"),
    ("money__server_usd", 50_000, "owned"), ("team__ops_fte_owned", 0.3, "owned"),
    ("team__engine_work", {"sglang": 1.01}, "owned"), ("money__switching_usd", 1, "owned"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "of"), RISES)
def test_no_cost_falls_when_a_cost_input_rises(bill, path, value, of):
    assert usd(bill(**{path: value}), of, "total_usd") > usd(bill(), of, "total_usd")


def test_the_order_of_machines_and_sellers_does_not_matter(bill):
    machines, sellers = [{"id": "h100_sxm"}, {"id": "l40s"}], ["novita", "groq"]
    one = bill(candidates__machines=machines, candidates__sellers=sellers)
    other = bill(candidates__machines=machines[::-1], candidates__sellers=sellers[::-1])
    assert one.lines == other.lines
    assert one.break_even == other.break_even


def test_batch_and_peak_hours_are_billed_where_they_are_said(bill):
    model = {"model__id": "openai/gpt-oss-120b", "model__artifacts": [],
             "candidates__sellers": ["groq"], "candidates__stated_budget": None,
             "workload__sampling_preset": ""}  # fmt: skip
    whole, half = bill(**model), bill(**model, money__batch_share=0.5)
    # 491.52 M in at 0.15 and 18 M out at 0.60; half of it at 0.075 and 0.30
    full = 491.52 * 0.15 + 18 * 0.6
    assert usd(whole, "managed") == pytest.approx(full)
    assert usd(half, "managed") == pytest.approx(full * 0.75)
    waits = [i.item for line in half.lines if line.path == "managed" for i in line.bill]
    assert "input, not cached, batch" in waits


def test_a_turn_is_true(bill):
    """At the value it names, the two paths cost the same."""
    cost = bill(**NEAR)
    turns = {turn.what: turn for turn in cost.turns}
    managed = usd(cost, "managed", "total_usd")
    people = bill(**NEAR, team__ops_fte_rented=turns["operations work, rented"].at)
    assert usd(people, "rented", "total_usd") == pytest.approx(managed, rel=1e-9)
    card = bill(**NEAR, money__server_usd=turns["price of a server"].at)
    assert usd(card, "owned", "total_usd") == pytest.approx(managed, rel=1e-9)
    price = turns["managed price, against owned"]
    tokens, fixed = cost.volume.total_mtok, managed - usd(cost, "managed")
    assert price.at * tokens + fixed == pytest.approx(usd(cost, "owned", "total_usd"), rel=1e-9)


def test_break_evens_alone_are_those_of_the_whole_comparison(facts):
    scenario = load_scenario("json-chat")
    main = answer(likely_case(scenario, facts))
    alone = break_evens(main.case, main.site, main.offer, main.tokens, main.lines)
    assert list(alone) == decide(scenario, facts).cost.break_even
    assert not list(break_evens(main.case, None, main.offer, main.tokens, []))


def test_never_names_the_smallest_change(bill):
    for even in bill().break_even:
        assert even.mtok_per_month is None
        change = even.change
        assert change.factor > 1
        assert even.least_use / even.planned_use == pytest.approx(change.factor)
        volume, _ = crossover(
            fixed=0.0, replica=float(change.replica_usd) * change.factor,
            usd_per_mtok=float(change.usd_per_mtok) * 1.0001, capacity=even.capacity_mtok_per_month,
        )  # fmt: skip
        assert volume < float("inf")


def test_a_hybrid_without_a_base_is_the_managed_path(bill):
    cost = bill()
    assert [plan.replicas for plan in cost.hybrid] == [0, 0]
    for plan in cost.hybrid:
        assert float(plan.usd) == pytest.approx(usd(cost, "managed", "total_usd"), abs=1e-6)


def test_curves_meet_the_bills(bill):
    """A path's curve passes through today's total, and climbs only by whole replicas."""
    cost = bill()
    managed = next(curve for curve in cost.curves if curve.path == "managed")
    (low, start), (high, end) = managed.points[0], managed.points[-1]
    today = start + (end - start) * (cost.volume.total_mtok - low) / (high - low)
    assert today == pytest.approx(usd(cost, "managed", "total_usd"))
    for curve in cost.curves:
        if curve.path != "managed":
            assert curve.points[0][1] == pytest.approx(usd(cost, curve.path, "total_usd"))
            climbs = {(b - a) / usd(cost, curve.path) for (_, a), (_, b) in pairwise(curve.points)}
            assert all(abs(climb - round(climb)) < 1e-9 for climb in climbs)


def test_one_card_dead_and_the_way_out(bill):
    cost = bill()
    spares = {row.path: row for row in cost.redundancy}
    assert float(spares["owned"].extra_usd) == pytest.approx(1674.029448)
    assert "down until" in spares["rented"].without
    exits = {row.path: row for row in cost.exits}
    assert float(exits["owned"].usd) == 9600 + 15_000, "the residual on the books, and the move"
    assert float(exits["managed"].usd) == 40_000


def test_replicas_that_are_there_are_the_spares(changed, facts):
    """At a flat peak 15 of the 16 replicas carry it, even if nothing of a prefix is found again."""
    cost = decide(changed("nvidia-throughput", workload__peak_factor=1.1), facts).cost
    (spare,) = [row for row in cost.redundancy if row.path == "owned"]
    assert spare.extra_usd == 0
    assert "covered" in spare.without


def test_a_stated_spare_is_paid_for_and_carries_nothing(changed, facts, bill):
    """Two replicas in the bill of which one is a spare: the second card is a fixed cost."""
    scenario = changed("json-chat", candidates__machines=[{"id": "h100_sxm", "count": 2}],
                       money__can_fund_devices=2)  # fmt: skip
    point = likely_point(scenario, facts)
    spare = Known(value=1, evidence=Evidence.STATED)
    point = Point(inputs={**point.inputs, "workload.spare_replicas": spare})
    case = Case(scenario, facts, point)
    site = replace(answer(case).site, replicas_needed=(2, 2))
    tokens, offer = volume(case), facts.sellers["novita"].offer("Qwen/Qwen3.8-27B")
    lines = path_lines(case, site, (facts.sellers["novita"], offer), tokens)
    cost = compare(case, site, offer, tokens, lines)
    assert usd(cost, "rented") == 2 * 1963.70
    found = next(e for e in cost.break_even if e.against == "rented, fast end")
    per_mtok = 260.4384 / 509.52
    assert f"replace {2 * 1963.70 / per_mtok:,.0f} M" in found.reason
    covered = next(row for row in cost.redundancy if row.path == "rented")
    assert (covered.spares, covered.extra_usd) == (1, 0)
    curve = next(c for c in cost.curves if c.path == "rented")
    assert curve.points[0][1] == pytest.approx(usd(cost, "rented", "total_usd"))


def test_a_faster_stack_pays_for_its_people_or_never_does(bill):
    rows = {row.engine: row for row in bill().faster}
    general = rows["any stack ten percent faster"]
    assert general.extra_fte == pytest.approx(1963.7 * 0.1 / 1.1 / 18_000)
    assert general.with_whole_replicas is None, "one replica stays one replica"
    assert rows["TensorRT-LLM"].gain is None
    assert rows["TensorRT-LLM"].text.startswith("never")
    assert rows["vLLM"].gain == 0


def test_a_single_user_works_for_nobody(facts):
    assert decide(load_scenario("apple-one-user"), facts).cost.faster == []


def test_hardware_of_many_users_is_never_switched_off(changed, facts):
    there = [{"id": "h100_sxm", "already_owned": True, "count": 2}]
    cost = decide(changed("json-chat", candidates__machines=there), facts).cost
    # two boards of 700 W and one host of 450 W, the building's 1.54, all month
    assert usd(cost, "owned") == pytest.approx((1.4 + 0.45) * 1.54 * 0.1256 * 730)


def test_what_each_engine_asks_stands_with_its_facts(bill):
    asks = {ask.engine: ask for ask in bill().asks}
    assert asks["vLLM"].work.value == 1
    assert all(ask.work.evidence is Evidence.ASSUMED for ask in asks.values())
    assert asks["vLLM"].releases_in_6_months.source is not None


def test_price_lists_that_disagree_are_both_shown(facts):
    found, why = quotes(facts, "meta-llama/Llama-3.3-70B-Instruct", date(2026, 11, 29))
    assert why == ""
    odd = {(q.seller, q.charge): (q.ours, q.theirs) for q in found if q.verdict == "disagree"}
    assert odd[("Together", "input")] == (Decimal("1.04"), Decimal("0.88"))
    copied = [q for q in found if "genai-prices" in q.ours_source and q.ours == q.theirs]
    assert copied
    assert all(q.verdict == "same list" for q in copied), "agreeing with oneself confirms nothing"


def test_an_unknown_offer_has_no_second_price(facts):
    found, why = quotes(facts, "HuggingFaceTB/SmolLM2-135M-Instruct", date(2026, 11, 29))
    assert found == []
    assert "lists none" in why


def test_without_the_package_there_is_a_reason_and_no_price(facts, monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    found, why = quotes(facts, "Qwen/Qwen3.8-27B", date(2026, 11, 29))
    assert (found, "pip install genai-prices" in why) == ([], True)


def test_a_second_price_list_is_read_without_a_network(facts, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("offline")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    assert quotes(facts, "openai/gpt-oss-120b", date(2026, 11, 29))[0]


def test_prices_are_dated_and_named(facts):
    for price in facts.hours:
        assert price.currency == "USD"
        assert price.starts
        assert price.kind in price.terms or price.kind != "spot" or "spot" in price.terms
    for seller in facts.sellers.values():
        for offer in seller.offers:
            assert offer.price.source.label


def test_the_fact_base_loads_from_its_own_folder():
    assert load_facts(Path(data_dir())).upkeep
