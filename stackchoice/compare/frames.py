"""Passports and comparisons as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackchoice.compare.arms import Comparison
from stackchoice.confirm.passport import Passport, shown
from stackchoice.facts.frame import frame
from stackchoice.load.records import Sample

if TYPE_CHECKING:
    from pandas import DataFrame

#: What is told of a request: everything but what it said.
SAMPLE = [name for name in Sample.model_fields if name not in ("text", "reasoning")]


def passport_frame(passport: Passport) -> DataFrame:
    """Return one row for each item: part, item, value as text, and how it is known."""
    return frame(
        {"arm": passport.arm, "part": part, "item": item, "value": shown(value),
         "known": value is not None, "origin": str(origin) if origin else ""}
        for part, item, value, origin in passport.items()
    )  # fmt: skip


def sample_frame(*passports: Passport) -> DataFrame:
    """Return one row for each request that is kept singly, without its texts."""
    return frame(
        ({"arm": p.arm, **{n: getattr(s, n) for n in SAMPLE}} for p in passports
         for s in p.samples), ["arm", *SAMPLE],
    )  # fmt: skip


def figure_frame(comparison: Comparison) -> DataFrame:
    """Return one row for each pair and figure: both values, ratio, interval, what may be said."""
    return frame(
        {"first": p.first, "second": p.second, "figure": f.metric, "first value": f.first,
         "second value": f.second, "ratio": f.ratio, "low": f.low, "high": f.high,
         "told": f.told, "reason": f.reason} for p in comparison.pairs for f in p.figures
    )  # fmt: skip


def fairness_frame(comparison: Comparison) -> DataFrame:
    """Return one row for each pair and part of the six items, with both values."""
    return frame(
        {"first": p.first, "second": p.second, "item": i.title, "item status": i.status,
         "part": part.name, "status": part.status, "first value": part.first,
         "second value": part.second, "said": i.said}
        for p in comparison.pairs for i in p.fairness for part in i.parts
    )  # fmt: skip
