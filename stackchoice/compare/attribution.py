"""Why two arms differ, worded as inference: which phase moved, against the roofline, beside what.

Decode walks weights and cache once a token, prefill multiplies. They load the machine in opposite
ways, so which of them moved says where a cause may lie. It never proves one: everything that moved
between the arms is listed, and "unexplained" is a result.
"""

import math
from collections.abc import Iterator

from stackchoice.compare.metrics import METRICS, Figure, told
from stackchoice.compare.moved import Moved, moved
from stackchoice.compare.named import artifact_of, machine_of, model_of
from stackchoice.compare.rules import load_compare_rules
from stackchoice.confirm.passport import Passport
from stackchoice.facts import Facts
from stackchoice.facts.datum import Evidence, Record
from stackchoice.fit.runs import device_kind, suspect_kernel_path
from stackchoice.fit.speed import batch_one_speed

PHASES = {m.id: m for m in METRICS if m.id in ("decode_tokens_per_s", "prefill_tokens_per_s")}


class Ceiling(Record):
    """An arm's decode ceiling by its bytes and bandwidth, and the share of it that was seen."""

    bytes_per_token: int
    tokens_per_s: float
    share: float | None = None
    suspect: bool = False
    evidence: Evidence = Evidence.COMPUTED


class Attribution(Record):
    """What may be inferred of the difference between two arms (second over first)."""

    decode_ratio: float | None = None
    prefill_ratio: float | None = None
    pattern: str
    text: str
    causes: tuple[Moved, ...] = ()
    half_known: tuple[str, ...] = ()
    roofline: tuple[str, ...] = ()
    explained: bool
    evidence: Evidence = Evidence.INFERRED


def ceiling(passport: Passport, facts: Facts) -> Ceiling | None:
    """Return the roofline of one stream; None where model, artifact or machine is not known."""
    model = model_of(passport.identity, facts)
    machine = machine_of(passport.identity, facts)
    if passport.protocol.concurrency not in (None, 1):
        return None  # the roofline is of one stream
    artifact = artifact_of(passport.identity, model, facts) if model else None
    if model is None or machine is None or artifact is None:
        return None
    speed = batch_one_speed(model, artifact, machine, facts.efficiencies,
                            devices=passport.identity.gpu_count or 1)  # fmt: skip
    top, size = speed.decode_ceiling_tokens_per_s, speed.bytes_per_decode_step
    if top is None or size is None:
        return None
    rate = passport.results.decode_tokens_per_s
    return Ceiling(bytes_per_token=size, tokens_per_s=top,
                   share=rate.median / top if rate else None, evidence=speed.evidence,
                   suspect=rate is not None and suspect_kernel_path(
                       rate.median, top, device_kind(machine)))  # fmt: skip


def attribute(a: Passport, b: Passport, facts: Facts, *, alike: bool) -> Attribution:
    """Say what the step from the first arm to the second is consistent with.

    Parameters
    ----------
    alike
        Whether the workload was the same; without that nothing is attributed.
    """
    rows = {name: told(a, b, metric) for name, metric in PHASES.items()}
    ratios = {name: 1 / r.ratio if r.ratio else None for name, r in rows.items()}
    causes, half = moved(a.identity, b.identity, facts)
    base = {
        "decode_ratio": ratios["decode_tokens_per_s"],
        "prefill_ratio": ratios["prefill_tokens_per_s"],
        "causes": tuple(causes), "half_known": tuple(half),
        "roofline": tuple(_roofline(a, b, facts)),
    }  # fmt: skip
    if not alike:
        return Attribution(**base, pattern="not comparable", explained=False,
                           text="unlike workloads: nothing is attributed")  # fmt: skip
    states = [_state(rows[name], ratios[name]) for name in PHASES]
    pattern, text = _pattern(*states)
    if pattern in ("unknown", "neither moved"):
        return Attribution(**base, pattern=pattern, text=text, explained=False)
    if not causes:
        said = "unexplained: nothing that is known of the two arms differs"
        rest = f"; not known in both: {', '.join(half)}" if half else ""
        text = f"{text}. {said}{rest}. The scatter between launches is a thing to measure"
        return Attribution(**base, pattern=pattern, text=text, explained=False)
    if len(causes) == 1:
        text = f"{text}. Consistent with the one thing that moved, {causes[0]}"
    else:
        names = ", ".join(dict.fromkeys(c.name for c in causes))
        text += (
            f". {len(causes)} things moved together ({names}): consistent with any of them, and "
            "this pair cannot separate them; move one at a time"
        )
    if half:
        text += f". Not known in both, so it may have moved too: {', '.join(half)}"
    return Attribution(**base, pattern=pattern, text=text, explained=len(causes) == 1)


def _state(row: Figure, ratio: float | None) -> str:
    """Return up, down, still or unknown, of the second arm against the first."""
    if ratio is None:
        return "unknown"
    if row.told in ("better", "worse"):
        return "down" if row.told == "better" else "up"
    band = load_compare_rules().limit("null_band")
    if row.told == "too close" or abs(math.log(ratio)) <= band:
        return "still"
    return "up" if ratio > 1 else "down"


def _pattern(decode: str, prefill: str) -> tuple[str, str]:
    if "unknown" in (decode, prefill):
        lacking = [n for n, s in (("decode", decode), ("prefill", prefill)) if s == "unknown"]
        return "unknown", f"{' and '.join(lacking)} not known in both: no pattern to read"
    name = (
        "neither moved" if decode == prefill == "still" else "decode alone" if prefill == "still"
        else "prefill alone" if decode == "still" else "both together" if decode == prefill
        else "apart"
    )  # fmt: skip
    word = "rose" if "up" in (decode, prefill) else "fell"
    return name, load_compare_rules().patterns[name].format(word=word)


def _roofline(a: Passport, b: Passport, facts: Facts) -> Iterator[str]:
    tops = ceiling(a, facts), ceiling(b, facts)
    for passport, top in zip((a, b), tops, strict=True):
        if top is None:
            continue
        text = (f"{passport.arm}: {top.bytes_per_token / 1e9:.1f} GB a token, ceiling "
                f"{top.tokens_per_s:.0f} tokens/s")  # fmt: skip
        if top.share is not None:
            text += f", {top.share:.0%} of it reached"
            if top.share > 1:
                text += " (more than one token for each reading of the weights)"
            if top.suspect:
                text += " (so little of it on a GPU: suspect the kernel path, read the log)"
        yield text
    if tops[0] and tops[1] and tops[0].bytes_per_token != tops[1].bytes_per_token:
        expected = tops[1].tokens_per_s / tops[0].tokens_per_s
        rates = [p.results.decode_tokens_per_s for p in (a, b)]
        if rates[0] and rates[1]:
            seen = rates[1].median / rates[0].median
            yield (f"the bytes alone predict {expected:.2f}x decode, seen is {seen:.2f}x: "
                   "smaller frees memory, and speed is a second effect")  # fmt: skip
