"""The three paths in money at one point: what each costs a month, and when one beats another."""

from __future__ import annotations

from decimal import Decimal

from stackchoice.choose.decision import Cost
from stackchoice.choose.managed import market
from stackchoice.choose.site import SECONDS_PER_HOUR, Site, traffic
from stackchoice.cost import (
    BreakEven,
    CostLine,
    Volume,
    break_even,
    decimal,
    metered_usd,
    owned_energy_usd,
    owned_parts_usd,
    rented_usd,
)
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import HourPrice, Offer, Path, Seller, ServerPrice
from stackchoice.ops import people
from stackchoice.scenario import Point, Scenario

#: The end of the throughput interval that a break-even rests on, in words.
ENDS = {"low": "slow end", "high": "fast end", "unknown": "capacity unknown"}


def volume(point: Point) -> Volume | None:
    """Return a month of tokens, or None where users, requests or lengths are not known."""
    paths = (
        *point.volume_paths, "workload.days_per_month", "workload.input_tokens",
        "workload.output_tokens",
    )  # fmt: skip
    per_day = point.requests_per_day
    if per_day is None or not point.known(*paths):
        return None
    days, tokens_in, tokens_out = (point[path] for path in paths[-3:])
    requests = per_day * days
    reused = tokens_in - (traffic(point).prefill_tokens or 0)
    return Volume(
        requests=requests, input_tokens=requests * tokens_in, cached_tokens=requests * reused,
        output_tokens=requests * tokens_out, evidence=point.evidence(*paths),
    )  # fmt: skip


def path_lines(
    scenario: Scenario,
    facts: Facts,
    point: Point,
    site: Site | None,
    bought: tuple[Seller, Offer] | None,
    tokens: Volume | None,
) -> list[CostLine]:
    """Return what each open path costs a month."""
    lines = []
    if bought is not None:
        seller, offer = bought
        lines.append(
            _line(
                facts, point, "managed", f"{offer.sold_as} at {seller.name}",
                metered_usd(tokens, offer.price) if tokens else None,
                evidence=weakest(tokens.evidence if tokens else Evidence.ASSUMED, Evidence.STATED),
                source=f"{offer.price.source.label}, {offer.price.starts}",
            )
        )  # fmt: skip
    if site is not None:
        lines += _self_hosted(facts, point, site)
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
    """Put the lines side by side, with the market and the break-even volumes."""
    by_path = {line.path: line for line in lines}
    managed, owned, rented = (by_path.get(p) for p in ("managed", "owned", "rented"))
    per_mtok = None
    if offer is not None and tokens is not None and tokens.total_mtok:
        per_mtok = metered_usd(tokens, offer.price) / decimal(tokens.total_mtok)
    evens: list[BreakEven] = []
    if per_mtok is not None and site is not None:
        evens = [
            even
            for line in (owned, rented)
            if line is not None
            for even in _break_evens(facts, point, site, line, managed, per_mtok, tokens)
        ]
    return Cost(
        volume=tokens,
        managed_usd_per_mtok=per_mtok,
        managed_usd_per_month=managed and managed.infrastructure_usd,
        managed_with_people_usd_per_month=managed and _with_people(managed),
        rented_usd_per_month=rented and rented.infrastructure_usd,
        rented_with_people_usd_per_month=rented and _with_people(rented),
        owned_usd_per_month=owned and owned.infrastructure_usd,
        owned_with_people_usd_per_month=owned and _with_people(owned),
        lines=lines,
        market=market(scenario, facts, tokens),
        break_even=evens,
    )


def capacity_mtok_per_month(facts: Facts, point: Point, site: Site) -> dict[str, float] | None:
    """Return the tokens a replica carries a month, in millions, at each end of its speed.

    ``requests/s x tokens per request x active seconds x utilisation cap / peak factor``.
    """
    hours, peak = point["workload.active_hours_per_day"], point["workload.peak_factor"]
    days = point["workload.days_per_month"]
    tokens = (point["workload.input_tokens"] or 0) + (point["workload.output_tokens"] or 0)
    if site.replica is None or not (hours and peak and days and tokens):
        return None
    seconds = SECONDS_PER_HOUR * hours * days * facts.assumed("utilisation_cap") / peak
    return {
        end: getattr(site.replica, end) * tokens * seconds / 1e6
        for end in ("low", "middle", "high")
    }


def _self_hosted(facts: Facts, point: Point, site: Site) -> list[CostLine]:
    devices = site.choice.devices_per_replica * (_replicas(site))
    if site.choice.already_owned:
        devices = site.choice.count
        days = point["workload.days_per_month"]
        hours = (point["workload.active_hours_per_day"] or 24) * (days or 0)
        energy = owned_energy_usd(site.machine, devices, hours, facts) if days else None
        return [
            _line(
                facts, point, "owned", f"{devices} x {site.machine.name}, already paid for",
                energy, evidence=Evidence.ASSUMED, already_owned=True,
                note="the purchase is sunk; energy at full board power in active hours, without "
                "idle hours, host and cooling"
                if energy is not None
                else "the machine's power draw or the days per month are unknown",
            )
        ]  # fmt: skip
    lines = []
    # Renting puts the data on somebody else's machine.
    may_leave = point["constraints.data_may_leave"] is not False
    if may_leave and (price := _hour_price(facts, site)) is not None:
        hours = facts.assumed("hours_per_month")
        lines.append(
            _line(
                facts, point, "rented", f"{devices} x {site.machine.name} at {price.seller}",
                rented_usd(price, devices, hours), evidence=Evidence.COMPUTED,
                note=f"{price.usd_per_device_hour} USD per device-hour, {price.terms}, always on"
                + ("" if point["constraints.data_may_leave"] else
                   f"; the data would stand on a machine of {price.seller}"),
                source=f"{price.source.label}, {price.starts}",
            )
        )  # fmt: skip
    if (server := _server(facts, site, devices)) is not None:
        servers = -(-devices // server.devices)
        parts = owned_parts_usd(server, servers, point["money.horizon_months"], facts)
        lines.append(
            _line(
                facts, point, "owned",
                f"{servers} server(s) with {server.devices} x {site.machine.name}",
                sum(parts.values(), Decimal(0)), evidence=Evidence.ASSUMED, parts=parts,
                note="no spare: one machine down is the service down" if servers == 1 else "",
                source=f"{server.source.label}, {server.starts}",
            )
        )  # fmt: skip
    return lines


def _line(
    facts: Facts, point: Point, path: Path, what: str, usd: Decimal | None, *,
    evidence: Evidence, note: str = "", source: str = "", parts: dict[str, Decimal] | None = None,
    already_owned: bool = False,
) -> CostLine:  # fmt: skip
    one_user = point["workload.users"] == 1
    fte = people(facts, path, one_user=one_user, already_owned=already_owned)
    salary = point["money.usd_per_engineer_month"]
    months = point["money.horizon_months"]
    nothing_to_set_up = one_user and (already_owned or path == "managed")
    implementation = 0.0 if nothing_to_set_up else facts.assumed(f"implementation_usd_{path}")
    return CostLine(
        path=path,
        what=what,
        infrastructure_usd=usd,
        people_usd=decimal(fte.value or 0) * decimal(salary),
        one_time_usd=decimal(implementation) / decimal(months),
        people_evidence=weakest(fte.evidence, point.evidence("money.usd_per_engineer_month")),
        evidence=evidence,
        parts=parts or {},
        note=note,
        source=source,
    )


def _with_people(line: CostLine) -> Decimal | None:
    return None if line.infrastructure_usd is None else line.infrastructure_usd + line.people_usd


def _break_evens(
    facts: Facts, point: Point, site: Site, line: CostLine, managed: CostLine | None,
    per_mtok: Decimal, tokens: Volume | None,
) -> list[BreakEven]:  # fmt: skip
    """Break-even at both ends of the throughput interval, without and with people."""
    if line.infrastructure_usd is None or managed is None or tokens is None:
        return []
    capacity = capacity_mtok_per_month(facts, point, site)
    replicas = _replicas(site)
    fixed = line.people_usd + line.one_time_usd - managed.people_usd - managed.one_time_usd
    return [
        break_even(
            against=f"{line.path}, {ENDS[end]}",
            fixed_usd=fixed if with_people else Decimal(0),
            replica_usd=line.infrastructure_usd / replicas,
            managed_usd_per_mtok=per_mtok,
            capacity_mtok=capacity and capacity[end],
            with_people=with_people,
            evidence=weakest(line.evidence, tokens.evidence),
        )
        for with_people in (False, True)
        for end in (("low", "high") if capacity else ("unknown",))
    ]


def _replicas(site: Site) -> int:
    """Replicas the peak takes at the slow end, as far as there are candidates for them.

    Whether the ones there are carry it is a question of its own, asked in the checks.
    """
    return min(site.replicas_needed[1], site.replicas_there) if site.replicas_needed else 1


def _hour_price(facts: Facts, site: Site) -> HourPrice | None:
    """Return the cheapest listed on-demand offer of this machine."""
    found = [price for price in facts.hours if price.machine == site.machine.id]
    return min(found, key=lambda p: p.usd_per_device_hour, default=None)


def _server(facts: Facts, site: Site, devices: int) -> ServerPrice | None:
    """Return the smallest complete server that holds the devices, else the largest there is."""
    found = sorted(
        (s for s in facts.servers if s.machine == site.machine.id), key=lambda s: s.devices
    )
    if not found:
        return None
    return next((s for s in found if s.devices >= devices), found[-1])
