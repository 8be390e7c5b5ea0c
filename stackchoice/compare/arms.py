"""Arms compared: fairness first, then figures side by side, then one verdict for each pair.

Arms are put into one order by name and content, so what is said never depends on how they were
given. An arm on HOLD never wins; unlike workloads are never ranked.
"""

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Literal

from stackchoice.compare.attribution import Attribution, attribute
from stackchoice.compare.fairness import ITEMS, VARIABLE, FairItem, fairness
from stackchoice.compare.metrics import METRICS, Figure, Slo, overall, told
from stackchoice.confirm.passport import Passport
from stackchoice.errors import InputError
from stackchoice.facts import Facts
from stackchoice.facts.datum import Record, content_hash
from stackchoice.facts.yaml import shown

Verdict = Literal["better", "worse", "too close", "not comparable", "hold"]
MIRRORED: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}


class Arm(Record):
    """One arm as it is compared: its name here, its passport, what must be told beside it."""

    name: str
    label: str
    correctness: Literal["passed", "failed", "unknown"]
    notes: tuple[str, ...] = ()
    passport: Passport


class Pair(Record):
    """Two arms: ``verdict`` is on the first, seen against the second."""

    first: str
    second: str
    fairness: tuple[FairItem, ...]
    verdict: Verdict
    reason: str
    figures: tuple[Figure, ...]
    attribution: Attribution

    def seen_from(self, arm: str) -> Verdict:
        """Return the verdict on one of the two arms."""
        return self.verdict if arm == self.first else MIRRORED.get(self.verdict, self.verdict)


class Comparison(Record):
    """All arms and all pairs. ``winner`` is better than every other arm, else None."""

    arms: tuple[Arm, ...]
    pairs: tuple[Pair, ...]
    slo: Slo | None = None
    by: str | None = None
    vary: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    winner: str | None = None
    conclusion: str

    def pair(self, one: str, other: str) -> Pair:
        """Return the pair of two arms, in whichever order."""
        return next(p for p in self.pairs if {p.first, p.second} == {one, other})


def compare(
    passports: Sequence[Passport], facts: Facts, *, slo: Slo | None = None, by: str | None = None,
    vary: Collection[str] = (), same: Collection[str] = (),
) -> Comparison:  # fmt: skip
    """Compare two or more measured arms.

    Parameters
    ----------
    slo
        Objective of a request, for goodput.
    by
        Id of the figure that decides; without it an arm must be worse in none.
    vary
        Items of the six that differ on purpose (model, precision). The workload never may.
    same
        Items that are the same by the word of whoever asks.

    Raises
    ------
    InputError
        With fewer than two arms, or a name that is none.
    """
    _check(passports, by, vary, same)
    arms = _named(passports)
    pairs = tuple(_pair(a, b, facts, slo, by, vary, same) for a, b in combinations(arms, 2))
    winner = next((a.name for a in arms if _beats_all(a, pairs)), None)
    return Comparison(
        arms=arms, pairs=pairs, slo=slo, by=by, vary=tuple(sorted(vary)), same=tuple(sorted(same)),
        winner=winner, conclusion=_conclusion(arms, pairs, winner),
    )  # fmt: skip


def _check(
    passports: Sequence[Passport], by: str | None, vary: Collection[str], same: Collection[str]
) -> None:
    if len(passports) < 2:
        raise InputError(
            f"{len(passports)} arms: a comparison has two or more; name more passports"
        )
    if by is not None and by not in (ids := [m.id for m in METRICS]):
        raise InputError(f"--by {shown(by)!r}: no figure; one of: {', '.join(ids)}")
    for name in vary:
        if name not in VARIABLE:
            raise InputError(f"--vary {shown(name)!r}: only {' and '.join(VARIABLE)} may differ on "
                             "purpose; arms with another workload are never ranked")  # fmt: skip
    for name in same:
        if name not in ITEMS:
            raise InputError(f"--same {shown(name)!r}: none of the six; one of: {', '.join(ITEMS)}")


def _named(passports: Sequence[Passport]) -> tuple[Arm, ...]:
    arms: list[Arm] = []
    for passport in sorted(passports, key=lambda p: (p.arm, content_hash(p))):
        taken = sum(a.passport.arm == passport.arm for a in arms)
        name = f"{passport.arm} ({taken + 1})" if taken else passport.arm
        while any(a.name == name for a in arms):
            name += "'"
        arms.append(Arm(name=name, label=passport.label, passport=passport,
                        correctness=passport.validity.correctness,
                        notes=arm_notes(passport)))  # fmt: skip
    return tuple(arms)


def arm_notes(passport: Passport) -> tuple[str, ...]:
    """Tell of everything that bounds what the figures mean: missing capacity, discards, faults."""
    v, said = passport.validity, []
    asked, pool = v.configured_context_tokens, v.realised_kv_tokens
    if asked and pool and pool < asked:
        said.append(
            f"configured for {asked:,} tokens of context, realised {pool:,} tokens of cache "
            f"({pool / asked:.0%}): a request of the configured length cannot be held"
        )
    for name, want, have in (
        ("context", asked, v.realised_context_tokens),
        ("slots", v.configured_slots, v.realised_slots),
        ("KV tokens", v.configured_kv_tokens, pool),
    ):
        if want and have and have < want:
            said.append(f"{name}: configured {want:,}, realised {have:,}")
    said += [f"HOLD: {reason}" for reason in v.hold]
    said += [f"invalid: {reason}" for reason in v.reasons]
    passed = [c for c in (*v.canaries_before, *v.canaries_after) if c.result == "passed"]
    if v.correctness == "passed":
        said.append(f"canaries passed: {', '.join(dict.fromkeys(c.id for c in passed))}")
    elif v.correctness == "unknown":
        said.append("correctness unknown: no canary was judged")
    deep = [c for c in passed if c.input_tokens]
    if deep:
        longest = max(c.input_tokens or 0 for c in deep)
        said.append(f"recall shown at {longest:,} input tokens")
    said += [
        f"discarded run {r.run}: {r.reason} (fault of the {r.fault})" for r in v.discarded_runs
    ]
    if v.discarded:
        said.append(f"{len(v.discarded)} requests discarded by rules written before")
    if probe := v.cache_probe:
        seen = probe.speedup_text or (f"{probe.speedup:.2f}x" if probe.speedup else "unknown")
        control = f", control {probe.control:.2f}x" if probe.control else ""
        said.append(f"a repeated prefix answers {seen} faster{control}")
    said += [f"harness: {fault}" for fault in passport.protocol.harness_faults]
    said += [f"warning: {text}" for text in v.warnings]
    return (*said, *(f"note: {text}" for text in passport.notes))


def _pair(
    a: Arm, b: Arm, facts: Facts, slo: Slo | None, by: str | None, vary: Collection[str],
    same: Collection[str],
) -> Pair:  # fmt: skip
    one, two = a.passport, b.passport
    items = fairness(one, two, facts, same)
    figures = tuple(told(one, two, metric, slo) for metric in METRICS)
    unlike = [i for i in items if i.status != "identical" and i.id not in vary]
    alike = all(i.status == "identical" for i in items if i.id not in VARIABLE)
    verdict, reason = _verdict(a, b, unlike, figures, by)
    broken = any(x.passport.validity.valid is False for x in (a, b))
    if verdict == "hold" or (verdict == "not comparable" and (unlike or broken)):
        figures = tuple(
            f.model_copy(update={"ratio": None, "low": None, "high": None, "reason": verdict,
                                 "told": "not comparable"}) for f in figures
        )  # fmt: skip
    if verdict in ("better", "worse", "too close"):
        differ = [i.title for i in items if i.id in vary and i.status != "identical"]
        if differ:
            reason += f"; {', '.join(differ)} differ on purpose, so quality is another question"
        unasked = [x.name for x in (a, b) if x.correctness == "unknown"]
        if unasked:
            reason += f"; no canary was judged of {' and '.join(unasked)}: correctness is unknown"
    return Pair(
        first=a.name, second=b.name, fairness=items, verdict=verdict, reason=reason,
        figures=figures, attribution=attribute(one, two, facts, alike=alike),
    )  # fmt: skip


def _verdict(
    a: Arm, b: Arm, unlike: list[FairItem], figures: Sequence[Figure], by: str | None
) -> tuple[Verdict, str]:
    held = [x.name for x in (a, b) if x.correctness == "failed"]
    if held:
        holds = [h for x in (a, b) for h in x.passport.validity.hold]
        text = f"{' and '.join(held)} on HOLD: its figures do not count before its canaries pass"
        return "hold", f"{text} ({'; '.join(holds)})" if holds else text
    broken = [x for x in (a, b) if x.passport.validity.valid is False]
    if broken:
        why = "; ".join(r for x in broken for r in x.passport.validity.reasons)
        return "not comparable", f"{' and '.join(x.name for x in broken)} invalid: {why}"
    if a.passport == b.passport:
        return "too close", "the same run twice"
    if unlike:
        return "not comparable", _unlike(unlike)
    return overall(figures, a.passport, b.passport, by)


def _unlike(unlike: list[FairItem]) -> str:
    said = [
        f"{status}: {', '.join(titles)}" for status in ("different", "unknown")
        if (titles := [i.title for i in unlike if i.status == status])
    ]  # fmt: skip
    fixes = []
    differ = [i.id for i in unlike if i.status == "different"]
    if differ and set(differ) <= set(VARIABLE):
        fixes.append("--vary, where that is the question")
    if any(i.status == "unknown" for i in unlike):
        fixes.append("--same, where you know that it is the same")
    return "; ".join(said) + (f" ({', '.join(fixes)})" if fixes else "")


def _beats_all(arm: Arm, pairs: Sequence[Pair]) -> bool:
    """Whether an arm is better than every other; one on HOLD never is."""
    mine = [p.seen_from(arm.name) for p in pairs if arm.name in (p.first, p.second)]
    return arm.correctness != "failed" and all(verdict == "better" for verdict in mine)


def _conclusion(arms: Sequence[Arm], pairs: Sequence[Pair], winner: str | None) -> str:
    said = [f"{winner} is better than every other arm" if winner
            else "no arm is better than every other"]  # fmt: skip
    if held := [a.name for a in arms if a.correctness == "failed"]:
        said.append(f"on HOLD: {', '.join(held)}")
    if count := sum(p.verdict == "not comparable" for p in pairs):
        said.append(f"{count} of {len(pairs)} pairs cannot be ranked")
    return "; ".join(said)
