"""What stands behind a decision: how its cost moves, how often each option wins, how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stackchoice.choose.decision import Flip
from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.frame import frame

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What one group of draws came to. ``usd`` are arrays of monthly totals by option."""

    wins: dict[str, int]
    self_hosted: str
    usd: dict[str, Any]
    never: bool | None


class Spread(Record):
    """The 10th, 50th and 90th percentile of an option's monthly total over the draws it is in."""

    low: float
    middle: float
    high: float
    draws: int


class Shares(Record):
    """How often each option wins over all draws, and how often owning never breaks even.

    ``never_breaks_even`` is the share of groups in which no volume pays, at either end of the
    throughput interval, with people or without; None where there was nothing to compare.
    """

    draws: int
    groups: int
    seed: int
    wins: dict[str, float]
    standard_error: float
    best_self_hosted: dict[str, float]
    never_breaks_even: float | None
    usd_per_month: dict[str, Spread]
    method: str


class Bar(Record):
    """The monthly total of one option with one input at either end of its range.

    ``usd_at_low`` belongs to the input at ``low``. None: the option does not survive there.
    """

    input: str
    low: float | str
    high: float | str
    usd_at_low: Decimal | None
    usd_at_high: Decimal | None
    evidence: Evidence

    @property
    def swing_usd(self) -> Decimal:
        """How far the total moves between the two ends."""
        if self.usd_at_low is None or self.usd_at_high is None:
            return Decimal(0)
        return abs(self.usd_at_high - self.usd_at_low)


class Tornado(Record):
    """The monthly total of one option against each input's range, the widest first."""

    option: str
    usd: Decimal | None
    bars: list[Bar]


class Defence(Record):
    """What stands behind a decision beyond the decision: slower to work out, so asked for apart.

    ``beyond`` are flips outside what was given: how far each input is from the next answer.
    """

    tornados: list[Tornado]
    beyond: list[Flip]
    shares: Shares

    def tornado_frame(self) -> DataFrame:
        """One row per option and input: the ends of the range and the monthly total there."""
        return frame(
            [
                {"option": t.option, **bar.model_dump(), "swing_usd": bar.swing_usd}
                for t in self.tornados for bar in t.bars
            ]
        )  # fmt: skip

    def shares_frame(self) -> DataFrame:
        """One row per outcome: the share of draws, and the monthly total in them."""
        return frame(
            [
                {"outcome": name, "share": share,
                 **{f"usd_{k}": v for k, v in (
                     self.shares.usd_per_month[name].model_dump(exclude={"draws"}).items()
                     if name in self.shares.usd_per_month else ())}}
                for name, share in self.shares.wins.items()
            ]
        )  # fmt: skip
