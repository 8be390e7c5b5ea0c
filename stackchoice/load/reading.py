"""From stamped raw reads to one sample: pure functions, run after the exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stackchoice.load.sse import events
from stackchoice.load.untrusted import (
    count_of,
    dict_of,
    message_of,
    parse_json,
    rate_of,
    text_of,
    visible,
)
from stackchoice.load.wire import Exchange, Framing, Problem
from stackchoice.facts.datum import Record


class Failure(StrEnum):
    """Why a request gave no usable answer. Each class is counted on its own."""

    ADMISSION_REJECTED = "admission_rejected"  # 429 or 503: the server is full
    CONTEXT_REJECTED = "context_rejected"  # the prompt is too long for this server
    REJECTED = "rejected"  # any other status than 200
    TRANSPORT = "transport"  # no connection, or one that broke
    MID_STREAM_ERROR = "mid_stream_error"  # status 200, then an error inside the stream
    TIMEOUT = "timeout"
    NO_TOKENS = "no_tokens"  # status 200 and not one token
    TRUNCATED_STREAM = "truncated_stream"  # ended without [DONE] and without a finish reason


class Sample(Record):
    """One request as measured. ``None`` means unknown; chunks are never taken for tokens.

    Attributes
    ----------
    ttft_s
        From writing the request to the first non-empty token of any channel (content, reasoning,
        tool call, refusal). Connecting is not in it.
    answer_ttft_s
        The same for the first token of the answer proper.
    end_to_end_s
        To the last chunk that carried content; ``[DONE]`` and usage come later and do not count.
    itl_s
        (last - first) / (completion tokens - 1), from the server's own count of tokens, taking
        the first chunk as one token. A closing token that the server counts and does not send
        (end of text) makes it low by one part in the tokens.
    decode_tokens_per_s
        1 / ``itl_s``.
    prefill_tokens_per_s
        (prompt - cached tokens) / ``ttft_s``. TTFT also holds queueing, tokenising and the first
        decode step, so this is a lower bound on the prefill rate.
    server_prefill_tokens_per_s, server_decode_tokens_per_s
        The server's own account (llama.cpp's ``timings``), a cross-check of the two above.
    """

    status: int | None = None
    failure: Failure | None = None
    failure_detail: str = ""
    first_byte_s: float | None = None
    ttft_s: float | None = None
    answer_ttft_s: float | None = None
    end_to_end_s: float | None = None
    itl_s: float | None = None
    decode_tokens_per_s: float | None = None
    prefill_tokens_per_s: float | None = None
    server_prefill_tokens_per_s: float | None = None
    server_decode_tokens_per_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    content_chunks: int = 0
    finish_reason: str | None = None
    model: str | None = None
    text: str = ""
    reasoning: str = ""


@dataclass
class _Stream:
    """What the events of one answer add up to."""

    first_ns: int | None = None
    first_answer_ns: int | None = None
    last_ns: int | None = None
    chunks: int = 0
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    model: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    empty_because: str = "the answer holds no token"
    done: bool = False

    def take(self, at_ns: int, event: dict[str, Any]) -> None:
        if event.get("error"):
            self.error = self.error or message_of(event)
            return
        self.model = self.model or text_of(event.get("model")) or None
        self.usage = dict_of(event.get("usage")) or self.usage
        self.timings = dict_of(event.get("timings")) or self.timings
        choices = event.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else []:
            choice = dict_of(choice)
            self.finish_reason = text_of(choice.get("finish_reason")) or self.finish_reason
            self._token(at_ns, dict_of(choice.get("delta")) or dict_of(choice.get("message")))

    def _token(self, at_ns: int, delta: dict[str, Any]) -> None:
        answer = text_of(delta.get("content")) + text_of(delta.get("refusal")) + _calls(delta)
        # Servers name the reasoning channel one way or the other; some send both with one text.
        reasoning = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        if not (answer or reasoning):
            return
        self.chunks += 1
        self.first_ns = self.first_ns if self.first_ns is not None else at_ns
        self.last_ns = at_ns
        if answer and self.first_answer_ns is None:
            self.first_answer_ns = at_ns
        self.text.append(answer)
        self.reasoning.append(reasoning)


def read_sample(measured: Exchange) -> Sample:
    """Parse one exchange; never raises for what a server may have sent."""
    framing = Framing()
    over = any(framing.feed(at, data) for at, data in measured.reads)
    if not over and measured.problem in (None, Problem.DROPPED):
        framing.feed(0, b"")  # the peer closed, which ends a body of unstated length
    base: dict[str, Any] = {"status": framing.status}
    if measured.reads:
        base["first_byte_s"] = (measured.reads[0][0] - measured.sent_ns) / 1e9
    if framing.status is not None and framing.status != 200:
        failure, detail = _refused(framing)
        return Sample(**base, failure=failure, failure_detail=detail)
    stream = _Stream()
    if "event-stream" in framing.headers.get("content-type", "").lower():
        for at, name, data in events(framing.body):
            _take_event(stream, at, name, data)
    elif framing.status:
        _take_other(stream, framing)
    failure, detail = _failure(measured, framing, stream)
    return Sample(**base, **_figures(measured.sent_ns, stream), failure=failure,
                  failure_detail=detail)  # fmt: skip


def body_text(measured: Exchange) -> tuple[int | None, dict[str, str], str]:
    """Return status, headers and the body as text."""
    framing = Framing()
    for at, data in measured.reads:
        framing.feed(at, data)
    return framing.status, framing.headers, _joined(framing)


def _take_event(stream: _Stream, at_ns: int, name: str, data: str) -> None:
    if data.strip() == "[DONE]":
        stream.done = True
    elif (event := parse_json(data)) is None:
        stream.error = stream.error or f"an event is no JSON object: {visible(data, 200)}"
    elif name == "error":
        stream.error = stream.error or message_of(event)
    else:
        stream.take(at_ns, event)


def _refused(framing: Framing) -> tuple[Failure, str]:
    text = _joined(framing)
    answer = parse_json(text)
    message = message_of(answer) if answer else visible(" ".join(text.split()), 300)
    if framing.status in (429, 503):
        return Failure.ADMISSION_REJECTED, message
    if framing.status == 413 or (framing.status == 400 and "context" in text.lower()):
        return Failure.CONTEXT_REJECTED, message
    if where := framing.headers.get("location"):
        message = f"redirected to {visible(where, 200)}; give that address"
    return Failure.REJECTED, f"status {framing.status}: {message}"


def _take_other(stream: _Stream, framing: Framing) -> None:
    """Take status 200 with something else than the event stream that was asked for."""
    text = _joined(framing)
    answer = parse_json(text)
    if answer and answer.get("error"):
        stream.error = message_of(answer)
        return
    kind = visible(framing.headers.get("content-type", "no content type"), 80)
    start = visible(" ".join(text.split()), 120)
    stream.empty_because = f"not an event stream but {kind}: {start}"


def _failure(measured: Exchange, framing: Framing, stream: _Stream) -> tuple[Failure | None, str]:
    problem = measured.problem
    if stream.error is not None:
        return Failure.MID_STREAM_ERROR, stream.error
    if problem in (Problem.IDLE_TIMEOUT, Problem.TOTAL_TIMEOUT, Problem.CONNECT_TIMEOUT):
        return Failure.TIMEOUT, f"{problem.value} ({measured.detail})"
    if problem is not None and not stream.done:
        return Failure.TRANSPORT, f"{problem.value} ({measured.detail})"
    if not stream.chunks:
        return Failure.NO_TOKENS, stream.empty_because
    if not (stream.done or stream.finish_reason):
        return Failure.TRUNCATED_STREAM, "the stream ended without [DONE] and finish reason"
    return None, ""


def _figures(sent_ns: int, stream: _Stream) -> dict[str, Any]:
    def since_sent(at_ns: int | None) -> float | None:
        return None if at_ns is None else (at_ns - sent_ns) / 1e9

    prompt = count_of(stream.usage.get("prompt_tokens"))
    completion = count_of(stream.usage.get("completion_tokens"))
    cached = count_of(dict_of(stream.usage.get("prompt_tokens_details")).get("cached_tokens"))
    ttft = since_sent(stream.first_ns)
    itl = None
    if completion is not None and completion > 1 and stream.last_ns != stream.first_ns:
        itl = (stream.last_ns - stream.first_ns) / 1e9 / (completion - 1)  # type: ignore[operator]
    prefill = None
    if prompt is not None and ttft:
        prefill = max(prompt - (cached or 0), 0) / ttft
    return {
        "ttft_s": ttft,
        "answer_ttft_s": since_sent(stream.first_answer_ns),
        "end_to_end_s": since_sent(stream.last_ns),
        "itl_s": itl,
        "decode_tokens_per_s": 1 / itl if itl else None,
        "prefill_tokens_per_s": prefill,
        "server_prefill_tokens_per_s": rate_of(stream.timings.get("prompt_per_second")),
        "server_decode_tokens_per_s": rate_of(stream.timings.get("predicted_per_second")),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": cached,
        "content_chunks": stream.chunks,
        "finish_reason": stream.finish_reason and visible(stream.finish_reason, 80),
        "model": stream.model and visible(stream.model, 200),
        "text": "".join(stream.text),
        "reasoning": "".join(stream.reasoning),
    }


def _joined(framing: Framing) -> str:
    return b"".join(data for _, data in framing.body).decode("utf-8", "replace")


def _calls(delta: dict[str, Any]) -> str:
    calls = delta.get("tool_calls")
    functions = (
        [dict_of(dict_of(c).get("function")) for c in calls] if isinstance(calls, list) else []
    )
    return "".join(text_of(f.get("name")) + text_of(f.get("arguments")) for f in functions)
