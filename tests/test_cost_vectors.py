"""Published results of others and own arithmetic, each worked out again from its inputs."""

import math
from decimal import Decimal

import numpy as np
import pytest

from stackchoice.cost import Volume, crossover, metered_usd
from stackchoice.cost.breakeven import (
    capacity_mtok,
    change_needed,
    fixed_volume,
    fte_that_pays,
    gain_that_pays,
    input_equal,
    payback_months,
    price_equal,
    saved_usd,
    utilisation,
    whole_gain_that_pays,
)
from stackchoice.cost.hybrid import best_base, hybrid_usd, load_profile, slice_usd
from stackchoice.cost.machines import (
    annuity,
    book_value,
    commitment_pays,
    owned,
    rent,
    stepped_hours,
)
from stackchoice.cost.tokens import banded, charge_usd, charges
from stackchoice.facts import Evidence, Source
from stackchoice.facts.prices import TokenPrice

KINDS = [Decimal, float, lambda text: np.array([float(text)] * 3)]
SOURCE = Source(url="https://example.org", as_of="2026-01-01")


def same(found, wanted, **tolerance):
    assert np.asarray(found, dtype=float) == pytest.approx(float(wanted), **tolerance)


def tokens_usd(**month):
    return sum(charge_usd(tokens, price) for _, tokens, price in charges(**month))


@pytest.mark.parametrize("n", KINDS)
class TestVectors:
    """The same figures as bills in Decimal, as floats, and as arrays of draws."""

    def test_capacity_of_a_planned_month(self, n):
        """ConfigIQ's fixture: 100 output tokens/s, 5 tokens in all to one out, 90 %, peak 2."""
        found = capacity_mtok(
            tokens_per_s=n("100") * 5, hours=n("100"), utilisation_cap=n("0.9"), peak_factor=n("2")
        )
        same(found, 100 * 5 * 0.9 * 100 * 3600 / 2 / 1e6)
        same(found, 81)

    def test_first_crossover(self, n):
        """30 + 3 x 100 over 1.40 USD: with two replicas 13.4 each are earned, 30 are needed."""
        volume, replicas = crossover(
            fixed=n("30"), replica=n("100"), usd_per_mtok=n("1.4"), capacity=n("81")
        )
        same(replicas, 3)
        same(volume, 235.714286, abs=5e-7)

    def test_an_owned_server_with_its_people(self, n):
        """Eight A100 over 36 of 48 months: published as 12,397 USD."""
        parts = owned(
            price=n("160000"), residual_share=n("0.2"), installation=n("11200"),
            server_life_months=n("48"), horizon=n("36"), capital_rate_per_year=n("0.08"),
            maintenance_share_per_year=n("0.05"), kw=n("3.65"), pue=n("1.4"),
            usd_per_kwh=n("0.12"), hours_per_month=n("730"), facilities=n("1700"),
        )  # fmt: skip
        people, once = 18000 / 4, 50000 / 36
        total = sum(np.asarray(part, dtype=float) for part in parts.values()) + people + once
        same(total, 12396.5249, abs=5e-5)
        assert round(float(np.max(total))) == 12397

    def test_a_metered_month_with_its_people(self, n):
        """2,000 M in at 0.18 and 500 M out at 0.54, a twentieth of an engineer, 15,000 once."""
        tokens = tokens_usd(input_tokens=n("2e9"), output_tokens=n("5e8"), input_price=n("0.18"),
                            output_price=n("0.54"))  # fmt: skip
        same(np.asarray(tokens, dtype=float) + 18000 / 20 + 15000 / 36, 1946.6667, abs=5e-5)

    def test_requests_that_cost_what_a_machine_does(self, n):
        same(fixed_volume(n("726.48"), n("0.00275")), 264174.5455, abs=5e-5)

    @pytest.mark.parametrize(
        ("tokens_in", "cached", "out", "prices", "usd"),
        [
            ("27147", "27146", "351", ("1.4", "0.26", "4.4"), 0.00860376),
            ("20212", "16298", "931", ("0.5", "0.05", "3"), 0.0055649),
            ("14746", "0", "1944", ("30", "30", "180"), 0.7923),
            ("491520000", "0", "18000000", ("0.42", "0.085", "3"), 260.4384),
            ("491520000", "294912000", "18000000", ("0.42", "0.085", "3"), 161.64288),
        ],
    )
    def test_bills_that_were_published_wrong(self, n, tokens_in, cached, out, prices, usd):
        given, read, written = (n(price) for price in prices)
        found = tokens_usd(
            input_tokens=n(tokens_in), cached_tokens=n(cached), output_tokens=n(out),
            input_price=given, cached_price=read, output_price=written,
        )  # fmt: skip
        same(found, usd, rel=1e-14)

    def test_allocation_against_usage(self, n):
        """Busy share of 1 USD in 4 allocated; at a market price of 2, half of it has to be used."""
        same(utilisation(n("1"), n("4"), n("1")), 0.25)
        same(utilisation(n("1"), n("2"), n("1")), 0.5)

    def test_the_worked_cases_own_card(self, n):
        parts = owned(
            price=n("48000"), residual_share=n("0.2"), installation=n("3900"),
            server_life_months=n("48"), horizon=n("48"), capital_rate_per_year=n("0.08"),
            maintenance_share_per_year=n("0.05"), kw=n("1.15"), pue=n("1.54"),
            usd_per_kwh=n("0.1256"), hours_per_month=n("730"), hosting_usd_per_kw_month=n("196"),
        )  # fmt: skip
        same(parts["depreciation"], (38400 + 3900) / 48)
        same(parts["capital"], (51900 + 9600) / 2 * 0.08 / 12)
        same(sum(np.asarray(p, dtype=float) for p in parts.values()), 1674.029448, rel=1e-12)

    def test_the_annuity_of_the_same_card(self, n):
        found = annuity(outlay=n("51900"), residual=n("9600"), rate_per_month=n("0.08") / 12,
                        months=n("48"))  # fmt: skip
        rate = 0.08 / 12
        factor = rate / ((1 + rate) ** 48 - 1)
        same(found, 51900 * (factor + rate) - 9600 * factor)
        same(found, 1096.6666, abs=5e-5)

    def test_capital_that_costs_nothing_is_a_straight_line(self, n):
        found = annuity(outlay=n("51900"), residual=n("9600"), rate_per_month=n("0"),
                        months=n("48"))  # fmt: skip
        same(found, 42300 / 48)

    def test_volume_of_a_fixed_deployment(self, n):
        same(fixed_volume(n("1963.70"), n("0.5111446066886481")), 3841.77, abs=5e-3)

    def test_never(self, n):
        """0.5111 USD x 1,576.8 M = 806 USD of tokens against a card of 1,674: never."""
        shared = {"replica": n("1674.029448"), "usd_per_mtok": n("0.5111446066886481"),
                  "capacity": n("1576.8")}  # fmt: skip
        volume, replicas = crossover(fixed=n("4500"), **shared)
        assert np.isinf(np.asarray(volume, dtype=float)).all()
        assert np.isinf(np.asarray(replicas, dtype=float)).all()
        factor = change_needed(**shared)
        same(factor, 1674.029448 / (0.5111446066886481 * 1576.8))
        wider, _ = crossover(fixed=n("4500"), replica=shared["replica"],
                             usd_per_mtok=shared["usd_per_mtok"] * factor * n("1.001"),
                             capacity=shared["capacity"])  # fmt: skip
        assert np.isfinite(np.asarray(wider, dtype=float)).all()

    def test_a_faster_stack_and_its_people(self, n):
        """A quarter of an engineer for ten percent: the machines must cost 49,500 a month."""
        machines = n("49500")
        same(saved_usd(machines, n("0.1")), 4500)
        same(fte_that_pays(machines, n("0.1"), n("18000")), 0.25)
        same(gain_that_pays(machines, n("0.25"), n("18000")), 0.1)
        assert np.isinf(np.asarray(gain_that_pays(n("4500"), n("0.25"), n("18000")), float)).all()


def test_a_ratio_of_two_lognormals_is_lognormal():
    """Median and spreads as given: the 5th and 95th percentile in closed form, then drawn."""
    median, spread = 12078.831, math.hypot(0.25, 0.35)
    assert spread == pytest.approx(0.430116, abs=5e-7)
    reach = 1.6448536269514722
    low, high = (median * math.exp(sign * reach * spread) for sign in (-1, 1))
    assert (low, high) == (pytest.approx(5953.481, abs=5e-4), pytest.approx(24506.361, abs=5e-4))
    draw = np.random.default_rng(1)
    price = 0.5111446066886481
    drawn = fixed_volume(
        median * price * np.exp(draw.normal(0, 0.25, 400_000)),
        price * np.exp(draw.normal(0, 0.35, 400_000)),
    )
    assert np.percentile(drawn, [5, 95]) == pytest.approx([low, high], rel=0.01)


def test_draws_answer_as_bills_do():
    """Every element of an array answers as the same numbers do as Decimal."""
    draw = np.random.default_rng(2)
    fixed, replica = draw.uniform(-3000, 9000, 400), draw.uniform(0, 4000, 400)
    price, capacity = draw.uniform(0.01, 3, 400), draw.uniform(1, 9000, 400)
    volume, count = crossover(fixed=fixed, replica=replica, usd_per_mtok=price, capacity=capacity)
    for i in range(400):
        one, n = crossover(
            fixed=Decimal(str(fixed[i])), replica=Decimal(str(replica[i])),
            usd_per_mtok=Decimal(str(price[i])), capacity=Decimal(str(capacity[i])),
        )  # fmt: skip
        assert (volume[i], count[i]) == (pytest.approx(float(one)), pytest.approx(float(n)))
    assert 0.02 < np.isinf(volume).mean() < 0.9


def test_the_price_the_purchase_and_the_payback_that_turn_it():
    assert price_equal(Decimal(6000), Decimal(2000)) == 3
    # 100 a month and half a dollar for each dollar of price: 300 are reached 400 dollars up.
    assert input_equal(at=1000, cost=100, slope=0.5, other=300) == 1400
    assert payback_months(Decimal(51900), Decimal(2000), Decimal(500)) == Decimal("34.6")
    assert payback_months(Decimal(51900), Decimal(500), Decimal(500)).is_infinite()


def test_rent_commitment_and_steps():
    assert rent(devices=1, devices_per_unit=8, usd_per_device_hour=Decimal("2.5"),
                hours=730) == Decimal(14600)  # fmt: skip
    assert commitment_pays(440, 730, 0.4)
    assert not commitment_pays(438, 730, 0.4)
    # 105 busy minutes, 5 to boot: 110 minutes are 2 hours in whole hours, 30 times.
    steps = {"busy_s": 6300, "starts": 30, "boot_s": 300}
    assert stepped_hours(**steps, step_s=3600) == 60
    assert stepped_hours(**steps, step_s=60) == 55


def test_the_book_value():
    book = {"price": 48000, "residual": 9600, "installation": 3900, "life": 48}
    assert book_value(**book, after=0) == 51900
    assert book_value(**book, after=24) == 51900 - 24 * 881.25
    assert book_value(**book, after=60) == 9600, "after its life the residual stays"


def test_whole_replicas_only():
    # 10 replicas for 20,000; people for 4,500 take three of them, 6,000: from 3 / 7 on.
    assert whole_gain_that_pays(20000, 10, 4500) == pytest.approx(3 / 7)
    assert whole_gain_that_pays(20000, 1, 0) == math.inf
    assert whole_gain_that_pays(20000, 4, 20000) == math.inf


def test_graduated_bands_are_not_cliffs():
    """100 M: 60 beyond 40 at 10 % off, of which 20 beyond 80 at 30 %."""
    found = banded(Decimal(1000), Decimal(100), [(Decimal(40), Decimal("0.1")),
                                                 (Decimal(80), Decimal("0.3"))])  # fmt: skip
    assert found == 1000 - 10 * (Decimal(40) * Decimal("0.1") + 20 * Decimal("0.3"))
    assert banded(Decimal(1000), Decimal(30), [(Decimal(40), Decimal("0.1"))]) == 1000


def month(**more):
    values = {"requests": 100, "input_tokens": 1e8, "cached_tokens": 0, "output_tokens": 1e7}
    return Volume(**{**values, "evidence": Evidence.ASSUMED, **more})


def tariff(**more):
    return TokenPrice(starts="2026-01-01", input_usd_per_mtok="1", output_usd_per_mtok="4",
                      source=SOURCE, **more)  # fmt: skip


def test_what_a_seller_may_list_beside_two_prices():
    assert metered_usd(month(), tariff()) == 140
    # a tier moves every token of a request: here 1,000,000 a request
    tier = {"above_input_tokens": 200_000, "input_usd_per_mtok": "2", "output_usd_per_mtok": "6"}
    assert metered_usd(month(), tariff(tiers=[tier])) == 260
    assert metered_usd(month(requests=1000), tariff(tiers=[tier])) == 140
    # a batch row replaces prices, the cached one too: nothing is multiplied
    batch = {"input_usd_per_mtok": "0.5", "cached_input_usd_per_mtok": "0.5",
             "output_usd_per_mtok": "2"}  # fmt: skip
    cached = {"cached_tokens": 5e7, "batch_share": 0.5}
    listed = tariff(batch=batch, cached_input_usd_per_mtok="0.5")
    standard, waiting = Decimal("57.5"), 35  # 25 + 12.5 + 20, and 12.5 + 12.5 + 10
    assert metered_usd(month(**cached), listed) == standard + waiting
    assert metered_usd(month(batch_share=0.5), tariff()) == 140, "no batch price, no discount"
    # cache writes cost what the seller says, else what input costs
    assert metered_usd(month(cache_write_tokens=2e7), tariff()) == 140
    dear = tariff(cache_write_usd_per_mtok="1.25")
    assert metered_usd(month(cache_write_tokens=2e7), dear) == 145
    # hours at twice the price: 35 of 168 where nobody says which
    peak = {"multiple": "2", "hours_per_day": "7", "days_per_week": 5, "when": "by day"}
    same(metered_usd(month(), tariff(peak=peak)), 140 + 140 * 35 / 168, rel=1e-12)
    assert metered_usd(month(peak_share=0), tariff(peak=peak)) == 140
    assert metered_usd(month(peak_share=1), tariff(peak=peak)) == 280
    assert metered_usd(month(), tariff(minimum_usd_per_month="500")) == 500
    bands = [{"above_mtok": "10", "discount_share": "0.1"}]
    assert metered_usd(month(), tariff(volume_discounts=bands)) == pytest.approx(
        Decimal(140) * (1 - Decimal("0.1") * 100 / 110)
    )


def test_parts_are_not_more_than_the_whole():
    with pytest.raises(ValueError, match="part of"):
        month(cached_tokens=2e8)


def test_a_base_with_the_peaks_bought():
    profile = [4.0, 2.0, 1.0, 1.0]
    shared = {"profile": profile, "capacity": 1.0, "usd_per_mtok": 10.0}
    # slices of 4, 2, 1 and 1 M tokens, at 10 USD each
    assert [slice_usd(replica=n, **shared) for n in (1, 2, 3, 4)] == [40, 20, 10, 10]
    assert best_base(most=9, replica_usd=15, **shared) == 2
    assert hybrid_usd(replicas=2, replica_usd=15, **shared) == 30 + 20
    assert best_base(most=9, replica_usd=15, base_fixed=31, **shared) == 0, "its people cost more"
    assert best_base(most=1, replica_usd=15, **shared) == 1
    curve = load_profile(700.0, 3.5, 300)
    assert sum(curve) == pytest.approx(700)
    assert curve[0] == pytest.approx(3.5 * 700 / 300, rel=0.01), "the busiest hour is the peak"
    assert load_profile(600.0, 1.0, 300) == pytest.approx([2.0] * 300)
