"""Figures that two premises reproduce, and what tells them apart."""

import pytest

from stackchoice.errors import UnknownRuleError
from stackchoice.facts import load_facts
from stackchoice.fit.admission import launch
from stackchoice.fit.premises import check_premises

QWEN = load_facts().models["Qwen/Qwen3.8-27B"].config.value
GROUPED = "grouped_blocks_over_groups"


def ask(release="0.19.1", **rest):
    return launch("vllm", release, QWEN, kv_dtype="fp8", facts=load_facts(), **rest)


def test_448448_says_nothing_by_itself():
    """286 blocks of 1,568 tokens over all 64 layers, and 1,145 // 4 blocks over four groups."""
    found = check_premises(ask(), printed_tokens=448_448, memory_gib=54.82)
    memory = 54.82 * 2**30
    assert int(memory // (64 * 2048 * 1568)) * 1568 == 448_448
    assert int(memory // (16 * 2048 * 1568)) // 4 * 1568 == 448_448
    assert found.reproducing == ["all_layers", GROUPED]
    assert not found.separable
    assert found.preferred == GROUPED
    assert "0.19.1" in found.preferred_why


def test_the_concurrency_line_would_decide_and_does():
    found = check_premises(ask(), printed_tokens=448_448, memory_gib=54.82)
    (line,) = found.would_decide
    assert "6.70x" in line
    assert "1.71x" in line
    for printed, standing in ((6.70, GROUPED), (1.71, "all_layers")):
        with_it = check_premises(
            ask(), printed_tokens=448_448, memory_gib=54.82, concurrency=printed
        )
        assert with_it.separable
        agreeing = [p.id for p in with_it.premises if p.reproduces and p.agrees_with_concurrency]
        assert agreeing == [standing]


def test_241600_without_a_memory_line():
    """151 blocks of 1,600 tokens: with two drafted tokens; the memory line would tell."""
    asked = ask(draft_layers=1, settings={"num_speculative_tokens": 2})
    found = check_premises(asked, printed_tokens=241_600)
    assert {"all_layers", GROUPED} <= set(found.reproducing)
    assert not found.separable
    assert found.preferred == GROUPED
    assert any("Available KV cache memory" in line for line in found.would_decide)
    implied = {p.id: p.implied_gib for p in found.premises if p.reproduces}
    grouped_block = 17 * 1600 * 2048 / 2**30
    assert implied[GROUPED] == pytest.approx(
        (4 * 151 * grouped_block, (4 * 151 + 4) * grouped_block)
    )


def test_a_release_after_the_change_prefers_the_other_formula():
    asked = ask("0.26.0", settings={"enable_prefix_caching": False})
    found = check_premises(asked, printed_tokens=1_755_291, memory_gib=54.82)
    assert found.preferred == "grouped_concurrency_times_length"
    assert found.separable


def test_a_figure_that_nothing_reproduces_prefers_nothing():
    found = check_premises(ask(), printed_tokens=123_457, memory_gib=54.82)
    assert (found.reproducing, found.preferred) == ([], None)


def test_other_engines_are_unknown():
    asked = launch("sglang", None, QWEN, facts=load_facts())
    with pytest.raises(UnknownRuleError):
        check_premises(asked, printed_tokens=1)
