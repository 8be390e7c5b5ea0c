"""Values in words: units named, unknown said, nothing called old too early."""

from datetime import date

import pytest

from stackchoice.present.text import both_units, canary, interval, is_old, number, usd, volume
from stackchoice.scenario.words import label


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
        (canary("needle-10"), "needle-10: finds a number in a long text"),
        (canary("one of my own"), "one of my own"),
    ],
)
def test_values_are_put_into_words(shown, expected):
    assert expected == shown


@pytest.mark.parametrize(
    ("as_of", "old"),
    [
        ("2024", True), ("2025", False), ("2025-11", True), ("2025-11-28", True),
        ("2025-11-29", False),
    ],
)  # fmt: skip
def test_a_fact_is_old_after_a_year(as_of, old):
    assert old is is_old(as_of, date(2026, 11, 29))
