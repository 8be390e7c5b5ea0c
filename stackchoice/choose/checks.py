"""The hard facts a self-hosted configuration must meet, in the order of the procedure.

:mod:`stackchoice.choose.judge` says what a check is and what the first failure means.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackchoice.choose.judge import Check
from stackchoice.choose.site import Site, traffic
from stackchoice.facts.datum import Datum
from stackchoice.facts.records import Engine
from stackchoice.fit.memory import GB
from stackchoice.scenario import Point, Scenario
from stackchoice.workload import meets, needs


def checks(scenario: Scenario, point: Point, engine: Engine, site: Site) -> Iterator[Check]:
    """Yield hard facts in the order of the procedure: (question, holds?, text when it does not)."""
    yield from _licence(scenario, engine, site)
    yield from _software(engine, site)
    yield from _kernels(engine, site)
    yield from _memory(point, site)
    yield from _rate(point, site)
    yield from _ceilings(point, site)
    yield from _needs(scenario, point, engine)
    limit = point["money.can_fund_devices"]
    wanted = site.choice.devices_per_replica
    if limit is not None and not site.choice.already_owned and wanted > limit:
        yield "cost", False, f"takes {wanted} devices; the team can fund {limit:g}"


def _licence(scenario: Scenario, engine: Engine, site: Site) -> Iterator[Check]:
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


def _software(engine: Engine, site: Site) -> Iterator[Check]:
    machine, artifact = site.machine, site.artifact
    runs = engine.platforms.get(machine.backend, Datum[bool]()).value
    yield (
        "hardware fit",
        runs,
        _text(
            runs,
            f"{engine.name} does not run on {machine.backend}",
            f"whether {engine.name} runs on {machine.backend}",
        ),
    )
    floor, has = engine.min_compute_capability.value, machine.cuda_capability
    if machine.backend == "cuda" and floor is not None and has is not None:
        yield (
            "hardware fit", has >= floor,
            f"needs compute capability {floor:g}; {machine.name} has {has:g}",
        )  # fmt: skip
    loads = engine.formats.get(artifact.format, Datum[bool]()).value
    yield (
        "hardware fit",
        loads,
        _text(
            loads,
            f"{engine.name} does not load {artifact.format} files",
            f"whether {engine.name} loads {artifact.format} files",
        ),
    )
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


def _kernels(engine: Engine, site: Site) -> Iterator[Check]:
    """A format without a kernel on this chip does not start, however well it would fit."""
    release, path = f"{engine.name} {engine.latest.version}", site.kernels
    if path is None:
        yield "hardware fit", None, f"whether {release} has kernels for {site.artifact.label}"
        return
    for part in path.refusals():
        name, why = part.encoding.name if part.encoding else "", part.prefill.note
        yield (
            "hardware fit", False,
            f"{release} has no kernel for {name} on {path.chip_name}" + (f": {why}" if why else ""),
        )  # fmt: skip
    if path.loads is None:
        yield (
            "hardware fit", None,
            f"whether {release} has kernels for {site.artifact.label} on {path.chip_name}",
        )  # fmt: skip
    if any(part.prefill.arithmetic == "emulated" for part in path.parts):
        yield "hardware fit", None, f"how fast the emulated kernels of {release} are"


def _memory(point: Point, site: Site) -> Iterator[Check]:
    context, limit = point["workload.context_tokens"], site.model.context_tokens.value
    if context and limit:
        yield (
            "hardware fit", context <= limit,
            f"the model's context is {limit:,} tokens; {context:,} are asked",
        )  # fmt: skip
    row = site.row
    if row.live_sequences is None:
        yield "hardware fit", None, f"whether it fits ({row.note.rstrip('. ').replace('_', ' ')})"
        return
    one = row.bytes_per_sequence
    takes = f", one sequence of {context:,} tokens takes {one / GB:,.2f} GB" if one else ""
    yield (
        "hardware fit",
        row.live_sequences > 0,
        f"does not fit: weights and workspace {_leave(row.pool_bytes)}{takes}",
    )
    if site.live_sequences == 0:
        yield (
            "hardware fit",
            False,
            f"the quotient gives {row.live_sequences} live sequences, this release's own admission "
            "none",
        )
    yield from _concurrency(site)


def _concurrency(site: Site) -> Iterator[Check]:
    """Requests in flight at the peak must fit, at the fast end of the speed interval at least."""
    slow, fast = site.needed_concurrency, site.needed_at_fast_end
    if slow is None or fast is None:
        return
    holds = (site.live_sequences or 0) * site.replicas_there
    if fast > holds or slow <= holds:
        yield (
            "hardware fit",
            fast <= holds,
            (
                f"holds {holds} live sequences; the peak keeps {fast:,.1f} in flight even at the "
                "fast end of the speed interval"
            ),
        )
    else:
        yield (
            "hardware fit",
            None,
            (
                f"whether {holds} live sequences hold the peak "
                f"({fast:,.0f} to {slow:,.0f} in flight)"
            ),
        )


def _rate(point: Point, site: Site) -> Iterator[Check]:
    """The peak must be carried by the replicas there are, at the fast end at least."""
    if site.replicas_needed is None:
        return
    fast, slow = site.replicas_needed
    replicas = site.replicas_there
    if fast > replicas or slow <= replicas:
        yield (
            "hardware fit",
            fast <= replicas,
            (
                f"the peak takes {fast} replicas even at the fast end of the interval; the "
                f"machines given hold {replicas}"
            ),
        )
    else:
        yield (
            "hardware fit",
            None,
            f"whether {replicas} replica(s) carry the peak ({fast} to {slow})",
        )


def _ceilings(point: Point, site: Site) -> Iterator[Check]:
    """A service level that even the ceiling misses cannot be met by any engine."""
    limit, floor = point["workload.itl_p99_s"], site.speed.itl_floor_s
    if limit is not None and floor is not None:
        yield (
            "hardware fit",
            floor <= limit,
            (
                f"even at the bandwidth ceiling a token takes {floor * 1000:,.0f} ms; "
                f"{limit * 1000:,.0f} ms are allowed"
            ),
        )
    limit, rate = point["workload.ttft_p99_s"], site.speed.prefill_ceiling_tokens_per_s
    tokens = traffic(point).prefill_tokens
    if limit is not None and rate and tokens:
        yield (
            "hardware fit",
            tokens / rate <= limit,
            (
                f"even at the compute ceiling the prefill takes {tokens / rate:,.2f} s; "
                f"{limit:g} s are allowed"
            ),
        )
    limit, output = point["workload.end_to_end_p99_s"], point["workload.output_tokens"]
    if limit is not None and rate and tokens is not None and floor and output is not None:
        whole = tokens / rate + output * floor
        yield (
            "hardware fit",
            whole <= limit,
            (f"even at both ceilings a request takes {whole:,.2f} s; {limit:g} s are allowed"),
        )


def _needs(scenario: Scenario, point: Point, engine: Engine) -> Iterator[Check]:
    for need in needs(point):
        has = meets(engine.features, need)
        yield "workload shape", has, _text(
            has, f"{engine.name} {engine.latest.version} does not {need.text}",
            f"whether {engine.name} can {need.text}",
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


def _leave(pool_bytes: int) -> str:
    if pool_bytes < 0:
        return f"are {-pool_bytes / GB:,.1f} GB too large for the memory"
    return f"leave {pool_bytes / GB:,.1f} GB"
