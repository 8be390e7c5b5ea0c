"""What a review asks of a path: one card dead, the way out, and what a faster stack may cost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from stackchoice.choose.buying import fte_of, purchase, setting_up
from stackchoice.choose.case import Case
from stackchoice.choose.site import Site
from stackchoice.cost import (
    CostLine,
    Exit,
    Faster,
    Purchase,
    Redundancy,
    Volume,
    decimal,
    owned_parts_usd,
)
from stackchoice.cost.breakeven import fte_that_pays, gain_that_pays, whole_gain_that_pays
from stackchoice.cost.machines import book_value
from stackchoice.facts.datum import Evidence
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Path
from stackchoice.ops import upkeep

SELF_HOSTED: tuple[Path, ...] = ("owned", "rented")
#: The gain that the question of people is asked with.
TEN_PERCENT = Decimal("0.1")


@dataclass(frozen=True)
class Paths:
    """The lines of one point with what their turning points need."""

    case: Case
    site: Site
    tokens: Volume | None
    lines: dict[Path, CostLine]
    per_mtok: Decimal | None
    capacity: dict[str, float] | None
    full: dict[str, float] | None
    replicas: int
    spares: int
    purchase: Purchase | None

    @property
    def own(self) -> list[CostLine]:
        """The self-hosted lines with a known bill, cheapest first."""
        known = [self.lines[p] for p in SELF_HOSTED if p in self.lines]
        known = [line for line in known if line.infrastructure_usd is not None]
        return sorted(known, key=lambda line: (line.total_usd, line.path))

    @property
    def managed(self) -> CostLine | None:
        """The managed line, where its bill is known."""
        line = self.lines.get("managed")
        return line if line and line.infrastructure_usd is not None else None


def redundancy(paths: Paths) -> Iterator[Redundancy]:
    """What one spare costs, and what happens without one."""
    if (managed := paths.managed) is not None:
        yield Redundancy(
            path="managed", replicas=1, spares=1, extra_usd=Decimal(0),
            total_usd=managed.total_usd, evidence=Evidence.ASSUMED,
            without="a second seller is paid only for what it serves; keeping it tested is work "
            "that is not priced here",
        )  # fmt: skip
    for path in SELF_HOSTED:
        if (line := paths.lines.get(path)) is not None:
            yield _spare(paths, line)


def spare_usd(paths: Paths, line: CostLine) -> Any:
    """Return what one more replica costs a month; nothing where one is there, None is unknown."""
    known = line.infrastructure_usd
    if _there(paths) > 0:
        return Decimal(0)
    if paths.site.choice.already_owned:
        return _bought_spare(paths)
    return None if known is None else known / paths.replicas


def _there(paths: Paths) -> int:
    """Return the replicas beyond what the peak takes that are in the bill already."""
    count = paths.replicas - paths.spares
    return paths.site.replicas_there - count if paths.site.choice.already_owned else paths.spares


def _spare(paths: Paths, line: CostLine) -> Redundancy:
    count, there, extra = paths.replicas - paths.spares, _there(paths), spare_usd(paths, line)
    if there > 0:
        without = (
            f"{there} of {there + count} replicas in the bill are not needed at the peak: what "
            "breaks is covered"
        )
    else:
        without = (
            "the service is down until the card is replaced or another is rented" if count == 1
            else f"one of {count} down leaves {(count - 1) / count:.0%} of the rate, below what "
            "the peak takes"
        )  # fmt: skip
    total = line.total_usd
    return Redundancy(
        path=line.path, replicas=count, spares=max(1, there), extra_usd=extra,
        total_usd=total + extra if extra is not None and total is not None else None,
        without=without, evidence=line.total_evidence,
    )  # fmt: skip


def _bought_spare(paths: Paths) -> Decimal | None:
    """Return what one more replica's servers cost a month, bought new beside those that are there.

    As listed, over their life; None where no list has them.
    """
    bought = purchase(paths.case, paths.site, 1)
    if bought is None:
        return None
    months = paths.case["money.horizon_months"]
    parts = owned_parts_usd(bought, bought.servers, months, paths.case.facts)
    return sum(parts.values(), Decimal(0)) if parts else None


def exits(paths: Paths) -> Iterator[Exit]:
    """What leaving each path at the end of the horizon costs: what is stranded, and the move."""
    case = paths.case
    months = decimal(case["money.horizon_months"])
    usd = {path: exit_usd(paths, path, months, case.facts) for path in ("managed", *SELF_HOSTED)}
    if paths.managed is not None:
        yield Exit(
            path="managed", usd=usd["managed"], evidence=Evidence.ASSUMED,
            what="nothing is stranded; setting up rented machines instead, once",
        )  # fmt: skip
    if "rented" in paths.lines:
        committed = case["money.commitment_discount"]
        bound = "; what is left of the commitment comes on top" if committed else ""
        yield Exit(
            path="rented", usd=usd["rented"], evidence=Evidence.ASSUMED,
            what=f"rent ends with the machine{bound}; setting up the managed endpoint, once",
        )  # fmt: skip
    if "owned" not in paths.lines:
        return
    book = usd["owned"] - usd["rented"]
    yield Exit(
        path="owned", usd=usd["owned"], evidence=Evidence.ASSUMED,
        what="the machine is yours whatever it still brings; setting up the managed endpoint"
        if not _stands(paths)
        else f"{book:,.0f} USD stand on the books after {float(months):g} months and come back "
        "only by a sale; setting up the managed endpoint",
    )  # fmt: skip


def _stands(paths: Paths) -> bool:
    """Whether a purchase stands on the books."""
    return paths.purchase is not None and not paths.site.choice.already_owned


def way_out(path: Path) -> Path:
    """Return the path that is taken instead of one that is left."""
    return "rented" if path == "managed" else "managed"


def exit_usd(paths: Paths, path: Path, months: Any, facts: Facts) -> Any:
    """Return what leaving a path after ``months`` costs: setting another up, and the book value."""
    move = decimal(setting_up(paths.case, way_out(path), paths.site, facts))
    bought = paths.purchase
    if path != "owned" or bought is None or not _stands(paths):
        return move
    residual = bought.usd * decimal(facts.assumed("residual_share"))
    return move + bought.servers * book_value(
        price=bought.usd, residual=residual, installation=bought.installation_usd,
        life=decimal(facts.assumed("server_life_months")), after=months,
    )  # fmt: skip


def faster(paths: Paths) -> Iterator[Faster]:
    """From which gain another stack pays for its people, against the chosen one."""
    if not paths.own or not paths.own[0].infrastructure_usd:
        return
    line, case, facts, site = paths.own[0], paths.case, paths.case.facts, paths.site
    salary = decimal(case["money.usd_per_engineer_month"])
    chosen = facts.engines[site.engine].name if site.engine else "this stack"
    if salary and line.people_usd:
        yield _at_most(line, paths.replicas, chosen, salary)
    now = fte_of(case, line.path, site)
    if not now.value:  # a single user works for nobody
        return
    for engine in facts.engines.values():
        work = upkeep(case.scenario, facts, engine.id, site.machine.backend)
        runs = engine.runs_on(site.machine.backend)
        if engine.id == site.engine or not runs or not work.known:
            continue
        fte = fte_of(case, line.path, replace(site, engine=engine.id))
        extra = decimal(fte.value or 0) - decimal(now.value or 0)
        yield _against(engine.name, chosen, extra, line, paths.replicas, salary)


def _at_most(line: CostLine, replicas: int, chosen: str, salary: Decimal) -> Faster:
    machines = line.infrastructure_usd or Decimal(0)
    most = fte_that_pays(machines, TEN_PERCENT, salary)
    whole = whole_gain_that_pays(machines, Decimal(replicas), Decimal(0))
    text = (
        f"pays for at most {most:.4f} of an engineer more: it can save {most * salary:,.0f} of "
        f"{machines:,.0f} USD a month"
    )
    if whole.is_infinite():
        text += "; with one replica nothing is saved, since no machine goes"
    else:
        text += f"; a whole replica goes from {times(whole)} on"
    return Faster(
        engine="any stack ten percent faster", against=chosen, extra_fte=float(most),
        gain=float(TEN_PERCENT), with_whole_replicas=_finite(whole), text=text,
        evidence=line.total_evidence,
    )  # fmt: skip


def _against(
    engine: str, chosen: str, extra: Decimal, line: CostLine, replicas: int, salary: Decimal
) -> Faster:
    machines, people = line.infrastructure_usd or Decimal(0), extra * salary
    gain = gain_that_pays(machines, max(extra, Decimal(0)), salary)
    whole = whole_gain_that_pays(machines, Decimal(replicas), max(people, Decimal(0)))
    if extra <= 0:
        text = "takes no more people than the chosen one"
        gain = whole = Decimal(0)
    elif gain.is_infinite():
        text = (
            f"never: {extra:.3g} of an engineer more costs {people:,.0f} USD a month, all machines "
            f"together cost {machines:,.0f}"
        )
    else:
        text = f"{people:,.0f} USD a month for people: pays from {times(gain)} on"
        text += (
            ", if machines came in fractions; no whole one that goes would pay"
            if whole.is_infinite() else f"; with whole replicas from {times(whole)} on"
        )  # fmt: skip
    return Faster(
        engine=engine, against=chosen, extra_fte=float(extra), gain=_finite(gain),
        with_whole_replicas=_finite(whole), text=text, evidence=line.total_evidence,
    )  # fmt: skip


def times(gain: Decimal | float) -> str:
    """Return a gain as words: 0.1 is "1.1 times as fast"."""
    return f"{1 + float(gain):.3g} times as fast"


def _finite(value: Decimal) -> float | None:
    return float(value) if value.is_finite() else None
