"""One request on a connection of its own."""

from time import perf_counter_ns

from stackchoice.load.loop import Loop
from stackchoice.load.wire import Address, Exchange, Limits


def exchange(
    address: Address, request: bytes, limits: Limits, watch_s: float = 0
) -> tuple[Exchange, bool]:
    """Send one request on a new connection and read its response; failures are returned.

    Beside it stands whether the connection is still there ``watch_s`` later.
    """
    loop = Loop(address, limits, reuse=watch_s > 0)
    finished: list[Exchange] = []
    try:
        loop.send(request, finished.append)
        loop.run(lambda: bool(finished))
        until = finished[0].ended_ns + round(watch_s * 1e9)
        loop.run(lambda: not loop.kept or perf_counter_ns() >= until)
        return finished[0], loop.kept > 0
    finally:
        loop.close()
