"""What this workload does to the best self-hosted configuration.

Seconds of a request in prefill and decode, which of compute, bandwidth and capacity binds, what
prefix caching is worth, which settings follow from it, and where they disagree.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Literal

from stackchoice.choose.case import Case
from stackchoice.choose.limits import PeakPlan, peak_plan
from stackchoice.choose.site import ENDS, Site
from stackchoice.choose.traffic import Traffic
from stackchoice.facts.datum import Evidence, Record, weakest
from stackchoice.facts.interval import Interval
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine
from stackchoice.fit.admissions import NO_PREFIX_CACHING, AdmissionRow
from stackchoice.fit.prefix import Hit
from stackchoice.fit.stream import read_bytes

Resource = Literal["compute", "bandwidth", "capacity"]
#: The assumption that holds what reuse takes from decode.
PREFIX_PRICE = "prefix_caching_decode_share"


class Phases(Record):
    """Seconds of one request, beside the others that the peak keeps in flight."""

    prefill_s: Interval
    decode_s: Interval
    batch: int
    pool_full: bool


class Binding(Record):
    """Shares of the chip's time that one request takes, at the middle of the interval.

    Prefill is compute. A decode step reads the caches, which is bandwidth, and the weights, which
    more sequences would share: capacity where the pool is full, else bandwidth. ``ends`` says what
    binds at the low, middle and high end.
    """

    compute: float
    bandwidth: float
    capacity: float
    weights_share_of_step: float
    binds: Resource
    ends: dict[str, Resource]
    evidence: Evidence

    @property
    def sure(self) -> bool:
        """Whether the same resource binds all over the interval."""
        return len(set(self.ends.values())) == 1


class PrefixWorth(Record):
    """What prefix caching gives this workload in this release, and what it takes."""

    engine: str
    release: str
    input_tokens: int
    shared_tokens: int | None
    found_tokens: int | None
    block_tokens: int | None
    prefill_times: float | None
    saved_s: float | None
    price_share: float
    price_s: float | None
    live_with: int | None
    live_without: int | None
    pays: bool | None
    why: str
    evidence: Evidence


class Lean(Record):
    """A setting that follows from the arithmetic; ``has``: whether the release can do it."""

    id: str
    text: str
    why: str
    how_far: str
    has: bool | None
    since: str = ""
    evidence: Evidence


class Dispute(Record):
    """Two settings that pull apart, and what settles them."""

    measures: tuple[str, str]
    resolution: str


class Shape(Record):
    """Question 2 in numbers, for one configuration."""

    configuration: str
    phases: Phases | None = None
    binding: Binding | None = None
    prefix: PrefixWorth | None = None
    peak: PeakPlan | None = None
    leans: list[Lean] = []
    disputes: list[Dispute] = []
    note: str = ""


def shape(
    title: str, case: Case, engine: Engine, site: Site, admissions: list[AdmissionRow]
) -> Shape:
    """Return question 2 in numbers; what cannot be reckoned is None."""
    flow, facts, peak = case.flow, case.facts, peak_plan(case, site)
    phases = _phases(site, flow)
    if phases is None:
        return Shape(
            configuration=title, peak=peak,
            prefix=_prefix(engine, site, flow, facts, None, admissions),
            note="lengths or speed are not known, so nothing was reckoned",
        )  # fmt: skip
    binding = _binding(site, flow, phases)
    prefix = _prefix(engine, site, flow, facts, phases, admissions)
    seen: dict[str, bool | None] = {
        "compute_binds": binding.binds == "compute",
        "bandwidth_binds": binding.binds == "bandwidth",
        "capacity_binds": binding.binds == "capacity",
        "pool_full": phases.pool_full,
        "weights_read_most": binding.weights_share_of_step >= 0.5,
        "cache_read_most": binding.weights_share_of_step < 0.5,
        "prefix_found": None if prefix.found_tokens is None else prefix.found_tokens > 0,
        "reuse_takes_room": (prefix.live_without or 0) > (prefix.live_with or 0),
        "thinking": case["workload.thinking"],
    }
    leans = list(_leans(engine, facts, seen, weakest(binding.evidence, Evidence.INFERRED)))
    return Shape(
        configuration=title, phases=phases, binding=binding, prefix=prefix, peak=peak, leans=leans,
        disputes=list(_disputes(facts, leans, prefix)),
    )  # fmt: skip


def batch_at_peak(seconds: Callable[[int], tuple[float, float]], per_s: float, live: int) -> int:
    """Return the smallest batch that holds what a replica's arrivals keep in flight (Little).

    A request stays ``(p + d(b)) / (1 - rate x p)`` seconds, as the prefills of those that come
    meanwhile stop its decode. ``live`` where even the full pool does not hold them.
    """

    def holds(batch: int) -> bool:
        prefill_s, decode_s = seconds(batch)
        free = 1 - per_s * prefill_s
        return free > 0 and per_s * (prefill_s + decode_s) / free <= batch

    return 1 + bisect_left(range(1, live), True, key=holds)


def _phases(site: Site, flow: Traffic) -> Phases | None:
    live = site.live_sequences
    if not live or site.seconds(flow, "middle", 1) is None:
        return None
    batch, full = 1, False
    if flow.peak_per_s is not None:
        rate = flow.peak_per_s / site.replicas_there
        batch = batch_at_peak(lambda b: site.seconds(flow, "middle", b) or (0, 0), rate, live)
        full = batch == live > 1 or (live == 1 and rate > 0 and batch_is_full(site, flow, rate))
    parts = [found for end in ENDS if (found := site.seconds(flow, end, batch))]
    evidence = site.replica.evidence if site.replica else Evidence.INFERRED
    rests = ["the fit's speed interval", f"{batch} sequences at once"]

    def interval(index: int) -> Interval:
        slow, middle, fast = (part[index] for part in parts)
        return Interval(low=fast, middle=middle, high=slow, unit="s", evidence=evidence,
                        rests_on=rests)  # fmt: skip

    return Phases(prefill_s=interval(0), decode_s=interval(1), batch=batch, pool_full=full)


def batch_is_full(site: Site, flow: Traffic, per_s: float) -> bool:
    """Whether a single slot is too few for what comes."""
    prefill_s, decode_s = site.seconds(flow, "middle", 1) or (0.0, 0.0)
    return per_s * (prefill_s + decode_s) > 1


def _binding(site: Site, flow: Traffic, phases: Phases) -> Binding:
    batch, total = phases.batch, site.artifact.weights_bytes.value or 0
    weights = min(total, (read_bytes(site.artifact, site.model) or 0) * batch)
    caches = batch * site.cache_bytes
    of_step = weights / (weights + caches)
    found = {}
    for end in ENDS:
        prefill_s, decode_s = site.seconds(flow, end, batch) or (0.0, 0.0)
        step = decode_s / batch
        whole = prefill_s + step
        capacity = step * of_step if phases.pool_full else 0.0
        found[end] = {
            "compute": prefill_s / whole, "capacity": capacity / whole,
            "bandwidth": (step - capacity) / whole,
        }  # fmt: skip
    ends = {end: max(shares, key=lambda name: shares[name]) for end, shares in found.items()}
    return Binding(
        **found["middle"], weights_share_of_step=of_step, binds=ends["middle"], ends=ends,
        evidence=phases.prefill_s.evidence,
    )  # fmt: skip


def _prefix(
    engine: Engine, site: Site, flow: Traffic, facts: Facts, phases: Phases | None,
    admissions: list[AdmissionRow],
) -> PrefixWorth:  # fmt: skip
    price = facts.assumptions[PREFIX_PRICE].datum
    tokens, shared = int(flow.input_tokens or 0), flow.shared_tokens
    hit, why = _hit(engine, site, tokens, shared)
    share = hit.tokens / tokens if hit and tokens else None
    with_, without = _rows(engine, site, admissions)
    saved = cost = pays = None
    if phases is not None and share is not None and site.speed.prefill is not None:
        saved = share * tokens / site.speed.prefill.middle
        cost = phases.decode_s.middle * (price.value or 0)
        pays = saved > cost
    return PrefixWorth(
        engine=engine.name,
        release=engine.latest.version,
        input_tokens=tokens,
        shared_tokens=None if shared is None else int(shared),
        found_tokens=hit and hit.tokens,
        block_tokens=hit and hit.block_tokens,
        prefill_times=1 / (1 - share) if share is not None and share < 1 else None,
        saved_s=saved,
        price_share=price.value or 0,
        price_s=cost,
        live_with=with_,
        live_without=without,
        pays=pays,
        why=why,
        evidence=weakest(price.evidence, Evidence.INFERRED),
    )


def _hit(engine: Engine, site: Site, tokens: int, shared: float | None) -> tuple[Hit | None, str]:
    if not tokens:
        return None, "the length of the input is not known"
    if shared is None:
        return None, "nobody said how much of the input is shared; a request log shows it"
    if site.reuse is None:
        return None, f"what {engine.name} {engine.latest.version} finds again was not read"
    hit = site.reuse.hit(tokens, int(shared))
    return hit, hit.why


def _rows(
    engine: Engine, site: Site, admissions: list[AdmissionRow]
) -> tuple[int | None, int | None]:
    pool = site.row.pool_bytes
    own = [a for a in admissions if a.engine == engine.name and a.pool_bytes == pool]
    without = next((a.live_sequences for a in own if a.settings == NO_PREFIX_CACHING), None)
    live = site.live_sequences
    return live, without if without is not None else live


def _leans(
    engine: Engine, facts: Facts, seen: dict[str, bool | None], evidence: Evidence
) -> Iterator[Lean]:
    for measure in facts.measures:
        terms = [seen[name] for name in measure.when] + [
            None if seen[name] is None else not seen[name] for name in measure.unless
        ]
        if all(terms):
            has, since = engine.has(measure.feature) if measure.feature else (True, "")
            yield Lean(
                id=measure.id, text=measure.text, why=measure.why, how_far=measure.how_far,
                has=has, since=since, evidence=evidence,
            )  # fmt: skip


def _disputes(facts: Facts, leans: list[Lean], prefix: PrefixWorth) -> Iterator[Dispute]:
    here = {lean.id for lean in leans}
    told = "" if prefix.saved_s is None else (
        f": {prefix.saved_s:,.2f} s of prefill a request against {prefix.live_without} instead of "
        f"{prefix.live_with} sequences at once"
    )  # fmt: skip
    for measure in facts.measures:
        for other in measure.against:
            if measure.id in here and other in here:
                yield Dispute(measures=(other, measure.id), resolution=measure.resolves + told)
