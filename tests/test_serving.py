"""Aggregated serving: roofline of a step, calibration, and scores on held-out groups."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.facts.measurements import ServingRow
from stackchoice.fit.measured import calibrate
from stackchoice.fit.serving import fit_serving, group, held_out, load, predict
from stackchoice.score.serving import serving_scores


def row(**more):
    base = {
        "model": "Qwen/Qwen3-32B", "backend": "vllm", "machine": "h100_sxm", "precision": "bf16",
        "tp": 2, "concurrency": 8, "input_tokens": 1024, "output_tokens": 1024, "ttft_ms": 100,
        "tpot_ms": 20,
    }  # fmt: skip
    return ServingRow(**{**base, **more})


def test_roofline_of_a_dense_step_re_derived(facts):
    at = load(row(), facts)
    read = 31_983_534_080 * 2 + 8 * (1024 + 512) * 64 * 2 * 8 * 128 * 2
    assert at.memory_s == pytest.approx(read / (3350e9 * 2))
    multiplied = 31_983_534_080 - 151_936 * 5120
    assert at.compute_s == pytest.approx(2 * multiplied * 8 / (989e12 * 2))
    assert at.prompts_s == pytest.approx(2 * multiplied * 1024 * 8 / 1024 / (989e12 * 2))


def test_a_step_pays_the_machines_own_link(facts):
    """NVLink 4: 450 GB/s one way, 2.3 us an all-reduce; 8 streams of 5,120 values in 16 bits."""
    at = load(row(), facts)
    reduce = 8 * 5120 * 2 * 2 * 1 / 2 / 450e9 + 2.3e-6
    assert at.link_s == pytest.approx(2 * 64 * reduce)
    assert load(row(tp=1), facts).link_s == 0
    # what is between cards in slots, nobody says
    assert load(row(machine="l40s", tp=4), facts).link_s == 0


def test_experts_touched_grow_with_streams_up_to_all(facts):
    reads = [
        load(
            row(model="openai/gpt-oss-120b", concurrency=c, input_tokens=1, output_tokens=1), facts
        )
        for c in (1, 4, 64, 4096)
    ]
    assert all(a.memory_s < b.memory_s for a, b in pairwise(reads))
    assert reads[1].memory_s < 4 * reads[0].memory_s


def test_unknown_models_and_machines_have_no_answer(facts):
    assert load(row(model="nobody/knows"), facts) is None
    assert load(row(machine="nobody has it"), facts) is None


def test_calibration_is_the_posterior_of_a_normal_mean():
    # prior variance 0.5^2 - 0.2^2 = 0.21, row variance 0.04, two rows: w = 0.21 / (0.21 + 0.02)
    shift, spread = calibrate([0.3, 0.1], 0.5, 0.2)
    weight = 0.21 / 0.23
    assert shift == pytest.approx(weight * 0.2)
    assert spread == pytest.approx(((1 - weight) * 0.21 + 0.04) ** 0.5)
    assert calibrate([], 0.5, 0.2) == (0.0, 0.5)


errors = st.lists(st.floats(-1, 1), min_size=1, max_size=20)


@given(errors, st.floats(0.05, 1), st.floats(0.05, 1))
def test_calibration_shrinks_and_narrows(found, spread, row_spread):
    shift, left = calibrate(found, spread, row_spread)
    mean = sum(found) / len(found)
    assert abs(shift) <= abs(mean) + 1e-9
    assert left <= spread
    assert calibrate(found * 2, spread, row_spread)[1] <= left + 1e-12


def test_measured_rows_move_the_prediction_towards_themselves(facts):
    model = fit_serving(facts.serving, facts)
    plain = predict(row(), facts, model)
    slow = [row(concurrency=c, tpot_ms=3 * plain.middle) for c in (4, 8, 16)]
    moved = predict(row(), facts, model, measured=slow)
    assert plain.middle < moved.middle < 3.5 * plain.middle
    assert moved.factor < plain.factor


def test_held_out_groups_are_never_fitted(facts):
    fitted = {group(r) for r in facts.serving if not held_out(r)}
    tested = {group(r) for r in facts.serving if held_out(r)}
    assert fitted
    assert tested
    assert not fitted & tested


def test_scores_on_held_out_groups(facts):
    """The bars hold over enough groups; with few models in data/ only that all are answered."""
    scores = serving_scores(facts)
    plain, same, moved = scores.values()
    assert plain["answered"] == plain["rows"]
    known = {group(r) for r in facts.serving if held_out(r) and load(r, facts)}
    if len(known) >= 8:
        assert plain["coverage"] >= 0.7
        assert plain["median_error"] <= 0.25
        assert moved["median_error"] <= 0.15
    if moved["answered"]:
        assert moved["median_error"] <= same["median_error"] + 0.01
