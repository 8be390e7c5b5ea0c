"""The last step: best self-hosted, managed endpoint, or what runs today, by money with people."""

from __future__ import annotations

from decimal import Decimal

from stackchoice.choose.decision import Candidate
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.cost import CostLine
from stackchoice.facts.datum import Record
from stackchoice.facts.load import Facts
from stackchoice.scenario import Point, Scenario
from stackchoice.workload import PushResult

KEEP = "keep what runs today"


class Recommendation(Record):
    """What to do and why; None where nothing survives, is known, or is far enough apart."""

    option: str | None
    because: str
    too_close: list[str] = []


def recommend(
    scenario: Scenario,
    facts: Facts,
    point: Point,
    *,
    best: Candidate | None,
    best_rule: PushResult | None,
    tied_with: str | None,
    seller: Candidate | None,
    sellers: list[Candidate],
    pushes: list[PushResult],
    lines: list[CostLine],
    fit_unknown: bool = False,
) -> Recommendation:
    """Choose between the survivors.

    One survivor is the answer. Between several the monthly total decides, people and one-time
    cost included; totals nearer than ``too_close_share`` are too close to call. Where a total is
    unknown only a rule that pushes toward the managed endpoint can still decide.
    """
    if best is not None and tied_with is not None and seller is None:
        return Recommendation(
            option=None, too_close=[best.option, tied_with],
            because=f"too close to call: no rule settles {best.option} against {tied_with}",
        )  # fmt: skip
    open_options = _open_options(scenario, point, best, seller, lines)
    if not open_options:
        because = "no option survives the three questions"
        if fit_unknown:
            because = "nothing that survives is known to fit; find its size and cache out first"
        return Recommendation(option=None, because=because)
    if len(open_options) == 1:
        only = next(iter(open_options))
        return Recommendation(option=only, because=_sole_reason(only, best, best_rule, sellers))
    known = {name: (usd, text) for name, (usd, text) in open_options.items() if usd is not None}
    if len(known) < len(open_options):
        rule = next((p for p in pushes if p.holds and p.favours[0].engine == "managed"), None)
        missing = ", ".join(name for name in open_options if name not in known)
        if rule is not None and MANAGED in open_options:
            return Recommendation(option=MANAGED, because=f"{rule.text}; cost unknown: {missing}")
        return Recommendation(
            option=None,
            because=f"the monthly cost of {missing} is unknown (a volume or a price is missing), "
            f"so {' and '.join(open_options)} cannot be compared",
        )
    return _cheapest(facts, known)


def _open_options(
    scenario: Scenario, point: Point, best: Candidate | None, seller: Candidate | None,
    lines: list[CostLine],
) -> dict[str, tuple[Decimal | None, str]]:  # fmt: skip
    found: dict[str, tuple[Decimal | None, str]] = {}
    if best is not None:
        own = [line for line in lines if line.path != "managed"]
        totals = [(line.total_usd, line.path) for line in own if line.total_usd is not None]
        usd, path = min(totals, default=(None, ""))
        found[best.option] = (usd, f"{best.option} {path}".strip())
    if seller is not None:
        total = next((line.total_usd for line in lines if line.path == "managed"), None)
        found[MANAGED] = (total, f"the {MANAGED}")
    now = scenario.current
    if now is not None and point["current.works"] and point.known("current.usd_per_month"):
        found[KEEP] = (point["current.usd_per_month"], f"keeping {now.what}")
    return found


def _sole_reason(
    only: str, best: Candidate | None, best_rule: PushResult | None, sellers: list[Candidate]
) -> str:
    if only == MANAGED:
        return "no self-hosted option survives the three questions"
    if best is None or only != best.option:
        return "nothing else survives the three questions"
    reasons = "; ".join(dict.fromkeys(c.reason for c in sellers))
    why = best_rule.text if best_rule else best.reason
    return f"{why}; the managed endpoint is out: {reasons}"


def _cheapest(facts: Facts, known: dict[str, tuple[Decimal, str]]) -> Recommendation:
    ranked = sorted(known.items(), key=lambda item: item[1][0])
    (first, (lowest, _)), (second, (next_usd, _)) = ranked[:2]
    sums = ", ".join(f"{text} {usd:,.0f} USD" for _, (usd, text) in ranked)
    because = f"a month with people and one-time cost, which are assumed: {sums}"
    gap = (next_usd - lowest) / next_usd if next_usd else Decimal(0)
    if gap < Decimal(str(facts.assumed("too_close_share"))):
        return Recommendation(
            option=None, because=f"too close to call: {because}", too_close=[first, second]
        )
    return Recommendation(option=first, because=because)
