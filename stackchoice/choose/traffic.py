"""Requests per second and tokens per request at one point of a scenario."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from stackchoice.cost.numbers import SECONDS_PER_HOUR
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.fit.prefix import ReuseRule

if TYPE_CHECKING:
    from stackchoice.choose.case import Case

#: What the peak rests on beside the day's requests, and what a request keeps busy.
ARRIVALS = ("workload.active_hours_per_day", "workload.peak_factor")
LENGTHS = ("workload.input_tokens", "workload.output_tokens")


class Traffic:
    """What arrives, and what a request brings (None: not known).

    Worked out when asked for, so that a sub-result depends on the inputs that it uses and no more.
    """

    def __init__(self, case: Case) -> None:
        self._case = case

    @cached_property
    def mean_per_s(self) -> float | None:
        """Requests a second, averaged over the active hours."""
        per_day = self._case.point.requests_per_day
        hours = self._case["workload.active_hours_per_day"]
        return per_day / (hours * SECONDS_PER_HOUR) if per_day and hours else None

    @cached_property
    def peak_per_s(self) -> float | None:
        """Requests a second at the peak."""
        mean, peak = self.mean_per_s, self._case["workload.peak_factor"]
        return mean * peak if mean and peak else None

    @property
    def peak_evidence(self) -> Evidence:
        """Class of what follows from the peak: inferred, and no better than what it rests on."""
        point = self._case.point
        return weakest(Evidence.INFERRED, point.evidence(*point.volume_paths, *ARRIVALS, *LENGTHS))

    @property
    def missing(self) -> list[str]:
        """The inputs that nobody gave, and without which the tokens of a month are unknown."""
        point = self._case.point
        return [path for path in (*point.volume_paths, *LENGTHS) if not point.known(path)]

    @cached_property
    def input_tokens(self) -> float | None:
        """Tokens a request sends, the shared prefix among them."""
        tokens: float | None = self._case["workload.input_tokens"]
        return tokens

    @cached_property
    def output_tokens(self) -> float | None:
        """Tokens of a reply, reasoning among them."""
        tokens: float | None = self._case["workload.output_tokens"]
        return tokens

    @cached_property
    def context_tokens(self) -> int | None:
        """The length that one request may reach."""
        tokens: int | None = self._case["workload.context_tokens"]
        return tokens

    @cached_property
    def shared_tokens(self) -> float | None:
        """Tokens of the beginning that all requests share."""
        tokens: float | None = self._case["workload.shared_prefix_tokens"]
        return tokens

    @cached_property
    def prefill_tokens(self) -> float | None:
        """Tokens to prefill: the shared prefix and what a session resends are reused."""
        return self._prefill_after(self.shared_tokens or 0)

    def prefill_at(self, reuse: ReuseRule | None, end: str) -> float | None:
        """Tokens to prefill: of what is shared, what a release finds again is reused.

        Where nobody read what a release finds, that is an interval too: nothing is found at the
        slow end (``low``), all of it at the fast end (``high``), half of it in the middle.
        """
        tokens, shared, least = self.input_tokens, self.shared_tokens, self.prefill_tokens
        if tokens is None or least is None:
            return None
        if reuse is None:
            return {"low": tokens, "high": least}.get(end, (tokens + least) / 2)
        if not tokens or not shared:
            return least
        return self._prefill_after(reuse.hit(int(tokens), int(shared)).tokens)

    def room(self, reuse: ReuseRule | None) -> float:
        """How many times more a pool holds at most, where it keeps once what prompts share.

        More sequences at once serve at most as many times more.
        """
        tokens, shared, context = self.input_tokens, self.shared_tokens, self.context_tokens
        if reuse is None or not (tokens and shared and context):
            return 1.0
        return context / max(1, context - reuse.hit(int(tokens), int(shared)).tokens)

    def _prefill_after(self, found_tokens: float) -> float | None:
        """Tokens to prefill when so many of the shared ones are found, and later turns resend."""
        tokens_in = self.input_tokens
        if tokens_in is None:
            return None
        found = found_tokens / tokens_in if tokens_in else 0
        return tokens_in * (1 - min(1.0, found)) * (1 - self._resent)

    @cached_property
    def _resent(self) -> float:
        """The share of a prompt that its session sent before: the first turn resends nothing."""
        turns: float = self._case["workload.turns_per_session"] or 1
        return (self._case["workload.resent_share"] or 0) * (turns - 1) / turns

    @cached_property
    def spares(self) -> int:
        """Replicas that may be down at the peak; none where nobody asked for any."""
        return int(self._case["workload.spare_replicas"] or 0)

    @cached_property
    def cap(self) -> float:
        """The share of its rate that a replica may be loaded to."""
        return self._case.assumed("utilisation_cap")

    @cached_property
    def tail(self) -> float:
        """The share of requests that may wait longer than :meth:`wait_s`."""
        return self._case.assumed("queue_tail_share")

    def wait_s(self, prefill_s: float) -> float:
        """How long a request may wait for a slot: what the first token's limit leaves, if any."""
        limit = self._case["workload.ttft_p99_s"]
        if limit is None:
            return self._case.assumed("queue_wait_s")
        left_s: float = max(0.0, limit - prefill_s)
        return left_s
