"""From stamped raw reads to one sample: pure functions, run after the exchange."""

import re
import statistics
from itertools import pairwise
from typing import Any

from stackchoice.facts.values import count_of, dict_of
from stackchoice.facts.yaml import shown
from stackchoice.load.records import Failure, Sample, Usage
from stackchoice.load.sse import events
from stackchoice.load.stream import Stream
from stackchoice.load.untrusted import message_of, parse_json, rate_of
from stackchoice.load.wire import Exchange, Framing, Problem

#: Chunks that one token may add at the end, when a parser lets go of what it held back.
_FLUSHED_CHUNKS = 2
#: A word in front of an id, as in ``chatcmpl-``; what follows is drawn anew for each answer.
_ID_PREFIX = re.compile(r"([a-z]{3,12})[-_]")


def read_sample(
    measured: Exchange, request: dict[str, Any] | None = None, *, expect_stop: bool = False
) -> Sample:
    """Parse one exchange; never raises for what a server may have sent.

    Parameters
    ----------
    request
        The request's JSON, against whose limit the server's count of tokens is checked.
    expect_stop
        The task ends by itself: an answer that was cut at the limit is a failure.
    """
    framing = Framing.of(measured)
    base: dict[str, Any] = {"status": framing.status, **_client_times(measured)}
    if said := framing.headers.get("server"):
        base["server"] = shown(said, 80)
    if framing.status is not None and framing.status != 200:
        refused, why = _refused(framing)
        return Sample(**base, failure=refused, failure_detail=why)
    stream = Stream()
    if "event-stream" in framing.headers.get("content-type", "").lower():
        for at, name, data in events(framing.body):
            _take_event(stream, at, name, data)
    elif framing.status:
        _take_other(stream, framing)
    if (code := framing.headers.get("content-encoding", "identity").lower()) != "identity":
        stream.empty_because = f"encoded as {shown(code, 40)}, which was not asked for"
    failure, detail = _failure(measured, framing, stream)
    if failure is None and expect_stop and stream.finish_reason == "length":
        failure, detail = Failure.LENGTH_TRUNCATED, "cut at the token limit"
    return Sample(**base, **_figures(measured, stream, request or {}), failure=failure,
                  failure_detail=detail)  # fmt: skip


def body_text(measured: Exchange) -> tuple[int | None, dict[str, str], str]:
    """Return status, headers and the body as text."""
    framing = Framing.of(measured)
    return framing.status, framing.headers, framing.text


def _client_times(measured: Exchange) -> dict[str, Any]:
    times: dict[str, Any] = {"resent": measured.resent}
    if measured.intended_ns:
        times["slip_s"] = max(0, measured.started_ns - measured.intended_ns) / 1e9
    if measured.connected_ns:
        fresh = 0 if measured.reused else measured.connected_ns - measured.started_ns
        times["connect_s"] = fresh / 1e9
    if measured.reads:
        times["first_byte_s"] = (measured.reads[0][0] - measured.sent_ns) / 1e9
    return times


def _take_event(stream: Stream, at_ns: int, name: str, data: str) -> None:
    if data.strip() == "[DONE]":
        stream.done = True
    elif not data.isascii() and not _is_utf8(data):
        stream.garbage = stream.garbage or f"an event is not UTF-8: {shown(data, 200)}"
    elif (event := parse_json(data)) is None:
        stream.garbage = stream.garbage or f"an event is no JSON object: {shown(data, 200)}"
    elif name == "error":
        stream.error = stream.error or message_of(event)
    else:
        stream.take(at_ns, event)


def _is_utf8(text: str) -> bool:
    """Whether text that was decoded with escapes for wrong bytes holds none of these."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(framing: Framing) -> tuple[Failure, str]:
    text, status = framing.text, framing.status or 0
    answer = parse_json(text)
    message = message_of(answer) if answer else shown(" ".join(text.split()), 300)
    if status in (429, 503):
        return Failure.ADMISSION_REJECTED, message
    if status == 413 or (status in (400, 422) and _is_of_context(text.lower())):
        return Failure.CONTEXT_REJECTED, message
    if where := framing.headers.get("location"):
        message = f"redirected to {shown(where, 200)}; give that address"
    kind = Failure.SERVER_ERROR if status >= 500 else Failure.REJECTED
    return kind, f"status {status}: {message}"


def _is_of_context(text: str) -> bool:
    """Whether a refusal speaks of a prompt that is too long, in the words of common servers."""
    if "context" in text or "max_model_len" in text:
        return True
    of_length = any(word in text for word in ("input length", "prompt is", "input is", "tokens"))
    return of_length and any(word in text for word in ("exceed", "too long", "must be <="))


def _take_other(stream: Stream, framing: Framing) -> None:
    """Take status 200 with something else than the event stream that was asked for."""
    text = framing.text
    answer = parse_json(text)
    if answer and answer.get("error"):
        stream.error = message_of(answer)
        return
    kind = shown(framing.headers.get("content-type", "no content type"), 80)
    start = shown(" ".join(text.split()), 120)
    stream.empty_because = f"not an event stream but {kind}: {start}"


def _failure(measured: Exchange, framing: Framing, stream: Stream) -> tuple[Failure | None, str]:
    problem = measured.problem
    said = problem and f"{problem.value} ({measured.detail})"
    if problem is Problem.CLIENT:
        return Failure.CLIENT_FAULT, said or ""
    if stream.error is not None:
        return Failure.MID_STREAM_ERROR, stream.error
    if stream.garbage is not None and not (problem and not stream.done):
        return Failure.MALFORMED, stream.garbage
    if said and not stream.done:
        kinds: dict[Problem | None, Failure] = {
            Problem.CANCELLED: Failure.CANCELLED, Problem.TOO_LARGE: Failure.OVERSIZED,
            Problem.IDLE_TIMEOUT: Failure.TIMEOUT, Problem.TOTAL_TIMEOUT: Failure.TIMEOUT,
            Problem.CONNECT_TIMEOUT: Failure.TIMEOUT,
        }  # fmt: skip
        return kinds.get(problem, Failure.TRANSPORT), said
    if framing.error and not stream.done:
        return Failure.TRANSPORT, f"not framed as HTTP: {framing.error}"
    if not stream.tokens:
        return Failure.NO_TOKENS, stream.empty_because
    if not stream.finish_reason:
        mark = "finish reason" if stream.done else "[DONE] and finish reason"
        return Failure.TRUNCATED_STREAM, f"the stream ended without {mark}"
    return None, ""


def _figures(measured: Exchange, stream: Stream, request: dict[str, Any]) -> dict[str, Any]:
    prompt = count_of(stream.usage.get("prompt_tokens"))
    cached = _cached(stream.usage)
    usage, completion = _counted(stream, request)
    figures: dict[str, Any] = {
        "server_prefill_tokens_per_s": rate_of(stream.timings.get("prompt_per_second")),
        "server_decode_tokens_per_s": rate_of(stream.timings.get("predicted_per_second")),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": cached,
        "usage": usage,
        "content_chunks": len(stream.tokens),
        "finish_reason": stream.finish_reason and shown(stream.finish_reason, 80),
        "model": stream.model and shown(stream.model, 200),
        "fingerprint": stream.fingerprint and shown(stream.fingerprint, 80),
        "id_prefix": stream.id and (m[1] if (m := _ID_PREFIX.match(stream.id)) else ""),
        "text": "".join(stream.text),
        "reasoning": "".join(stream.reasoning),
        "tool_calls": [(shown(n, 200), text) for n, text in stream.calls.values()],
    }
    if not stream.tokens:
        return figures
    sent, first, last = measured.sent_ns, stream.tokens[0][0], stream.tokens[-1][0]
    late = (sent - measured.intended_ns) / 1e9 if measured.intended_ns else 0.0
    ttft, whole = (first - sent) / 1e9, (last - sent) / 1e9
    figures |= {"ttft_s": ttft, "intended_ttft_s": ttft + late,
                "end_to_end_s": whole, "intended_end_to_end_s": whole + late}  # fmt: skip
    if stream.first_answer_ns is not None:
        figures["answer_ttft_s"] = (stream.first_answer_ns - sent) / 1e9
    stamps = sorted({at for at, _ in stream.tokens})
    if gaps := [(b - a) / 1e9 for a, b in pairwise(stamps)]:
        figures |= {"gap_median_s": statistics.median(gaps), "gap_max_s": max(gaps)}
    # An answer of several tokens in one read was held back: its TTFT says nothing of the prompt.
    held = last == first and (completion or len(stream.tokens)) > 1
    if prompt is not None and ttft > 0 and not held:
        figures["prefill_tokens_per_s"] = max(prompt - (cached or 0), 0) / ttft
    if completion is not None and completion > 1 and last != first:
        early, evidence = stream.first_tokens(completion)
        figures |= {"first_tokens": early, "first_tokens_evidence": evidence}
        if completion > early:
            itl = (last - first) / 1e9 / (completion - early)
            figures |= {"itl_s": itl, "decode_tokens_per_s": 1 / itl}
    return figures


def _cached(usage: dict[str, Any]) -> int | None:
    """Return the prompt's tokens that came from a cache: OpenAI's name, DeepSeek's, Moonshot's."""
    said = (dict_of(usage.get("prompt_tokens_details")).get("cached_tokens"),
            usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))  # fmt: skip
    return next((count for value in said if (count := count_of(value)) is not None), None)


def _counted(stream: Stream, request: dict[str, Any]) -> tuple[Usage, int | None]:
    """Judge the server's count: a count that cannot be true leaves the tokens unknown.

    It must hold every chunk, what was allowed, what the server counted chunk by chunk (vLLM) and
    what it counted for its own timings (llama.cpp).
    """
    completion = count_of(stream.usage.get("completion_tokens"))
    if completion is None:
        return Usage.MISSING, None
    asked, chunks = count_of(request.get("max_tokens")), len(stream.tokens)
    too_few = chunks > completion + _FLUSHED_CHUNKS or completion == 0 < chunks
    # Some servers do not keep the limit, and then their chunks show it.
    too_many = asked is not None and completion > asked + 1 >= chunks
    counted = max((count for _, count in stream.counted), default=0)
    timed = count_of(stream.timings.get("predicted_n"))
    if too_few or too_many or counted > completion or timed not in (None, completion):
        return Usage.CONTRADICTED, None
    return Usage.REPORTED, completion
