"""Putting a load on: which request is sent when, which of them count, how the client kept up."""

import contextlib
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter_ns

from stackchoice.errors import InputError
from stackchoice.load.arrivals import Closed, Load, Replay
from stackchoice.load.health import ClientHealth
from stackchoice.load.loop import Loop
from stackchoice.load.records import Phase
from stackchoice.load.ticking import Histogram
from stackchoice.load.wire import Exchange

#: Files that a process has open beside its connections.
_OTHER_FILES = 64
#: Uncounted requests that keep the load up while the last timed ones end, for each stream.
_TAIL = 4

Make = Callable[[Phase, int], bytes]
Done = Callable[[Phase, int, bytes, Exchange], None]


class Drive:
    """One repetition of a load.

    Parameters
    ----------
    loop, load
        The open sockets, and the load to put on.
    timed
        Numbers of the requests that count, in their order.
    make
        Gives the bytes of a request; called before the load starts for all timed ones.
    done
        Called with each exchange that ended.
    schedule
        Seconds after the start at which the requests of an open loop are due; those of a replay
        are as many as ``timed``, others do not end.
    service_s
        How long one request takes, by the warm-up: the time over which the first starts are
        spread, or for which an open loop runs before it counts.
    may_send
        Asked with phase, number and bytes before each request; once it says no, nothing more is
        sent.
    """

    def __init__(
        self, loop: Loop, load: Load, timed: Sequence[int], make: Make, done: Done, *,
        service_s: float, schedule: Iterable[float] = (),
        may_send: Callable[[Phase, int, int], bool] = lambda *_: True,
    ) -> None:  # fmt: skip
        self.loop, self.load, self.done = loop, load, done
        self.schedule, self.service_s, self.may_send = schedule, service_s, may_send
        self.make = make
        self.left = deque(timed)
        self.ready = {number: make("timed", number) for number in timed}
        self.outstanding = len(self.left)
        self.stopped = False
        self.largest_burst = 0
        self.slips = Histogram()
        self._extra = itertools.count()
        self._tails = self._started = 0
        self._in_flight = 0
        self._sent: list[tuple[Phase, Exchange]] = []
        self._last_arrival = False

    def run(self) -> ClientHealth:
        """Send until every timed request has ended, and tell how the client kept up."""
        self._cpu = time.process_time(), time.perf_counter()
        self.loop.lags, self.loop.waits = Histogram(), Histogram()
        if isinstance(self.load, Closed):
            self._start_streams(self.load)
        else:
            self._start_arrivals()
        self.loop.run(self._over)
        health = self.health()
        self.loop.cancel()
        return health

    def health(self, *, so_far: bool = False) -> ClientHealth:
        """How the client has kept up; ``so_far`` leaves out what takes long to sum up."""
        wall = max(1e-9, time.perf_counter() - self._cpu[1])
        closed = isinstance(self.load, Closed)
        asked, achieved = (None, None) if closed or so_far else self._rates()
        lags, waits, slips = self.loop.lags, self.loop.waits, self.slips
        return ClientHealth(
            loop_lag_p99_s=lags.at(0.99) / 1e9, loop_lag_max_s=lags.largest / 1e9,
            read_wait_p99_s=waits.at(0.99) / 1e9, read_wait_max_s=waits.largest / 1e9,
            slip_p99_s=slips.at(0.99) / 1e9, slip_max_s=slips.largest / 1e9,
            largest_burst=self.largest_burst,
            cpu_share=(time.process_time() - self._cpu[0]) / wall,
            peak_connections=self.loop.peak_connections,
            file_limit=file_limit(),
            asked_concurrency=self.load.streams if isinstance(self.load, Closed) else None,
            achieved_concurrency=None if so_far else self._concurrency(),
            asked_rate_per_s=asked,
            achieved_rate_per_s=achieved,
        )  # fmt: skip

    # A closed loop.

    def _start_streams(self, load: Closed) -> None:
        require_files(load.streams)
        spread = self.service_s if load.stagger_s is None else load.stagger_s
        start = perf_counter_ns() + 5_000_000
        for stream in range(load.streams):
            when = start + round(stream * spread / load.streams * 1e9)
            self.loop.at(when, partial(self._begin, when))

    def _begin(self, intended_ns: int) -> None:
        self._started += 1
        self._next_of_stream(intended_ns)

    def _next_of_stream(self, intended_ns: int) -> None:
        assert isinstance(self.load, Closed)
        if self._started < self.load.streams:
            phase: Phase = "ramp"
        elif self.left:
            phase = "timed"
        elif self._tails < _TAIL * self.load.streams and self.load.streams > 1:
            phase = "tail"
        else:
            return
        if not self.stopped and self.outstanding:
            self._send(phase, intended_ns, then=self._next_of_stream)

    # An open loop.

    def _start_arrivals(self) -> None:
        assert not isinstance(self.load, Closed)
        replayed = isinstance(self.load, Replay)
        self._settle_ns = 0 if replayed else round(self.service_s * 1e9)
        self._start_ns = perf_counter_ns() + 5_000_000
        self._due: Iterator[int] = (self._start_ns + round(at * 1e9) for at in self.schedule)
        self._await_arrival(next(self._due, None))

    def _await_arrival(self, due_ns: int | None) -> None:
        if due_ns is None:
            self._last_arrival = True
        else:
            self.loop.at(due_ns, lambda: self._arrive(due_ns))

    def _arrive(self, due_ns: int | None) -> None:
        """Send what is due; late requests are sent, never dropped and never given a new time."""
        burst = 0
        while due_ns is not None and due_ns <= perf_counter_ns():
            if self.stopped or not self.outstanding:
                return
            if due_ns < self._start_ns + self._settle_ns:
                self._send("ramp", due_ns)
            elif self.left:
                self._send("timed", due_ns)
            elif self._tails < max(16, _TAIL * self._in_flight):
                self._send("tail", due_ns)
            else:
                return
            burst += perf_counter_ns() - due_ns > 5_000_000
            due_ns = next(self._due, None)
        self.largest_burst = max(self.largest_burst, burst)
        self._await_arrival(due_ns)

    # Both.

    def _send(
        self, phase: Phase, intended_ns: int, then: Callable[[int], None] | None = None
    ) -> None:
        number = self.left[0] if phase == "timed" else next(self._extra)
        request = self.ready[number] if phase == "timed" else self.make(phase, number)
        if not self.may_send(phase, number, len(request)):
            self.stopped = True
            return
        if phase == "timed":
            self.left.popleft()
            del self.ready[number]
        self._tails += phase == "tail"
        self._in_flight += 1

        def ended(exchange: Exchange) -> None:
            self._in_flight -= 1
            self.outstanding -= phase == "timed"
            self.done(phase, number, request, exchange)
            if then is not None and self.outstanding:
                # Through the loop, so that a server that refuses at once cannot nest calls.
                self.loop.at(exchange.ended_ns, lambda: then(exchange.ended_ns))

        exchange = self.loop.send(request, ended, intended_ns)
        self.slips.add(max(0, exchange.started_ns - intended_ns))
        self._sent.append((phase, exchange))

    def _over(self) -> bool:
        if self.stopped or self._last_arrival:
            return not self._in_flight
        return not self.outstanding

    # How it went.

    def _concurrency(self) -> float | None:
        """Mean requests in flight from the first timed one's start to the last one's end."""
        now = perf_counter_ns()
        spans = [(phase, x.started_ns, x.ended_ns or now) for phase, x in self._sent]
        timed = [(a, b) for phase, a, b in spans if phase == "timed"]
        if not timed:
            return None
        start, end = min(a for a, _ in timed), max(b for _, b in timed)
        if end <= start:
            return None
        return sum(max(0, min(b, end) - max(a, start)) for _, a, b in spans) / (end - start)

    def _rates(self) -> tuple[float | None, float | None]:
        """Requests a second of the timed ones: as they were due, and as they were sent."""
        timed = [exchange for phase, exchange in self._sent if phase == "timed"]
        if len(timed) < 2:
            return None, None
        due = (timed[-1].intended_ns - timed[0].intended_ns) / 1e9
        real = (timed[-1].started_ns - timed[0].started_ns) / 1e9
        count = len(timed) - 1
        return (count / due if due > 0 else None), (count / real if real > 0 else None)


def file_limit() -> int | None:
    """Return the limit on open files of this process; None where the system has none to tell."""
    if sys.platform == "win32":
        return None
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def raise_file_limit() -> None:
    """Take as many open files as this process is allowed to."""
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = 2**20 if hard == resource.RLIM_INFINITY else hard
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def require_files(connections: int) -> None:
    """Refuse a load that needs more sockets than this process may open.

    InputError with the limit and how to raise it.
    """
    limit = file_limit()
    if limit is not None and connections + _OTHER_FILES > limit:
        raise InputError(
            f"{connections} streams: need {connections + _OTHER_FILES} open files, and {limit} are "
            f"allowed; run `ulimit -n {connections + _OTHER_FILES}` first, or ask for fewer streams"
        )
