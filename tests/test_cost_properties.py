"""What holds for every cost, whatever the numbers."""

from decimal import Decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from stackchoice.cost import Volume, break_even, crossover, metered_usd
from stackchoice.cost.breakeven import gain_that_pays, saved_usd
from stackchoice.cost.hybrid import best_base, hybrid_usd, load_profile
from stackchoice.cost.machines import annuity, owned, rent, stepped_hours
from stackchoice.cost.tokens import banded, charges
from stackchoice.facts import Evidence, Source
from stackchoice.facts.prices import TokenPrice

SOURCE = Source(url="https://example.org", as_of="2026-01-01")
money = st.decimals(0, 100_000, places=2)
some_money = st.decimals("0.01", 100_000, places=2)
price = st.decimals("0.01", 50, places=2)
capacity = st.floats(1, 1e5)
share = st.decimals(0, 1, places=3)


def even(fixed, replica, p, cap):
    return break_even(
        against="x", fixed_usd=fixed, replica_usd=replica, managed_usd_per_mtok=p,
        capacity_mtok=cap, with_people=True, evidence=Evidence.ASSUMED,
    )  # fmt: skip


@given(money, money, price, capacity)
def test_never_exactly_when_a_replica_costs_what_it_replaces_or_more(fixed, replica, p, cap):
    found = even(fixed, replica, p, cap)
    worth = p * Decimal(str(cap))
    assert (found.mtok_per_month is None) == (worth <= replica)
    assert (found.change is None) == (found.mtok_per_month is not None)
    if found.change is not None:
        assert found.change.factor >= 1


@given(money, some_money, price, capacity)
def test_just_past_the_smallest_change_there_is_a_volume(fixed, replica, p, cap):
    found = even(fixed, replica, p, cap)
    assume(found.change is not None)
    more = Decimal("1.000001")
    assert even(fixed, replica, found.change.usd_per_mtok * more, cap).change is None
    assert even(fixed, found.change.replica_usd / more, p, cap).change is None
    assert even(fixed, replica, p, found.change.capacity_mtok * 1.000001).change is None


@given(money, some_money, price)
def test_a_replica_that_carries_nothing_is_never_and_needs_no_factor(fixed, replica, p):
    found = even(fixed, replica, p, 0.0)
    assert (found.mtok_per_month, found.change) == (None, None)
    assert found.reason.startswith("never")


@given(st.decimals(0, 1000, places=3), st.lists(share, max_size=4))
def test_graduated_discounts_never_raise_a_bill_nor_turn_it_negative(mtok, shares):
    bands = [(Decimal(100 * i), off) for i, off in enumerate(sorted(shares))]
    found = banded(mtok * 2, mtok, bands)
    assert 0 <= found <= mtok * 2
    assert banded(float(mtok) * 2, float(mtok), [(float(a), float(b)) for a, b in bands]) >= 0


@given(money, money, price, capacity)
def test_at_break_even_serving_yourself_costs_no_more_and_fits_its_replicas(fixed, replica, p, cap):
    found = even(fixed, replica, p, cap)
    if found.mtok_per_month is None:
        return
    own = fixed + found.replicas * replica
    assert float(own) <= float(p) * found.mtok_per_month * (1 + 1e-9) + 1e-6
    assert found.mtok_per_month <= found.replicas * cap * (1 + 1e-9)


@given(money, money, price, capacity, money)
def test_no_dearer_input_makes_the_break_even_earlier(fixed, replica, p, cap, more):
    base = crossover(fixed=fixed, replica=replica, usd_per_mtok=p, capacity=Decimal(str(cap)))[0]
    for dearer in ({"fixed": fixed + more}, {"replica": replica + more}):
        moved = {"fixed": fixed, "replica": replica, **dearer}
        later = crossover(usd_per_mtok=p, capacity=Decimal(str(cap)), **moved)[0]
        assert float(later) >= float(base) * (1 - 1e-12)


@given(st.integers(0, 10**12), st.integers(0, 10**10), st.floats(0, 1), st.floats(0, 1))
def test_splitting_input_into_cached_at_the_same_price_changes_nothing(tokens, out, cached, wrote):
    same = TokenPrice(
        starts="2026-01-01", input_usd_per_mtok="0.42", cached_input_usd_per_mtok="0.42",
        cache_write_usd_per_mtok="0.42", output_usd_per_mtok="3", source=SOURCE,
    )  # fmt: skip
    read = int(tokens * cached)
    parts = {"cached_tokens": read, "cache_write_tokens": int((tokens - read) * wrote)}
    month = {"requests": 1, "input_tokens": tokens, "output_tokens": out,
             "evidence": Evidence.ASSUMED}  # fmt: skip
    whole = Volume(**month, cached_tokens=0)
    assert metered_usd(Volume(**month, **parts), same) == metered_usd(whole, same)


def test_what_is_not_cached_does_not_round_below_nothing():
    parts = {"cached_tokens": Decimal("4.000000001"), "written_tokens": Decimal(6)}
    (rest, *_) = charges(input_tokens=Decimal(10), output_tokens=Decimal(1), input_price=Decimal(1),
                         output_price=Decimal(1), **parts)  # fmt: skip
    assert rest[1] == 0


SERVER = {
    "price": some_money, "residual_share": share, "installation": money,
    "server_life_months": st.integers(1, 120), "horizon": st.integers(1, 120),
    "capital_rate_per_year": share, "maintenance_share_per_year": share,
    "kw": st.decimals(0, 100, places=2), "pue": st.decimals(1, 3, places=2),
    "usd_per_kwh": share, "hours_per_month": st.integers(1, 744),
    "hosting_usd_per_kw_month": st.decimals(0, 1000, places=1), "facilities": money,
}  # fmt: skip
#: What lowers a bill when it rises: a better resale, a longer life; a later close lowers the book.
RELIEF = {"residual_share", "server_life_months", "horizon"}


@given(st.fixed_dictionaries(SERVER), st.sampled_from(sorted(set(SERVER) - RELIEF)), st.booleans())
def test_no_owned_cost_falls_when_a_cost_input_rises(server, name, level):
    before = sum(owned(**server, level=level).values())
    after = sum(owned(**{**server, name: server[name] * 2}, level=level).values())
    assert after >= before * (1 - Decimal("1e-20"))


@given(some_money, share, st.integers(1, 120), st.decimals(0, "0.05", places=4))
def test_an_annuity_pays_back_at_least_what_was_lost(outlay, left, months, rate):
    residual = outlay * left
    paid = annuity(outlay=outlay, residual=residual, rate_per_month=rate, months=months)
    assert paid * months >= (outlay - residual) * (1 - Decimal("1e-12"))


@given(st.integers(1, 64), st.integers(1, 8), price, st.integers(1, 730), share)
def test_rent_is_for_whole_units_and_never_falls(devices, unit, usd, hours, discount):
    def bill(**moved):
        given_ = {"devices": devices, "devices_per_unit": unit, "usd_per_device_hour": usd,
                  "hours": hours, "discount": discount, **moved}  # fmt: skip
        return rent(**given_)

    assert bill() >= devices * usd * hours * (1 - discount)
    for moved in ({"devices": devices + 1}, {"usd_per_device_hour": usd * 2}, {"hours": hours + 1}):
        assert bill(**moved) >= bill()


@given(st.integers(0, 10**6), st.integers(1, 500), st.integers(0, 900), st.integers(1, 3600))
def test_billed_hours_are_at_least_the_busy_ones(busy, starts, boot, step):
    hours = stepped_hours(busy_s=Decimal(busy), starts=starts, boot_s=boot, step_s=step)
    assert round(hours * 3600, 6) >= starts * (busy + boot)
    assert round(hours * 3600, 6) < starts * (busy + boot + step)


@given(st.floats(0.01, 1e5), st.floats(1, 20), st.integers(1, 200), st.floats(0.001, 100),
       st.floats(0, 1e4), st.floats(0.01, 10), st.floats(0, 1e4), st.floats(0, 1e4))  # fmt: skip
def test_a_hybrid_with_no_base_is_the_managed_path(mtok, peak, hours, cap, b, p, fixed, base_fixed):
    profile = load_profile(mtok, peak, hours)
    shared = {"profile": profile, "capacity": cap, "replica_usd": b, "usd_per_mtok": p,
              "base_fixed": base_fixed}  # fmt: skip
    managed = fixed + p * sum(profile)
    assert abs(hybrid_usd(replicas=0, managed_fixed=fixed, **shared) - managed) <= 1e-9 * managed
    best = best_base(most=50, **shared)
    cheapest = min(hybrid_usd(replicas=n, **shared) for n in range(51))
    assert hybrid_usd(replicas=best, **shared) <= cheapest * (1 + 1e-9) + 1e-9


@given(some_money, st.decimals("0.001", 3, places=3), st.decimals(1, 30_000, places=2))
def test_at_the_gain_that_pays_what_is_saved_is_what_people_cost(machines, fte, salary):
    gain = gain_that_pays(machines, fte, salary)
    if gain.is_infinite():
        assert fte * salary >= machines
    else:
        assert abs(saved_usd(machines, gain) - fte * salary) <= fte * salary * Decimal("1e-9")
