"""The real client against the real reference server: what is clean, and each fault in its class."""

from collections.abc import Iterator

import pytest

from stackchoice.load.endpoint import Endpoint
from stackchoice.load.floor import reference_server, truth_of
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Failure, Sample, Usage
from stackchoice.load.script import Fault, Script
from stackchoice.load.wire import Limits

QUICK = Script(ttft_s=0.02, itl_s=0.002, tokens=20)
LIMITS = Limits(connect_s=5, idle_s=0.5, total_s=10, max_bytes=8 * 2**20)
CHAT = {"messages": [{"role": "user", "content": "hello there"}]}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with reference_server(QUICK) as running:
        yield running


def asked(endpoint: Endpoint, **body: object) -> Sample:
    """Ask once; ``reference`` changes the script for this request."""
    request = {"model": "reference", "max_tokens": 32, "stream": True, **CHAT, **body}
    return read_sample(endpoint.ask(request, LIMITS), request, expect_stop=True)


CLEAN = {
    "plain": {},
    "no role chunk": {"role_first": False},
    "four tokens an event": {"tokens_per_event": 4},
    "events in two parts": {"split": True},
    "three events in one write": {"merge": 3},
    "all at once": {"itl_s": 0.0},
    "closed at the end": {"framing": "close"},
    "split and merged": {"split": True, "merge": 4, "tokens_per_event": 3},
    "huge comment": {"fault": Fault.HUGE_LINE},
}


@pytest.mark.parametrize("name", CLEAN)
def test_no_clean_stream_is_a_failure_and_its_times_are_the_servers(
    endpoint: Endpoint, name: str
) -> None:
    truth_of(endpoint)
    samples = [asked(endpoint, reference=CLEAN[name]) for _ in range(3)]
    truth = truth_of(endpoint)["requests"]
    for sample, told in zip(samples, truth, strict=True):
        assert (sample.failure, sample.usage, sample.finish_reason) == (None, "reported", "stop")
        assert sample.completion_tokens == sum(n for _, n in told["sent"]) == 20
        assert sample.text == "word " * 20
        first, last = told["sent"][0][0], told["sent"][-1][0]
        # Nothing is seen before it was sent; how long after is measured, not asserted.
        assert sample.ttft_s >= (first - told["received_ns"]) / 1e9
        assert sample.end_to_end_s >= (last - told["received_ns"]) / 1e9
        if sample.itl_s:
            assert sample.first_tokens >= 0.95 * told["sent"][0][1]
            between = sample.end_to_end_s - sample.ttft_s
            assert sample.itl_s * (20 - sample.first_tokens) == pytest.approx(between)


#: Fault, the class that counts it, and a word of what is said of it.
FAULTS = [
    (Fault.HANG_FIRST, Failure.TIMEOUT, "silent"),
    (Fault.HANG_MID, Failure.TIMEOUT, "silent"),
    (Fault.RESET_FIRST, Failure.TRANSPORT, "dropped"),
    (Fault.RESET_MID, Failure.TRANSPORT, "dropped"),
    (Fault.CLOSE_MID, Failure.TRANSPORT, "closed by the server"),
    (Fault.GARBAGE, Failure.MALFORMED, "no JSON object"),
    (Fault.INVALID_UTF8, Failure.MALFORMED, "not UTF-8"),
    (Fault.TRUNCATED_SSE, Failure.TRUNCATED_STREAM, "without [DONE]"),
    (Fault.ENDLESS_LINE, Failure.OVERSIZED, "more than"),
    (Fault.STATUS_400, Failure.REJECTED, "temperature"),
    (Fault.CONTEXT, Failure.CONTEXT_REJECTED, "context length"),
    (Fault.STATUS_404, Failure.REJECTED, "no such model"),
    (Fault.STATUS_413, Failure.CONTEXT_REJECTED, "too large"),
    (Fault.STATUS_429, Failure.ADMISSION_REJECTED, "too many"),
    (Fault.STATUS_500, Failure.SERVER_ERROR, "internal"),
    (Fault.STATUS_503, Failure.ADMISSION_REJECTED, "queue"),
    (Fault.ERROR_FIRST, Failure.MID_STREAM_ERROR, "out of memory"),
    (Fault.ERROR_MID, Failure.MID_STREAM_ERROR, "worker died"),
    (Fault.EMPTY, Failure.NO_TOKENS, "no token"),
    (Fault.LENGTH, Failure.LENGTH_TRUNCATED, "cut"),
]


@pytest.mark.parametrize(("fault", "failure", "said"), FAULTS, ids=lambda x: str(x))
def test_each_fault_is_counted_in_its_class_and_the_rest_is_clean(
    endpoint: Endpoint, fault: Fault, failure: Failure, said: str
) -> None:
    broken = asked(endpoint, reference={"fault": fault})
    assert broken.failure is failure
    assert said in broken.failure_detail
    assert asked(endpoint).failure is None


def test_a_refused_connection_is_a_transport_failure() -> None:
    with reference_server(QUICK.model_copy(update={"fault": Fault.REFUSED})) as endpoint:
        first, second = asked(endpoint), asked(endpoint)
    assert first.failure is second.failure is Failure.TRANSPORT
    assert "refused" in second.failure_detail


@pytest.mark.parametrize(
    ("fault", "usage"),
    [
        (Fault.NO_USAGE, Usage.MISSING),
        (Fault.LOW_USAGE, Usage.CONTRADICTED),
        (Fault.HIGH_USAGE, Usage.CONTRADICTED),
    ],
)
def test_a_missing_or_lying_count_leaves_tokens_unknown(
    endpoint: Endpoint, fault: Fault, usage: Usage
) -> None:
    sample = asked(endpoint, reference={"fault": fault})
    assert (sample.failure, sample.usage) == (None, usage)
    assert (sample.completion_tokens, sample.itl_s, sample.decode_tokens_per_s) == (None,) * 3
    assert sample.ttft_s is not None


def test_another_model_is_seen(endpoint: Endpoint) -> None:
    sample = asked(endpoint, reference={"fault": Fault.WRONG_MODEL})
    assert (sample.failure, sample.model) == (None, "another")


def test_every_fault_of_the_server_is_in_a_test() -> None:
    elsewhere = {Fault.REFUSED, Fault.NO_USAGE, Fault.LOW_USAGE, Fault.HIGH_USAGE,
                 Fault.WRONG_MODEL, Fault.OTHER_SERVER, Fault.HUGE_LINE}  # fmt: skip
    assert {fault for fault, _, _ in FAULTS} | elsewhere == set(Fault)


def test_plain_completions_and_answers_without_stream(endpoint: Endpoint) -> None:
    truth_of(endpoint)
    sample = asked(endpoint, prompt="hello there")
    whole = endpoint.ask({**CHAT, "model": "reference", "max_tokens": 8}, LIMITS)
    truth = truth_of(endpoint)["requests"]
    assert (sample.failure, sample.text) == (None, "word " * 20)
    assert b'"completion_tokens": 8' in whole.reads[-1][1]
    assert [len(told["sent"]) for told in truth] == [20, 1]


def test_a_long_prompt_is_sent_whole(endpoint: Endpoint) -> None:
    """It does not fit the socket's buffer, so it is written in parts."""
    sample = asked(endpoint, prompt="long " * 2_000_000)
    assert sample.failure is None
    assert sample.prompt_tokens > 2_000_000


def test_every_nth_request_may_be_faulty_and_the_truth_says_which() -> None:
    script = QUICK.model_copy(update={"fault": Fault.ERROR_MID, "fault_every": 3})
    with reference_server(script) as endpoint:
        failed = [asked(endpoint).failure is not None for _ in range(6)]
        told = [r["fault"] for r in truth_of(endpoint)["requests"]]
    assert failed == [False, False, True] * 2
    assert told == [None, None, "error_mid"] * 2
