"""One thread, one poll loop, raw sockets: every read is stamped before anything looks at it.

An HTTP library stamps a chunk after it has decoded it, and an event loop with tasks puts tens of
microseconds of its own before every stamp; both grow into milliseconds when many streams speak at
once. Here the clock is read straight after ``recv``.
"""

import heapq
import itertools
import selectors
import ssl
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns

from stackchoice.load.sockets import Sockets
from stackchoice.load.ticking import Histogram, wait_for
from stackchoice.load.wire import Address, Connection, End, Exchange, Limits, Problem

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_TICK_NS = 10_000_000
_RECV_BYTES = 64 * 1024
#: A connection that was idle for longer may be about to be closed by the server.
_MAX_IDLE_NS = 2_000_000_000


class Loop:
    """Sends requests to one address and keeps what comes back.

    Parameters
    ----------
    address, limits
        Where to, and the bounds on each exchange.
    reuse
        Keep connections open for later requests. Otherwise each request opens its own. The first
        kept connection that the server closes in order before it answers ends this for the whole
        run, and its request is sent again; a reset is never sent again.

    Attributes
    ----------
    lags, waits
        Nanoseconds by which each 10 ms tick was late, and from each wake-up to its last stamp.
    idle_work
        Calls made when no socket has anything to say, such as writing to disk.
    """

    def __init__(self, address: Address, limits: Limits, *, reuse: bool = False) -> None:
        self.limits, self.reuse, self._secure = limits, reuse, address.secure
        self.idle_work: deque[Callable[[], None]] = deque()
        self.lags, self.waits = Histogram(), Histogram()
        self.peak_connections = 0
        self._selector = selectors.DefaultSelector()
        self._sockets = Sockets(address, self._selector, self._ready, self._finish)
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._active: set[Connection] = set()
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = itertools.count()

    # What callers use.

    @property
    def kept(self) -> int:
        """Connections that wait for a request."""
        return len(self._idle)

    def at(self, when_ns: int, call: Callable[[], None]) -> None:
        """Call something at a time of ``perf_counter_ns``."""
        heapq.heappush(self._timers, (when_ns, next(self._sequence), call))

    def send(
        self, request: bytes, done: Callable[[Exchange], None], intended_ns: int = 0
    ) -> Exchange:
        """Send a request now; ``done`` is called when its exchange is over."""
        now = perf_counter_ns()
        exchange = Exchange(intended_ns=intended_ns or now, started_ns=now)
        while self._idle:
            connection = self._idle.pop()
            if now - connection.last_ns < _MAX_IDLE_NS:
                exchange.reused = True
                break
            self._close(connection)
        else:
            connection = Connection()
            self._open.add(connection)
            self.peak_connections = max(self.peak_connections, len(self._open))
        connection.exchange, connection.done, connection.request = exchange, done, request
        connection.end, connection.size, connection.last_ns = End(), 0, now
        self._active.add(connection)
        if exchange.reused:
            self._write_first(connection)
        else:
            self._sockets.connect(connection)
        return exchange

    def run(self, over: Callable[[], bool]) -> None:
        """Serve sockets and timers until ``over`` says so."""
        next_tick = perf_counter_ns() + _TICK_NS
        ticks = 0
        while not over():
            due = min(next_tick, self._timers[0][0]) if self._timers else next_tick
            wait = due - perf_counter_ns()
            if self.idle_work and (wait > 1_000_000 or len(self.idle_work) > 256):
                events = self._selector.select(0)
                if not events or len(self.idle_work) > 256:
                    self.idle_work.popleft()()
            else:
                events = wait_for(self._selector, wait / 1e9)
            if events:
                woke = perf_counter_ns()
                for key, mask in events:
                    key.data(mask)
                self.waits.add(perf_counter_ns() - woke)
            now = perf_counter_ns()
            if now >= next_tick:
                self.lags.add(now - next_tick)
                next_tick = now + _TICK_NS
                ticks += 1
                if ticks % 5 == 0:
                    self._look_at_limits(now)
            while self._timers and self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2]()

    def cancel(self) -> None:
        """End every exchange that is on."""
        for connection in list(self._active):
            self._finish(connection, Problem.CANCELLED)

    def close(self) -> None:
        """End what is on, do what is left to do, and close every socket."""
        self.cancel()
        while self.idle_work:
            self.idle_work.popleft()()
        for connection in list(self._open):
            self._close(connection)
        self._selector.close()

    def _look_at_limits(self, now: int) -> None:
        limits = self.limits
        for c in list(self._active):
            x = c.exchange
            if not x.connected_ns:
                if (now - x.started_ns) / 1e9 > limits.connect_s:
                    self._finish(c, Problem.CONNECT_TIMEOUT, f"{limits.connect_s:g} s")
            elif (now - x.connected_ns) / 1e9 > limits.total_s:
                self._finish(c, Problem.TOTAL_TIMEOUT, f"{limits.total_s:g} s")
            elif (now - c.last_ns) / 1e9 > limits.idle_s:
                self._finish(c, Problem.IDLE_TIMEOUT, f"{limits.idle_s:g} s")

    # Sending and receiving.

    def _ready(self, c: Connection) -> None:
        assert c.sock is not None
        self._selector.modify(c.sock, _READ, lambda mask: self._event(c, mask))
        self._write_first(c)

    def _write_first(self, c: Connection) -> None:
        c.out = memoryview(c.request)
        now = perf_counter_ns()
        c.exchange.connected_ns = c.exchange.sent_ns = c.last_ns = now
        self._write(c)

    def _write(self, c: Connection) -> None:
        assert c.sock is not None
        try:
            c.out = c.out[c.sock.send(c.out) :]
            c.last_ns = perf_counter_ns()
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass  # the rest goes out when the selector says so, below
        except OSError:
            c.out = c.out[:0]  # a server may answer and hang up before it has read everything
        key = self._selector.get_key(c.sock)
        if (wanted := _READ | _WRITE if c.out else _READ) != key.events:
            self._selector.modify(c.sock, wanted, key.data)

    def _event(self, c: Connection, mask: int) -> None:
        if mask & _READ:
            self._read(c)
        if mask & _WRITE and c in self._active and c.out:
            self._write(c)

    def _read(self, c: Connection) -> None:
        sock = c.sock
        assert sock is not None
        while True:
            try:
                data = sock.recv(_RECV_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except BrokenPipeError:  # closed in order before our request came: no reset
                data = b""
            except OSError as error:
                self._lost(c, error.strerror or str(error))
                return
            now = perf_counter_ns()
            if c not in self._active:
                self._close(c)  # an idle connection that the server closes or speaks on
                return
            if not data:
                self._lost(c, "")
                return
            c.exchange.reads.append((now, data))
            c.last_ns = now
            c.size += len(data)
            if c.end.feed(data):
                self._over(c)
                return
            if c.size > self.limits.max_bytes:
                self._finish(c, Problem.TOO_LARGE, f"more than {self.limits.max_bytes} bytes")
                return
            if not self._secure:
                return  # what is left wakes the next poll; TLS keeps decoded bytes of its own

    def _over(self, c: Connection) -> None:
        if c.end.broken:
            several = len(c.exchange.reads) > 1 and c.exchange.reads[0][1].startswith(b"HTTP/")
            self._finish(c, Problem.DROPPED if several else Problem.NOT_HTTP, c.end.broken)
        else:
            self._finish(c, None)

    def _lost(self, c: Connection, reason: str) -> None:
        """End by the peer: an orderly close may be the end of the body, a reset never is."""
        if c not in self._active:
            self._close(c)
        elif c.end.by_close and not reason:
            self._finish(c, None)
        elif c.exchange.reused and not c.exchange.reads and not reason:
            self._send_again(c)
        else:
            self._finish(c, Problem.DROPPED, reason or "closed by the server")

    def _send_again(self, c: Connection) -> None:
        """A server that does not keep connections, and closed this one without a word of it."""
        self.reuse = False
        self._sockets.drop(c)
        c.exchange.reused, c.exchange.resent = False, True
        c.exchange.connected_ns = 0
        self._sockets.connect(c)

    def _finish(self, c: Connection, problem: Problem | None, detail: str = "") -> None:
        x = c.exchange
        x.ended_ns, x.problem, x.detail = perf_counter_ns(), problem, detail
        self._active.discard(c)
        if problem is None and self.reuse and c.end.keep_alive:
            self._idle.append(c)
        else:
            self._close(c)
        c.done(x)

    def _close(self, c: Connection) -> None:
        self._sockets.drop(c)
        self._open.discard(c)
        if c in self._idle:
            self._idle.remove(c)
