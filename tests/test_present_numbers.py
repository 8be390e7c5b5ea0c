"""Every number keeps its class and every source is named once."""

from itertools import pairwise

from stackchoice import decide, load_scenario
from stackchoice.present.numbers import by_class, numbers
from stackchoice.present.sources import sources
from stackchoice.present.tables import compare, decision_table
from stackchoice.present.text import CLASSES, UNKNOWN


def test_every_number_stands_in_exactly_one_class(decision, facts):
    shown = numbers(decision, facts)
    groups = by_class(shown)
    assert [*CLASSES, UNKNOWN] == list(groups)
    assert len(shown) == sum(len(rows) for rows in groups.values())
    assert groups["measured"] == []


def test_unknown_values_are_listed_as_unknown(decision, facts):
    groups = by_class(numbers(decision, facts))
    assert all(row.value == UNKNOWN for row in groups[UNKNOWN])
    assert all(row.value != UNKNOWN for name in CLASSES for row in groups[name])
    assert "shared prefix (tokens)" in [row.what for row in groups[UNKNOWN]]


def test_reported_numbers_name_source_and_date(decision, facts):
    reported = by_class(numbers(decision, facts))["reported"]
    assert "79.2 GiB" in [row.value for row in reported]
    assert all(row.source and row.as_of for row in reported)


def test_only_the_price_that_was_taken_counts_as_evidence(decision, facts):
    prices = [row.what for row in numbers(decision, facts) if "price" in row.what]
    assert prices == ["input price, Novita", "output price, Novita"]


def test_sources_are_named_once_newest_first(facts):
    found = sources(load_scenario("json-chat"), facts)
    keys = [(s.url, s.title, s.as_of) for s in found]
    assert len(set(keys)) == len(keys)
    assert all(newer.as_of >= older.as_of for newer, older in pairwise(found))
    machine = facts.machines["h100_sxm"].memory_gib_reported.source
    assert machine in found
    assert facts.machines["m4_max_128"].memory_gb.source not in found


def test_a_comparison_shows_each_option_once_for_each_situation(facts):
    scenarios = {name: load_scenario(name) for name in ("json-chat", "apple-one-user")}
    html = compare(scenarios, facts).html
    decisions = [decide(scenario, facts) for scenario in scenarios.values()]
    assert html.count('class="status ') == sum(len(d.options) for d in decisions)
    assert all(o.reason.split(";")[0] in html for d in decisions for o in d.options)


def test_a_decision_in_a_notebook_holds_verdict_options_and_picture(decision):
    html = decision_table(decision).html
    assert decision.verdict in html
    assert all(option.name in html for option in decision.options)
    assert html.count("<figure") == 1
