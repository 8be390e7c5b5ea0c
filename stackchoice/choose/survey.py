"""Who survives at one point, and where the rules point: what no price and no salary moves."""

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property

from stackchoice.choose.case import Case
from stackchoice.choose.judge import Failed
from stackchoice.choose.selfhosted import Judged, judge_all
from stackchoice.ops import vetoed
from stackchoice.workload import PushResult, Situation, conflicts, favourite, pushes

THRESHOLDS = ("many_users", "heavy_shared_prefix_share", "low_utilisation")

#: What the team's silence about every duty says of serving by itself.
VETO: Failed = (
    "ops capacity", "nobody upgrades it, nobody watches p99, nobody is awake when it breaks", (),
)  # fmt: skip
#: Why nothing self-hosted is chosen though something survives, or may.
POINTLESS = "no rule points at a self-hosted option that survives"
UNKNOWN = "no self-hosted option is known to survive: find out what is unknown of those that may"


class Field(Container[str]):
    """Who can be chosen: of each engine its best configuration, looked for when it is asked for.

    An option whose hard facts are unknown is not preferred while a proven one survives, and one
    that is not known to load the file and to fit is not recommended at all.
    """

    def __init__(self, judged: list[Judged]) -> None:
        fitting = [j for j in judged if j.standing.fits]
        self._fitting = sorted(fitting, key=lambda j: j.standing.rank, reverse=True)

    def __contains__(self, engine: object) -> bool:
        return self.best(engine) is not None

    def __bool__(self) -> bool:
        return self._any_proven or any(j.alive for j in self._fitting)

    @cached_property
    def _any_proven(self) -> bool:
        return any(j.proven for j in self._fitting)

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


@dataclass(frozen=True)
class Survey:
    """What no price and no salary moves: who is chosen of those who survive, and by which rule.

    ``tied`` is an engine that no rule settles the chosen one against, ``unsure`` says why
    nothing is chosen though something may survive; empty where nothing does.
    """

    rule: PushResult | None
    chosen: Judged | None
    tied: str | None
    unsure: str


def judged_there(case: Case) -> list[Judged]:
    """Return every engine at each place, in the order of the candidates."""
    return judge_all(case, VETO if vetoed(case.scenario, case.point) else None)


def survey(case: Case) -> Survey:
    """Judge everything; what is asked of the judged is asked here, so that its reads are noted."""
    judged = judged_there(case)
    field = Field(judged)
    results = _pushes(case, field, toward_engines=True)
    rule, engine = next(
        ((push, own) for push in results if push.holds and (own := favourite(push, field))),
        (None, None),
    )
    unsettled = [c for c in conflicts(results, field) if not c.settled and engine in c.engines]
    return Survey(
        rule=rule, chosen=field.best(engine) if engine else None,
        tied=next((case.facts.engines[e].name for c in unsettled for e in c.engines if e != engine),
                  None),
        unsure="" if engine else POINTLESS if field else UNKNOWN * any(j.alive for j in judged),
    )  # fmt: skip


def all_pushes(case: Case) -> list[PushResult]:
    """Return every rule, and whether it holds; the strongest first."""
    return case.recall(("pushes",), lambda here: _pushes(here, Field(judged_there(here))))


def _pushes(case: Case, field: Field, *, toward_engines: bool = False) -> list[PushResult]:
    """Evaluate every rule; or those that can choose an engine, which leave costly ones out."""
    rules = [
        rule for rule in case.facts.rules
        if not toward_engines or any(push.engine in case.facts.engines for push in rule.favours)
    ]  # fmt: skip
    return pushes(rules, _situation(case, field))


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
