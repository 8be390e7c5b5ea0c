"""How a run was measured, from its events and its plan: the protocol of its passport. Pure."""

import statistics
from collections.abc import Sequence
from typing import Any

from stackchoice.confirm.beside import emptied_by
from stackchoice.confirm.canary import load_canaries
from stackchoice.confirm.passport import Lengths, Protocol, Validity
from stackchoice.confirm.results import Emptied, cache_state
from stackchoice.facts.names import counted
from stackchoice.load.arrivals import Closed, Constant, Poisson
from stackchoice.load.harnesses import harness
from stackchoice.load.journal import Event
from stackchoice.load.plan import PROMPT_VERSION, Plan
from stackchoice.load.records import Repetition, Sample


def protocol_of(
    events: list[Event], timed: list[Event], samples: list[Sample], plan: Plan,
    validity: Validity, harness_revision: str, repetitions: Sequence[Repetition], model: str,
    runner_release: str | None = None,
) -> Protocol:  # fmt: skip
    """Return the protocol of a run from its events."""
    cached = validity.largest_cached_share
    cache, state = cache_state(plan, cached, validity.counted_cached_share)
    known = cached if cached is not None else validity.counted_cached_share
    if known is None and validity.cache_probe and "cache off" in validity.cache_probe.speedup_text:
        state, cache = "cold", "cold: no prefix cache, by the probe of repeated prefixes"
    emptied = emptied_by(events)
    if emptied:
        cache += f"; {emptied.text}"
    asked = length_asked(events)
    limit = "exactly" if asked and asked["asked"] else "at most"
    canaries = load_canaries(plan.canaries, model)
    stamps = [e["started_at"] for e in events if "started_at" in e]
    return Protocol(
        plan=plan,
        prompt_version=PROMPT_VERSION,
        **_runner(plan, runner_release, timed),
        harness_revision=harness_revision,
        scorer_revision=f"canaries {canaries.name} {canaries.version}, sha256:{canaries.sha256}",
        sampling="greedy: temperature 0",
        sampling_settings={"temperature": 0},
        reasoning_policy="the server's default; reasoning tokens count as tokens",
        output_budget_tokens=plan.output_tokens,
        input_tokens=_range(s.prompt_tokens for s in samples),
        output_tokens=_range(s.completion_tokens for s in samples),
        input_lengths=lengths((s.prompt_tokens for s in samples), f"{plan.prompt_words} words"),
        output_lengths=lengths(
            (s.completion_tokens for s in samples), f"{limit} {plan.output_tokens} tokens"
        ),
        concurrency=plan.load.streams if isinstance(plan.load, Closed) else None,
        rate_per_s=plan.load.rate_per_s if isinstance(plan.load, Constant | Poisson) else None,
        arrival_pattern=str(plan.load),
        prefix_cache_state=cache,
        cache=state,
        cache_emptied=emptied or Emptied(text="not asked for"),
        exact_output=asked["text"] if asked else "not asked for",
        warm_up_requests=plan.warmup,
        window_s=mean_of(r.duration_s for r in repetitions),
        requests=plan.requests,
        repetitions=plan.repetitions,
        launches=plan.launches,
        seed=plan.seed,
        usage_requested=not any(e["step"] == "stream_options_refused" for e in events),
        started_at=min((e["started_at"] for e in timed), default=None),
        ended_at=max(stamps, default=None),
    )


def _runner(plan: Plan, release: str | None, timed: list[Event]) -> dict[str, Any]:
    """Name what put the load on, with what is known to be wrong in it."""
    if plan.runner == "stackchoice":
        kept = sum(bool(e.get("reused")) for e in timed)
        return {
            "harness": "stackchoice.load: one process, one poll loop, a stamp for each socket "
            f"read; kept connections carried {kept} of {len(timed)}",
            "warm_up": f"{counted(plan.warmup, 'request')} of the same kind, not counted; nor "
            "those sent before every stream had begun and after the last timed one had",
        }
    name, faults = harness(plan.runner, own_figures=False)
    return {
        "harness": f"{name} {release or 'of unknown release'}: its workers send and stamp; its raw "
        "records are read by the same code as this client's own",
        "harness_faults": faults,
        "warm_up": f"{counted(plan.warmup, 'request')} of the same kind by this client, not "
        f"counted; each one of {name} counts",
    }


def length_asked(events: list[Event]) -> Event | None:
    """Return the last word on whether answers of one length were asked for."""
    return next((e for e in reversed(events) if e["step"] == "exact_output"), None)


def lengths(values: Any, asked: str | None = None) -> Lengths | None:
    """Summarise token counts; None when neither a count nor what was asked is known."""
    known = sorted(v for v in values if v is not None)
    if not known:
        return Lengths(asked=asked) if asked else None
    return Lengths(asked=asked, n=len(known), mean=statistics.fmean(known), low=known[0],
                   p50=statistics.median(known), high=known[-1])  # fmt: skip


def mean_of(values: Any) -> float | None:
    """Return the mean of what is known; None where nothing is."""
    known = [v for v in values if v is not None]
    return statistics.fmean(known) if known else None


def _range(values: Any) -> str:
    known = sorted(v for v in values if v is not None)
    return f"{known[0]} to {known[-1]} (n = {len(known)})" if known else "unknown"
