"""Running sums of a log, and the figures that follow from them."""

import math
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

from stackchoice.facts.traffic import Distribution
from stackchoice.traffic.fields import Instant
from stackchoice.traffic.measured import Measured, Peak, Reused, Skipped

N = TypeVar("N", bound=float)

MINUTE, HOUR, DAY = 60, 3_600, 86_400
#: Windows of the peak factor, the first whose mean holds enough requests to be no accident.
WINDOWS = (60, 300, 900, 3_600)
ENOUGH = 10
DAYS_PER_MONTH = 365.25 / 12
#: A duration without a unit is seconds where its median is below this: a reply in fewer
#: milliseconds there is none.
BARE_SECONDS = 60
#: From so many hours a day on, traffic counts as going round the clock.
ROUND_THE_CLOCK = 20
SHAPES = ("json_schema", "tools", "images", "thinking")


class Sums:
    """Everything that is kept of a log while it is read."""

    def __init__(self) -> None:
        self.requests = self.unsized = self.blocks_forgotten = 0
        self.trace = ""
        self.minutes: Counter[int] = Counter()
        self.first = self.last = math.nan
        self.relative = False
        self.timed = self.naive = self.aware = self.backwards = 0
        self._before = -math.inf
        self.inputs: Counter[int] = Counter()
        self.outputs: Counter[int] = Counter()
        self.totals: Counter[int] = Counter()
        self.latencies: Counter[float] = Counter()
        self.bare: Counter[float] = Counter()
        self.ttfts: Counter[float] = Counter()
        self.users: set[int] = set()
        self.sessions: set[int] = set()
        self.models: set[int] = set()
        self.in_sessions = 0
        self.asked = dict.fromkeys(SHAPES, (0, 0))
        self.reasoning = self.reasoning_of = self.cached = self.cached_of = 0
        self.prompts = self.continued = 0
        self.prompt_tokens = self.shared_tokens = self.own_tokens = 0.0
        self.basis = ""

    def add(self, arrival: Instant | None, taken: int, made: int) -> None:
        """Count one request: when it came, and its tokens."""
        self.requests += 1
        self.inputs[taken] += 1
        self.outputs[made] += 1
        self.totals[taken + made] += 1
        if arrival is None:
            return
        at = arrival.seconds
        self.timed += 1
        self.relative = self.relative or arrival.relative
        self.naive += arrival.naive
        self.aware += not (arrival.naive or arrival.relative)
        self.backwards += at < self._before
        self._before = at
        self.first = at if math.isnan(self.first) else min(self.first, at)
        self.last = at if math.isnan(self.last) else max(self.last, at)
        self.minutes[int(at // MINUTE)] += 1

    def times(self, latency: float | None, ttft: float | None, bare: float | None) -> None:
        """Count durations, to three digits."""
        for value, kept in ((latency, self.latencies), (ttft, self.ttfts), (bare, self.bare)):
            if value is not None:
                kept[float(f"{value:.3g}")] += 1

    def identities(
        self, user: int | None, session: int | None, model: int | None, most: int
    ) -> None:
        """Count who asked, in which session, for which model."""
        self.in_sessions += session is not None
        for key, kept in ((user, self.users), (session, self.sessions), (model, self.models)):
            if key is not None and len(kept) < most:
                kept.add(key)

    def shape(self, asked: Mapping[str, bool], reasoning: int | None, cached: int | None) -> None:
        """Count what the body asked for and what the usage says besides."""
        for name, flag in asked.items():
            yes, known = self.asked[name]
            self.asked[name] = (yes + flag, known + 1)
        if reasoning is not None:
            self.reasoning += reasoning
            self.reasoning_of += 1
        if cached is not None:
            self.cached += cached
            self.cached_of += 1

    def reused(self, taken: int, shared: float, own: float, basis: str) -> None:
        """Count how much of one prompt was seen before."""
        shared = min(shared, taken)
        own = min(own, taken - shared)
        self.prompts += 1
        self.continued += own > 0
        self.prompt_tokens += taken
        self.shared_tokens += shared
        self.own_tokens += own
        self.basis = basis

    def measured(
        self, *, file: str, rows: int, skipped: list[Skipped], window_s: int | None
    ) -> Measured:
        """Return the figures."""
        span = self.last - self.first if self.timed > 1 and self.last > self.first else None
        notes = self._notes()
        latencies = self.latencies
        if not latencies and self.bare:
            if _quantile(self.bare, 0.5) < BARE_SECONDS:
                latencies = self.bare
            else:
                notes.append("latencies without a unit were not used; say --time-unit s or ms")
        rate = (self.timed - 1) / span if span else None
        hours, days = self._active()
        mean_latency = _mean(latencies) if latencies else None
        mtok = (_sum(self.inputs) + _sum(self.outputs)) / self.requests / 1e6
        daily, ends = self._daily(span, hours)
        turns, inferred = self._turns()
        return Measured(
            file=file,
            rows=rows,
            requests=self.requests,
            skipped=skipped,
            first=self._moment(self.first),
            last=self._moment(self.last),
            span_s=span,
            arrival_per_s=rate,
            peak=self._peak(span, window_s),
            active_hours_per_day=hours if span and span >= DAY else None,
            active_days=days,
            requests_per_day=daily,
            requests_per_day_range=ends,
            mtok_per_month=daily * DAYS_PER_MONTH * mtok if daily else None,
            mtok_per_month_range=ends and tuple(end * DAYS_PER_MONTH * mtok for end in ends),
            concurrency=rate * mean_latency if rate and mean_latency is not None else None,
            latency_s=_summary(latencies),
            ttft_s=_summary(self.ttfts),
            input_tokens=_distribution(self.inputs),
            output_tokens=_distribution(self.outputs),
            total_tokens=_distribution(self.totals),
            users=len(self.users) or None,
            sessions=len(self.sessions) or None,
            turns_per_session=turns,
            sessions_inferred=inferred,
            reused=self._reuse(turns),
            seller_cached_share=self._cached_share(),
            shares={n: y / k if k else None for n, (y, k) in self.asked.items()},
            reasoning_share_of_output=self.reasoning / _sum(self.outputs)
            if self.reasoning_of and _sum(self.outputs) else None,
            models=len(self.models) or None,
            notes=notes,
        )  # fmt: skip

    def _active(self) -> tuple[float, int | None]:
        """Hours with requests per day with requests, and those days."""
        if not self.minutes:
            return 0.0, None
        zero = int(self.first // MINUTE) if self.relative else 0
        hours = {(m - zero) // 60 for m in self.minutes}
        days = {h // 24 for h in hours}
        return len(hours) / len(days), len(days)

    def _daily(
        self, span: float | None, hours: float
    ) -> tuple[float | None, tuple[float, float] | None]:
        """Requests a day, with what it may be: dates touched and the bare span bound it.

        Less than a day says only that these came, and at most that they go on all day.
        """
        if span is None:
            return None, None
        days = span / DAY
        if days < 1:
            return None, (float(self.timed), self.timed / days)
        touched = self._active()[1] or 1
        low, high = sorted((self.timed / max(touched, days), self.timed / days))
        return (high if hours >= ROUND_THE_CLOCK else low), (low, high)

    def _peak(self, span: float | None, window_s: int | None) -> Peak:
        hours = len({m // 60 for m in self.minutes})
        window = window_s or next(
            (w for w in WINDOWS if hours and self.timed * w / (hours * HOUR) >= ENOUGH), WINDOWS[-1]
        )
        length = "minute" if window == MINUTE else f"{window / MINUTE:g} minutes"
        words = f"busiest {length} over the mean of the hours with requests"
        if span is None:
            return Peak(window_s=window, definition=words, why="the log has no times")
        bins: Counter[int] = Counter()
        for minute, count in self.minutes.items():
            bins[minute * MINUTE // window] += count
        busiest = max(bins.values()) / window
        active = min(span, hours * HOUR) if span < DAY else hours * HOUR
        factor = max(1.0, busiest / (self.timed / active)) if active >= window else None
        peak = Peak(window_s=window, definition=words, busiest_per_s=busiest)
        if span < DAY:
            seen = f"; inside it the factor was {factor:,.2f}" if factor else ""
            return peak.model_copy(
                update={"why": f"a log of less than a day does not show a day's peak{seen}"}
            )
        if not window_s and self.timed * window / (hours * HOUR) < ENOUGH:
            return peak.model_copy(update={"why": "too few requests: fewer than 10 an hour"})
        return peak.model_copy(update={"factor": factor})

    def _turns(self) -> tuple[float | None, bool]:
        if self.sessions and self.in_sessions:
            return self.in_sessions / len(self.sessions), False
        if self.prompts and self.continued < self.prompts:
            return self.prompts / (self.prompts - self.continued), True
        return None, False

    def _reuse(self, turns: float | None) -> Reused | None:
        if not self.prompt_tokens:
            return None
        fresh = self.prompt_tokens - self.shared_tokens
        later = (turns - 1) / turns if turns else 0
        resent = self.own_tokens / (fresh * later) if fresh and later else None
        by_tokens = None
        if resent is not None and resent > 1 and self.own_tokens < fresh:
            by_tokens, resent = fresh / (fresh - self.own_tokens), 1.0
        return Reused(
            turns_by_tokens=by_tokens,
            across_share=self.shared_tokens / self.prompt_tokens,
            within_share=self.own_tokens / self.prompt_tokens,
            shared_prefix_tokens=self.shared_tokens / self.prompts,
            resent_share=0.0 if resent is None and not self.own_tokens else resent,
            basis=self.basis,
            requests=self.prompts,
        )

    def _cached_share(self) -> float | None:
        return self.cached / _sum(self.inputs) if self.cached_of and _sum(self.inputs) else None

    def _moment(self, seconds: float) -> str | None:
        if self.relative or math.isnan(seconds):
            return None
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")

    def _notes(self) -> list[str]:
        notes = []
        if self.trace:
            notes.append(f"read as a trace of the kind {self.trace}")
        if missing := self.requests - self.timed:
            notes.append(f"{missing:,} requests without a time; a bare number needs --time-unit, "
                         "and 03/04/2026 may be two days: write 2026-04-03")  # fmt: skip
        if self.naive:
            mixed = ", beside others with one" if self.aware else ""
            notes.append(f"{self.naive:,} times without a zone, read as UTC{mixed}")
        if self.backwards:
            notes.append(f"{self.backwards:,} rows out of order; reuse follows the file's order")
        if len(self.models) > 1:
            notes.append(f"{len(self.models)} models are mixed; measure one with --model NAME")
        if self.blocks_forgotten:
            notes.append("reuse of blocks that were not used for long is not counted")
        if self.unsized:
            notes.append("block hashes of unknown size; say --block-tokens")
        return notes


def _quantile(counts: Counter[N], share: float) -> float:
    """Return the smallest value that at least ``share`` of the requests do not exceed."""
    wanted, seen = share * sum(counts.values()), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return max(counts)


def _sum(counts: Counter[int]) -> int:
    return sum(value * count for value, count in counts.items())


def _mean(counts: Counter[float] | Counter[int]) -> float:
    return sum(value * count for value, count in counts.items()) / sum(counts.values())


def _summary(counts: Counter[float]) -> dict[str, float] | None:
    if not counts:
        return None
    shares = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
    return {"mean": _mean(counts), **{name: _quantile(counts, q) for name, q in shares.items()}}


def _distribution(counts: Counter[int]) -> Distribution:
    quantiles = {f"p{q}": _quantile(counts, q / 100) for q in (10, 50, 90, 95)}
    return Distribution(mean=_mean(counts), max=max(counts), **quantiles)
