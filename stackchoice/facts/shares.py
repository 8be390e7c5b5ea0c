"""The fitted share of a ceiling: effects, how they hang together, and quantiles of errors."""

from collections.abc import Iterable
from math import exp, prod
from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import Record, Source


class ShareModel(Record):
    """Logarithm of measured over ceiling as a sum of effects, each with its own spread.

    ``terms`` maps a feature to (effect, spread); ``together`` are the correlations of effects that
    some measured run combined (the sum of a device's and its class's is known better than either);
    ``priors`` is the spread of a member nobody measured, by kind of feature; ``doubt`` is how much
    the variance of the effects counts beside that of a row; ``rough`` widens the spread of rows by
    trait. ``low``, ``middle`` and ``high`` are quantiles of the errors on groups left out of the
    fit, in units of the predicted spread; they make 80 % intervals.
    """

    phase: Literal["decode", "prefill"] = "decode"
    terms: dict[str, tuple[float, float]]
    together: dict[str, dict[str, float]] = {}
    priors: dict[str, float]
    doubt: float = Field(default=1.0, ge=0)
    spread: float = Field(gt=0)
    rough: dict[str, float] = {}
    low: float = -1.28
    middle: float = 0
    high: float = 1.28
    rows: int = 0
    groups: int = 0

    def own_spread(self, rough: Iterable[str] = ()) -> float:
        """Return the spread of one row of a new source, effects being exact."""
        return self.spread * prod(self.rough.get(trait, 1.0) for trait in rough)

    def predict(self, features: dict[str, float], rough: Iterable[str] = ()) -> tuple[float, float]:
        """Return the sum of the effects and its spread, in logarithms.

        Variance of a sum: squares, and twice the products of pairs times their correlation.
        Members nobody measured hang together with nothing.
        """
        total, variance, parts = 0.0, 0.0, {}
        for name, value in features.items():
            effect, sd = self.terms.get(name, (0.0, self.priors[name.split(":")[0]]))
            total += effect * value
            parts[name] = sd * value
            variance += parts[name] ** 2
        for name, part in parts.items():
            for other, correlation in self.together.get(name, {}).items():
                variance += 2 * correlation * part * parts.get(other, 0.0)
        doubt = self.doubt * max(0.0, variance)
        return total, (self.own_spread(rough) ** 2 + doubt) ** 0.5

    def factors(
        self, features: dict[str, float], rough: Iterable[str] = ()
    ) -> tuple[float, float, float]:
        """Return low, middle and high as factors of the ceiling."""
        total, sd = self.predict(features, rough)
        low, middle, high = (exp(total + q * sd) for q in (self.low, self.middle, self.high))
        return low, middle, high


class SpeedScore(Record):
    """How good the intervals of one ask were on public rows that were left out of the fit.

    ``seen`` rows of the same set-up had been measured. Coverage, median width (high over low) and
    interval score (of logarithms) let every repository weigh the same, and so does the error.
    """

    ask: str
    rows_of: Literal["all", "set-ups measured twice"]
    seen: int = Field(default=0, ge=0)
    answered: int = Field(ge=0)
    unknown: int = Field(ge=0)
    sources: int = Field(ge=0)
    coverage: float = Field(ge=0, le=1)
    median_high_over_low: float = Field(ge=1)
    interval_score: float = Field(ge=0)
    median_error: float = Field(ge=0)
    source: Source | None = None
