"""Values in words: units named, unknown said, nothing called old too early."""

from datetime import date

import pytest

from stackchoice.present.text import (
    age_mark,
    both_units,
    canary,
    interval,
    number,
    share,
    usd,
    volume,
)
from stackchoice.scenario.words import label

FUTURE = "dated in the future"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(None), "unknown"),
        (number(True), "yes"),
        (number(59.541), "59.5"),
        (number(18385.6, "tokens/s"), "18,386 tokens/s"),
        (number(0), "0"),
        (usd(None), "unknown"),
        (usd(2.213), "2.21 USD"),
        (usd(1473.4), "1,473 USD"),
        (both_units(2**30), "1.07 GB = 1.00 GiB"),
        (interval(None), "unknown"),
        (volume(None), "never"),
        (volume(3275.2), "3,275 M tokens a month"),
        (volume(0.396), "0.396 M tokens a month"),
        (label("workload.peak_factor"), "peak over mean (factor)"),
        (label("assumed.ops_fte_owned"), "operations work, owned (engineers)"),
        (label("workload.input_distribution"), "input distribution"),
        (canary("needle-10%"), "needle-10%: finds a number in a long text"),
        (canary("one of my own"), "one of my own"),
        (canary("exact-price"), "exact-price"),
    ],
)
def test_values_are_put_into_words(shown, expected):
    assert expected == shown


@pytest.mark.parametrize(
    ("as_of", "mark"),
    [
        ("2024", "old"), ("2025", ""), ("2025-10", "old"), ("2025-11", ""), ("2025-11-28", "old"),
        ("2025-11-29", ""), ("2026", ""), ("2026-11-29", ""), ("2026-11-30", FUTURE),
        ("2026-12", FUTURE), ("2027", FUTURE),
    ],
)  # fmt: skip
def test_a_fact_is_old_after_a_year_and_a_date_to_come_is_said(as_of, mark):
    assert age_mark(as_of, date(2026, 11, 29)) == mark


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "unknown"), (0, "0%"), (0.0001, "under 1%"), (0.47, "47%"), (0.9996, "over 99%"),
     (1, "100%")],
)  # fmt: skip
def test_a_share_of_some_is_not_told_as_none_nor_nearly_all_as_all(value, said):
    assert share(value) == said
