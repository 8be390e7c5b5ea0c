"""What other price lists say of the same offers: the packed snapshot of ``genai-prices``.

Read offline and only when asked for. A list that disagrees is shown beside ours and settles
nothing; one that does not know an offer says nothing about it, and never a zero.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Literal

from stackchoice.facts.datum import Record
from stackchoice.facts.load import Facts
from stackchoice.facts.prices import Offer, Seller

PACKAGE = "genai-prices"
#: Key of the package's prices -> our name for the same charge, and our field of it.
CHARGES = {
    "input_mtok": ("input", "input_usd_per_mtok"),
    "cache_read_mtok": ("cached input", "cached_input_usd_per_mtok"),
    "cache_write_mtok": ("cache write", "cache_write_usd_per_mtok"),
    "output_mtok": ("output", "output_usd_per_mtok"),
}
#: A second list may round: prices nearer than this share of the larger agree.
SAME = Decimal("0.001")
Verdict = Literal["agree", "disagree", "same list", "only ours", "only theirs"]


class Quote(Record):
    """One charge of one offer in two lists, in USD per million tokens. None: not listed."""

    seller: str
    sold_as: str
    charge: str
    ours: Decimal | None
    ours_source: str
    ours_as_of: str
    theirs: Decimal | None
    theirs_source: str
    verdict: Verdict
    note: str = ""
    currency: Literal["USD"] = "USD"


def quotes(facts: Facts, model_id: str, on: date) -> tuple[list[Quote], str]:
    """Return every charge of every offer of a model in both lists, and why there are none.

    Parameters
    ----------
    facts
        The fact base with our own prices.
    model_id
        The model whose offers are compared.
    on
        The day the prices are to hold for; the package has dated changes. Prices that depend on
        the hour are taken at noon UTC, and said to.
    """
    try:
        import genai_prices
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return [], f"{PACKAGE} is not installed: pip install {PACKAGE}"
    snapshot = get_snapshot()
    label = f"{PACKAGE} {genai_prices.__version__}"
    noon = datetime.combine(on, time(12), tzinfo=UTC)
    found: list[Quote] = []
    for seller in facts.sellers.values():
        offer = seller.offer(model_id)
        if offer is None:
            continue
        try:
            lister, theirs = snapshot.find_provider_model(offer.sold_as, None, seller.id, None)
        except LookupError:
            continue
        if not any(theirs is model for model in lister.models):
            continue  # another seller's price, lent where this one lists none
        found += _compared(seller, offer, theirs, noon, label)
    if found:
        return found, ""
    return [], f"{label} lists none of the offers under these names"


def _compared(
    seller: Seller, offer: Offer, theirs: Any, when: datetime, label: str
) -> Iterator[Quote]:
    listed = theirs.get_prices(when)
    by_hour = _moves_within_a_day(theirs)
    for key, (charge, field) in CHARGES.items():
        ours: Decimal | None = getattr(offer.price, field)
        their: Any = getattr(listed, key, None)
        tiered = their is not None and not isinstance(their, Decimal)
        if tiered:
            their = their.base
        if ours is None and their is None:
            continue
        notes = ["first tier"] if tiered else []
        if by_hour:
            notes.append("theirs moves with the hour; at noon UTC here")
        yield Quote(
            seller=seller.name, sold_as=offer.sold_as, charge=charge, ours=ours, theirs=their,
            ours_source=offer.price.source.label, ours_as_of=offer.price.starts,
            theirs_source=label, note="; ".join(notes),
            verdict=_verdict(ours, their, PACKAGE in offer.price.source.label),
        )  # fmt: skip


def _verdict(ours: Decimal | None, theirs: Decimal | None, copied: bool) -> Verdict:
    """Judge a pair; where ours was taken from the same list, agreement confirms nothing."""
    if theirs is None:
        return "only ours"
    if ours is None:
        return "only theirs"
    if abs(ours - theirs) > SAME * max(ours, theirs):
        return "disagree"
    return "same list" if copied else "agree"


def _moves_within_a_day(theirs: Any) -> bool:
    prices = theirs.prices if isinstance(theirs.prices, list) else []
    return any(hasattr(price.constraint, "start_time") for price in prices)
