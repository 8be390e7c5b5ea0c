"""The raw log: one line for each finished request, from which everything else is read again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from stackchoice.load.untrusted import parse_json
from stackchoice.load.wire import Exchange, Problem

#: What a run writes down of one step or request; ``step`` says of which.
Event = dict[str, Any]
_TIMES = ("intended_ns", "started_ns", "connected_ns", "sent_ns", "ended_ns")


def write_event(file: BinaryIO, event: Event) -> None:
    """Append one event and hand it to the system; a reader takes whole lines alone."""
    file.write(line_of(event))
    file.flush()


def line_of(event: Event) -> bytes:
    """Return an event as its line of the log."""
    return json.dumps(event).encode() + b"\n"


def entry(measured: Exchange, **more: Any) -> Event:
    """Return one exchange as an event, to which :func:`exchange_of` is the way back."""
    raw = b"".join(data for _, data in measured.reads).decode("latin-1")
    times = {name: getattr(measured, name) for name in _TIMES}
    reads = [[at - measured.sent_ns, len(data)] for at, data in measured.reads]
    told = {"problem": measured.problem, "detail": measured.detail, "reused": measured.reused,
            "resent": measured.resent, "reads": reads, "response": raw}  # fmt: skip
    return {**more, **times, **told}


def exchange_of(event: Event) -> Exchange:
    """Rebuild an exchange from its event."""
    raw, at = event["response"].encode("latin-1"), 0
    measured = Exchange(**{name: event[name] for name in _TIMES})
    for after, size in event["reads"]:
        measured.reads.append((measured.sent_ns + after, raw[at : at + size]))
        at += size
    measured.problem = Problem(event["problem"]) if event["problem"] else None
    measured.detail = event["detail"]
    measured.reused, measured.resent = event["reused"], event["resent"]
    return measured


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a log up to the first line that is not whole."""
    with path.open("rb") as file:
        for line in file:
            event = parse_json(line.decode("utf-8", "replace"))
            if not line.endswith(b"\n") or event is None:
                return  # being written when the run was killed
            yield event
