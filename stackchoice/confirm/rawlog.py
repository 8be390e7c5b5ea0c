"""The raw log of a run as a file: begun, gone on with, read back."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stackchoice.confirm.passport import PassportError
from stackchoice.facts.write import write_whole
from stackchoice.load.journal import Event, exchange_of, line_of, read_events
from stackchoice.load.reading import read_sample

#: Steps of an interrupted run that the next one goes on from.
KEPT = ("timed", "health", "probed", "emptied", "emptied_proof", "exact_output")


@contextmanager
def raw_log(path: Path | None, header: Event, resume: bool) -> Iterator[Path]:
    """Give a log that holds the header and what is kept of this very run.

    PassportError where it cannot be written, or is of another run.
    """
    with tempfile.TemporaryDirectory(prefix="stackchoice-") as folder:
        if path is None:
            path, resume = Path(folder) / "raw.jsonl", False
        try:
            old = _kept(path, header) if resume and path.exists() and path.stat().st_size else ()
            # Rewritten whole: a half-written last line goes, nothing else can be lost.
            lines = b"".join(map(line_of, (header, *old)))
            write_whole(path, lines, PassportError, folders=True)
        except OSError as error:
            raise PassportError(
                f"{path}: cannot be written ({error.strerror}); give a path in a writable folder"
            ) from None
        yield path


def _kept(path: Path, header: Event) -> list[Event]:
    first, *events = read_events(path) if path.stat().st_size else [{}]
    if first != header:
        raise PassportError(
            f"{path}: holds another run (endpoint or plan differ); give another raw_path, or "
            "resume=False to replace it"
        )
    return [event for event in events if event.get("step") in KEPT]


def done_by_launch(path: Path) -> dict[int, set[int]]:
    """Numbers of timed requests that are there already, by launch."""
    found: dict[int, set[int]] = {}
    for event in read_events(path):
        if event["step"] == "timed":
            found.setdefault(event["launch"], set()).add(event["request_number"])
    return found


def parsed(path: Path) -> Iterator[Event]:
    """Read a raw log back, with each timed request parsed; done after the run, on purpose."""
    for event in read_events(path):
        if event["step"] == "timed":
            sample = read_sample(exchange_of(event), event["request"])
            event = {**event, "sample": sample.model_dump(mode="json"),
                     "asked_tokens": event["request"].get("max_tokens")}  # fmt: skip
        for name in ("response", "reads", "request"):
            event.pop(name, None)
        yield event
