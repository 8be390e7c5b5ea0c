"""Managed against rented against owned, per month, with people; and the break-even volume.

Money is USD and Decimal on every bill. Tokens are counted per month; a price is per million
of them. Formulas: straight-line depreciation, capital on the mean book value, power at the
wall times PUE; the bill of a machine that is always on does not depend on its utilisation.
"""

from __future__ import annotations

import math
from decimal import Decimal

from stackchoice.facts.datum import Evidence, Record, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import HourPrice, Machine, Path, ServerPrice, TokenPrice

MILLION = Decimal(1_000_000)
MONTHS_PER_YEAR = 12


class Volume(Record):
    """Tokens a month, by what they are billed as. Output includes reasoning tokens."""

    requests: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    evidence: Evidence

    @property
    def total_mtok(self) -> float:
        """Input and output together, in millions."""
        return (self.input_tokens + self.output_tokens) / 1e6


class CostLine(Record):
    """One path's cost a month, in parts. ``infrastructure_usd`` None: a price is unknown.

    ``evidence`` is that of the infrastructure, ``people_evidence`` that of people and one-time
    cost.
    """

    path: Path
    what: str
    infrastructure_usd: Decimal | None
    people_usd: Decimal
    one_time_usd: Decimal
    people_evidence: Evidence
    evidence: Evidence
    parts: dict[str, Decimal] = {}
    note: str = ""
    source: str = ""

    @property
    def total_usd(self) -> Decimal | None:
        """Everything a month: infrastructure, people, one-time cost over the horizon."""
        if self.infrastructure_usd is None:
            return None
        return self.infrastructure_usd + self.people_usd + self.one_time_usd

    @property
    def total_evidence(self) -> Evidence:
        """The class of ``total_usd``: the weakest of what is summed."""
        return weakest(self.evidence, self.people_evidence)


class BreakEven(Record):
    """The volume from which serving yourself costs less. None is *never*, and says why."""

    against: str
    with_people: bool
    mtok_per_month: float | None
    replicas: int | None
    capacity_mtok_per_month: float | None
    reason: str
    evidence: Evidence


def decimal(value: float | int | Decimal) -> Decimal:
    """Return a number as Decimal by its shortest text, so 0.1 stays 0.1."""
    return value if isinstance(value, Decimal) else Decimal(str(value))


def metered_usd(volume: Volume, price: TokenPrice) -> Decimal:
    """Return the bill for a month of tokens: uncached input, cached input, output.

    Cached tokens are a part of the input, never added to it. Where the seller names no
    cached price, they cost the full input price.
    """
    cached_price = price.cached_input_usd_per_mtok
    if cached_price is None:
        cached_price = price.input_usd_per_mtok
    cached = decimal(volume.cached_tokens)
    fresh = decimal(volume.input_tokens) - cached
    usd = (
        fresh * price.input_usd_per_mtok
        + cached * cached_price
        + decimal(volume.output_tokens) * price.output_usd_per_mtok
    )
    return usd / MILLION


def rented_usd(price: HourPrice, devices: int, hours: float) -> Decimal:
    """Return a month of rent; whole units only, running or not used alike."""
    units = math.ceil(devices / price.devices_per_unit)
    return units * price.devices_per_unit * price.usd_per_device_hour * decimal(hours)


def owned_parts_usd(
    server: ServerPrice, servers: int, months: float, facts: Facts
) -> dict[str, Decimal]:
    """Return what owning costs a month, by part, over a horizon of ``months``.

    ``(price - residual + installation) / life``; capital at the mean of opening and closing
    book value; maintenance on the price; ``kW x PUE x price x hours``; hosting per kW.
    """
    a = {key: decimal(facts.assumed(key)) for key in (
        "residual_share", "server_life_months", "capital_rate_per_year",
        "maintenance_share_per_year", "pue", "usd_per_kwh", "hours_per_month",
        "hosting_usd_per_kw_month",
    )}  # fmt: skip
    price, installation = server.usd, server.installation_usd
    power_kw = decimal(server.power_kw.value or 0)
    depreciation = (price * (1 - a["residual_share"]) + installation) / a["server_life_months"]
    opening = price + installation
    closing = opening - depreciation * min(decimal(months), a["server_life_months"])
    parts = {
        "depreciation": depreciation,
        "capital": (opening + closing) / 2 * a["capital_rate_per_year"] / MONTHS_PER_YEAR,
        "maintenance": price * a["maintenance_share_per_year"] / MONTHS_PER_YEAR,
        "energy": power_kw * a["pue"] * a["usd_per_kwh"] * a["hours_per_month"],
        "hosting": power_kw * a["hosting_usd_per_kw_month"],
    }
    return {name: usd * servers for name, usd in parts.items()}


def owned_energy_usd(machine: Machine, devices: int, hours: float, facts: Facts) -> Decimal | None:
    """Return the power bill of hardware already paid for, at full board power.

    Idle hours, the host around the accelerators, and PUE are left out.
    """
    if machine.board_power_w.value is None:
        return None
    kilowatts = decimal(machine.board_power_w.value) * devices / 1000
    return kilowatts * decimal(hours) * decimal(facts.assumed("usd_per_kwh"))


def break_even(
    *,
    against: str,
    fixed_usd: Decimal,
    replica_usd: Decimal,
    managed_usd_per_mtok: Decimal,
    capacity_mtok: float | None,
    with_people: bool,
    evidence: Evidence,
) -> BreakEven:
    """Return the monthly volume from which whole replicas cost less than metered tokens.

    ``fixed_usd`` is what serving yourself costs whatever its size (people, one-time cost)
    beyond what the managed path costs in the same way; each replica adds ``replica_usd`` and
    carries ``capacity_mtok``. One replica suffices where ``p x capacity - replica >= fixed``.
    Else, with ``p x capacity <= replica``, no volume ever pays: each replica adds more than
    the tokens it replaces. Else ``n = ceil(fixed / (p x capacity - replica))`` replicas, and
    the volume is ``max((fixed + n x replica) / p, (n - 1) x capacity)``.
    """

    def answer(mtok: float | None, replicas: int | None, reason: str) -> BreakEven:
        return BreakEven(
            against=against, with_people=with_people, mtok_per_month=mtok, replicas=replicas,
            capacity_mtok_per_month=capacity_mtok, reason=reason, evidence=evidence,
        )  # fmt: skip

    if managed_usd_per_mtok <= 0:
        return answer(None, None, "the managed price is zero")
    if capacity_mtok is None:
        volume = max(fixed_usd + replica_usd, Decimal(0)) / managed_usd_per_mtok
        return answer(float(volume), 1, "only if one replica carries it; its capacity is unknown")
    capacity = decimal(capacity_mtok)
    earns = managed_usd_per_mtok * capacity - replica_usd
    replicas = 1 if earns >= fixed_usd else math.ceil(fixed_usd / earns) if earns > 0 else None
    if replicas is None:
        return answer(
            None, None,
            f"never: one replica would have to replace "
            f"{(fixed_usd + replica_usd) / managed_usd_per_mtok:,.0f} M tokens a month and carries "
            f"at most {capacity:,.0f} M, worth {managed_usd_per_mtok * capacity:,.0f} USD, for "
            f"{replica_usd:,.0f} USD",
        )  # fmt: skip
    volume = max(
        (fixed_usd + replicas * replica_usd) / managed_usd_per_mtok, (replicas - 1) * capacity
    )
    return answer(float(max(volume, Decimal(0))), replicas, f"carried by {replicas} replica(s)")
