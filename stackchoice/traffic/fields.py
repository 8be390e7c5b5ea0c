"""What a row of a log says, whatever its columns are called."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from stackchoice.facts.traffic import KnownTrace, LogColumns

#: Bare numbers that can only be an epoch (2001 to 2286), by their size.
EPOCHS = ((1e9, 1e10, 1.0), (1e12, 1e13, 1e3), (1e15, 1e16, 1e6), (1e18, 1e19, 1e9))
FORMATS = ("%d/%b/%Y:%H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %Z", "%d.%m.%Y %H:%M:%S")
#: A date in which the day or the month stands first, and what may stand behind it.
SLASHED = re.compile(r"\s*(\d{1,2})/(\d{1,2})/\d{4}\b")
CLOCKS = ("%H:%M:%S", "%I:%M:%S %p", "%H:%M", "%I:%M %p")
UNITS = {"s": 1.0, "ms": 1e3}
#: Objects may hold objects, but logs keep nothing we read deeper than this.
DEPTH = 4
MOST_TOKENS = 1e9
#: Kinds of rows, by their keys, for which it is remembered where fields stand.
MOST_KINDS = 500

#: A path of keys, and the object of the row that it starts in.
Found = tuple[tuple[str, ...], int]


@lru_cache(10_000)
def plain(name: str) -> str:
    """Return a column's name without case, blanks and punctuation."""
    return "".join(c for c in name.lower() if c.isalnum())


class Instant(NamedTuple):
    """A moment: seconds since 1970, or since some start where ``relative``."""

    seconds: float
    relative: bool = False
    naive: bool = False


class Fields:
    """Look-up of a log's fields by all the names that logs give them."""

    def __init__(self, columns: LogColumns) -> None:
        self.containers = [plain(name) for name in columns.containers]
        self.names = {
            field.id: [tuple(plain(part) for part in name.split("/")) for name in field.names]
            for field in columns.fields
        }
        self._there: dict[tuple[tuple[str, ...], ...], dict[str, list[Found]]] = {}
        self.redactions = {text.lower() for text in columns.redactions}
        self.day_first: bool | None = None
        self.traces = [(trace, {plain(c) for c in trace.columns}) for trace in columns.traces]

    def learn_dates(self, rows: Iterable[tuple[int, dict[str, Any] | str]]) -> None:
        """Tell from the first date that only one way can be read whether the day stands first."""
        for _, row in rows:
            if isinstance(row, str):
                continue
            date = SLASHED.match(str(LogRow(self, row).get("arrival")))
            if date is None:
                return  # dates of another form
            first, second = int(date[1]), int(date[2])
            if (first > 12) != (second > 12):
                self.day_first = first > 12
                return

    def trace(self, row: dict[str, Any]) -> KnownTrace | None:
        """Return the public trace whose columns these are."""
        found = {plain(str(key)) for key in row}
        return next(
            (t for t, wanted in self.traces
             if wanted == found or (wanted <= found and not t.exact)), None,
        )  # fmt: skip

    def there(self, roots: list[dict[str, Any]]) -> dict[str, list[Found]]:
        """Return where each field may stand in a row with these keys; rows of a log are alike."""
        keys = tuple(tuple(root) for root in roots)
        if keys not in self._there:
            if len(self._there) >= MOST_KINDS:
                self._there.clear()
            self._there[keys] = {
                field: [(path, i) for path in paths for i, root in enumerate(roots)
                        if path[0] in root]
                for field, paths in self.names.items()
            }  # fmt: skip
        return self._there[keys]


class LogRow:
    """One row, asked by field. Absent, empty or of the wrong kind is None."""

    def __init__(self, fields: Fields, row: dict[str, Any]) -> None:
        self._fields = fields
        self._roots = list(_roots(row, fields.containers))
        self._there = fields.there(self._roots)

    def get(self, field: str) -> Any:
        """Return the first value found under the field's names."""
        for path, i in self._there[field]:
            value = self._roots[i][path[0]]
            for part in path[1:]:
                value = _keyed(_parsed(value))
                value = value.get(part) if isinstance(value, dict) else None
            if value is not None and value != "":
                return value
        return None

    def has(self, field: str) -> bool:
        """Whether the row has the field, be it empty."""
        return bool(self._there[field])

    def name(self, field: str) -> str:
        """Return the plain name under which a value of the field was found."""
        for path, i in self._there[field]:
            if len(path) == 1 and self._roots[i][path[0]] not in (None, ""):
                return path[0]
        return ""

    def parsed(self, field: str) -> Any:
        """Return a field whose value may be JSON as text."""
        return _parsed(self.get(field))

    def count(self, field: str) -> int | None:
        """Return a whole number of tokens; ``ValueError`` where it is there and is none."""
        value = self.get(field)
        if value is None:
            return None
        number = float(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ValueError
        if not 0 <= number <= MOST_TOKENS or number != int(number):  # also what is not a number
            raise ValueError
        return int(number)

    def seconds(self, field: str) -> float | None:
        """Return a duration in seconds from its columns in seconds or milliseconds."""
        for unit, per in UNITS.items():
            if (number := self.amount(f"{field}_{unit}")) is not None:
                return number / per
        return None

    def amount(self, field: str) -> float | None:
        """Return a number that is not negative, whatever its unit."""
        try:
            number = float(self.get(field))
        except (TypeError, ValueError, OverflowError):
            return None
        return number if math.isfinite(number) and number >= 0 else None

    def instant(self, field: str, unit: str | None) -> Instant | None:
        """Return a moment; a bare small number is relative and needs ``unit`` to be one.

        None too for a date whose day may be its month.

        ValueError when something is there and is no moment.
        """
        value = self.get(field)
        if value is None or isinstance(value, bool):
            return None
        try:
            number = float(value)
        except OverflowError:
            raise ValueError from None
        except (TypeError, ValueError):
            return _date(str(value), day_first=self._fields.day_first)
        if not math.isfinite(number) or number < 0:
            raise ValueError
        for low, high, per in EPOCHS:
            if unit is None and low <= number < high:
                return Instant(number / per)
        named = self.name(field)
        unit = unit or next((u for u in ("ms", "s") if named.endswith(f"timestamp{u}")), None)
        return None if unit is None else Instant(number / UNITS[unit], relative=True)


def _date(text: str, *, day_first: bool | None) -> Instant | None:
    text = text.strip()
    found = None
    forms: tuple[str, ...] = FORMATS
    if slashed := SLASHED.match(text):
        if day_first is None and int(slashed[1]) != int(slashed[2]):
            return None  # two days, and nothing in the log tells which
        forms = tuple(f"{'%d/%m' if day_first else '%m/%d'}/%Y {clock}" for clock in CLOCKS)
    try:
        found = datetime.fromisoformat(text.replace("/", "-").removesuffix(" UTC"))
    except ValueError:
        for form in forms:
            try:
                found = datetime.strptime(text, form)
                break
            except ValueError:
                continue
    if found is None:
        raise ValueError
    naive = found.tzinfo is None
    aware = found.replace(tzinfo=UTC) if naive else found
    seconds = aware.timestamp()
    if not 0 <= seconds < EPOCHS[0][1]:
        raise ValueError
    return Instant(seconds, naive=naive)


def _keyed(value: Any) -> Any:
    return {plain(str(k)): v for k, v in value.items()} if isinstance(value, dict) else value


def _parsed(value: Any) -> Any:
    """Return JSON kept as text as what it says; anything else as it is."""
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _roots(row: dict[str, Any], containers: list[str]) -> Iterator[dict[str, Any]]:
    level = [_keyed(row)]
    for _ in range(DEPTH):
        yield from level
        level = [
            _keyed(inner)
            for outer in level
            for name in containers
            if name in outer and isinstance(inner := _parsed(outer[name]), dict)
        ]
