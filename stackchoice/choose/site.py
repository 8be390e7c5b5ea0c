"""One artifact on one machine, whatever the engine: the numbers of question 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackchoice.errors import UnknownCacheError
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
    replica_requests_per_s,
    request_seconds,
    usable_bytes,
)
from stackchoice.fit.admission import Admission
from stackchoice.fit.admissions import admit_replica
from stackchoice.fit.sizing import workspace_bytes
from stackchoice.scenario import THIS_MACHINE, MachineChoice, Point, Scenario

SECONDS_PER_HOUR = 3600

#: Admissions already worked out in one decision: most points change neither pool nor context.
Memo = dict[tuple[Any, ...], Admission | None]


class Site(Record):
    """One artifact on one machine: the numbers of question 1.

    Whatever the engine as :func:`sites` yields it; :func:`for_engine` puts an engine release's
    own admission, and what a replica serves with it, in place of the quotient.
    """

    model: Model
    artifact: Artifact
    machine: Machine
    choice: MachineChoice
    layout: CacheLayout | None
    cache_note: str
    cache_bytes: int
    row: FitRow
    speed: Speed
    engine: str = ""
    admission: Admission | None = None
    live_sequences: int | None = None
    replica: Interval | None = None
    needed_concurrency: float | None = None
    needed_at_fast_end: float | None = None
    replicas_needed: tuple[int, int] | None = None

    @property
    def replicas_there(self) -> int:
        """How many replicas the candidate devices make."""
        return max(1, self.choice.count // self.choice.devices_per_replica)


class Traffic(Record):
    """Requests per second and tokens per request at one point (None: not known)."""

    mean_per_s: float | None
    peak_per_s: float | None
    input_tokens: float | None
    prefill_tokens: float | None
    output_tokens: float | None
    context_tokens: int | None


def traffic(point: Point) -> Traffic:
    """Turn the workload's inputs into arrival rates and tokens per request.

    The shared prefix and what a session resends are computed once and reused, so they count
    as input but not as prefill.
    """
    users, per_day = point["workload.users"], point["workload.requests_per_user_per_day"]
    hours, peak = point["workload.active_hours_per_day"], point["workload.peak_factor"]
    mean = users * per_day / (hours * SECONDS_PER_HOUR) if users and per_day and hours else None
    tokens_in = point["workload.input_tokens"]
    prefill = None
    if tokens_in is not None:
        reused = (point["workload.shared_prefix_tokens"] or 0) / tokens_in if tokens_in else 0
        resent = point["workload.resent_share"] or 0
        turns = point["workload.turns_per_session"] or 1
        # The first turn of a session resends nothing.
        resent *= (turns - 1) / turns
        prefill = tokens_in * (1 - min(1.0, reused)) * (1 - resent)
    return Traffic(
        mean_per_s=mean,
        peak_per_s=mean * peak if mean and peak else None,
        input_tokens=tokens_in,
        prefill_tokens=prefill,
        output_tokens=point["workload.output_tokens"],
        context_tokens=point["workload.context_tokens"],
    )


def sites(scenario: Scenario, facts: Facts, point: Point) -> Iterator[Site]:
    """Yield every candidate artifact on every candidate machine."""
    model = facts.models[scenario.model.id]
    wanted = scenario.model.artifacts or [a.id for a in model.artifacts]
    flow = traffic(point)
    for choice in scenario.candidates.machines:
        for artifact_id in wanted:
            yield _site(model, model.artifact(artifact_id), choice, facts, flow)


def _site(
    model: Model, artifact: Artifact, choice: MachineChoice, facts: Facts, flow: Traffic
) -> Site:
    machine, devices = facts.machines[choice.id], choice.devices_per_replica
    layout, note = None, ""
    try:
        layout = cache_layout(model.config.value or {}, memory=facts.memory)
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
    depth = int((flow.input_tokens or 0) + (flow.output_tokens or 0) / 2)
    cache_bytes = layout.bytes_per_sequence(depth) if layout else 0
    speed = batch_one_speed(
        model, artifact, machine, facts.efficiencies, cache_bytes=cache_bytes, devices=devices,
        # This machine's bandwidth was probed, and its engine runs, on one thread.
        threads="one" if choice.id == THIS_MACHINE else "all",
        # Single-stream prefill of every engine is too wide to size a server by: its class is used.
        shares=[m for m in facts.share_models if m.phase == "decode"],
        classes=facts.speed_classes,
        links=facts.links.values(), interconnect=choice.interconnect,
    )  # fmt: skip
    return Site(
        model=model,
        artifact=artifact,
        machine=machine,
        choice=choice,
        layout=layout,
        cache_note=note,
        cache_bytes=cache_bytes,
        row=row,
        speed=speed,
        live_sequences=row.live_sequences,
    )


def for_engine(site: Site, engine: Engine, facts: Facts, flow: Traffic, memo: Memo) -> Site:
    """Return the site as one engine release would serve it.

    Where the release has no sourced admission rule the quotient stays, and says so.
    """
    key = (engine.id, site.artifact.id, site.machine.id, site.choice.devices_per_replica,
           site.row.pool_bytes, flow.context_tokens)  # fmt: skip
    if key not in memo:
        memo[key] = _admission(site, engine, facts, flow)
    admission = memo[key]
    live = site.row.live_sequences
    if admission is not None and admission.live_sequences is not None:
        live = admission.live_sequences
    served = {
        "engine": engine.id, "admission": admission, "live_sequences": live,
        **_serving(site, facts, flow, live),
    }  # fmt: skip
    return site.model_copy(update=served)


def _admission(site: Site, engine: Engine, facts: Facts, flow: Traffic) -> Admission | None:
    pool, devices = site.row.pool_bytes, site.choice.devices_per_replica
    if pool is None or pool <= 0 or not flow.context_tokens:
        return None
    return admit_replica(
        engine.id,
        engine.latest.version,
        site.model.config.value or {},
        site.machine,
        pool_bytes=pool,
        devices=devices,
        context_tokens=flow.context_tokens,
        facts=facts,
    )


def _serving(site: Site, facts: Facts, flow: Traffic, live: int | None) -> dict[str, Any]:
    """Return what a replica with ``live`` sequences serves, and how many the peak takes."""
    if not live or flow.prefill_tokens is None or not flow.output_tokens:
        return {}
    shape = {
        "cache_bytes": site.cache_bytes,
        "prefill_tokens": flow.prefill_tokens,
        "output_tokens": flow.output_tokens,
    }
    replica = replica_requests_per_s(site.speed, site.artifact, live_sequences=live, **shape)
    slow, fast = (
        request_seconds(site.speed, site.artifact, share=share, batch=live, **shape)
        for share in ("low", "high")
    )
    if flow.peak_per_s is None or slow is None or fast is None or replica is None:
        return {"replica": replica}
    cap = facts.assumed("utilisation_cap")
    return {
        "replica": replica,
        "needed_concurrency": flow.peak_per_s * sum(slow),
        "needed_at_fast_end": flow.peak_per_s * sum(fast),
        "replicas_needed": (
            _ceil(flow.peak_per_s / (replica.high * cap)),
            _ceil(flow.peak_per_s / (replica.low * cap)),
        ),
    }


def _ceil(value: float) -> int:
    return max(1, -int(-value // 1))
