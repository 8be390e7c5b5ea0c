"""Rows of a request log, one at a time: JSON lines, JSON arrays, CSV, plain or gzip.

A row is a mapping or the reason why there is none. No reason ever quotes the row.
"""

import codecs
import csv
import gzip
import itertools
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from stackchoice.errors import TrafficError
from stackchoice.facts.write import ordinary
from stackchoice.facts.yaml import shown

#: A row with prompts and images may be long; a longer one is skipped, and counted.
MAX_ROW_BYTES = 64 * 2**20
CHUNK = 2**20
GZIP = b"\x1f\x8b"

NO_OBJECT = "not a JSON object"
BROKEN = "broken JSON"
TOO_LONG = f"longer than {MAX_ROW_BYTES // 2**20} MiB"
NOT_TEXT = "not UTF-8 text"
UNEVEN = "another number of columns than the header"

#: Line number and the row, or the reason why it is none.
Row = tuple[int, dict[str, Any] | str]


def read_rows(path: Path) -> Iterator[Row]:
    """Yield every row of a log with the line on which it begins.

    TrafficError when the file cannot be read, is empty, or is neither JSON nor CSV.
    """
    try:
        with ordinary(path).open("rb") as raw:
            file: Any = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == GZIP else raw
            start = file.peek(4096)[:4096]
            first = start.lstrip(b"\xef\xbb\xbf \t\r\n")
            if not first:
                raise TrafficError(f"{shown(str(path))}: is empty; give a log with requests")
            if first[:1] not in b"{[":
                yield from _csv(file, path)
            elif _is_lines(first):
                yield from _lines(file)
            else:
                yield from _values(file)
    # ValueError: a path with a NUL
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "broken file"
        raise TrafficError(
            f"{shown(str(path))}: cannot be read ({reason}); give a JSONL or CSV file"
        ) from None


def _is_lines(first: bytes) -> bool:
    """Whether the first line is an object of its own (or may be, being longer than the peek)."""
    line, newline, _ = first.partition(b"\n")
    if not line.startswith(b"{"):
        return False
    if not newline:
        return True
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return b'":' in line.replace(b" ", b"") and len(line.strip()) > 2


def _lines(file: BinaryIO) -> Iterator[Row]:
    for number in itertools.count(1):
        raw = file.readline(MAX_ROW_BYTES + 1)
        if not raw:
            return
        if len(raw) > MAX_ROW_BYTES:
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(CHUNK)
            yield number, TOO_LONG
        elif raw.strip():
            yield number, _object(raw)


def _object(raw: bytes) -> dict[str, Any] | str:
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return NOT_TEXT
    except (ValueError, RecursionError):
        return BROKEN
    return value if isinstance(value, dict) else NO_OBJECT


def _values(file: BinaryIO) -> Iterator[Row]:
    """Yield JSON values that do not keep to lines: an array's, or one after the other."""
    decoder, text, line = json.JSONDecoder(), "", 1
    chunks = iter(lambda: file.read(CHUNK), b"")
    reader = codecs.iterdecode(chunks, "utf-8", errors="replace")
    while True:
        trimmed = text.lstrip(" \t\r\n,[]\ufeff")
        line += text[: len(text) - len(trimmed)].count("\n")
        text = trimmed
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            more = next(reader, "")
            if not more or len(text) > MAX_ROW_BYTES:
                if text:
                    yield line, BROKEN
                return
            text += more
            continue
        yield from ((line, row) for row in _expanded(value))
        line += text[:end].count("\n")
        text = text[end:]


def _expanded(value: Any) -> Iterator[dict[str, Any] | str]:
    """Yield the rows of a value; a benchmark's result holds one list a column."""
    if not isinstance(value, dict):
        yield NO_OBJECT
        return
    inputs, outputs = value.get("input_lens"), value.get("output_lens")
    if not (isinstance(inputs, list) and isinstance(outputs, list)):
        yield value
        return
    starts, ttfts, itls = (value.get(k) or [] for k in ("start_times", "ttfts", "itls"))
    for start, ttft, gaps, taken, made in itertools.zip_longest(
        starts, ttfts, itls, inputs, outputs
    ):
        known = isinstance(ttft, int | float) and isinstance(gaps, list)
        yield {
            "input_tokens": taken, "output_tokens": made, "ttft_s": ttft, "timestamp_s": start,
            "latency_s": ttft + sum(g for g in gaps if isinstance(g, int | float))
            if known else None,
        }  # fmt: skip


def _csv(file: BinaryIO, path: Path) -> Iterator[Row]:
    lines = (raw.decode("utf-8-sig", "replace") for raw in iter(lambda: file.readline(CHUNK), b""))
    header = next(lines)
    if "\0" in header or "�" in header or "\r" in header.rstrip("\r\n"):
        raise TrafficError(f"{shown(str(path))}: neither JSON nor CSV; give a JSONL or CSV file")
    mark = max(",;\t|", key=header.count)
    limit = csv.field_size_limit(MAX_ROW_BYTES)
    try:
        names = next(csv.reader([header], delimiter=mark))
        reader = csv.reader(lines, delimiter=mark)
        while True:
            line = reader.line_num + 2
            try:
                cells = next(reader, None)
            except csv.Error:
                yield line, "broken CSV"
                continue
            if cells is None:
                return
            if cells and len(cells) != len(names):
                yield line, UNEVEN
            elif cells:
                yield line, cast(dict[str, Any], dict(zip(names, cells, strict=True)))
    finally:
        csv.field_size_limit(limit)
