"""A path's month line by line: what is sold, how much of it, at which price, and who says so."""

from collections.abc import Iterator
from decimal import Decimal

from stackchoice.choose.buying import fte_of, once, purchase, rental
from stackchoice.choose.case import Case
from stackchoice.choose.site import Site
from stackchoice.cost import BillLine, CostLine, Volume, decimal
from stackchoice.cost.numbers import MILLION
from stackchoice.cost.tokens import adjusted_usd, charge_usd, metered_charges
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.names import counted
from stackchoice.facts.prices import Offer
from stackchoice.scenario.words import label

M_TOKENS = "M tokens"

#: Part of an owned server's bill -> the assumptions it is worked out with.
ASSUMED_IN = {
    "depreciation": ("server_life_months", "residual_share"),
    "capital": ("capital_rate_per_year",),
    "annuity": ("server_life_months", "residual_share", "capital_rate_per_year"),
    "maintenance": ("maintenance_share_per_year",),
    "energy": ("pue", "usd_per_kwh"),
    "hosting": ("hosting_usd_per_kw_month",),
}


def itemised(
    case: Case, site: Site | None, offer: Offer | None, tokens: Volume | None, line: CostLine
) -> list[BillLine]:
    """Return the bill of a path. Its lines sum to the path's total; an unknown one has no sum."""
    if line.path == "managed" and offer is not None:
        bought = list(_tokens(offer, tokens))
    elif line.path == "rented" and site is not None and line.infrastructure_usd is not None:
        bought = list(_rent(case, site, line))
    else:
        bought = list(_owned(case, site, line))
    return [*bought, *_people(case, site, line)]


def _tokens(offer: Offer, tokens: Volume | None) -> Iterator[BillLine]:
    price, source = offer.price, offer.price.source.label
    if tokens is None:
        yield BillLine(
            item="tokens", usd=None, evidence=Evidence.ASSUMED, source=source, as_of=price.starts,
            note="the volume is unknown",
        )  # fmt: skip
        return
    evidence = weakest(tokens.evidence, Evidence.STATED)
    total = Decimal(0)
    for what, amount, each in metered_charges(tokens, price):
        if not amount:
            continue
        usd = charge_usd(amount, each)
        total += usd
        own_price = price.cached_input_usd_per_mtok is not None or "cache" not in what
        yield BillLine(
            item=what, quantity=float(amount) / MILLION, unit=M_TOKENS, unit_usd=each, usd=usd,
            evidence=evidence, source=source, as_of=price.starts,
            note="" if own_price else "no cached price is listed: billed in full",
        )  # fmt: skip
    adjusted = adjusted_usd(total, tokens, price)
    said = []
    if price.peak is not None:
        share = "said" if tokens.peak_share is not None else "taken as the hours' share of the week"
        said.append(f"{price.peak.multiple} times the price at {price.peak.when}; share {share}")
    if price.volume_discounts:
        said.append("graduated volume discounts")
    if said:
        yield _adjustment("peak hours and discounts", adjusted - total, "; ".join(said), offer)
    if adjusted < price.minimum_usd_per_month:
        least = price.minimum_usd_per_month
        yield _adjustment("up to the monthly minimum", least - adjusted, f"at least {least}", offer)


def _adjustment(item: str, usd: Decimal, note: str, offer: Offer) -> BillLine:
    return BillLine(
        item=item, usd=usd, evidence=Evidence.ASSUMED, source=offer.price.source.label,
        as_of=offer.price.starts, note=note,
    )  # fmt: skip


def _rent(case: Case, site: Site, line: CostLine) -> Iterator[BillLine]:
    price = rental(case, site)
    if price is None:
        return
    units = -(-price.devices // price.devices_per_unit) * price.devices_per_unit
    idle = units - price.devices
    notes = [price.terms, price.hours_note]
    if idle:
        notes.append(f"{idle} of {units} devices are idle: sold only as {price.devices_per_unit}")
    each = price.usd_per_device_hour * (1 - price.discount)
    yield BillLine(
        item=f"{units} x {site.machine.name} at {price.seller}",
        quantity=float(units * price.hours), unit="device-hours", unit_usd=each, usd=price.usd,
        evidence=line.evidence, source=price.source, as_of=price.as_of, note="; ".join(notes),
    )  # fmt: skip


def _owned(case: Case, site: Site | None, line: CostLine) -> Iterator[BillLine]:
    if line.infrastructure_usd is None:
        yield BillLine(item=line.what, usd=None, evidence=Evidence.ASSUMED, note=line.note)
        return
    bought = None
    if site is not None and not site.choice.already_owned:
        bought = purchase(case, site)
    for part, usd in line.parts.items():
        said = [_assumption(case.facts, key) for key in ASSUMED_IN.get(part, ())]
        if part in ("depreciation", "annuity") and bought is not None:
            said.insert(0, f"{counted(bought.servers, 'server')} at {bought.usd:,.0f} USD, "
                           f"installation {bought.installation_usd:,.0f} USD")  # fmt: skip
        if bought is None:
            said = [line.note, *(_assumption(case.facts, key) for key in ("usd_per_kwh",))]
        elif part in ("energy", "hosting"):
            said.insert(0, f"{bought.power_kw.value:g} kW a server, {bought.power_kw.note}")
        yield BillLine(
            item=part, usd=usd, evidence=Evidence.ASSUMED,
            source=bought.source if bought else _source(case.facts, "usd_per_kwh"),
            as_of=bought.as_of if bought else "", note="; ".join(said),
        )  # fmt: skip


def _people(case: Case, site: Site | None, line: CostLine) -> Iterator[BillLine]:
    fte, facts = fte_of(case, line.path, site), case.facts
    months = decimal(case["money.horizon_months"])
    span = ""
    if fte.low is not None and fte.high is not None:
        span = f"{fte.low:g} to {fte.high:g}; "
    published = fte == facts.assumptions[f"ops_fte_{line.path}"].datum
    yield BillLine(
        item="operations work", kind="people", quantity=fte.value, unit="engineers",
        unit_usd=decimal(case["money.usd_per_engineer_month"]), usd=line.people_usd,
        evidence=line.people_evidence, source=fte.source.label if fte.source else "",
        as_of=fte.source.as_of if fte.source else "",
        note=span + ("published default" if published else fte.note),
    )  # fmt: skip
    source = facts.assumptions[f"implementation_usd_{line.path}"].datum.source
    for what, usd in once(case, line.path, site).items():
        ours = what == "setting up"
        known = case.point.inputs["money.switching_usd"]
        yield BillLine(
            item=what, kind="one-time", quantity=1 / float(months),
            unit=f"(1 of {float(months):g} months)", unit_usd=usd, usd=usd / months,
            evidence=Evidence.ASSUMED if ours else known.evidence,
            source=(source.label if source else "") if ours else known.origin,
            as_of=source.as_of if ours and source else "",
            note="once, spread over the horizon",
        )  # fmt: skip


def _assumption(facts: Facts, key: str) -> str:
    found = facts.assumptions[key]
    return f"{label(f'assumed.{key}')} {found.datum.value:g}"


def _source(facts: Facts, key: str) -> str:
    source = facts.assumptions[key].datum.source
    return source.label if source else ""
