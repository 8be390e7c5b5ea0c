"""A choice carried out: what to run or buy, and what to measure before money is spent."""

from decimal import Decimal
from typing import Literal

from stackchoice.facts.datum import Evidence, Record


class RunSetting(Record):
    """One setting of a launch line: the engine's own name, the value, what it is."""

    name: str
    flag: str
    value: str
    environment: bool = False
    evidence: Evidence


class Reliance(Record):
    """A default of a release that the arithmetic relied on, and where it was read."""

    text: str
    source: str
    evidence: Evidence


class Runnable(Record):
    """An option as something to run or to buy.

    ``commands`` are shell lines, quoted for a POSIX shell. ``not_set`` names what was assumed and
    has no flag.
    """

    role: str
    option: str
    artifact: str
    revision: str | None = None
    engine: str = ""
    release: str = ""
    machine: str = ""
    seller: str = ""
    commands: list[str] = []
    settings: list[RunSetting] = []
    not_set: list[str] = []
    relies_on: list[Reliance] = []
    limits: list[str] = []
    notes: list[str] = []
    source: str = ""


class Limit(Record):
    """One limit that is written before the run: a measurement passes, fails, or is between.

    ``figure`` is what a live run must measure for it; empty: nothing that a run measures.
    """

    figure: Literal[
        "", "requests_per_s", "admitted", "decode_tokens_per_s", "ttft_p99_s", "itl_p99_s",
        "end_to_end_p99_s", "error_share", "schema_breaks",
    ] = ""  # fmt: skip
    at_once: int | None = None
    measure: str
    unit: str
    pass_at_least: float | None = None
    pass_at_most: float | None = None
    fail_below: float | None = None
    fail_above: float | None = None
    predicted: tuple[float, float] | None = None
    evidence: Evidence
    derived_from: str

    def verdict(self, measured: float) -> Literal["pass", "fail", "between"]:
        """Judge a measurement by the limits as they were written."""
        if self.fail_below is not None and measured < self.fail_below:
            return "fail"
        if self.fail_above is not None and measured > self.fail_above:
            return "fail"
        short = self.pass_at_least is not None and measured < self.pass_at_least
        over = self.pass_at_most is not None and measured > self.pass_at_most
        return "between" if short or over else "pass"


class Rental(Record):
    """What to rent for a measurement. ``usd`` None: no price is known."""

    machine: str
    seller: str = ""
    usd_per_device_hour: Decimal | None = None
    devices_paid: int | None = None
    hours: float
    usd: Decimal | None
    usd_cap: Decimal | None
    note: str = ""
    source: str = ""
    evidence: Evidence = Evidence.ASSUMED


class Spend(Record):
    """What a sample at a metered endpoint costs, and the spend at which to stop.

    ``flips_above_usd_per_month`` is the seller's monthly bill above which the answer changes.
    """

    seller: str
    sold_as: str
    requests: int
    usd: Decimal
    usd_cap: Decimal
    flips_above_usd_per_month: Decimal | None = None
    source: str = ""
    evidence: Evidence = Evidence.ASSUMED


class Plan(Record):
    """The confirmation before the card is bought. Its limits are written before the run."""

    rental: Rental | None
    metered: Spend | None
    measurement: str
    why: str
    limits: list[Limit]
    ask_first: list[str]


class BoardRow(Record):
    """A question of a review board, with its answer. ``said``: somebody stands behind it."""

    question: str
    answer: str
    evidence: Evidence
    said: bool
