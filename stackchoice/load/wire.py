"""HTTP/1.1 on the wire: what one exchange kept, where a response ends, and its framing afterwards.

While a run is on, only :class:`End` looks at the bytes, and only for the end of the message.
Everything else is read from the kept bytes after the run, by h11.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import h11

from stackchoice.facts.datum import Record
from stackchoice.load.redact import redacted

Reads = list[tuple[int, bytes]]

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_MAX_HEAD = 64 * 1024


class Problem(StrEnum):
    """Why an exchange did not end as its framing promised."""

    DNS = "name not found"
    REFUSED = "no connection"
    TLS = "TLS failed"
    CONNECT_TIMEOUT = "no connection in time"
    NOT_HTTP = "not an HTTP server"
    IDLE_TIMEOUT = "silent for too long"
    TOTAL_TIMEOUT = "not finished in time"
    TOO_LARGE = "answer too large"
    DROPPED = "connection dropped"
    CLIENT = "the client could not send it"
    CANCELLED = "ended because the run was over"


class Limits(Record):
    """Bounds on one exchange: connecting, silence, the whole, and the bytes received."""

    connect_s: float = 10
    idle_s: float = 120
    total_s: float = 300
    max_bytes: int = 16 * 2**20


@dataclass(frozen=True)
class Address:
    """Where to connect."""

    host: str
    port: int
    secure: bool


@dataclass(slots=True)
class Exchange:
    """What happened to one request: when, and each socket read with its time.

    All times are ``time.perf_counter_ns()``, 0 where it never came to that: ``intended_ns`` by the
    plan, ``started_ns`` when the client took it up, ``connected_ns`` when a connection was ready,
    ``sent_ns`` just before its first byte was written, ``ended_ns`` when it was over. ``problem``
    is None when the response ended as framed. ``reused`` tells an old connection from a new one,
    ``resent`` that the old one turned out to be closed by the server.
    """

    intended_ns: int = 0
    started_ns: int = 0
    connected_ns: int = 0
    sent_ns: int = 0
    ended_ns: int = 0
    reads: Reads = field(default_factory=list)
    problem: Problem | None = None
    detail: str = ""
    reused: bool = False
    resent: bool = False

    def redact(self, secret: str) -> None:
        """Overwrite a secret and cookies in what was received; lengths and times stay."""
        self.detail = self.detail.replace(secret, "[redacted]") if secret else self.detail
        whole = b"".join(data for _, data in self.reads)
        raw, at = redacted(whole, secret), 0
        if raw == whole:
            return
        for i, (stamp, data) in enumerate(self.reads):
            self.reads[i] = (stamp, raw[at : at + len(data)])
            at += len(data)


class End:
    """Finds the end of one response, read by read; knows nothing else of it.

    Attributes
    ----------
    keep_alive
        Whether the connection may carry another request once the response is over.
    by_close
        Whether the end is the peer's close.
    broken
        Why this is no HTTP, or an empty text.
    """

    __slots__ = ("_head", "_line", "_need", "_take", "broken", "by_close", "keep_alive")

    def __init__(self) -> None:
        self._head = self._line = b""
        self._need = 0
        self._take: Callable[[bytes], bool] = self._take_head
        self.keep_alive = self.by_close = False
        self.broken = ""

    def feed(self, data: bytes) -> bool:
        """Take one read; return whether the response is over, for good or ill."""
        try:
            return self._take(data)
        except (ValueError, IndexError) as error:
            self.broken, self.keep_alive = str(error)[:200] or "no HTTP", False
            return True

    def _take_head(self, data: bytes) -> bool:
        self._head += data
        blank = _BLANK_LINE.search(self._head)
        if not self._head.startswith(b"HTTP/"[: len(self._head)]):
            raise ValueError(f"starts with {self._head[:20]!r}")
        if blank is None:
            if len(self._head) > _MAX_HEAD:
                raise ValueError(f"headers of more than {_MAX_HEAD} bytes")
            return False
        head, rest = self._head[: blank.start()].lower(), self._head[blank.end() :]
        status = int(head.split(None, 2)[1])
        if 100 <= status < 200:
            self._head = b""
            return self._take_head(rest)
        self.keep_alive = not head.startswith(b"http/1.0") and b"close" not in _header(
            head, b"connection"
        )
        length = _header(head, b"content-length")
        if status in (204, 304):
            return self._take_length(rest)
        if b"chunked" in _header(head, b"transfer-encoding"):
            self._take = self._take_chunks
        elif length:
            self._need, self._take = int(length), self._take_length
        else:
            self.keep_alive, self.by_close, self._take = False, True, self._take_all
        return self._take(rest)

    def _take_length(self, data: bytes) -> bool:
        self._need -= len(data)
        self.keep_alive = self.keep_alive and self._need >= 0
        return self._need <= 0

    def _take_all(self, data: bytes) -> bool:
        return data.endswith(b"[DONE]\n\n")  # some servers leave the connection open after it

    def _take_chunks(self, data: bytes) -> bool:
        at, size = 0, len(data)
        while at < size:
            if self._need:
                step = min(self._need, size - at)
                self._need -= step
                at += step
                continue
            end = data.find(b"\n", at)
            if end < 0:
                self._line += data[at:]
                return False
            line, self._line = self._line + data[at:end], b""
            at = end + 1
            self._need = int(line.split(b";", 1)[0], 16) + 2
            if self._need == 2:
                self._need, self._take = 0, self._take_trailer
                return self._take_trailer(data[at:])
        return False

    def _take_trailer(self, data: bytes) -> bool:
        self._line += data
        if self._line.startswith((b"\r\n", b"\n")):
            self.keep_alive = self.keep_alive and len(self._line) <= 2
            return True
        return bool(_BLANK_LINE.search(self._line))


@dataclass(slots=True, eq=False)
class Connection:
    """One socket and the exchange that is on it."""

    sock: socket.socket | None = None
    attempt: int = 0
    last_ns: int = 0
    size: int = 0
    exchange: Exchange = field(init=False)
    done: Callable[[Exchange], None] = field(init=False)
    request: bytes = field(init=False)
    out: memoryview = field(init=False)
    end: End = field(init=False)


def _header(head: bytes, name: bytes) -> bytes:
    found = re.search(rb"\n" + name + rb":[ \t]*([^\r\n]*)", head)
    return found.group(1) if found else b""


class Framing:
    """HTTP/1.1 response framing fed read by read; keeps the time of the read of each body piece."""

    def __init__(self) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        # h11 wants to have seen the request; which one makes no difference to GET and POST answers.
        self._h11.send(h11.Request(method="GET", target="/", headers=[("Host", "endpoint")]))
        self._h11.send(h11.EndOfMessage())
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body: Reads = []
        self.complete = False
        self.error = ""

    @classmethod
    def of(cls, measured: Exchange) -> Framing:
        """Frame all that was read of one exchange."""
        framing = cls()
        over = any(framing.feed(at, data) for at, data in measured.reads)
        if not over and measured.problem in (None, Problem.DROPPED):
            framing.feed(0, b"")  # the peer closed, which ends a body of unstated length
        return framing

    def feed(self, at_ns: int, data: bytes) -> bool:
        """Take one read (empty: the peer closed); return whether the response is over."""
        if self.complete or self.error:
            return True
        try:
            self._h11.receive_data(data)
            while True:
                event = self._h11.next_event()
                if isinstance(event, h11.Response):
                    self.status = event.status_code
                    pairs = ((k.decode("latin-1"), v.decode("latin-1")) for k, v in event.headers)
                    self.headers = dict(pairs)
                elif isinstance(event, h11.Data):
                    self.body.append((at_ns, bytes(event.data)))
                elif isinstance(event, h11.EndOfMessage):
                    self.complete = True
                    return True
                elif not isinstance(event, h11.InformationalResponse):
                    return False  # NEED_DATA
        except h11.RemoteProtocolError as error:
            self.error = str(error)[:200]
            return True

    @property
    def text(self) -> str:
        """The body as text."""
        return b"".join(data for _, data in self.body).decode("utf-8", "replace")
