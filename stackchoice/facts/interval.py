"""A predicted number as an interval, and what a measurement says of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from stackchoice.facts.datum import Evidence, Record

Verdict = Literal["confirmed", "refuted", "not informative", "not measured"]

#: An interval wider than this factor says too little to be confirmed by anything.
INFORMATIVE_FACTOR = 4.0


class Interval(Record):
    """A prediction: low to high with a middle, in ``unit``, of one evidence class."""

    low: float = Field(ge=0)
    middle: float = Field(ge=0)
    high: float = Field(ge=0)
    unit: str
    evidence: Evidence
    rests_on: list[str] = []

    @model_validator(mode="after")
    def _ordered(self) -> Interval:
        if not self.low <= self.middle <= self.high:
            raise ValueError(
                f"low {self.low} <= middle {self.middle} <= high {self.high} must hold"
            )
        return self

    @property
    def factor(self) -> float:
        """High over low: how wide the interval is."""
        return self.high / self.low if self.low else float("inf")

    @property
    def informative(self) -> bool:
        """Whether the interval is narrow enough (a factor of 4) to be worth confirming."""
        return self.factor <= INFORMATIVE_FACTOR

    def verdict(self, measured: float | None) -> Verdict:
        """Judge a measurement. Outside is refuted at any width; inside needs a useful width."""
        if measured is None:
            return "not measured"
        if not self.low <= measured <= self.high:
            return "refuted"
        return "confirmed" if self.informative else "not informative"
