"""What a sweep shows: effects against the noise, drift, interactions, a confirmed peak. Pure."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from stackchoice.confirm.identity import Basis, Setting
from stackchoice.confirm.passport import Passport
from stackchoice.confirm.probed import rules
from stackchoice.errors import InputError
from stackchoice.facts.datum import STRENGTH, Evidence, Record
from stackchoice.sweep.design import Arm, Design

#: Metric -> (unit, whether more is better).
METRICS: dict[str, tuple[str, bool]] = {
    "output_tokens_per_s": ("tokens/s", True), "requests_per_s": ("requests/s", True),
    "decode_tokens_per_s": ("tokens/s", True), "prefill_tokens_per_s": ("tokens/s", True),
    "ttft_s": ("s", False), "itl_s": ("s", False), "end_to_end_s": ("s", False),
    "peak_memory_bytes": ("bytes", False), "cache_speedup": ("times", True),
}  # fmt: skip
#: What a server, or the environment it starts from, says of itself beside the settings as given.
TOLD = ("runtime", "runtime_build", "torch", "packages", "artifact", "artifact_revision", "kernels",
        "weight_format", "kv_format", "speculative_decoder", "context_tokens", "kv_pool_tokens",
        "slots", "effective_settings")  # fmt: skip
Told = Literal["better", "worse", "too close", "not known"]


class ArmResult(Record):
    """One arm: the figure of each run, and what it is against the baseline.

    ``noise`` is the relative distance below which nothing is told apart: the scatter of this
    arm's and the baseline's launches, or the drift.
    """

    id: str
    settings: dict[str, Setting]
    role: str
    values: tuple[float, ...] = ()
    mean: float | None = None
    ratio: float | None = None
    noise: float | None = None
    told: Told = "not known"
    labels: tuple[str, ...] = ()
    evidence: Evidence = Evidence.MEASURED


class Interaction(Record):
    """Two knobs together: the product of their single effects against what was measured."""

    knobs: tuple[str, ...]
    expected: float | None
    measured: float | None
    outcome: Literal["none seen", "interact", "not known"]
    evidence: Evidence = Evidence.INFERRED


class Sweep(Record):
    """The result of a sweep by one metric.

    ``peak`` is the arm that does best; ``confirmed`` says whether a further run agrees (None: that
    run is missing).
    """

    metric: str
    unit: str
    arms: tuple[ArmResult, ...]
    interactions: tuple[Interaction, ...] = ()
    drift: float | None = None
    drifted: bool | None = None
    peak: str | None = None
    confirmed: bool | None = None
    confirming: float | None = None
    notes: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each arm, its knobs as columns."""
        return [
            {**arm.settings, "arm": arm.id, "runs": len(arm.values), self.metric: arm.mean,
             "times baseline": arm.ratio, "noise": arm.noise, "told": arm.told,
             "validity": ", ".join(arm.labels)}
            for arm in self.arms
        ]  # fmt: skip


def known_metric(metric: str) -> tuple[str, bool]:
    """Return unit of a metric, and whether more is better.

    InputError when there is no such metric.
    """
    if metric not in METRICS:
        raise InputError(f"metric {metric!r}: not one of {', '.join(METRICS)}")
    return METRICS[metric]


def figure(passport: Passport, metric: str) -> float | None:
    """Return one figure of a passport; None where it was not measured."""
    known_metric(metric)
    if metric == "cache_speedup":
        probe = passport.validity.cache_probe
        return probe.speedup if probe else None
    value = getattr(passport.results, metric)
    figure: float | None = getattr(value, "median", value)
    return figure


def judge(
    plan: Design, runs: Mapping[int, Sequence[Passport]], metric: str, *,
    confirming: Sequence[Passport] = (),
) -> Sweep:  # fmt: skip
    """Judge a sweep.

    Parameters
    ----------
    runs
        Number of the arm -> its passports, in the order of the runs.
    confirming
        Further runs of the arm that did best.
    """
    unit, more = known_metric(metric)
    values = {i: _figures(runs.get(i, ()), metric) for i in range(len(plan.arms))}
    drift = _distance(values[0][0], values[0][-1]) if len(values[0]) > 1 else None
    limit = float(rules()["drift_share"])
    results = [
        _arm(plan.arms[i], values[i], values[0], runs.get(i, ()), more, drift)
        for i in range(len(plan.arms))
    ]
    notes = [*_notes(runs), *_not_shown(results, runs), *_unlike(runs)]
    peak = _peak(results, more, notes)
    seen = _figures(confirming, metric)
    further = statistics.fmean(seen) if seen else None
    if drift is not None and drift > limit:
        notes.append(
            f"drift: the baseline moved by {drift:.1%} between its first and its last run; what is "
            "closer than that is too close"
        )
    return Sweep(
        metric=metric, unit=unit, arms=tuple(results),
        interactions=tuple(_interactions(plan, results)), drift=drift,
        drifted=None if drift is None else drift > limit, peak=peak.id if peak else None,
        confirmed=_confirmed(peak, further, results, more), confirming=further, notes=tuple(notes),
    )  # fmt: skip


def _arm(
    arm: Arm, values: list[float], base: list[float], runs: Sequence[Passport], more: bool,
    drift: float | None,
) -> ArmResult:  # fmt: skip
    known: dict[str, Any] = {
        "id": arm.id, "settings": arm.settings, "role": arm.role, "values": tuple(values),
        "labels": tuple(p.label for p in runs),
        "evidence": max((p.results.evidence for p in runs), key=STRENGTH.index,
                        default=Evidence.MEASURED),
    }  # fmt: skip
    if not values:
        return ArmResult(**known)
    known["mean"] = mean = statistics.fmean(values)
    if not base or not statistics.fmean(base):
        return ArmResult(**known)
    ratio = mean / statistics.fmean(base)
    # One run has no scatter, so nothing can be told from it.
    scatters = [_scatter(v) for v in (values, base)]
    noise = None if None in scatters else max(*(s or 0.0 for s in scatters), drift or 0.0)
    told: Told = "too close"
    if arm.role == "baseline" or noise is None:
        told = "not known" if arm.role != "baseline" else "too close"
    elif abs(ratio - 1) > noise:
        told = "better" if (ratio > 1) == more else "worse"
    return ArmResult(**known, ratio=ratio, noise=noise, told=told)


def _interactions(plan: Design, results: Sequence[ArmResult]) -> Iterator[Interaction]:
    single = {tuple(r.settings.items()): r for r in results}
    base = plan.arms[0].settings
    for arm, result in zip(plan.arms, results, strict=True):
        if arm.role != "interaction":
            continue
        parts = [single.get(tuple({**base, k: arm.settings[k]}.items())) for k in arm.knobs]
        ratios = [p.ratio for p in parts if p and p.ratio is not None]
        noise = [p.noise for p in (*parts, result) if p and p.noise is not None]
        if len(ratios) < 2 or result.ratio is None or len(noise) < 3:
            yield Interaction(knobs=arm.knobs, expected=None, measured=result.ratio,
                              outcome="not known")  # fmt: skip
            continue
        expected = ratios[0] * ratios[1]
        apart = _distance(expected, result.ratio) > sum(noise)
        yield Interaction(knobs=arm.knobs, expected=expected, measured=result.ratio,
                          outcome="interact" if apart else "none seen")  # fmt: skip


def _peak(results: Sequence[ArmResult], more: bool, notes: list[str]) -> ArmResult | None:
    """Return the best arm where it stands apart; one on HOLD or not valid never is."""
    fit = [r for r in results if r.mean is not None and set(r.labels) <= {"VALID"}]
    if not fit:
        notes.append("no peak: no arm is valid and free of a HOLD")
        return None
    first, *others = sorted(fit, key=lambda r: r.mean or 0.0, reverse=more)
    near = [
        r.id for r in others
        if first.noise is None or r.noise is None
        or _distance(first.mean or 0.0, r.mean or 0.0) <= max(first.noise, r.noise)
    ]  # fmt: skip
    if near:
        notes.append(f"no peak: {first.id} is too close to {', '.join(near)}")
        return None
    return first


def _confirmed(
    peak: ArmResult | None, further: float | None, results: Sequence[ArmResult], more: bool
) -> bool | None:
    """Whether the further run still beats every other arm; None while there is no such run."""
    if peak is None or further is None:
        return None
    others = [r.mean for r in results if r.id != peak.id and r.mean is not None]
    return all((further > o) if more else (further < o) for o in others)


def _notes(runs: Mapping[int, Sequence[Passport]]) -> Iterator[str]:
    every = [p for passports in runs.values() for p in passports]
    for item in ("runtime_build", "artifact_revision"):
        found = sorted({str(v) for p in every if (v := getattr(p.identity, item)) is not None})
        if len(found) > 1:
            yield f"{item.replace('_', ' ')} differs between runs: {', '.join(found)}"
    held = sorted({p.arm for p in every if p.label != "VALID"})
    if held:
        yield f"not valid or on HOLD, so never the peak: {', '.join(held)}"


def _not_shown(
    results: Sequence[ArmResult], runs: Mapping[int, Sequence[Passport]]
) -> Iterator[str]:  # fmt: skip
    """Say of which arms only the setting as given tells that it took, as with a release unknown."""
    for i, result in enumerate(results):
        if result.role != "knob" or not (runs.get(0) and runs.get(i)):
            continue
        base, arm = runs[0][0].identity, runs[i][0].identity
        if (how := base.origin("runtime")) and how.basis is Basis.LAUNCHED:
            continue  # our own code passed the settings
        if all(getattr(base, item) == getattr(arm, item) for item in TOLD):
            moved = result.told in ("better", "worse")
            so = "only its figures do" if moved else "the knob may not have taken"
            yield (
                f"{result.id}: nothing that the server or its environment says of itself differs "
                f"from the baseline (release {arm.runtime_build or 'unknown'} in both); {so}"
            )


def _unlike(runs: Mapping[int, Sequence[Passport]]) -> list[str]:
    """Say where the arms' answers are not of one length, which moves every figure."""
    means = [lengths.mean for passports in runs.values() for p in passports
             if (lengths := p.protocol.output_lengths) and lengths.mean]  # fmt: skip
    if not means or _distance(min(means), max(means)) <= float(rules()["length_share"]):
        return []
    return [f"answers are {min(means):.4g} to {max(means):.4g} tokens long in the mean of a run: "
            "arms are not alike in what they did; --exact-output asks for one length"]  # fmt: skip


def _figures(passports: Sequence[Passport], metric: str) -> list[float]:
    return [v for p in passports if (v := figure(p, metric)) is not None]


def _scatter(values: Sequence[float]) -> float | None:
    """Relative distance of the furthest runs; None with a single one."""
    if len(values) < 2:
        return None
    return _distance(min(values), max(values))


def _distance(a: float, b: float) -> float:
    return abs(a - b) / min(abs(a), abs(b)) if a and b else float(a != b)
