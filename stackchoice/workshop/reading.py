"""What a person typed as an answer, read as a number in the question's unit, or as words."""

import math
import re
from decimal import Decimal
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts.yaml import shown

_BINARY = {"b": 1} | {f"{p}ib": 2 ** (10 * i) for i, p in enumerate("kmgt", 1)}
_DECIMAL = {f"{p}b": 1000**i for i, p in enumerate("kmgt", 1)}
_MILLIONS = ("million", "million tokens", "mtok", "m tokens")
#: Units that convert into each other, each as a table of what one is worth.
DIMENSIONS: tuple[dict[str, float], ...] = (
    {**_BINARY, **_DECIMAL, "byte": 1, "bytes": 1},
    {"tokens/s": 1, "tok/s": 1, "tokens per second": 1, "t/s": 1},
    {"tokens": 1, "tok": 1, "token": 1, **dict.fromkeys(_MILLIONS, 1e6)},
    {"%": 1, "percent": 1, "per cent": 1},
    {"usd": 1, "$": 1, "dollars": 1},
    {"times": 1, "x": 1},
    {"sequences": 1, "sequence": 1, "users": 1, "requests": 1, "readings": 1, "blocks": 1},
)
_NUMBER = re.compile(r"\s*(\$?)\s*([-+]?[\d.,_' ]*\d[\d.,_']*(?:[eE][-+]?\d+)?)\s*(.*?)\s*", re.S)
#: Thousands set off in groups of three by one sign, or none; the decimal sign is a point.
_PLAIN = re.compile(r"[-+]?(\d{1,3}(?:([,_' ])\d{3}(?:\2\d{3})*)?|\d*)(\.\d*)?([eE][-+]?\d+)?")
_YES = {True: "yes", False: "no"}
_LONGEST = 200


def unanswered(answer: Any) -> bool:
    """Whether nothing was answered yet."""
    return answer is None or answer is Ellipsis or (isinstance(answer, str) and not answer.strip())


def read_number(answer: Any, unit: str) -> float:
    """Read ``36``, ``"36"``, ``"512 MiB"`` or ``"1,234.5"`` in the unit of the question.

    InputError when it is no number, or in a unit of another kind.
    """
    if not isinstance(answer, str):
        plain = getattr(answer, "item", lambda: answer)()  # numbers of numpy and pandas
        if isinstance(plain, bool) or not isinstance(plain, int | float | Decimal):
            name = type(answer).__name__
            raise InputError(f"a {name} is no number; give one, as 12 or '12 {unit}'")
        return _finite(float(plain), unit)
    found = _NUMBER.fullmatch(answer) if len(answer) <= _LONGEST else None
    if found is None:
        raise InputError(f"{shown(answer)!r} is no number; give one, as 12 or '12 {unit}'")
    dollar, digits, said = found.groups()
    try:
        value = float(re.sub(r"[,_' ]", "", digits) if _PLAIN.fullmatch(digits) else "")
    except ValueError:
        raise InputError(
            f"{shown(answer)!r} is no number here; the decimal sign is a point: 1234.5 or 1,234.5"
        ) from None
    return _finite(value * _factor(said or dollar, unit), unit)


def read_words(answer: Any) -> str:
    """Read a choice or a name: case, spaces and punctuation at the ends do not matter."""
    text = _YES.get(answer, answer) if isinstance(answer, bool) else answer
    return " ".join(str(text)[:_LONGEST].replace("_", " ").split()).strip(" .!\"'").casefold()


def _factor(said: str, unit: str) -> float:
    """Return what one of the said unit is in the wanted one."""
    said, wanted = " ".join(said.casefold().split()), unit.casefold()
    if not said or said == wanted:
        return 1
    for table in DIMENSIONS:
        if said in table and wanted in table:
            return table[said] / table[wanted]
    raise InputError(f"{shown(said)!r} is not the unit asked for; give {unit or 'a bare number'}")


def _finite(value: float, unit: str) -> float:
    if not math.isfinite(value):
        raise InputError(f"{value} is no answer; give a finite number in {unit or 'figures'}")
    return value
