"""Cost formulas against published results of others and hand arithmetic."""

from decimal import Decimal

import pytest

from stackchoice import load_facts
from stackchoice.cost import Volume, break_even, metered_usd, owned_parts_usd
from stackchoice.cost.machines import rent
from stackchoice.facts import Datum, Evidence, Source
from stackchoice.facts.prices import ServerPrice, TokenPrice

SOURCE = Source(url="https://example.org", as_of="2026-01-01")


def price(pin, pout, cached=None):
    return TokenPrice(
        starts="2026-01-01", input_usd_per_mtok=pin, output_usd_per_mtok=pout,
        cached_input_usd_per_mtok=cached, source=SOURCE,
    )  # fmt: skip


def month(tokens_in, tokens_out, cached=0):
    return Volume(
        requests=1, input_tokens=tokens_in, cached_tokens=cached, output_tokens=tokens_out,
        evidence=Evidence.ASSUMED,
    )  # fmt: skip


def even(fixed, replica, per_mtok, capacity, with_people=True):
    return break_even(
        against="x", fixed_usd=Decimal(str(fixed)), replica_usd=Decimal(str(replica)),
        managed_usd_per_mtok=Decimal(str(per_mtok)), capacity_mtok=capacity,
        with_people=with_people, evidence=Evidence.ASSUMED,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("volume", "tariff", "usd"),
    [
        # 60,000 requests of 8,192 in and 300 out
        (month(491_520_000, 18_000_000), price("0.42", "3.0", "0.085"), "260.4384"),
        (month(491_520_000, 18_000_000, 294_912_000), price("0.42", "3.0", "0.085"), "161.64288"),
        # single calls whose double-counted versions were published as bugs
        (month(27_147, 351, 27_146), price("1.4", "4.4", "0.26"), "0.00860376"),
        (month(20_212, 931, 16_298), price("0.5", "3", "0.05"), "0.0055649"),
        (month(14_746, 1_944), price("30", "180"), "0.7923"),  # reasoning is inside the output
    ],
)
def test_metered_bills_to_the_digit(volume, tariff, usd):
    assert metered_usd(volume, tariff) == Decimal(usd)


def test_a_seller_without_cached_price_bills_cached_tokens_in_full():
    with_cache = metered_usd(month(1000, 0, 900), price("1", "2"))
    assert with_cache == metered_usd(month(1000, 0), price("1", "2"))


def test_owning_one_h100_server_for_its_life():
    """38,400/48 + 3,900/48 + 30,750 x 8 %/12 + 48,000 x 5 %/12 + energy + hosting."""
    server = ServerPrice(
        machine="h100_sxm", devices=1, usd=48_000, installation_usd=3_900, starts="2026-08-01",
        power_kw=Datum[float](value=1.15, evidence="assumed", note="test"), source=SOURCE,
    )  # fmt: skip
    parts = owned_parts_usd(server, 1, 48, load_facts())
    assert float(parts["depreciation"]) == pytest.approx(881.25)
    assert float(parts["capital"]) == pytest.approx(205.0)
    assert float(parts["maintenance"]) == pytest.approx(200.0)
    assert float(parts["energy"]) == pytest.approx(1.15 * 1.54 * 0.1256 * 730)
    assert float(parts["hosting"]) == pytest.approx(225.4)
    assert float(sum(parts.values())) == pytest.approx(1674.0294, abs=5e-5)


def test_capital_over_a_shorter_horizon_sits_on_a_higher_mean_book_value():
    """171,200 opening, 36 of 48 months of 2,900: (171,200 + 66,800)/2 x 8 %/12 = 793.33."""
    server = ServerPrice(
        machine="a100", devices=8, usd=160_000, installation_usd=11_200, starts="2026-08-01",
        power_kw=Datum[float](value=3.65, evidence="assumed", note="test"), source=SOURCE,
    )  # fmt: skip
    parts = owned_parts_usd(server, 1, 36, load_facts())
    assert float(parts["depreciation"]) == pytest.approx(2900)
    assert float(parts["capital"]) == pytest.approx(793.3333, abs=1e-4)


def test_rent_is_for_whole_units_and_all_hours():
    price = {"devices": 1, "usd_per_device_hour": Decimal("2.69"), "hours": 730}
    assert rent(devices_per_unit=8, **price) == Decimal("2.69") * 8 * 730
    assert rent(devices_per_unit=1, **price) == Decimal("1963.70")


def test_break_even_of_whole_replicas_matches_the_published_crossover():
    found = even(30, 100, "1.4", 81)
    assert found.replicas == 3
    assert found.mtok_per_month == pytest.approx(330 / 1.4)


def test_break_even_without_capacity_limit_is_cost_over_price():
    found = even(0, "1963.7", "0.5111446066886481", None)
    assert found.mtok_per_month == pytest.approx(3841.77, abs=0.01)
    assert "unknown" in found.reason


def test_a_replica_that_never_earns_its_cost_is_never():
    """0.5111 USD/M x 1,576.8 M = 806 USD against 1,674 USD: no volume ever pays."""
    found = even(4500, "1674.029448", "0.5111446066886481", 1576.8)
    assert found.mtok_per_month is None
    assert found.reason.startswith("never")
