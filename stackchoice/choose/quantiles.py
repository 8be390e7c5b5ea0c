"""What one draw of an input or an assumption is: its value at a quantile of its range."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stackchoice.choose.case import Case
from stackchoice.facts.load import Facts
from stackchoice.scenario import ASSUMED_WHEN_UNKNOWN

if TYPE_CHECKING:
    import numpy as np


def assumed_ranges(facts: Facts) -> dict[str, tuple[float, float]]:
    """Return the assumptions that are quantities known as a range and no input's stand-in."""
    stand_ins = set(ASSUMED_WHEN_UNKNOWN.values())
    return {
        key: (a.datum.low, a.datum.high)
        for key, a in facts.assumptions.items()
        if a.datum.low is not None and a.datum.high is not None
        and not a.defines_a_word and key not in stand_ins
    }  # fmt: skip


def assumed_spread(facts: Facts, key: str) -> tuple[tuple[float, float], float | None]:
    """Return the ends and the middle of a named assumption, as of an input."""
    datum = facts.assumptions[key].datum
    return (datum.low or 0.0, datum.high or 0.0), datum.value


def stratified(random: np.random.Generator, count: int, levels: int) -> np.ndarray[Any, Any]:
    """Return one value of each of ``count`` equal strata, shuffled; or few levels in the middle."""
    import numpy as np

    column = random.permutation(count) + random.random(count)
    column = column / count
    return (np.floor(column * levels) + 0.5) / levels if levels else column


def value_at(span: tuple[Any, Any], likely: Any, where: Any) -> Any:
    """Return the value at a quantile: half below the likely value, half above, even on each side.

    Switches and words fall to either side alike.
    """
    low, high = span
    if isinstance(low, bool | str):
        return low if where < 0.5 else high
    middle = (low + high) / 2 if likely is None else likely
    low, middle, high = float(low), float(middle), float(high)
    below, above = low + (middle - low) * 2 * where, middle + (high - middle) * (2 * where - 1)
    if hasattr(where, "shape") and where.shape:
        return (where < 0.5) * below + (where >= 0.5) * above
    value = float(below if where < 0.5 else above)
    if isinstance(span[0], Decimal):
        return Decimal(f"{value:.2f}")
    return round(value) if isinstance(span[0], int) else value


def drawn_factors(
    random: np.random.Generator, inner: int, case: Case, inputs: dict[str, Any],
    key: tuple[str, str],
) -> Any:  # fmt: skip
    kind, name = key
    span, likely = (
        (inputs[name], case[name]) if kind == "input" else assumed_spread(case.facts, name)
    )
    if not likely:
        return 1.0
    span = (float(span[0]), float(span[1]))
    return value_at(span, float(likely), stratified(random, inner, 0)) / float(likely)
