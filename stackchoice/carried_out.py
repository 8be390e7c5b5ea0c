"""A confirmation plan carried out: each number as predicted and as measured. Pure."""

from collections.abc import Iterator, Sequence
from typing import Literal

from stackchoice.choose import Decision
from stackchoice.choose.carried import Limit
from stackchoice.compare.named import engine_of, model_of
from stackchoice.confirm.passport import Passport
from stackchoice.facts import Facts
from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.interval import Interval
from stackchoice.load.records import Spread
from stackchoice.read.log_against import Compared

Stands = Literal["stands", "stands so far", "does not stand", "not decided"]
Outcome = Literal["confirmed", "refuted", "not informative", "not measured"]
#: Without one failure in n, the true share is below this many times 1/n (at 95 %).
RULE_OF_THREE = 3
SPREADS = {"ttft_p99_s": "ttft_s", "itl_p99_s": "itl_s", "end_to_end_p99_s": "end_to_end_s"}


class Checked(Record):
    """One number: what was predicted or demanded, what was measured, what follows.

    ``limit`` is the verdict by the limit that was written before the run.
    """

    measure: str
    unit: str
    predicted: tuple[float, float] | None = None
    must: str = ""
    measured: float | None = None
    outcome: Outcome
    limit: Literal["pass", "fail", "between"] | None = None
    why: str = ""
    evidence: Evidence = Evidence.MEASURED


class CarriedOut(Record):
    """The result of a confirmation.

    ``refuted``: a number left its interval, a limit was missed, a kernel path was another one, or
    an arm is on HOLD. ``stands``: whether the decision does.
    """

    numbers: tuple[Checked, ...]
    kernels: tuple[Compared, ...] = ()
    stands: Stands
    why: tuple[str, ...]
    refuted: bool


def carried_out(
    decision: Decision, runs: Sequence[Passport], facts: Facts, kernels: Sequence[Compared] = ()
) -> CarriedOut:
    """Hold the runs of a confirmation against the plan of its decision.

    Parameters
    ----------
    decision
        With the plan; a decision without one has nothing to confirm but its speed.
    runs
        Passports, one for each load.
    facts
        Tells whether what was measured is what the decision is about.
    kernels
        The predicted kernel path against the log's.
    """
    usable = [run for run in runs if run.usable]
    limits = decision.plan.limits if decision.plan else []
    numbers = tuple(_checked(limit, usable) for limit in limits)
    stands, why = _stands(decision, runs, numbers, kernels, facts)
    refuted = (
        any(n.outcome == "refuted" for n in numbers)
        or any(k.outcome == "refuted" for k in kernels)
        or any(run.label == "HOLD" for run in runs)
    )
    return CarriedOut(
        numbers=numbers, kernels=tuple(kernels), stands=stands, why=tuple(why), refuted=refuted
    )


def _stands(
    decision: Decision,
    runs: Sequence[Passport],
    numbers: Sequence[Checked],
    kernels: Sequence[Compared],
    facts: Facts,
) -> tuple[Stands, list[str]]:
    if other := list(_another(decision, runs, facts)):
        return "not decided", other
    if held := [f"{r.arm}: {h}" for r in runs if r.label == "HOLD" for h in r.validity.hold]:
        return "does not stand", ["on HOLD: wrong answers never win", *held]
    unusable = [f"{r.arm}: {reason}" for r in runs if not r.usable for reason in r.validity.reasons]
    failed = [f"{n.measure}: {n.why}" for n in numbers if n.limit == "fail"]
    if failed:
        return "does not stand", failed
    if unusable:
        return "not decided", unusable
    wrong = [f"{k.part}: {k.reason}" for k in kernels if k.outcome == "refuted"]
    if wrong:
        return "not decided", ["the log shows another kernel than the numbers rest on", *wrong]
    open_ones = [f"{n.measure}: {n.why}" for n in numbers
                 if n.outcome in ("not measured", "not informative")]  # fmt: skip
    if not numbers:
        return "not decided", ["the decision has no plan"]
    if open_ones:
        return "stands so far", [
            "nothing speaks against it, but not all of it is shown",
            *open_ones,
        ]
    better = [f"{n.measure}: {n.why}" for n in numbers if n.outcome == "refuted"]
    return "stands", ["every limit of the plan is met", *better]


def _another(decision: Decision, runs: Sequence[Passport], facts: Facts) -> Iterator[str]:
    """Say where something else was measured than what was decided; unknown names say nothing."""
    wanted = next((e for e in facts.engines.values()
                   if e.name == decision.best_self_hosted), None)  # fmt: skip
    for run in runs:
        model, engine = model_of(run.identity, facts), engine_of(run.identity, facts)
        if model is not None and decision.fit.model not in (model.id, model.name):
            yield f"{run.arm}: measured {model.id}, decided for {decision.fit.model}"
        if engine is not None and wanted is not None and engine.id != wanted.id:
            yield f"{run.arm}: measured {engine.name}, decided for {wanted.name}"


def _checked(limit: Limit, runs: Sequence[Passport]) -> Checked:
    measured, why, sure = _measured(limit, runs)
    base = {"measure": limit.measure, "unit": limit.unit, "predicted": limit.predicted,
            "must": _must(limit), "measured": measured}  # fmt: skip
    if measured is None:
        return Checked(**base, outcome="not measured", why=why)
    verdict = limit.verdict(measured)
    if verdict == "fail":
        return Checked(**base, outcome="refuted", limit=verdict, why=_joined("misses it", why))
    if not sure:
        return Checked(**base, outcome="not informative", why=why)
    if limit.predicted is None:
        kept: Outcome = "confirmed" if verdict == "pass" else "not informative"
        return Checked(**base, outcome=kept, limit=verdict, why=why)
    low, high = limit.predicted
    interval = Interval(low=low, middle=(low + high) / 2, high=high, unit=limit.unit,
                        evidence=limit.evidence)  # fmt: skip
    outcome = interval.verdict(measured)
    if outcome == "refuted":
        better = measured > high
        side = "above the interval, to the team's advantage" if better else "below the interval"
        why = _joined(side, why)
    elif outcome == "not informative":
        why = _joined(f"inside, but the interval spans a factor of {interval.factor:.1f}", why)
    return Checked(**base, outcome=outcome, limit=verdict, why=why)


def _measured(limit: Limit, runs: Sequence[Passport]) -> tuple[float | None, str, bool]:
    """Return the figure, how it came about, and whether it is enough to confirm."""
    if not runs:
        return None, "no run that may be believed", False
    if limit.figure == "decode_tokens_per_s":
        alone = [r for r in runs if r.protocol.concurrency == 1 and r.results.decode_tokens_per_s]
        if not alone:
            return None, "needs a run of one stream", False
        spread = alone[-1].results.decode_tokens_per_s
        assert spread is not None
        return spread.median, f"median of {spread.n}", True
    if limit.figure == "requests_per_s":
        at_once = limit.at_once or 1
        loaded = [r for r in runs if (r.protocol.concurrency or 0) >= at_once
                  and r.results.requests_per_s]  # fmt: skip
        if not loaded:
            return None, f"needs a run of {at_once} streams", False
        return loaded[-1].results.requests_per_s, f"{loaded[-1].protocol.concurrency} streams", True
    if limit.figure == "admitted":
        return _admitted(limit, runs)
    if limit.figure in SPREADS:
        return _tail(getattr(runs[-1].results, SPREADS[limit.figure]))
    if limit.figure == "error_share":
        return _errors(limit, runs)
    if limit.figure == "schema_breaks":
        asked = [c for r in runs for c in r.validity.canaries_before if "schema" in c.id]
        broken = sum(c.result in ("failed", "not supported") for c in asked)
        if not asked:
            return None, "no canary asked for a schema", False
        said = f"{broken} of {len(asked)} canary replies; a canary is no load"
        return broken, said, False
    return None, "nothing that a run measures", False


def _admitted(limit: Limit, runs: Sequence[Passport]) -> tuple[float | None, str, bool]:
    known = [r for r in runs if r.validity.realised_slots or r.identity.slots]
    if not known:
        return None, "the engine does not say it", False
    run = known[-1]
    found = run.validity.realised_slots or run.identity.slots
    asked = run.validity.configured_slots
    wanted = limit.pass_at_least
    if found is not None and asked is not None and wanted is not None and asked < wanted:
        return None, f"it was started for {asked} at once, and {wanted:g} are to be shown", False
    return found, "by the engine's own account", True


def _tail(spread: Spread | None) -> tuple[float | None, str, bool]:
    """A p99 below its sample floor is unknown, but it is never below the median."""
    if spread is None:
        return None, "not measured in this run", False
    if spread.p99 is not None:
        return spread.p99, f"p99 of {spread.n}", True
    return spread.median, f"median of {spread.n}, n too small for a p99, which is no smaller", False


def _errors(limit: Limit, runs: Sequence[Passport]) -> tuple[float | None, str, bool]:
    requests = sum(r.results.requests or 0 for r in runs)
    if not requests:
        return None, "no request", False
    errors = sum(r.results.errors or 0 for r in runs)
    share = errors / requests
    most = limit.pass_at_most or 0.0
    enough = requests * most >= RULE_OF_THREE
    said = f"{errors} of {requests}"
    if not enough:
        # One failure among few says as little as none among few.
        need = f"{RULE_OF_THREE / most:.0f}" if most else "endlessly many"
        if errors <= 1:
            return min(share, most), f"{said}; {need} are needed to tell", False
    return share, said, enough


def _must(limit: Limit) -> str:
    least, most = limit.pass_at_least, limit.pass_at_most
    parts = [
        "" if least is None else f"at least {least:.3g}",
        "" if most is None else f"at most {most:.3g}",
    ]
    return ", ".join(filter(None, parts))


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
