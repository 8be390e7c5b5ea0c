"""Honest percentiles, fixed rules of discarding, and a passport that survives the disk."""

import os
from pathlib import Path

import pytest

from stackchoice.confirm import Endpoint, Passport, PassportError, Plan
from stackchoice.confirm.assess import assemble
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.results import Spread, cached_share, discard_reason, summarise
from stackchoice.facts import Evidence
from stackchoice.facts.interval import Interval
from stackchoice.load.records import Failure, Sample

HEALTHY = {
    "step": "health", "launch": 0, "repetition": 0, "segment": "a",
    "health": {"loop_lag_p99_s": 0.001, "loop_lag_max_s": 0.002, "read_wait_p99_s": 0.001,
               "read_wait_max_s": 0.002, "slip_p99_s": 0.001, "slip_max_s": 0.001, "cpu_share": 0.1,
               "peak_connections": 1, "asked_concurrency": 1, "achieved_concurrency": 1.0},
}  # fmt: skip


def good(rate: float = 50.0, **more: object) -> Sample:
    fields = {"ttft_s": 0.5, "end_to_end_s": 1.5, "itl_s": 1 / rate, "decode_tokens_per_s": rate,
              "completion_tokens": 50, "content_chunks": 50, "prompt_tokens": 100,
              "cached_tokens": 0, "model": "odd", "status": 200, "usage": "reported"}  # fmt: skip
    return Sample(**{**fields, **more})


def passport(samples: list[Sample], events: tuple[dict, ...] = (), **more: object) -> Passport:
    timed = [
        {"step": "timed", "request_number": i, "started_at": f"2026-11-29T00:00:0{i}",
         "launch": 0, "repetition": 0, "segment": "a", "started_ns": i, "ended_ns": i + 1,
         "sample": sample.model_dump()}
        for i, sample in enumerate(samples)
    ]  # fmt: skip
    return assemble(
        [*events, *timed, HEALTHY],
        arm="a",
        endpoint=Endpoint(base_url="http://h", model="odd"),
        plan=Plan(),
        identity=more.pop("identity", Identity()),
        **more,
    )


def test_percentiles_wait_for_enough_samples() -> None:
    five = Spread.of([3, 1, 2, None, 5, 4])
    assert (five.n, five.median, five.low, five.high) == (5, 3, 1, 5)
    assert (five.p50, five.p95, five.p99) == (None, None, None)
    assert five.percentile_text("p95") == "n too small (5 of 130)"
    assert (Spread.of(range(10)).p50, Spread.of(range(1, 12)).p50) == (None, 6)
    many = Spread.of(range(1, 663))
    assert (many.p50, many.p95, many.p99) == (331, 629, 656)
    assert many.percentile_text("p99") == "656"
    assert Spread.of([None]) is None


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (good(), ""),
        (good(failure=Failure.TIMEOUT, failure_detail="slow"), "timeout: slow"),
        (good(completion_tokens=None), "tokens unknown"),
        (good(completion_tokens=15), "15 completion tokens, fewer than 16"),
        (good(decode_tokens_per_s=None), "all tokens arrived in one read"),
    ],
)
def test_discard_rules(sample: Sample, reason: str) -> None:
    assert discard_reason(sample).startswith(reason)
    assert bool(discard_reason(sample)) == bool(reason)


def test_a_short_answer_keeps_its_ttft_and_loses_its_rate() -> None:
    results = summarise([good(10), good(20, completion_tokens=3, ttft_s=9.0), good(30)])
    assert (results.requests, results.usable, results.errors) == (3, 2, 0)
    assert (results.decode_tokens_per_s.median, results.ttft_s.high) == (20, 9.0)
    assert results.aggregate_tokens_per_s == pytest.approx(100 / 3.0)


def test_the_templates_opening_is_not_a_warm_cache() -> None:
    assert cached_share([good(cached_tokens=3)]) == 0
    assert cached_share([good(cached_tokens=3), good(cached_tokens=90)]) == pytest.approx(0.9)
    assert cached_share([good(cached_tokens=None)]) is None


def interval(low: float, high: float) -> Interval:
    middle = (low + high) / 2
    return Interval(low=low, middle=middle, high=high, unit="tokens/s", evidence=Evidence.COMPUTED)


@pytest.mark.parametrize(
    ("prediction", "verdict"),
    [
        (interval(40, 60), "confirmed"),
        (interval(10, 60), "not informative"),
        (interval(60, 90), "refuted"),
    ],
)
def test_a_valid_run_judges_the_prediction(prediction: Interval, verdict: str) -> None:
    p = passport([good()] * 3, prediction=prediction)
    assert p.label == "VALID"
    assert p.verdicts == {"decode_tokens_per_s": verdict}


def test_two_usable_samples_are_an_invalid_run_without_verdict() -> None:
    p = passport([good(), good(), good(completion_tokens=2)], prediction=interval(40, 60))
    assert p.label == "INVALID"
    assert p.validity.reasons[0].startswith("usable samples: 2, fewer than 3 (")
    assert p.verdicts == {"decode_tokens_per_s": "not measured"}
    assert [(d.request, d.reason[:4]) for d in p.validity.discarded] == [(2, "2 co")]


def test_a_model_that_changes_name_makes_the_run_invalid() -> None:
    p = passport([good(), good(), good(), good(model="other")])
    assert p.validity.same_model_after is False
    assert p.label == "INVALID"


def test_an_offer_that_changes_makes_the_run_invalid() -> None:
    offers = [{"step": s, "server": {"model_ids": [m]}}
              for s, m in (("server", "odd"), ("server_after", "new"))]  # fmt: skip
    p = passport([good()] * 3, tuple(offers))
    assert p.validity.reasons == ("the model name changed during the run",)


def test_every_item_is_shown_and_the_unknown_is_called_so() -> None:
    known = passport([good()] * 3, identity=Identity(runtime="vllm"))
    rows = {(part, item): text for part, item, text in known.rows()}
    assert rows["identity", "kernels"] == "unknown"
    assert rows["results", "wall power w"] == "unknown"
    assert rows["validity", "valid"] == "yes"
    assert rows["validity", "warnings"] == "none"
    few = "n too small for p50, p95, p99"
    assert rows["results", "ttft s"] == f"0.5 (0.5 to 0.5, n = 3; {few})"


def test_failures_are_counted_by_class() -> None:
    full = good(failure=Failure.ADMISSION_REJECTED)
    p = passport([good()] * 3 + [full, full, good(failure=Failure.TRANSPORT)])
    assert p.validity.admission_rejected == 2
    assert p.validity.failures["transport"] == 1
    assert p.validity.failures["timeout"] == 0
    assert p.results.errors == 3


def test_what_does_not_invalidate_is_warned_of() -> None:
    server = {"step": "server", "server": {"model_ids": ["x"], "context_tokens": 42624, "slots": 1}}
    refused = {"step": "stream_options_refused", "detail": "no"}
    samples = [
        good(40, cached_tokens=80, content_chunks=20),
        good(50, server_decode_tokens_per_s=80),
        good(60),
    ]
    identity = Identity(settings={"context_tokens": 262144, "slots": 4})
    said = "\n".join(passport(samples, (server, refused), identity=identity).validity.warnings)
    for part in (
        "does not list this model; it offers x", "up to 80% of a prompt", "refuses stream_options",
        "1.25 tokens a chunk", "context_tokens: configured 262144, realised 42624",
        "slots: configured 4, realised 1", "80 by the server's own account", "from 40 to 60",
    ):  # fmt: skip
        assert part in said


def warned(*samples: Sample, events: tuple[dict, ...] = (), **more: object) -> str:
    return "\n".join(passport(list(samples), events, **more).validity.warnings)


def test_tokens_gathered_on_the_way_are_told_from_tokens_joined_by_the_engine() -> None:
    gathered = good(gap_median_s=0.1, first_tokens=5.0, first_tokens_evidence=Evidence.INFERRED)
    p = passport([gathered] * 3)
    assert "about 5.0 tokens a read, one a chunk: gathered on the way" in p.validity.warnings[1]
    assert p.results.itl_s.evidence is p.results.decode_tokens_per_s.evidence is Evidence.INFERRED
    assert "gathered" not in warned(*[good(gap_median_s=0.02)] * 3)
    assert "gathered" not in warned(*[good(gap_median_s=0.1, content_chunks=10)] * 3)


def test_an_answer_that_may_have_been_finished_before_it_was_streamed_is_told() -> None:
    """100 tokens of prompt in 2 s are 50 a second, and no engine reads slower than it writes."""
    held = good(200, ttft_s=2.0, prefill_tokens_per_s=50.0)
    assert "the first token took longer than 200 tokens/s" in warned(*[held] * 3)
    assert "first token took" not in warned(*[good(200, prefill_tokens_per_s=5e3)] * 3)
    found = good(200, cached_tokens=90, prefill_tokens_per_s=5.0)  # what it was spared is not slow
    assert "first token took" not in warned(*[found] * 3)


def test_an_engine_that_nothing_names_is_unknown_and_said_to_be() -> None:
    said = {"model_ids": ["odd"], "owned_by": "openai", "server_header": "uvicorn"}
    proxy = {"step": "server", "server": said}
    assert "the engine is unknown" in warned(*[good()] * 3, events=(proxy,))
    assert passport([good()] * 3, (proxy,)).identity.runtime is None
    assert "unknown" not in warned(*[good()] * 3, identity=Identity(runtime="vllm"))


def test_why_no_sample_is_usable_stands_in_the_reason() -> None:
    p = passport([good(completion_tokens=None)] * 2)
    assert p.validity.reasons == (
        "usable samples: 0, fewer than 3 (2 of 2: tokens unknown: the server sent no usage)",
    )


def test_a_passport_survives_the_disk(tmp_path: Path) -> None:
    p = passport([good(text="\x1b[31m" + "x" * 5000)] * 3, prediction=interval(40, 60))
    path = p.save(tmp_path / "deep" / "p.json")
    assert Passport.load(path) == p
    assert os.listdir(path.parent) == ["p.json"]
    assert len(p.samples[0].text) < 2100
    assert "\x1b" not in p.samples[0].text


def test_saving_over_an_old_passport_replaces_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("old")
    p = passport([good()] * 3)
    p.save(path)
    assert Passport.load(path) == p


def test_a_file_that_is_no_passport_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with pytest.raises(PassportError, match=r"cannot be read .*; give the path"):
        Passport.load(path)
    path.write_text('{"format": "stackchoice-passport/9"}')
    with pytest.raises(PassportError, match="no passport of format stackchoice-passport/2"):
        Passport.load(path)
    with pytest.raises(PassportError, match="cannot be written"):
        passport([good()]).save(path / "below-a-file.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"decode_tokens_per_s": "confirmed"', '"decode_tokens_per_s": "refuted"'),
        ('"median": 50.0', '"median": 9e9'),
        ('"median": 50.0', '"median": NaN'),
        ('"low": 50.0', '"low": -1'),
        ('"reasons": []', '"reasons": ["a canary failed"]'),
    ],
)
def test_a_passport_that_contradicts_itself_is_refused(old: str, new: str, tmp_path: Path) -> None:
    said = Interval(low=40, middle=50, high=60, unit="tokens/s", evidence=Evidence.ASSUMED)
    path = passport([good()] * 5, prediction=said).save(tmp_path / "p.json")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(PassportError):
        Passport.load(path)
