"""From which volume, use, price or people on serving yourself costs less; or never.

Infinity is *never*, in the kind of number that came in. USD a month, M tokens a month, USD per
M tokens of the mix that is really used.
"""

from decimal import Decimal
from typing import Any

from stackchoice.cost.numbers import (
    MILLION,
    SECONDS_PER_HOUR,
    Number,
    ceil,
    decimal,
    infinite_like,
    larger,
    where,
)
from stackchoice.cost.records import BreakEven, Change
from stackchoice.facts.datum import Evidence
from stackchoice.facts.names import counted


def capacity_mtok(
    *, tokens_per_s: Number, hours: Number, utilisation_cap: Number, peak_factor: Number
) -> Number:  # fmt: skip
    """Return the M tokens a replica carries a month when its peak is to stay below the cap."""
    seconds = hours * SECONDS_PER_HOUR
    return tokens_per_s * utilisation_cap * seconds / peak_factor / MILLION


def fixed_volume(self_usd: Number, usd_per_mtok: Number) -> Any:
    """Return the volume at which a fixed deployment costs what its tokens would: ``C / p``.

    Infinite where tokens cost nothing.
    """
    volume = self_usd / where(usd_per_mtok > 0, usd_per_mtok, usd_per_mtok * 0 + 1)
    return where(usd_per_mtok > 0, volume, infinite_like(volume))


def crossover(
    *, fixed: Number, replica: Number, usd_per_mtok: Number, capacity: Number
) -> tuple[Number, Number]:  # fmt: skip
    """Return the volume from which whole replicas cost less, and how many then run.

    With ``earns = p x capacity - replica``: ``n = ceil(fixed / earns)`` replicas, at least one,
    and the volume is ``max((fixed + n x replica) / p, (n - 1) x capacity)``. Both are infinite
    where ``earns <= 0``, since each replica then adds more than the tokens it replaces; but one
    replica may still pay where serving yourself saves people, ``fixed < earns``.
    """
    earns = usd_per_mtok * capacity - replica
    one = (fixed < 0) & (earns <= 0) & (earns > fixed)
    pays = (earns > 0) | one
    count = larger(ceil(fixed / where(earns > 0, earns, earns * 0 + 1)), 1 + fixed * 0)
    count = where(one, count * 0 + 1, count)
    price = where(usd_per_mtok > 0, usd_per_mtok, usd_per_mtok * 0 + 1)
    volume = larger((fixed + count * replica) / price, (count - 1) * capacity)
    volume = larger(volume, volume * 0)
    never = infinite_like(volume)
    return where(pays, volume, never), where(pays, count, never)


def staircase(*, fixed: Number, replica: Number, capacity: Number, mtok: Number) -> Number:
    """Return what serving a volume yourself costs: whole replicas, at least one."""
    count = ceil(mtok / capacity)
    return fixed + larger(count, count * 0 + 1) * replica


def change_needed(*, replica: Number, usd_per_mtok: Number, capacity: Number) -> Number:
    """Return the factor by which price or throughput must exceed today's for any volume to pay.

    Never ends where ``p x capacity`` passes the replica's cost, so price and throughput need the
    same factor, and the replica's cost the same as a divisor.
    """
    return replica / (usd_per_mtok * capacity)


def utilisation(self_usd: Number, usd_per_mtok: Number, full_capacity: Number) -> Number:
    """Return the share of full capacity at which the bill equals the tokens' price."""
    return self_usd / (usd_per_mtok * full_capacity)


def price_equal(self_usd: Number, mtok: Number) -> Number:
    """Return the price of the mix at which today's volume costs the same on both sides."""
    return self_usd / mtok


def input_equal(*, at: Number, cost: Number, slope: Number, other: Number) -> Number:
    """Return the input at which a cost that is linear in it equals ``other``.

    ``cost`` is what it costs ``at`` today's input, ``slope`` what one more unit adds: so a
    purchase price is solved, an hour's price, or engineers.
    """
    return at + (other - cost) / slope


def payback_months(outlay: Number, managed_usd: Number, running_usd: Number) -> Number:
    """Return the months after which an outlay is earned back; infinite where it never is."""
    saved = managed_usd - running_usd
    months = outlay / where(saved > 0, saved, saved * 0 + 1)
    return where(saved > 0, months, infinite_like(months))


def saved_usd(machines_usd: Number, gain: Number) -> Number:
    """Return what being faster by ``gain`` saves, if machines could be bought in fractions.

    It needs ``1 / (1 + g)`` of the machines, so ``C g / (1 + g)`` of their cost is saved.
    """
    return machines_usd * gain / (1 + gain)


def fte_that_pays(machines_usd: Number, gain: Number, usd_per_engineer: Number) -> Number:
    """Return the extra engineers that a gain pays for at most."""
    return saved_usd(machines_usd, gain) / usd_per_engineer


def gain_that_pays(machines_usd: Number, extra_fte: Number, usd_per_engineer: Number) -> Number:
    """Return how much faster a stack must be to pay for its people; infinite is never.

    Never where the people cost as much as all the machines, which no speed can save.
    """
    people = extra_fte * usd_per_engineer
    left = machines_usd - people
    gain = people / where(left > 0, left, left * 0 + 1)
    return where(left > 0, gain, infinite_like(gain))


def whole_gain_that_pays(machines_usd: Number, replicas: Number, people_usd: Number) -> Number:
    """Return how much faster a stack must be when only whole replicas can go; infinite is never.

    ``k`` replicas must go so that their ``C k / n`` is above what the people cost, which takes a
    gain of ``k / (n - k)``. One replica alone can never go.
    """
    freed = 1 - ceil(-people_usd * replicas / machines_usd)
    left = replicas - freed
    gain = freed / where(left > 0, left, left * 0 + 1)
    return where(left > 0, gain, infinite_like(gain))


def break_even(
    *,
    against: str,
    fixed_usd: Decimal,
    replica_usd: Decimal,
    managed_usd_per_mtok: Decimal,
    capacity_mtok: float | None,
    with_people: bool,
    evidence: Evidence,
    full_capacity_mtok: float | None = None,
) -> BreakEven:
    """Return the monthly volume from which whole replicas cost less than metered tokens.

    ``fixed_usd`` is what serving yourself costs whatever its size (people, one-time cost)
    beyond what the managed path costs in the same way; each replica adds ``replica_usd`` and
    carries ``capacity_mtok``. See :func:`crossover`. ``full_capacity_mtok`` is what a replica
    would carry without headroom for peaks: it turns the volume into a share of use.
    """

    def answer(mtok: Decimal | None, replicas: int | None, reason: str, **more: Any) -> BreakEven:
        return BreakEven(
            against=against, with_people=with_people, replicas=replicas,
            mtok_per_month=None if mtok is None else float(mtok),
            capacity_mtok_per_month=capacity_mtok, reason=reason, evidence=evidence, **more,
        )  # fmt: skip

    price = managed_usd_per_mtok
    if price <= 0:
        return answer(None, None, "the managed price is zero")
    if capacity_mtok is None:
        volume = max(fixed_volume(fixed_usd + replica_usd, price), Decimal(0))
        return answer(volume, 1, "only if one replica carries it; its capacity is unknown")
    capacity = decimal(capacity_mtok)
    volume, replicas = crossover(
        fixed=fixed_usd, replica=replica_usd, usd_per_mtok=price, capacity=capacity
    )
    shares = {}
    if full_capacity_mtok:
        least = utilisation(replica_usd, price, decimal(full_capacity_mtok))
        shares = {"least_use": float(least), "planned_use": capacity_mtok / full_capacity_mtok}
    if volume.is_infinite() and not capacity:
        return answer(None, None, "never: a replica carries nothing here", **shares)
    if volume.is_infinite():
        factor = change_needed(replica=replica_usd, usd_per_mtok=price, capacity=capacity)
        change = Change(
            factor=float(factor), usd_per_mtok=price * factor,
            capacity_mtok=capacity_mtok * float(factor), replica_usd=replica_usd / factor,
        )  # fmt: skip
        return answer(
            None, None,
            f"never: one replica would have to replace "
            f"{(fixed_usd + replica_usd) / price:,.0f} M tokens a month and carries "
            f"at most {capacity:,.0f} M, worth {price * capacity:,.0f} USD, for "
            f"{replica_usd:,.0f} USD",
            change=change, **shares,
        )  # fmt: skip
    return answer(
        volume, int(replicas), f"carried by {counted(int(replicas), 'replica')}", **shares
    )
