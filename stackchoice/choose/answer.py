"""The answer at one point: survivors of the three questions, then money. Pure and cheap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stackchoice.choose.case import Case
from stackchoice.choose.decision import Candidate, Question
from stackchoice.choose.managed import Offered, best_seller, judged_sellers, nobody_sells, priced
from stackchoice.choose.money import path_lines, volume
from stackchoice.choose.prefer import Way
from stackchoice.choose.recommend import Recommendation, open_ways, recommend
from stackchoice.choose.selfhosted import Judged, judge_all
from stackchoice.choose.site import Site
from stackchoice.cost import CostLine, Volume
from stackchoice.facts.records import Engine, Offer, Seller
from stackchoice.ops import Ops, ops, vetoed
from stackchoice.workload import (
    Conflict,
    PushResult,
    Situation,
    against_managed,
    conflicts,
    favourite,
    pushes,
)

THRESHOLDS = ("many_users", "heavy_shared_prefix_share", "low_utilisation")

#: What the team's silence about every duty says of serving by itself.
VETO: tuple[Question, str] = (
    "ops capacity", "nobody upgrades it, nobody watches p99, nobody is awake when it breaks",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Everything that was concluded at one point.

    ``chosen`` is the best self-hosted configuration; ``offered`` are the judged sellers,
    ``seller`` and ``bought`` the best of them.
    """

    case: Case
    judged: list[Judged]
    offered: list[Offered]
    chosen: Judged | None
    best_rule: PushResult | None
    seller: Candidate | None
    bought: tuple[Seller, Offer] | None
    pushes: list[PushResult]
    conflicts: list[Conflict]
    lines: list[CostLine]
    tokens: Volume | None
    ways: list[Way]
    verdict: Recommendation

    @cached_property
    def best(self) -> Candidate | None:
        """The best self-hosted configuration in words."""
        return self.chosen.candidate() if self.chosen else None

    @cached_property
    def ops(self) -> Ops:
        """What the team has, against what serving by itself asks of it."""
        return ops(self.case.scenario, self.case.point, self.case.facts)

    @property
    def site(self) -> Site | None:
        """Question 1 in numbers, for the best self-hosted configuration."""
        return self.chosen.site if self.chosen else None

    @property
    def engine(self) -> Engine | None:
        """The engine of the best self-hosted configuration."""
        return self.chosen.engine if self.chosen else None

    @property
    def offer(self) -> Offer | None:
        """What the best seller offers."""
        return self.bought[1] if self.bought else None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every configuration in words: each engine at each place, then each seller."""
        sellers = [priced(c, offer, self.tokens) for _, offer, c in self.offered]
        return [j.candidate() for j in self.judged] + (sellers or [nobody_sells(self.case)])


def answer(case: Case) -> Answer:
    """Answer the three questions and compare the paths at one point.

    Cases made from one another share sub-results: only what a moved input reaches is new.
    """
    tokens = volume(case)
    judged, field, results, fit_unknown = case.recall(("survey",), _survey)
    alive = set(field.best)
    found_conflicts = conflicts(results, alive)
    rule, engine_id = _favourite(results, alive)
    chosen = field.best[engine_id] if engine_id else None
    unsettled = [c for c in found_conflicts if not c.settled and engine_id in c.engines]
    tied = next(
        (case.facts.engines[e].name for c in unsettled for e in c.engines if e != engine_id), None
    )

    offered = judged_sellers(case)
    taken = best_seller(offered, tokens)
    bought, seller = (taken[:2], taken[2]) if taken else (None, None)
    lines = path_lines(case, chosen.site if chosen else None, bought, tokens)
    ways = open_ways(case, chosen, seller, lines)
    verdict = recommend(
        case, ways, chosen=chosen, best_rule=rule, tied_with=None if seller else tied,
        pushes=results,
        sellers=[c for _, _, c in offered] or [nobody_sells(case)],
        fit_unknown=fit_unknown,
    )  # fmt: skip
    return Answer(
        case=case, judged=judged, offered=offered, chosen=chosen, best_rule=rule,
        seller=seller, bought=bought, pushes=results,
        conflicts=[*found_conflicts, *(against_managed(results, alive) if seller else ())],
        lines=lines, tokens=tokens, ways=ways,
        verdict=verdict,
    )  # fmt: skip


def _survey(case: Case) -> tuple[list[Judged], Field, list[PushResult], bool]:
    """Judge everything and see where the rules point: what no price and no salary moves.

    What is asked of the judged is asked here, so that what it reads is noted. Last comes whether
    something survives of which nobody knows if it fits.
    """
    veto = VETO if vetoed(case.scenario, case.point) else None
    judged = judge_all(case, veto)
    field = Field(judged)
    results = pushes(case.facts.rules, _situation(case, field))
    return judged, field, results, not field.best and any(j.alive for j in judged)


class Field:
    """Who can be chosen: of each engine its best configuration.

    An option whose hard facts are unknown is not preferred while a proven one survives, and one
    whose weights are not known to fit is not recommended at all.
    """

    def __init__(self, judged: list[Judged]) -> None:
        fitting = [j for j in judged if j.standing.fits]
        self._fitting = sorted(fitting, key=lambda j: j.standing.rank, reverse=True)

    @cached_property
    def best(self) -> dict[str, Judged]:
        """The best configuration by engine: proven ones, else those with the fewest unknowns."""
        found: dict[str, Judged] = {}
        for one in self._fitting:
            if one.engine.id not in found and one.proven:
                found[one.engine.id] = one
        return found or self._unproven()

    def _unproven(self) -> dict[str, Judged]:
        found: dict[str, Judged] = {}
        for one in sorted((j for j in self._fitting if j.alive), key=lambda j: len(j.unknown)):
            found.setdefault(one.engine.id, one)
        return found

    @property
    def fastest_per_s(self) -> float | None:
        """Requests a second of the fastest configuration that can be chosen."""
        pool = [j for j in self._fitting if j.proven] or [j for j in self._fitting if j.alive]
        rates = [j.site.replica.middle for j in pool if j.site and j.site.replica is not None]
        return max(rates, default=None)


def _situation(case: Case, field: Field) -> Situation:
    choices = case.scenario.candidates.machines

    def utilisation() -> float | None:
        mean, fastest = case.flow.mean_per_s, field.fastest_per_s
        return mean / fastest if fastest and mean is not None else None

    return Situation(
        scenario=case.scenario, point=case.point,
        machines=[case.facts.machines[c.id] for c in choices],
        devices=sum(c.count for c in choices), mean_utilisation=utilisation,
        thresholds={name: case.facts.assumed(name) for name in THRESHOLDS},
    )  # fmt: skip


def _favourite(results: list[PushResult], alive: set[str]) -> tuple[PushResult | None, str | None]:
    for push in results:
        if push.holds and (engine := favourite(push, alive)):
            return push, engine
    return None, None
