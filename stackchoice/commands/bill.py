"""A decision's money as text: bills, break-evens, turning points, spares, exits, price lists."""

from collections.abc import Iterator
from decimal import Decimal

from stackchoice.choose import Decision
from stackchoice.cost import BillLine, BreakEven, CostLine
from stackchoice.facts.figures import figure
from stackchoice.facts.yaml import shown_lines
from stackchoice.present.text import cents
from stackchoice.prices import Quote


def describe(decision: Decision, listed: list[Quote], why_none: str) -> str:
    """Return the text that ``stackchoice cost`` prints."""
    lines = [
        decision.title,
        *_volume(decision),
        *(text for line in decision.cost.lines for text in _bill(line)),
        *_hours(decision),
        *_break_evens(decision.cost.break_even),
        *_turns(decision),
        *_risks(decision),
        *_people(decision),
        *_lists(listed, why_none),
    ]
    return shown_lines(*lines)


def _volume(decision: Decision) -> Iterator[str]:
    volume = decision.cost.volume
    if volume is None:
        yield "  volume: unknown, so no token has a price here"
        return
    yield (
        f"  volume: {volume.total_mtok:,.2f} M tokens a month, {volume.requests:,.0f} requests, "
        f"{volume.cached_tokens / 1e6:,.2f} M of the input cached ({volume.evidence.value})"
    )


def _bill(line: CostLine) -> Iterator[str]:
    yield f"{line.path}: {line.what}"
    for item in line.bill:
        what = f"{item.item}{_times(item)} [{item.evidence.value}]{_from(item)}"
        yield f"  {cents(item.usd):>14}  {what}"
    yield f"  {cents(line.total_usd):>14}  together a month [{line.total_evidence.value}]"
    if line.note and line.total_usd is not None:
        yield f"  {'':>14}  {line.note}"


def _hours(decision: Decision) -> Iterator[str]:
    if decision.cost.hours:
        yield "by the device-hour, cheapest month first (taken: on the scenario's terms):"
    for offer in decision.cost.hours:
        unit = offer["devices_per_unit"]
        yield (
            f"  {cents(offer['usd_per_month']):>14}  {_plain(offer['usd_per_device_hour'])} at "
            f"{offer['seller']}, {offer['terms']}" + (f", in units of {unit}" if unit > 1 else "")
            + ("; taken" if offer["taken"] else f"; not taken: {offer['kind']}")
            + f"; {offer['source']}, {offer['as_of']}"
        )  # fmt: skip


def _times(item: BillLine) -> str:
    if item.quantity is None or item.unit_usd is None:
        return ""
    return f", {figure(item.quantity)} {item.unit} x {_plain(item.unit_usd)}"


def _from(item: BillLine) -> str:
    source = ", ".join(part for part in (item.source, item.as_of) if part)
    return "".join(f"; {part}" for part in (source, item.note) if part)


def _break_evens(evens: list[BreakEven]) -> Iterator[str]:
    yield "break-even volume, whole replicas against tokens bought:"
    if not evens:
        yield "  not compared: managed is not open, or a price or the volume is unknown"
    for even in evens:
        people = "with people" if even.with_people else "without people"
        at = "" if even.mtok_per_month is None else f"{even.mtok_per_month:,.0f} M tokens a month, "
        yield f"  {even.against}, {people}: {at}{even.reason} [{even.evidence.value}]"
        if even.least_use is not None and even.planned_use is not None and not even.with_people:
            yield (
                f"    its own cost is earned from {even.least_use:.1%} of mean use on; peak, "
                f"headroom and active hours allow {even.planned_use:.1%}"
            )
        if (change := even.change) is not None and not even.with_people:
            yield (
                f"    some volume would pay if one thing alone passed {change.factor:,.3g} times "
                f"today's: tokens above {change.usd_per_mtok:,.3f} USD per M, a replica that "
                f"carries over {change.capacity_mtok:,.0f} M a month, or one below "
                f"{change.replica_usd:,.0f} USD a month"
            )


def _turns(decision: Decision) -> Iterator[str]:
    for turn in decision.cost.turns:
        now = "" if turn.now is None else f" (now {_short(turn.now)})"
        at = turn.reason if turn.at is None else f"{_short(turn.at)} {turn.unit}"
        yield f"  {turn.what}{now}: {at} [{turn.evidence.value}]"
    for plan in decision.cost.hybrid:
        yield (
            f"  base with peaks bought, {plan.text}: {plan.usd:,.2f} USD a month "
            f"[{plan.evidence.value}]"
        )


def _risks(decision: Decision) -> Iterator[str]:
    if decision.cost.redundancy:
        yield "what happens when the one card dies:"
    for spare in decision.cost.redundancy:
        extra = (
            "a spare's price is unknown" if spare.extra_usd is None
            else f"a spare costs {spare.extra_usd:,.2f} USD a month"
        )  # fmt: skip
        yield f"  {spare.path}: {spare.without}; {extra} [{spare.evidence.value}]"
    if decision.cost.exits:
        yield "how to leave again:"
    for way in decision.cost.exits:
        yield f"  {way.path}: {cents(way.usd)}: {way.what} [{way.evidence.value}]"


def _people(decision: Decision) -> Iterator[str]:
    yield "who does it:"
    for duty in decision.ops.duties:
        yield f"  {duty.text}: {duty.who}"
    for row in decision.cost.faster:
        yield f"  {row.engine}, against {row.against}: {row.text} [{row.evidence.value}]"


def _lists(listed: list[Quote], why_none: str) -> Iterator[str]:
    yield "price lists (USD per M tokens):"
    if why_none:
        yield f"  {why_none}"
        return
    odd = [quote for quote in listed if quote.verdict not in ("agree", "same list")]
    same = sum(quote.verdict == "same list" for quote in listed)
    yield (
        f"  {len(listed)} charges compared, {same} of them taken from the list they are compared "
        f"with; {len(odd)} differ or stand in one list only"
    )
    for quote in odd:
        yield (
            f"  {quote.verdict}: {quote.seller}, {quote.sold_as}, {quote.charge}: "
            f"{_plain(quote.ours)} ({quote.ours_source}, {quote.ours_as_of}) against "
            f"{_plain(quote.theirs)} ({quote.theirs_source})"
            + (f"; {quote.note}" if quote.note else "")
        )


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _plain(price: Decimal | None) -> str:
    return "not listed" if price is None else f"{price.normalize():,f}"
