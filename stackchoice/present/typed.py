"""Numbers as people type them into forms: one that can be read in two ways is refused."""

import re

from stackchoice.errors import InputError
from stackchoice.facts.values import typed

#: Above any figure that is asked for or printed; a longer number is a slip of the hand.
MOST = 10**12
#: A thousand with its separator, or a number with three decimals: nobody can tell.
EITHER = re.compile(r"[1-9]\d{0,2}([.,]\d{3})+")
#: As engines print a count: thousands set off by commas.
PRINTED = re.compile(r"\d{1,3}(,\d{3})+")


def two_ways(text: str) -> str:
    """Return why a typed number is refused, where it can be read in two ways; else nothing."""
    if not EITHER.fullmatch(text):
        return ""
    whole, parts = re.sub(r"[.,]", "", text), re.split(r"[.,]", text)
    less = f"{parts[0]}.{parts[1].rstrip('0')}".rstrip(".")
    less = f"{less}0" if EITHER.fullmatch(less) else less
    or_less = f" or {less}" if len(parts) == 2 else ""
    return f"{text!r} can be read in two ways; write {whole}{or_less}"


def typed_whole(text: str, what: str, *, printed: bool = False) -> int:
    """Read a whole number from 1 on.

    Parameters
    ----------
    what
        What it is, for the error.
    printed
        Whether it is a figure as an engine printed it, with commas between thousands.

    Raises
    ------
    InputError
        When it is none, or nobody can tell which.
    """
    text = text.strip()
    plain = text.replace(",", "") if printed and PRINTED.fullmatch(text) else text
    if reason := two_ways(plain):
        raise InputError(f"{what}: {reason}")
    value = typed(plain)
    if not isinstance(value, int):
        raise InputError(f"{what}: {text!r} is no whole number; write digits")
    if not 1 <= value <= MOST:
        raise InputError(f"{what}: {text!r} is not from 1 to {MOST:,}; write digits")
    return value


def typed_amount(text: str, what: str, *, printed: bool = False) -> float:
    """Read a positive number, as :func:`typed_whole` reads a whole one.

    InputError when it is none, or nobody can tell which.
    """
    text = text.strip()
    if not printed and (reason := two_ways(text)):
        raise InputError(f"{what}: {reason}")
    value = typed(text)
    if isinstance(value, str) or not 0 < value <= MOST:
        raise InputError(f"{what}: {text!r} is no such number; write one such as 54.82")
    return value
