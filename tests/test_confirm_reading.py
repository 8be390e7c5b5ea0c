"""The pure parser: known times in, exact figures out."""

import gzip
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_server import DONE, STREAM_HEAD, chunk, event, http, refusal, words

from stackchoice.load.reading import read_sample
from stackchoice.load.records import Failure, Sample, Usage
from stackchoice.load.untrusted import visible
from stackchoice.load.wire import Exchange, Problem

MS = 1_000_000
ROLE = chunk({"role": "assistant", "content": ""})
STOP = chunk({}, "stop")


def usage(prompt: int = 100, completion: int = 11, cached: int = 0) -> bytes:
    return chunk(
        None,
        usage={
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    )


def timed(
    *pieces: bytes, every_ms: int = 10, problem: Problem | None = None, asked: int | None = None
) -> Sample:
    """Read pieces that arrived one read each, the first after ``every_ms``; sent at 1 s."""
    reads = [(10**9 + (i + 1) * every_ms * MS, piece) for i, piece in enumerate(pieces)]
    exchange = Exchange(sent_ns=10**9, reads=reads, problem=problem, detail="why")
    return read_sample(exchange, {"max_tokens": asked})


def test_ttft_waits_for_content_and_ends_at_the_last_content() -> None:
    sample = timed(STREAM_HEAD, ROLE, *words(11), STOP, usage(cached=40), DONE)
    assert sample.failure is None
    assert sample.first_byte_s == pytest.approx(0.010)
    assert sample.ttft_s == pytest.approx(0.030)
    assert sample.end_to_end_s == pytest.approx(0.130)
    assert sample.itl_s == pytest.approx(0.010)
    assert sample.decode_tokens_per_s == pytest.approx(100)
    assert sample.prefill_tokens_per_s == pytest.approx(60 / 0.030)
    assert (sample.prompt_tokens, sample.completion_tokens, sample.cached_tokens) == (100, 11, 40)
    assert (sample.content_chunks, sample.finish_reason, sample.model) == (11, "stop", "odd")
    assert sample.text == "w " * 11


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_the_first_token_but_not_the_answer(field: str) -> None:
    thought, answer = chunk({field: "hm"}), chunk({"content": "yes"})
    sample = timed(STREAM_HEAD, ROLE, thought, thought, answer, STOP, usage(completion=3), DONE)
    assert sample.ttft_s == pytest.approx(0.030)
    assert sample.answer_ttft_s == pytest.approx(0.050)
    assert (sample.reasoning, sample.text) == ("hmhm", "yes")


def test_a_reasoning_token_sent_under_both_names_is_read_once() -> None:
    both = chunk({"reasoning_content": "hm", "reasoning": "hm"})
    assert timed(STREAM_HEAD, both, STOP, DONE).reasoning == "hm"


@pytest.mark.parametrize(
    "delta", [{"refusal": "no"}, {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]}]
)
def test_refusals_and_tool_calls_are_tokens(delta: dict) -> None:
    assert timed(STREAM_HEAD, ROLE, chunk(delta), STOP, DONE).ttft_s == pytest.approx(0.030)


def test_bundled_tokens_are_counted_by_the_server_not_by_chunks() -> None:
    sample = timed(STREAM_HEAD, *words(5), STOP, usage(completion=17), DONE)
    # Five equal chunks of 17 tokens: the first brought 3.4 of them, and the rest took 40 ms.
    assert sample.itl_s == pytest.approx(0.040 / (17 - 3.4))
    assert (sample.first_tokens, sample.first_tokens_evidence) == (pytest.approx(3.4), "inferred")
    assert sample.content_chunks == 5
    assert sample.gap_median_s == pytest.approx(0.010)


def test_the_first_token_alone_is_told_from_a_full_first_chunk() -> None:
    """A speculative decoder sends one token from the prefill, then bundles."""
    bundles = [chunk({"content": "w "}), *words(4, "w w w w ")]
    sample = timed(STREAM_HEAD, *bundles, STOP, usage(completion=17), DONE)
    assert sample.first_tokens == pytest.approx(1)
    assert sample.itl_s == pytest.approx(0.040 / 16)


def test_chunks_of_one_token_that_a_proxy_gathers_are_counted_and_not_weighed() -> None:
    """Twelve short tokens, then eight long ones in 80 ms: 10 ms each, whatever their characters."""
    first, rest = b"".join(words(12, "a")), b"".join(words(8, "longer "))
    reads = [(10**9 + 500 * MS, STREAM_HEAD + first), (10**9 + 580 * MS, rest + STOP)]
    done = (10**9 + 581 * MS, usage(completion=20) + DONE)
    sample = read_sample(Exchange(sent_ns=10**9, reads=[*reads, done]))
    assert (sample.first_tokens, sample.first_tokens_evidence) == (12, "computed")
    assert sample.itl_s == pytest.approx(0.010)


def test_a_count_in_every_chunk_says_what_the_first_brought() -> None:
    def counted(n: int) -> bytes:
        return chunk({"content": "w"}, usage={"completion_tokens": n})

    sample = timed(STREAM_HEAD, counted(3), counted(4), counted(9), STOP, usage(completion=9), DONE)
    assert (sample.first_tokens, sample.first_tokens_evidence) == (3, "reported")
    assert sample.itl_s == pytest.approx(0.020 / 6)


@pytest.mark.parametrize("count", [0, 5, 30])
def test_a_count_that_cannot_be_true_leaves_the_tokens_unknown(count: int) -> None:
    sample = timed(STREAM_HEAD, *words(20), STOP, usage(completion=count), DONE, asked=25)
    assert sample.failure is None
    assert (sample.usage, sample.completion_tokens, sample.itl_s) == ("contradicted", None, None)


def test_a_limit_that_the_server_does_not_keep_makes_its_count_no_lie() -> None:
    sample = timed(STREAM_HEAD, *words(30), STOP, usage(completion=30), DONE, asked=25)
    assert (sample.usage, sample.completion_tokens) == (Usage.REPORTED, 30)


@pytest.mark.parametrize(
    "told",
    [{"prompt_tokens_details": {"cached_tokens": 80}}, {"prompt_cache_hit_tokens": 80},
     {"cached_tokens": 80}, {"prompt_tokens_details": None, "cached_tokens": 80}],
)  # fmt: skip
def test_cached_tokens_under_the_names_that_servers_use(told: dict) -> None:
    end = chunk(None, usage={"prompt_tokens": 100, "completion_tokens": 2, **told})
    sample = timed(STREAM_HEAD, *words(2), STOP, end, DONE)
    assert sample.cached_tokens == 80
    assert sample.prefill_tokens_per_s == pytest.approx(20 / sample.ttft_s)


def test_an_answer_in_one_read_says_nothing_of_prefill() -> None:
    sample = timed(STREAM_HEAD, b"".join([*words(20), STOP, usage(completion=20), DONE]))
    assert sample.failure is None
    assert sample.ttft_s == sample.end_to_end_s == pytest.approx(0.020)
    assert (sample.prefill_tokens_per_s, sample.itl_s) == (None, None)


def test_content_in_parts_as_mistral_sends_it() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    other = {"type": "reasoning", "reasoning": " so"}
    said = {"type": "text", "text": "yes"}
    parts = [chunk({"content": [part]}) for part in (thought, other, said)]
    sample = timed(STREAM_HEAD, *parts, STOP, usage(completion=3), DONE)
    assert (sample.reasoning, sample.text, sample.content_chunks) == ("hm so", "yes", 3)
    assert sample.ttft_s == pytest.approx(0.020)
    assert sample.answer_ttft_s == pytest.approx(0.040)


def test_an_encoding_that_was_not_asked_for_is_named() -> None:
    sample = timed(http(gzip.compress(STOP + DONE), extra="Content-Encoding: gzip\r\n"))
    assert sample.failure_detail == "encoded as gzip, which was not asked for"


def test_latencies_from_the_intended_start_hold_the_clients_delay() -> None:
    reads = [(1_200 * MS, STREAM_HEAD + words(1)[0]), (1_300 * MS, words(1)[0] + STOP + DONE)]
    sample = read_sample(
        Exchange(intended_ns=1_000 * MS, started_ns=1_010 * MS, connected_ns=1_030 * MS,
                 sent_ns=1_030 * MS, reads=reads)
    )  # fmt: skip
    assert sample.ttft_s == pytest.approx(0.170)
    assert sample.intended_ttft_s == pytest.approx(0.200)
    assert sample.intended_end_to_end_s == pytest.approx(0.300)
    assert (sample.slip_s, sample.connect_s) == (pytest.approx(0.010), pytest.approx(0.020))


def test_plain_completions_are_read_too() -> None:
    piece = event({"model": "odd", "choices": [{"index": 0, "text": "w ", "finish_reason": None}]})
    stop = event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})
    sample = timed(STREAM_HEAD, piece, piece, stop, usage(completion=2), DONE)
    assert (sample.text, sample.content_chunks, sample.failure) == ("w w ", 2, None)
    cut = read_sample(
        Exchange(sent_ns=1, reads=[(2, STREAM_HEAD + piece + stop + DONE)]), expect_stop=True
    )
    assert cut.failure is Failure.LENGTH_TRUNCATED


def test_without_usage_tokens_are_unknown() -> None:
    sample = timed(STREAM_HEAD, *words(20), STOP, DONE)
    assert sample.failure is None
    assert sample.ttft_s == pytest.approx(0.020)
    assert sample.completion_tokens is None
    assert sample.itl_s is None
    assert sample.prefill_tokens_per_s is None


def test_everything_in_one_read_has_no_itl() -> None:
    sample = timed(STREAM_HEAD + b"".join([*words(20), STOP, usage(completion=20), DONE]))
    assert sample.ttft_s == pytest.approx(0.010)
    assert sample.itl_s is None


def test_llama_cpp_timings_are_kept_as_cross_check() -> None:
    timings = chunk(None, timings={"prompt_per_second": 180.5, "predicted_per_second": 90})
    sample = timed(STREAM_HEAD, *words(2), STOP, timings, DONE)
    assert sample.server_prefill_tokens_per_s == 180.5
    assert sample.server_decode_tokens_per_s == 90


def test_comments_crlf_and_multi_line_data_are_read() -> None:
    split = b'data: {"choices": [{"delta":\r\ndata: {"content": "a"}}]}\r\n\r\n'
    sample = timed(STREAM_HEAD, b": keep-alive\r\n\r\n", split, b"data: [DONE]\r\n\r\n")
    assert sample.text == "a"
    assert sample.ttft_s == pytest.approx(0.030)


@pytest.mark.parametrize(
    ("pieces", "failure", "said"),
    [
        (refusal(429, "queue full"), Failure.ADMISSION_REJECTED, "queue full"),
        (refusal(503, "loading"), Failure.ADMISSION_REJECTED, "loading"),
        (refusal(400, "exceeds the context size"), Failure.CONTEXT_REJECTED, "context size"),
        (refusal(413, "too long"), Failure.CONTEXT_REJECTED, "too long"),
        (refusal(400, "bad temperature"), Failure.REJECTED, "status 400: bad temperature"),
        ([http(b"<h1>Bad gateway</h1>", status=502, kind="text/html")], Failure.SERVER_ERROR,
         "status 502: <h1>Bad gateway</h1>"),
        ([http(b"", status=308, extra="Location: https://x/v1\r\n")], Failure.REJECTED,
         "redirected to https://x/v1"),
        ([STREAM_HEAD, *words(3), event({"error": {"message": "died"}}), DONE],
         Failure.MID_STREAM_ERROR, "died"),
        ([STREAM_HEAD, b'event: error\ndata: {"detail": "gone"}\n\n'],
         Failure.MID_STREAM_ERROR, "gone"),
        ([STREAM_HEAD, b"data: not json\n\n", DONE], Failure.MALFORMED, "no JSON object"),
        ([STREAM_HEAD, b"data: " + b"[" * 100_000 + b"\n\n"], Failure.MALFORMED, "no JSON"),
        ([http(b"<html>hello</html>", kind="text/html")], Failure.NO_TOKENS,
         "not an event stream but text/html"),
        ([http(b'{"error": "no GPU"}', kind="application/json")], Failure.MID_STREAM_ERROR,
         "no GPU"),
        ([STREAM_HEAD, ROLE, STOP, usage(completion=0), DONE], Failure.NO_TOKENS, "no token"),
        ([STREAM_HEAD, *words(3)], Failure.TRUNCATED_STREAM, "without [DONE]"),
        ([STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 9999\r\n\r\n"), *words(3)],
         Failure.TRANSPORT, "connection dropped"),
    ],
)  # fmt: skip
def test_each_failure_has_its_class(pieces: list[bytes], failure: Failure, said: str) -> None:
    problem = Problem.DROPPED if failure is Failure.TRANSPORT else None
    sample = timed(*pieces, problem=problem)
    assert sample.failure is failure
    assert said in sample.failure_detail


@pytest.mark.parametrize("problem", [Problem.IDLE_TIMEOUT, Problem.TOTAL_TIMEOUT])
def test_a_timeout_keeps_what_came(problem: Problem) -> None:
    sample = timed(STREAM_HEAD, *words(3), problem=problem)
    assert sample.failure is Failure.TIMEOUT
    assert sample.text == "w w w "


def test_no_connection_is_a_transport_failure() -> None:
    sample = read_sample(Exchange(problem=Problem.REFUSED, detail="refused"))
    assert sample == Sample(failure=Failure.TRANSPORT, failure_detail="no connection (refused)")


def test_a_finish_reason_is_enough_without_done() -> None:
    assert timed(STREAM_HEAD, *words(3), STOP).failure is None


def test_an_answer_that_is_done_before_the_connection_breaks_counts() -> None:
    assert timed(STREAM_HEAD, *words(3), STOP, DONE, problem=Problem.DROPPED).failure is None


@pytest.mark.parametrize(
    "strange",
    [
        {"choices": None}, {"choices": [None]}, {"choices": [{"delta": []}]},
        {"choices": [{"delta": {"content": 5, "tool_calls": {"a": 1}}}]},
        {"choices": [], "usage": {"completion_tokens": "many", "prompt_tokens": True}},
        {"choices": [], "usage": {"completion_tokens": -1, "prompt_tokens": 10**400}},
        {"choices": [], "usage": [], "timings": {"predicted_per_second": "fast"}, "model": 3},
    ],
)  # fmt: skip
def test_wrong_types_are_unknown_not_a_crash(strange: dict) -> None:
    sample = timed(STREAM_HEAD, *words(2), event(strange), STOP, DONE)
    assert sample.failure is None
    assert (sample.completion_tokens, sample.prompt_tokens) == (None, None)


@pytest.mark.parametrize(
    ("last", "usage"),
    [
        ({"timings": {"predicted_n": 4}}, Usage.REPORTED),
        ({"timings": {"predicted_n": 7}}, Usage.CONTRADICTED),
        ({"timings": {"predicted_n": "four"}}, Usage.REPORTED),
    ],
)
def test_a_count_is_held_against_the_engines_own_timings(last: dict, usage: Usage) -> None:
    counts = {"completion_tokens": 4, "prompt_tokens": 9}
    sample = timed(STREAM_HEAD, *words(4), STOP, event({"choices": [], "usage": counts, **last}))
    assert (sample.failure, sample.usage) == (None, usage)


def test_a_count_is_held_against_what_was_counted_chunk_by_chunk() -> None:
    each = [chunk({"content": "w "}, usage={"completion_tokens": n}) for n in (1, 2, 5)]
    sample = timed(
        STREAM_HEAD, *each, STOP, event({"choices": [], "usage": {"completion_tokens": 3}})
    )
    assert (sample.failure, sample.usage) == (None, Usage.CONTRADICTED)


def test_half_a_surrogate_pair_can_still_be_written() -> None:
    sample = timed(STREAM_HEAD, chunk({"content": "\ud83d"}), STOP, DONE)
    assert sample.text == "\\ud83d"
    assert json.loads(sample.model_dump_json())["text"] == "\\ud83d"


def test_visible_escapes_terminal_and_direction_codes() -> None:
    assert visible("a\x1b[31m\u202eb\nc\u00e9") == "a\\x1b[31m\\u202eb\nc\u00e9"
    assert visible("x" * 50, limit=10) == "x" * 10 + "…"


def chunked(*pieces: bytes) -> bytes:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    framed = [f"{len(p):x}\r\n".encode() + p + b"\r\n" for p in pieces]
    return head + b"".join(framed) + b"0\r\n\r\n"


STREAM = [ROLE, chunk({"content": "é"}), *words(4), chunk({"reasoning": "日"}), STOP, usage(), DONE]
WHOLE = {
    "chunked": chunked(*STREAM),
    "content-length": http(b"".join(STREAM)),
    "until close": STREAM_HEAD + b"".join(STREAM),
    "crlf": STREAM_HEAD + b"".join(STREAM).replace(b"\n", b"\r\n"),
    "in-stream error": chunked(*STREAM[:3], event({"error": "x"})),
    "refusal": refusal(400, "context")[0],
}
TIMES = ("first_byte_s", "ttft_s", "answer_ttft_s", "end_to_end_s", "itl_s", "gap_median_s",
         "decode_tokens_per_s", "prefill_tokens_per_s", "intended_ttft_s", "gap_max_s",
         "intended_end_to_end_s", "first_tokens", "first_tokens_evidence")  # fmt: skip


def untimed(sample: Sample) -> dict:
    return sample.model_dump(exclude=set(TIMES))


@pytest.mark.parametrize("framing", WHOLE)
@given(data=st.data())
def test_any_split_of_the_bytes_reads_the_same(framing: str, data: st.DataObject) -> None:
    raw = WHOLE[framing]
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=12).map(sorted))
    edges = [0, *cuts, len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(edges) if a < b]
    assert untimed(timed(*pieces)) == untimed(timed(raw))


@pytest.mark.parametrize("framing", WHOLE)
def test_byte_by_byte_reads_the_same(framing: str) -> None:
    raw = WHOLE[framing]
    assert untimed(timed(*(raw[i : i + 1] for i in range(len(raw))))) == untimed(timed(raw))
