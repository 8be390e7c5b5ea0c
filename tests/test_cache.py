"""Cache bytes per layer kind, re-derived here by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.errors import UnknownCacheError
from stackchoice.fit import cache_layout

QWEN_27B = {
    "num_hidden_layers": 64, "full_attention_interval": 4, "num_attention_heads": 24,
    "num_key_value_heads": 4, "head_dim": 256, "hidden_size": 5120, "dtype": "bfloat16",
    "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_num_value_heads": 48,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32",
}  # fmt: skip
LLAMA_8B = {
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "hidden_size": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip


def test_hybrid_gated_deltanet_matches_the_hand_count():
    """16 of 64 layers keep keys and values; 48 keep a state matrix and 4 conv columns."""
    layout = cache_layout(QWEN_27B)
    assert layout.kv_bytes_per_token == 16 * 2 * 4 * 256 * 2 == 65_536
    state = 48 * 48 * 128 * 128 * 4
    convolution = 48 * (2 * 16 * 128 + 48 * 128) * 4 * 2
    assert (state, convolution) == (144 * 2**20, 3_932_160)
    assert layout.state_bytes_per_sequence == state + convolution
    assert layout.bytes_per_sequence(8192) == 691_798_016


def test_layer_types_list_and_interval_agree():
    types = (["linear_attention"] * 3 + ["full_attention"]) * 16
    listed = {**QWEN_27B, "layer_types": types}
    assert cache_layout(listed).bytes_per_sequence(5000) == cache_layout(
        QWEN_27B
    ).bytes_per_sequence(5000)


def test_a_multimodal_config_is_read_through_its_text_config():
    assert cache_layout({"text_config": LLAMA_8B}).kv_bytes_per_token == 131_072


def test_an_fp8_cache_halves_attention_and_leaves_recurrent_state():
    full, half = cache_layout(QWEN_27B), cache_layout(QWEN_27B, "fp8")
    assert half.kv_bytes_per_token * 2 == full.kv_bytes_per_token
    assert half.state_bytes_per_sequence == full.state_bytes_per_sequence


def test_sliding_layers_stop_growing_at_their_window():
    """Gemma 3 27B: 52 local layers of 1,024 tokens, 10 global ones (436,207,616 B per sequence)."""
    gemma = {
        "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16,
        "head_dim": 128, "hidden_size": 5376, "sliding_window": 1024,
        "sliding_window_pattern": 6, "torch_dtype": "bfloat16",
    }  # fmt: skip
    layout = cache_layout(gemma)
    assert layout.kv_bytes_per_token == 10 * 2 * 16 * 128 * 2 == 81_920
    assert layout.bytes_per_sequence(8192) - 8192 * 81_920 == 52 * 2 * 16 * 128 * 2 * 1024
    assert layout.bytes_per_sequence(100) == 100 * 62 * 2 * 16 * 128 * 2


def test_mla_stores_the_latent_not_the_heads():
    deepseek = {
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
        "hidden_size": 7168, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    assert cache_layout(deepseek).kv_bytes_per_token == 61 * 576 * 2 == 70_272


def test_head_dim_in_the_file_beats_the_quotient():
    glm = {**LLAMA_8B, "num_hidden_layers": 46, "num_attention_heads": 96, "head_dim": 128}
    assert cache_layout(glm).kv_bytes_per_token == 46 * 2 * 8 * 128 * 2 == 188_416


def test_missing_kv_heads_means_every_head_has_its_own():
    mha = {k: v for k, v in LLAMA_8B.items() if k != "num_key_value_heads"}
    assert cache_layout(mha).kv_bytes_per_token == 4 * 131_072


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"index_topk": 2048}, "index_head_dim"),
        ({"hybrid_override_pattern": "M-M*"}, "hybrid_override_pattern"),
        ({"layer_types": ["full_attention", "mystery"] * 16}, "mystery"),
        ({"sliding_window": 4096, "model_type": "novel"}, "sliding_window"),
        ({"num_hidden_layers": None}, "num_hidden_layers"),
        ({"num_hidden_layers": "32"}, "num_hidden_layers"),
        ({"num_hidden_layers": -1}, "num_hidden_layers"),
    ],
)
def test_what_is_not_modelled_is_unknown_and_named(change, named):
    with pytest.raises(UnknownCacheError, match=named):
        cache_layout({**LLAMA_8B, **change})


def test_an_unknown_cache_type_is_named():
    with pytest.raises(UnknownCacheError, match="fp3"):
        cache_layout(LLAMA_8B, "fp3")


@given(st.integers(1, 200_000), st.integers(1, 200_000))
def test_more_tokens_never_take_fewer_bytes(one, two):
    layout = cache_layout(QWEN_27B)
    low, high = sorted((one, two))
    assert layout.bytes_per_sequence(low) <= layout.bytes_per_sequence(high)
