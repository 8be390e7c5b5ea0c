"""The hard facts a self-hosted configuration must meet, in the order of the procedure.

:mod:`stackchoice.choose.judge` says what a check is and what the first failure means.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackchoice.choose.decision import Question
from stackchoice.choose.interactive import LIMITS, under_limits
from stackchoice.choose.judge import Check, first_failure
from stackchoice.choose.kernels import kernel_checks, path_at
from stackchoice.choose.memo import Memo
from stackchoice.choose.site import Place, Site, Traffic, admitted, site_of
from stackchoice.facts.datum import Datum, Record, sure
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine
from stackchoice.fit.memory import GB
from stackchoice.scenario import Point, Scenario
from stackchoice.workload import meets, needs


class Standing(Record):
    """How far one engine comes at one place whatever the traffic: files, release and memory.

    ``failed`` is the first hard fact that failed. A file that the engine does not load is given
    no admission: ``site`` is then None.
    """

    failed: tuple[Question, str] | None = None
    unknown: list[str] = []
    site: Site | None = None


def standing(
    scenario: Scenario, facts: Facts, point: Point, engine: Engine, place: Place, memo: Memo
) -> Standing:
    """Check licence, software, kernels and memory, in this order, up to the first that fails."""
    failed, unknown = first_failure([*_licence(scenario, engine, place), *_software(engine, place)])
    if failed:
        return Standing(failed=failed, unknown=unknown)
    path = path_at(place, engine, facts, point, memo)
    failed, more = first_failure(kernel_checks(engine, place, path))
    unknown = unknown + more
    if failed:
        return Standing(failed=failed, unknown=unknown)
    site = site_of(place, facts, point, memo).model_copy(update={"kernels": path})
    site = admitted(site, engine, facts, point, memo)
    failed, more = first_failure(_memory(point, site))
    return Standing(failed=failed, unknown=unknown + more, site=site)


def traffic_checks(
    scenario: Scenario, point: Point, site: Site, flow: Traffic, *, limits: bool
) -> Iterator[Check]:
    """Yield what the traffic asks of a site that serves it; ``limits``: whether any is stated."""
    yield from _concurrency(site)
    yield from _rate(site)
    if limits:
        yield from _ceilings(point, site, flow)
        if scenario.workload.interactive:
            yield from _limits_under_load(point, site, flow)


def team_checks(scenario: Scenario, point: Point, engine: Engine, place: Place) -> Iterator[Check]:
    """Yield what the workload needs of the engine, then what the team can fund."""
    yield from _needs(scenario, point, engine)
    limit = point["money.can_fund_devices"]
    wanted = place.choice.devices_per_replica
    if limit is not None and not place.choice.already_owned and wanted > limit:
        yield "cost", False, f"takes {wanted} devices; the team can fund {limit:g}"


def _licence(scenario: Scenario, engine: Engine, site: Place) -> Iterator[Check]:
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


def _software(engine: Engine, site: Place) -> Iterator[Check]:
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
        sharded, _ = engine.has("tensor_parallel")
        yield "hardware fit", sharded, _text(
            sharded, f"{engine.name} does not shard one model over several devices",
            f"whether {engine.name} shards one model over several devices",
        )  # fmt: skip


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
        f"does not fit: weights and workspace {_leave(sure(row.pool_bytes))}{takes}",
    )
    if site.live_sequences == 0:
        yield (
            "hardware fit",
            False,
            f"the quotient gives {row.live_sequences} live sequences, this release's own admission "
            "none",
        )


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


def _rate(site: Site) -> Iterator[Check]:
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


def _ceilings(point: Point, site: Site, flow: Traffic) -> Iterator[Check]:
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
    tokens = flow.prefill_tokens
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


def _limits_under_load(point: Point, site: Site, flow: Traffic) -> Iterator[Check]:
    """An interactive service is not won on a throughput that breaks its p99 limits."""
    fast, slow = (under_limits(point, site, flow, share) for share in ("high", "low"))
    if fast is None or slow is None:
        return
    stated = " and ".join(
        f"{path.split('.')[1].replace('_', ' ')} {point[path]:g}" for path in LIMITS
        if point[path] is not None
    )  # fmt: skip
    carries = [
        end.allowed > 0
        and (end.in_flight is None or end.in_flight <= end.allowed * site.replicas_there)
        for end in (fast, slow)
    ]
    keeps = "" if fast.in_flight is None else f"; the peak keeps {fast.in_flight:,.1f} in flight"
    if not carries[0]:
        yield "hardware fit", False, (
            f"interactive: within {stated} a replica runs at most {fast.allowed} at once, even at "
            f"the fast end of the speed interval and without a queue{keeps}"
        )  # fmt: skip
    elif not carries[1]:
        yield "hardware fit", None, (
            f"whether it keeps {stated} under load ({slow.allowed} to {fast.allowed} at once "
            f"within the limit{keeps})"
        )  # fmt: skip


def _needs(scenario: Scenario, point: Point, engine: Engine) -> Iterator[Check]:
    for need in needs(point):
        there, since = engine.has(need.feature)
        has = meets(there, need)
        first = f"; first in {since}" if since else ""
        yield "workload shape", has, _text(
            has, f"{engine.name} {engine.latest.version} does not {need.text}{first}",
            f"whether {engine.name} {engine.latest.version} can {need.text}",
        )  # fmt: skip
    users = point["workload.users"]
    if scenario.workload.purpose == "serving" and users is not None and users > 1:
        batches, _ = engine.has("continuous_batching")
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
