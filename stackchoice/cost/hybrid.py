"""A base of own replicas, with the peaks bought by the token.

Over a profile ``V_j`` (M tokens in each stretch of time):
``A + n B + p sum_j max(V_j - n c, 0)``. A replica is worth its cost when the slice of the load
that it takes, ``p sum_j min(max(V_j - (n-1) c, 0), c)``, is worth more than ``B``. USD, M tokens.
"""

from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from stackchoice.cost.numbers import Number, larger, smaller


def load_profile(mtok: Number, peak_factor: Number, parts: int) -> list[Number]:
    """Return a month of traffic in equal stretches of its active time, busiest first.

    Only the mean and the peak are known, so the curve ``peak x mean x (1 - x)^(peak - 1)`` is
    assumed: it has that mean and that peak, and is flat where the peak is the mean. Sums to
    ``mtok``.
    """
    # The integral of the curve over each stretch: differences of (1 - x)^peak.
    one = Decimal(1) if isinstance(peak_factor, Decimal) else 1.0
    edges = [(1 - one * j / parts) ** peak_factor for j in range(parts)] + [0]
    return [mtok * (high - low) for high, low in pairwise(edges)]


def hybrid_usd(
    *, profile: Sequence[Number], replicas: int, capacity: Number, replica_usd: Number,
    usd_per_mtok: Number, managed_fixed: Number = 0, base_fixed: Number = 0,
) -> Number:  # fmt: skip
    """Return a month of ``replicas`` of one's own with the rest bought.

    ``base_fixed`` (people and one-time cost of the base) comes on top of the managed path's as
    soon as there is a base, since a hybrid has to be looked after twice.
    """
    rest = sum(larger(v - replicas * capacity, v * 0) for v in profile)
    own = replicas * replica_usd + (base_fixed if replicas else 0)
    return managed_fixed + own + usd_per_mtok * rest


def slice_usd(
    *, profile: Sequence[Number], replica: int, capacity: Number, usd_per_mtok: Number
) -> Number:  # fmt: skip
    """Return what the tokens that the ``replica``-th machine takes would cost when bought."""
    below = (replica - 1) * capacity
    return usd_per_mtok * sum(smaller(larger(v - below, v * 0), capacity + v * 0) for v in profile)


def best_base(
    *, profile: Sequence[Number], most: int, capacity: Number, replica_usd: Number,
    usd_per_mtok: Number, base_fixed: Number = 0,
) -> int:  # fmt: skip
    """Return how many replicas of one's own cost least, from none to ``most``.

    Each further slice of the load is thinner than the last, so the last that pays is found by
    halving; the base as a whole must then pay its people too.
    """
    shared = {"profile": profile, "capacity": capacity,
              "usd_per_mtok": usd_per_mtok}  # fmt: skip
    low = bisect_left(
        range(1, most + 1), True, key=lambda n: slice_usd(replica=n, **shared) <= replica_usd
    )
    whole = {**shared, "replica_usd": replica_usd, "base_fixed": base_fixed}
    return low if hybrid_usd(replicas=low, **whole) < hybrid_usd(replicas=0, **whole) else 0
