"""Captured texts become values: counts with separators, sizes in GiB, shares, settings."""

import math
import re
from itertools import islice
from typing import Any

from stackchoice.facts.secrets import without_keys
from stackchoice.read.log_patterns import Kind

#: Bytes of the units in which engines print sizes; Go's ``GB`` is decimal, its ``GiB`` binary.
UNITS = {
    "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
}  # fmt: skip
SIZE = re.compile(r"(-?[\d.]{1,20}) ?([KMGT]?i?B)")
NUMBER = re.compile(r"-?\d[\d,]{0,24}(?:\.\d{0,12})?(?:[eE][+-]?\d{1,3})?")
#: 'key': value and key=value of a Python repr; values that are no plain ones are passed over.
VALUE = r"('[^']{0,500}'|\"[^\"]{0,500}\"|-?\d[\d.eE+-]{0,24}|[A-Za-z_][\w.]{0,60})"
PYTHON = re.compile(rf"(?:'(\w{{1,60}})': |\b(\w{{1,60}})=){VALUE}(?=[,)}}\s]|\Z)")
#: --flag value of a command line.
FLAGS = re.compile(r"(?<![\w-])--?([a-zA-Z][\w-]{0,50})(?:[ =]((?!-[a-zA-Z-])[^\s\"']{1,300}))?")
#: A dump has some hundreds of settings.
MOST_SETTINGS = 800


def value_of(text: str | None, kind: Kind) -> Any:
    """Return the value of a captured text, or None where it is none."""
    if text is None:
        return None
    if kind == "text":
        return text.strip() or None
    if kind == "switch":
        return text.strip().lower() in ("1", "true", "enabled", "on", "yes")
    if kind == "numbers":
        found = [_number(part) for part in NUMBER.findall(text)]
        return [x for x in found if x is not None] or None
    if kind == "gib":
        return gib_of(text)
    if kind == "share":
        share = _number(text.rstrip("%"))
        return share / 100 if share is not None and text.endswith("%") else share
    if kind == "capability":  # 86 is 8.6, 120 is 12.0
        return f"{text[:-1]}.{text[-1]}" if text.isdigit() else None
    number = _number(text)
    return int(number) if kind == "count" and number is not None else number


def gib_of(text: str) -> float | None:
    """Return a printed size with its unit as GiB."""
    match = SIZE.search(text)
    number = _number(match.group(1)) if match else None
    return number * UNITS[match.group(2)] / 2**30 if match and number is not None else None


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def settings_of(text: str, pairs: str) -> dict[str, Any]:
    """Return the plain settings that a line lists, at most :data:`MOST_SETTINGS`, without keys."""
    found: dict[str, Any] = {}
    text = without_keys(text)
    if pairs == "python":
        for match in islice(PYTHON.finditer(text), MOST_SETTINGS):
            # A draft model's own settings follow under the same names.
            found.setdefault(match.group(1) or match.group(2), _python(match.group(3)))
        return found
    for match in islice(FLAGS.finditer(text), MOST_SETTINGS):
        found[match.group(1)] = True if match.group(2) is None else _plain(match.group(2))
    return found


def _python(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    constants = {"True": True, "False": False, "None": None}
    return constants[text] if text in constants else _plain(text.removeprefix("torch."))


def _plain(text: str) -> Any:
    number = _number(text)
    if number is None or not NUMBER.fullmatch(text):
        return text
    return int(number) if number == int(number) and "." not in text else number
