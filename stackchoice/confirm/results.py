"""From samples to the results of a run: medians, honest percentiles, the rules of discarding."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from stackchoice.facts.datum import Evidence, Record
from stackchoice.load.plan import Plan
from stackchoice.load.records import Failure, Repetition, Sample, Spread, Usage
from stackchoice.load.rules import load_rules
from stackchoice.load.stats import Nested

_RULES = load_rules()
MIN_TOKENS, MIN_USABLE = (int(_RULES.discard_limits[n]) for n in ("min_tokens", "min_usable"))
MAX_BUSY_SHARE = _RULES.discard_limits["max_busy_share"]
MAX_CACHED_SHARE = _RULES.discard_limits["max_cached_share"]
#: What every request shares through the chat template, and less than one block of any cache.
TEMPLATE_TOKENS = 16
#: A prompt sent again is found again but for the block it ends in.
WARM_SHARE = 0.5

#: Written before the run and kept in the passport with their hash.
DISCARD_RULES = (
    *(rule.format(**_RULES.discard_limits) for rule in _RULES.discard_rules),
    *(limit.rule for limit in _RULES.client_limits),
)
RULES_SHA256 = hashlib.sha256("\n".join(DISCARD_RULES).encode()).hexdigest()


#: Classes that say nothing of the server.
NOT_THE_SERVER = (Failure.CLIENT_FAULT, Failure.CANCELLED)
#: Figures of every answered request, and of those alone that have a decode rate.
OF_ANSWERED = ("ttft_s", "end_to_end_s", "intended_end_to_end_s", "prefill_tokens_per_s",
               "server_prefill_tokens_per_s")  # fmt: skip
OF_RATED = ("itl_s", "decode_tokens_per_s")


class Goodput(Record):
    """Requests that met an objective, as the harness itself counted them."""

    objective: str
    requests_per_s: float | None = None
    share: float | None = None


class Results(Record):
    """What was measured. Items nobody measured are None and shown as unknown.

    ``aggregate_tokens_per_s`` is all completion tokens over the summed end-to-end times: at
    concurrency 1 what one client gets, prefill included. ``output_tokens_per_s`` and
    ``requests_per_s`` are over the wall clock of the window, all streams together. ``gap_s`` are
    the times between chunks, another metric than ``itl_s`` as soon as chunks are bundled.
    """

    evidence: Evidence = Evidence.MEASURED
    requests: int | None = None
    usable: int | None = None
    ttft_s: Spread | None = None
    itl_s: Spread | None = None
    gap_s: Spread | None = None
    decode_tokens_per_s: Spread | None = None
    prefill_tokens_per_s: Spread | None = None
    end_to_end_s: Spread | None = None
    intended_end_to_end_s: Spread | None = None
    aggregate_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    goodput: tuple[Goodput, ...] = ()
    server_prefill_tokens_per_s: Spread | None = None
    server_decode_tokens_per_s: Spread | None = None
    tokens_per_chunk: float | None = None
    accepted_tokens_per_step: float | None = None
    peak_memory_bytes: int | None = None
    peak_memory_of: str | None = None
    errors: int | None = None
    restarts: int | None = None
    repetitions: tuple[Repetition, ...] = ()
    ttft_interval_s: Nested | None = None
    itl_interval_s: Nested | None = None
    output_tokens_per_s_interval: Nested | None = None
    wall_power_w: float | None = None
    energy_j: float | None = None
    energy_of: str | None = None


class Discard(Record):
    """A timed request that gave no decode rate, and by which rule."""

    request: int
    reason: str


class DiscardedRun(Record):
    """A whole run that does not count, whose fault it was, and by which rule it went."""

    run: str
    reason: str
    fault: Literal["controller", "client", "server", "unknown"] = "unknown"
    rule: str | None = None


class CacheProbe(Record):
    """A repeated prefix, asked with new endings: what it shows of the prefix cache.

    ``speedup`` is the TTFT of the first request over that of the later ones; ``control`` is the
    same where the cache is off, and says what the probe shows when there is nothing to find.
    """

    prefix_tokens: int | None = None
    questions: int | None = None
    speedup: float | None = None
    speedup_text: str = ""
    control: float | None = None
    cached_tokens: int | None = None
    evidence: Evidence = Evidence.MEASURED


class Emptied(Record):
    """How the prefix cache was emptied before each repetition, because the run asked for it.

    ``proven``: whether a repeated prompt came from the cache before and no longer after it; None
    where that does not show. ``hook`` None: nothing emptied it.
    """

    hook: str | None = None
    times: int | None = None
    refused: int | None = None
    answer: str = ""
    proven: bool | None = None
    text: str = ""
    evidence: Evidence = Evidence.MEASURED


def discard_reason(sample: Sample) -> str:
    """Return why a sample gives no decode rate, or an empty text."""
    if sample.failure:
        return f"{sample.failure.value}: {sample.failure_detail}"
    if sample.usage is Usage.CONTRADICTED:
        return "tokens unknown: the server's count cannot be true of what it sent"
    if sample.completion_tokens is None:
        return "tokens unknown: the server sent no usage"
    if sample.completion_tokens < MIN_TOKENS:
        return f"{sample.completion_tokens} completion tokens, fewer than {MIN_TOKENS}"
    if sample.decode_tokens_per_s is None:
        return "all tokens arrived in one read"
    return ""


def summarise(
    samples: Sequence[Sample], *, peak_memory_bytes: int | None = None, restarts: int | None = None
) -> Results:
    """Summarise the timed samples under the discard rules."""
    answered = [s for s in samples if s.failure is None]
    rated = [s for s in answered if not discard_reason(s)]
    tokens = sum(s.completion_tokens or 0 for s in rated)
    seconds = sum(s.end_to_end_s or 0 for s in rated)
    chunks = sum(s.content_chunks for s in rated)
    inferred = any(s.first_tokens_evidence is Evidence.INFERRED for s in rated)
    known = Evidence.INFERRED if inferred else Evidence.MEASURED
    return Results(
        requests=len(samples),
        usable=len(rated),
        **{name: Spread.of(getattr(s, name) for s in answered) for name in OF_ANSWERED},
        **{name: Spread.of((getattr(s, name) for s in rated), known) for name in OF_RATED},
        server_decode_tokens_per_s=Spread.of(s.server_decode_tokens_per_s for s in rated),
        gap_s=Spread.of(s.gap_median_s for s in rated),
        aggregate_tokens_per_s=tokens / seconds if seconds else None,
        tokens_per_chunk=tokens / chunks if chunks else None,
        peak_memory_bytes=peak_memory_bytes,
        errors=sum(s.failure not in (None, *NOT_THE_SERVER) for s in samples),
        restarts=restarts,
    )


def cached_share(samples: Sequence[Sample]) -> float | None:
    """Return the largest share of a prompt that came from a prefix cache; None when unknown.

    The few tokens that every request shares through the chat template do not count.
    """
    shares = [
        s.cached_tokens / s.prompt_tokens if s.cached_tokens >= TEMPLATE_TOKENS else 0.0
        for s in samples
        if s.cached_tokens is not None and s.prompt_tokens
    ]
    return max(shares, default=None)


class Counted(Record):
    """What the server's own counters moved by while the load was on, others' traffic included."""

    preemptions: int | None = None
    cached_share: float | None = None


def counted(pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> Counted:
    """Sum counters (before, after) over launches; a counter that fell was of another process."""
    moved: dict[str, float | None] = {}
    for before, after in pairs:
        for name, start in before.items():
            step, so_far = after.get(name, -1.0) - start, moved.get(name, 0.0)
            moved[name] = None if step < 0 or so_far is None else so_far + step
    asked, hits, stopped = (moved.get(n) for n in ("prefix_queries", "prefix_hits", "preemptions"))
    share = hits / asked if asked and hits is not None else None
    return Counted(preemptions=None if stopped is None else round(stopped), cached_share=share)


def cache_state(
    plan: Plan, cached: float | None, by_counters: float | None = None
) -> tuple[str, str]:
    """Return the state of the prefix cache in words and as one word, by what the server counted.

    Parameters
    ----------
    cached
        The largest share of a prompt, from ``cached_tokens`` of single answers.
    by_counters
        The share of all prompts, from the server's counters, where answers do not tell.
    """
    same = plan.prompts == "same"
    source = "at most {:.1%} of a prompt from cache"
    if cached is None and by_counters is not None:
        cached = by_counters
        source = "{:.1%} of all prompt tokens from cache, by the server's counters"
    if cached is None:
        meant = ("meant warm (one prompt sent again and again)" if same
                 else "meant cold (nonce first in every prompt)")  # fmt: skip
        word = "meant warm" if same else "meant cold"
        return f"{meant}; not confirmed: no cached_tokens in usage", word
    word = "cold" if cached <= MAX_CACHED_SHARE else "partly warm"
    if same and cached >= WARM_SHARE:
        word = "warm"
    return f"{word}: {source.format(cached)}", word
