"""Values of other people, which may be anything: each function gives a safe one or an empty one."""

from typing import Any

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


def count_of(value: Any) -> int | None:
    """Return a count of zero or more, or None."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if good else None
