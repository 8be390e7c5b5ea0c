"""Values of other people, which may be anything: each function gives a safe one or an empty one."""

import math
from collections.abc import Callable
from typing import Any

#: What is further from one than this was never measured, and its sums and inverses overflow.
FAR = 1e21
#: Counts beyond this are no layers, heads, bits or modules.
MAX_COUNT = 2**53


def dict_of(value: Any) -> dict[str, Any]:
    """Return the object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a text that UTF-8 can hold; JSON may carry lone surrogates, which it cannot."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else ""


def is_number(value: Any) -> bool:
    """Whether it is a number, and no yes or no."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def finite(value: float) -> bool:
    """Whether it is a number; an integer may be of any size."""
    return abs(value) < math.inf


def typed(text: str) -> str | int | float:
    """Return a number where a text is a finite one, else the text."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if finite(value) else text
    return text


def measurable(value: float) -> bool:
    """Whether a figure may have been measured: of either sign, finite and not :data:`FAR` out."""
    return value == 0 or 1 / FAR <= abs(value) <= FAR


def far_out(tree: Any, at: str = "", possible: Callable[[float], bool] = measurable) -> str | None:
    """Return where in a tree of plain values the first figure stands that is not possible."""
    if isinstance(tree, int | float) and not possible(tree):
        return at
    pairs = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree if isinstance(tree, list | tuple) else ())
    )
    return next(
        (found for key, part in pairs if (found := far_out(part, f"{at}.{key}", possible))), None
    )


def count_of(value: Any) -> int | None:
    """Return a count of zero or more, or None."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if good else None
