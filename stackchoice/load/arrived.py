"""A request as it comes: when, by the kernel's own stamp where there is one, and its chunks."""

import socket
import struct
import sys
import time
from time import perf_counter_ns

#: SO_TIMESTAMPNS: the kernel's own time of arrival, so that waiting for this process counts.
STAMP = getattr(socket, "SO_TIMESTAMPNS", 35) if sys.platform == "linux" else None


def arrival(kernel: list[tuple[int, int, bytes]] | None) -> int:
    """Time of arrival in ``perf_counter_ns``, by the kernel's stamp where one came along."""
    for _, kind, data in kernel or []:
        if kind == STAMP:
            seconds, rest = struct.unpack("qq", data[:16])
            now, wall = _both_clocks()
            ago: int = wall - (seconds * 1_000_000_000 + rest)
            if 0 <= ago < 10_000_000_000:  # a stepped wall clock is no use
                return now - ago
    return perf_counter_ns()


def _both_clocks() -> tuple[int, int]:
    """Read monotonic and wall clock as one; tried again when something came in between."""
    best = (10**18, 0, 0)
    for _ in range(5):
        before, wall, after = perf_counter_ns(), time.time_ns(), perf_counter_ns()
        best = min(best, (after - before, before, wall))
        if best[0] < 2000:
            break
    return best[1], best[2]


def unchunked(body: bytearray) -> bytes:
    """Join the chunks of a request's body."""
    whole, at = [], 0
    while size := int(body[at : (line := body.index(b"\r\n", at))].split(b";")[0], 16):
        whole.append(body[line + 2 : line + 2 + size])
        at = line + size + 4
    return b"".join(whole)
