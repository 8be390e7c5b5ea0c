"""Why a number is what it is: the sum that was run, and the facts that went into it.

A :class:`Told` is a number that remembers how it came about. Put into a formula in place of a
plain number it gives the same value, and the formula with its names and with its figures; so
what is shown is the arithmetic that ran, and is written down nowhere else. Formulas are typed for
plain numbers, so what stands in for one is typed ``Any``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import total_ordering
from typing import Any

from stackchoice.facts.datum import Datum, Evidence, Record, weakest

#: How tightly an operation binds; what binds less is put in brackets.
BINDS = {"+": 1, "-": 1, "×": 2, "/": 2, "neg": 3, "^": 4}
ATOM = 5
ROUNDING = ("floor", "ceil")
#: Digits that a figure is shown with, and decimals at least, so that money is told to the cent:
#: enough to work a sum out again but for the last of them.
DIGITS, DECIMALS = 5, 2
#: Beside so many digits before the point decimals say nothing, of money neither.
LONG = 9
#: Digits of what a function of several figures gives, which carries their rounding on.
CALLED_DIGITS = 2


class Cited(Record):
    """A fact of a sum: its value as text, how it is known, and who says so since when."""

    name: str
    value: str
    unit: str = ""
    evidence: Evidence | None = None
    source: str = ""
    url: str = ""
    as_of: str = ""
    note: str = ""


class Sum(Record):
    """One line of arithmetic: in names, in this case's figures, and its result."""

    name: str
    formula: str
    figures: str
    value: str
    unit: str = ""


class Why(Record):
    """What stands behind one answer: the rule, the sums in their order, the facts, the class."""

    answer: str
    rule: str
    sums: list[Sum] = []
    facts: list[Cited] = []
    evidence: Evidence | None = None
    notes: list[str] = []


@total_ordering
class Told:
    """A number with the operation and the numbers it came from; a leaf has a name instead."""

    __slots__ = ("name", "op", "parts", "value")

    def __init__(
        self, value: Any, name: str = "", op: str = "", parts: tuple[Any, ...] = ()
    ) -> None:
        self.value, self.name, self.op, self.parts = value, name, op, parts

    def text(self, *, names: bool) -> str:
        """Return the formula, with names of the facts or with their figures."""
        if not self.op:
            return self.name if names and self.name else figure(self.value)
        if self.op not in BINDS:
            return f"{self.op}({', '.join(_text(part, names) for part in self.parts)})"
        if self.op == "neg":
            return f"-{self._operand(0, names)}"
        return f"{self._operand(0, names)} {self.op} {self._operand(1, names)}"

    def _operand(self, at: int, names: bool) -> str:
        part = self.parts[at]
        own, inner = BINDS[self.op], BINDS.get(getattr(part, "op", ""), ATOM)
        loose = inner < own or (
            at == 1 and inner == own and (self.op in "-/^" or part.op != self.op)
        )
        text = _text(part, names)
        return f"({text})" if loose else text

    def __add__(self, other: Any) -> Told:
        return self if _plain(other, 0) else _made("+", self, other)

    def __radd__(self, other: Any) -> Told:
        return self if _plain(other, 0) else _made("+", other, self)

    def __sub__(self, other: Any) -> Told:
        return self if _plain(other, 0) else _made("-", self, other)

    def __rsub__(self, other: Any) -> Told:
        return _made("-", other, self)

    def __mul__(self, other: Any) -> Any:
        if _plain(other, 0):
            return 0 * self.value
        return self if _plain(other, 1) else _made("×", self, other)

    def __rmul__(self, other: Any) -> Any:
        if _plain(other, 0):
            return 0 * self.value
        return self if _plain(other, 1) else _made("×", other, self)

    def __truediv__(self, other: Any) -> Told:
        return self if _plain(other, 1) else _made("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if _plain(other, 0):
            return other / self.value
        if _plain(other, 1) and self.op == "/" and _plain(self.parts[0], 1):
            inner: Told = self.parts[1]
            return inner
        return _made("/", other, self)

    def __floordiv__(self, other: Any) -> Told:
        if _plain(other, 1) and isinstance(self.value, int):
            return self
        return Told(self.value // _value(other), "", "floor", (self / other,))

    def __rfloordiv__(self, other: Any) -> Told:
        return Told(_value(other) // self.value, "", "floor", (other / self,))

    def __pow__(self, other: Any) -> Told:
        return _made("^", self, other)

    def __neg__(self) -> Told:
        inner = self.parts[0] if self.op == "floor" else None
        top = inner.parts[0] if isinstance(inner, Told) and inner.op == "/" else None
        if isinstance(top, Told) and top.op == "neg":  # -(-a // b) rounds up
            return Told(-self.value, "", "ceil", (top.parts[0] / self.parts[0].parts[1],))
        if self.op == "neg":
            whole: Told = self.parts[0]
            return whole
        return Told(-self.value, "", "neg", (self,))

    def __ceil__(self) -> Told:
        return self._rounded("ceil", math.ceil)

    def __floor__(self) -> Told:
        return self._rounded("floor", math.floor)

    def _rounded(self, name: str, rounding: Callable[[Any], int]) -> Told:
        if self.op in ROUNDING or isinstance(self.value, int):
            return self
        return Told(rounding(self.value), "", name, (self,))

    def __eq__(self, other: object) -> bool:
        return bool(self.value == _value(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _value(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


def called(name: str, function: Callable[..., Any], *parts: Any) -> Told:
    """Return what a function gives, shown as its name with the numbers it was given."""
    return Told(function(*map(_value, parts)), "", name, parts)


class Working:
    """The facts and sums of one answer, in the order in which they were used.

    What it returns are :class:`Told`, typed as Any since they go where plain numbers go.
    """

    def __init__(self) -> None:
        self.facts: list[Cited] = []
        self.sums: list[Sum] = []

    def fact(
        self, name: str, value: Any, unit: str = "", datum: Datum[Any] | None = None, *,
        called: str = "", evidence: Evidence = Evidence.COMPUTED, source: str = "", as_of: str = "",
        note: str = "",
    ) -> Any:  # fmt: skip
        """Take a fact into the sums: with the source of its datum, or with what is said here.

        ``called`` is its name inside formulas, where that is shorter.
        """
        known = datum.source if datum else None
        self.facts.append(
            Cited(
                name=name, value=shown(value), unit=unit,
                evidence=datum.evidence if datum and datum.known else evidence,
                source=known.label if known else source, url=known.url or "" if known else "",
                as_of=known.as_of if known else as_of, note=datum.note if datum else note,
            )
        )  # fmt: skip
        return Told(value, called or name)

    def step(self, name: str, told: Any, unit: str = "", *, called: str = "") -> Any:
        """Write a sum down, and return its result as a number for the next one."""
        value = _value(told)
        if isinstance(told, Told) and told.op:
            formula, figures = told.text(names=True), told.text(names=False)
            plain = told.op in BINDS or told.op in ROUNDING
            text = shown(value) if plain else figure(value, CALLED_DIGITS)
            self.sums.append(
                Sum(name=name, formula=formula, figures=figures, value=text, unit=unit)
            )
        return Told(value, called or name)

    def why(
        self, answer: str, rule: str, evidence: Evidence | None = None, notes: Iterable[str] = (),
    ) -> Why:  # fmt: skip
        """Return it all; the class is the weakest of the facts where none is given."""
        classes = [f.evidence for f in self.facts if f.evidence is not None]
        return Why(
            answer=answer, rule=rule, sums=self.sums, facts=self.facts,
            evidence=evidence or weakest(*classes), notes=[note for note in notes if note],
        )  # fmt: skip


def figure(value: Any, digits: int = DIGITS) -> str:
    """Return a number with the digits that mean something, and separators."""
    if isinstance(value, int) or value == int(value):
        return f"{value:,.0f}"
    whole = len(str(abs(int(value)))) if abs(value) >= 1 else math.floor(math.log10(abs(value))) + 1
    text = f"{value:,.{max(0, digits - whole, min(DECIMALS, LONG - whole))}f}"
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


def _made(op: str, one: Any, other: Any) -> Told:
    a, b = _value(one), _value(other)
    value = {"+": lambda: a + b, "-": lambda: a - b, "×": lambda: a * b, "/": lambda: a / b,
             "^": lambda: a**b}[op]()  # fmt: skip
    return Told(value, "", op, (one, other))


def _plain(value: Any, number: int) -> bool:
    return not isinstance(value, Told) and bool(value == number)


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Told) else value


def _text(part: Any, names: bool) -> str:
    return part.text(names=names) if isinstance(part, Told) else figure(part)
