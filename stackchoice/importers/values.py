"""Reading other people's files: each function gives a safe value or None, nothing is trusted."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from stackchoice.confirm import protocol
from stackchoice.confirm.identity import Setting
from stackchoice.confirm.passport import Lengths
from stackchoice.facts.datum import Evidence
from stackchoice.facts.values import measurable, text_of
from stackchoice.facts.yaml import shown
from stackchoice.load.records import Spread
from stackchoice.load.rules import load_rules

MAX_TEXT = 300


def number(value: Any, scale: float = 1.0) -> float | None:
    """Return a number that may have been measured, scaled; numbers in CSV come as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value) * scale
    except OverflowError:
        return None
    return found if found >= 0 and measurable(found) else None


def whole(value: Any) -> int | None:
    """Return a count."""
    found = number(value)
    return int(found) if found is not None and found == int(found) and found < 2**53 else None


def words(value: Any) -> str | None:
    """Return a text that is safe to show, or None for an empty one."""
    return shown(text_of(value), MAX_TEXT).strip() or None


def at(tree: Any, *path: str | int) -> Any:
    """Follow keys and indices; None as soon as one is missing."""
    for step in path:
        if isinstance(step, int):
            tree = tree[step] if isinstance(tree, list) and -len(tree) <= step < len(tree) else None
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def rows(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def plain(tree: Any) -> dict[str, Setting]:
    """Return the plain values of an object, safe to show."""
    if not isinstance(tree, dict):
        return {}
    found: dict[str, Setting] = {}
    for key, value in tree.items():
        if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            found[shown(str(key), 100)] = value
        elif isinstance(value, str) and value:
            found[shown(str(key), 100)] = shown(text_of(value), MAX_TEXT)
    return found


def spread(
    *, n: int | None, median: float | None = None, mean: float | None = None,
    low: float | None = None, high: float | None = None, **percentiles: float | None,
) -> Spread | None:  # fmt: skip
    """Return a reported figure; percentiles only where the samples are enough for them."""
    centre = mean if median is None else median
    if centre is None or n == 0:
        return None
    floors = load_rules().percentile_floors
    earned = {name: value for name, value in percentiles.items()
              if value is not None and n is not None and n >= floors[name]}  # fmt: skip
    low = None if low is not None and low > centre else low
    high = None if high is not None and high < centre else high
    return Spread(n=n, median=centre, centre="mean" if median is None else "median", low=low,
                  high=high, evidence=Evidence.REPORTED, **earned)  # fmt: skip


def spread_of(values: Iterable[float | None]) -> Spread | None:
    """Summarise the values of single requests, as somebody else measured them."""
    return Spread.of(values, Evidence.REPORTED)


def lengths(
    values: Sequence[float | None] = (), *, asked: str | None = None, n: int | None = None,
    mean: float | None = None, low: float | None = None, p50: float | None = None,
    high: float | None = None,
) -> Lengths | None:  # fmt: skip
    """Return lengths from single requests, or from what is reported of them."""
    if any(v is not None for v in values):
        return protocol.lengths(values, asked)
    if asked is None and mean is None:
        return None
    return Lengths(asked=asked, n=n, mean=mean, low=low, p50=p50, high=high)
