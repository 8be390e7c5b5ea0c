"""Passports and comparisons as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackchoice.compare.arms import Comparison
from stackchoice.confirm.passport import Passport, shown

if TYPE_CHECKING:
    from pandas import DataFrame


def passport_frame(passport: Passport) -> DataFrame:
    """Return one row for each item: part, item, value as text, and how it is known."""
    return _frame(
        [{"arm": passport.arm, "part": part, "item": item, "value": shown(value),
          "known": value is not None, "origin": str(origin) if origin else ""}
         for part, item, value, origin in passport.items()],
        ("arm", "part", "item", "value", "known", "origin"),
    )  # fmt: skip


def sample_frame(*passports: Passport) -> DataFrame:
    """Return one row for each request that is kept singly, without its texts."""
    names = [f for f in _sample_fields() if f not in ("text", "reasoning")]
    return _frame(
        [{"arm": p.arm, **{n: getattr(s, n) for n in names}} for p in passports for s in p.samples],
        ("arm", *names),
    )  # fmt: skip


def figure_frame(comparison: Comparison) -> DataFrame:
    """Return one row for each pair and figure: both values, ratio, interval, what may be said."""
    return _frame(
        [{"first": p.first, "second": p.second, "figure": f.metric, "first value": f.first,
          "second value": f.second, "ratio": f.ratio, "low": f.low, "high": f.high,
          "told": f.told, "reason": f.reason} for p in comparison.pairs for f in p.figures],
        ("first", "second", "figure", "first value", "second value", "ratio", "low", "high",
         "told", "reason"),
    )  # fmt: skip


def fairness_frame(comparison: Comparison) -> DataFrame:
    """Return one row for each pair and part of the six items, with both values."""
    return _frame(
        [{"first": p.first, "second": p.second, "item": i.title, "item status": i.status,
          "part": part.name, "status": part.status, "first value": part.first,
          "second value": part.second, "said": i.said}
         for p in comparison.pairs for i in p.fairness for part in i.parts],
        ("first", "second", "item", "item status", "part", "status", "first value",
         "second value", "said"),
    )  # fmt: skip


def _sample_fields() -> list[str]:
    from stackchoice.load.records import Sample

    return list(Sample.model_fields)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns))
