"""Why a number is what it is: the sum that was run, and the facts that went into it.

A :class:`Told` is a number that remembers how it came about. Put into a formula in place of a
plain number it gives the same value, and the formula with its names and with its figures; so
what is shown is the arithmetic that ran, and is written down nowhere else. Formulas are typed for
plain numbers, so what stands in for one is typed ``Any``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from functools import total_ordering
from typing import Any

from stackchoice.facts.datum import Datum, Evidence, Record, weakest
from stackchoice.facts.figures import DIGITS, decimals, figure, read, rounded, shown

#: How tightly an operation binds; what binds less is put in brackets.
BINDS = {"+": 1, "-": 1, "×": 2, "/": 2, "neg": 3, "^": 4}
ATOM = 5
RUNS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "×": operator.mul, "/": operator.truediv,
    "^": operator.pow, "neg": operator.neg, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip
#: Digits that a sum must have in common with what its own figures give; else they are told finer.
COMMON, FINER = 2, 12


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
    """A number with the operation and the numbers it came from; a leaf has a name instead.

    ``run`` is the operation itself; ``shown`` how a leaf was told before, which stays its figure.
    """

    __slots__ = ("name", "op", "parts", "run", "shown", "value")

    def __init__(
        self, value: Any, name: str = "", op: str = "", parts: tuple[Any, ...] = (), *,
        run: Callable[..., Any] | None = None, shown: str = "",
    ) -> None:  # fmt: skip
        self.value, self.name, self.op, self.parts = value, name, op, parts
        self.run, self.shown = run or RUNS.get(op), shown

    def text(self, *, names: bool, digits: int = DIGITS) -> str:
        """Return the formula, with names of the facts or with their figures."""
        if not self.op:
            return self.name if names and self.name else self._figure(digits)
        if self.op not in BINDS:
            inside = ", ".join(_text(part, names, digits) for part in self.parts)
            return f"{self.op}({inside})"
        if self.op == "neg":
            return f"-{self._operand(0, names, digits)}"
        one, other = (self._operand(at, names, digits) for at in (0, 1))
        return f"{one} {self.op} {other}"

    def again(self, digits: int) -> Any:
        """Return what the figures give that are shown."""
        if not self.op or self.run is None:
            return read(self._figure(digits), self.value)
        return self.run(*(_again(part, digits) for part in self.parts))

    def _figure(self, digits: int) -> str:
        return self.shown if self.shown and digits == DIGITS else figure(self.value, digits)

    def _operand(self, at: int, names: bool, digits: int) -> str:
        part = self.parts[at]
        own, inner = BINDS[self.op], BINDS.get(getattr(part, "op", ""), ATOM)
        loose = inner < own or (
            at == 1 and inner == own and (self.op in "-/^" or part.op != self.op)
        )
        text = _text(part, names, digits)
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
        if self.op in ("floor", "ceil") or isinstance(self.value, int):
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
    return Told(function(*map(_value, parts)), "", name, parts, run=function)


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
        if not (isinstance(told, Told) and told.op):
            return Told(value, called or name)
        digits, text = _in_common(told)
        self.sums.append(
            Sum(name=name, formula=told.text(names=True), value=text, unit=unit,
                figures=told.text(names=False, digits=digits))
        )  # fmt: skip
        return Told(value, called or name, shown=text)

    def why(
        self, answer: str, rule: str, evidence: Evidence | None = None, notes: Iterable[str] = (),
    ) -> Why:  # fmt: skip
        """Return it all; the class is the weakest of the facts where none is given."""
        classes = [f.evidence for f in self.facts if f.evidence is not None]
        return Why(
            answer=answer, rule=rule, sums=self.sums, facts=self.facts,
            evidence=evidence or weakest(*classes), notes=[note for note in notes if note],
        )  # fmt: skip


def _in_common(told: Told) -> tuple[int, str]:
    """Return with how many digits to show the figures of a sum, and its value as they give it.

    Rounded figures give a result in fewer digits than they have: what is shown is what both agree
    in. Where that is next to nothing (a difference of like numbers, a whole at an edge) the
    figures are shown finer.
    """
    text = shown(told.value)
    if not math.isfinite(told.value):
        return DIGITS, text
    most = len(text.partition(".")[2])
    least = min(most, decimals(told.value, COMMON)) if most else 0
    for digits in (DIGITS, FINER):
        given = told.again(digits)
        for places in range(most, least - 1, -1):
            if (text := rounded(told.value, places)) == rounded(given, places):
                return digits, text
    return FINER, shown(told.value)


def _made(op: str, one: Any, other: Any) -> Told:
    return Told(RUNS[op](_value(one), _value(other)), "", op, (one, other))


def _plain(value: Any, number: int) -> bool:
    return not isinstance(value, Told) and bool(value == number)


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Told) else value


def _text(part: Any, names: bool, digits: int) -> str:
    return part.text(names=names, digits=digits) if isinstance(part, Told) else figure(part, digits)


def _again(part: Any, digits: int) -> Any:
    return part.again(digits) if isinstance(part, Told) else read(figure(part, digits), part)
