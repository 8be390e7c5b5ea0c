"""The smallest fact: a value with its evidence class, its source and its date."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import date, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

T = TypeVar("T")
NUMBERS = (float | None, int | None)


def sure(value: T | None) -> T:
    """Return a value that a check elsewhere has shown to be known; TypeError where it is not."""
    if value is None:
        raise TypeError("a value is unknown that was taken to be known here")
    return value


class Evidence(StrEnum):
    """How a number is known. The class travels with the number into every chart and report.

    Examples
    --------
    >>> from stackchoice import Evidence
    >>> [kind.value for kind in Evidence]
    ['measured', 'reported', 'computed', 'inferred', 'stated', 'assumed']
    """

    MEASURED = "measured"  # here, by the runner
    REPORTED = "reported"  # measured by others, with source
    COMPUTED = "computed"  # arithmetic from stated inputs
    INFERRED = "inferred"  # concluded, not seen; worded "consistent with"
    STATED = "stated"  # a vendor's, publisher's or the team's own statement
    ASSUMED = "assumed"  # a default nobody checked


#: Weakest last: a result is only as good as the weakest input it rests on.
STRENGTH = (
    Evidence.MEASURED,
    Evidence.REPORTED,
    Evidence.STATED,
    Evidence.COMPUTED,
    Evidence.INFERRED,
    Evidence.ASSUMED,
)


def weakest(*classes: Evidence) -> Evidence:
    """Return the weakest of the given evidence classes (``COMPUTED`` when none is given).

    Arithmetic on facts is *computed*; arithmetic that uses an assumption stays *assumed*.
    """
    return max((*classes, Evidence.COMPUTED), key=STRENGTH.index)


class Record(BaseModel):
    """Base of everything that we write ourselves: frozen, and an unknown key is an error.

    Validators are built at first use: a command pays for the records that it makes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def content_hash(record: BaseModel) -> str:
    """Return the sha256 of everything a record says: an order that nobody chose."""
    return hashlib.sha256(record.model_dump_json().encode()).hexdigest()


@cache
def last_day(as_of: str) -> date:
    """Return the last day that a year, a month or a day can mean; ValueError for what is none."""
    parts = [int(part) for part in as_of.split("-")]
    if len(parts) == 3:
        return date(*parts)
    year, month = (parts[0], parts[1]) if len(parts) == 2 else (parts[0], 12)
    following = date(year + month // 12, month % 12 + 1, 1)
    return following - timedelta(days=1)


def is_future(as_of: str, today: date) -> bool:
    """Whether all days that a year, a month or a day can mean are still to come."""
    return as_of > today.isoformat()[: len(as_of)]


#: A year, month or day; YAML reads an unquoted 2026-11-29 as a date and 2026 as a number.
AsOf = Annotated[
    str,
    BeforeValidator(lambda v: str(v) if isinstance(v, date | int) else v),
    Field(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$"),
    AfterValidator(lambda v: last_day(v) and v),
]


def days_before(day: str, days: int) -> str:
    """Return the day that many days before a day, both written as 2026-11-29."""
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


class Source(Record):
    """Where a fact was read, and the date it holds for (``as_of``: year, month or day)."""

    title: str = ""
    url: str | None = None
    as_of: AsOf
    note: str = ""

    @model_validator(mode="after")
    def _named(self) -> Source:
        if not (self.url or self.title):
            raise ValueError("a source needs a url, or a title where nothing is online")
        return self

    @property
    def label(self) -> str:
        """Short text for people: the title, else the address."""
        return self.title or self.url or ""


class Datum(Record, Generic[T]):
    """A fact. ``value=None`` means unknown, and the product then says "unknown".

    An assumption needs no source but must say, in ``note``, why this value was taken.
    ``low`` and ``high`` give the range where a fact is known only as a range.

    Examples
    --------
    >>> from stackchoice import Datum, Evidence
    >>> share = Datum[float](value=0.9, evidence=Evidence.ASSUMED, note="the engine's default")
    >>> share.known, Datum[float]().known
    (True, False)
    """

    value: T | None = None
    low: T | None = None
    high: T | None = None
    evidence: Evidence = Evidence.STATED
    source: Source | None = None
    note: str = ""

    @model_validator(mode="before")
    @classmethod
    def _no_switch(cls, given: Any) -> Any:
        """Refuse yes and no for a number: they would silently be 1 and 0."""
        value = given.get("value") if isinstance(given, dict) else None
        if isinstance(value, bool) and cls.model_fields["value"].annotation in NUMBERS:
            raise ValueError(f"{value} is no number; write one, or null if unknown")
        return given

    @model_validator(mode="after")
    def _defended(self) -> Datum[T]:
        if self.value is None and (self.low is not None or self.high is not None):
            raise ValueError("a range needs a middle value as well")
        if self.value is None:
            return self
        for number in (self.value, self.low, self.high):
            if isinstance(number, float) and not math.isfinite(number):
                raise ValueError(f"{number} is no fact; write a finite number, or null if unknown")
        if self.evidence is Evidence.ASSUMED and not self.note:
            raise ValueError("an assumed value needs a note that says why it was taken")
        if self.evidence is not Evidence.ASSUMED and self.source is None:
            raise ValueError(f"a {self.evidence.value} value needs a source")
        return self

    @property
    def known(self) -> bool:
        """Whether there is a value at all."""
        return self.value is not None


def entry(table: Mapping[Any, Datum[bool]], key: str) -> Datum[bool]:
    """Return what a table says under a key; an unknown fact where it has no such key."""
    return table.get(key) or Datum[bool]()
