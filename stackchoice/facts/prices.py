"""What is sold, by whom, for how much, since when: tokens, hours, servers. USD.

A price is appended with its date, never overwritten, and says what exactly it buys.
"""

from decimal import Decimal
from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import AsOf, Datum, Record, Source


class TokenRow(Record):
    """One row of metered prices, in USD per million tokens.

    Without a price of its own, cached and written input costs what input costs.
    """

    input_usd_per_mtok: Decimal = Field(ge=0)
    cached_input_usd_per_mtok: Decimal | None = Field(default=None, ge=0)
    cache_write_usd_per_mtok: Decimal | None = Field(default=None, ge=0)
    output_usd_per_mtok: Decimal = Field(ge=0)


class TokenTier(TokenRow):
    """Prices of requests with more input tokens than ``above_input_tokens``: all tokens move."""

    above_input_tokens: int = Field(gt=0)


class VolumeDiscount(Record):
    """A graduated discount: on the tokens of a month beyond ``above_mtok`` millions only."""

    above_mtok: Decimal = Field(ge=0)
    discount_share: Decimal = Field(ge=0, le=1)


class PeakHours(Record):
    """Hours of the seller's week in which every price is ``multiple`` times the listed one."""

    multiple: Decimal = Field(ge=1)
    hours_per_day: Decimal = Field(gt=0, le=24)
    days_per_week: int = Field(ge=1, le=7)
    when: str

    @property
    def share_of_week(self) -> Decimal:
        """The hours' share of all hours: a load that never sleeps meets it."""
        return self.hours_per_day * self.days_per_week / (24 * 7)


class TokenPrice(TokenRow):
    """Metered price from a date on, in USD per million tokens. Appended, never overwritten.

    ``batch`` are the prices for work that can wait, where the seller lists them: they replace the
    others and are not multiplied with them.
    """

    starts: AsOf
    currency: Literal["USD"] = "USD"
    tiers: list[TokenTier] = []
    batch: TokenRow | None = None
    peak: PeakHours | None = None
    volume_discounts: list[VolumeDiscount] = []
    minimum_usd_per_month: Decimal = Field(default=Decimal(0), ge=0)
    source: Source

    def row(self, input_tokens: float) -> TokenRow:
        """Return the prices of a request of this length."""
        reached = [t for t in self.tiers if input_tokens > t.above_input_tokens]
        return max(reached, key=lambda t: t.above_input_tokens, default=self)


class Offer(Record):
    """What one seller sells under a model's name.

    One name, different products: precision, context and enforcement are facts of their own,
    unknown where nobody says.
    """

    model: str
    sold_as: str
    note: str = ""
    precision: Datum[str] = Datum[str]()
    context_tokens: Datum[int] = Datum[int]()
    features: dict[str, Datum[bool]] = {}
    prices: list[TokenPrice] = Field(min_length=1)

    @property
    def price(self) -> TokenPrice:
        """The newest price."""
        return max(self.prices, key=lambda p: p.starts)


class Seller(Record):
    """A managed endpoint: who sells which models, and what is known of the service."""

    id: str
    name: str
    kind: Literal["direct", "aggregator"] = "direct"
    features: dict[str, Datum[bool]] = {}
    retention: Datum[str] = Datum[str]()
    regions: Datum[list[str]] = Datum[list[str]]()
    offers: list[Offer]

    def offer(self, model_id: str) -> Offer | None:
        """Return the offer for a model, or None when this seller has none."""
        return next((o for o in self.offers if o.model == model_id), None)


#: What is sold by the hour. Only the first two are taken unless a scenario asks for another.
Terms = Literal[
    "on demand", "community", "marketplace", "floor price", "dedicated endpoint", "reserved", "spot"
]


class HourPrice(Record):
    """A rental price per device and hour, in USD, and what exactly is sold for it.

    ``kind`` is what a scenario's terms are matched with: a floor price says "from", a
    marketplace moves by the day, spot can be taken away. ``bills_start`` also bills the time in
    which the machine starts; ``billing_step_s`` is the unit of time that is billed.
    """

    machine: str
    seller: str
    kind: Terms
    terms: str
    currency: Literal["USD"] = "USD"
    devices_per_unit: int = Field(default=1, ge=1)
    billing_step_s: int | None = Field(default=None, ge=1)
    bills_start: bool = False
    starts: AsOf
    usd_per_device_hour: Decimal = Field(gt=0, le=1_000_000)
    source: Source


class ServerPrice(Record):
    """Purchase price of a complete server with ``devices`` accelerators, in USD."""

    machine: str
    currency: Literal["USD"] = "USD"
    devices: int = Field(ge=1)
    usd: Decimal = Field(gt=0, le=10**12)
    installation_usd: Decimal = Field(ge=0, le=10**12)
    power_kw: Datum[float]
    starts: AsOf
    source: Source
