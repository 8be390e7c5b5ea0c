"""One artifact on one machine, whatever the engine: the numbers of question 1."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from stackchoice.capacity import replicas_at_peak
from stackchoice.choose.memo import Memo
from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts.datum import Record
from stackchoice.facts.interval import Interval
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Engine, Machine, Model
from stackchoice.fit import (
    CacheLayout,
    FitRow,
    Speed,
    batch_one_speed,
    cache_layout,
    fit_row,
    launch,
    request_seconds,
    requests_per_s,
    usable_bytes,
)
from stackchoice.fit.admission import Admission
from stackchoice.fit.admissions import admit_replica, replica_launch
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.path import KernelPath
from stackchoice.fit.path.meaning import executed_operand
from stackchoice.fit.prefix import ReuseRule, reuse_rule
from stackchoice.fit.sizing import workspace_bytes
from stackchoice.scenario import THIS_MACHINE, MachineChoice, Point, Scenario

SECONDS_PER_HOUR = 3600


class Place(Record):
    """One artifact on one machine, before any arithmetic."""

    model: Model
    artifact: Artifact
    machine: Machine
    choice: MachineChoice

    @property
    def replicas_there(self) -> int:
        """How many replicas the candidate devices make."""
        return max(1, self.choice.count // self.choice.devices_per_replica)


class Site(Place):
    """One artifact on one machine: the numbers of question 1.

    Memory, whatever the engine, as :func:`site_of` returns it; :func:`admitted` adds what an engine
    release admits, :func:`served` how fast one stream is and what a replica serves.
    """

    layout: CacheLayout | None
    cache_note: str
    row: FitRow
    cache_bytes: int = 0
    speed: Speed = Speed()
    engine: str = ""
    admission: Admission | None = None
    kernels: KernelPath | None = None
    live_sequences: int | None = None
    reuse: ReuseRule | None = None
    replica: Interval | None = None
    reply_s: Interval | None = None
    needed_concurrency: float | None = None
    needed_at_fast_end: float | None = None
    replicas_needed: tuple[int, int] | None = None


class Traffic:
    """Requests per second and tokens per request at one point (None: not known).

    Worked out when asked for, so that a sub-result depends on the inputs that it uses and no more.
    """

    def __init__(self, point: Point) -> None:
        self._point = point

    @cached_property
    def mean_per_s(self) -> float | None:
        """Requests a second, averaged over the active hours."""
        per_day = self._point.requests_per_day
        hours = self._point["workload.active_hours_per_day"]
        return per_day / (hours * SECONDS_PER_HOUR) if per_day and hours else None

    @cached_property
    def peak_per_s(self) -> float | None:
        """Requests a second at the peak."""
        mean, peak = self.mean_per_s, self._point["workload.peak_factor"]
        return mean * peak if mean and peak else None

    @cached_property
    def input_tokens(self) -> float | None:
        """Tokens a request sends, the shared prefix among them."""
        tokens: float | None = self._point["workload.input_tokens"]
        return tokens

    @cached_property
    def shared_tokens(self) -> float | None:
        """Tokens of the beginning that all requests share."""
        tokens: float | None = self._point["workload.shared_prefix_tokens"]
        return tokens

    @cached_property
    def prefill_tokens(self) -> float | None:
        """Tokens to prefill: the shared prefix and what a session resends are reused."""
        return self.prefill_after(self.shared_tokens or 0)

    def prefill_at(self, site: Site, share: str) -> float | None:
        """Tokens to prefill on a site: of what is shared, what its release finds again is reused.

        Where nobody read what a release finds, that is an interval too: nothing is found at the
        slow end (``low``), all of it at the fast end (``high``), half of it in the middle.
        """
        tokens, shared = self.input_tokens, self.shared_tokens
        least = self.prefill_tokens
        if tokens is None or least is None:
            return None
        if site.reuse is None:
            return {"low": tokens, "high": least}.get(share, (tokens + least) / 2)
        if not tokens or not shared:
            return least
        return self.prefill_after(site.reuse.hit(int(tokens), int(shared)).tokens)

    def prefill_after(self, found_tokens: float) -> float | None:
        """Tokens to prefill when so many of the shared ones are found, and later turns resend."""
        tokens_in = self.input_tokens
        if tokens_in is None:
            return None
        found = found_tokens / tokens_in if tokens_in else 0
        turns = self._point["workload.turns_per_session"] or 1
        # The first turn of a session resends nothing.
        resent = (self._point["workload.resent_share"] or 0) * (turns - 1) / turns
        return tokens_in * (1 - min(1.0, found)) * (1 - resent)

    @cached_property
    def spares(self) -> int:
        """Replicas that may be down at the peak; none where nobody asked for any."""
        return self._point["workload.spare_replicas"] or 0

    def wait_s(self, prefill_s: float, facts: Facts) -> float:
        """How long a request may wait for a slot: what the first token's limit leaves, if any."""
        limit = self._point["workload.ttft_p99_s"]
        return facts.assumed("queue_wait_s") if limit is None else max(0.0, limit - prefill_s)

    @cached_property
    def output_tokens(self) -> float | None:
        """Tokens of a reply, reasoning among them."""
        tokens: float | None = self._point["workload.output_tokens"]
        return tokens

    @cached_property
    def context_tokens(self) -> int | None:
        """The length that one request may reach."""
        tokens: int | None = self._point["workload.context_tokens"]
        return tokens


def traffic(point: Point) -> Traffic:
    """Turn the workload's inputs into arrival rates and tokens per request."""
    return Traffic(point)


def places(scenario: Scenario, facts: Facts) -> list[Place]:
    """Return every candidate artifact on every candidate machine."""
    model = facts.models[scenario.model.id]
    wanted = scenario.model.artifacts or [a.id for a in model.artifacts]
    return [
        Place(model=model, artifact=model.artifact(name), machine=facts.machines[choice.id],
              choice=choice)
        for choice in scenario.candidates.machines for name in wanted
    ]  # fmt: skip


def site_of(place: Place, facts: Facts, point: Point, memo: Memo) -> Site:
    """Return the numbers of question 1 at a place, whatever the engine."""
    return memo.recall(
        ("site", place.choice, place.artifact.id), point, facts,
        lambda p, f: _site(place, f, traffic(p)),
    )  # fmt: skip


def _site(place: Place, facts: Facts, flow: Traffic) -> Site:
    artifact, machine = place.artifact, place.machine
    devices = place.choice.devices_per_replica
    layout, note = None, ""
    try:
        layout = cache_layout(place.model.config.value or {}, memory=facts.memory)
    except UnknownCacheError as error:
        note = str(error)
    per_sequence = layout and flow.context_tokens and layout.bytes_per_sequence(flow.context_tokens)
    row = fit_row(
        "published checkpoint on the memory the machine has",
        memory_bytes=usable_bytes(machine, devices),
        weights_bytes=artifact.weights_bytes,
        workspace_bytes=workspace_bytes(facts),
        bytes_per_sequence=per_sequence or None,
        note=note,
    )
    return Site(**dict(place), layout=layout, cache_note=note, row=row)


def speed_at(site: Site, facts: Facts, point: Point) -> dict[str, Any]:
    """Return the speed of one stream at its mean depth, with the kernels that the engine runs."""
    asked = stream_at(site, facts, point)
    speed = batch_one_speed(
        site.model, site.artifact, site.machine, facts.efficiencies, threads=threads_of(site),
        # Single-stream prefill of every engine is too wide to size a server by: its class is used.
        shares=[m for m in facts.share_models if m.phase == "decode"], **asked,
    )  # fmt: skip
    return {"cache_bytes": asked["cache_bytes"], "speed": speed}


def stream_at(site: Site, facts: Facts, point: Point) -> dict[str, Any]:
    """Return what a single stream on a site is, beside its model, artifact and machine."""
    flow = traffic(point)
    depth = int((flow.input_tokens or 0) + (flow.output_tokens or 0) / 2)
    return {
        "cache_bytes": site.layout.bytes_per_sequence(depth) if site.layout else 0,
        "devices": site.choice.devices_per_replica, "operand": operand_of(site),
        "classes": facts.speed_classes, "links": facts.links.values(),
        "interconnect": site.choice.interconnect,
    }  # fmt: skip


def threads_of(site: Site) -> str:
    """Return ``one`` for this machine, whose probe and engine run on one thread, else ``all``."""
    return "one" if site.choice.id == THIS_MACHINE else "all"


def operand_of(site: Site) -> str | None:
    """Return what the kernels multiply; None where that, or the engine, is not known."""
    return executed_operand(site.kernels) if site.kernels else None


def admitted(site: Site, engine: Engine, facts: Facts, point: Point, memo: Memo) -> Site:
    """Return the site with what one engine release admits there.

    Where the release has no sourced admission rule the quotient stays, and says so.
    """
    devices = site.choice.devices_per_replica
    asked = memo.recall(
        ("launch", engine.id, devices), point, facts,
        lambda _, f: replica_launch(
            engine.id, engine.latest.version, site.model.config.value or {}, devices=devices,
            facts=f,
        ),
    )  # fmt: skip
    key = ("admission", engine.id, site.choice, site.artifact.id, site.row.pool_bytes)
    admission = memo.recall(key, point, facts, lambda p, _: _admission(site, asked, traffic(p)))
    live = site.row.live_sequences
    if admission is not None and admission.live_sequences is not None:
        live = admission.live_sequences
    rule = memo.recall(
        ("reuse", engine.id, devices), point, facts,
        lambda _, f: _reuse(site, engine, f),
    )  # fmt: skip
    return site.model_copy(
        update={
            "engine": engine.id, "admission": admission, "live_sequences": live, "reuse": rule,
        }
    )  # fmt: skip


def _reuse(site: Place, engine: Engine, facts: Facts) -> ReuseRule | None:
    """What a release finds again of what prompts share; None where nobody read that."""
    try:
        return reuse_rule(
            launch(engine.id, engine.latest.version, site.model.config.value or {},
                   tp=site.choice.devices_per_replica, facts=facts)
        )  # fmt: skip
    except (UnknownRuleError, UnknownCacheError):
        return None


def served(site: Site, speed: dict[str, Any], facts: Facts, flow: Traffic) -> Site:
    """Return the site with its speed, what a replica serves, and what the peak takes.

    ``speed`` is what :func:`speed_at` returns.
    """
    found = _serving(site, speed, facts, flow)
    return site.model_copy(update={**speed, **found})


def _admission(site: Site, asked: Launch, flow: Traffic) -> Admission | None:
    pool = site.row.pool_bytes
    if pool is None or pool <= 0 or not flow.context_tokens:
        return None
    return admit_replica(
        asked, site.machine, pool_bytes=pool, devices=site.choice.devices_per_replica,
        context_tokens=flow.context_tokens,
    )  # fmt: skip


def _serving(site: Site, speed: dict[str, Any], facts: Facts, flow: Traffic) -> dict[str, Any]:
    """Return what a replica with its live sequences serves, and how many the peak takes."""
    live = site.live_sequences
    prefill = {share: flow.prefill_at(site, share) for share in ("low", "middle", "high")}
    if not live or None in prefill.values() or not flow.output_tokens:
        return {}
    seconds = {
        share: request_seconds(
            speed["speed"], site.artifact, share=share, batch=live,
            cache_bytes=speed["cache_bytes"], prefill_tokens=tokens or 0.0,
            output_tokens=flow.output_tokens,
        )
        for share, tokens in prefill.items()
    }  # fmt: skip
    replica = requests_per_s(seconds.values(), live)
    slow, fast = seconds["low"], seconds["high"]
    middle = seconds["middle"]
    if slow is None or fast is None or middle is None or replica is None:
        return {"replica": replica}
    reply = Interval(
        low=sum(fast), middle=sum(middle), high=sum(slow), unit="s", evidence=replica.evidence,
        rests_on=["a full pool, no queue"],
    )  # fmt: skip
    if flow.peak_per_s is None:
        return {"replica": replica, "reply_s": reply}
    return {
        "replica": replica,
        "reply_s": reply,
        "needed_concurrency": flow.peak_per_s * sum(slow),
        "needed_at_fast_end": flow.peak_per_s * sum(fast),
        "replicas_needed": (
            replicas_for(flow, facts, replica_per_s=replica.high, slots=live, prefill_s=fast[0]),
            replicas_for(flow, facts, replica_per_s=replica.low, slots=live, prefill_s=slow[0]),
        ),
    }


def replicas_for(
    flow: Traffic, facts: Facts, *, replica_per_s: float, slots: int, prefill_s: float
) -> int:
    """Return the replicas that the peak takes, spares on top; see :mod:`stackchoice.capacity`."""
    carrying = replicas_at_peak(
        peak_per_s=flow.peak_per_s or 0.0, replica_per_s=replica_per_s, slots=slots,
        service_s=slots / replica_per_s, cap=facts.assumed("utilisation_cap"),
        wait_s=flow.wait_s(prefill_s, facts), tail=facts.assumed("queue_tail_share"),
    )  # fmt: skip
    return carrying + flow.spares
