"""The answer at one point: survivors of the three questions, then money. Pure and cheap."""

from dataclasses import dataclass
from functools import cached_property

from stackchoice.choose.case import Case
from stackchoice.choose.decision import Candidate
from stackchoice.choose.managed import Offered, best_seller, judged_sellers, nobody_sells, priced
from stackchoice.choose.money import path_lines, volume
from stackchoice.choose.prefer import Way
from stackchoice.choose.recommend import Recommendation, open_ways, recommend
from stackchoice.choose.selfhosted import Judged
from stackchoice.choose.site import Site
from stackchoice.choose.survey import Field, all_pushes, judged_there, survey
from stackchoice.cost import CostLine, Volume
from stackchoice.facts.prices import Offer, Seller
from stackchoice.facts.records import Engine
from stackchoice.ops import Ops, ops
from stackchoice.workload import Conflict, PushResult, against_managed, conflicts


@dataclass(frozen=True)
class Open:
    """What is open at one point, and at which price, before anybody prefers anything.

    ``chosen`` is the best self-hosted configuration, ``tied`` what no rule settles it against;
    ``offered`` are the judged sellers, ``seller`` and ``bought`` the best of them. ``unsure`` says
    why nothing self-hosted is chosen though something may survive.
    """

    offered: list[Offered]
    chosen: Judged | None
    tied: str | None
    unsure: str
    best_rule: PushResult | None
    seller: Candidate | None
    bought: tuple[Seller, Offer] | None
    lines: list[CostLine]
    tokens: Volume | None
    ways: list[Way]


@dataclass(frozen=True)
class Answer(Open):
    """Everything that was concluded at one point."""

    case: Case
    verdict: Recommendation

    @cached_property
    def best(self) -> Candidate | None:
        """The best self-hosted configuration in words."""
        return self.chosen.candidate() if self.chosen else None

    @cached_property
    def ops(self) -> Ops:
        """What the team has, against what serving by itself asks of it."""
        return ops(self.case.scenario, self.case.point, self.case.facts)

    @cached_property
    def pushes(self) -> list[PushResult]:
        """Every rule, and whether it holds here; the strongest first."""
        return all_pushes(self.case)

    @cached_property
    def conflicts(self) -> list[Conflict]:
        """The pushes that hold and disagree; with buying only where somebody sells."""
        field = Field(self.judged)
        buying = against_managed(self.pushes, field) if self.seller else []
        return conflicts(self.pushes, field) + buying

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
        return judged_there(self.case)

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Every configuration in words: each engine at each place, then each seller."""
        sellers = [priced(c, offer, self.tokens) for _, offer, c in self.offered]
        own = [j.candidate() for j in self.judged]
        return own + (sellers or [nobody_sells(self.case)])


def answer(case: Case) -> Answer:
    """Answer the three questions and compare the paths at one point.

    Cases made from one another share sub-results: only what a moved input reaches is new, and of
    other preferences nothing but the last step.
    """
    there = opened(case)
    verdict = recommend(
        case, there.ways, chosen=there.chosen, best_rule=there.best_rule,
        tied_with=None if there.seller else there.tied, unsure=there.unsure,
        sellers=lambda: [c for _, _, c in there.offered] or [nobody_sells(case)],
        pushes=lambda: all_pushes(case),
    )  # fmt: skip
    return Answer(**vars(there), case=case, verdict=verdict)


def opened(case: Case) -> Open:
    """Return what is open at one point: all of an answer that no preference moves."""
    return case.recall(("open",), _opened)


def _opened(case: Case) -> Open:
    tokens, found = volume(case), case.recall(("survey",), survey)
    offered = judged_sellers(case)
    taken = best_seller(offered, tokens)
    bought, seller = (taken[:2], taken[2]) if taken else (None, None)
    lines = path_lines(case, found.chosen.site if found.chosen else None, bought, tokens)
    return Open(
        offered=offered, chosen=found.chosen, tied=found.tied, unsure=found.unsure,
        best_rule=found.rule, seller=seller, bought=bought, lines=lines, tokens=tokens,
        ways=open_ways(case, found.chosen, seller, lines),
    )  # fmt: skip
