"""Waiting with the clock's own grain, and counting how late things were."""

import math
import select
import selectors
import time


def wait_for(
    selector: selectors.BaseSelector, timeout_s: float
) -> list[tuple[selectors.SelectorKey, int]]:
    """Wait with the clock's own grain: epoll alone counts in whole milliseconds."""
    if not selector.get_map():  # Windows refuses to wait for nothing
        time.sleep(max(timeout_s, 0))
        return []
    if timeout_s <= 0:
        return selector.select(0)
    fileno = getattr(selector, "fileno", None)
    if fileno is not None and (fd := fileno()) < 1024:  # select(2) takes no larger ones
        select.select([fd], [], [], timeout_s)
        return selector.select(0)
    return selector.select(timeout_s)


class Histogram:
    """Counts of durations in nanoseconds, in steps of an eighth of a power of two."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.n = self.largest = 0

    def add(self, ns: int) -> None:
        """Count one duration."""
        bits = ns.bit_length()
        step = (bits << 3) | (ns >> (bits - 4) & 7) if bits > 4 else ns
        self.counts[step] = self.counts.get(step, 0) + 1
        self.n += 1
        self.largest = max(self.largest, ns)

    def at(self, share: float) -> int:
        """Return the upper end of the step that holds this share of the durations."""
        left = math.ceil(self.n * share)
        for step in sorted(self.counts):
            left -= self.counts[step]
            if left <= 0:
                bits = step >> 3
                edge = (9 + (step & 7)) << (bits - 4) if bits > 4 else step
                return min(edge, self.largest)
        return 0
