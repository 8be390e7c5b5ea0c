"""How many digits a number is told with, wherever sums are told."""

import math
from decimal import Decimal
from typing import Any

#: Digits that a figure is shown with, and decimals at least, so that money is told to the cent:
#: enough to work a sum out again but for the last of them.
DIGITS, DECIMALS = 5, 2
#: Beside so many digits before the point decimals say nothing, of money neither.
LONG = 9


def figure(value: Any, digits: int = DIGITS) -> str:
    """Return a number with the digits that mean something, and separators."""
    if isinstance(value, int) or value == int(value):
        return f"{value:,.0f}"
    return rounded(value, max(decimals(value, digits), min(DECIMALS, decimals(value, LONG))))


def decimals(value: Any, digits: int) -> int:
    """Return how many decimals a number has with so many digits."""
    whole = len(str(abs(int(value)))) if abs(value) >= 1 else math.floor(math.log10(abs(value))) + 1
    return max(0, digits - whole)


def rounded(value: Any, places: int) -> str:
    """Return a number with at most so many decimals."""
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(value: Any) -> str:
    """Return any value as text: numbers with their digits, nothing as unknown."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | Decimal):
        return figure(value) if math.isfinite(value) else "never"
    return str(value)


def read(text: str, value: Any) -> Any:
    """Return a figure as a number of the value's kind."""
    return type(value)(text.replace(",", ""))
