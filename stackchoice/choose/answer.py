"""The answer at one point: survivors of the three questions, then money. Pure and cheap."""

from __future__ import annotations

from stackchoice.choose.decision import Candidate, Cost
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.managed import managed_candidates, offers
from stackchoice.choose.money import compare, path_lines, volume
from stackchoice.choose.selfhosted import Site, candidate, sites, traffic
from stackchoice.cost import CostLine
from stackchoice.facts.datum import Record
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Machine, Offer, Seller
from stackchoice.ops import Ops, ops
from stackchoice.scenario import Point, Scenario
from stackchoice.workload import Conflict, PushResult, Situation, conflicts, favourite, pushes

KEEP = "keep what runs today"
THRESHOLDS = ("many_users", "heavy_shared_prefix_share", "low_utilisation")


class Answer(Record):
    """Everything that was concluded at one point."""

    candidates: list[Candidate]
    best: Candidate | None
    best_rule: PushResult | None
    tied_with: str | None
    site: Site | None
    seller: Candidate | None
    pushes: list[PushResult]
    conflicts: list[Conflict]
    ops: Ops
    lines: list[CostLine]
    cost: Cost
    recommended: str | None
    because: str
    too_close: list[str] = []


def answer(scenario: Scenario, facts: Facts, point: Point) -> Answer:
    """Answer the three questions and compare the paths at one point."""
    tokens = volume(point)
    team = ops(scenario, point, facts)
    all_sites = list(sites(scenario, facts, point))
    judged = [
        (candidate(scenario, facts, point, engine, site), engine.id, site)
        for site in all_sites
        for engine in facts.engines.values()
    ]
    if team.veto:
        judged = [(_vetoed(c), engine, site) for c, engine, site in judged]
    survivors = [(c, e, s) for c, e, s in judged if c.status == "viable"]
    # An option whose hard facts are unknown is not preferred while a proven one survives.
    proven = [entry for entry in survivors if not entry[0].unknown] or survivors
    results = pushes(facts.rules, _situation(scenario, facts, point, proven))
    alive = {engine for _, engine, _ in proven}
    found_conflicts = conflicts(results, alive)
    rule, engine_id = _favourite(results, alive)
    best, site = _best(proven, engine_id)
    unsettled = [c for c in found_conflicts if not c.settled and engine_id in c.engines]
    tied = next((facts.engines[e].name for c in unsettled for e in c.engines if e != engine_id), None)

    sellers = managed_candidates(scenario, facts, point, tokens)
    open_sellers = [c for c in sellers if c.status == "viable"]
    seller = min(open_sellers, key=lambda c: (len(c.unknown), c.usd_per_month or 0), default=None)
    bought = _bought(scenario, facts, seller)
    lines = path_lines(scenario, facts, point, site, bought, tokens)
    cost = compare(scenario, facts, point, site, bought and bought[1], tokens, lines)
    recommended, because, close = _recommend(facts, best, rule, seller, sellers, results, lines)
    return Answer(
        candidates=[c for c, _, _ in judged] + sellers, best=best, best_rule=rule, tied_with=tied,
        site=site, seller=seller, pushes=results, conflicts=found_conflicts, ops=team,
        lines=lines, cost=cost, recommended=recommended, because=because, too_close=close,
    )  # fmt: skip


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
            pair[1].row.live_sequences or 0,
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


def _recommend(
    facts: Facts, best: Candidate | None, best_rule: PushResult | None,
    seller: Candidate | None, sellers: list[Candidate],
    results: list[PushResult], lines: list[CostLine],
) -> tuple[str | None, str, list[str]]:  # fmt: skip
    """Choose between the best self-hosted option and the managed endpoint, with the reason."""
    if best is None and seller is None:
        return None, "no option survives the three questions", []
    if seller is None:
        assert best is not None
        reasons = list(dict.fromkeys(c.reason for c in sellers))
        why = best_rule.text if best_rule else best.reason
        return best.option, f"{why}; the managed endpoint is out: {'; '.join(reasons)}", []
    if best is None:
        return MANAGED, "no self-hosted option survives the three questions", []
    managed = next((line.total_usd for line in lines if line.path == "managed"), None)
    own = [line for line in lines if line.path != "managed" and line.total_usd is not None]
    cheapest = min(own, key=lambda line: line.total_usd or 0, default=None)
    rule = next((p for p in results if p.holds and p.favours[0].engine == "managed"), None)
    if managed is None or cheapest is None or cheapest.total_usd is None:
        if rule is not None:
            return MANAGED, f"costs cannot be compared; {rule.text}", []
        return best.option, "costs cannot be compared (a volume or price is unknown)", []
    own_usd = cheapest.total_usd
    gap = abs(own_usd - managed) / max(own_usd, managed) if max(own_usd, managed) else 0
    text = (
        f"with people and one-time cost the managed endpoint takes {managed:,.0f} USD a month, "
        f"{cheapest.path} {own_usd:,.0f} USD"
    )
    if gap < facts.assumed("too_close_share"):
        return None, f"too close to call: {text}", [best.option, MANAGED]
    return (MANAGED if managed < own_usd else best.option), text, []
