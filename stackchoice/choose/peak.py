"""What a peak asks of a self-hosted configuration: requests in flight, their rate, their limits."""

from collections.abc import Iterator

from stackchoice.choose.case import Case
from stackchoice.choose.judge import Check, Cites, compared
from stackchoice.choose.limits import LIMITS, under_limits
from stackchoice.choose.site import Site
from stackchoice.facts.names import counted
from stackchoice.scenario.words import label

PEAK = "of all replicas; how it is reckoned stands with the replicas at the peak"


def traffic_checks(case: Case, site: Site, *, limits: bool) -> Iterator[Check]:
    """Yield what the traffic asks of a site that serves it; ``limits``: whether any is stated."""
    for check in (_concurrency, _rate):
        yield from check(site, case.flow.room(site.reuse))
    if limits:
        yield from _ceilings(case, site)
        if case.scenario.workload.interactive:
            yield from _limits_under_load(case, site)


def _compared(site: Site, what: str, there: float, least: float) -> Cites:
    source = site.workspace.source or site.artifact.weights_bytes.source
    return compared(what, there, least, evidence=site.row.evidence, source=source, note=PEAK)


def _concurrency(site: Site, room: float) -> Iterator[Check]:
    """Requests in flight at the peak must fit, at the fast end of the speed interval at least."""
    slow, fast = site.needed_concurrency, site.needed_at_fast_end
    if slow is None or fast is None:
        return
    holds = (site.live_sequences or 0) * site.replicas_there
    once = f", at most {holds * room:,.0f} with what is shared kept once" if room > 1 else ""
    if fast > holds * room or slow <= holds:
        yield (
            "hardware fit", slow <= holds,
            f"holds {holds} live sequences{once}; the peak keeps {fast:,.1f} in flight even at "
            "the fast end of the speed interval",
            _compared(site, "live sequences", holds * room, round(fast, 1)),
        )  # fmt: skip
    else:
        yield (
            "hardware fit", None,
            f"whether {holds} live sequences{once} hold the peak ({fast:,.0f} to {slow:,.0f})",
        )  # fmt: skip


def _rate(site: Site, room: float) -> Iterator[Check]:
    """The peak must be carried by the replicas, at the fast end and with all ``room`` at least."""
    if site.replicas_needed is None:
        return
    (fast, slow), replicas = site.replicas_needed, site.replicas_there
    if fast > replicas * room or slow <= replicas:
        yield (
            "hardware fit", slow <= replicas,
            f"the peak takes {fast} replicas even at the fast end of the interval; the "
            f"machines given hold {replicas}",
            _compared(site, "replicas", replicas, fast),
        )  # fmt: skip
    else:
        once = ", fewer with what is shared kept once" if room > 1 else ""
        there = counted(replicas, "replica")
        yield "hardware fit", None, f"whether {there} can carry the peak ({fast} to {slow}{once})"


def _ceilings(case: Case, site: Site) -> Iterator[Check]:
    """A service level that even the ceiling misses cannot be met by any engine."""
    limit, floor = case["workload.itl_p99_s"], site.speed.itl_floor_s
    if limit is not None and floor is not None:
        yield (
            "hardware fit", floor <= limit,
            f"even at the bandwidth ceiling a token takes {floor * 1000:,.0f} ms; "
            f"{limit * 1000:,.0f} ms are allowed", ("workload.itl_p99_s",),
        )  # fmt: skip
    limit, rate = case["workload.ttft_p99_s"], site.speed.prefill_ceiling_tokens_per_s
    tokens = case.flow.prefill_tokens
    if limit is not None and rate and tokens:
        yield (
            "hardware fit", tokens / rate <= limit,
            f"even at the compute ceiling the prefill takes {tokens / rate:,.2f} s; "
            f"{limit:g} s are allowed", ("workload.ttft_p99_s", "workload.input_tokens"),
        )  # fmt: skip
    limit, output = case["workload.end_to_end_p99_s"], case["workload.output_tokens"]
    if limit is not None and rate and tokens is not None and floor and output is not None:
        whole = tokens / rate + output * floor
        yield (
            "hardware fit", whole <= limit,
            f"even at both ceilings a request takes {whole:,.2f} s; {limit:g} s are allowed",
            ("workload.end_to_end_p99_s", "workload.input_tokens", "workload.output_tokens"),
        )  # fmt: skip


def _limits_under_load(case: Case, site: Site) -> Iterator[Check]:
    """An interactive service is not won on a throughput that breaks its p99 limits."""
    fast, slow = (under_limits(case, site, end) for end in ("high", "low"))
    if fast is None or slow is None:
        return
    limits = tuple(path for path in LIMITS if case[path] is not None)
    stated = " and ".join(
        f"{label(path).removesuffix(' (s)')} at most {case[path]:g} s" for path in limits
    )
    carries = [
        end.allowed > 0
        and (end.in_flight is None or end.in_flight <= end.allowed * site.replicas_there)
        for end in (fast, slow)
    ]
    keeps = "" if fast.in_flight is None else f"; the peak keeps {fast.in_flight:,.1f} in flight"
    if not carries[0]:
        yield "hardware fit", False, (
            f"interactive: with {stated} a replica runs at most {fast.allowed} at once, even at "
            f"the fast end of the speed interval and without a queue{keeps}"
        ), limits  # fmt: skip
    elif not carries[1]:
        yield "hardware fit", None, (
            f"whether it keeps {stated} under load ({slow.allowed} to {fast.allowed} at once "
            f"within the limit{keeps})"
        )  # fmt: skip
