"""What probes show, from made answers; the real engine answers in test_confirm_live."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.confirm.probed import at_once, cache_state, read_probes
from stackchoice.load.records import Failure, Sample


def samples(*ttfts: float, cached: int | None = None, prompt: int = 1000) -> list[dict]:
    return [Sample(status=200, ttft_s=t, cached_tokens=cached, prompt_tokens=prompt).model_dump(
        mode="json") for t in ttfts]  # fmt: skip


def failed(failure: Failure) -> dict:
    return Sample(status=400, failure=failure, failure_detail="no").model_dump(mode="json")


def test_a_later_question_that_gains_nothing_means_off() -> None:
    # 1.01 times, as the published probe found with the cache off.
    event = {"probe": "cache", "warm": samples(1.01, 1.0, 1.0), "control": samples(1.0, 1.0, 1.0)}
    found = read_probes([event])
    assert found.cache_state == "off"
    assert found.cache.speedup == pytest.approx(1.01)
    warm = {**event, "warm": samples(5.0, 1.0, 1.0)}
    assert read_probes([warm]).cache_state == "on"


@pytest.mark.parametrize(
    ("speedup", "control", "cached", "expected"),
    [
        (1.0, 1.0, 900, "on"),  # the server's own count stands before noisy times
        (9.0, 1.0, 0, "unclear"),  # count and times contradict each other
        (1.0, 1.0, 0, "off"),
        (2.0, 2.0, None, "off"),  # the control gains as much
        (1.2, 1.0, None, "unclear"),
    ],
)
def test_the_state_of_the_cache(
    speedup: float, control: float, cached: int | None, expected: str
) -> None:
    assert cache_state(speedup, control, cached, 1000) == expected


def context(under: dict, over: dict) -> dict:
    return {"probe": "context", "limit": 4096, "under": under, "over": over, "under_aim": 4055,
            "over_aim": 4137}  # fmt: skip


def test_a_context_is_realised_when_just_under_is_answered() -> None:
    (fine,) = samples(1.0, prompt=4050)
    found = read_probes([context(fine, failed(Failure.CONTEXT_REJECTED))])
    assert (found.context_tokens, found.warnings) == (4096, ())
    short = read_probes([context(failed(Failure.TIMEOUT), failed(Failure.CONTEXT_REJECTED))])
    assert short.context_tokens is None
    assert "just under that ends in timeout" in short.warnings[0]


def test_an_answer_above_the_limit_is_told_apart() -> None:
    (fine,), (cut,), (whole,) = (samples(1.0, prompt=n) for n in (4050, 2048, 4137))
    assert "cut in silence" in read_probes([context(fine, cut)]).warnings[0]
    assert "the real limit is higher" in read_probes([context(fine, whole)]).warnings[0]


def test_slots_are_counted_by_what_overlaps() -> None:
    event = {"probe": "slots", "slots": 2, "asked": 4, "answers": samples(1, 1, 1, 1),
             "spans_s": [(0, 2), (1, 3), (3.5, 5), None]}  # fmt: skip
    found = read_probes([event])
    assert (found.in_flight, found.warnings) == (2, ())
    assert "1 waited" in found.notes[0]
    few = read_probes([{**event, "slots": 3}])
    assert few.warnings == ("slots: 3 configured, at most 2 produced tokens at once",)


def test_what_could_not_be_probed_says_why() -> None:
    events = [{"probe": "context", "limit": None}, {"probe": "slots", "slots": 500}]
    said = read_probes(events).warnings
    assert said == ("context probe: not possible, no limit is known",
                    "slots probe: not possible, there are too many (500) for a probe; put a load "
                    "on")  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), max_size=12))
def test_overlap_is_that_of_every_moment(pairs: list[tuple[int, int]]) -> None:
    spans = [(a, a + length) for a, length in pairs]
    expected = max((sum(a <= t < b for a, b in spans) for t in range(101)), default=0)
    assert at_once(spans) == expected
