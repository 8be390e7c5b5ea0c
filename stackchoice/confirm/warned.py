"""What a passport warns of: what the server said, refused or did not give."""

from collections.abc import Iterator

from stackchoice.confirm.account import ServerInfo
from stackchoice.confirm.beside import emptied_by
from stackchoice.confirm.canary import CanaryOutcome
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.protocol import length_asked
from stackchoice.confirm.results import MAX_CACHED_SHARE, Results
from stackchoice.facts.datum import sure
from stackchoice.facts.values import count_of
from stackchoice.load.journal import Event
from stackchoice.load.records import Sample
from stackchoice.load.stream import BUNDLED

#: From so many tokens a read on, reads do not show single tokens.
GATHERED = 1.5


def preempted(times: int | None) -> list[str]:
    """Say that requests were put off for want of cache, where the server counted it."""
    what = "preemptions while the load was on: the cache did not hold all requests at once"
    return [f"{times} {what}"] if times else []


def not_got(events: list[Event], timed: list[Event], samples: list[Sample]) -> list[str]:
    """Say what the plan asked of the server and did not get."""
    emptied = emptied_by(events)
    said = [f"cold: {emptied.text}"] if emptied and emptied.proven is not True else []
    asked = length_asked(events)
    pairs = [(s.completion_tokens, e.get("asked_tokens"))
             for e, s in zip(timed, samples, strict=True)]  # fmt: skip
    known = [(got, limit) for got, limit in pairs if got is not None and limit is not None]
    if over := sum(got > limit + 1 for got, limit in known):
        said.append(f"{over} of {len(known)} answers are longer than their limit: the server does "
                    "not keep it")  # fmt: skip
    if asked and not asked["asked"]:
        said.append(f"answers of one length: {asked['text']}; lengths are as they fell")
    elif asked and (odd := sum(got != wanted for got, wanted in known)):
        said.append(f"{odd} of {len(known)} answers are not as long as was asked for")
    return said


def warnings(
    events: list[Event], results: Results, identity: Identity, cached: float | None,
    canaries: list[CanaryOutcome],
) -> Iterator[str]:  # fmt: skip
    """Say what a reader should know of a run that may be valid all the same."""
    server, settings = identity.server or ServerInfo(), identity.settings
    if server.model_ids and identity.endpoint_model not in server.model_ids:
        yield f"the server does not list this model; it offers {server.model_ids[0]}"
    if cached is not None and cached > MAX_CACHED_SHARE:
        yield f"the prefix cache was not cold: up to {cached:.0%} of a prompt came from it"
    if any(e["step"] == "server_gone" for e in events):
        yield "the server no longer answered after the run"
    if any(e["step"] == "stream_options_refused" for e in events):
        yield "the server refuses stream_options; asked without, so tokens may be unknown"
    if identity.runtime is None:
        yield ("the engine is unknown: nothing that the server says names one; declare it with "
               "--declare runtime=NAME, or give its --log")  # fmt: skip
    gap, itl = results.gap_s, results.itl_s
    if results.tokens_per_chunk and results.tokens_per_chunk > BUNDLED:
        yield (f"{results.tokens_per_chunk:.2f} tokens a chunk: bundled (speculative decoding "
               "or chunks that were joined)")  # fmt: skip
    elif gap and itl and gap.median > GATHERED * itl.median:
        yield (f"about {gap.median / itl.median:.1f} tokens a read, one a chunk: gathered on the "
               "way, as by a proxy that buffers; TTFT holds the wait for the first of these "
               "reads, and ITL is over the others")  # fmt: skip
    if odd := sum(r.usage_contradicted for r in results.repetitions):
        yield f"{odd} answers with a count of tokens that cannot be true; left out of rates"
    if odd := sum(r.other_model for r in results.repetitions):
        yield f"{odd} answers name another model than the one asked for"
    yield from sorted({r.stopped for r in results.repetitions if r.stopped})
    for name, real in (("context_tokens", server.context_tokens), ("slots", server.slots)):
        if (asked := count_of(settings.get(name))) and real and real < asked:
            yield f"{name}: configured {asked}, realised {real}"
    rate, theirs = results.decode_tokens_per_s, results.server_decode_tokens_per_s
    if rate and theirs and not 0.9 < rate.median / theirs.median < 1.1:
        yield (f"decode: {rate.median:.3g} tokens/s seen here, {theirs.median:.3g} by the "
               "server's own account")  # fmt: skip
    alone = all(r.health is None or r.health.asked_concurrency == 1 for r in results.repetitions)
    if alone and rate and sure(rate.high) > 1.25 * sure(rate.low):
        yield (f"decode varies from {rate.low:.3g} to {rate.high:.3g} tokens/s between "
               "requests: the machine may be busy")  # fmt: skip
    read = results.prefill_tokens_per_s
    if alone and rate and read and read.median < rate.median and (cached or 0) <= MAX_CACHED_SHARE:
        yield (f"the first token took longer than {rate.median:.3g} tokens/s would take for the "
               "prompt: it waited (network, queue), or the answer was finished before it was "
               "streamed and ITL is not the engine's; a TTFT that grows with --output-tokens "
               "shows the latter")  # fmt: skip
    for canary in canaries:
        if canary.result in ("not supported", "off", "beyond the model"):
            yield f"canary {canary.id} {canary.result}: {canary.reason}"
        if canary.note:
            yield f"canary {canary.id}: {canary.note}"
