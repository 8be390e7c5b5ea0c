"""The ledger's speed questions, and how good the intervals are with each source left out."""

import pytest

from stackchoice.facts.shares import SpeedScore
from stackchoice.score.given import Unknown
from stackchoice.score.ledger import scores, summary, write
from stackchoice.score.speed import ASKS, share_model


@pytest.fixture(scope="module")
def speed_cases(facts):
    return [c for c in facts.cases if c["ask"] in ASKS]


def test_every_speed_line_is_answered_or_says_why_not(facts, speed_cases):
    unknown = []
    for case in speed_cases:
        key = "speedup" if case["ask"] == "speculative_speedup" else "tokens_per_s"
        try:
            found = ASKS[case["ask"]](case["given"], facts)
        except Unknown:
            unknown.append(case["id"])
            continue
        assert 0 < found["low"] <= found[key] <= found["high"], case["id"]
    assert len(unknown) <= 2, unknown


def test_the_answer_is_not_read(facts, speed_cases):
    """Only given and the source count: the function has no way to see more."""
    case = speed_cases[0]
    found = ASKS[case["ask"]](case["given"], facts, case["source_url"])
    assert found == ASKS[case["ask"]](dict(case["given"]), facts, case["source_url"])


def test_source_url_leaves_its_repository_out(facts):
    url = "https://github.com/kyuz0/amd-strix-halo-toolboxes/tree/main/x"
    assert share_model("decode", facts, url).groups == share_model("decode", facts, None).groups - 1
    elsewhere = "https://example.org/page"
    assert (
        share_model("decode", facts, elsewhere).groups == share_model("decode", facts, None).groups
    )


def test_without_a_bandwidth_the_answer_is_unknown(facts):
    given = {"machine": {"name": "Abacus"}, "engine": "vllm", "encoding": "bf16", "batch": 1}
    with pytest.raises(Unknown, match="no ceiling"):
        ASKS["decode_tokens_per_s"](given, facts)


def test_summary_weighs_sources_alike():
    def line(source, measured):
        return {"ask": "a", "source": source, "measured": measured, "low": 1.0, "middle": 1.5,
                "high": 2.0}  # fmt: skip

    lines = [line("x", 1.5)] * 9 + [line("y", 8.0)] + [{"ask": "a", "source": "z", "reason": "?"}]
    found = summary(lines)["a"]
    assert (found["answered"], found["unknown"], found["sources"]) == (10, 1, 2)
    assert found["coverage"] == pytest.approx(0.5)
    assert found["rows_coverage"] == pytest.approx(0.9)
    assert found["median_high_over_low"] == pytest.approx(2.0)
    # log 2 wide, and 10 x log 4 for the miss at half the weight
    assert found["interval_score"] == pytest.approx(0.6931 + 0.5 * 10 * 1.3863, abs=1e-3)


def test_ledger_lines_are_covered_with_their_source_left_out(facts, speed_cases):
    hits = {ask: [] for ask in ASKS}
    for case in speed_cases:
        key = "speedup" if case["ask"] == "speculative_speedup" else "tokens_per_s"
        try:
            found = ASKS[case["ask"]](case["given"], facts, case["source_url"])
        except Unknown:
            continue
        hits[case["ask"]].append(found["low"] <= case["answer"][key] <= found["high"])
    for ask in ASKS:
        assert sum(hits[ask]) / len(hits[ask]) >= 0.7, ask


def test_the_committed_ledger_is_what_the_command_gives_and_meets_the_bars(facts):
    found = {(s.ask, s.rows_of, s.seen): s for s in scores(facts)}
    kept = {(s.ask, s.rows_of, s.seen): s for s in facts.speed_scores}
    assert found.keys() == kept.keys()
    for key, score in found.items():
        old = kept[key]
        assert (score.answered, score.unknown, score.sources) == (
            old.answered, old.unknown, old.sources,
        )  # fmt: skip
        for name in ("coverage", "median_high_over_low", "interval_score", "median_error"):
            assert getattr(score, name) == pytest.approx(getattr(old, name), abs=0.03), key
        assert old.source.as_of
    for ask, widest in (("decode_tokens_per_s", 2.5), ("prefill_tokens_per_s", 3)):
        score = kept[ask, "all", 0]
        assert score.coverage >= 0.7
        assert score.median_high_over_low <= widest


def test_scores_are_written_as_they_are_read(tmp_path, facts):
    from stackchoice.facts.yaml import read_facts

    score = SpeedScore(
        ask="decode_tokens_per_s", rows_of="set-ups measured twice", seen=1, answered=3, unknown=0,
        sources=2, coverage=0.5, median_high_over_low=2.0, interval_score=1.25, median_error=0.1,
    )  # fmt: skip
    write([score], "2026-01-02", tmp_path)
    tree = read_facts(tmp_path / "speed_ledger.yaml")
    (row,) = tree["speed_scores"]
    assert tree["sources"][row.pop("source")]["as_of"] == "2026-01-02"
    assert SpeedScore.model_validate(row) == score
