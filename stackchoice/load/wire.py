"""One HTTP exchange over a raw socket: every read is stamped before anything looks at it.

An HTTP library stamps a chunk after it has decoded it, which moves TTFT by whole milliseconds once
several streams share the event loop. Here the clock is read first; h11 only finds the end.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from dataclasses import dataclass, field
from enum import StrEnum

import h11

from stackchoice.facts.datum import Record

Reads = list[tuple[int, bytes]]


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


@dataclass(frozen=True)
class Exchange:
    """What happened: when the request was written, and each socket read with its time.

    The times are ``time.perf_counter_ns()``; the request is written after connecting, so no time
    holds the cost of DNS, TCP or TLS. ``problem`` is None when the response ended as framed.
    """

    sent_ns: int = 0
    reads: Reads = field(default_factory=list)
    problem: Problem | None = None
    detail: str = ""


class Framing:
    """HTTP/1.1 response framing fed read by read; keeps the time of the read of each body piece."""

    def __init__(self) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=64 * 1024)
        # h11 wants to have seen the request; which one makes no difference to GET and POST answers.
        self._h11.send(h11.Request(method="GET", target="/", headers=[("Host", "endpoint")]))
        self._h11.send(h11.EndOfMessage())
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body: Reads = []
        self.complete = False
        self.error = ""

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


class _Client(asyncio.Protocol):
    def __init__(self, request: bytes, max_bytes: int) -> None:
        self.request, self.max_bytes = request, max_bytes
        self.sent_ns = self.last_ns = self.size = 0
        self.reads: Reads = []
        self.framing = Framing()
        self.done: asyncio.Future[tuple[Problem | None, str]] = (
            asyncio.get_running_loop().create_future()
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.sent_ns = self.last_ns = time.perf_counter_ns()
        transport.write(self.request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter_ns()
        self.last_ns = now
        self.size += len(data)
        if self.size > self.max_bytes:
            self.finish(Problem.TOO_LARGE, f"more than {self.max_bytes} bytes")
            return
        self.reads.append((now, data))
        if self.framing.feed(now, data):
            self._over()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:  # an orderly close may be the end of the body, a reset never is
            self.framing.feed(time.perf_counter_ns(), b"")
        self._over(str(exc or ""))

    def _over(self, reason: str = "") -> None:
        if self.framing.complete:
            self.finish(None, "")
        elif self.framing.status is None and self.reads:
            self.finish(Problem.NOT_HTTP, self.framing.error)
        else:
            self.finish(Problem.DROPPED, reason or self.framing.error)

    def finish(self, problem: Problem | None, detail: str) -> None:
        if not self.done.done():
            self.done.set_result((problem, detail))


async def exchange(address: Address, request: bytes, limits: Limits) -> Exchange:
    """Send one request on a new connection and read its response; failures are returned."""
    client = _Client(request, limits.max_bytes)
    context = ssl.create_default_context() if address.secure else None
    try:
        async with asyncio.timeout(limits.connect_s):
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: client, address.host, address.port, ssl=context
            )
    except TimeoutError:
        return Exchange(problem=Problem.CONNECT_TIMEOUT, detail=f"{limits.connect_s:g} s")
    except socket.gaierror as error:
        return Exchange(problem=Problem.DNS, detail=error.strerror or str(error))
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        return Exchange(problem=Problem.TLS, detail=reason)
    except OSError as error:
        return Exchange(problem=Problem.REFUSED, detail=_reason(error))
    try:
        problem, detail = await _wait(client, limits)
    finally:
        transport.abort()
    return Exchange(client.sent_ns, client.reads, problem, detail)


def _reason(error: OSError) -> str:
    """Return the system's own short text; asyncio words some errors with the address in it."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


async def _wait(client: _Client, limits: Limits) -> tuple[Problem | None, str]:
    """Wait for the end, looking at the clock only when a limit could have been reached."""
    while True:
        now = time.perf_counter_ns()
        quiet = limits.idle_s - (now - client.last_ns) / 1e9
        left = limits.total_s - (now - client.sent_ns) / 1e9
        if left <= 0:
            return Problem.TOTAL_TIMEOUT, f"{limits.total_s:g} s"
        if quiet <= 0:
            return Problem.IDLE_TIMEOUT, f"{limits.idle_s:g} s"
        await asyncio.wait({client.done}, timeout=min(quiet, left))
        if client.done.done():
            return client.done.result()
