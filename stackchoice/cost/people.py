"""When a faster stack pays for the people it takes. USD a month, engineers, shares.

A stack that is faster by the share ``g`` needs ``1 / (1 + g)`` of the machines, so it saves
``C g / (1 + g)`` of their cost ``C``, and pays if that is above what its extra work costs.
"""

from stackchoice.cost.numbers import Number, ceil, infinite_like, where


def saved_usd(machines_usd: Number, gain: Number) -> Number:
    """Return what being faster by ``gain`` saves, if machines could be bought in fractions."""
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
