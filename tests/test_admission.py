"""One entry to every allocator: the worked case, and what holds for every engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.facts import load_facts
from stackchoice.fit.admission import admit

QWEN = load_facts().models["Qwen/Qwen3.8-27B"].config.value
POOL_A, POOL_B = 25_000_000_000, 23_436_993_224
RULED = ("vllm", "sglang", "llama.cpp", "ollama")
QUOTIENT = ("max", "mlx-lm", "transformers", "tensorrt-llm")


@pytest.mark.parametrize(
    ("engine", "settings", "a", "b"),
    [
        ("vllm", {"enable_prefix_caching": False}, 34, 32),
        ("vllm", {}, 28, 26),
        ("sglang", {}, 15, 14),
        ("sglang", {"disable_radix_cache": True}, 24, 23),
        ("llama.cpp", {}, 36, 33),
        ("max", {}, 40, 38),
    ],
)
def test_the_worked_case(engine, settings, a, b):
    """Qwen3.8-27B in bf16 at 8,192 tokens, on both budgets of the same card."""
    for pool, expected in ((POOL_A, a), (POOL_B, b)):
        found = admit(engine, None, QWEN, pool_bytes=pool, context_tokens=8192, settings=settings)
        assert found.live_sequences == expected


def test_blocks_of_the_worked_case():
    found = admit("vllm", "0.33.0", QWEN, pool_bytes=POOL_A, context_tokens=8192)
    page = -(-(48 * 128 * 128 * 4 + 10_240 * 3 * 2) // (16 * 4096)) * 16 * 4096
    assert (found.block_tokens, found.blocks) == (784, POOL_A // (16 * page)) == (784, 486)
    assert found.max_concurrency == pytest.approx(486 / (11 + 3 * 2))
    assert found.printed_pool_tokens == int(486 / 17 * 8192)


def test_boot_and_steady_state_are_apart():
    hybrid = admit("vllm", "0.33.0", QWEN, pool_bytes=POOL_A, context_tokens=8192)
    assert hybrid.steady_live_sequences is None
    assert "fifth" in hybrid.steady_state_note
    gemma = load_facts().models["google/gemma-3-27b-it"].config.value
    sliding = admit("vllm", "0.33.0", gemma, pool_bytes=POOL_A, context_tokens=32768,
                    settings={"max_num_batched_tokens": 8192})  # fmt: skip
    assert sliding.steady_live_sequences > sliding.live_sequences


def test_defaults_that_depend_on_the_device():
    facts = load_facts()
    gemma = facts.models["google/gemma-3-27b-it"].config.value
    asked = {"pool_bytes": POOL_A, "context_tokens": 32768}
    without = admit("vllm", "0.33.0", gemma, **asked)
    assert without.live_sequences is None
    assert "max_num_batched_tokens" in without.notes[0]
    live = {
        m: admit("vllm", "0.33.0", gemma, device=facts.machines[m], **asked).live_sequences
        for m in ("h100_sxm", "a100_80_sxm")
    }
    assert live["h100_sxm"] < live["a100_80_sxm"]


@pytest.mark.parametrize("engine", QUOTIENT)
def test_a_quotient_says_that_it_is_one(engine):
    found = admit(engine, None, QWEN, pool_bytes=POOL_A, context_tokens=8192)
    assert found.rule == "quotient"
    assert "not sourced" in found.rule_text
    assert found.evidence == "inferred"


def test_an_engine_without_rules_is_unknown():
    for engine in ("lm-studio", "nobody"):
        found = admit(engine, None, QWEN, pool_bytes=POOL_A, context_tokens=8192)
        assert found.live_sequences is None
        assert found.rule is None
        assert found.notes


def test_a_mode_nobody_read_is_unknown_and_names_itself():
    asked = {"pool_bytes": POOL_A, "context_tokens": 8192}
    settings = {"mamba_cache_mode": "all", "enable_prefix_caching": True}
    mamba = {
        "model_type": "bamba", "num_hidden_layers": 4, "attn_layer_indices": [2],
        "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096,
        "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1,
        "mamba_d_conv": 4, "dtype": "bfloat16",
    }  # fmt: skip
    found = admit("vllm", "0.22.0", mamba, settings=settings, **asked)
    assert found.live_sequences is None
    assert "mamba_cache_mode" in found.notes[0]
    # Gated DeltaNet does not support it, and the release falls back to align
    assert admit("vllm", "0.22.0", QWEN, settings=settings, **asked).live_sequences is not None


@given(
    st.sampled_from(RULED + QUOTIENT), st.integers(0, 10**11), st.integers(0, 10**11),
    st.integers(1, 262_144),
)  # fmt: skip
def test_more_memory_never_admits_fewer(engine, one, two, tokens):
    low, high = sorted((one, two))
    few, many = (
        admit(engine, None, QWEN, pool_bytes=p, context_tokens=tokens).live_sequences
        for p in (low, high)
    )
    assert few <= many


@given(st.sampled_from(RULED + QUOTIENT), st.integers(1, 262_144), st.integers(1, 262_144))
def test_a_longer_context_never_admits_more(engine, one, two):
    short, long = sorted((one, two))
    many, few = (
        admit(engine, None, QWEN, pool_bytes=POOL_A, context_tokens=t).live_sequences
        for t in (short, long)
    )
    assert few <= many


@given(st.data())
def test_a_dense_model_admits_what_counting_one_by_one_admits(data):
    """Sequences are taken one at a time until the memory is spent, by each engine's own unit."""
    layers, heads, width = (data.draw(st.sampled_from(v)) for v in
                            ((1, 3, 6), (1, 2, 8), (64, 80, 128)))  # fmt: skip
    context, pool = data.draw(st.integers(2, 9000)), data.draw(st.integers(0, 2 * 10**9))
    config = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "dtype": "bfloat16",
              "hidden_size": 2 * heads * width, "num_hidden_layers": layers, "vocab_size": 1000,
              "num_attention_heads": 2 * heads, "num_key_value_heads": heads, "head_dim": width,
              "intermediate_size": 64, "max_position_embeddings": 2**20}  # fmt: skip
    token = 2 * heads * width * 2 * layers

    def counted(units: int, each: int, most: int = 10**9) -> int:
        live = 0
        while units >= each and live < most:
            units, live = units - each, live + 1
        return live

    expected = {
        "vllm": counted(pool // (16 * token), -(-context // 16)),  # blocks of 16 tokens
        # The request table holds 2,048 for a pool below four of the longest contexts.
        "sglang": counted(pool // token, context, most=2048),
        "llama.cpp": counted(pool, -(-context // 256) * 256 * token),  # slots padded to 256 cells
    }
    for engine, live in expected.items():
        found = admit(engine, None, config, pool_bytes=pool, context_tokens=context)
        assert found.live_sequences == live, engine


def test_ranks_of_data_parallelism_each_have_a_pool():
    """Qwen3-32B, 64 layers of 8 heads of 128: four ranks of attention on 8 devices have 4 heads."""
    config, pool, context = load_facts().models["Qwen/Qwen3-32B"].config.value, 2**34, 8192

    def found(engine, tp, **settings):
        return admit(engine, None, config, pool_bytes=pool, context_tokens=context, tp=tp,
                     settings=settings)  # fmt: skip

    shared = found("sglang", 8, enable_dp_attention=True, dp_size=4)
    tokens = pool // (64 * 4 * 2 * 128 * 2)
    assert shared.printed_pool_tokens == tokens
    assert shared.live_sequences == 4 * (tokens // context)
    assert any("4 ranks of data parallelism" in note for note in shared.notes)
    assert found("sglang", 8, dp_size=1).printed_pool_tokens == 4 * tokens
    capped = found("sglang", 8, enable_dp_attention=True, dp_size=4, max_running_requests=4)
    assert capped.live_sequences == 4
    # vLLM's ranks, and SGLang's without that switch, have devices of their own
    for engine, key in (("vllm", "data_parallel_size"), ("sglang", "dp_size")):
        one, two = found(engine, 2), found(engine, 2, **{key: 2})
        assert two.live_sequences == 2 * one.live_sequences
        assert two.printed_pool_tokens == one.printed_pool_tokens


@pytest.mark.parametrize(("engine", "settings"), [
    ("vllm", {"pipeline_parallel_size": 2}), ("sglang", {"pp_size": 2}),
    ("sglang", {"enable_dp_attention": True, "dp_size": 3}),
])  # fmt: skip
def test_ways_to_split_a_model_that_nobody_read_are_unknown(engine, settings):
    found = admit(engine, None, QWEN, pool_bytes=POOL_A, context_tokens=8192, tp=8,
                  settings=settings)  # fmt: skip
    assert (found.rule, found.live_sequences) == (None, None)
    assert str(next(iter(reversed(settings.values())))) in found.notes[0]
