"""Every engine release x artifact x machine, each eliminated for a named reason or kept."""

from __future__ import annotations

from collections.abc import Iterator

from stackchoice.choose.decision import Candidate, Question
from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Datum, Record
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
from stackchoice.fit.memory import GB
from stackchoice.scenario import THIS_MACHINE, MachineChoice, Point, Scenario
from stackchoice.workload import meets, needs

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
    return Datum[int](
        value=value, evidence=datum.evidence, source=datum.source, note=datum.note
    )


def candidate(scenario: Scenario, facts: Facts, point: Point, engine: Engine, site: Site) -> Candidate:
    """Judge one engine on one site: the first hard fact that fails eliminates it."""
    unknown: list[str] = []
    status, question, reason = "viable", "", ""
    for asked, verdict, text in _checks(scenario, facts, point, engine, site):
        if verdict is None:
            unknown.append(text)
        elif not verdict:
            status, question, reason = "eliminated", asked, text
            break
    speed = site.speed.decode_ceiling_tokens_per_s
    return Candidate(
        option=engine.name,
        engine=engine.name,
        release=engine.latest.version,
        artifact=site.artifact.label,
        encoding=site.artifact.encoding,
        machine=site.machine.name,
        devices=site.choice.devices_per_replica,
        status=status,  # type: ignore[arg-type]
        question=question,
        reason=reason or _kept(site),
        unknown=unknown,
        live_sequences=site.row.live_sequences,
        decode_ceiling_tokens_per_s=speed,
    )


def _site(model: Model, artifact: Artifact, choice: MachineChoice, facts: Facts, flow: Traffic) -> Site:
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
    )  # fmt: skip
    replica = needed = replicas = None
    if row.live_sequences and flow.prefill_tokens is not None and flow.output_tokens:
        shape = {
            "cache_bytes": cache_bytes,
            "prefill_tokens": flow.prefill_tokens,
            "output_tokens": flow.output_tokens,
        }
        replica = replica_requests_per_s(speed, artifact, live_sequences=row.live_sequences, **shape)
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


def _checks(
    scenario: Scenario, facts: Facts, point: Point, engine: Engine, site: Site
) -> Iterator[tuple[Question, bool | None, str]]:
    """Yield hard facts in the order of the procedure: (question, holds?, text when it does not)."""
    yield from _licence(scenario, engine, site)
    yield from _software(engine, site)
    yield from _memory(point, site)
    yield from _rate(point, site)
    yield from _ceilings(point, site)
    yield from _needs(scenario, point, engine)
    limit = point["money.can_fund_devices"]
    wanted = site.choice.devices_per_replica
    if limit is not None and not site.choice.already_owned and wanted > limit:
        yield "cost", False, f"takes {wanted} devices; the team can fund {limit:g}"


def _licence(scenario: Scenario, engine: Engine, site: Site) -> Iterator[tuple[Question, bool | None, str]]:
    accepted = {name.lower() for name in scenario.constraints.licences_acceptable}
    own = site.artifact.licence
    weights = own if own.known else site.model.licence
    for what, datum in (("the weights", weights), (engine.name, engine.licence)):
        if not accepted:
            return
        if datum.value is None:
            yield "constraints", None, f"the licence of {what} is unknown"
        else:
            yield (
                "constraints", datum.value.lower() in accepted,
                f"licence {datum.value} of {what} is not among the acceptable ones",
            )  # fmt: skip


def _software(engine: Engine, site: Site) -> Iterator[tuple[Question, bool | None, str]]:
    machine, artifact = site.machine, site.artifact
    runs = engine.platforms.get(machine.backend, Datum[bool]()).value
    yield "hardware fit", runs, _text(runs, f"{engine.name} does not run on {machine.backend}",
                                      f"whether {engine.name} runs on {machine.backend}")  # fmt: skip
    floor, has = engine.min_compute_capability.value, _capability(machine)
    if machine.backend == "cuda" and floor is not None and has is not None:
        yield (
            "hardware fit", has >= floor,
            f"needs compute capability {floor:g}; {machine.name} has {has:g}",
        )  # fmt: skip
    loads = engine.formats.get(artifact.format, Datum[bool]()).value
    yield "hardware fit", loads, _text(loads, f"{engine.name} does not load {artifact.format} files",
                                       f"whether {engine.name} loads {artifact.format} files")  # fmt: skip
    architecture = ((site.model.config.value or {}).get("architectures") or ["?"])[0]
    implemented, since = engine.implements(architecture)
    first = f"; first in {since}" if since else ""
    yield "hardware fit", implemented, _text(
        implemented,
        f"{engine.name} {engine.latest.version} does not implement {architecture}{first}",
        f"whether {engine.name} implements {architecture}",
    )  # fmt: skip
    if site.choice.devices_per_replica > 1:
        sharded = engine.features.get("tensor_parallel", Datum[bool]()).value
        yield "hardware fit", sharded, _text(
            sharded, f"{engine.name} does not shard one model over several devices",
            f"whether {engine.name} shards one model over several devices",
        )  # fmt: skip


def _memory(point: Point, site: Site) -> Iterator[tuple[Question, bool | None, str]]:
    context, limit = point["workload.context_tokens"], site.model.context_tokens.value
    if context and limit:
        yield (
            "hardware fit", context <= limit,
            f"the model's context is {limit:,} tokens; {context:,} are asked",
        )  # fmt: skip
    row = site.row
    if row.live_sequences is None:
        yield "hardware fit", None, f"whether it fits ({row.note.rstrip('. ')})"
        return
    yield "hardware fit", row.live_sequences > 0, (
        f"does not fit: weights and workspace leave {row.pool_bytes / GB:,.1f} GB, one sequence "
        f"of {context:,} tokens takes {row.bytes_per_sequence / GB:,.2f} GB"
    )
    if site.needed_concurrency is not None:
        replicas = max(1, site.choice.count // site.choice.devices_per_replica)
        holds = row.live_sequences * replicas
        yield "hardware fit", site.needed_concurrency <= holds, (
            f"holds {holds} live sequences; the peak needs {site.needed_concurrency:,.0f}"
        )


def _rate(point: Point, site: Site) -> Iterator[tuple[Question, bool | None, str]]:
    """The peak must be carried by the replicas there are, at the fast end at least."""
    if site.replicas_needed is None:
        return
    fast, slow = site.replicas_needed
    replicas = max(1, site.choice.count // site.choice.devices_per_replica)
    if fast > replicas or slow <= replicas:
        yield "hardware fit", fast <= replicas, (
            f"the peak takes {fast} replicas even at the fast end of the interval; there are "
            f"{replicas}"
        )
    else:
        yield "hardware fit", None, f"whether {replicas} replicas carry the peak ({fast} to {slow})"


def _ceilings(point: Point, site: Site) -> Iterator[tuple[Question, bool | None, str]]:
    """A service level that even the ceiling misses cannot be met by any engine."""
    limit, floor = point["workload.itl_p99_s"], site.speed.itl_floor_s
    if limit is not None and floor is not None:
        yield "hardware fit", floor <= limit, (
            f"even at the bandwidth ceiling a token takes {floor * 1000:,.0f} ms; "
            f"{limit * 1000:,.0f} ms are allowed"
        )
    limit, rate = point["workload.ttft_p99_s"], site.speed.prefill_ceiling_tokens_per_s
    tokens = traffic(point).prefill_tokens
    if limit is not None and rate and tokens:
        yield "hardware fit", tokens / rate <= limit, (
            f"even at the compute ceiling the prefill takes {tokens / rate:,.2f} s; "
            f"{limit:g} s are allowed"
        )
    limit, output = point["workload.end_to_end_p99_s"], point["workload.output_tokens"]
    if limit is not None and rate and tokens is not None and floor and output is not None:
        whole = tokens / rate + output * floor
        yield "hardware fit", whole <= limit, (
            f"even at both ceilings a request takes {whole:,.2f} s; {limit:g} s are allowed"
        )


def _needs(scenario: Scenario, point: Point, engine: Engine) -> Iterator[tuple[Question, bool | None, str]]:
    for need in needs(point):
        has = meets(engine.features, need)
        yield "workload shape", has, _text(
            has, f"{engine.name} {engine.latest.version} lacks it: {need.text}",
            f"whether {engine.name} does it: {need.text}",
        )  # fmt: skip
    users = point["workload.users"]
    if scenario.workload.purpose == "serving" and users is not None and users > 1:
        batches = engine.features.get("continuous_batching", Datum[bool]()).value
        yield "workload shape", batches, _text(
            batches, f"{engine.name} does not batch concurrent requests; {users:g} users share it",
            f"whether {engine.name} batches concurrent requests",
        )  # fmt: skip


def _text(holds: bool | None, no: str, unknown: str) -> str:
    return unknown if holds is None else no


def _kept(site: Site) -> str:
    live = site.row.live_sequences
    return "fit unknown" if live is None else f"fits; {live} live sequences by quotient"


def _capability(machine: Machine) -> float | None:
    try:
        return float(machine.compute_capability or "")
    except ValueError:
        return None


def _ceil(value: float) -> int:
    return max(1, -int(-value // 1))
