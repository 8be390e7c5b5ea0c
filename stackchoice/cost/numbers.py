"""Arithmetic that serves Decimal, float and numpy arrays alike, so that a formula stands once.

A bill is Decimal; ten thousand draws are arrays. Constants in the formulas are whole numbers,
because Decimal takes no float. Decimal and arrays do not mix: a caller with arrays gives floats.
"""

import math
from decimal import Decimal
from functools import lru_cache
from typing import Any

#: A number of whichever kind the caller counts in.
Number = Any

MILLION = 1_000_000
MONTHS_PER_YEAR = 12
SECONDS_PER_HOUR = 3600
INFINITE = Decimal("Infinity")


def decimal(value: float | int | Decimal) -> Decimal:
    """Return a number as Decimal by its shortest text, so 0.1 stays 0.1; others as they are."""
    return _shortest(value) if isinstance(value, int | float) else value


@lru_cache(maxsize=4096, typed=True)
def _shortest(value: float | int) -> Decimal:
    """The same prices and shares come thousands of times a decision."""
    return Decimal(str(value))


def ceil(value: Number) -> Number:
    """Round up to whole numbers."""
    if _array(value):
        import numpy as np

        return np.ceil(value)
    return math.ceil(value)


def larger(one: Number, other: Number) -> Number:
    """Return the larger of two, element by element."""
    return where(one > other, one, other)


def smaller(one: Number, other: Number) -> Number:
    """Return the smaller of two, element by element."""
    return where(one < other, one, other)


def where(condition: Any, yes: Number, no: Number) -> Number:
    """Return ``yes`` where the condition holds and ``no`` elsewhere; both are worked out."""
    if _array(condition):
        import numpy as np

        return np.where(condition, yes, no)
    return yes if condition else no


def infinite_like(value: Number) -> Number:
    """Return infinity in the kind of ``value``."""
    return INFINITE if isinstance(value, Decimal) else math.inf


def _array(value: Any) -> bool:
    """Whether this counts in numpy, told without importing it."""
    return hasattr(value, "__array_ufunc__")
