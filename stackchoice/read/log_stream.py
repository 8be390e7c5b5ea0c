"""A log as lines, whatever wrote it: bounded memory, gzip, any encoding, wrappers taken off."""

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TextIO

from stackchoice.errors import StackchoiceError
from stackchoice.facts.write import ordinary
from stackchoice.facts.yaml import shown

#: Longer lines are cut: a dump of a configuration has some tens of thousands of characters.
LINE_LIMIT = 65_536
#: Beyond this a line is no line of a log, and not worth the reading.
LONGEST = 2**28
#: A compressed file may unpack to anything; reading stops here and says so.
UNPACKED_LIMIT = 64 * 2**30
COLOUR = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
#: Keys under which container runtimes and collectors put the line itself.
WRAPPED_UNDER = ("log", "message", "msg", "MESSAGE", "textPayload")
#: (Worker_TP0 pid=447), (VllmWorker rank=1 pid=12), (RayWorkerWrapper pid=3, ip=..)
PROCESS = re.compile(r"\((\w[\w ]{0,60}?)(?: rank=(\d{1,5}))? pid=(\d{1,9})[^()]{0,80}\)")
#: [2026-05-01 10:00:00 DP0 TP1], as SGLang writes it
STAMPED = re.compile(
    r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?((?: [A-Z]{2,8}\d{1,4}){0,6})\]"
)
#: What collectors put before the lines of each server: ``vllm-a  | ``, ``[pod/vllm-7f9c/main] ``.
#: A number or a level in that place is no server.
WRITER = re.compile(
    r"\s{0,8}(?:(?!(?i:trace|debug|info|success|warn\w*|error|critical|fatal)\b)"
    r"(?=[\w.-]{0,80}[A-Za-z])([\w.-]{1,80})\s{1,40}\| |\[(pod/[^\]\s]{1,200})\] )"
)
#: The role that runs once for a server, or once for each of its replicas.
CORE = re.compile(r"\((EngineCore(?:_DP\d{1,5})?) pid=(\d{1,9})")
#: Marks a rank that is told apart by its process number alone.
PID = "pid "
#: Roles that run once for each server, so that their process number says nothing.
SINGLE = re.compile(r"(EngineCore|APIServer|ApiServer|Engine|\w*\d)\Z")


class LogError(StackchoiceError):
    """A log could not be read; the text names the file, why, and the fix."""


class Line:
    """One line without colours and wrappers, with its number in the file."""

    def __init__(self, number: int, text: str) -> None:
        self.number, self.text = number, text

    @cached_property
    def rank(self) -> str:
        """The process that wrote it, if it says so."""
        return _rank(self.text)

    @property
    def writer(self) -> str:
        """The server that a collector names before its line; empty where none does."""
        found = WRITER.match(self.text[:300])
        return (found[1] or found[2]) if found else ""

    @property
    def core(self) -> tuple[str, str] | None:
        """Role and process of an engine's core that wrote it."""
        found = CORE.search(self.text[:300])
        return (found[1], found[2]) if found else None


def lines_of(source: Iterable[str]) -> Iterator[Line]:
    """Turn raw lines into lines of a log."""
    for number, raw in enumerate(source, 1):
        text = raw.rstrip("\r\n")
        if "\x1b" in text:
            text = COLOUR.sub("", text)
        if text.startswith('{"'):
            text = _unwrap(text)
        if text:
            yield Line(number, text)


def raw_lines(path: Path) -> Iterator[str]:
    """Read a file line by line, each cut to :data:`LINE_LIMIT` characters.

    A carriage return ends a line as well, so that every state of a progress bar is one.

    LogError when the file cannot be opened or its compressed stream is broken at the start.
    """
    try:
        with ordinary(path).open("rb") as file:
            head = file.read(4)
        encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        packed = head[:2] == b"\x1f\x8b"
        opened = (gzip.open if packed else open)(path, "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise LogError(
            f"{shown(str(path))}: cannot be read ({reason}); give the path of a log"
        ) from None
    with opened, io.TextIOWrapper(opened, encoding=encoding, errors="replace") as text:
        yield from _bounded(text, UNPACKED_LIMIT if packed else None, shown(str(path)))


def _bounded(text: TextIO, limit: int | None, name: str) -> Iterator[str]:
    done = 0
    try:
        while line := text.readline(LINE_LIMIT):
            yield line
            done += len(line)
            start = done
            while not line.endswith("\n") and (line := text.readline(LINE_LIMIT)):
                done += len(line)  # the rest of a line that is too long
                if done - start > LONGEST:
                    raise LogError(f"{name}: a line of 256 MiB, so no log; give a server's output")
            if limit is not None and done > limit:
                return
    except (OSError, EOFError, UnicodeError, zlib.error) as error:  # broken or ends early
        if not done:
            raise LogError(f"{name}: is damaged ({shown(str(error))}); unpack it first") from None


def _unwrap(text: str) -> str:
    """Return the line inside a JSON wrapper; anything else unchanged."""
    if not text.endswith("}"):
        return text
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return text
    inner = next((record[k] for k in WRAPPED_UNDER if isinstance(record.get(k), str)), text)
    return COLOUR.sub("", inner).rstrip("\r\n")


def _rank(text: str) -> str:
    head = text[:300]
    if process := PROCESS.search(head):
        role, rank, pid = process.groups()
        if rank is not None:
            return f"{role} {rank}"
        return role if SINGLE.match(role) else f"{role} {PID}{pid}"
    stamped = STAMPED.search(head)
    return stamped.group(1).strip() if stamped else ""
