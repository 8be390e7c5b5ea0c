"""What probes showed: prefix cache, context and slots, as configured and as they are. Pure."""

import statistics
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from stackchoice.confirm.results import CacheProbe
from stackchoice.facts.datum import Record, sure
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml
from stackchoice.load.records import Failure, Sample


class Found(Record):
    """What the probes of a run say.

    ``context_tokens`` and ``in_flight`` are proven by requests; None: not probed, or not shown.
    ``cache_state``: what a request with a kept prefix gets.
    """

    cache: CacheProbe | None = None
    cache_state: Literal["on", "off", "unclear"] | None = None
    context_tokens: int | None = None
    in_flight: int | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@cache
def rules() -> dict[str, Any]:
    """Read ``data/probe_rules.yaml``."""
    return dict(read_yaml(data_dir() / "probe_rules.yaml"))


def read_probes(events: Sequence[Mapping[str, Any]]) -> Found:
    """Read the probe events of a run."""
    found = Found()
    for event in events:
        kind = {"cache": _cache, "context": _context, "slots": _slots}.get(event.get("probe", ""))
        if kind is None:
            continue
        new = kind(event)
        found = found.model_copy(update={
            **{k: v for k, v in new.items() if k not in ("warnings", "notes")},
            "warnings": found.warnings + tuple(new.get("warnings", ())),
            "notes": found.notes + tuple(new.get("notes", ())),
        })  # fmt: skip
    return found


def _cache(event: Mapping[str, Any]) -> dict[str, Any]:
    warm, control = (_samples(event[name]) for name in ("warm", "control"))
    if any(s.failure or s.ttft_s is None for s in (*warm, *control)):
        why = next((s.failure_detail for s in (*warm, *control) if s.failure), "no token")
        return {"warnings": [f"cache probe: a request failed ({why}); nothing follows"]}
    speedup, baseline = _speedup(warm), _speedup(control)
    cached = [s.cached_tokens for s in warm[1:]]
    tokens = min((c for c in cached if c is not None), default=None)
    prompt = warm[0].prompt_tokens
    state = cache_state(speedup, baseline, tokens, prompt)
    known = "" if tokens is None else f", {tokens} tokens from the cache by the server's count"
    text = (
        f"one prefix, {len(warm)} questions: the later ones {speedup:.2f}x faster to the first "
        f"token (control {baseline:.2f}x){known}: prefix cache {state}"
    )
    probe = CacheProbe(
        prefix_tokens=prompt, questions=len(warm), speedup=speedup, speedup_text=text,
        control=baseline, cached_tokens=tokens,
    )  # fmt: skip
    return {"cache": probe, "cache_state": state, "notes": [text]}


def cache_state(
    speedup: float, control: float, cached: int | None, prompt: int | None
) -> Literal["on", "off", "unclear"]:
    """Judge the cache: the server's own count where it gives one, else times against the control.

    A count and times that contradict each other leave it unclear.
    """
    limits = rules()["cache"]
    ratio = speedup / control if control > 0 else 0.0
    if cached is not None and prompt:
        counted = cached >= limits["cached_share"] * prompt
        if counted:
            return "on"
        return "unclear" if ratio >= limits["on_above"] else "off"
    if ratio >= limits["on_above"]:
        return "on"
    return "off" if ratio <= limits["off_below"] else "unclear"


def _context(event: Mapping[str, Any]) -> dict[str, Any]:
    limit = event.get("limit")
    if "under" not in event:
        why = "no limit is known" if not limit else "the server does not count prompt tokens"
        return {"warnings": [f"context probe: not possible, {why}"]}
    (under,), (over,) = _samples([event["under"]]), _samples([event["over"]])
    said: dict[str, Any] = {"warnings": [], "notes": []}
    if under.failure is None:
        said["context_tokens"] = limit
        held = f"context: {under.prompt_tokens:,} tokens are answered"
    else:
        said["context_tokens"] = None
        held = f"context: {event['under_aim']:,} tokens are not answered ({under.failure.value})"
        said["warnings"].append(
            f"context_tokens: {limit:,} configured, and a request just under that ends in "
            f"{under.failure.value}: {under.failure_detail}"
        )
    if over.failure is Failure.CONTEXT_REJECTED:
        said["notes"].append(f"{held}, {event['over_aim']:,} are refused")
    elif over.failure:
        said["notes"].append(held)
        said["warnings"].append(
            f"context: {event['over_aim']:,} tokens, above the limit of {limit:,}, end in "
            f"{over.failure.value} and not in a refusal"
        )
    else:
        counted = over.prompt_tokens or 0
        cut = counted < event["over_aim"] - (event["over_aim"] - limit)
        said["notes"].append(held)
        said["warnings"].append(
            f"context: {event['over_aim']:,} tokens, above the limit of {limit:,}, are answered; "
            + (f"only {counted:,} were read: the prompt is cut in silence" if cut
               else "the real limit is higher")
        )  # fmt: skip
    return said


def _slots(event: Mapping[str, Any]) -> dict[str, Any]:
    slots: int | None = event.get("slots")
    if "answers" not in event:
        why = event.get("stopped") or ("the number is not known" if not slots else "there are too "
                                       f"many ({slots}) for a probe; put a load on")  # fmt: skip
        return {"warnings": [f"slots probe: not possible, {why}"]}
    answers = _samples(event["answers"])
    spans = [tuple(span) for span in event["spans_s"] if span]
    most = at_once(spans)
    refused = sum(s.failure is Failure.ADMISSION_REJECTED for s in answers)
    failed = sum(s.failure not in (None, Failure.ADMISSION_REJECTED) for s in answers)
    waited = len(spans) - most
    said: dict[str, Any] = {"in_flight": most or None, "notes": [
        f"slots: {event['asked']} requests at once on {slots} slots: at most {most} produced "
        f"tokens together, {max(0, waited)} waited, {refused} were refused, {failed} failed"
    ]}  # fmt: skip
    slots = sure(slots)  # there are no answers where the number is unknown
    if most < slots:
        said["warnings"] = [f"slots: {slots} configured, at most {most} produced tokens at once"]
    elif most > slots:
        said["warnings"] = [f"slots: {slots} reported, and {most} produced tokens at once"]
    return said


def at_once(spans: Sequence[tuple[float, ...]]) -> int:
    """Return how many of these (first token, last token) spans overlap at most."""
    edges = sorted([(s[0], 1) for s in spans] + [(s[1], -1) for s in spans])
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def _speedup(samples: Sequence[Sample]) -> float:
    """TTFT of the first over the median of the later ones."""
    later = statistics.median(s.ttft_s or 0.0 for s in samples[1:])
    return (samples[0].ttft_s or 0.0) / later if later else 0.0


def _samples(values: Sequence[Mapping[str, Any]]) -> list[Sample]:
    return [Sample.model_validate(v) for v in values]
