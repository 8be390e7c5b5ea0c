"""What a month of metered tokens costs: one formula for bills and for draws.

``[(I - cached - written) p_in + cached p_c + written p_w + O p_o] / 10^6``, times
``1 + theta (kappa - 1)`` for the share ``theta`` that falls into hours at ``kappa`` times the
price. Cached and written tokens are parts of the input, reasoning tokens a part of the output:
nothing is added to either. USD, tokens, USD per million tokens.
"""

from collections.abc import Sequence
from decimal import Decimal

from stackchoice.cost.numbers import MILLION, Number, decimal, larger, smaller, where
from stackchoice.cost.records import Volume
from stackchoice.facts.prices import TokenPrice, TokenRow

#: One charge: what is sold, how many tokens, USD per million of them.
Charge = tuple[str, Number, Number]


def charges(
    *, input_tokens: Number, output_tokens: Number, input_price: Number, output_price: Number,
    cached_tokens: Number = 0, written_tokens: Number = 0, cached_price: Number | None = None,
    write_price: Number | None = None,
) -> list[Charge]:  # fmt: skip
    """Return the charges of a month; a kind without a price of its own costs what input costs."""
    cached_price = input_price if cached_price is None else cached_price
    write_price = input_price if write_price is None else write_price
    rest = input_tokens - cached_tokens - written_tokens  # may round to just below nothing
    return [
        ("input, not cached", larger(rest, input_tokens * 0), input_price),
        ("input, read from cache", cached_tokens, cached_price),
        ("input, written to cache", written_tokens, write_price),
        ("output, reasoning inside", output_tokens, output_price),
    ]


def charge_usd(tokens: Number, usd_per_mtok: Number) -> Number:
    """Return what so many tokens cost."""
    return tokens * usd_per_mtok / MILLION


def banded(usd: Number, mtok: Number, bands: Sequence[tuple[Number, Number]]) -> Number:
    """Return a bill after graduated volume discounts.

    ``bands`` are (from how many M tokens, discount share), ascending. Each band's discount holds
    for the tokens inside it only; a cliff, where all tokens move, is a tier of the price.
    """
    if not bands:
        return usd
    saved = 0
    for (start, share), following in zip(bands, [*bands[1:], None], strict=True):
        inside = larger(mtok - start, mtok * 0)
        if following is not None:
            inside = smaller(inside, following[0] - start + mtok * 0)
        saved = saved + inside * share
    return usd * (1 - saved / where(mtok > 0, mtok, mtok * 0 + 1))


def priced(volume: Volume, row: TokenRow, share: Decimal) -> list[Charge]:
    """Return the charges of a share of a month at one row of prices."""
    return charges(
        input_tokens=decimal(volume.input_tokens) * share,
        cached_tokens=decimal(volume.cached_tokens) * share,
        written_tokens=decimal(volume.cache_write_tokens) * share,
        output_tokens=decimal(volume.output_tokens) * share,
        input_price=row.input_usd_per_mtok, cached_price=row.cached_input_usd_per_mtok,
        write_price=row.cache_write_usd_per_mtok, output_price=row.output_usd_per_mtok,
    )  # fmt: skip


def metered_charges(volume: Volume, price: TokenPrice) -> list[Charge]:
    """Return the charges of a month of tokens at a seller's price, before adjustments.

    The row is that of the mean input length (a tier moves every token of a request). What can
    wait is billed by the seller's batch row where there is one, else like the rest.
    """
    row = price.row(volume.input_tokens / volume.requests if volume.requests else 0)
    if price.batch is None or not volume.batch_share:
        return priced(volume, row, Decimal(1))
    waits = decimal(volume.batch_share)
    batch = [(f"{what}, batch", t, p) for what, t, p in priced(volume, price.batch, waits)]
    return priced(volume, row, 1 - waits) + batch


def adjusted_usd(usd: Decimal, volume: Volume, price: TokenPrice) -> Decimal:
    """Return a bill after hours at a peak price and graduated discounts, before any minimum."""
    if price.peak is not None:
        share = price.peak.share_of_week if volume.peak_share is None else volume.peak_share
        usd *= 1 + decimal(share) * (price.peak.multiple - 1)
    bands = [(b.above_mtok, b.discount_share) for b in price.volume_discounts]
    after: Decimal = banded(usd, decimal(volume.total_mtok), bands)
    return after


def metered_usd(volume: Volume, price: TokenPrice) -> Decimal:
    """Return the bill for a month of tokens at one seller, its monthly minimum included."""
    usd = sum(charge_usd(t, p) for _, t, p in metered_charges(volume, price))
    usd = adjusted_usd(usd, volume, price)
    return max(usd, price.minimum_usd_per_month)
