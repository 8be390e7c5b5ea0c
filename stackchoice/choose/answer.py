"""The answer at one point: survivors of the three questions, then money. Pure and cheap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from stackchoice.choose.decision import Candidate, Question
from stackchoice.choose.managed import best_seller, managed_candidates, offers
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
from stackchoice.workload import Conflict, PushResult, Situation, conflicts, favourite, pushes

THRESHOLDS = ("many_users", "heavy_shared_prefix_share", "low_utilisation")


#: What the team's silence about every duty says of serving by itself.
VETO: tuple[Question, str] = (
    "ops capacity", "nobody upgrades it, nobody watches p99, nobody is awake when it breaks",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Everything that was concluded at one point."""

    judged: list[Judged]
    sellers: list[Candidate]
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

    @property
    def site_is_paid_for(self) -> bool:
        """Whether the best self-hosted answer stands on hardware that is there already."""
        return self.site is not None and self.site.choice.already_owned

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every configuration in words: each engine at each place, then each seller."""
        return [j.candidate() for j in self.judged] + self.sellers


def answer(scenario: Scenario, facts: Facts, point: Point, memo: Memo | None = None) -> Answer:
    """Answer the three questions and compare the paths at one point.

    ``memo`` is shared by the points of one decision: only what a moved input reaches is new.
    """
    memo = memo or Memo()
    tokens = volume(point)
    team = ops(scenario, point, facts)
    judged = judge_all(scenario, facts, point, memo)
    if team.veto:
        judged = [replace(j, failed=VETO) if j.alive else j for j in judged]
    survivors = [j for j in judged if j.alive]
    # An option whose hard facts are unknown is not preferred while a proven one survives, and
    # one whose weights are not known to fit is not recommended at all.
    fitting = [j for j in survivors if j.site is not None and j.site.row.pool_bytes is not None]
    proven = [j for j in fitting if not j.unknown] or fitting
    results = pushes(facts.rules, _situation(scenario, facts, point, proven))
    alive = {j.engine.id for j in proven}
    found_conflicts = conflicts(results, alive)
    rule, engine_id = _favourite(results, alive)
    chosen = _best(proven, engine_id)
    best, site = (chosen.candidate(), chosen.site) if chosen else (None, None)
    unsettled = [c for c in found_conflicts if not c.settled and engine_id in c.engines]
    tied = next(
        (facts.engines[e].name for c in unsettled for e in c.engines if e != engine_id), None
    )

    sellers = managed_candidates(scenario, facts, point, tokens, memo)
    seller = best_seller(sellers)
    bought = _bought(scenario, facts, seller)
    lines = path_lines(scenario, facts, point, site, bought, tokens)
    verdict = recommend(
        scenario, facts, point, best=best, best_rule=rule, tied_with=tied, site=site, seller=seller,
        sellers=sellers, pushes=results, lines=lines, fit_unknown=bool(survivors) and not fitting,
    )  # fmt: skip
    return Answer(
        judged=judged,
        sellers=sellers,
        best=best,
        best_rule=rule,
        tied_with=tied,
        site=site,
        seller=seller,
        pushes=results,
        conflicts=found_conflicts,
        ops=team,
        lines=lines,
        bought=bought,
        tokens=tokens,
        verdict=verdict,
    )


def _situation(scenario: Scenario, facts: Facts, point: Point, proven: list[Judged]) -> Situation:
    machines: list[Machine] = [facts.machines[c.id] for c in scenario.candidates.machines]
    rates = [j.site.replica.middle for j in proven if j.site and j.site.replica is not None]
    mean = traffic(point).mean_per_s
    return Situation(
        scenario=scenario, point=point, machines=machines,
        devices=sum(c.count for c in scenario.candidates.machines),
        mean_utilisation=mean / max(rates) if rates and mean is not None else None,
        thresholds={name: facts.assumed(name) for name in THRESHOLDS},
    )  # fmt: skip


def _favourite(results: list[PushResult], alive: set[str]) -> tuple[PushResult | None, str | None]:
    for push in results:
        if push.holds and (engine := favourite(push, alive)):
            return push, engine
    return None, None


def _best(proven: list[Judged], engine_id: str | None) -> Judged | None:
    """Pick the engine's configuration: fewest unknowns, then highest precision, then capacity.

    Quantising is a cure for what does not fit, so it is not taken where nothing ails.
    """

    def rank(judged: Judged) -> tuple[Any, ...]:
        place, site = judged.place, judged.site
        return (
            -len(judged.unknown),
            place.artifact.weight_bits.value or 0,
            -place.choice.devices_per_replica,
            (site and site.live_sequences) or 0,
            # Still equal: never by the order in which somebody wrote the machines down.
            place.choice.already_owned,
            (site and site.row.pool_bytes) or 0,
            place.choice.count,
            place.machine.id,
            place.artifact.id,
        )

    return max((j for j in proven if j.engine.id == engine_id), key=rank, default=None)


def _bought(
    scenario: Scenario, facts: Facts, seller: Candidate | None
) -> tuple[Seller, Offer] | None:
    if seller is None:
        return None
    return next(pair for pair in offers(scenario, facts) if pair[0].name == seller.seller)
