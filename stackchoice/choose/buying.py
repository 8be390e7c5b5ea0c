"""What a path is bought at, and who looks after it: terms are matched, never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from stackchoice.choose.decision import HourListing
from stackchoice.choose.site import SECONDS_PER_HOUR, Site
from stackchoice.cost import decimal
from stackchoice.cost.machines import commitment_pays, rent, stepped_hours
from stackchoice.facts.datum import Datum, Evidence
from stackchoice.facts.load import Facts
from stackchoice.facts.records import HourPrice, Path
from stackchoice.ops import people, upkeep
from stackchoice.scenario import Point, Scenario

OWN_QUOTE = "the team's own quote"
#: What an unnamed billing step is taken to be: the longest in use.
LONGEST_STEP_S = 3600


@dataclass(frozen=True)
class Rental:
    """One offer by the hour, with the hours it bills here. ``discount`` is for a commitment."""

    seller: str
    terms: str
    usd_per_device_hour: Decimal
    devices_per_unit: int
    devices: int
    hours: Decimal
    hours_note: str
    discount: Decimal
    evidence: Evidence
    source: str
    as_of: str

    @property
    def usd(self) -> Decimal:
        """A month of it."""
        return rent(
            devices=self.devices, devices_per_unit=self.devices_per_unit, hours=self.hours,
            usd_per_device_hour=self.usd_per_device_hour, discount=self.discount,
        )  # fmt: skip


def rental(scenario: Scenario, facts: Facts, point: Point, site: Site, count: int) -> Rental | None:
    """Return the cheapest offer on the scenario's terms, or the team's own quote.

    Of each seller's listing only the newest price counts. None where nobody sells it on these
    terms.
    """
    quote = point["money.usd_per_device_hour"]
    if quote is not None:
        known = point.inputs["money.usd_per_device_hour"]
        return _rental(
            scenario, facts, point, count, seller=OWN_QUOTE, terms="own quote", per_unit=1,
            usd=decimal(quote), step_s=None, boots=True, evidence=known.evidence,
            source=known.origin or OWN_QUOTE, as_of="",
        )  # fmt: skip
    listed = [
        _listed(scenario, facts, point, count, price)
        for price in newest(facts.hours)
        if price.machine == site.machine.id and price.kind in scenario.money.rental_terms
    ]
    return min(listed, key=lambda r: (r.usd, r.seller, r.terms), default=None)


def newest(prices: list[HourPrice]) -> list[HourPrice]:
    """Return the newest price of each listing: what a seller asked before is history."""
    found: dict[tuple[str, str, str], HourPrice] = {}
    for price in prices:
        key = (price.machine, price.seller, price.terms)
        if key not in found or price.starts >= found[key].starts:
            found[key] = price
    return list(found.values())


def hour_market(scenario: Scenario, facts: Facts, point: Point, site: Site) -> list[HourListing]:
    """Return every listed offer of the machine by the hour, cheapest month first.

    Whatever its terms; ``taken`` says whether the scenario takes them.
    """
    found = [
        HourListing(
            seller=price.seller, kind=price.kind, terms=price.terms,
            usd_per_device_hour=price.usd_per_device_hour, devices_per_unit=price.devices_per_unit,
            usd_per_month=_listed(scenario, facts, point, devices(site), price).usd,
            taken=price.kind in scenario.money.rental_terms, as_of=price.starts,
            source=price.source.label,
        )
        for price in newest(facts.hours)
        if price.machine == site.machine.id
    ]  # fmt: skip
    return sorted(found, key=lambda row: (row["usd_per_month"], row["seller"], row["terms"]))


def _listed(scenario: Scenario, facts: Facts, point: Point, count: int, price: HourPrice) -> Rental:
    return _rental(
        scenario, facts, point, count, seller=price.seller, terms=price.terms,
        per_unit=price.devices_per_unit, usd=price.usd_per_device_hour,
        step_s=price.billing_step_s,
        boots=price.kind != "dedicated endpoint" or price.bills_start,
        evidence=Evidence.COMPUTED, source=price.source.label, as_of=price.starts,
    )  # fmt: skip


def _rental(
    scenario: Scenario, facts: Facts, point: Point, count: int, *, seller: str, terms: str,
    per_unit: int, usd: Decimal, step_s: int | None, boots: bool, evidence: Evidence, source: str,
    as_of: str,
) -> Rental:  # fmt: skip
    month = decimal(facts.assumed("hours_per_month"))
    hours, note = month, "always on"
    daily, days = point["workload.active_hours_per_day"], point["workload.days_per_month"]
    if scenario.money.rented_hours == "active hours" and daily and days:
        step = step_s or LONGEST_STEP_S
        boot = decimal(facts.assumed("boot_s")) if boots else Decimal(0)
        hours = min(
            month,
            stepped_hours(busy_s=decimal(daily) * SECONDS_PER_HOUR, starts=decimal(days),
                          boot_s=boot, step_s=step),
        )  # fmt: skip
        note = f"active hours, {days:g} starts of {boot:g} s billed in steps of {step:,} s" + (
            "" if step_s else ", which is assumed"
        )
    discount = decimal(point["money.commitment_discount"] or 0)
    if discount and commitment_pays(hours, month, discount):
        hours, note = month, f"committed at {discount:.0%} off, all hours paid"
    else:
        discount = Decimal(0)
    return Rental(
        seller=seller, terms=terms, usd_per_device_hour=usd, devices_per_unit=per_unit,
        devices=count, hours=hours, hours_note=note, discount=discount, evidence=evidence,
        source=source, as_of=as_of,
    )  # fmt: skip


@dataclass(frozen=True)
class Purchase:
    """A complete server to buy. ``installation_usd`` and ``power_kw`` are the listed ones."""

    usd: Decimal
    installation_usd: Decimal
    devices: int
    power_kw: Datum[float]
    evidence: Evidence
    source: str
    as_of: str


def server(facts: Facts, point: Point, site: Site, count: int) -> Purchase | None:
    """Return the server to buy: at the team's own quote, else as listed; None where nobody lists.

    The smallest complete server that holds the devices, else the largest there is. Hardware that
    no list has takes its power from the board's and an assumed host, where the board's is known.
    """
    listed = sorted(
        (s for s in facts.servers[::-1] if s.machine == site.machine.id), key=lambda s: s.devices
    )
    found = next((s for s in listed if s.devices >= count), listed[-1] if listed else None)
    quote = point["money.server_usd"]
    if quote is None:
        return found and Purchase(
            usd=found.usd, installation_usd=found.installation_usd, devices=found.devices,
            power_kw=found.power_kw, evidence=Evidence.STATED, source=found.source.label,
            as_of=found.starts,
        )  # fmt: skip
    board, power = site.machine.board_power_w, Datum[float]()
    if board.known:
        power = Datum[float](
            value=board.value * count / 1000 + facts.assumed("host_kw"),
            evidence=Evidence.ASSUMED, note="board power and an assumed host",
        )  # fmt: skip
    known = point.inputs["money.server_usd"]
    return Purchase(
        usd=decimal(quote), installation_usd=found.installation_usd if found else Decimal(0),
        devices=found.devices if found else count, power_kw=found.power_kw if found else power,
        evidence=known.evidence, source=known.origin or OWN_QUOTE, as_of="",
    )  # fmt: skip


def fte_of(
    scenario: Scenario, facts: Facts, point: Point, path: Path, site: Site | None,
    already_owned: bool,
) -> Datum[float]:  # fmt: skip
    """Return the engineers a path takes with this engine on this platform."""
    work = None
    if site is not None and path != "managed":
        work = upkeep(scenario, facts, site.engine, site.machine.backend)
    return people(
        facts, path, one_user=point["workload.users"] == 1, already_owned=already_owned,
        point=point, work=work,
    )  # fmt: skip


def once(facts: Facts, point: Point, path: Path, already_owned: bool) -> dict[str, Decimal]:
    """Return what a path costs once, by what it is for; leaving today's set-up only where said."""
    alone = point["workload.users"] == 1 and (already_owned or path == "managed")
    setting_up = 0.0 if alone else facts.assumed(f"implementation_usd_{path}")
    found = {"setting up": decimal(setting_up)}
    if (leaving := point["money.switching_usd"]) is not None:
        found["leaving what runs today"] = decimal(leaving)
    return found


def replicas(site: Site) -> int:
    """Replicas the peak takes at the slow end, as far as there are candidates for them.

    Whether the ones there are carry it is a question of its own, asked in the checks.
    """
    return min(site.replicas_needed[1], site.replicas_there) if site.replicas_needed else 1


def devices(site: Site) -> int:
    """Devices that all replicas take."""
    return site.choice.devices_per_replica * replicas(site)
