"""Figures of two arms side by side, and which of them may be told apart.

A gap is a ratio with Welch's interval over launches, else over repetitions
(:func:`stackchoice.load.stats.gap`); below the scatter between launches it is too close. With one
repetition of an arm nothing is ranked, because its scatter is unknown.
"""

import math
from collections.abc import Sequence
from typing import Literal

from stackchoice.compare.rules import load_compare_rules
from stackchoice.confirm.passport import Passport
from stackchoice.facts.datum import Record
from stackchoice.load.records import Repetition, Sample, Spread
from stackchoice.load.stats import gap

Told = Literal["better", "worse", "too close", "not comparable"]


class Slo(Record):
    """An objective of a request, in seconds; what is None is not asked."""

    ttft_s: float | None = None
    itl_s: float | None = None
    end_to_end_s: float | None = None

    def __str__(self) -> str:
        names = {"ttft_s": "TTFT", "itl_s": "ITL", "end_to_end_s": "end to end"}
        return ", ".join(f"{text} <= {getattr(self, name) * 1e3:g} ms"
                         for name, text in names.items() if getattr(self, name))  # fmt: skip

    def met(self, sample: Sample) -> bool:
        """Whether a request met it; one whose figure is unknown did not show that it did."""
        return sample.failure is None and all(
            (value := getattr(sample, name)) is not None and value <= limit
            for name in type(self).model_fields if (limit := getattr(self, name)) is not None
        )  # fmt: skip


class Metric(Record):
    """One figure: where it stands in repetitions and results, its unit, and which way is better."""

    id: str
    title: str
    unit: str
    scale: float = 1.0
    lower: bool = True


METRICS = (
    Metric(id="ttft_s", title="TTFT, p50", unit="ms", scale=1e3),
    Metric(id="itl_s", title="ITL, p50", unit="ms", scale=1e3),
    Metric(id="end_to_end_s", title="end to end, p50", unit="ms", scale=1e3),
    Metric(id="output_tokens_per_s", title="throughput", unit="output tokens/s", lower=False),
    Metric(id="decode_tokens_per_s", title="decode of one stream", unit="tokens/s", lower=False),
    Metric(id="prefill_tokens_per_s", title="prefill", unit="tokens/s", lower=False),
    Metric(id="goodput_per_s", title="goodput", unit="requests/s", lower=False),
)
#: Decode is ITL turned over and prefill is mostly TTFT; judging both would count one thing twice.
INSTEAD = {"itl_s": "decode_tokens_per_s", "ttft_s": "prefill_tokens_per_s"}
JUDGED = ("ttft_s", "itl_s", "end_to_end_s", "output_tokens_per_s", "goodput_per_s")


class Figure(Record):
    """What may be said of one figure: of the first arm, seen against the second."""

    metric: str
    first: float | None
    second: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    told: Told
    reason: str


def values_of(passport: Passport, metric: str, slo: Slo | None = None) -> list[list[float]]:
    """Return one value for each repetition, grouped by launch; empty where it is unknown."""
    groups: dict[int, list[float]] = {}
    for repetition in passport.results.repetitions:
        value = _of(passport, repetition, metric, slo)
        if value:
            groups.setdefault(repetition.launch, []).append(value)
    return [groups[key] for key in sorted(groups)]


def _of(passport: Passport, repetition: Repetition, metric: str, slo: Slo | None) -> float | None:
    if metric != "goodput_per_s":
        value = getattr(repetition, metric)
        return value.median if isinstance(value, Spread) else value
    if slo is None or not repetition.duration_s:
        return None
    mine = [s for s in passport.samples
            if (s.launch, s.repetition) == (repetition.launch, repetition.number)]  # fmt: skip
    if len(mine) < repetition.completed:
        return None  # requests that are not in the passport cannot be counted
    return sum(map(slo.met, mine)) / repetition.duration_s


def centre(passport: Passport, metric: str, slo: Slo | None = None) -> float | None:
    """Return the central figure of an arm."""
    if metric == "goodput_per_s":
        flat = [v for group in values_of(passport, metric, slo) for v in group]
        return math.fsum(flat) / len(flat) if flat else None
    value = getattr(passport.results, metric)
    return value.median if isinstance(value, Spread) else value


def told(a: Passport, b: Passport, metric: Metric, slo: Slo | None = None) -> Figure:
    """Say of one figure whether the first arm is better than the second."""
    x, y = centre(a, metric.id, slo), centre(b, metric.id, slo)
    blank = {"metric": metric.id, "first": x, "second": y}
    if not x or not y:
        return Figure(**blank, told="not comparable", reason="unknown in one of them")
    scatter = load_compare_rules().launch_scatter
    found = gap(values_of(a, metric.id, slo), values_of(b, metric.id, slo),
                assumed_scatter=scatter)  # fmt: skip
    if found is None or found.verdict == "unknown":
        ratio = x / y
        if abs(math.log(ratio)) <= scatter:
            reason = f"the gap is below the scatter between launches, assumed to be {scatter:.0%}"
            return Figure(**blank, ratio=ratio, told="too close", reason=reason)
        reason = "one repetition of an arm: its scatter is unknown; measure three"
        return Figure(**blank, ratio=ratio, told="not comparable", reason=reason)
    bounds = {"ratio": found.ratio, "low": found.low, "high": found.high}
    if found.verdict == "too close":
        return Figure(**blank, **bounds, told="too close", reason=found.reason)
    better = (found.verdict == "lower") == metric.lower
    return Figure(**blank, **bounds, told="better" if better else "worse", reason=found.reason)


def tail(passport: Passport) -> float | None:
    """Return the p99 of end-to-end latency, where the samples are enough for one."""
    spread = passport.results.end_to_end_s
    return spread.p99 if spread else None


def overall(rows: Sequence[Figure], a: Passport, b: Passport, by: str | None) -> tuple[Told, str]:
    """Join the figures to one verdict on the first arm: one that is both is a trade-off.

    Parameters
    ----------
    by
        The figure that decides, where whoever asks says which.
    """
    judged = [r for r in rows if r.metric == by] if by else _judged(rows)
    titles = {m.id: m.title for m in METRICS}
    better = [titles[r.metric] for r in judged if r.told == "better"]
    worse = [titles[r.metric] for r in judged if r.told == "worse"]
    limit = load_compare_rules().limit("tail_factor")
    tails = tail(a), tail(b)
    if tails[0] and tails[1]:
        if better and not worse and tails[0] >= limit * tails[1]:
            worse.append("end to end, p99")
        elif worse and not better and tails[1] >= limit * tails[0]:
            better.append("end to end, p99")
    if better and worse:
        return "too close", (f"a trade-off: better in {', '.join(better)}, worse in "
                             f"{', '.join(worse)}; say which decides (--by)")  # fmt: skip
    if better or worse:
        return ("better", f"better in {', '.join(better)}, worse in none") if better else (
            "worse", f"worse in {', '.join(worse)}, better in none")  # fmt: skip
    if any(r.told == "too close" for r in judged):
        unknown = [titles[r.metric] for r in judged if r.told == "not comparable" and r.ratio]
        if not unknown:
            return "too close", "no figure can be told apart"
        return "not comparable", f"not ranked by {', '.join(unknown)}: {_why(judged)}"
    return "not comparable", _why(judged)


def _judged(rows: Sequence[Figure]) -> list[Figure]:
    """Return the figures that count; a rate stands for the latency that nobody reported."""
    known = {r.metric: r for r in rows}
    return [
        known[INSTEAD[m]] if known[m].ratio is None and m in INSTEAD else known[m] for m in JUDGED
    ]


def _why(judged: Sequence[Figure]) -> str:
    reasons = dict.fromkeys(r.reason for r in judged if r.told == "not comparable" and r.ratio)
    return "; ".join(reasons) or "no figure is known in both"
