"""A prediction moved and narrowed by rows measured on the same set-up.

A set-up is a model, engine, backend, machine, precision and number of devices; its habit is
what all its rows have in common. The habit is the unknown mean of a normal distribution whose
prior is the interval itself, so few rows move little and many decide.
"""

from collections.abc import Iterable
from math import exp, log
from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import Record
from stackchoice.facts.shares import ShareModel
from stackchoice.fit.runs import Run
from stackchoice.fit.shares import features, rough

#: Standard deviations from the middle to either end of an 80 % interval.
Z80 = 1.2816

#: Spread, in logarithms, of one row around its own set-up's habit, mostly by depth: root mean
#: square over repositories of data/measurements.csv, of set-ups with two rows or more.
ROW_SPREAD = {"decode": 0.2, "prefill": 0.33}


class MeasuredRate(Record):
    """One rate that was measured on the set-up in question, in tokens/s.

    ``origin`` is what its record says was measured, for the reader to compare.
    """

    phase: Literal["decode", "prefill"]
    tokens_per_s: float = Field(gt=0, allow_inf_nan=False)
    context_tokens: int = Field(default=0, ge=0)
    prompt_tokens: int | None = Field(default=None, ge=1)
    origin: str = ""


def calibrate(errors: list[float], spread: float, row_spread: float) -> tuple[float, float]:
    """Return how far measured rows move a prediction, and the spread that is left.

    ``errors`` are logarithms of measured over predicted. The habit of a set-up has the prior
    variance ``spread ** 2 - row_spread ** 2``; with ``n`` rows its posterior mean is ``w x mean``
    with ``w = prior / (prior + row / n)`` (shrinkage of a normal mean), and ``(1 - w) x prior`` of
    its variance is left, besides that of the row to come. The spread never grows.
    """
    if not errors:
        return 0.0, spread
    row = min(row_spread**2, 0.75 * spread**2)
    prior = spread**2 - row
    weight = prior / (prior + row / len(errors))
    left = (1 - weight) * prior + row
    return weight * sum(errors) / len(errors), min(spread, left**0.5)


def calibrated_factors(
    model: ShareModel, run: Run, seen: Iterable[Run] = ()
) -> tuple[float, float, float]:
    """Return low, middle and high of a run as factors of its ceiling.

    Parameters
    ----------
    seen
        Runs with ``tokens_per_s`` of the same set-up and phase; each is compared with what is
        predicted at its own depth and prompt. Those without a rate or a ceiling say nothing.
    """
    low, middle, high = model.factors(features(run), rough(run))
    errors = [
        log(row.tokens_per_s / row.ceiling / model.factors(features(row), rough(row))[1])
        for row in seen
        if row.phase == run.phase and row.tokens_per_s and row.ceiling
    ]
    spread = log(high / low) / (2 * Z80)
    shift, left = calibrate(errors, spread, ROW_SPREAD[run.phase])
    narrower = left / spread if spread else 1.0
    centre = log(middle) + shift
    # Both ends keep their distance from the middle in proportion: the tails are not alike.
    ends = (
        exp(centre + narrower * log(low / middle)),
        exp(centre),
        exp(centre + narrower * log(high / middle)),
    )
    if run.phase == "prefill":
        return ends  # kernels may multiply in narrower numbers than those of the ceiling
    low, middle, high = (min(1.0, end) for end in ends)
    return low, middle, high


def unexpected(model: ShareModel, seen: Iterable[Run]) -> bool:
    """Whether a measured run lies outside its own interval: rare, or another set-up."""
    for run in seen:
        low, _, high = calibrated_factors(model, run)
        if run.ceiling and not low <= (run.tokens_per_s or 0) / run.ceiling <= high:
            return True
    return False
