"""One artifact on one machine: the numbers of question 1, without an engine and with one."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from stackchoice.capacity import replicas_at_peak
from stackchoice.choose.case import Case
from stackchoice.choose.place import (
    Place,
    launch_of,
    layout_of,
    places,
    replica_sizes,
    start_of,
    workspaces,
)
from stackchoice.choose.traffic import Traffic
from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts.datum import Datum
from stackchoice.facts.interval import Interval
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine
from stackchoice.fit import (
    CacheLayout,
    FitRow,
    Speed,
    Stream,
    fit_row,
    request_seconds,
    requests_per_s,
    usable_bytes,
)
from stackchoice.fit.admission import Admission
from stackchoice.fit.admissions import admit_replica, lightest
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.memory import GB
from stackchoice.fit.path import KernelPath
from stackchoice.fit.path.meaning import executed_operand
from stackchoice.fit.prefix import ReuseRule, reuse_rule
from stackchoice.scenario import THIS_MACHINE
from stackchoice.scenario.words import label

#: The ends of the speed interval and its likely value; ``low`` is the slow end.
ENDS = ("low", "middle", "high")
UNKNOWN_SPEED = Speed()
TAKES = label("candidates.machines.0.devices_per_replica")


@dataclass(frozen=True, kw_only=True)
class Site(Place):
    """One artifact on one machine: the numbers of question 1.

    Memory, as :func:`site_of` returns it; :func:`admitted` adds what an engine release admits, and
    at most where its workspace is least; :func:`served` how fast one stream is and what a replica
    serves. ``slow_s`` and ``fast_s`` are seconds in prefill and decode of a request in a full
    pool, at either end.
    """

    layout: CacheLayout | None
    held: CacheLayout | None
    cache_note: str
    row: FitRow
    workspace: Datum[int]
    most_sequences: int | None = None
    cache_bytes: int = 0
    speed: Speed = UNKNOWN_SPEED
    engine: str = ""
    admission: Admission | None = None
    kernels: KernelPath | None = None
    live_sequences: int | None = None
    reuse: ReuseRule | None = None
    replica: Interval | None = None
    reply_s: Interval | None = None
    slow_s: tuple[float, float] | None = None
    fast_s: tuple[float, float] | None = None
    needed_concurrency: float | None = None
    needed_at_fast_end: float | None = None
    replicas_needed: tuple[int, int] | None = None

    @property
    def operand(self) -> str | None:
        """What the kernels multiply; None where that, or the engine, is not known."""
        return executed_operand(self.kernels) if self.kernels else None

    def seconds(self, flow: Traffic, end: str, batch: int) -> tuple[float, float] | None:
        """Seconds in prefill and in decode of one request beside ``batch - 1`` others.

        None where lengths or speed are not known.
        """
        prefill = flow.prefill_at(self.reuse, end)
        if prefill is None or not flow.output_tokens:
            return None
        return request_seconds(
            self.speed, self.artifact, share=end, batch=batch, cache_bytes=self.cache_bytes,
            prefill_tokens=prefill, output_tokens=flow.output_tokens,
        )  # fmt: skip


def devices_assumed(site: Site, case: Case, *, serves: bool = True) -> str:
    """Say how many devices a replica takes where nobody said it, and what twice as many hold.

    Where nothing ``serves``, only that they were tried.
    """
    sizes = replica_sizes(site.choice)
    if site.choice.devices_per_replica is not None or len(sizes) == 1:
        return ""
    tried = ", ".join(map(str, sizes))
    if not serves:
        return (
            f"replicas of {tried} devices were tried, since nobody said how many {TAKES}, and none "
            f"serves; shown is {site.devices}"
        )
    said = (
        f"a replica takes {site.devices} of {site.choice.count} devices, the fewest of those tried "
        f"({tried}) that serve: assumed, since nobody said how many {TAKES}"
    )
    wider = next((p for p in places(case) if p.devices == 2 * site.devices
                  and (p.choice, p.artifact) == (site.choice, site.artifact)), None)  # fmt: skip
    now = site.row.live_sequences
    then = site_of(wider, case, site.engine).row.live_sequences if wider else None
    if now is None or then is None or wider is None:
        return said
    return f"{said}; on {wider.devices} the memory holds {then:,} live sequences instead of {now:,}"


def site_of(place: Place, case: Case, engine: str = "") -> Site:
    """Return the numbers of question 1 at a place: of an engine, or of that which takes least."""
    return case.recall(("site", place.number, engine), lambda here: _site(place, here, engine))


def _site(place: Place, case: Case, engine: str) -> Site:
    artifact, context = place.artifact, case.flow.context_tokens
    layout, note = layout_of(place.model, case)
    held, _ = layout_of(place.model, case, place.devices, engine)
    spaces = workspaces(place, case, *([engine] if engine else []))
    taken = spaces[engine] if engine else lightest(
        spaces, place.model.config.value or {}, case.facts, artifact.format
    )  # fmt: skip
    row = fit_row(
        "published checkpoint on the memory the machine has",
        memory_bytes=usable_bytes(place.machine, place.devices),
        weights_bytes=artifact.weights_bytes,
        workspace_bytes=taken,
        bytes_per_sequence=(held and context and held.bytes_per_sequence(context)) or None,
        note=note,
    )
    return Site(**vars(place), layout=layout, held=held, cache_note=note, row=row, workspace=taken,
                engine=engine)  # fmt: skip


def by_own_rule(site: Site, engine: Engine, case: Case) -> tuple[Datum[int], int | None]:
    """Return what an engine takes whatever the scenario states, and what it then admits."""
    taken = workspaces(site, case, engine.id, own=True)[engine.id]
    pool = site.row.pool_with(taken)
    found = _admission(site, start_of(site, engine, case).asked, pool, case)
    none = 0 if pool is not None and pool <= 0 else None
    return taken, found.live_sequences if found else none


def admitted(site: Site, engine: Engine, case: Case) -> Site:
    """Return the site with what one engine release admits there, and what it finds again.

    Where the release has no sourced admission rule the quotient stays, and says so.
    """
    asked = launch_of(site, engine, case)

    def admits(pool: int | None, quotient: int | None) -> tuple[Admission | None, int | None]:
        found = case.recall(
            ("admission", engine.id, site.number, pool), partial(_admission, site, asked, pool)
        )
        own = found.live_sequences if found else None
        return found, quotient if own is None else own

    admission, live = admits(site.row.pool_bytes, site.row.live_sequences)
    roomy = site.row.pool_with(site.workspace, least=True)
    return replace(
        site,
        engine=engine.id,
        admission=admission,
        live_sequences=live,
        most_sequences=None if live else admits(roomy, site.row.most_sequences)[1],
        reuse=case.recall(("reuse", engine.id, site.devices), lambda _: _reuse(asked)),
    )


def _admission(site: Site, asked: Launch, pool: int | None, case: Case) -> Admission | None:
    context = case.flow.context_tokens
    if pool is None or pool <= 0 or not context:
        return None
    return admit_replica(
        asked, site.machine, pool_bytes=pool, devices=site.devices,
        context_tokens=context,
    )  # fmt: skip


def _reuse(asked: Launch) -> ReuseRule | None:
    """What a release finds again of what prompts share; None where nobody read that."""
    try:
        return reuse_rule(asked)
    except (UnknownRuleError, UnknownCacheError):
        return None


def served(site: Site, case: Case) -> Site:
    """Return the site with one stream's speed, what a full replica serves, what the peak takes."""
    full = case.recall(
        ("full", site.engine, site.number, site.live_sequences), lambda here: _full(site, here)
    )
    flow, replica, live = case.flow, full["replica"], site.live_sequences
    peak, slow, fast = flow.peak_per_s, full["slow_s"], full["fast_s"]
    if peak is None or replica is None or not live:
        return replace(site, **full)
    return replace(
        site,
        **full,
        needed_concurrency=peak * sum(slow),
        needed_at_fast_end=peak * sum(fast),
        replicas_needed=(
            _replicas(flow, replica.high, live, fast[0]),
            _replicas(flow, replica.low, live, slow[0]),
        ),
    )


def _full(site: Site, case: Case) -> dict[str, Any]:
    """Return what no arrival moves: one stream's speed, and what a replica with a full pool does.

    The speed is at the depth that requests have on average, of the arithmetic that the engine's
    kernels run, where a site knows their path.
    """
    flow, live, cache_bytes = case.flow, site.live_sequences, mean_cache_bytes(site, case)
    which = site.number, site.operand
    stream = case.recall(("stream", *which), lambda here: _stream(site, here.facts))
    speed = case.recall(
        ("speed", *which, cache_bytes), lambda _: stream.speed(cache_bytes=cache_bytes)
    )
    alone: dict[str, Any] = {"cache_bytes": cache_bytes, "speed": speed}
    here = replace(site, **alone)
    ends = [here.seconds(flow, end, live) if live else None for end in ENDS]
    slow, middle, fast = ends
    replica = requests_per_s(ends, live or 0)
    reply = None
    if slow and middle and fast and replica:
        reply = Interval(
            low=sum(fast), middle=sum(middle), high=sum(slow), unit="s", evidence=replica.evidence,
            rests_on=["a full pool, no queue"],
        )  # fmt: skip
    return alone | {"replica": replica, "reply_s": reply, "slow_s": slow, "fast_s": fast}


def mean_cache_bytes(site: Site, case: Case) -> int:
    """Return the cache that a request reads at the depth that requests have on average.

    On all devices together: what each of them keeps a copy of, a latent say, each of them reads.
    """
    depth = int((case.flow.input_tokens or 0) + (case.flow.output_tokens or 0) / 2)
    return site.held.bytes_per_sequence(depth) if site.held else 0


def stream_at(site: Site, facts: Facts) -> dict[str, Any]:
    """Return what a single stream on a site is, beside its model, artifact, machine and depth."""
    return {
        "devices": site.devices, "operand": site.operand,
        "classes": facts.speed_classes, "links": facts.links.values(),
        "interconnect": site.choice.interconnect,
    }  # fmt: skip


def threads_of(site: Site) -> str:
    """Return ``one`` for this machine, whose probe and engine run on one thread, else ``all``."""
    return "one" if site.choice.id == THIS_MACHINE else "all"


def _stream(site: Site, facts: Facts) -> Stream:
    return Stream(
        site.model, site.artifact, site.machine, facts.efficiencies, threads=threads_of(site),
        # Single-stream prefill of every engine is too wide to size a server by: its class is used.
        shares=[m for m in facts.share_models if m.phase == "decode"], **stream_at(site, facts),
    )  # fmt: skip


def _replicas(flow: Traffic, replica_per_s: float, slots: int, prefill_s: float) -> int:
    """Return the replicas that the peak takes, spares on top; see :mod:`stackchoice.capacity`."""
    carrying = replicas_at_peak(
        peak_per_s=flow.peak_per_s or 0.0, replica_per_s=replica_per_s, slots=slots,
        service_s=slots / replica_per_s, cap=flow.cap, wait_s=flow.wait_s(prefill_s),
        tail=flow.tail,
    )  # fmt: skip
    return carrying + flow.spares


def leaves(pool_bytes: int) -> str:
    """Say what weights and workspace leave of the memory, or how far they overflow."""
    if pool_bytes < 0:
        return f"are {-pool_bytes / GB:,.1f} GB too large for the memory"
    return f"leave {pool_bytes / GB:,.1f} GB"
