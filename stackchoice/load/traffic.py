"""A traffic file: when each request came, and how long its prompt and its answer were."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts.datum import Record
from stackchoice.facts.load import data_dir
from stackchoice.facts.yaml import read_yaml
from stackchoice.load.untrusted import visible

MAX_BYTES = 256 * 2**20
MAX_TOKENS = 10_000_000


class Arrival(Record):
    """One request of a traffic file: seconds after the first, tokens in, tokens out."""

    at_s: float
    input_tokens: int
    output_tokens: int


class Traffic(Record):
    """A traffic file as read, in order of time, with its sha256."""

    arrivals: tuple[Arrival, ...]
    format: str
    sha256: str

    @property
    def rate_per_s(self) -> float:
        """Mean requests a second."""
        last = self.arrivals[-1].at_s
        return len(self.arrivals) / last if last else float(len(self.arrivals))


def read_traffic(path: Path | str, *, limit: int | None = None) -> Traffic:
    """Read a traffic file (CSV with a header, or JSON lines) of a known format.

    Parameters
    ----------
    path
        Columns ``at_s, input_tokens, output_tokens``, or those of a public trace named in
        ``data/traffic_formats.yaml``.
    limit
        Take the first so many lines only.

    Raises
    ------
    InputError
        When the file cannot be read, has other columns, or a line makes no sense.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: more than {MAX_BYTES} bytes; cut it to the part you replay")
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InputError(f"{path}: cannot be read ({reason}); give a traffic file") from None
    formats = read_yaml(data_dir() / "traffic_formats.yaml")["formats"]
    found: list[Arrival] = []
    chosen: dict[str, Any] | None = None
    first = 0.0
    for line, row in _rows(path, text):
        if limit is not None and len(found) >= limit:
            break
        if chosen is None:
            chosen = next((f for f in formats if _columns(f) <= set(row)), None)
            if chosen is None:
                known = "; ".join(", ".join(sorted(_columns(f))) for f in formats)
                has = visible(", ".join(map(str, row)), 200) or "none"
                raise InputError(
                    f"{path}: has columns {has}; a traffic file has one of these sets: {known}"
                )
            first = _seconds(path, line, row[chosen["at"]], chosen["unit"])
        found.append(_arrival(path, line, row, chosen, first))
    if chosen is None or not found:
        raise InputError(f"{path}: holds no request; give a traffic file with one line for each")
    found.sort(key=lambda a: a.at_s)
    start = found[0].at_s
    arrivals = [a.model_copy(update={"at_s": a.at_s - start}) for a in found]
    digest = hashlib.sha256(raw).hexdigest()
    return Traffic(arrivals=arrivals, format=chosen["id"], sha256=digest)


def _columns(form: dict[str, Any]) -> set[str]:
    return {form["at"], form["input_tokens"], form["output_tokens"]}


def _rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if not text.lstrip().startswith("{"):
        for number, row in enumerate(csv.DictReader(text.splitlines()), start=2):
            yield number, {str(k).strip(): v for k, v in row.items()}
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise InputError(f"{path}:{number}: no JSON object; write one object a line")
            yield number, row


def _arrival(
    path: Path, line: int, row: dict[str, Any], form: dict[str, Any], first: float
) -> Arrival:
    counts = []
    for name in ("input_tokens", "output_tokens"):
        value = row.get(form[name])
        try:
            count = int(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            count = -1
        if not 0 <= count <= MAX_TOKENS:
            raise InputError(
                f"{path}:{line}: {form[name]} {visible(str(value), 40)!r}: not a count of tokens; "
                "correct or remove the line"
            )
        counts.append(max(1, count))
    at = _seconds(path, line, row.get(form["at"]), form["unit"]) - first
    return Arrival(at_s=at, input_tokens=counts[0], output_tokens=counts[1])


def _seconds(path: Path, line: int, value: Any, unit: str) -> float:
    try:
        if unit == "date":
            stamp = dt.datetime.fromisoformat(str(value).strip()[:26])
            return stamp.replace(tzinfo=stamp.tzinfo or dt.UTC).timestamp()
        seconds = float(value) / (1000 if unit == "ms" else 1)
    except (TypeError, ValueError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise InputError(
            f"{path}:{line}: time {visible(str(value), 40)!r}: not in {unit}; correct or remove "
            "the line"
        )
    return seconds
