"""Where one path overtakes another: volume, price, purchase, people; hybrids, spares, exits."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from stackchoice.choose.risks import SELF_HOSTED, Paths, exits, faster, redundancy
from stackchoice.cost import (
    BreakEven,
    CostLine,
    Curve,
    Hybrid,
    Turn,
    break_even,
    decimal,
    owned_parts_usd,
)
from stackchoice.cost.breakeven import input_equal, payback_months, price_equal, staircase
from stackchoice.cost.hybrid import best_base, hybrid_usd, load_profile
from stackchoice.facts.datum import Evidence, sure, weakest
from stackchoice.facts.names import counted

#: The end of the throughput interval that a break-even rests on, in words.
ENDS = {"low": "slow end", "high": "fast end", "unknown": "capacity unknown"}
#: Points of a curve over the volume.
POINTS = 120
#: Stretches of the active month that a load curve is cut into.
STRETCHES = 50
PRICE_UNIT = "USD per M tokens of this mix"


def turning_points(paths: Paths) -> dict[str, Any]:
    """Return the fields of a cost that say where the paths turn."""
    evens = list(break_evens(paths))
    return {
        "break_even": evens,
        "curves": list(_curves(paths, evens)),
        "turns": [_turn(**asked) for asked in turns_asked(paths)],
        "hybrid": list(_hybrids(paths)),
        "redundancy": list(redundancy(paths)),
        "exits": list(exits(paths)),
        "faster": list(faster(paths)),
    }


def break_evens(paths: Paths) -> Iterator[BreakEven]:
    """Break-even at both ends of the throughput interval, without and with people."""
    for asked in even_asked(paths):
        yield break_even(**asked)


def even_asked(paths: Paths) -> Iterator[dict[str, Any]]:
    """Return what each break-even is worked out from."""
    managed, tokens = paths.managed, paths.tokens
    if managed is None or tokens is None or paths.per_mtok is None:
        return
    ends = ("low", "high") if paths.capacity else ("unknown",)
    for path in SELF_HOSTED:
        line = paths.lines.get(path)
        if line is None or line.infrastructure_usd is None:
            continue
        replica = line.infrastructure_usd / paths.replicas
        spare = paths.spares * replica  # paid for, and carries nothing
        for with_people in (False, True):
            for end in ends:
                yield {
                    "against": f"{line.path}, {ENDS[end]}",
                    "fixed_usd": spare + (_beyond(line, managed) if with_people else 0),
                    "replica_usd": replica,
                    "managed_usd_per_mtok": paths.per_mtok,
                    "capacity_mtok": paths.capacity[end] if paths.capacity else None,
                    "full_capacity_mtok": paths.full.get(end) if paths.full else None,
                    "with_people": with_people,
                    "evidence": weakest(line.evidence, tokens.evidence),
                }


def _curves(paths: Paths, evens: list[BreakEven]) -> Iterator[Curve]:
    """What each path costs over the volume, to beyond today's, three replicas and every crossing.

    Managed tokens keep the price of today's mix; serving yourself climbs by whole replicas, at
    both ends of the throughput interval.
    """
    managed, tokens, capacity = paths.managed, paths.tokens, paths.capacity
    if managed is None or tokens is None or paths.per_mtok is None or capacity is None:
        return
    crossings = [even.mtok_per_month for even in evens if even.mtok_per_month is not None]
    reach = max(2 * tokens.total_mtok, 3 * capacity["high"], *(1.3 * at for at in crossings), 1e-9)
    volumes = [reach * step / POINTS for step in range(POINTS + 1)]
    fixed, price = float(managed.people_usd + managed.one_time_usd), float(paths.per_mtok)
    yield Curve(
        path="managed", name="managed", evidence=managed.total_evidence,
        points=[(at, fixed + price * at) for at in volumes],
    )  # fmt: skip
    for line in paths.own:
        own = {
            "replica": float(line.infrastructure_usd or 0) / paths.replicas,
            "fixed": float(line.people_usd + line.one_time_usd)
            + float(line.infrastructure_usd or 0) * paths.spares / paths.replicas,
        }
        for end in ("low", "high"):
            if capacity[end] > 0:
                yield Curve(
                    path=line.path, name=f"{line.path}, {ENDS[end]}", evidence=line.total_evidence,
                    points=[(at, staircase(capacity=capacity[end], mtok=at, **own))
                            for at in volumes],
                )  # fmt: skip


def _beyond(line: CostLine, managed: CostLine) -> Decimal:
    """Return people and one-time cost of a path beyond the managed one's."""
    return line.people_usd + line.one_time_usd - managed.people_usd - managed.one_time_usd


def turns_asked(paths: Paths) -> Iterator[dict[str, Any]]:
    """Return what each value at which a path costs what the managed one does is worked out from.

    Of price, purchase and people: the ``formula`` with what it is ``given``.
    """
    managed, tokens = paths.managed, paths.tokens
    if managed is None or tokens is None:
        return
    salary = decimal(paths.case["money.usd_per_engineer_month"])
    buying = sure(managed.total_usd)
    for line in paths.own:
        evidence = weakest(line.total_evidence, managed.total_evidence)
        usd = sure(line.total_usd)
        if tokens.total_mtok:
            wanted = sure(managed.infrastructure_usd) + usd - buying
            yield _asked(
                f"managed price, against {line.path}", PRICE_UNIT, paths.per_mtok,
                "it costs less at any price of tokens", evidence, price_equal,
                self_usd=wanted, mtok=decimal(tokens.total_mtok),
            )  # fmt: skip
        if salary and line.people_usd:
            fte = line.people_usd / salary
            yield _asked(
                f"operations work, {line.path}", "engineers", fte,
                "even without anybody it costs more", evidence, input_equal,
                at=fte, cost=usd, slope=salary, other=buying,
            )  # fmt: skip
        if line.path == "owned" and paths.purchase is not None:
            yield from _purchase_asked(paths, line, managed, evidence)


def _purchase_asked(
    paths: Paths, line: CostLine, managed: CostLine, evidence: Evidence
) -> Iterator[dict[str, Any]]:
    bought, facts = paths.purchase, paths.case.facts
    if bought is None or paths.site.choice.already_owned:
        return
    servers = bought.servers
    months = paths.case["money.horizon_months"]
    level = paths.case.scenario.money.depreciation == "annuity"
    free = replace(bought, usd=Decimal(0), installation_usd=Decimal(0))
    unpaid = replace(bought, usd=Decimal(0))
    running = sum(owned_parts_usd(free, servers, months, facts, level=level).values())
    without = sum(owned_parts_usd(unpaid, servers, months, facts, level=level).values())
    # The bill is linear in the price, so two points give the third.
    slope = (sure(line.infrastructure_usd) - without) / bought.usd
    yield _asked(
        "price of a server", "USD", bought.usd,
        "even a free server costs more in people, power and hosting", evidence, input_equal,
        at=bought.usd, cost=line.total_usd, slope=slope, other=managed.total_usd,
    )  # fmt: skip
    upkeep = bought.usd * servers * decimal(facts.assumed("maintenance_share_per_year")) / 12
    yield _asked(
        "payback of the purchase", "months", None, "running it costs more than buying tokens",
        evidence, payback_months, outlay=(bought.usd + bought.installation_usd) * servers,
        managed_usd=sure(managed.total_usd) - managed.one_time_usd,
        running_usd=running + upkeep + line.people_usd,
    )  # fmt: skip


def _asked(
    what: str, unit: str, now: Decimal | None, never: str, evidence: Evidence,
    formula: Callable[..., Any], **given: Any,
) -> dict[str, Any]:  # fmt: skip
    return {"what": what, "unit": unit, "now": now, "never": never, "evidence": evidence,
            "formula": formula, "given": given}  # fmt: skip


def _turn(
    what: str, unit: str, now: Decimal | None, never: str, evidence: Evidence,
    formula: Callable[..., Decimal], given: dict[str, Decimal],
) -> Turn:  # fmt: skip
    at = formula(**given)
    reached = at.is_finite() and at > 0
    return Turn(
        what=what, unit=unit, at=float(at) if reached else None,
        now=None if now is None else float(now),
        reason="both cost the same there" if reached else f"never: {never}", evidence=evidence,
    )  # fmt: skip


def _hybrids(paths: Paths) -> Iterator[Hybrid]:
    """The best base under the assumed curve of a month's traffic, at both ends of the speed."""
    managed, own, tokens, case = paths.managed, paths.own, paths.tokens, paths.case
    peak = case["workload.peak_factor"]
    if managed is None or not own or tokens is None or paths.per_mtok is None:
        return
    if not (paths.capacity and peak and tokens.total_mtok):
        return
    line = own[0]
    profile = load_profile(tokens.total_mtok, float(peak), STRETCHES)
    for end in ("low", "high"):
        # A stretch of the curve needs no headroom for the peak: the curve has the peak in it.
        carries = paths.capacity[end] * peak / STRETCHES
        shared = {
            "profile": profile, "capacity": carries,
            "replica_usd": float(sure(line.infrastructure_usd) / paths.replicas),
            "usd_per_mtok": float(paths.per_mtok),
            "base_fixed": float(line.people_usd + line.one_time_usd),
        }  # fmt: skip
        base = best_base(most=paths.site.replicas_there, **shared)
        fixed = float(managed.people_usd + managed.one_time_usd)
        usd = hybrid_usd(replicas=base, managed_fixed=fixed, **shared)
        rest = sum(max(v - base * carries, 0.0) for v in profile) / tokens.total_mtok
        yield Hybrid(
            base=line.path, replicas=base, usd=decimal(round(usd, 6)), managed_share=rest,
            evidence=Evidence.ASSUMED,
            text=f"{ENDS[end]}: " + (
                f"{counted(base, f'{line.path} replica')}, {rest:.0%} of the tokens bought"
                if base else "no base pays for itself and its people: buy every token"
            ),
        )  # fmt: skip
