"""What a replica may run at once without breaking its own p99 limits, and replicas at the peak.

A pool full of sequences gives the most tokens a second and the slowest tokens. A person who
waits does not see the sum: so an interactive scenario counts only as many sequences as still
keep its limits, and an engine that carries the peak only beyond that has not won.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from stackchoice.capacity import Plan, carried_per_s, months_until, plan
from stackchoice.choose.case import Case
from stackchoice.choose.site import Site
from stackchoice.facts.datum import Evidence, Record
from stackchoice.fit.replica import full_rate

LIMITS = ("workload.ttft_p99_s", "workload.itl_p99_s", "workload.end_to_end_p99_s")


@dataclass(frozen=True, slots=True)
class UnderLimits:
    """At one end of the speed interval: sequences allowed at once, and those the peak keeps."""

    allowed: int
    in_flight: float | None


def under_limits(case: Case, site: Site, end: str) -> UnderLimits | None:
    """Return how many sequences a replica may run at once within every stated limit.

    Queues and spread are left out, so a p99 is at least what is reckoned here: what breaks a
    limit already here breaks it. None where no limit is stated or the speed is unknown.
    """
    ttft, itl, whole = (case[path] for path in LIMITS)
    live, flow = site.live_sequences, case.flow
    if (ttft, itl, whole) == (None, None, None) or not live:
        return None
    if site.seconds(flow, end, 1) is None or not flow.output_tokens:
        return None
    output = flow.output_tokens

    def keeps(batch: int) -> bool:
        found = site.seconds(flow, end, batch)
        if found is None:
            return False
        prefill_s, decode_s = found
        return (
            (ttft is None or prefill_s <= ttft)
            and (itl is None or decode_s / output <= itl)
            and (whole is None or prefill_s + decode_s <= whole)
        )

    # A step grows with the batch, so all that break a limit stand behind those that keep it.
    allowed = bisect_left(range(1, live + 1), True, key=lambda batch: not keeps(batch))
    there, peak = site.seconds(flow, end, max(allowed, 1)), flow.peak_per_s
    return UnderLimits(allowed, None if peak is None or there is None else peak * sum(there))


class PeakPlan(Record):
    """The peak at both ends of the speed interval.

    ``carried`` is the peak that the replicas there carry, spares left out; ``months`` are those
    until the stated growth outgrows it (None: never, or no growth was stated).
    """

    peak_per_s: float
    replicas_there: int
    slow: Plan
    fast: Plan
    wait_s: tuple[float, float]
    tail: float
    carried_per_s: tuple[float, float]
    growth_per_month: float | None
    months: tuple[float | None, float | None]
    evidence: Evidence

    @property
    def enough(self) -> bool | None:
        """Whether what is there carries the peak: at both ends, at neither, or not known."""
        if self.slow.total <= self.replicas_there:
            return True
        return None if self.fast.total <= self.replicas_there else False


def peak_plan(case: Case, site: Site) -> PeakPlan | None:
    """Return the plan, or None where arrivals, lengths or speed are not known."""
    flow = case.flow
    if flow.peak_per_s is None:
        return None
    slow, fast = (replica_at(case, site, end) for end in ("low", "high"))
    if slow is None or fast is None:
        return None
    growth = case["workload.growth_per_month"]
    carrying = max(1, site.replicas_there - flow.spares)
    carried = [carried_per_s(carrying, **end) for end in (slow, fast)]
    months = [
        None if growth is None else months_until(flow.peak_per_s, top, growth) for top in carried
    ]
    plans = [plan(peak_per_s=flow.peak_per_s, spares=flow.spares, **end) for end in (slow, fast)]
    return PeakPlan(
        peak_per_s=flow.peak_per_s, replicas_there=site.replicas_there, slow=plans[0],
        fast=plans[1], wait_s=(slow["wait_s"], fast["wait_s"]), tail=flow.tail,
        carried_per_s=(carried[0], carried[1]), growth_per_month=growth,
        months=(months[0], months[1]), evidence=flow.peak_evidence,
    )  # fmt: skip


def replica_at(case: Case, site: Site, end: str) -> dict[str, Any] | None:
    """Return what a replica is at one end: its slots within the limits, rate and time."""
    slots, flow = site.live_sequences or 0, case.flow
    limits = under_limits(case, site, end)
    if limits is not None:
        slots = min(slots, limits.allowed)
    found = site.seconds(flow, end, slots) if slots >= 1 else None
    if found is None:
        return None
    prefill_s, decode_s = found
    rate = full_rate(prefill_s, decode_s, slots)
    return {
        "replica_per_s": rate, "service_s": slots / rate, "slots": slots, "cap": flow.cap,
        "wait_s": flow.wait_s(prefill_s), "tail": flow.tail,
    }  # fmt: skip
