"""Rates measured on the same set-up: they move, they narrow, and they never make it worse."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackchoice.confirm import Passport, Plan
from stackchoice.confirm.passport import Identity, Protocol, Validity
from stackchoice.confirm.results import Results
from stackchoice.errors import InputError
from stackchoice.fit import batch_one_speed
from stackchoice.fit.measured import ROW_SPREAD, Z80, MeasuredRate, calibrated_factors
from stackchoice.fit.shares import features, measured_runs, rough
from stackchoice.load.records import Sample, Spread
from stackchoice.own_rates import own_rates
from stackchoice.score.ledger import calibrated_answers, summary
from stackchoice.sizing import size_by_name


@pytest.fixture(scope="module")
def one(facts):
    model = next(m for m in facts.share_models if m.phase == "decode")
    run = next(r for r in measured_runs(facts) if r.phase == "decode" and r.device == "rtx_3090")
    return model, run


def seen(run, share, count):
    rate = share * run.ceiling
    return [run.model_copy(update={"tokens_per_s": rate}) for _ in range(count)]


def test_the_shift_is_the_posterior_mean_and_the_width_that_of_what_is_left(one):
    model, run = one
    low, middle, high = model.factors(features(run), rough(run))
    spread = math.log(high / low) / (2 * Z80)
    row = min(ROW_SPREAD["decode"] ** 2, 0.75 * spread**2)
    prior = spread**2 - row
    weight = prior / (prior + row / 2)
    moved = calibrated_factors(model, run, seen(run, 0.8 * middle, 2))
    assert moved[1] == pytest.approx(middle * 0.8**weight)
    left = math.sqrt((1 - weight) * prior + row)
    assert math.log(moved[2] / moved[0]) == pytest.approx(math.log(high / low) * left / spread)
    assert calibrated_factors(model, run) == pytest.approx((low, middle, high))


@settings(max_examples=60)
@given(share=st.floats(0.02, 1.0), count=st.integers(1, 6))
def test_more_rows_move_further_and_narrow_more_and_decode_stays_below_its_ceiling(
    one, share, count
):
    model, run = one
    few = calibrated_factors(model, run, seen(run, share, count))
    many = calibrated_factors(model, run, seen(run, share, 2 * count))
    plain = calibrated_factors(model, run)
    assert 0 < few[0] <= few[1] <= few[2] <= 1
    assert abs(math.log(many[1] / share)) <= abs(math.log(few[1] / share)) + 1e-9
    if max(few[2], many[2], plain[2]) < 1:  # where no end is held at the ceiling
        width = [math.log(f[2] / f[0]) for f in (plain, few, many)]
        assert width[0] >= width[1] - 1e-9 >= width[2] - 2e-9


def test_rows_of_the_other_phase_say_nothing(one):
    model, run = one
    other = run.model_copy(update={"phase": "prefill", "tokens_per_s": 1.0})
    assert calibrated_factors(model, run, [other]) == calibrated_factors(model, run)


@pytest.mark.parametrize("rows", [1, 3])
def test_held_out_rows_are_never_worse_by_more_than_a_point(facts, rows):
    found = calibrated_answers(facts, rows)
    before, after = summary(found[False]), summary(found[True])
    for ask in ("decode_tokens_per_s", "prefill_tokens_per_s"):
        assert after[ask]["answered"] == before[ask]["answered"] > 30
        assert after[ask]["median_error"] <= before[ask]["median_error"] + 0.01
        assert after[ask]["coverage"] >= before[ask]["coverage"] - 0.01
        assert after[ask]["interval_score"] <= before[ask]["interval_score"] + 0.01
        assert after[ask]["median_high_over_low"] <= before[ask]["median_high_over_low"]


def test_a_setup_is_told_from_another(facts):
    runs = [r for r in measured_runs(facts) if r.setup]
    assert len({r.setup for r in runs}) > 500
    assert all(len(r.setup) == 6 for r in runs)


def size(facts, **more):
    return size_by_name(
        "Qwen/Qwen3.8-27B", "h100_sxm", context_tokens=8192, engine="vllm", facts=facts, **more
    )


def test_a_table_of_rates_moves_the_sizing(facts, tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text(
        "phase,tokens_per_s,context_tokens,prompt_tokens\ndecode,50,1000,\nprefill,9000,,4000\n"
    )
    plain, moved = size(facts).speed, size(facts, measured=file).speed
    assert moved.decode.middle > plain.decode.middle
    assert moved.decode.factor < plain.decode.factor
    assert moved.prefill.factor < plain.prefill.factor
    assert "one rate taken as measured on this set-up" in moved.decode.rests_on
    assert moved.decode.high <= moved.decode_ceiling_tokens_per_s


def test_a_rate_that_nobody_would_expect_is_asked_about(facts, tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text("phase,tokens_per_s\ndecode,1\n")
    assert "whether the decode rates" in " ".join(size(facts, measured=file).speed.unknown)
    file.write_text("phase,tokens_per_s\ndecode,40\n")
    assert size(facts, measured=file).speed.unknown == []


def test_a_rate_above_the_ceiling_is_another_setup(facts, tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text("phase,tokens_per_s\ndecode,112\n")
    with pytest.raises(InputError, match=r"above the ceiling.*draft tokens"):
        size(facts, measured=file)


def test_a_measured_rate_is_compared_at_its_own_depth(facts):
    """Deep rows have more to read, so the same rate at depth is the better set-up."""
    model = facts.models["Qwen/Qwen3.8-27B"]
    artifact, machine = model.artifact("Qwen/Qwen3.8-27B"), facts.machines["h100_sxm"]

    def middle(depth):
        rate = MeasuredRate(phase="decode", tokens_per_s=40, context_tokens=depth)
        return batch_one_speed(
            model, artifact, machine, facts.efficiencies, shares=facts.share_models,
            classes=facts.speed_classes, measured=[rate], cache_at=lambda tokens: 10**5 * tokens,
        ).decode.middle  # fmt: skip

    assert middle(100_000) > middle(0)


@pytest.mark.parametrize(("rate", "suspect"), [(10.0, True), (40.0, False)])
def test_a_rate_far_below_the_ceiling_makes_the_kernel_path_suspect(facts, rate, suspect):
    """59.5 tokens/s is the ceiling of this file on an H100; a third of it is 18."""
    model = facts.models["Qwen/Qwen3.8-27B"]
    speed = batch_one_speed(
        model, model.artifact("Qwen/Qwen3.8-27B"), facts.machines["h100_sxm"],
        facts.efficiencies, shares=facts.share_models, classes=facts.speed_classes,
        measured=[MeasuredRate(phase="decode", tokens_per_s=rate)],
    )  # fmt: skip
    assert any("suspect the kernel path" in text for text in speed.unknown) is suspect


def passport_of(decode, prefill):
    sample = Sample(prompt_tokens=173, completion_tokens=64)
    return Passport(
        arm="a",
        identity=Identity(model="a model\x1b[31m", runtime="llama.cpp"),
        protocol=Protocol(
            plan=Plan(), prompt_version="1", harness="h", harness_revision="1",
            scorer_revision="1", sampling="greedy", reasoning_policy="off",
            output_budget_tokens=64, input_tokens="173", output_tokens="64", concurrency=1,
            arrival_pattern="one after the other", prefix_cache_state="cold", warm_up="1",
            repetitions=3, seed=1, usage_requested=True,
        ),
        validity=Validity(valid=True, discard_rules=(), discard_rules_sha256="0" * 64),
        results=Results(
            requests=3, usable=3, decode_tokens_per_s=Spread.of(decode),
            prefill_tokens_per_s=Spread.of(prefill),
        ),
        samples=(sample, sample, sample),
    )  # fmt: skip


def test_a_passport_counts_as_one_rate_of_each_phase_and_names_itself(tmp_path):
    file = tmp_path / "arm.passport.json"
    passport = passport_of(decode=[70.0, 72.0, 74.0], prefill=[170.0, 180.0, 190.0])
    passport.save(file)
    decode, prefill = own_rates(file)
    assert (decode.phase, decode.tokens_per_s, decode.context_tokens) == ("decode", 72.0, 173 + 32)
    assert (prefill.phase, prefill.tokens_per_s, prefill.prompt_tokens) == ("prefill", 180.0, 173)
    assert "a model" in decode.origin
    assert decode.origin.isprintable()  # a name is untrusted, and a terminal obeys it
    bad = passport.model_copy(
        update={"validity": passport.validity.model_copy(
            update={"valid": False, "reasons": ("too few",)})}
    )  # fmt: skip
    bad.save(file)
    with pytest.raises(InputError, match="not valid"):
        own_rates(file)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("phase,tokens_per_s\n", "holds no rate"),
        ("phase,speed\ndecode,3\n", "'speed' is not known"),
        ("phase\ndecode\n", "no 'tokens_per_s'"),
        ("phase,tokens_per_s\ndecode,fast\n", ":2: tokens_per_s is fast"),
        ("phase,tokens_per_s\ndecode,-1\n", ":2: tokens_per_s is -1"),
        ("phase,tokens_per_s\nprefill,inf\n", ":2: tokens_per_s is inf"),
        ("phase,tokens_per_s\ndraft,4\n", ":2: phase is draft"),
        ("phase,tokens_per_s\ndecode,4,5\n", ":2: "),
        ("", "no 'phase'"),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path, text, match):
    file = tmp_path / "rates.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=match) as found:
        own_rates(file)
    assert "\n" not in str(found.value)


def test_a_missing_table_is_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        own_rates(tmp_path / "none.csv")
