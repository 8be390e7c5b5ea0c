"""Cost: every line of every path's month, break-evens or never, and who wins by how much."""

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from operator import attrgetter
from typing import Any

from stackchoice.choose.bills import ASSUMED_IN, itemised
from stackchoice.choose.buying import Rental, purchase, rental
from stackchoice.choose.money import tokens_a_month
from stackchoice.choose.prefer import gap
from stackchoice.choose.recommend import too_close_share, wanted
from stackchoice.choose.turning import even_asked
from stackchoice.cost import BillLine, CostLine, Purchase, decimal, owned_parts_usd
from stackchoice.cost.breakeven import break_even, change_needed, crossover, fixed_volume
from stackchoice.facts.told import Told, Working
from stackchoice.why.case import Decided, Whys

#: Assumptions that an owned machine's month is worked out with.
OWNED = tuple(dict.fromkeys(name for names in ASSUMED_IN.values() for name in names))
VOLUME = ("days_per_month", "input_tokens", "output_tokens", "shared_prefix_tokens",
          "turns_per_session", "resent_share")  # fmt: skip


def bills(at: Decided) -> Whys:
    """Why a path costs what it costs a month: its lines, one sum each, and their total."""
    main = at.main
    for line in main.lines:
        items = itemised(at.case, main.site, main.offer, main.tokens, line)
        work = Working()
        if line.path == "managed" and main.tokens is not None:
            _volume(at, work)
        parts = _parts(at, work, line)
        amounts = [_item(at, work, item, parts) for item in items]
        if line.total_usd is not None:
            work.step("together", sum(amounts), "USD")
        yield f"cost:{line.path}", work.why(
            f"{line.path}: {line.what}, USD a month", RULES[line.path], line.total_evidence,
            [line.note],
        )  # fmt: skip


def month(at: Decided) -> Whys:
    """Why a month has so many tokens."""
    work = Working()
    _volume(at, work)
    if at.main.tokens is not None:
        yield "volume", work.why(
            "requests and tokens of a month",
            "requests of a day by the days of a month; tokens are those of each request",
            at.main.tokens.evidence,
        )  # fmt: skip


RULES = {
    "managed": "tokens at the listed price, with people and one-time cost",
    "rented": "whole units by the hour, in use or not, with people and one-time cost",
    "owned": "depreciation, capital, maintenance, energy, hosting, with people and one-time cost",
}


def _volume(at: Decided, work: Working) -> None:
    """Write down the tokens of a month."""
    paths = [*at.case.point.volume_paths, *(f"workload.{name}" for name in VOLUME)]
    given = at.given(work, *paths)
    per_day = given.point.requests_per_day
    if per_day is None or at.main.tokens is None:
        return
    month = tokens_a_month(given, per_day)
    for name, told in month.items():
        if told:
            work.step(f"{name.replace('_', ' ')} a month", told)


def _said(known: Rental | Purchase | BillLine) -> dict[str, Any]:
    """Return who says a price, as a cited fact takes it."""
    return {"evidence": known.evidence, "source": known.source, "as_of": known.as_of}


def _parts(at: Decided, work: Working, line: CostLine) -> dict[str, Any]:
    """Return the parts of a bill that a formula of their own makes, by the name of their line."""
    site = at.main.site
    if site is None or line.infrastructure_usd is None or site.choice.already_owned:
        return {}
    if line.path == "rented":
        price = rental(at.case, site)
        return {line.what: _rented(work, price)} if price else {}
    bought = purchase(at.case, site)
    return _owned(at, work, bought) if line.path == "owned" and bought else {}


def _rented(work: Working, price: Rental) -> Any:
    told = replace(
        price, devices=work.fact("devices", price.devices),
        usd_per_device_hour=work.fact("price", price.usd_per_device_hour, "USD a device-hour",
                                      **_said(price), note=price.terms),
        hours=work.fact("hours", price.hours, note=price.hours_note),
    )  # fmt: skip
    return told.usd


def _owned(at: Decided, work: Working, bought: Purchase) -> dict[str, Any]:
    power = bought.power_kw
    kilowatts = work.fact("power", decimal(power.value or 0), "kW a server", power)
    told = replace(
        priced_purchase(work, bought), power_kw=power.model_copy(update={"value": kilowatts})
    )
    level = at.case.scenario.money.depreciation == "annuity"
    facts = at.assuming(work, (*OWNED, "hours_per_month"), decimal)
    servers = work.fact("servers", bought.servers)
    return owned_parts_usd(told, servers, told_months(at, work), facts, level=level)


def priced_purchase(work: Working, bought: Purchase) -> Purchase:
    """Return the purchase with prices that tell."""
    return replace(
        bought, usd=work.fact("price of a server", bought.usd, "USD", **_said(bought)),
        installation_usd=work.fact("installation", bought.installation_usd, "USD", **_said(bought)),
    )  # fmt: skip


def told_months(at: Decided, work: Working) -> Any:
    """Take the horizon into the sums, as Decimal."""
    said = at.said(work, "money.horizon_months")
    return Told(decimal(said.value), said.name)


def _item(at: Decided, work: Working, item: BillLine, parts: dict[str, Any]) -> Any:
    """Write one line of a bill down: by its formula, else as quantity times price."""
    if item.usd is None:
        return Decimal(0)
    told = parts.get(item.item)
    if told is None and item.kind == "infrastructure":
        told = next((t for name, t in parts.items() if item.item.endswith(name)), None)
    if told is not None:
        return work.step(item.item, told, "USD")
    if item.quantity is None or item.unit_usd is None:
        return work.fact(item.item, item.usd, "USD", **_said(item), note=item.note)
    price = work.fact(f"{item.item}: price", item.unit_usd, "USD", **_said(item), note=item.note,
                      called="price")  # fmt: skip
    if item.kind == "one-time":
        return work.step(item.item, price / told_months(at, work), "USD")
    amount = work.fact(f"{item.item}: quantity", decimal(item.quantity), item.unit,
                       evidence=item.evidence, called="quantity")  # fmt: skip
    return work.step(item.item, amount * price, "USD")


def evens(at: Decided) -> Whys:
    """Why a path of one's own costs less from some volume on, or never."""
    for asked in even_asked(paths) if (paths := at.paths) else ():
        work, found = Working(), break_even(**asked)
        evidence = asked["evidence"]
        fixed, replica, price = (
            work.fact(words, asked[key], unit, evidence=evidence)
            for key, words, unit in (
                ("fixed_usd", "fixed beyond managed", "USD a month"),
                ("replica_usd", "a replica", "USD a month"),
                ("managed_usd_per_mtok", "managed price of this mix", "USD per M tokens"),
            )
        )  # fmt: skip
        if asked["capacity_mtok"] is not None:
            capacity = work.fact("a replica carries", decimal(asked["capacity_mtok"]),
                                 "M tokens a month", evidence=evidence)  # fmt: skip
            work.step("a replica's tokens would cost", price * capacity, "USD a month")
            volume, _ = crossover(fixed=fixed, replica=replica, usd_per_mtok=price,
                                  capacity=capacity)  # fmt: skip
            if found.mtok_per_month is not None:
                work.step("cheaper from", volume, "M tokens a month")
            elif found.change is not None:
                factor = change_needed(replica=replica, usd_per_mtok=price, capacity=capacity)
                work.step("price or throughput would have to grow by", factor, "times")
        elif found.mtok_per_month:
            volume = fixed_volume(fixed + replica, price)
            work.step("cheaper from", volume, "M tokens a month")
        people = "with people" if asked["with_people"] else "without people"
        yield f"even:{asked['against']}, {people}", work.why(
            f"break-even of {asked['against']}, {people}",
            "a replica must replace tokens worth more than itself; then as many replicas as earn "
            "the fixed cost, and the volume that fills them", evidence, [found.reason],
        )  # fmt: skip


def recommendation(at: Decided) -> Whys:
    """Why the recommended option was taken: every way that survived, and how far they lie apart."""
    main, ways, work = at.main, at.main.ways, Working()
    priced = sorted(
        (w for w in ways if w.usd_per_month is not None), key=attrgetter("usd_per_month")
    )
    totals = [
        work.fact(way.text, way.usd_per_month, "USD a month", evidence=way.evidence)
        for way in priced
    ]
    limit = too_close_share(at.case)
    at.assumed(work, "too_close_share")
    for lower, other in pairwise(totals):
        work.step(f"{lower.name} below {other.name}", gap(lower, other),
                  f"of the dearer; below {limit} is too close")  # fmt: skip
    for way in ways:
        if way.usd_per_month is None:
            work.fact(way.text, None, "USD a month")
    rule = main.best_rule
    if rule is not None:
        work.fact("best self-hosted by rule", rule.rule, source=rule.source, note=rule.why)
    yield "recommendation", work.why(
        f"recommended: {main.verdict.option or 'nothing'}",
        f"what survives the three questions is ranked by {', then '.join(wanted(at.case))}",
        notes=[main.verdict.because, *main.verdict.ranking],
    )  # fmt: skip
