"""The answer at one point: survivors of the three questions, then money. Pure and cheap."""

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property

from stackchoice.choose.case import Case
from stackchoice.choose.decision import Candidate
from stackchoice.choose.judge import Failed
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
VETO: Failed = (
    "ops capacity", "nobody upgrades it, nobody watches p99, nobody is awake when it breaks", (),
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Everything that was concluded at one point.

    ``chosen`` is the best self-hosted configuration; ``offered`` are the judged sellers,
    ``seller`` and ``bought`` the best of them.
    """

    case: Case
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

    @property
    def judged(self) -> list[Judged]:
        """Every engine at each place, in the order of the candidates."""
        return _judged(self.case)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every configuration in words: each engine at each place, then each seller."""
        sellers = [priced(c, offer, self.tokens) for _, offer, c in self.offered]
        own = [j.candidate() for j in self.judged]
        return own + (sellers or [nobody_sells(self.case)])


def answer(case: Case) -> Answer:
    """Answer the three questions and compare the paths at one point.

    Cases made from one another share sub-results: only what a moved input reaches is new.
    """
    tokens, found = volume(case), case.recall(("survey",), _survey)
    chosen = found.chosen
    offered = judged_sellers(case)
    taken = best_seller(offered, tokens)
    bought, seller = (taken[:2], taken[2]) if taken else (None, None)
    lines = path_lines(case, chosen.site if chosen else None, bought, tokens)
    ways = open_ways(case, chosen, seller, lines)
    verdict = recommend(
        case, ways, chosen=chosen, best_rule=found.rule, tied_with=None if seller else found.tied,
        pushes=found.pushes,
        sellers=[c for _, _, c in offered] or [nobody_sells(case)],
        unsure=found.unsure,
    )  # fmt: skip
    return Answer(
        case=case, offered=offered, chosen=chosen, best_rule=found.rule,
        seller=seller, bought=bought, pushes=found.pushes,
        conflicts=[*found.conflicts, *(found.against_managed if seller else ())],
        lines=lines, tokens=tokens, ways=ways,
        verdict=verdict,
    )  # fmt: skip


#: Why nothing self-hosted is chosen though something survives, or may.
POINTLESS = "no rule points at a self-hosted option that survives"
UNKNOWN = "no self-hosted option is known to survive: find out what is unknown of those that may"


@dataclass(frozen=True)
class Survey:
    """What no price and no salary moves: who survives, and where the rules point.

    ``tied`` is an engine that no rule settles the chosen one against, ``unsure`` says why
    nothing is chosen though something may survive; empty where nothing does.
    """

    pushes: list[PushResult]
    conflicts: list[Conflict]
    against_managed: list[Conflict]
    rule: PushResult | None
    chosen: Judged | None
    tied: str | None
    unsure: str


def _judged(case: Case) -> list[Judged]:
    return judge_all(case, VETO if vetoed(case.scenario, case.point) else None)


def _survey(case: Case) -> Survey:
    """Judge everything; what is asked of the judged is asked here, so that its reads are noted."""
    judged = _judged(case)
    field = Field(judged)
    results, rule, engine = _pointed_at(case, field)
    if engine is None and field:
        open_too = Field(judged, only_proven=False)
        again = _pointed_at(case, open_too)
        if again[2] is not None:
            field, (results, rule, engine) = open_too, again
    found = conflicts(results, field)
    unsettled = [c for c in found if not c.settled and engine in c.engines]
    return Survey(
        pushes=results, conflicts=found, rule=rule,
        against_managed=against_managed(results, field),
        chosen=field.best(engine) if engine else None,
        tied=next((case.facts.engines[e].name for c in unsettled for e in c.engines if e != engine),
                  None),
        unsure="" if engine else POINTLESS if field else UNKNOWN * any(j.alive for j in judged),
    )  # fmt: skip


def _pointed_at(
    case: Case, field: "Field"
) -> tuple[list[PushResult], PushResult | None, str | None]:
    """Return every push, and the first rule that holds with the engine of the field it favours."""
    results = pushes(case.facts.rules, _situation(case, field))
    for push in results:
        if push.holds and (own := favourite(push, field)):
            return results, push, own
    return results, None, None


class Field(Container[str]):
    """Who can be chosen: of each engine its best configuration, looked for when it is asked for.

    An option whose hard facts are unknown is not preferred while a proven one survives, unless no
    rule points at any that is proven; one that is not known to load the file and to fit is not
    recommended at all.
    """

    def __init__(self, judged: list[Judged], *, only_proven: bool = True) -> None:
        self._only_proven = only_proven
        fitting = [j for j in judged if j.standing.fits]
        self._fitting = sorted(fitting, key=lambda j: j.standing.rank, reverse=True)

    def __contains__(self, engine: object) -> bool:
        return self.best(engine) is not None

    def __bool__(self) -> bool:
        return self._any_proven or any(j.alive for j in self._fitting)

    @cached_property
    def _any_proven(self) -> bool:
        return self._only_proven and any(j.proven for j in self._fitting)

    def best(self, engine: object) -> Judged | None:
        """Return an engine's best: proven while anything is, else with the fewest unknowns."""
        own = (j for j in self._fitting if j.engine.id == engine)
        if self._any_proven:
            return next((j for j in own if j.proven), None)
        return min((j for j in own if j.alive), key=lambda j: len(j.unknown), default=None)

    @property
    def fastest_per_s(self) -> float | None:
        """Requests a second of the fastest replica that can be chosen, at the fewest devices."""
        rates, served = [], set()
        for one in self._fitting:  # of one place the smallest replica comes first
            place = one.standing.place
            there = (one.engine.id, place.artifact.id, place.choice)
            if there in served or not (one.proven if self._any_proven else one.alive):
                continue
            served.add(there)
            if one.site is not None and one.site.replica is not None:
                rates.append(one.site.replica.middle)
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
