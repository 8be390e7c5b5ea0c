"""What a path is bought at, and who looks after it: terms are matched, never guessed."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from stackchoice.choose.case import Case
from stackchoice.choose.decision import HourListing
from stackchoice.choose.site import Site
from stackchoice.cost import Purchase, decimal
from stackchoice.cost.machines import commitment_pays, rent, stepped_hours
from stackchoice.cost.numbers import SECONDS_PER_HOUR
from stackchoice.facts.datum import Datum, Evidence
from stackchoice.facts.load import Facts
from stackchoice.facts.prices import HourPrice
from stackchoice.facts.records import Path
from stackchoice.ops import people, upkeep

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
        usd: Decimal = rent(
            devices=self.devices, devices_per_unit=self.devices_per_unit, hours=self.hours,
            usd_per_device_hour=self.usd_per_device_hour, discount=self.discount,
        )  # fmt: skip
        return usd


def rental(case: Case, site: Site) -> Rental | None:
    """Return the cheapest offer on the scenario's terms, or the team's own quote.

    Of each seller's listing only the newest price counts. None where nobody sells it on these
    terms.
    """
    count = devices(site)
    return case.recall(
        ("rental", site.machine.id, count), lambda here: _cheapest(here, site.machine.id, count)
    )


def _cheapest(case: Case, machine: str, count: int) -> Rental | None:
    quote = case["money.usd_per_device_hour"]
    if quote is not None:
        known = case.point.inputs["money.usd_per_device_hour"]
        return _rental(
            case, count, seller=OWN_QUOTE, terms="own quote", per_unit=1,
            usd=decimal(quote), step_s=None, boots=True, evidence=known.evidence,
            source=known.origin or OWN_QUOTE, as_of="",
        )  # fmt: skip
    listed = [
        _listed(case, count, price)
        for price in case.recall(
            ("hour prices", machine), lambda here: newest(here.facts.hours, machine)
        )
        if price.kind in case.scenario.money.rental_terms
    ]
    return min(listed, key=lambda r: (r.usd, r.seller, r.terms), default=None)


def newest(prices: list[HourPrice], machine: str) -> list[HourPrice]:
    """Return the newest price of each listing of a machine: what was asked before is history."""
    found: dict[tuple[str, str], HourPrice] = {}
    for price in prices:
        key = (price.seller, price.terms)
        if price.machine == machine and (key not in found or price.starts >= found[key].starts):
            found[key] = price
    return list(found.values())


def hour_market(case: Case, site: Site) -> list[HourListing]:
    """Return every listed offer of the machine by the hour, cheapest month first.

    Whatever its terms; ``taken`` says whether the scenario takes them.
    """
    found = [
        HourListing(
            seller=price.seller, kind=price.kind, terms=price.terms,
            usd_per_device_hour=price.usd_per_device_hour, devices_per_unit=price.devices_per_unit,
            usd_per_month=_listed(case, devices(site), price).usd,
            taken=price.kind in case.scenario.money.rental_terms, as_of=price.starts,
            source=price.source.label,
        )
        for price in newest(case.facts.hours, site.machine.id)
    ]  # fmt: skip
    return sorted(found, key=lambda row: (row["usd_per_month"], row["seller"], row["terms"]))


def _listed(case: Case, count: int, price: HourPrice) -> Rental:
    return _rental(
        case, count, seller=price.seller, terms=price.terms,
        per_unit=price.devices_per_unit, usd=price.usd_per_device_hour,
        step_s=price.billing_step_s,
        boots=price.kind != "dedicated endpoint" or price.bills_start,
        evidence=Evidence.COMPUTED, source=price.source.label, as_of=price.starts,
    )  # fmt: skip


def _rental(
    case: Case, count: int, *, seller: str, terms: str, per_unit: int, usd: Decimal,
    step_s: int | None, boots: bool, evidence: Evidence, source: str, as_of: str,
) -> Rental:  # fmt: skip
    month = decimal(case.facts.assumed("hours_per_month"))
    hours, note = month, "always on"
    daily, days = case["workload.active_hours_per_day"], case["workload.days_per_month"]
    if case.scenario.money.rented_hours == "active hours" and daily and days:
        step = step_s or LONGEST_STEP_S
        boot = decimal(case.facts.assumed("boot_s")) if boots else Decimal(0)
        hours = min(
            month,
            stepped_hours(busy_s=decimal(daily) * SECONDS_PER_HOUR, starts=decimal(days),
                          boot_s=boot, step_s=step),
        )  # fmt: skip
        note = f"active hours, {days:g} starts of {boot:g} s billed in steps of {step:,} s" + (
            "" if step_s else ", which is assumed"
        )
    discount = decimal(case["money.commitment_discount"] or 0)
    if discount and commitment_pays(hours, month, discount):
        hours, note = month, f"committed at {discount:.0%} off, all hours paid"
    else:
        discount = Decimal(0)
    return Rental(
        seller=seller, terms=terms, usd_per_device_hour=usd, devices_per_unit=per_unit,
        devices=count, hours=hours, hours_note=note, discount=discount, evidence=evidence,
        source=source, as_of=as_of,
    )  # fmt: skip


def purchase(case: Case, site: Site, count: int | None = None) -> Purchase | None:
    """Return the servers to buy for the replicas (or ``count``); None where no list has them.

    Of the listed sizes the one whose servers cost least together; a replica is not spread over
    servers where one holds it. The team's own quote replaces the price of a server. Hardware that
    no list has is taken a replica a server, with the power of its boards and an assumed host.
    """
    count = count or replicas(site)
    key = ("purchase", site.machine.id, site.devices, count)
    return case.recall(key, lambda here: _servers(here, site, count))


def _servers(case: Case, site: Site, count: int) -> Purchase | None:
    group = site.devices
    listed = [s for s in case.facts.servers[::-1] if s.machine == site.machine.id]
    largest = max((s.devices for s in listed), default=0)
    layouts = [
        (servers_for(count, group, s.devices), s)
        for s in listed
        if s.devices >= min(group, largest)
    ]
    quote, known = case["money.server_usd"], case.point.inputs["money.server_usd"]
    ours: dict[str, Any] = {
        "evidence": known.evidence, "source": known.origin or OWN_QUOTE, "as_of": "",
    }  # fmt: skip
    if layouts:
        servers, found = min(
            layouts, key=lambda pair: (pair[0] * (pair[1].usd + pair[1].installation_usd), pair[0])
        )
        listing = {"evidence": Evidence.STATED, "source": found.source.label, "as_of": found.starts}
        return Purchase(
            servers=servers, usd=found.usd if quote is None else decimal(quote),
            installation_usd=found.installation_usd, devices=found.devices,
            power_kw=found.power_kw, **(listing if quote is None else ours),
        )  # fmt: skip
    if quote is None:
        return None
    board, power = site.machine.board_power_w, Datum[float]()
    if board.value is not None:
        power = Datum[float](
            value=board.value * group / 1000 + case.facts.assumed("host_kw"),
            evidence=Evidence.ASSUMED, note="board power and an assumed host",
        )  # fmt: skip
    return Purchase(
        servers=count, usd=decimal(quote), installation_usd=Decimal(0), devices=group,
        power_kw=power, **ours,
    )  # fmt: skip


def servers_for(replicas: int, devices_per_replica: int, devices: int) -> int:
    """Return how many servers of this size hold the replicas, each whole where one holds it."""
    fit = devices // devices_per_replica
    return -(-replicas // fit) if fit else replicas * -(-devices_per_replica // devices)


def already_paid(path: Path, site: Site | None) -> bool:
    """Whether a path is the machine that somebody owns already."""
    return path == "owned" and site is not None and site.choice.already_owned


def fte_of(case: Case, path: Path, site: Site | None) -> Datum[float]:
    """Return the engineers a path takes with this engine on this platform."""
    work = None
    if site is not None and path != "managed":
        work = upkeep(case.scenario, case.facts, site.engine, site.machine.backend)
    return people(
        case.facts, path, one_user=case["workload.users"] == 1,
        already_owned=already_paid(path, site), point=case.point, work=work,
    )  # fmt: skip


def alone(case: Case, path: Path, site: Site | None) -> bool:
    """Whether a single user serves nobody else, with what is there or is metered."""
    return case["workload.users"] == 1 and (path == "managed" or already_paid(path, site))


def setting_up(case: Case, path: Path, site: Site | None, facts: Facts) -> Any:
    """Return what setting a path up costs once, USD; nothing to a single user."""
    return 0.0 if alone(case, path, site) else facts.assumed(f"implementation_usd_{path}")


def once(case: Case, path: Path, site: Site | None) -> dict[str, Decimal]:
    """Return what a path costs once, by what it is for; leaving today's set-up only where said."""
    found = {"setting up": decimal(setting_up(case, path, site, case.facts))}
    if (leaving := case["money.switching_usd"]) is not None:
        found["leaving what runs today"] = decimal(leaving)
    return found


def replicas(site: Site) -> int:
    """Replicas the peak takes at the slow end, as far as there are candidates for them.

    Whether the ones there are carry it is a question of its own, asked in the checks.
    """
    return min(site.replicas_needed[1], site.replicas_there) if site.replicas_needed else 1


def devices(site: Site) -> int:
    """Devices that all replicas take."""
    return site.devices * replicas(site)


def spares(case: Case, site: Site) -> int:
    """Replicas among :func:`replicas` that are there for one to fail: as stated, else none."""
    return min(case.flow.spares, replicas(site) - 1)
