"""The three paths in money at one point: what each costs a month, and when one beats another."""

from collections.abc import Iterator
from decimal import Decimal

from stackchoice.choose import bills, turning
from stackchoice.choose.buying import (
    Rental,
    devices,
    fte_of,
    hour_market,
    once,
    purchase,
    rental,
    replicas,
    spares,
)
from stackchoice.choose.case import Case
from stackchoice.choose.decision import Cost
from stackchoice.choose.managed import market
from stackchoice.choose.risks import Paths
from stackchoice.choose.site import ENDS, Site
from stackchoice.cost import (
    BreakEven,
    CostLine,
    Purchase,
    Volume,
    decimal,
    metered_usd,
    owned_energy_usd,
    owned_parts_usd,
)
from stackchoice.cost.breakeven import capacity_mtok
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.facts.names import counted
from stackchoice.facts.prices import Offer, Seller
from stackchoice.facts.records import Path
from stackchoice.ops import asks


def volume(case: Case) -> Volume | None:
    """Return a month of tokens, or None where users, requests or lengths are not known.

    Which tokens wait, are written to a cache or fall into peak hours counts only where it is said.
    """
    point = case.point
    paths = (
        *point.volume_paths, "workload.days_per_month", "workload.input_tokens",
        "workload.output_tokens",
    )  # fmt: skip
    per_day = point.requests_per_day
    if per_day is None or not point.known(*paths):
        return None
    return Volume(
        **tokens_a_month(case, per_day), evidence=point.evidence(*paths),
        batch_share=case["money.batch_share"] or 0, peak_share=case["money.peak_hours_share"],
    )  # fmt: skip


def tokens_a_month(case: Case, requests_per_day: float) -> dict[str, float]:
    """Return requests and tokens of a month, by what they are billed as."""
    days, tokens_in, tokens_out = (
        case[f"workload.{name}"] for name in ("days_per_month", "input_tokens", "output_tokens")
    )
    requests = requests_per_day * days
    reused = tokens_in - (case.flow.prefill_tokens or 0)
    written = min(case["money.cache_write_share"] or 0, 1) * tokens_in
    return {
        "requests": requests, "input_tokens": requests * tokens_in,
        "cached_tokens": requests * reused,
        "cache_write_tokens": requests * min(written, tokens_in - reused),
        "output_tokens": requests * tokens_out,
    }  # fmt: skip


def path_lines(
    case: Case, site: Site | None, bought: tuple[Seller, Offer] | None, tokens: Volume | None
) -> list[CostLine]:
    """Return what each open path costs a month, in totals; :func:`compare` adds the bills."""
    lines = []
    if bought is not None:
        seller, offer = bought
        lines.append(
            _line(
                case, None, "managed", f"{offer.sold_as} at {seller.name}",
                metered_usd(tokens, offer.price) if tokens else None,
                evidence=weakest(tokens.evidence if tokens else Evidence.ASSUMED, Evidence.STATED),
                source=f"{offer.price.source.label}, {offer.price.starts}",
            )
        )  # fmt: skip
    if site is not None and site.choice.already_owned:
        lines.append(_paid_for(case, site))
    elif site is not None:
        # Renting puts the data on somebody else's machine.
        if case["constraints.data_may_leave"] is not False:
            lines.append(_rented(case, site, rental(case, site)))
        lines.append(_owned(case, site, purchase(case, site)))
    return lines


def compare(
    case: Case, site: Site | None, offer: Offer | None, tokens: Volume | None,
    lines: list[CostLine],
) -> Cost:  # fmt: skip
    """Put the lines side by side, itemised, with the market and everything that could turn them."""
    machines = [case.facts.machines[c.id] for c in case.scenario.candidates.machines]
    backends: list[str] = [machine.backend for machine in machines]
    found = Cost(
        volume=tokens,
        managed_usd_per_mtok=_usd_per_mtok(offer, tokens),
        **{f"{line.path}_usd_per_month": line.infrastructure_usd for line in lines},
        lines=[
            line.model_copy(update={"bill": bills.itemised(case, site, offer, tokens, line)})
            for line in lines
        ],
        market=market(case, tokens),
        asks=asks(case.scenario, case.facts, backends),
    )
    if site is None:
        return found
    by_hour = [] if site.choice.already_owned else hour_market(case, site)
    paths = paths_at(case, site, offer, tokens, lines)
    return found.model_copy(update={"hours": by_hour, **turning.turning_points(paths)})


def break_evens(
    case: Case, site: Site | None, offer: Offer | None, tokens: Volume | None,
    lines: list[CostLine],
) -> Iterator[BreakEven]:  # fmt: skip
    """Yield the break-even volumes of :func:`compare` alone, for whoever asks at many points."""
    if site is not None:
        yield from turning.break_evens(paths_at(case, site, offer, tokens, lines))


def paths_at(
    case: Case, site: Site, offer: Offer | None, tokens: Volume | None, lines: list[CostLine]
) -> Paths:
    return Paths(
        case=case, site=site, tokens=tokens, lines={line.path: line for line in lines},
        per_mtok=_usd_per_mtok(offer, tokens), capacity=capacity_mtok_per_month(case, site),
        full=full_mtok_per_month(case, site), replicas=replicas(site), spares=spares(case, site),
        purchase=purchase(case, site),
    )  # fmt: skip


def _usd_per_mtok(offer: Offer | None, tokens: Volume | None) -> Decimal | None:
    """Return what a million tokens of this month's mix cost there."""
    if offer is None or tokens is None or not tokens.total_mtok:
        return None
    return metered_usd(tokens, offer.price) / decimal(tokens.total_mtok)


def capacity_mtok_per_month(case: Case, site: Site) -> dict[str, float] | None:
    """Return the tokens a replica carries a month, in millions, at each end of its speed.

    ``requests/s x tokens per request x active seconds x utilisation cap / peak factor``.
    """
    hours, peak = case["workload.active_hours_per_day"], case["workload.peak_factor"]
    days = case["workload.days_per_month"]
    if not (hours and peak and days):
        return None
    return _at_ends(case, site, hours=hours * days, utilisation_cap=case.flow.cap, peak_factor=peak)


def full_mtok_per_month(case: Case, site: Site) -> dict[str, float] | None:
    """Return the tokens a replica could make in every second of a month, in millions."""
    month = case.facts.assumed("hours_per_month")
    return _at_ends(case, site, hours=month, utilisation_cap=1, peak_factor=1)


def _at_ends(case: Case, site: Site, **planned: float) -> dict[str, float] | None:
    tokens = (case["workload.input_tokens"] or 0) + (case["workload.output_tokens"] or 0)
    if site.replica is None or not tokens:
        return None
    return {
        end: capacity_mtok(tokens_per_s=getattr(site.replica, end) * tokens, **planned)
        for end in ENDS
    }


def _paid_for(case: Case, site: Site) -> CostLine:
    """Hardware that is there: the purchase is sunk, and what serves many is never switched off."""
    days, alone = case["workload.days_per_month"], case["workload.users"] == 1
    hours = case.facts.assumed("hours_per_month")
    note = "energy at full board power, host and building included, in every hour of the month"
    if alone:
        hours = (case["workload.active_hours_per_day"] or 24) * (days or 0)
        note = "energy at full board power in active hours, without idle hours, host and cooling"
    energy = None
    if days or not alone:
        energy = owned_energy_usd(site.machine, site.choice.count, hours, case.facts,
                                  housed=not alone)  # fmt: skip
    if energy is None:
        note = "the machine's power draw or the days per month are unknown"
    return _line(
        case, site, "owned", f"{site.choice.count} x {site.machine.name}, already paid for", energy,
        evidence=Evidence.ASSUMED,
        parts={} if energy is None else {"energy": energy},
        note=f"the purchase is sunk; {note}" if energy is not None else note,
    )  # fmt: skip


def _rented(case: Case, site: Site, price: Rental | None) -> CostLine:
    if price is None:
        terms = ", ".join(case.scenario.money.rental_terms)
        return _line(
            case, site, "rented", f"{devices(site)} x {site.machine.name}", None,
            evidence=Evidence.ASSUMED,
            note=f"no price of it on these terms is in the fact base: {terms}",
        )  # fmt: skip
    leaves = case["constraints.data_may_leave"]
    return _line(
        case, site, "rented", f"{price.devices} x {site.machine.name} at {price.seller}", price.usd,
        evidence=price.evidence,
        note=f"{price.usd_per_device_hour} USD per device-hour, {price.terms}, {price.hours_note}"
        + ("" if leaves else f"; the data would stand on a machine of {price.seller}"),
        source=", ".join(part for part in (price.source, price.as_of) if part),
    )  # fmt: skip


def _owned(case: Case, site: Site, bought: Purchase | None) -> CostLine:
    if bought is None:
        return _line(
            case, site, "owned", f"{devices(site)} x {site.machine.name}", None,
            evidence=Evidence.ASSUMED,
            note="no complete server with it has a price in the fact base",
        )  # fmt: skip
    servers = bought.servers
    parts = owned_parts_usd(
        bought, servers, case["money.horizon_months"], case.facts,
        level=case.scenario.money.depreciation == "annuity",
    )  # fmt: skip
    alone = servers == 1 and not spares(case, site)
    note = "no spare: one machine down is the service down" if alone else ""
    return _line(
        case, site, "owned",
        f"{counted(servers, 'server')} with {bought.devices} x {site.machine.name}",
        sum(parts.values(), Decimal(0)) if parts else None, evidence=Evidence.ASSUMED,
        parts=parts, note=note if parts else "the server's power draw is unknown, so is its bill",
        source=", ".join(part for part in (bought.source, bought.as_of) if part),
    )  # fmt: skip


def _line(
    case: Case, site: Site | None, path: Path, what: str, usd: Decimal | None, *,
    evidence: Evidence, note: str = "", source: str = "", parts: dict[str, Decimal] | None = None,
) -> CostLine:  # fmt: skip
    fte, people = fte_of(case, path, site), "money.usd_per_engineer_month"
    return CostLine(
        path=path,
        what=what,
        infrastructure_usd=usd,
        people_usd=decimal(fte.value or 0) * decimal(case[people]),
        one_time_usd=sum(once(case, path, site).values()) / decimal(case["money.horizon_months"]),
        people_evidence=weakest(fte.evidence, case.point.evidence(people)),
        evidence=evidence,
        parts=parts or {},
        note=note,
        source=source,
    )
