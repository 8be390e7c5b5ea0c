"""What the cost room hands on: bills line by line, break-evens, hybrids, redundancy, exits.

Money is USD and Decimal on every bill. An amount of None is unknown: it is never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pydantic import Field, model_validator

from stackchoice.facts.datum import Datum, Evidence, Record, weakest
from stackchoice.facts.records import Path

Kind = Literal["infrastructure", "people", "one-time"]


class Volume(Record):
    """Tokens a month, by what they are billed as.

    Cached and written tokens are parts of the input.
    ``batch_share`` can wait for batch prices; ``peak_share`` falls into the seller's dearer hours
    (None: not known, then the hours' share of the week).
    """

    requests: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    evidence: Evidence
    cache_write_tokens: float = Field(default=0, ge=0)
    batch_share: float = Field(default=0, ge=0, le=1)
    peak_share: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _parts_of_the_whole(self) -> Volume:
        part = self.cached_tokens + self.cache_write_tokens
        if part > self.input_tokens * (1 + 1e-9):
            raise ValueError(
                f"cached and written tokens of {part:,.0f} are more than the "
                f"{self.input_tokens:,.0f} they are part of"
            )
        return self

    @property
    def total_mtok(self) -> float:
        """Input and output together, in millions."""
        return (self.input_tokens + self.output_tokens) / 1e6


@dataclass(frozen=True)
class Purchase:
    """``servers`` complete servers to buy. Price, installation and power are of one.

    ``installation_usd`` and ``power_kw`` are the listed ones also at a quote of one's own.
    """

    servers: int
    usd: Decimal
    installation_usd: Decimal
    devices: int
    power_kw: Datum[float]
    evidence: Evidence
    source: str
    as_of: str


class BillLine(Record):
    """One line of a bill a month. ``usd`` None: a price is unknown, and so is the total.

    ``quantity`` of ``unit`` at ``unit_usd`` each, where the amount is such a product.
    """

    item: str
    kind: Kind = "infrastructure"
    quantity: float | None = None
    unit: str = ""
    unit_usd: Decimal | None = None
    usd: Decimal | None
    evidence: Evidence
    source: str = ""
    as_of: str = ""
    note: str = ""


class CostLine(Record):
    """One path's cost a month, in parts. ``infrastructure_usd`` None: a price is unknown.

    ``evidence`` is that of the infrastructure, ``people_evidence`` that of people and one-time
    cost. ``bill`` has the same month line by line.
    """

    path: Path
    what: str
    infrastructure_usd: Decimal | None
    people_usd: Decimal
    one_time_usd: Decimal
    people_evidence: Evidence
    evidence: Evidence
    parts: dict[str, Decimal] = {}
    bill: list[BillLine] = []
    note: str = ""
    source: str = ""

    @property
    def total_usd(self) -> Decimal | None:
        """Everything a month: infrastructure, people, one-time cost over the horizon."""
        if self.infrastructure_usd is None:
            return None
        return self.infrastructure_usd + self.people_usd + self.one_time_usd

    @property
    def total_evidence(self) -> Evidence:
        """The class of ``total_usd``: the weakest of what is summed."""
        return weakest(self.evidence, self.people_evidence)


class Change(Record):
    """The smallest change of one thing alone that would turn never into some volume.

    Any one of: the price of the mix above ``usd_per_mtok``, a replica that carries more than
    ``capacity_mtok``, or one that costs less than ``replica_usd``. All are today's by ``factor``.
    """

    factor: float
    usd_per_mtok: Decimal
    capacity_mtok: float
    replica_usd: Decimal


class BreakEven(Record):
    """The volume from which serving yourself costs less. None is *never*, and says why.

    ``least_use`` is the mean use of a replica over the whole month below which its own cost is not
    earned, people left out, at any volume; ``planned_use`` is what the peak, its headroom and the
    active hours allow at most. ``change`` is given where it is never.
    """

    against: str
    with_people: bool
    mtok_per_month: float | None
    replicas: int | None
    capacity_mtok_per_month: float | None
    reason: str
    evidence: Evidence
    least_use: float | None = None
    planned_use: float | None = None
    change: Change | None = None


class Turn(Record):
    """One input other than volume at which two paths cost the same; None is never, with reason.

    ``now`` is today's value where it is known.
    """

    what: str
    unit: str
    at: float | None
    now: float | None
    reason: str
    evidence: Evidence


class Curve(Record):
    """What a path costs a month at each of some volumes (M tokens, USD), people included."""

    path: Path
    name: str
    points: list[tuple[float, float]]
    evidence: Evidence


class Redundancy(Record):
    """What a path costs with spares, and what happens without: one replica down."""

    path: Path
    replicas: int
    spares: int
    extra_usd: Decimal | None
    total_usd: Decimal | None
    without: str
    evidence: Evidence


class Exit(Record):
    """What leaving a path costs at the end of the horizon. None: unknown."""

    path: Path
    usd: Decimal | None
    what: str
    evidence: Evidence


class Hybrid(Record):
    """A base of one's own with the peaks bought, at its best number of replicas."""

    base: Path
    replicas: int
    usd: Decimal
    managed_share: float
    text: str
    evidence: Evidence


class Faster(Record):
    """The gain from which another stack pays for the work it takes beyond the chosen one.

    ``gain`` 0.1 is ten percent faster; None is never. ``with_whole_replicas`` counts machines as
    they are bought.
    """

    engine: str
    against: str
    extra_fte: float
    gain: float | None
    with_whole_replicas: float | None
    text: str
    evidence: Evidence
