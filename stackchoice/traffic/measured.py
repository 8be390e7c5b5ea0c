"""What was measured in a request log: numbers and reasons, and nothing of its texts."""

from typing import Any

from stackchoice.facts.datum import Record
from stackchoice.facts.traffic import Distribution


class Skipped(Record):
    """Rows that were left out for one reason, and where the first of them stands."""

    reason: str
    rows: int
    first_line: int


class Peak(Record):
    """Arrivals of the busiest window over the mean of the active time; None: not known."""

    factor: float | None = None
    window_s: int
    busiest_per_s: float | None = None
    definition: str
    why: str = ""


class Reused(Record):
    """How much of the input began like an earlier prompt. Shares are of all input tokens.

    Where later turns are so much longer that the share of requests does not give the share of
    tokens, ``turns_by_tokens`` is the number of equal turns that does.
    """

    across_share: float
    within_share: float
    shared_prefix_tokens: float
    resent_share: float | None
    turns_by_tokens: float | None = None
    basis: str
    requests: int

    @property
    def share(self) -> float:
        """Everything that a cache large enough would have given back."""
        return self.across_share + self.within_share


class Measured(Record):
    """One log, measured. None is unknown, and ``notes`` say why."""

    file: str
    rows: int
    requests: int
    skipped: list[Skipped] = []
    first: str | None = None
    last: str | None = None
    span_s: float | None = None
    arrival_per_s: float | None = None
    peak: Peak
    active_hours_per_day: float | None = None
    active_days: int | None = None
    requests_per_day: float | None = None
    requests_per_day_range: tuple[float, float] | None = None
    mtok_per_month: float | None = None
    mtok_per_month_range: tuple[float, float] | None = None
    concurrency: float | None = None
    latency_s: dict[str, float] | None = None
    ttft_s: dict[str, float] | None = None
    input_tokens: Distribution
    output_tokens: Distribution
    total_tokens: Distribution
    users: int | None = None
    sessions: int | None = None
    turns_per_session: float | None = None
    sessions_inferred: bool = False
    reused: Reused | None = None
    seller_cached_share: float | None = None
    shares: dict[str, float | None]
    reasoning_share_of_output: float | None = None
    models: int | None = None
    notes: list[str] = []

    @property
    def span(self) -> str:
        """The stretch of time that the figures rest on, in words."""
        if self.span_s is None:
            return "no times"
        length = _length(self.span_s)
        return f"{length} from {self.first} to {self.last}" if self.first else length

    @property
    def origin(self) -> str:
        """Where the figures come from, for a scenario's ``from``."""
        return f"measured from {self.file}, {self.requests:,} requests, {self.span}"

    def to_json(self) -> dict[str, Any]:
        """Return everything, with the origin, for machines."""
        return {**self.model_dump(mode="json"), "origin": self.origin}


def _length(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.0f} seconds"
