"""The six things that must be the same across arms, each identical, different or unknown.

They are the model's revision; the numeric precision of weights and cache; the decoding
configuration; the distributions of input and output lengths; concurrency and arrival pattern; the
window with its warm-up. A part that either arm does not say makes its item unknown: an item is
never identical by silence.
"""

import re
from collections.abc import Callable, Collection
from typing import Any, Literal

from stackchoice.compare.named import canonical_cache, canonical_weights, model_of, preset_name
from stackchoice.compare.rules import load_compare_rules
from stackchoice.confirm.passport import Lengths, Passport, shown
from stackchoice.facts import Facts
from stackchoice.facts.datum import Record
from stackchoice.facts.names import plain_name

Status = Literal["identical", "different", "unknown"]
#: The six in the order in which they are told.
ITEMS = {
    "model": "model revision",
    "precision": "numeric precision of weights and KV cache",
    "decoding": "decoding configuration",
    "lengths": "input and output length distributions",
    "arrivals": "concurrency and arrival pattern",
    "window": "measurement window and warm-up",
}
#: A revision that names its content.
HASH = re.compile(r"(sha256:)?[0-9a-fA-F]{40,}")
#: What arrivals may be; a rate or a number of streams is another part.
KINDS = ("closed loop", "open loop: Poisson", "open loop: one request every")
#: May differ on purpose, because they may be the question; the rest is the workload.
VARIABLE = ("model", "precision")


class Part(Record):
    """One part of an item: both values as text, and whether they are the same."""

    name: str
    first: str
    second: str
    status: Status


class FairItem(Record):
    """One of the six for a pair of arms. ``said``: it rests on somebody's word, not on values."""

    id: str
    title: str
    status: Status
    parts: tuple[Part, ...]
    said: str = ""


def fairness(
    a: Passport, b: Passport, facts: Facts, same: Collection[str] = ()
) -> tuple[FairItem, ...]:
    """Hold two arms against the six items.

    Parameters
    ----------
    same
        Items that whoever asks says are the same. That fills what is unknown; values that are
        known and differ stay different.
    """
    return tuple(_item(i, title, a, b, facts, same) for i, title in ITEMS.items())


def _item(
    item: str, title: str, a: Passport, b: Passport, facts: Facts, same: Collection[str]
) -> FairItem:
    parts = tuple(_PARTS[item](a, b, facts))
    states = {part.status for part in parts}
    status: Status = (
        "different" if "different" in states else "unknown" if "unknown" in states else "identical"
    )
    said = ""
    if status == "unknown":
        tokens = [p.protocol.held_fixed.get(item) for p in (a, b)]
        if tokens[0] and tokens[0] == tokens[1]:
            said = f"the source says it was held fixed: {tokens[0]}"
        elif item in same:
            said = "said to be the same by who compares"
        if said:
            status = "identical"
    return FairItem(id=item, title=title, status=status, parts=parts, said=said)


def _part(
    name: str, first: Any, second: Any, same: bool | Literal["by value"] | None = "by value"
) -> Part:
    """Compare two values; ``same`` says it where equal texts are not what counts."""
    if same == "by value":
        same = None if first is None or second is None else first == second
    status: Status = "unknown" if same is None else "identical" if same else "different"
    return Part(name=name, first=shown(first), second=shown(second), status=status)


def _model(a: Passport, b: Passport, facts: Facts) -> list[Part]:
    x, y = a.identity, b.identity
    for name in ("manifest_sha256", "artifact_revision"):
        hashes = getattr(x, name), getattr(y, name)
        if hashes[0] and hashes[0] == hashes[1] and HASH.fullmatch(hashes[0]):
            return [_part(name.replace("_", " "), *hashes)]
    same = None
    if x.model and y.model:
        known = model_of(x, facts), model_of(y, facts)
        same = plain_name(x.model) == plain_name(y.model) or (
            known[0] is not None and known[0] is known[1]
        )
    return [_part("model", x.model, y.model, same),
            _part("revision", x.model_revision, y.model_revision)]  # fmt: skip


def _precision(a: Passport, b: Passport, facts: Facts) -> list[Part]:
    x, y = a.identity, b.identity
    weights = [canonical_weights(i.weight_format, facts) for i in (x, y)]
    cache = [canonical_cache(i.kv_format, facts) for i in (x, y)]
    return [
        _part("weights", x.weight_format, y.weight_format,
              None if None in weights else weights[0] == weights[1]),
        _part("KV cache", x.kv_format, y.kv_format,
              None if None in cache else cache[0] == cache[1]),
    ]  # fmt: skip


def _decoding(a: Passport, b: Passport, facts: Facts) -> list[Part]:
    texts, settings = [], []
    for p in (a, b):
        preset = preset_name(p.protocol, model_of(p.identity, facts))
        given = p.protocol.sampling_settings
        listed = ", ".join(f"{k} {v:g}" if isinstance(v, float | int) else f"{k} {v}"
                           for k, v in (given or {}).items())  # fmt: skip
        text = f"{preset or 'no published preset'} ({listed})" if given else p.protocol.sampling
        texts.append(text)
        settings.append(None if given is None else dict(sorted(given.items())))
    same = None if None in settings else settings[0] == settings[1]
    if same is None and None not in texts and texts[0] == texts[1]:
        same = True  # the same words for it, where neither gives numbers
    parts = [
        _part("sampling preset", texts[0], texts[1], same),
        _part("reasoning", a.protocol.reasoning_policy, b.protocol.reasoning_policy),
        _part("output budget", a.protocol.output_budget_tokens, b.protocol.output_budget_tokens),
    ]
    templates = a.identity.chat_template, b.identity.chat_template
    if None not in templates:
        parts.append(_part("chat template", *templates))
    return parts


def _lengths(a: Passport, b: Passport, facts: Facts) -> list[Part]:
    tolerance = load_compare_rules().limit("length_tolerance")
    parts = []
    for name in ("input", "output"):
        x, y = (getattr(p.protocol, f"{name}_lengths") for p in (a, b))
        same = None
        if x and y and x.mean is not None and y.mean is not None:
            same = _near(x.mean, y.mean, tolerance)
            if None not in (x.p50, y.p50):
                same = same and _near(x.p50, y.p50, tolerance)
        parts.append(_part(f"{name} tokens", _length_text(x), _length_text(y), same))
    return [p.model_copy(update={"status": "unknown"}) if "unknown" in (p.first, p.second) else p
            for p in parts]  # fmt: skip


def _length_text(lengths: Lengths | None) -> str | None:
    if lengths is None:
        return None
    said = [f"asked {lengths.asked}"] if lengths.asked else []
    if lengths.mean is not None:
        span = f" ({lengths.low:g} to {lengths.high:g})" if None not in (
            lengths.low, lengths.high) else ""  # fmt: skip
        said.append(f"realised mean {lengths.mean:.4g}{span}")
    return ", ".join(said) or None


def _near(x: float | None, y: float | None, tolerance: float) -> bool | None:
    if x is None or y is None:
        return None
    return abs(x - y) <= tolerance * max(x, y)


def _arrivals(a: Passport, b: Passport, facts: Facts) -> list[Part]:
    x, y = a.protocol, b.protocol
    said = [p.arrival_pattern for p in (x, y)]
    kinds = [next((k for k in KINDS if (t or "").startswith(k)), t) for t in said]
    parts = [_part("arrivals", said[0], said[1],
                   None if None in kinds else kinds[0] == kinds[1])]  # fmt: skip
    closed = "closed loop" in kinds
    if closed or x.concurrency is not None or y.concurrency is not None:
        parts.append(_part("concurrency", x.concurrency, y.concurrency))
    if x.rate_per_s is not None or y.rate_per_s is not None:
        parts.append(_part("rate, 1/s", x.rate_per_s, y.rate_per_s))
    reached = a.validity.most_in_flight, b.validity.most_in_flight
    if closed and None not in reached:
        limit = load_compare_rules().limit("concurrency_tolerance")
        parts.append(_part("achieved concurrency", *reached, _near(*reached, limit)))
    return parts


def _window(a: Passport, b: Passport, facts: Facts) -> list[Part]:
    x, y = a.protocol, b.protocol
    harness = [
        f"{p.harness.split(':')[0]} {p.harness_revision or ''}".strip() if p.harness else None
        for p in (x, y)
    ]
    if x.requests is not None and x.requests == y.requests:
        window: bool | None = True
    elif None not in (x.window_s, y.window_s):
        window = _near(x.window_s, y.window_s, load_compare_rules().limit("window_tolerance"))
    else:
        window = None if None in (x.requests, y.requests) else False
    warm = [p.warm_up_requests if p.warm_up_requests is not None else p.warm_up for p in (x, y)]
    caches = x.cache, y.cache
    cache = None
    unproven = ({"cold", "meant cold"}, {"warm", "meant warm"})
    if None not in caches and set(caches) not in unproven:
        cache = caches[0] == caches[1]
        shares = a.validity.largest_cached_share, b.validity.largest_cached_share
        if cache and caches[0] == "partly warm":
            x_share, y_share = shares
            cache = None if x_share is None or y_share is None else abs(x_share - y_share) <= 0.05
    return [
        _part("harness", harness[0], harness[1]),
        _part("window", _window_text(x), _window_text(y), window),
        _part("warm-up", warm[0], warm[1]),
        _part("prefix cache", x.prefix_cache_state or x.cache, y.prefix_cache_state or y.cache,
              cache),
    ]  # fmt: skip


def _window_text(protocol: Any) -> str | None:
    said = []
    if protocol.requests is not None:
        said.append(f"{protocol.requests} requests, {protocol.repetitions or 'unknown'} times")
    if protocol.window_s is not None:
        said.append(f"{protocol.window_s:.4g} s")
    return ", ".join(said) or None


_PARTS: dict[str, Callable[[Passport, Passport, Facts], list[Part]]] = {
    "model": _model, "precision": _precision, "decoding": _decoding, "lengths": _lengths,
    "arrivals": _arrivals, "window": _window,
}  # fmt: skip
