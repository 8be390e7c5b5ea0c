"""The answer at one point: survivors of the three questions, then money. Pure and cheap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stackchoice.choose.decision import Candidate, Question
from stackchoice.choose.managed import best_seller, judged_sellers, nobody_sells, priced
from stackchoice.choose.memo import Memo
from stackchoice.choose.money import path_lines, volume
from stackchoice.choose.recommend import Recommendation, recommend
from stackchoice.choose.selfhosted import Judged, judge_all
from stackchoice.choose.site import Site, traffic
from stackchoice.cost import CostLine, Volume
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Machine, Offer, Seller
from stackchoice.ops import Ops, ops
from stackchoice.scenario import Point, Scenario
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
    """Everything that was concluded at one point."""

    judged: list[Judged]
    scenario: Scenario
    offered: list[tuple[Seller, Offer, Candidate]]
    best: Candidate | None
    best_rule: PushResult | None
    tied_with: str | None
    site: Site | None
    seller: Candidate | None
    pushes: list[PushResult]
    conflicts: list[Conflict]
    ops: Ops
    lines: list[CostLine]
    bought: tuple[Seller, Offer] | None
    tokens: Volume | None
    verdict: Recommendation

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every configuration in words: each engine at each place, then each seller."""
        sellers = [priced(c, offer, self.tokens) for _, offer, c in self.offered]
        return [j.candidate() for j in self.judged] + (sellers or [nobody_sells(self.scenario)])


def answer(scenario: Scenario, facts: Facts, point: Point, memo: Memo | None = None) -> Answer:
    """Answer the three questions and compare the paths at one point.

    ``memo`` is shared by the points of one decision: only what a moved input reaches is new.
    """
    memo = memo or Memo()
    tokens = volume(point)
    team = ops(scenario, point, facts)
    judged, field, results = memo.recall(
        ("survey",), point, facts, lambda p, f: _survey(scenario, f, p, memo)
    )
    alive = set(field.best)
    found_conflicts = conflicts(results, alive)
    rule, engine_id = _favourite(results, alive)
    chosen = field.best.get(engine_id) if engine_id else None
    best, site = (chosen.candidate(), chosen.site) if chosen else (None, None)
    unsettled = [c for c in found_conflicts if not c.settled and engine_id in c.engines]
    tied = next(
        (facts.engines[e].name for c in unsettled for e in c.engines if e != engine_id), None
    )

    found = judged_sellers(scenario, facts, point, memo)
    seller = best_seller(found, tokens)
    bought = next(((s, o) for s, o, c in found if seller and c.seller == seller.seller), None)
    lines = path_lines(scenario, facts, point, site, bought, tokens)
    verdict = recommend(
        scenario, facts, point, best=best, best_rule=rule, tied_with=tied, site=site, seller=seller,
        sellers=[c for _, _, c in found] or [nobody_sells(scenario)], pushes=results, lines=lines,
        fit_unknown=not field.best and any(j.alive for j in judged),
    )  # fmt: skip
    return Answer(
        scenario=scenario,
        judged=judged,
        offered=found,
        best=best,
        best_rule=rule,
        tied_with=tied,
        site=site,
        seller=seller,
        pushes=results,
        conflicts=[*found_conflicts, *(against_managed(results, alive) if seller else ())],
        ops=team,
        lines=lines,
        bought=bought,
        tokens=tokens,
        verdict=verdict,
    )


def _survey(
    scenario: Scenario, facts: Facts, point: Point, memo: Memo
) -> tuple[list[Judged], Field, list[PushResult]]:
    """Judge everything and see where the rules point: what no price and no salary moves."""
    veto = VETO if ops(scenario, point, facts).veto else None
    judged = judge_all(scenario, facts, point, memo, veto)
    field = Field(judged)
    results = pushes(facts.rules, _situation(scenario, facts, point, field))
    if not field.best:  # looked at here, so that what it reads is noted
        all(j.alive for j in judged)
    return judged, field, results


class Field:
    """Who can be chosen: of each engine its best configuration.

    An option whose hard facts are unknown is not preferred while a proven one survives, and one
    whose weights are not known to fit is not recommended at all.
    """

    def __init__(self, judged: list[Judged]) -> None:
        self._fitting = sorted((j for j in judged if j.fits), key=Judged.rank, reverse=True)

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
        alive = [j for j in self._fitting if j.alive]
        pool = [j for j in alive if not j.unknown] or alive
        rates = [j.site.replica.middle for j in pool if j.site and j.site.replica is not None]
        return max(rates, default=None)


def _situation(scenario: Scenario, facts: Facts, point: Point, field: Field) -> Situation:
    machines: list[Machine] = [facts.machines[c.id] for c in scenario.candidates.machines]

    def utilisation() -> float | None:
        mean, fastest = traffic(point).mean_per_s, field.fastest_per_s
        return mean / fastest if fastest and mean is not None else None

    return Situation(
        scenario=scenario, point=point, machines=machines,
        devices=sum(c.count for c in scenario.candidates.machines),
        mean_utilisation=utilisation,
        thresholds={name: facts.assumed(name) for name in THRESHOLDS},
    )  # fmt: skip


def _favourite(results: list[PushResult], alive: set[str]) -> tuple[PushResult | None, str | None]:
    for push in results:
        if push.holds and (engine := favourite(push, alive)):
            return push, engine
    return None, None
