"""The records of a load run: one request, the client's own health, the floor, one repetition.

Everything above (passport, comparison, import) builds on these and on nothing else of this room.
Times are seconds, ``None`` means unknown, and a chunk is never taken for a token.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from pydantic import Field, model_validator

from stackchoice.facts.datum import Evidence, Record
from stackchoice.load.health import ClientHealth
from stackchoice.load.rules import load_rules

#: Which part of a run a request belongs to; only ``timed`` ones are counted.
Phase = Literal["warmup", "ramp", "timed", "tail"]


class Failure(StrEnum):
    """Why a request gave no usable answer. Each class is counted on its own."""

    ADMISSION_REJECTED = "admission_rejected"  # 429 or 503: the server is full
    CONTEXT_REJECTED = "context_rejected"  # the prompt is too long for this server
    REJECTED = "rejected"  # any other status from 300 to 499
    SERVER_ERROR = "server_error"  # any other status from 500 on
    TRANSPORT = "transport"  # no connection, or one that broke
    MID_STREAM_ERROR = "mid_stream_error"  # status 200, then an error inside the stream
    MALFORMED = "malformed"  # garbage where events were promised, or bytes that are no UTF-8
    OVERSIZED = "oversized"  # more bytes than any answer has
    TIMEOUT = "timeout"
    NO_TOKENS = "no_tokens"  # status 200 and not one token
    TRUNCATED_STREAM = "truncated_stream"  # ended without [DONE] and without a finish reason
    LENGTH_TRUNCATED = "length_truncated"  # cut at the token limit where it should have stopped
    SCHEMA_OR_TOOL = "schema_or_tool"  # completed, but not in the shape that was asked for
    COMPLETED_BUT_WRONG = "completed_but_wrong"  # completed, and the answer is not right
    CLIENT_FAULT = "client_fault"  # this side's fault (files, ports, memory): a discard, no failure
    CANCELLED = "cancelled"  # ended by the client because the run was over


class Usage(StrEnum):
    """What the server's own count of tokens is worth."""

    REPORTED = "reported"
    MISSING = "missing"
    CONTRADICTED = "contradicted"  # it cannot be true of what was received; tokens are unknown


class Sample(Record):
    """One request as measured.

    Attributes
    ----------
    ttft_s
        From writing the request to the first non-empty token of any channel (content, reasoning,
        tool call, refusal). Connecting is not in it.
    answer_ttft_s
        The same for the first token of the answer proper.
    end_to_end_s
        To the last chunk that carried content; ``[DONE]`` and usage come later and do not count.
    intended_ttft_s, intended_end_to_end_s
        The same from the time at which the plan wanted the request sent: waiting for the client,
        for a socket and for a connection included. A user sees these.
    slip_s
        How much later than intended the client took the request up; its own fault alone.
    connect_s
        Time for TCP and TLS, 0 on a connection that was open already.
    resent
        It was sent a second time, because the server had closed the kept connection.
    itl_s
        (last - first) / (completion tokens - tokens that came with the first read), from the
        server's own count of tokens. A closing token that the server counts and does not send (end
        of text) makes it low by one part in the tokens.
    first_tokens, first_tokens_evidence
        Tokens in the first read: computed (chunks of one token), reported (usage in every chunk) or
        inferred (its share of the characters, where chunks are bundled).
    decode_tokens_per_s
        1 / ``itl_s``.
    gap_median_s, gap_max_s
        Gaps between reads with content: another metric than ITL as soon as chunks are bundled.
    prefill_tokens_per_s
        (prompt - cached tokens) / ``ttft_s``. TTFT also holds queueing, tokenising and the first
        decode step, so this is a lower bound on the prefill rate.
    server_prefill_tokens_per_s, server_decode_tokens_per_s
        The server's own account (llama.cpp's ``timings``), a cross-check of the two above.
    tool_calls
        Name and arguments (as the text that came) of each call.
    fingerprint, server, id_prefix
        Who gave the answer, as far as it says: its ``system_fingerprint``, the ``Server`` header,
        and the word that its id begins with (empty where it begins with none).
    launch, repetition
        Which load it was a part of, counted from 0.
    """

    status: int | None = None
    failure: Failure | None = None
    failure_detail: str = ""
    first_byte_s: float | None = None
    ttft_s: float | None = None
    answer_ttft_s: float | None = None
    end_to_end_s: float | None = None
    intended_ttft_s: float | None = None
    intended_end_to_end_s: float | None = None
    slip_s: float | None = None
    connect_s: float | None = None
    resent: bool = False
    itl_s: float | None = None
    first_tokens: float | None = None
    first_tokens_evidence: Evidence | None = None
    gap_median_s: float | None = None
    gap_max_s: float | None = None
    decode_tokens_per_s: float | None = None
    prefill_tokens_per_s: float | None = None
    server_prefill_tokens_per_s: float | None = None
    server_decode_tokens_per_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    usage: Usage = Usage.MISSING
    content_chunks: int = 0
    finish_reason: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    server: str | None = None
    id_prefix: str | None = None
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[tuple[str, str], ...] = ()
    launch: int = 0
    repetition: int = 0


class Spread(Record):
    """One figure over the usable samples: centre and range always, percentiles when earned.

    A percentile is None while ``n`` is below its floor (``data/run_rules.yaml``). What others
    reported may lack ``n`` and the range, and its centre need not be a median.

    Attributes
    ----------
    median
        The central figure; what it is says ``centre`` (``stated``: the source does not say).
    """

    n: int | None = Field(default=None, ge=1)
    median: float = Field(ge=0, allow_inf_nan=False)
    centre: Literal["median", "mean", "stated"] = "median"
    low: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    high: float | None = Field(default=None, allow_inf_nan=False)
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    evidence: Evidence = Evidence.MEASURED

    @model_validator(mode="after")
    def _ordered(self) -> Spread:
        low = self.median if self.low is None else self.low
        high = self.median if self.high is None else self.high
        if not low <= self.median <= high:
            raise ValueError(f"low {self.low} <= median {self.median} <= high {self.high}")
        return self

    @classmethod
    def of(
        cls, values: Iterable[float | None], evidence: Evidence = Evidence.MEASURED
    ) -> Spread | None:
        """Summarise the known values; None when there is none."""
        known = sorted(v for v in values if v is not None)
        if not known:
            return None
        n = len(known)
        floors = load_rules().percentile_floors
        ranks = {name: known[math.ceil(n * int(name[1:]) / 100) - 1]
                 for name, floor in floors.items() if n >= floor}  # fmt: skip
        return cls(n=n, median=statistics.median(known), low=known[0], high=known[-1],
                   evidence=evidence, **ranks)  # fmt: skip

    def __str__(self) -> str:
        said = {name: self.percentile_text(name) for name in load_rules().percentile_floors}
        few = [name for name, text in said.items() if text.startswith("n too small")]
        earned = [f"{name} {text}" for name, text in said.items() if name not in few]
        earned += [f"n too small for {', '.join(few)}"] if few else []
        kind = "" if self.centre == "median" else f" [{self.centre}]"
        span = "range unknown"
        if self.low is not None and self.high is not None:
            span = f"{self.low:.4g} to {self.high:.4g}"
        return f"{self.median:.4g}{kind} ({span}, n = {self.n or 'unknown'}; {', '.join(earned)})"

    def in_ms(self, name: str) -> str:
        """Return a percentile of seconds in milliseconds as text, or why there is none."""
        value = getattr(self, name)
        return self.percentile_text(name) if value is None else f"{value * 1e3:.4g}"

    def percentile_text(self, name: str) -> str:
        """Return the percentile as text, or why there is none."""
        value, floor = getattr(self, name), load_rules().percentile_floors[name]
        if value is not None:
            return f"{value:.4g}"
        if self.n is None:
            return "unknown"
        return "not reported" if self.n >= floor else f"n too small ({self.n} of {floor})"


class Repetition(Record):
    """One repetition of the load within one launch of the engine.

    ``output_tokens_per_s`` is all tokens of timed requests over the time from the first sent to the
    last finished; ``requests_per_s`` likewise. ``stopped`` says why it ended early.
    """

    launch: int = 0
    number: int = 0
    seed: str = ""
    requests: int
    completed: int
    failures: dict[str, int] = Field(default_factory=dict)
    client_faults: int = 0
    usage_missing: int = 0
    usage_contradicted: int = 0
    other_model: int = 0
    duration_s: float | None = None
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    ttft_s: Spread | None = None
    itl_s: Spread | None = None
    end_to_end_s: Spread | None = None
    intended_ttft_s: Spread | None = None
    intended_end_to_end_s: Spread | None = None
    decode_tokens_per_s: Spread | None = None
    prefill_tokens_per_s: Spread | None = None
    health: ClientHealth | None = None
    stopped: str = ""
