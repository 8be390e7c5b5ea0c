"""Intervals over launches and repetitions, and gaps that are too small to be told apart. Pure.

A request is no independent observation of an engine: requests of one repetition share its state,
and repetitions of one launch share its kernels, its memory layout and its luck. So a repetition
gives one value, a launch the mean of its repetitions, and an interval is Student's over launches.
With one launch it is over repetitions, and says nothing of what the next launch would give.
"""

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from stackchoice.facts.datum import Evidence, Record

#: Ends of an interval that are further out than a float reaches stay at the last that it holds.
MAX_LOG = 700.0


class Nested(Record):
    """A mean with its 95 % interval, and where its scatter comes from.

    Attributes
    ----------
    over
        What the interval is over; ``nothing`` with one repetition of one launch (no interval).
    between_sd, within_sd
        Standard deviation of launch means, and pooled within launches; None where there is only one
        of a kind.
    variation
        Coefficient of variation: the greater of the two over the mean.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    over: Literal["launches", "repetitions", "nothing"]
    launches: int
    repetitions: int
    between_sd: float | None = None
    within_sd: float | None = None
    variation: float | None = None
    evidence: Evidence = Evidence.MEASURED


class Gap(Record):
    """The ratio of two arms with its 95 % interval, and what may be said of it."""

    ratio: float
    low: float | None = None
    high: float | None = None
    verdict: Literal["higher", "lower", "too close", "unknown"]
    reason: str


def nested(values: Sequence[Sequence[float]]) -> Nested | None:
    """Summarise one value a repetition, grouped by launch; None without any."""
    groups = [list(group) for group in values if group]
    if not groups:
        return None
    means = [statistics.fmean(group) for group in groups]
    mean = statistics.fmean(means)
    between = statistics.stdev(means) if len(means) > 1 else None
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum((v - m) ** 2 for g, m in zip(groups, means, strict=True) for v in g)
    within = math.sqrt(squares / freedom) if freedom else None
    known = [sd for sd in (between, within) if sd is not None]
    half: float | None = None
    over: Literal["launches", "repetitions", "nothing"] = "nothing"
    if between is not None:
        over, half = "launches", t_quantile(0.975, len(means) - 1) * between / math.sqrt(len(means))
    elif within is not None:
        n = len(groups[0])
        over, half = "repetitions", t_quantile(0.975, n - 1) * within / math.sqrt(n)
    return Nested(
        mean=mean,
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        over=over, launches=len(groups), repetitions=sum(map(len, groups)),
        between_sd=between, within_sd=within,
        variation=max(known) / mean if known and mean else None,
    )  # fmt: skip


def gap(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], *, assumed_scatter: float
) -> Gap | None:
    """Compare two arms by the ratio first / second of their (positive) values.

    Welch's interval on logarithms, over launches where both arms have two or more, else over
    repetitions. A gap below the scatter between launches of either arm is too close, whatever the
    interval says.

    Parameters
    ----------
    first, second
        One value a repetition, grouped by launch.
    assumed_scatter
        Relative standard deviation between launches to be used where an arm was launched once.
    """
    logs = [[[math.log(v) for v in g] for g in arm if g] for arm in (first, second)]
    if not all(logs):
        return None
    a, b = (nested(arm) for arm in logs)
    assert a is not None
    assert b is not None
    difference = a.mean - b.mean
    ratio = math.exp(difference)
    launched = a.between_sd is not None and b.between_sd is not None
    units = [
        [statistics.fmean(g) for g in arm] if launched else [v for g in arm for v in g]
        for arm in logs
    ]
    if any(len(unit) < 2 for unit in units):
        return Gap(ratio=ratio, verdict="unknown",
                   reason="one repetition of an arm: its scatter is unknown")  # fmt: skip
    errors = [statistics.variance(unit) / len(unit) for unit in units]
    total = sum(errors)
    if total == 0:
        half = 0.0
    else:
        shares = sum(e**2 / (len(u) - 1) for e, u in zip(errors, units, strict=True))
        half = t_quantile(0.975, total**2 / shares) * math.sqrt(total)
    low, high = (math.exp(min(end, MAX_LOG)) for end in (difference - half, difference + half))
    scatter = max(x.between_sd or 0.0 for x in (a, b)) if launched else assumed_scatter
    known = "" if launched else f" (unknown here, assumed to be {assumed_scatter:.0%})"
    bounds = {"ratio": ratio, "low": low, "high": high}
    if low <= 1 <= high:
        return Gap(**bounds, verdict="too close", reason="the interval holds 1")
    if abs(difference) < scatter:
        return Gap(**bounds, verdict="too close",
                   reason=f"the gap is below the scatter between launches{known}")  # fmt: skip
    verdict = "higher" if difference > 0 else "lower"
    why = f"interval clear of 1, gap above the scatter between launches{known}"
    return Gap(**bounds, verdict=verdict, reason=why)


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: float) -> float:
    """Quantile of Student's t above the median, ``freedom`` at least 1.

    With t = sqrt(freedom) tan(a) the density is cos(a) to the power of freedom - 1, which is
    smooth on a bounded stretch and is added up there.
    """
    import numpy as np

    angles = np.linspace(0, math.pi / 2, 200_001)
    density = np.cos(angles) ** (freedom - 1)
    area = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    angle = np.interp(2 * probability - 1, area / area[-1], angles)
    return float(math.sqrt(freedom) * np.tan(angle))
