"""One artifact on one machine, whatever the engine: the numbers of question 1."""

from __future__ import annotations

from collections.abc import Iterator

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Datum, Record
from stackchoice.facts.interval import Interval
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Machine, Model
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
from stackchoice.fit.memory import GB
from stackchoice.scenario import THIS_MACHINE, MachineChoice, Point, Scenario

SECONDS_PER_HOUR = 3600


class Site(Record):
    """One artifact on one machine, whatever the engine: the numbers of question 1."""

    model: Model
    artifact: Artifact
    machine: Machine
    choice: MachineChoice
    layout: CacheLayout | None
    cache_note: str
    row: FitRow
    speed: Speed
    replica: Interval | None
    needed_concurrency: float | None
    replicas_needed: tuple[int, int] | None


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


def workspace_bytes(facts: Facts) -> Datum[int]:
    """Memory for workspace and activations: an assumption until an engine's own is known."""
    datum = facts.assumptions["workspace_gb"].datum
    value = None if datum.value is None else round(datum.value * GB)
    return Datum[int](value=value, evidence=datum.evidence, source=datum.source, note=datum.note)


def _site(
    model: Model, artifact: Artifact, choice: MachineChoice, facts: Facts, flow: Traffic
) -> Site:
    machine, devices = facts.machines[choice.id], choice.devices_per_replica
    layout, note = None, ""
    try:
        layout = cache_layout(model.config.value or {})
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
    )  # fmt: skip
    replica = needed = replicas = None
    if row.live_sequences and flow.prefill_tokens is not None and flow.output_tokens:
        shape = {
            "cache_bytes": cache_bytes,
            "prefill_tokens": flow.prefill_tokens,
            "output_tokens": flow.output_tokens,
        }
        replica = replica_requests_per_s(
            speed, artifact, live_sequences=row.live_sequences, **shape
        )
        slow = request_seconds(speed, artifact, share="low", batch=row.live_sequences, **shape)
        if flow.peak_per_s is not None and slow is not None and replica is not None:
            needed = flow.peak_per_s * sum(slow)
            cap = facts.assumed("utilisation_cap")
            replicas = (
                _ceil(flow.peak_per_s / (replica.high * cap)),
                _ceil(flow.peak_per_s / (replica.low * cap)),
            )
    return Site(
        model=model, artifact=artifact, machine=machine, choice=choice, layout=layout,
        cache_note=note, row=row, speed=speed, replica=replica, needed_concurrency=needed,
        replicas_needed=replicas,
    )  # fmt: skip


def _ceil(value: float) -> int:
    return max(1, -int(-value // 1))
