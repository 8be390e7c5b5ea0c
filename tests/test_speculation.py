"""Draft tokens: accepted length over the cost of a longer step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.fit.speculation import accepted_length, speculative_speedup


def test_two_drafts_on_the_gh200_gained_1_78():
    """63.1 tokens/s without and 112.0 with two drafts, reported; acceptance not stated."""
    gain = speculative_speedup("dense", 2)
    assert gain.low < 112.0 / 63.1 < gain.high
    assert gain.evidence.value == "assumed"


def test_middle_re_derived():
    # 1 + 3 x 0.744 tokens a step at a cost of 0.15 a draft
    assert accepted_length(3, 0.744) == pytest.approx(3.232)
    gain = speculative_speedup("dense", 3, acceptance_rate=0.744)
    assert gain.middle == pytest.approx(3.232 / 1.45)
    assert gain.low == pytest.approx(3.232 / 2.2)


def test_a_mixture_gains_less_and_can_lose():
    dense = speculative_speedup("dense", 3, length=3.44)
    moe = speculative_speedup("moe", 3, length=3.44)
    assert moe.middle < dense.middle
    assert speculative_speedup("moe", 3, length=1.2).high < 1


rates = st.floats(0, 1)
counts = st.integers(1, 8)


@given(counts, rates, rates, st.sampled_from(["dense", "moe"]))
def test_more_accepted_is_never_slower(drafts, a, b, kind):
    low, high = sorted((a, b))
    slow = speculative_speedup(kind, drafts, acceptance_rate=low)
    fast = speculative_speedup(kind, drafts, acceptance_rate=high)
    assert slow.low <= fast.low
    assert slow.middle <= fast.middle
    assert slow.high <= fast.high <= 1 + drafts


@given(counts, rates, st.integers(1, 64), st.integers(0, 200_000))
def test_company_and_depth_never_help(drafts, rate, streams, depth):
    alone = speculative_speedup("dense", drafts, acceptance_rate=rate)
    crowd = speculative_speedup(
        "dense", drafts, acceptance_rate=rate, concurrency=streams, context_tokens=depth
    )
    assert crowd.low <= alone.low
    assert crowd.middle <= alone.middle
