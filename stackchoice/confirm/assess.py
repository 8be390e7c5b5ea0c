"""From the events of a run to its passport: what counts, what is discarded, what is said. Pure."""

from collections import Counter
from typing import Any

from stackchoice.confirm.account import ServerInfo
from stackchoice.confirm.beside import emptied_by
from stackchoice.confirm.canary import CanaryOutcome
from stackchoice.confirm.identity import Basis, Identity
from stackchoice.confirm.judged import held_against, same_weights
from stackchoice.confirm.passport import Passport, Validity
from stackchoice.confirm.probed import Found, read_probes
from stackchoice.confirm.protocol import mean_of, protocol_of
from stackchoice.confirm.results import (
    DISCARD_RULES,
    MAX_BUSY_SHARE,
    MAX_CACHED_SHARE,
    MIN_USABLE,
    RULES_SHA256,
    Discard,
    Results,
    cached_share,
    counted,
    discard_reason,
    summarise,
)
from stackchoice.confirm.same import (
    other_answers,
    other_models,
    other_server,
    same_model,
    same_process,
)
from stackchoice.confirm.warned import not_got, preempted, warnings
from stackchoice.facts.datum import sure
from stackchoice.facts.interval import Interval
from stackchoice.facts.values import count_of
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.health import ClientValidity, Floor
from stackchoice.load.journal import Event
from stackchoice.load.plan import Plan
from stackchoice.load.records import Failure, Sample
from stackchoice.load.rules import load_rules
from stackchoice.load.summary import by_launch, judge_client, repetitions
from stackchoice.load.untrusted import visible


def assemble(
    events: list[Event],
    *,
    arm: str,
    endpoint: Endpoint,
    plan: Plan,
    identity: Identity,
    prediction: Interval | None = None,
    harness_revision: str = "unknown",
    peak_memory_bytes: int | None = None,
    restarts: int | None = None,
    raw_log: str | None = None,
    host: dict[str, Any] | None = None,
    reference: Passport | None = None,
    runner_release: str | None = None,
) -> Passport:
    """Build the passport of a finished run from its events."""
    probes = read_probes([e for e in events if e["step"] == "probed"])
    timed = sorted((e for e in events if e["step"] == "timed"), key=lambda e: e["request_number"])
    samples = [Sample.model_validate(e["sample"]) for e in timed]
    results = summarise(samples, peak_memory_bytes=peak_memory_bytes, restarts=restarts)
    found = repetitions(list(zip(timed, samples, strict=True)), events, plan, endpoint.model)
    floors = [Floor.model_validate(e["floor"]) for e in events if e["step"] == "floor"]
    floor = max(floors, key=lambda f: abs(f.ttft_excess_s), default=None)
    results = results.model_copy(update={
        "repetitions": tuple(found),
        "ttft_interval_s": by_launch(found, "ttft_s"),
        "itl_interval_s": by_launch(found, "itl_s"),
        "output_tokens_per_s_interval": by_launch(found, "output_tokens_per_s"),
        "output_tokens_per_s": mean_of(r.output_tokens_per_s for r in found),
        "requests_per_s": mean_of(r.requests_per_s for r in found),
        **(host or {}),
    })  # fmt: skip
    server = next((ServerInfo(**e["server"]) for e in events if e["step"] == "server"), None)
    identity = _identified(identity, endpoint, server)
    client = judge_client(found, floor, load_rules(), plan.runner)
    validity = _validity(
        events, timed, samples, results, identity, client, floor, probes, reference
    )
    protocol = protocol_of(
        events,
        timed,
        samples,
        plan,
        validity,
        harness_revision,
        found,
        endpoint.model,
        runner_release,
    )
    usable = validity.valid and validity.correctness != "failed"
    decode = results.decode_tokens_per_s if usable else None
    verdict = prediction.verdict(decode.median if decode else None) if prediction else None
    return Passport(
        arm=arm,
        identity=identity,
        protocol=protocol,
        validity=validity,
        results=results,
        samples=[_bounded(s, e) for e, s in zip(timed, samples, strict=True)],
        prediction=prediction,
        verdicts={"decode_tokens_per_s": verdict} if verdict else {},
        raw_log=raw_log,
        notes=probes.notes,
    )


def _identified(identity: Identity, endpoint: Endpoint, server: ServerInfo | None) -> Identity:
    """Put what the server says of itself before what was declared."""
    said = server or ServerInfo()
    listed = endpoint.model in said.model_ids
    identity = identity.seen(
        {"model": endpoint.model},
        Basis.READ if listed and identity.model is None else Basis.DECLARED,
        "/v1/models" if listed else "the name that was asked for",
    )
    # llama.cpp calls itself b0-unknown where its build was not told which it is.
    release = None if "unknown" in (said.version or "") else said.version
    named = {"runtime": said.engine, "runtime_build": release,
             "artifact": said.model_path, "effective_settings": said.settings}  # fmt: skip
    same = ("model_revision", "torch", "toolkit", "packages", "driver", "gpu", "kernels",
            "chat_template", "weight_format", "kv_format", "speculative_decoder",
            "context_tokens", "kv_pool_tokens", "slots", "started_at_s")  # fmt: skip
    sources = {"runtime": "engine", "runtime_build": "version", "artifact": "model_path",
               "effective_settings": "settings"}  # fmt: skip
    for item, value in {**named, **{name: getattr(said, name) for name in same}}.items():
        where = said.origins.get(sources.get(item, item), "the server")
        if item in ("artifact", "runtime") and getattr(identity, item) is not None:
            continue  # a path or a header is weaker than a name with a hash
        identity = identity.seen({item: value}, Basis.READ, where)
    identity = identity.seen({"server": server}, Basis.READ, "its own account")
    where_to = {"endpoint_url": endpoint.base_url, "endpoint_model": endpoint.model}  # fmt: skip
    return identity.model_copy(update=where_to)


def _validity(
    events: list[Event], timed: list[Event], samples: list[Sample], results: Results,
    identity: Identity, client: ClientValidity, floor: Floor | None, probes: Found,
    reference: Passport | None,
) -> Validity:  # fmt: skip
    known = {c.id: c for c in reference.validity.canaries_before} if reference else None
    same = same_weights(identity, reference.identity) if reference else None
    before, after = (
        held_against(
            [CanaryOutcome(**e["outcome"]) for e in events if e["step"] == step and "outcome" in e],
            known, same_weights=same,
        )
        for step in ("canary", "canary_after")
    )  # fmt: skip
    failed = [c for c in (*before, *after) if c.result == "failed"]
    reasons = []
    discarded = [
        Discard(request=e["request_number"], reason=reason)
        for e, s in zip(timed, samples, strict=True)
        if (reason := discard_reason(s))
    ]
    if sure(results.usable) < MIN_USABLE:
        why = Counter(d.reason for d in discarded).most_common(1)
        said = "".join(f" ({count} of {len(timed)}: {reason})" for reason, count in why)
        reasons.append(f"usable samples: {results.usable}, fewer than {MIN_USABLE}{said}")
    busy = identity.machine.busy_share if identity.machine else None
    if busy is not None and busy > MAX_BUSY_SHARE:
        reasons.append(
            f"{busy:.0%} of this machine's CPU was in use by others before the start; stop them "
            "and measure again"
        )
    reasons += client.reasons
    if partial := any(e["step"] == "cancelled" for e in events):
        reasons.append("the run was cancelled before its end")
    named = same_model(events)
    if named is False:
        reasons.append("the model name changed during the run")
    reasons += other_server(events) or other_answers(events)
    if other := other_models(samples, identity):
        reasons.append(
            f"answers name {other[0]!r}, and {identity.endpoint_model!r} was asked for; ask for it "
            f"by the name that answers, or declare model={other[0]} where both are one"
        )
    process = same_process(events)
    if process is False:
        reasons.append("the server was started anew during the run")
    shares = cached_share(samples)
    server = identity.server or ServerInfo()
    counts = Counter(s.failure for s in samples if s.failure)
    moved = counted([(e["before"], e["after"]) for e in events if e["step"] == "counted"])
    seen = moved.cached_share if shares is None else shares
    if emptied_by(events) and seen is not None and seen > MAX_CACHED_SHARE:
        reasons.append(f"asked to be cold, and {seen:.0%} of a prompt came from the cache")
    return Validity(
        valid=not reasons,
        partial=partial,
        reasons=reasons,
        hold=[f"canary {c.id} failed: {c.reason}" for c in failed],
        client=client,
        floor=floor,
        warnings=[
            *warnings(events, results, identity, seen, [*before, *after]),
            *preempted(moved.preemptions),
            *not_got(events, timed, samples),
            *probes.warnings,
        ],
        cache_probe=probes.cache,
        canaries_before=before,
        canaries_after=after,
        configured_context_tokens=count_of(identity.settings.get("context_tokens")),
        realised_context_tokens=probes.context_tokens or server.context_tokens,
        realised_kv_tokens=identity.kv_pool_tokens,
        configured_slots=count_of(identity.settings.get("slots")),
        realised_slots=server.slots,
        most_in_flight=probes.in_flight or _most_in_flight(results),
        discard_rules=DISCARD_RULES,
        discard_rules_sha256=RULES_SHA256,
        discarded=discarded,
        failures={f.value: counts[f] for f in Failure},
        client_faults=counts[Failure.CLIENT_FAULT],
        usage_missing=sum(r.usage_missing for r in results.repetitions),
        usage_contradicted=sum(r.usage_contradicted for r in results.repetitions),
        other_model=sum(r.other_model for r in results.repetitions),
        admission_rejected=counts[Failure.ADMISSION_REJECTED],
        length_truncated=counts[Failure.LENGTH_TRUNCATED]
        + sum("cut at" in c.reason for c in failed),
        schema_or_tool_failures=sum(c.failure in ("schema", "tool") for c in failed),
        completed_but_wrong=sum(c.failure in ("wrong answer", "code") for c in failed),
        same_model_after=named,
        same_process_after=process,
        largest_cached_share=shares,
        counted_cached_share=moved.cached_share,
        preemptions=moved.preemptions,
    )


def _most_in_flight(results: Results) -> float | None:
    health = [r.health for r in results.repetitions if r.health]
    return max((h.achieved_concurrency for h in health if h.achieved_concurrency), default=None)


def _bounded(sample: Sample, event: Event) -> Sample:
    """Keep a readable beginning of the text in the passport; the raw log has all of it."""
    return sample.model_copy(
        update={"text": visible(sample.text), "reasoning": visible(sample.reasoning),
                "launch": event["launch"], "repetition": event["repetition"]}
    )  # fmt: skip
