"""The three paths in money at one point: what each costs a month, and when one beats another."""

from __future__ import annotations

from decimal import Decimal

from stackchoice.choose import bills, turning
from stackchoice.choose.buying import (
    Purchase,
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
from stackchoice.choose.decision import Cost
from stackchoice.choose.managed import market
from stackchoice.choose.risks import Paths
from stackchoice.choose.site import Site, traffic
from stackchoice.cost import (
    BreakEven,
    CostLine,
    Volume,
    decimal,
    metered_usd,
    owned_energy_usd,
    owned_parts_usd,
)
from stackchoice.cost.breakeven import capacity_mtok
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Offer, Path, Seller
from stackchoice.ops import asks
from stackchoice.scenario import Point, Scenario


def volume(point: Point) -> Volume | None:
    """Return a month of tokens, or None where users, requests or lengths are not known.

    Which tokens wait, are written to a cache or fall into peak hours counts only where it is said.
    """
    paths = (
        *point.volume_paths, "workload.days_per_month", "workload.input_tokens",
        "workload.output_tokens",
    )  # fmt: skip
    per_day = point.requests_per_day
    if per_day is None or not point.known(*paths):
        return None
    return Volume(
        **tokens_a_month(point, per_day), evidence=point.evidence(*paths),
        batch_share=point["money.batch_share"] or 0, peak_share=point["money.peak_hours_share"],
    )  # fmt: skip


def tokens_a_month(point: Point, requests_per_day: float) -> dict[str, float]:
    """Return requests and tokens of a month, by what they are billed as."""
    days, tokens_in, tokens_out = (
        point[f"workload.{name}"] for name in ("days_per_month", "input_tokens", "output_tokens")
    )
    requests = requests_per_day * days
    reused = tokens_in - (traffic(point).prefill_tokens or 0)
    written = min(point["money.cache_write_share"] or 0, 1) * tokens_in
    return {
        "requests": requests, "input_tokens": requests * tokens_in,
        "cached_tokens": requests * reused,
        "cache_write_tokens": requests * min(written, tokens_in - reused),
        "output_tokens": requests * tokens_out,
    }  # fmt: skip


def path_lines(
    scenario: Scenario,
    facts: Facts,
    point: Point,
    site: Site | None,
    bought: tuple[Seller, Offer] | None,
    tokens: Volume | None,
) -> list[CostLine]:
    """Return what each open path costs a month, in totals; :func:`compare` adds the bills."""
    lines = []
    if bought is not None:
        seller, offer = bought
        lines.append(
            _line(
                scenario, facts, point, "managed", f"{offer.sold_as} at {seller.name}",
                metered_usd(tokens, offer.price) if tokens else None,
                evidence=weakest(tokens.evidence if tokens else Evidence.ASSUMED, Evidence.STATED),
                source=f"{offer.price.source.label}, {offer.price.starts}",
            )
        )  # fmt: skip
    if site is not None:
        lines += _self_hosted(scenario, facts, point, site)
    return lines


def compare(
    scenario: Scenario,
    facts: Facts,
    point: Point,
    site: Site | None,
    offer: Offer | None,
    tokens: Volume | None,
    lines: list[CostLine],
) -> Cost:
    """Put the lines side by side, itemised, with the market and everything that could turn them."""
    by_path = {line.path: line for line in lines}
    managed, owned, rented = (by_path.get(p) for p in ("managed", "owned", "rented"))
    found = Cost(
        volume=tokens,
        managed_usd_per_mtok=_usd_per_mtok(offer, tokens),
        managed_usd_per_month=managed and managed.infrastructure_usd,
        managed_with_people_usd_per_month=managed and _with_people(managed),
        rented_usd_per_month=rented and rented.infrastructure_usd,
        rented_with_people_usd_per_month=rented and _with_people(rented),
        owned_usd_per_month=owned and owned.infrastructure_usd,
        owned_with_people_usd_per_month=owned and _with_people(owned),
        lines=[
            line.model_copy(
                update={"bill": bills.itemised(scenario, facts, point, site, offer, tokens, line)}
            )
            for line in lines
        ],
        market=market(scenario, facts, tokens),
        asks=asks(scenario, facts, [facts.machines[c.id].backend for c in
                                    scenario.candidates.machines]),
    )  # fmt: skip
    if site is None:
        return found
    by_hour = [] if site.choice.already_owned else hour_market(scenario, facts, point, site)
    paths = paths_at(facts, point, site, offer, tokens, lines)
    return found.model_copy(update={"hours": by_hour, **turning.turning_points(scenario, paths)})


def break_evens(
    facts: Facts, point: Point, site: Site | None, offer: Offer | None, tokens: Volume | None,
    lines: list[CostLine],
) -> list[BreakEven]:  # fmt: skip
    """Return the break-even volumes of :func:`compare` alone, for whoever asks at many points."""
    if site is None:
        return []
    return list(turning.break_evens(paths_at(facts, point, site, offer, tokens, lines)))


def paths_at(
    facts: Facts, point: Point, site: Site, offer: Offer | None, tokens: Volume | None,
    lines: list[CostLine],
) -> Paths:  # fmt: skip
    count = replicas(site)
    return Paths(
        facts=facts, point=point, site=site, tokens=tokens,
        lines={line.path: line for line in lines}, per_mtok=_usd_per_mtok(offer, tokens),
        capacity=capacity_mtok_per_month(facts, point, site),
        full=full_mtok_per_month(facts, point, site), replicas=count, spares=spares(point, site),
        purchase=purchase(facts, point, site, count),
    )  # fmt: skip


def _usd_per_mtok(offer: Offer | None, tokens: Volume | None) -> Decimal | None:
    """Return what a million tokens of this month's mix cost there."""
    if offer is None or tokens is None or not tokens.total_mtok:
        return None
    return metered_usd(tokens, offer.price) / decimal(tokens.total_mtok)


def capacity_mtok_per_month(facts: Facts, point: Point, site: Site) -> dict[str, float] | None:
    """Return the tokens a replica carries a month, in millions, at each end of its speed.

    ``requests/s x tokens per request x active seconds x utilisation cap / peak factor``.
    """
    hours, peak = point["workload.active_hours_per_day"], point["workload.peak_factor"]
    days = point["workload.days_per_month"]
    if not (hours and peak and days):
        return None
    cap = facts.assumed("utilisation_cap")
    return _at_ends(point, site, hours=hours * days, utilisation_cap=cap, peak_factor=peak)


def full_mtok_per_month(facts: Facts, point: Point, site: Site) -> dict[str, float] | None:
    """Return the tokens a replica could make in every second of a month, in millions."""
    month = facts.assumed("hours_per_month")
    return _at_ends(point, site, hours=month, utilisation_cap=1, peak_factor=1)


def _at_ends(point: Point, site: Site, **planned: float) -> dict[str, float] | None:
    tokens = (point["workload.input_tokens"] or 0) + (point["workload.output_tokens"] or 0)
    if site.replica is None or not tokens:
        return None
    return {
        end: capacity_mtok(tokens_per_s=getattr(site.replica, end) * tokens, **planned)
        for end in ("low", "middle", "high")
    }


def _self_hosted(scenario: Scenario, facts: Facts, point: Point, site: Site) -> list[CostLine]:
    if site.choice.already_owned:
        return [_paid_for(scenario, facts, point, site)]
    lines, count = [], devices(site)
    # Renting puts the data on somebody else's machine.
    if point["constraints.data_may_leave"] is not False:
        price = rental(scenario, facts, point, site, count)
        lines.append(_rented(scenario, facts, point, site, price))
    bought = purchase(facts, point, site, replicas(site))
    return [*lines, _owned(scenario, facts, point, site, bought)]


def _paid_for(scenario: Scenario, facts: Facts, point: Point, site: Site) -> CostLine:
    """Hardware that is there: the purchase is sunk, and what serves many is never switched off."""
    days, alone = point["workload.days_per_month"], point["workload.users"] == 1
    hours = facts.assumed("hours_per_month")
    note = "energy at full board power, host and building included, in every hour of the month"
    if alone:
        hours = (point["workload.active_hours_per_day"] or 24) * (days or 0)
        note = "energy at full board power in active hours, without idle hours, host and cooling"
    energy = None
    if days or not alone:
        energy = owned_energy_usd(site.machine, site.choice.count, hours, facts, housed=not alone)
    if energy is None:
        note = "the machine's power draw or the days per month are unknown"
    return _line(
        scenario, facts, point, "owned",
        f"{site.choice.count} x {site.machine.name}, already paid for", energy, site=site,
        evidence=Evidence.ASSUMED, already_owned=True,
        parts={} if energy is None else {"energy": energy},
        note=f"the purchase is sunk; {note}" if energy is not None else note,
    )  # fmt: skip


def _rented(
    scenario: Scenario, facts: Facts, point: Point, site: Site, price: Rental | None
) -> CostLine:
    if price is None:
        terms = ", ".join(scenario.money.rental_terms)
        return _line(
            scenario, facts, point, "rented", f"{devices(site)} x {site.machine.name}", None,
            site=site, evidence=Evidence.ASSUMED,
            note=f"no price of it on these terms is in the fact base: {terms}",
        )  # fmt: skip
    leaves = point["constraints.data_may_leave"]
    return _line(
        scenario, facts, point, "rented",
        f"{price.devices} x {site.machine.name} at {price.seller}", price.usd, site=site,
        evidence=price.evidence,
        note=f"{price.usd_per_device_hour} USD per device-hour, {price.terms}, {price.hours_note}"
        + ("" if leaves else f"; the data would stand on a machine of {price.seller}"),
        source=", ".join(part for part in (price.source, price.as_of) if part),
    )  # fmt: skip


def _owned(
    scenario: Scenario, facts: Facts, point: Point, site: Site, bought: Purchase | None
) -> CostLine:
    if bought is None:
        return _line(
            scenario, facts, point, "owned", f"{devices(site)} x {site.machine.name}", None,
            site=site, evidence=Evidence.ASSUMED,
            note="no complete server with it has a price in the fact base",
        )  # fmt: skip
    servers = bought.servers
    parts = owned_parts_usd(
        bought, servers, point["money.horizon_months"], facts,
        level=scenario.money.depreciation == "annuity",
    )  # fmt: skip
    alone = servers == 1 and not spares(point, site)
    note = "no spare: one machine down is the service down" if alone else ""
    return _line(
        scenario, facts, point, "owned",
        f"{servers} server(s) with {bought.devices} x {site.machine.name}",
        sum(parts.values(), Decimal(0)) if parts else None, site=site, evidence=Evidence.ASSUMED,
        parts=parts, note=note if parts else "the server's power draw is unknown, so is its bill",
        source=", ".join(part for part in (bought.source, bought.as_of) if part),
    )  # fmt: skip


def _line(
    scenario: Scenario, facts: Facts, point: Point, path: Path, what: str, usd: Decimal | None, *,
    evidence: Evidence, note: str = "", source: str = "", parts: dict[str, Decimal] | None = None,
    already_owned: bool = False, site: Site | None = None,
) -> CostLine:  # fmt: skip
    fte = fte_of(scenario, facts, point, path, site, already_owned)
    salary, months = point["money.usd_per_engineer_month"], point["money.horizon_months"]
    return CostLine(
        path=path,
        what=what,
        infrastructure_usd=usd,
        people_usd=decimal(fte.value or 0) * decimal(salary),
        one_time_usd=sum(once(facts, point, path, already_owned).values()) / decimal(months),
        people_evidence=weakest(fte.evidence, point.evidence("money.usd_per_engineer_month")),
        evidence=evidence,
        parts=parts or {},
        note=note,
        source=source,
    )


def _with_people(line: CostLine) -> Decimal | None:
    return None if line.infrastructure_usd is None else line.infrastructure_usd + line.people_usd
