"""A traffic file to replay: when each request came, and how long its prompt and its answer were."""

import itertools
from functools import lru_cache
from pathlib import Path

from stackchoice.errors import InputError
from stackchoice.facts.datum import Record
from stackchoice.facts.load import load_facts
from stackchoice.traffic.fields import Fields, LogRow
from stackchoice.traffic.rows import read_rows


class Arrival(Record):
    """One request of a traffic file: seconds after the first, tokens in, tokens out."""

    at_s: float
    input_tokens: int
    output_tokens: int


class Traffic(Record):
    """A traffic file as read, in order of time; ``trace`` names a public one if it is one."""

    arrivals: tuple[Arrival, ...]
    trace: str | None = None

    @property
    def rate_per_s(self) -> float:
        """Mean requests a second."""
        last = self.arrivals[-1].at_s
        return len(self.arrivals) / last if last else float(len(self.arrivals))


@lru_cache(maxsize=4)
def read_traffic(path: Path | str, *, limit: int | None = None) -> Traffic:
    """Read a traffic file: CSV with a header or JSON lines, with any names that request logs use.

    Parameters
    ----------
    path
        Columns such as ``timestamp_s, input_tokens, output_tokens``; ``data/log_columns.yaml`` has
        more names. An answer of no tokens is replayed as one of one token.
    limit
        Take the first so many lines only.

    Raises
    ------
    InputError
        When a line cannot be replayed: leaving it out would be another load. It is not quoted.
    TrafficError
        When the file cannot be read.
    """
    fields = Fields(load_facts().log_columns)
    fields.learn_dates(read_rows(Path(path)))
    found: list[tuple[float, int, int]] = []
    known = None
    for number, (line, row) in enumerate(itertools.islice(read_rows(Path(path)), limit)):
        if isinstance(row, str):
            raise InputError(f"{path}:{line}: {row}; correct or remove the line")
        known = fields.trace(row) if number == 0 else known
        found.append(_request(LogRow(fields, row), known.time_unit if known else None, path, line))
    if not found:
        raise InputError(f"{path}: holds no request; give a traffic file with one line for each")
    found.sort(key=lambda request: request[0])
    arrivals = [
        Arrival(at_s=at - found[0][0], input_tokens=max(1, taken), output_tokens=max(1, made))
        for at, taken, made in found
    ]
    return Traffic(arrivals=arrivals, trace=known.id if known else None)


def _request(row: LogRow, unit: str | None, path: Path | str, line: int) -> tuple[float, int, int]:
    def bad(what: str, fix: str) -> InputError:
        return InputError(f"{path}:{line}: {what}; {fix}")

    counts = []
    for name in ("input_tokens", "output_tokens"):
        try:
            count = row.count(name)
        except ValueError:
            raise bad(f"{name} is no count of tokens", "correct or remove the line") from None
        if count is None:
            raise bad(f"has no {name}", "a replay needs timestamp_s, input_tokens, output_tokens")
        counts.append(count)
    try:
        moment = row.instant("arrival", unit)
    except ValueError:
        raise bad("its time is no time", "correct or remove the line") from None
    if moment is None:
        raise bad(
            "its time is missing or of no known unit",
            "name the column timestamp_s or _ms, and write a date as 2026-04-03",
        )
    return moment.seconds, counts[0], counts[1]
