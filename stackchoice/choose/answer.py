"""The answer at one point: survivors of the three questions, then money. Pure and cheap."""

from __future__ import annotations

from stackchoice.choose.decision import Candidate, Cost
from stackchoice.choose.managed import best_seller, managed_candidates, offers, overlooked
from stackchoice.choose.money import compare, path_lines, volume
from stackchoice.choose.recommend import Recommendation, recommend
from stackchoice.choose.selfhosted import candidate
from stackchoice.choose.site import Memo, Site, for_engine, sites, traffic
from stackchoice.cost import CostLine
from stackchoice.facts.datum import Record
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Machine, Offer, Seller
from stackchoice.ops import Ops, ops
from stackchoice.scenario import Point, Scenario
from stackchoice.workload import Conflict, PushResult, Situation, conflicts, favourite, pushes

THRESHOLDS = ("many_users", "heavy_shared_prefix_share", "low_utilisation")


class Answer(Record):
    """Everything that was concluded at one point."""

    candidates: list[Candidate]
    best: Candidate | None
    best_rule: PushResult | None
    tied_with: str | None
    site: Site | None
    seller: Candidate | None
    overlooked: Candidate | None
    pushes: list[PushResult]
    conflicts: list[Conflict]
    ops: Ops
    lines: list[CostLine]
    cost: Cost
    verdict: Recommendation


def answer(scenario: Scenario, facts: Facts, point: Point, memo: Memo | None = None) -> Answer:
    """Answer the three questions and compare the paths at one point.

    ``memo`` is shared by the points of one decision, so that an admission is worked out once.
    """
    memo = {} if memo is None else memo
    flow = traffic(point)
    tokens = volume(point)
    team = ops(scenario, point, facts)
    served = [
        (engine, for_engine(site, engine, facts, flow, memo))
        for site in sites(scenario, facts, point)
        for engine in facts.engines.values()
    ]
    judged = [(candidate(scenario, point, e, site), e.id, site) for e, site in served]
    if team.veto:
        judged = [(_vetoed(c), engine, site) for c, engine, site in judged]
    survivors = [(c, e, s) for c, e, s in judged if c.status == "viable"]
    # An option whose hard facts are unknown is not preferred while a proven one survives, and
    # one whose weights are not known to fit is not recommended at all.
    fitting = [entry for entry in survivors if entry[2].row.pool_bytes is not None]
    proven = [entry for entry in fitting if not entry[0].unknown] or fitting
    results = pushes(facts.rules, _situation(scenario, facts, point, proven))
    alive = {engine for _, engine, _ in proven}
    found_conflicts = conflicts(results, alive)
    rule, engine_id = _favourite(results, alive)
    best, site = _best(proven, engine_id)
    unsettled = [c for c in found_conflicts if not c.settled and engine_id in c.engines]
    tied = next(
        (facts.engines[e].name for c in unsettled for e in c.engines if e != engine_id), None
    )

    sellers = managed_candidates(scenario, facts, point, tokens)
    seller = best_seller(sellers)
    bought = _bought(scenario, facts, seller)
    lines = path_lines(scenario, facts, point, site, bought, tokens)
    cost = compare(scenario, facts, point, site, bought and bought[1], tokens, lines)
    verdict = recommend(
        scenario, facts, point, best=best, best_rule=rule, tied_with=tied, seller=seller,
        sellers=sellers, pushes=results, lines=lines, fit_unknown=bool(survivors) and not fitting,
    )  # fmt: skip
    return Answer(
        candidates=[c for c, _, _ in judged] + sellers,
        best=best,
        best_rule=rule,
        tied_with=tied,
        site=site,
        seller=seller,
        overlooked=overlooked(scenario, facts, point, tokens, seller),
        pushes=results,
        conflicts=found_conflicts,
        ops=team,
        lines=lines,
        cost=cost,
        verdict=verdict,
    )


def _situation(
    scenario: Scenario, facts: Facts, point: Point, proven: list[tuple[Candidate, str, Site]]
) -> Situation:
    machines: list[Machine] = [facts.machines[c.id] for c in scenario.candidates.machines]
    rates = [s.replica.middle for _, _, s in proven if s.replica is not None]
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


def _best(
    proven: list[tuple[Candidate, str, Site]], engine_id: str | None
) -> tuple[Candidate | None, Site | None]:
    """Pick the engine's configuration: fewest unknowns, then highest precision, then capacity.

    Quantising is a cure for what does not fit, so it is not taken where nothing ails.
    """
    own = [(c, site) for c, engine, site in proven if engine == engine_id]
    if not own:
        return None, None
    return max(
        own,
        key=lambda pair: (
            -len(pair[0].unknown),
            pair[1].artifact.weight_bits.value or 0,
            -pair[1].choice.devices_per_replica,
            pair[1].live_sequences or 0,
            # Still equal: never by the order in which somebody wrote the machines down.
            pair[1].choice.already_owned,
            pair[1].row.pool_bytes or 0,
            pair[1].choice.count,
            pair[1].machine.id,
            pair[1].artifact.id,
        ),
    )


def _bought(
    scenario: Scenario, facts: Facts, seller: Candidate | None
) -> tuple[Seller, Offer] | None:
    if seller is None:
        return None
    return next(pair for pair in offers(scenario, facts) if pair[0].name == seller.seller)


def _vetoed(judged: Candidate) -> Candidate:
    if judged.status == "eliminated":
        return judged
    return judged.model_copy(
        update={
            "status": "eliminated",
            "question": "ops capacity",
            "reason": "nobody upgrades it, nobody watches p99, nobody is awake when it breaks",
        }
    )
