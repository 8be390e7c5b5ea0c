"""Ceilings, shrunk effects and the shares fitted from public measurements."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackchoice.facts.shares import ShareModel
from stackchoice.fit.asked import asked_run, find_machine
from stackchoice.fit.calibrate import fitted
from stackchoice.fit.parameters import count_parameters
from stackchoice.fit.runs import (
    Run,
    attention_operations,
    decode_ceiling,
    measured_run,
    prefill_ceiling,
    suspect_kernel_path,
)
from stackchoice.fit.shares import PRIORS, features, fit_shares, measured_runs, rough
from stackchoice.fit.shrink import Point, fit, weighted_quantile


def test_gh200_reads_30_8_gb_130_times_a_second():
    assert decode_ceiling(4000, 30.8e9) == pytest.approx(129.87, abs=0.01)
    assert not suspect_kernel_path(63.1, 129.9, "gpu")
    assert suspect_kernel_path(33.5, 573.0, "gpu")
    assert not suspect_kernel_path(5.0, 100.0, "unified")


def test_fp8_against_bf16_and_a_card_against_a_desktop():
    assert decode_ceiling(4000, 30.867e9) / decode_ceiling(4000, 55.563e9) == pytest.approx(
        1.8, abs=0.01
    )
    assert decode_ceiling(1792, 17.1e9) / decode_ceiling(273, 17.1e9) == pytest.approx(
        6.56, abs=0.01
    )


def test_devices_that_split_by_layer_take_turns():
    run = Run(
        phase="decode", device_class="gpu", engine_family="llama.cpp", encoding_family="4-bit",
        bandwidth_gb_per_s=1000, active_bytes=50e9, active_parameters=10e9, total_bytes=200e9,
        devices=4,
    )  # fmt: skip
    assert run.ceiling == pytest.approx(80)
    assert run.model_copy(update={"by_layer": True}).ceiling == pytest.approx(20)
    # 40e9 parameters in all: 32 layers times the fourth root of five
    assert run.layers == pytest.approx(32 * 1.4953, rel=1e-3)


def test_prefill_ceiling_and_attention_re_derived():
    # 989 TFLOPS over 2 x 26.9e9 operations a token
    assert prefill_ceiling(989, 26.9e9) == pytest.approx(989e12 / 53.8e9)
    # two layers, 4 heads, key and value 8 wide: 2 x (32 + 32) x 2 x half of 100 tokens
    assert attention_operations(64, 2, 0, 100) == 2 * 64 * 2 * 50
    assert attention_operations(64, 2, 1000, 100) == 2 * 64 * 2 * 1050


@pytest.mark.parametrize(
    ("model", "total", "active"),
    [
        ("openai/gpt-oss-120b", 116.83e9, 5.13e9),
        ("Qwen/Qwen3-32B", 32.76e9, 31.98e9),
        ("meta-llama/Llama-3.1-8B", 8.03e9, 7.50e9),
        ("Qwen/Qwen3.8-27B", 26.90e9, 25.62e9),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 107.77e9, 16.14e9),
    ],
)
def test_parameters_from_the_config_are_the_published_ones(facts, model, total, active):
    counts = count_parameters(facts.models[model].config.value)
    assert counts.total == pytest.approx(total, rel=0.001)
    assert counts.decode_active == pytest.approx(active, rel=0.001)


def test_experts_are_counted_in_the_layers_that_have_them():
    """Llama-4-Maverick: every other layer, one shared expert, 400B; three dense layers first."""
    config = {
        "num_hidden_layers": 48, "hidden_size": 5120, "vocab_size": 202_048,
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 8192, "intermediate_size_mlp": 16_384, "num_local_experts": 128,
        "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
    }  # fmt: skip
    counts, expert = count_parameters(config), 3 * 5120 * 8192
    assert counts.routed == 24 * 128 * expert
    assert counts.total == pytest.approx(400.7e9, rel=0.001)
    del config["interleave_moe_layer_step"]
    marked = count_parameters({**config, "moe_layer_freq": [0] * 3 + [1] * 45})
    assert marked.routed == 45 * 128 * expert


def test_layers_that_are_not_counted_are_unknown():
    """Nemotron-H has a mixer or an MLP in a layer; MiMo-V2's windows have heads of their own."""
    assert count_parameters({"layers_block_type": ["mamba", "moe"], "n_routed_experts": 8}) is None
    assert count_parameters({"hybrid_layer_pattern": [0, 1], "n_routed_experts": 8}) is None
    assert count_parameters({"hybrid_override_pattern": "MEM*"}) is None
    assert count_parameters({"num_hidden_layers": 3}) is None


def test_ceilings_of_the_ledger_are_those_it_prints(facts):
    compared = 0
    for case in facts.cases:
        printed = case["answer"].get("ceiling_tokens_per_s")
        if case["ask"] != "decode_tokens_per_s" or not printed:
            continue
        run = asked_run(case["ask"], case["given"], facts)
        if "sliding" in str(case["given"].get("config", {}).get("text_config", {})):
            continue  # the ledger's figure leaves the windows out
        # the ledger counts growing cache only, the run also the recurrent state it reads
        assert run.ceiling == pytest.approx(printed, rel=0.005), case["id"]
        compared += 1
    assert compared > 30


def test_machines_are_found_by_words_and_bandwidth(facts):
    def find(name, bandwidth, memory):
        given = {"name": name, "bandwidth_gb_per_s": bandwidth, "memory_gb": memory}
        found = find_machine(given, facts)
        return found and found.id

    assert find("Strix Halo (Radeon 8060S)", 256, 128) == "strix_halo_128"
    assert find("GB10 (DGX Spark)", 273, 128) == "dgx_spark"
    assert find("RTX 3090", 936.2, 24) == "rtx_3090"
    assert find("M4 Max", 546, 64) == "m4_max_128"
    assert find("Abacus 9000", 1, 1) is None


def test_all_rows_are_there_and_most_have_a_ceiling(facts):
    assert len(facts.measurements) == 1393
    with_ceiling = [
        r for row in facts.measurements if (r := measured_run(row, facts)) and r.ceiling
    ]
    assert len(with_ceiling) > 1330
    # A source that split by row in spite of the default passes the ceiling of one device.
    assert all(
        r.tokens_per_s / r.ceiling < (r.devices if r.by_layer and r.devices > 1 else 1.6)
        for r in with_ceiling
        if r.phase == "decode"
    )


def test_weighted_quantile_counts_weight_not_rows():
    assert weighted_quantile([1, 2, 3], [1, 1, 1], 0.5) == 2
    assert weighted_quantile([1, 2, 3], [10, 1, 1], 0.5) == 1
    assert weighted_quantile([], [], 0.5) == 0


def rows_of(group, value, count, device="a"):
    features = {"one": 1.0, f"device:{device}": 1.0}
    return [
        Point(features=features, value=value + 0.02 * (i % 3), group=group) for i in range(count)
    ]


def test_few_rows_of_a_device_move_it_less_than_many():
    common = [p for g in "abcd" for p in rows_of(g, -0.5, 10, device=g)]
    few = fit(common + rows_of("e", -1.5, 1, device="x"), PRIORS)
    many = fit(common + [p for g in "fghi" for p in rows_of(g, -1.5, 10, device="x")], PRIORS)
    at = {"one": 1.0, "device:x": 1.0}
    assert few.predict(at)[0] > many.predict(at)[0]
    assert few.terms["device:x"][1] > many.terms["device:x"][1]


def test_what_was_measured_together_is_known_together():
    """Two effects that only ever occur as a pair: their sum is known better than each alone."""
    common = [p for g in "abcd" for p in rows_of(g, -0.5, 10, device=g)]
    pair = [
        Point(features={"one": 1.0, "device:x": 1.0, "class:y": 1.0}, value=-1.5, group=g)
        for g in "efgh"
        for _ in range(5)
    ]
    model = fit(common + pair, PRIORS)
    assert model.together["class:y"]["device:x"] < -0.3
    both = model.predict({"device:x": 1.0, "class:y": 1.0})[1]
    own = model.own_spread()
    alone = [model.predict({name: 1.0})[1] for name in ("device:x", "class:y")]
    assert both**2 - own**2 < sum(sd**2 - own**2 for sd in alone)
    bare = model.model_copy(update={"together": {}})
    assert bare.predict({"device:x": 1.0, "class:y": 1.0})[1] > both


@settings(max_examples=100)
@given(st.lists(st.sampled_from([*"abcdef"]), min_size=1, unique=True))
def test_a_spread_is_never_less_than_that_of_a_row(chosen):
    """Correlations that were rounded or left out may not make a sum known better than exactly."""
    names = [f"class:{x}" for x in "abcdef"]
    pairs = {a: dict.fromkeys(names[i + 1 :], -0.9) for i, a in enumerate(names)}
    model = ShareModel(
        terms=dict.fromkeys(names, (0.0, 0.3)), together=pairs, priors=PRIORS, spread=0.2
    )
    assert model.predict({f"class:{x}": 1.0 for x in chosen})[1] >= 0.2


def test_an_unseen_device_is_wider_than_a_measured_one(facts):
    model = next(m for m in facts.share_models if m.phase == "decode")
    run = next(r for r in measured_runs(facts) if r.phase == "decode" and r.device == "rtx_3090")
    other = run.model_copy(update={"device": "nobody has it"})
    known, unseen = (model.factors(features(r), rough(r)) for r in (run, other))
    assert unseen[2] / unseen[0] > known[2] / known[0]
    assert known[0] < known[1] < known[2]


@settings(max_examples=50)
@given(st.floats(1, 400), st.integers(0, 100_000))
def test_a_higher_ceiling_never_predicts_slower_and_ends_are_ordered(scale, depth):
    from stackchoice.facts import load_facts

    facts = load_facts()
    model = next(m for m in facts.share_models if m.phase == "decode")
    run = next(r for r in measured_runs_once(facts) if r.phase == "decode")
    slow = run.model_copy(update={"active_bytes": 4e11 / scale, "depth_tokens": depth})
    fast = slow.model_copy(update={"active_bytes": 2e11 / scale})
    speeds = []
    for each in (slow, fast):
        low, middle, high = model.factors(features(each), ())
        assert 0 < low <= middle <= high
        speeds.append(middle * each.ceiling)
    assert speeds[0] <= speeds[1]


_ONCE = {}


def measured_runs_once(facts):
    return _ONCE.setdefault(facts.sha256, measured_runs(facts))


def test_the_committed_shares_are_those_the_command_writes(facts):
    models, classes = fitted(facts)
    for new in models:
        old = next(m for m in facts.share_models if m.phase == new.phase)
        assert (new.rows, new.groups) == (old.rows, old.groups)
        assert new.terms.keys() == old.terms.keys()
        for name, (value, spread) in new.terms.items():
            assert (value, spread) == pytest.approx(old.terms[name], abs=2e-3), name
        assert new.together.keys() == old.together.keys()
        for name, others in new.together.items():
            assert others == pytest.approx(old.together[name], abs=1e-2), name
        for key in ("low", "middle", "high", "spread"):
            assert getattr(new, key) == pytest.approx(getattr(old, key), abs=5e-3)
    for row in classes:
        old = next(
            e for e in facts.efficiencies
            if (e.device_class, e.phase, e.threads) == (row["device_class"], row["phase"], "all")
        )  # fmt: skip
        assert (old.low, old.middle, old.high) == (row["low"], row["middle"], row["high"])


def test_leaving_a_source_out_changes_what_is_fitted(facts):
    runs = measured_runs(facts)
    whole = fit_shares(runs, "prefill")
    less = fit_shares(runs, "prefill", without="kyuz0/amd-strix-halo-toolboxes")
    assert less.groups == whole.groups - 1
    assert less.rows < whole.rows
    assert math.isfinite(less.spread)


def test_feed_forward_layers_of_two_matrices_and_weights_that_nobody_counts():
    """starcoder2 and arcee by their defaults in Transformers 5.24.0, counted there by the class."""
    star = {
        "model_type": "starcoder2", "num_hidden_layers": 30, "hidden_size": 3072,
        "intermediate_size": 12288, "num_attention_heads": 24, "num_key_value_heads": 2,
        "vocab_size": 49152, "tie_word_embeddings": True,
    }  # fmt: skip
    assert count_parameters(star).total == pytest.approx(3_030_371_328, rel=1e-3)
    arcee = {
        "model_type": "arcee", "num_hidden_layers": 32, "hidden_size": 2560, "vocab_size": 32000,
        "intermediate_size": 18432, "num_attention_heads": 32,
    }  # fmt: skip
    assert count_parameters(arcee).total == pytest.approx(4_022_766_080, rel=1e-3)
    for unlike in ({"model_type": "ernie4_5_moe"}, {"conv_L_cache": 3},
                   {"hidden_size_per_layer_input": 256}):  # fmt: skip
        assert count_parameters({**arcee, **unlike}) is None
