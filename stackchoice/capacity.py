"""Replicas for the peak, what waits, spares, and the month in which growth outgrows them.

Arrivals are taken as Poisson and service times as exponential within the busiest window; burstier
arrivals wait longer.
Formulas: Erlang's B recursion and his C; Little's law.
"""

import math
from bisect import bisect_left

from stackchoice.facts.datum import Record

#: More replicas than this are no plan.
MOST_REPLICAS = 1_000_000


class Plan(Record):
    """Replicas for one peak. ``busy`` is offered load over slots, with spares left out."""

    replicas: int
    spares: int
    by_rate: int
    by_waiting: int
    offered: float
    slots: int
    late_probability: float
    busy: float

    @property
    def total(self) -> int:
        """Replicas that carry the peak, and the spares."""
        return self.replicas + self.spares

    @property
    def rule(self) -> str:
        """Which of the two rules asks for more."""
        return "waiting" if self.by_waiting > self.by_rate else "rate"


def erlang_c(servers: int, offered: float) -> float:
    """Return the probability that an arrival waits; 1 where the servers cannot keep up.

    ``1 / B_n = 1 + (n / a) / B_(n-1)`` is run on the inverse of Erlang's B, which only grows, so
    that nothing cancels; past what a float holds the loss is nil. ``C = B / (1 - (a / c)(1 - B))``.

    Parameters
    ----------
    servers
        ``c``, slots that serve at once.
    offered
        ``a`` = arrivals per second x seconds in service.

    Raises
    ------
    ValueError
        For fewer than one server or a negative load.
    """
    if servers < 1 or offered < 0 or not math.isfinite(offered):
        raise ValueError("needs at least one server and a load that is not negative")
    if offered == 0:
        return 0.0
    if offered >= servers:
        return 1.0
    inverse = term = 1.0
    for n in range(servers, 0, -1):  # 1/B = 1 + c/a + c(c-1)/a^2 + ...: past n = a it soon ends
        term *= n / offered
        if inverse + term == inverse:
            break
        inverse += term
    if math.isinf(inverse):
        return 0.0
    lost = 1.0 / inverse
    return lost / (1.0 - offered / servers * (1.0 - lost))


def late_probability(servers: int, offered: float, service_s: float, wait_s: float) -> float:
    """Return P(wait > ``wait_s``) = ``C exp(-(c - a) t / s)``."""
    waits = erlang_c(servers, offered)
    if waits == 1.0 or service_s <= 0:
        return waits if waits == 1.0 or wait_s == 0 else 0.0
    return waits * math.exp(-(servers - offered) * wait_s / service_s)


def holds(servers: int, offered: float, service_s: float, wait_s: float, tail: float) -> bool:
    """Whether at most ``tail`` of the arrivals wait longer than ``wait_s``.

    A bound without recursion answers first where it can: ``B <= 2 p(c)``, Poisson's probability
    of exactly ``c`` at mean ``a < c``, as at least half of it lies at or below ``c``.
    """
    if offered >= servers:
        return False
    if offered > 0:
        log_p = servers * math.log(offered) - offered - math.lgamma(servers + 1)
        if math.log(2) + log_p - math.log1p(-offered / servers) <= math.log(tail):
            return True
    return late_probability(servers, offered, service_s, wait_s) <= tail


def replicas_by_rate(peak_per_s: float, replica_per_s: float, cap: float) -> int:
    """Return ``ceil(peak / (rate x cap))``, at least one: the rule of the utilisation cap."""
    return max(math.ceil(peak_per_s / (replica_per_s * cap) - 1e-9), 1)


def replicas_by_waiting(
    peak_per_s: float, service_s: float, slots: int, wait_s: float, tail: float
) -> int:
    """Return the fewest replicas of ``slots`` each at which at most ``tail`` wait too long."""
    offered = peak_per_s * service_s
    least = max(1, math.floor(offered / slots))
    return least + bisect_left(
        range(least, max(2 * least, MOST_REPLICAS)), True,
        key=lambda count: holds(count * slots, offered, service_s, wait_s, tail),
    )  # fmt: skip


def replicas_at_peak(
    *, peak_per_s: float, replica_per_s: float, service_s: float, slots: int, cap: float,
    wait_s: float, tail: float,
) -> int:  # fmt: skip
    """Return the replicas of :func:`plan` without its details and without spares."""
    count = replicas_by_rate(peak_per_s, replica_per_s, cap)
    if holds(count * slots, peak_per_s * service_s, service_s, wait_s, tail):
        return count
    return max(count, replicas_by_waiting(peak_per_s, service_s, slots, wait_s, tail))


def plan(
    *,
    peak_per_s: float,
    replica_per_s: float,
    service_s: float,
    slots: int,
    cap: float,
    wait_s: float,
    tail: float,
    spares: int = 0,
) -> Plan:
    """Return the replicas that carry a peak: the more of the two rules, and spares on top.

    Parameters
    ----------
    peak_per_s
        Arrivals per second in the busiest window.
    replica_per_s
        Requests per second that a replica completes at the service level.
    service_s
        Seconds that a request is in service there, with its slots full.
    slots
        Sequences that a replica lets run at once.
    cap
        Share of the rate that is planned for.
    wait_s, tail
        At most ``tail`` of the requests may wait longer than ``wait_s`` for a slot.
    spares
        Replicas that may be down while the rest still holds the service level.
    """
    by_rate = replicas_by_rate(peak_per_s, replica_per_s, cap)
    by_waiting = replicas_by_waiting(peak_per_s, service_s, slots, wait_s, tail)
    replicas, offered = max(by_rate, by_waiting), peak_per_s * service_s
    servers = replicas * slots
    return Plan(
        replicas=replicas, spares=spares, by_rate=by_rate, by_waiting=by_waiting, offered=offered,
        slots=servers,
        late_probability=late_probability(servers, offered, service_s, wait_s),
        busy=offered / servers,
    )  # fmt: skip


def carried_per_s(
    replicas: int, *, replica_per_s: float, service_s: float, slots: int, cap: float, wait_s: float,
    tail: float,
) -> float:  # fmt: skip
    """Return the highest peak, in requests per second, that ``replicas`` carry by both rules."""
    top = replicas * replica_per_s * cap
    servers = replicas * slots
    low, high = 0.0, min(top, servers / service_s)

    def enough(rate: float) -> bool:
        return late_probability(servers, rate * service_s, service_s, wait_s) <= tail

    if enough(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def months_until(now_per_s: float, carried: float, growth_per_month: float) -> float | None:
    """Return the months until a growing peak passes what is carried; None is never.

    ``ln(carried / now) / ln(1 + growth)``; 0 where it is passed already.
    """
    if now_per_s >= carried:
        return 0.0
    if growth_per_month <= 0 or now_per_s <= 0:
        return None
    return math.log(carried / now_per_s) / math.log1p(growth_per_month)
