"""What an interactive service may run at once without breaking its own p99 limits.

A pool full of sequences gives the most tokens a second and the slowest tokens. A person who
waits does not see the sum: so an interactive scenario counts only as many sequences as still
keep its limits, and an engine that carries the peak only beyond that has not won.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stackchoice.choose.site import Site, Traffic
from stackchoice.fit import request_seconds
from stackchoice.scenario import Point

LIMITS = ("workload.ttft_p99_s", "workload.itl_p99_s", "workload.end_to_end_p99_s")


@dataclass(frozen=True, slots=True)
class UnderLimits:
    """At one end of the speed interval: sequences allowed at once, and those the peak keeps."""

    allowed: int
    in_flight: float | None


def under_limits(point: Point, site: Site, flow: Traffic, share: str) -> UnderLimits | None:
    """Return how many sequences a replica may run at once within every stated limit.

    Queues and spread are left out, so a p99 is at least what is reckoned here: what breaks a
    limit already here breaks it. None where no limit is stated or the speed is unknown.
    """
    ttft, itl, whole = (point[path] for path in LIMITS)
    live, output = site.live_sequences, flow.output_tokens
    prefill = flow.prefill_at(site, share)
    if (ttft, itl, whole) == (None, None, None) or not live or not output:
        return None

    def seconds(batch: int) -> tuple[float, float] | None:
        return request_seconds(
            site.speed, site.artifact, share=share, batch=batch, cache_bytes=site.cache_bytes,
            prefill_tokens=prefill or 0, output_tokens=output,
        )  # fmt: skip

    def keeps(batch: int) -> bool:
        found = seconds(batch)
        if found is None:
            return False
        prefill_s, decode_s = found
        return (
            (ttft is None or prefill_s <= ttft)
            and (itl is None or decode_s / output <= itl)
            and (whole is None or prefill_s + decode_s <= whole)
        )

    if seconds(1) is None or prefill is None:
        return None
    allowed = _largest(live, keeps)
    there = seconds(max(allowed, 1))
    peak = flow.peak_per_s
    return UnderLimits(allowed, None if peak is None or there is None else peak * sum(there))


def _largest(most: int, keeps: Callable[[int], bool]) -> int:
    """Return the largest batch up to ``most`` that keeps the limits: a step grows with it."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle - 1)
    return low
