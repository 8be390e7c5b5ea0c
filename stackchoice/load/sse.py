"""Server-sent events with the time of the read that completed each."""

from collections.abc import Iterator

from stackchoice.load.untrusted import parse_json
from stackchoice.load.wire import Reads


def events(body: Reads) -> Iterator[tuple[int, str, str]]:
    """Yield (time, event name, data) of server-sent events, however the reads split them.

    The time is that of the read that completed the event's last data line. Bytes that are no UTF-8
    stay as lone surrogates, so that the caller can tell them.
    """
    name, lines, at = "", [], 0
    for stamp, raw in _lines(body):
        line = raw.decode("utf-8", "surrogateescape")
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            lines.append(value)
            at = stamp
        elif key == "event":
            name = value
        elif not line:
            if any(lines):
                yield at, name, "\n".join(lines)
            name, lines = "", []
    # A last event whose blank line never came counts if it is whole.
    if (rest := "\n".join(lines)) and (rest == "[DONE]" or parse_json(rest) is not None):
        yield at, name, rest


def _lines(body: Reads) -> Iterator[tuple[int, bytes]]:
    """Yield each line with the time of the read that ended it."""
    pending: list[bytes] = []
    stamp = 0
    for stamp, data in body:
        *whole, rest = data.split(b"\n")
        for part in whole:
            yield stamp, b"".join([*pending, part]).removesuffix(b"\r")
            pending = []
        pending.append(rest)
    if last := b"".join(pending).removesuffix(b"\r"):
        yield stamp, last
