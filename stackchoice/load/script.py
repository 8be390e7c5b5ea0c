"""What the reference server is told to do, and the bytes that do it."""

import json
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pydantic import Field

from stackchoice.facts.datum import Record

DONE = b"data: [DONE]\n\n"
HUGE_BYTES = 2**20
#: Of one width, so that the server can put the number into prepared bytes.
PROMPT_TOKENS = b'"prompt_tokens":%-9d'
_TOKEN = "word "


class Fault(StrEnum):
    """Ways in which the reference server goes wrong on purpose."""

    REFUSED = "refused"  # nobody listens any more
    HANG_FIRST = "hang_first"  # never a byte
    HANG_MID = "hang_mid"  # half of the tokens, then silence
    RESET_FIRST = "reset_first"  # reset before the first byte
    RESET_MID = "reset_mid"  # half of the tokens, then a reset
    CLOSE_MID = "close_mid"  # half of the tokens, then an orderly close inside the framing
    GARBAGE = "garbage"  # an event that is no JSON
    TRUNCATED_SSE = "truncated_sse"  # well framed, but the last event is cut and nothing ends it
    INVALID_UTF8 = "invalid_utf8"
    HUGE_LINE = "huge_line"  # a comment line of 1 MiB: odd, and allowed
    ENDLESS_LINE = "endless_line"  # one line that does not end
    STATUS_400 = "status_400"
    CONTEXT = "context"  # 400, the prompt is too long
    STATUS_404 = "status_404"
    STATUS_413 = "status_413"
    STATUS_429 = "status_429"
    STATUS_500 = "status_500"
    STATUS_503 = "status_503"
    ERROR_FIRST = "error_first"  # status 200, then an error as the first event
    ERROR_MID = "error_mid"  # half of the tokens, then an error event
    NO_USAGE = "no_usage"
    LOW_USAGE = "low_usage"  # says half the tokens it sent
    HIGH_USAGE = "high_usage"  # says twice the tokens that were asked
    WRONG_MODEL = "wrong_model"
    OTHER_SERVER = "other_server"  # fingerprint, Server header and ids of another one
    EMPTY = "empty"  # ends well, and not one token
    LENGTH = "length"  # cut at the limit


class Script(Record):
    """Timing, chunking and faults of every answer.

    ``fault_every`` is 1 for each request, 4 for each fourth (the fourth, the eighth ...).
    ``faults`` are those of the first requests, one by one.
    ``split`` sends each event in two parts; ``merge`` events are sent in one write.
    """

    ttft_s: float = Field(default=0.05, ge=0)
    itl_s: float = Field(default=0.005, ge=0)
    tokens: int = Field(default=64, ge=1, le=1_000_000)
    tokens_per_event: int = Field(default=1, ge=1)
    split: bool = False
    merge: int = Field(default=1, ge=1)
    role_first: bool = True
    framing: Literal["chunked", "close"] = "chunked"
    fault: Fault | None = None
    fault_every: int = Field(default=1, ge=1)
    faults: tuple[Fault | None, ...] = ()
    model: str = "reference"
    fingerprint: str = "reference-1"


class Step(NamedTuple):
    """One write: when (nanoseconds after the request), what, and the tokens it completes."""

    after_ns: int
    data: bytes
    tokens: int = 0


_STATUS = {
    Fault.STATUS_400: (400, "temperature must be positive"),
    Fault.CONTEXT: (400, "This model's maximum context length is 10 tokens"),
    Fault.STATUS_404: (404, "no such model"),
    Fault.STATUS_413: (413, "request too large"),
    Fault.STATUS_429: (429, "too many requests"),
    Fault.STATUS_500: (500, "internal error"),
    Fault.STATUS_503: (503, "queue is full"),
}


def event(value: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def answer(script: Script, fault: Fault | None, asked: int, *, chat: bool) -> list[Step]:
    """Lay out the writes of one answer; the server adds what happens after the last.

    Parameters
    ----------
    asked
        Tokens the request allows; the answer has no more.
    chat
        Chat chunks, or those of plain completions.
    """
    first, itl = round(script.ttft_s * 1e9), round(script.itl_s * 1e9)
    if fault in _STATUS:
        status, message = _STATUS[fault]
        return [Step(first, plain(status, {"error": {"message": message}}))]
    count = min(script.tokens, asked)
    model = "another" if fault is Fault.WRONG_MODEL else script.model
    kind = "chat.completion.chunk" if chat else "text_completion"
    other = fault is Fault.OTHER_SERVER
    marks = {"id": "00c0ffee" if other else f"{'chatcmpl' if chat else 'cmpl'}-0", "object": kind,
             "created": 0, "model": model,
             "system_fingerprint": "another-2" if other else script.fingerprint}  # fmt: skip
    frame = _chunk if script.framing == "chunked" else bytes

    def said(delta: str | None, finish: str | None = None, **more: Any) -> bytes:
        part = (
            {"delta": {} if delta is None else {"content": delta}}
            if chat
            else {"text": delta or ""}
        )
        choice = {"index": 0, **part, "finish_reason": finish}
        return event({**marks, "choices": [choice], **more})

    steps = [Step(first, _head(script, "another" if other else "reference"))]
    if chat and script.role_first:
        role = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
        steps.append(Step(first, frame(event({**marks, "choices": [role]}))))
    body: list[Step] = []
    sent = 0
    while sent < (0 if fault is Fault.EMPTY else count):
        size = min(script.tokens_per_event, count - sent)
        body.append(Step(first + sent * itl, said(_TOKEN * size), size))
        sent += size
    body = _merged(body, script.merge)
    half = body[: max(1, len(body) // 2)]
    middle = half[-1].after_ns if half else first
    if fault in (Fault.HANG_MID, Fault.RESET_MID, Fault.CLOSE_MID):
        return [*steps, *_framed(half, script, frame)]
    oddities: dict[Fault | None, bytes] = {
        Fault.ERROR_FIRST: event({"error": {"message": "out of memory"}}),
        Fault.ERROR_MID: event({"error": {"message": "worker died"}}),
        Fault.GARBAGE: b"data: {\"choices\": [{]]]\n\n",
        Fault.TRUNCATED_SSE: said("cut off")[:-12],
        Fault.INVALID_UTF8: said("bad").replace(b"bad", b"\xff\xfe"),
        Fault.HUGE_LINE: b": " + b"x" * HUGE_BYTES + b"\n\n",
    }  # fmt: skip
    odd = oddities.get(fault)
    if fault is Fault.ENDLESS_LINE:
        lump = Step(middle, frame(b"x" * HUGE_BYTES))
        start = Step(middle, frame(b": "))
        return [*steps, *_framed(half, script, frame), start, *[lump] * 64]
    if odd is not None:
        odd_step = Step(middle, odd)
        if fault is Fault.ERROR_FIRST:
            body, half = [odd_step], []
        elif fault in (Fault.ERROR_MID, Fault.TRUNCATED_SSE):
            body = [*half, odd_step]
        else:
            body = [*half, odd_step, *body[len(half) :]]
        if fault is Fault.TRUNCATED_SSE:
            return [*steps, *_framed(body, script, frame), _last(body[-1].after_ns, b"", script)]
    steps += _framed(body, script, frame)
    end = steps[-1].after_ns
    limit = fault is Fault.LENGTH or script.tokens > asked
    tail = said(None, "length" if limit else "stop")
    if fault is not Fault.NO_USAGE:
        told: dict[Fault | None, int] = {
            Fault.LOW_USAGE: count // 2,
            Fault.HIGH_USAGE: 2 * asked,
            Fault.EMPTY: 0,
        }
        usage = {"prompt_tokens": 0, "completion_tokens": told.get(fault, count),
                 "prompt_tokens_details": {"cached_tokens": 0}}  # fmt: skip
        tail += event({**marks, "choices": [], "usage": usage}).replace(
            b'"prompt_tokens":0', PROMPT_TOKENS % 0
        )
    return [*steps, _last(end, tail + DONE, script)]


def plain(status: int, value: Any) -> bytes:
    """A whole JSON answer."""
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def _head(script: Script, server: str) -> bytes:
    framing = "Transfer-Encoding: chunked" if script.framing == "chunked" else "Connection: close"
    head = f"HTTP/1.1 200 OK\r\nServer: {server}\r\nContent-Type: text/event-stream\r\n{framing}"
    return head.encode() + b"\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _last(after_ns: int, data: bytes, script: Script) -> Step:
    if script.framing == "close":
        return Step(after_ns, data)
    return Step(after_ns, (_chunk(data) if data else b"") + b"0\r\n\r\n")


def _merged(body: list[Step], many: int) -> list[Step]:
    """Join events that are written together, at the time at which the last would have been."""
    groups = [body[i : i + many] for i in range(0, len(body), many)]
    return [
        Step(g[-1].after_ns, b"".join(s.data for s in g), sum(s.tokens for s in g)) for g in groups
    ]


def _framed(body: list[Step], script: Script, frame: Any) -> list[Step]:
    """Frame each write, and cut it in two where events are to arrive in parts."""
    if not script.split:
        return [Step(s.after_ns, frame(s.data), s.tokens) for s in body]
    gaps = [b.after_ns - a.after_ns for a, b in pairwise(body)] or [0]
    early = min(gaps) // 2
    steps = []
    for s in body:
        data = frame(s.data)
        cut = min(len(data) // 2, 40)  # within the first event, so that it completes nothing
        steps.append(Step(s.after_ns - min(early, s.after_ns), data[:cut]))
        steps.append(Step(s.after_ns, data[cut:], s.tokens))
    return steps


def whole_answer(script: Script, steps: list[Step], asked: int, prompt: int) -> Step:
    """Answer a request that asked for no stream, when the last token would have come."""
    count = min(script.tokens, asked)
    message = {"role": "assistant", "content": "word " * count}
    value = {"object": "chat.completion", "model": script.model, "choices": [{"index": 0,
             "message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": prompt,
             "completion_tokens": count}}  # fmt: skip
    return Step(steps[-1].after_ns, plain(200, value), count)


def refusal(error: Exception) -> Step:
    """Answer what is no request of this protocol, at once."""
    return Step(0, plain(400, {"error": {"message": f"not understood: {str(error)[:200]}"}}))
