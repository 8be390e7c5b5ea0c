"""Replicas at the peak for the chosen configuration, within its limits, and when it is outgrown."""

from __future__ import annotations

from typing import Any

from stackchoice.capacity import Plan, carried_per_s, months_until, plan
from stackchoice.choose.interactive import under_limits
from stackchoice.choose.site import Site, Traffic
from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.load import Facts
from stackchoice.fit import request_seconds
from stackchoice.fit.speed import full_rate
from stackchoice.scenario import Point


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


def peak_plan(site: Site, flow: Traffic, facts: Facts, point: Point) -> PeakPlan | None:
    """Return the plan, or None where arrivals, lengths or speed are not known."""
    if flow.peak_per_s is None:
        return None
    slow, fast = (replica_at(site, flow, facts, point, share) for share in ("low", "high"))
    if slow is None or fast is None:
        return None
    growth = point["workload.growth_per_month"]
    carrying = max(1, site.replicas_there - flow.spares)
    carried = tuple(carried_per_s(carrying, **end) for end in (slow, fast))
    months = tuple(
        None if growth is None else months_until(flow.peak_per_s, top, growth) for top in carried
    )
    plans = [plan(peak_per_s=flow.peak_per_s, spares=flow.spares, **end) for end in (slow, fast)]
    return PeakPlan(
        peak_per_s=flow.peak_per_s,
        replicas_there=site.replicas_there,
        slow=plans[0],
        fast=plans[1],
        wait_s=(slow["wait_s"], fast["wait_s"]),
        tail=slow["tail"],
        carried_per_s=(carried[0], carried[1]),
        growth_per_month=growth,
        months=(months[0], months[1]),
        evidence=Evidence.INFERRED,
    )


def replica_at(
    site: Site, flow: Traffic, facts: Facts, point: Point, share: str
) -> dict[str, Any] | None:
    """Return what a replica is at one end: its slots within the limits, rate and time."""
    slots = site.live_sequences or 0
    limits = under_limits(point, site, flow, share)
    if limits is not None:
        slots = min(slots, limits.allowed)
    prefill = flow.prefill_at(site, share)
    if slots < 1 or prefill is None or not flow.output_tokens:
        return None
    found = request_seconds(
        site.speed, site.artifact, share=share, batch=slots, cache_bytes=site.cache_bytes,
        prefill_tokens=prefill, output_tokens=flow.output_tokens,
    )  # fmt: skip
    if found is None:
        return None
    prefill_s, decode_s = found
    rate = full_rate(prefill_s, decode_s, slots)
    return {
        "replica_per_s": rate, "service_s": slots / rate, "slots": slots,
        "cap": facts.assumed("utilisation_cap"), "wait_s": flow.wait_s(prefill_s, facts),
        "tail": facts.assumed("queue_tail_share"),
    }  # fmt: skip
