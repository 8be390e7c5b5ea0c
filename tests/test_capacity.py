"""Erlang-C, the cap rule, spares and growth, re-derived and bounded."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackchoice.capacity import (
    carried_per_s,
    erlang_c,
    holds,
    late_probability,
    months_until,
    plan,
    replicas_at_peak,
    replicas_by_rate,
    replicas_by_waiting,
)

loads = st.floats(0.01, 200)


def by_definition(c, a):
    """C as the textbook sum, in exact fractions."""
    a = Fraction(a)
    below = sum(a**n / math.factorial(n) for n in range(c))
    top = a**c / math.factorial(c) * Fraction(c) / (c - a)
    return float(top / (below + top))


@pytest.mark.parametrize(
    ("c", "a", "expected"),
    [
        (1, 0.5, 0.5), (2, 1, 0.333333), (5, 3, 0.236152), (10, 6, 0.101299),
        (12, 6, 0.022474), (16, 6, 0.000535),
    ],
)  # fmt: skip
def test_published_erlang_values(c, a, expected):
    assert erlang_c(c, a) == pytest.approx(expected, abs=5e-7)
    assert erlang_c(c, a) == pytest.approx(by_definition(c, a), rel=1e-12)


def test_published_replicas_for_ten_slots():
    """P(wait > 1 s) <= 1 % with ten slots a replica and 6.5 s in service."""
    found = [replicas_by_waiting(a / 6.5, 6.5, 10, 1, 0.01) for a in (6, 30, 60, 100)]
    assert found == [2, 5, 8, 12]


def test_single_server_waits_as_often_as_it_is_busy():
    assert erlang_c(1, 0.3) == pytest.approx(0.3)


@pytest.mark.parametrize(("c", "a"), [(100_000, 99_500), (3_000, 10), (50_000, 1e-9)])
def test_large_systems_neither_overflow_nor_leave_0_to_1(c, a):
    assert 0 <= erlang_c(c, a) < 1


def test_a_large_system_agrees_with_halfin_and_whitt():
    """At c = a + b sqrt(a), C tends to 1 / (1 + b Phi(b) / phi(b))."""
    a, b = 40_000, 1.0
    phi = math.exp(-b * b / 2) / math.sqrt(2 * math.pi)
    big = (1 + math.erf(b / math.sqrt(2))) / 2
    assert erlang_c(round(a + b * math.sqrt(a)), a) == pytest.approx(
        1 / (1 + b * big / phi), rel=0.01
    )


def test_a_hundred_million_slots_are_no_hundred_million_steps():
    """By Halfin and Whitt ``c - a = b sqrt(a)``, b of C(b) e^(-b sqrt(a) t / s) = 1 %."""
    a = 1e8
    found = replicas_by_waiting(a / 10, 10, 1, 1, 0.01)
    assert 0 < found - a < 0.01 * math.sqrt(a)
    assert late_probability(found, a, 10, 1) <= 0.01 < late_probability(found - 1, a, 10, 1)


def test_too_much_load_always_waits():
    assert erlang_c(4, 4) == erlang_c(4, 9) == 1
    assert late_probability(4, 9, 1, 100) == 1


@pytest.mark.parametrize(("c", "a"), [(0, 1), (-1, 1), (2, -1), (2, math.inf), (2, math.nan)])
def test_what_cannot_be_is_refused(c, a):
    with pytest.raises(ValueError, match="at least one"):
        erlang_c(c, a)


@given(st.integers(1, 200), loads)
def test_more_servers_wait_less(c, a):
    assert erlang_c(c + 1, a) <= erlang_c(c, a) + 1e-12


@given(st.integers(1, 200), loads, loads)
def test_more_load_waits_more(c, a, b):
    low, high = sorted((a, b))
    assert erlang_c(c, low) <= erlang_c(c, high) + 1e-12


@given(st.integers(1, 300), loads, st.floats(0, 30), st.floats(1e-4, 0.5))
def test_the_quick_bound_never_passes_what_the_recursion_refuses(c, a, wait, tail):
    exact = a < c and late_probability(c, a, 5.0, wait) <= tail
    assert holds(c, a, 5.0, wait, tail) == exact


@settings(max_examples=60)
@given(st.floats(0.01, 50), st.floats(1.0, 3.0), st.integers(1, 64), st.integers(0, 3))
def test_more_load_never_takes_fewer_replicas(peak, more, slots, spares):
    def total(rate):
        return plan(
            peak_per_s=rate, replica_per_s=slots / 6.5, service_s=6.5, slots=slots, cap=0.7,
            wait_s=1, tail=0.01, spares=spares,
        ).total  # fmt: skip

    assert total(peak) <= total(peak * more)
    assert total(peak) >= 1 + spares


@settings(max_examples=60)
@given(st.floats(0.01, 50), st.integers(1, 64))
def test_a_plan_keeps_both_rules_and_one_fewer_breaks_one(peak, slots):
    found = plan(
        peak_per_s=peak, replica_per_s=slots / 6.5, service_s=6.5, slots=slots, cap=0.7, wait_s=1,
        tail=0.01,
    )  # fmt: skip
    assert found.late_probability <= 0.01 + 1e-12
    assert peak <= found.replicas * slots / 6.5 * 0.7 * (1 + 1e-6)
    assert found.replicas == max(found.by_rate, found.by_waiting)
    assert found.replicas == replicas_at_peak(
        peak_per_s=peak, replica_per_s=slots / 6.5, service_s=6.5, slots=slots, cap=0.7, wait_s=1,
        tail=0.01,
    )  # fmt: skip
    fewer = found.by_waiting - 1
    if fewer:
        assert not holds(fewer * slots, peak * 6.5, 6.5, 1, 0.01)


def test_the_cap_rule():
    assert replicas_by_rate(1.4, 1.0, 0.7) == 2
    assert replicas_by_rate(1.41, 1.0, 0.7) == 3
    assert replicas_by_rate(0.0, 1.0, 0.7) == 1


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 40))
def test_what_is_carried_is_the_largest_that_its_replicas_plan_for(replicas, slots):
    each = {"replica_per_s": slots / 5, "service_s": 5.0, "slots": slots, "cap": 0.7, "wait_s": 1.0,
            "tail": 0.01}  # fmt: skip
    top = carried_per_s(replicas, **each)
    assert replicas_at_peak(peak_per_s=top * 0.999, **each) <= replicas
    assert replicas_at_peak(peak_per_s=top * 1.01, **each) > replicas


@pytest.mark.parametrize(
    ("now", "top", "growth", "months"),
    [
        (1, 2, 1.0, 1.0), (1, 1.21, 0.1, 2.0), (2, 1, 0.1, 0.0), (1, 2, 0.0, None),
        (1, 2, -0.1, None), (0, 2, 0.1, None),
    ],
)  # fmt: skip
def test_the_month_in_which_growth_outgrows_it(now, top, growth, months):
    assert months_until(now, top, growth) == (months and pytest.approx(months))
