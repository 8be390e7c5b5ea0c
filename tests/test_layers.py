"""Layer kinds out of configs, their bytes re-derived here from shapes, and published figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.fit import cache_layout
from stackchoice.fit.cache import StateLayout, share
from stackchoice.fit.config import read
from stackchoice.fit.layers import model_layers

LLLG = ["sliding_attention"] * 3 + ["full_attention"]
SHORT = StateLayout(all_conv_columns=False)
BASE = {"num_hidden_layers": 8, "num_attention_heads": 16, "hidden_size": 2048, "dtype": "bfloat16"}
MLA = {
    "num_hidden_layers": 78, "num_attention_heads": 64, "num_key_value_heads": 64,
    "hidden_size": 6144, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192,
    "v_head_dim": 256, "index_topk": 2048, "index_head_dim": 128, "dtype": "bfloat16",
}  # fmt: skip
V4 = {
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 1,
    "hidden_size": 7168, "head_dim": 512, "sliding_window": 128, "index_topk": 1024,
    "index_head_dim": 128, "compress_ratios": [128, 128] + [4, 128] * 29 + [4, 0],
    "dtype": "bfloat16",
}  # fmt: skip
NEMOTRON = {
    "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
    "hidden_size": 2688, "mamba_num_heads": 64, "mamba_head_dim": 64, "ssm_state_size": 128,
    "n_groups": 8, "conv_kernel": 4, "mamba_ssm_cache_dtype": "float32", "dtype": "bfloat16",
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
}  # fmt: skip
KIMI = {
    "num_hidden_layers": 93, "num_attention_heads": 96, "hidden_size": 7168, "kv_lora_rank": 512,
    "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "dtype": "bfloat16",
    "linear_attn_config": {
        "full_attn_layers": [*range(4, 93, 4), 93], "num_heads": 96, "head_dim": 128,
        "short_conv_kernel_size": 4,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "heads"),
    [
        ({}, 16),
        ({"num_key_value_heads": 4}, 4),
        ({"multi_query": True}, 1),
        ({"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 8}, 8),
        ({"multi_query_attention": True, "multi_query_group_num": 2}, 2),
        ({"attn_config": {"kv_n_heads": 8}}, 8),
    ],
)
def test_every_notation_of_kv_heads(change, heads):
    assert cache_layout({**BASE, **change}).kv_bytes_per_token == 8 * heads * 2 * 128 * 2


def test_every_name_of_a_quantity_is_read_and_the_present_one_first():
    another = {"max_position_embeddings": "model_max_length"}
    for key, names in config_keys().names.items():
        assert key in names
        assert names[0] == another.get(key, key)
        assert [read({name: 7}, key) for name in names] == [7] * len(names)
        assert read({name: n for n, name in enumerate(names)}, key) == 0


def test_old_names_of_layers_and_sizes():
    old = {"n_layer": 8, "n_head": 16, "n_embd": 2048, "torch_dtype": "float16"}
    assert cache_layout(old).kv_bytes_per_token == cache_layout(BASE).kv_bytes_per_token


def test_layers_that_differ_one_by_one():
    blocks = [
        {"attention": {"n_heads_in_group": 2}},
        {"attention": {"no_op": True}},
        {"attention": {"n_heads_in_group": 16}},
    ]
    config = {**BASE, "num_hidden_layers": 3, "block_configs": blocks}
    assert cache_layout(config).kv_bytes_per_token == (8 + 1) * 2 * 128 * 2


def test_a_list_of_kv_heads():
    config = {**BASE, "num_hidden_layers": 3, "num_kv_heads": [4, 2, 1]}
    assert cache_layout(config).kv_bytes_per_token == (4 + 2 + 1) * 2 * 128 * 2


def test_layers_that_share_a_cache_are_not_counted():
    types = ["sliding_attention", "full_attention"] * 4
    config = {**BASE, "sliding_window": 512, "layer_types": types, "num_kv_shared_layers": 4}
    layout = cache_layout(config)
    assert sum(g.layers for g in layout.groups) == 4


def test_layers_that_run_several_times_keep_a_cache_for_each_time():
    """Ouro 2.6B: 48 layers run 4 times, 192 caches (its class counts layers x steps).

    Dory by its default in Transformers 5.24.0, run there: 9 full and 27 sliding layers keep 14 and
    42 caches, as 8 of 36 are the input's and 8 the output's.
    """
    ouro = {
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 16,
        "hidden_size": 2048, "head_dim": 128, "total_ut_steps": 4, "dtype": "bfloat16",
    }  # fmt: skip
    assert cache_layout(ouro).kv_bytes_per_token == 192 * 16 * 2 * 128 * 2
    blocks = [w for i in range(36) for w in (LLLG[i % 4], "mlp")]
    dory = {
        **BASE, "num_hidden_layers": 72, "layer_types": blocks, "sliding_window": 1024,
        "n_input_layers": 16, "n_recurrent_layers": 40, "n_output_layers": 16,
        "n_recurrent_loops": 2,
    }  # fmt: skip
    assert {g.kind: g.layers for g in cache_layout(dory).groups} == {
        "sliding_attention": 42, "full_attention": 14,
    }  # fmt: skip
    once = cache_layout({**dory, "recurrent_kv_cache_mode": "last_loop"})
    assert sum(g.layers for g in once.groups) == 36
    with pytest.raises(UnknownCacheError, match="loop_num"):
        cache_layout({**BASE, "loop_num": 2})
    with pytest.raises(UnknownCacheError, match="repeat"):
        cache_layout({**dory, "layer_types": None})


def test_global_layers_with_heads_of_their_own_store_keys_and_values():
    """Gemma 4: 50 sliding layers of 16 x 256, 10 global ones of 4 x 512 (81,920 B a token)."""
    gemma = {
        **BASE, "num_hidden_layers": 60, "num_key_value_heads": 16, "head_dim": 256,
        "num_global_key_value_heads": 4, "global_head_dim": 512, "attention_k_eq_v": True,
        "sliding_window": 1024,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10,
    }  # fmt: skip
    layout = cache_layout(gemma)
    assert layout.kv_bytes_per_token == 10 * 4 * 2 * 512 * 2 == 81_920
    window = 50 * 16 * 2 * 256 * 2 * 1024
    assert layout.bytes_per_sequence(262_144) == 262_144 * 81_920 + window == 22_313_697_280


def test_chunked_attention_every_fourth_layer_full():
    config = {**BASE, "attention_chunk_size": 8192, "num_key_value_heads": 8}
    layout = cache_layout(config)
    assert layout.kv_bytes_per_token == 2 * 8 * 2 * 128 * 2
    assert {g.window_tokens for g in layout.groups} == {None, 8192}


@pytest.mark.parametrize(
    ("change", "full"),
    [
        ({"model_type": "gemma2", "num_key_value_heads": 16, "head_dim": 128}, 4),
        ({"model_type": "mistral"}, 0),
        ({"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 6}, 6),
        ({"model_type": "qwen2"}, 8),
        ({"sliding_window_pattern": 4}, 2),
    ],
)
def test_which_layers_slide_without_a_list(change, full):
    layout = cache_layout({**BASE, "sliding_window": 1024, **change})
    assert layout.kv_bytes_per_token == full * 16 * 2 * 128 * 2


class TestLatent:
    def test_latent_and_index_keys(self):
        layout = cache_layout(MLA)
        assert layout.kv_bytes_per_token == 78 * (576 * 2 + 128 + 4) == 100_152

    def test_the_656_byte_record_and_a_draft_layer_with_its_index(self):
        layout = cache_layout(MLA, "fp8_ds_mla", draft_layers=1)
        assert layout.kv_bytes_per_token == 79 * (656 + 132) == 62_252

    def test_shared_indexers(self):
        types = ["full"] * 3 + ["shared", "shared", "shared", "full"] * 18 + ["shared"] * 3
        layout = cache_layout({**MLA, "indexer_types": types})
        assert layout.kv_bytes_per_token == 78 * 576 * 2 + 21 * 132

    def test_shared_indexers_by_schedule(self):
        """GLM-5.2's schedule (every fourth from the third on) is the list that it prints too."""
        types = ["full"] * 3 + ["shared", "shared", "shared", "full"] * 18 + ["shared"] * 3
        letters = "".join("F" if kind == "full" else "S" for kind in types)
        for said in ({"index_topk_freq": 4, "index_skip_topk_offset": 3},
                     {"index_topk_pattern": letters}):  # fmt: skip
            assert cache_layout({**MLA, **said}) == cache_layout({**MLA, "indexer_types": types})

    def test_a_release_that_expands_the_latent(self):
        plain = {k: v for k, v in MLA.items() if not k.startswith("index")}
        layout = cache_layout(plain, "f16", expand_latent=True)
        assert layout.kv_bytes_per_token == 78 * 64 * (192 + 64 + 256) * 2

    def test_tensor_parallel_repeats_the_latent(self):
        assert cache_layout(MLA, tp=8) == cache_layout(MLA)


class TestCompressed:
    def test_entries_by_ratio(self):
        """A published vector: 61 layers at 1,024 tokens take 10,022,912 B, 1,966,080 of index."""
        layout = cache_layout(V4, "fp8", index_dtype="bfloat16")
        held = {(g.kind, g.ratio): g.bytes_at(1024) for g in layout.groups}
        assert held["index", 4] == 30 * 256 * 128 * 2 == 1_966_080
        assert sum(held.values()) == 10_022_912

    def test_the_584_byte_record(self):
        layout = cache_layout(V4, "fp8_ds_mla")
        assert layout.kv_bytes_per_token == 30 / 4 * (584 + 132) + 31 / 128 * 584


class TestRecurrent:
    def test_mamba_2(self):
        """Published: 6 attention layers, 48,234,496 B of state and 847,872 of convolution."""
        layout = cache_layout(NEMOTRON, "fp8", state=SHORT)
        assert layout.kv_bytes_per_token == 6 * 2 * 2 * 128 == 3072
        assert layout.state_bytes_per_sequence == 48_234_496 + 847_872

    def test_kimi_delta_attention(self):
        """Published: 24 latent layers (27,648 B a token), 69 recurrent ones."""
        layout = cache_layout(KIMI, state=SHORT)
        assert layout.kv_bytes_per_token == 24 * 576 * 2 == 27_648
        assert layout.state_bytes_per_sequence == 434_110_464 + 15_261_696

    def test_mamba_1(self):
        config = {
            "model_type": "mamba", "num_hidden_layers": 64, "hidden_size": 2560,
            "intermediate_size": 5120, "state_size": 16, "conv_kernel": 4,
        }  # fmt: skip
        state = StateLayout(state_dtype="f32", conv_dtype="f32", all_conv_columns=False)
        layout = cache_layout(config, "f16", state=state)
        assert layout.state_bytes_per_sequence == 64 * 5120 * (16 + 3) * 4 == 24_903_680

    def test_each_drafted_token_widens_the_convolution(self):
        one, two = (
            cache_layout(NEMOTRON, state=SHORT, draft_tokens=n).state_bytes_per_sequence
            for n in (1, 2)
        )
        assert two - one == 23 * (64 * 64 + 2 * 8 * 128) * 2

    def test_a_state_type_that_nobody_states_is_the_reference_code_s(self):
        """Run in Transformers 5.24.0 in bfloat16: float32 states, bfloat16 columns.

        mamba2 by its defaults: 64 layers, 128 heads of 64 x 128, 10,240 channels of 4 columns.
        """
        silent = {k: v for k, v in NEMOTRON.items() if k != "mamba_ssm_cache_dtype"}
        assert cache_layout(silent) == cache_layout(NEMOTRON)
        mamba2 = {
            "model_type": "mamba2", "num_hidden_layers": 64, "hidden_size": 4096, "num_heads": 128,
            "head_dim": 64, "state_size": 128, "n_groups": 8, "conv_kernel": 4, "dtype": "bfloat16",
        }  # fmt: skip
        assert cache_layout(mamba2).state_bytes_per_sequence == 273_678_336
        with pytest.raises(UnknownCacheError, match="which type"):
            cache_layout(silent, state=StateLayout(silent_dtype="unread"))

    def test_devices_share_the_state_heads(self):
        whole, half = (
            cache_layout(NEMOTRON, state=SHORT, tp=n).state_bytes_per_sequence for n in (1, 2)
        )
        assert whole == 2 * half


def test_block_sparse_attention_keeps_an_index_in_its_layers():
    """MiniMax-M3, 4 devices: 60 x 1 head and 57 index layers; 44.25 KiB a token was published."""
    config = {
        **BASE, "num_hidden_layers": 60, "num_key_value_heads": 4, "head_dim": 128,
        "sparse_attention_config": {
            "use_sparse_attention": True, "sparse_attention_freq": [0] * 3 + [1] * 57,
            "sparse_index_dim": 128,
        },
    }  # fmt: skip
    assert cache_layout(config, tp=4).kv_bytes_per_token == 44.25 * 1024


@pytest.mark.parametrize(
    ("dtype", "per_head"),
    [("q8_0", 272), ("q4_0", 144), ("int8_per_token_head", 264), ("nvfp4", 144), ("fp8", 256)],
)
def test_bytes_of_cache_types(dtype, per_head):
    assert cache_layout({**BASE, "head_dim": 128}, dtype).kv_bytes_per_token == 8 * 16 * per_head


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"layer_types": ["linear_attention"] * 8}, "recurrent layers of a kind"),
        ({"layer_types": ["full_attention"] * 3}, "3 entries for 8 layers"),
        ({"hybrid_override_pattern": "MMMM????"}, "hybrid_override_pattern"),
        ({"cross_attention_layers": [3]}, "cross_attention_layers"),
        ({"num_kv_shared_layers": 2}, "num_kv_shared_layers"),
    ],
)
def test_what_a_config_does_not_tell_is_unknown(change, named):
    with pytest.raises(UnknownCacheError, match=named):
        cache_layout({**BASE, **change})


def test_heads_that_do_not_divide_are_repeated_or_refused():
    assert [share(4, n) for n in (1, 2, 4, 8)] == [4, 2, 1, 1]
    with pytest.raises(UnknownCacheError, match="do not divide"):
        share(4, 3)


@given(st.sampled_from([1, 2, 4, 8, 16, 32]), st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_more_devices_never_hold_more_each(one, two):
    few, many = sorted((one, two))
    config = {**BASE, "num_key_value_heads": 8}
    assert (
        cache_layout(config, tp=many).kv_bytes_per_token
        <= cache_layout(config, tp=few).kv_bytes_per_token
    )


@given(st.integers(0, 300_000), st.integers(0, 300_000))
def test_more_tokens_never_take_less(one, two):
    low, high = sorted((one, two))
    layout = cache_layout(V4, "fp8_ds_mla")
    assert layout.bytes_per_sequence(low) <= layout.bytes_per_sequence(high)


class TestListsOfMimoAndNemotron:
    def test_a_hybrid_layer_pattern_slides_where_it_is_one(self):
        groups = model_layers(
            {
                "model_type": "mimo_v2_flash", "num_hidden_layers": 6, "hidden_size": 4096,
                "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192,
                "v_head_dim": 128, "sliding_window": 128, "attention_chunk_size": 128,
                "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128,
                "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0],
            }
        )  # fmt: skip
        shapes = {
            g.kind: (g.layers, g.kv_heads, g.key_dim, g.value_dim, g.window_tokens) for g in groups
        }
        assert shapes == {"full": (2, 4, 192, 128, None), "sliding": (4, 8, 192, 128, 128)}

    def test_other_numbers_in_the_pattern_are_unknown(self):
        with pytest.raises(UnknownCacheError, match="hybrid_layer_pattern"):
            model_layers(
                {"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 64,
                 "sliding_window": 8, "hybrid_layer_pattern": [0, 2]}
            )  # fmt: skip

    def test_the_list_of_kinds_counts_where_the_number_is_missing(self):
        config = {
            "model_type": "nemotron_h", "hidden_size": 8192, "num_attention_heads": 64,
            "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 256,
            "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
            "layers_block_type": ["mamba", "moe", "attention", "moe", "mamba"],
        }  # fmt: skip
        assert {g.kind: g.layers for g in model_layers(config)} == {"full": 1, "mamba2": 2}

    def test_layers_of_sparse_attention_are_latents_with_their_index(self):
        config = {
            "num_hidden_layers": 4, "num_attention_heads": 64, "kv_lora_rank": 512,
            "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "index_topk": 2048,
            "index_head_dim": 128, "layer_types": ["deepseek_sparse_attention"] * 4,
            "indexer_types": ["full", "shared", "shared", "full"],
        }  # fmt: skip
        assert {g.kind: g.layers for g in model_layers(config)} == {"latent": 4, "index": 2}


#: Reduced public files, and by hand: bytes a token, layers that slide, recurrent layers.
PUBLISHED = {
    # every eighth layer is full (huggingface.co/MiniMaxAI/MiniMax-Text-01)
    "attn_type_list": (
        {"model_type": "minimax_text_01", "attn_type_list": ([0] * 7 + [1]) * 10, "head_dim": 128,
         "hidden_size": 6144, "num_attention_heads": 64, "num_hidden_layers": 80,
         "num_key_value_heads": 8},
        10 * 2 * 8 * 128 * 2, 0, 70,
    ),
    # the last of each five is full (huggingface.co/inclusionAI/Ring-mini-linear-2.0)
    "layer_group_size": (
        {"model_type": "bailing_moe_linear", "layer_group_size": 5, "head_dim": 128,
         "hidden_size": 2048, "num_attention_heads": 16, "num_hidden_layers": 20,
         "num_key_value_heads": 4},
        4 * 2 * 4 * 128 * 2, 0, 16,
    ),
    # two latent attention blocks a layer (huggingface.co/meituan-longcat/LongCat-Flash-Chat)
    "two blocks a layer": (
        {"model_type": "longcat_flash", "hidden_size": 6144, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "num_attention_heads": 64, "num_layers": 28},
        2 * 28 * (512 + 64) * 2, 0, 0,
    ),
    # the published file names its class alone
    "two blocks a layer, no model type": (
        {"architectures": ["LongcatFlashForCausalLM"], "hidden_size": 6144, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "num_attention_heads": 64, "num_layers": 28},
        2 * 28 * (512 + 64) * 2, 0, 0,
    ),
    # one head of keys and values, as a group (huggingface.co/stepfun-ai/step3)
    "num_attention_groups": (
        {"text_config": {"model_type": "step3_text", "hidden_size": 7168, "head_dim": 256,
                         "num_attention_heads": 64, "num_attention_groups": 1,
                         "num_hidden_layers": 61}},
        61 * 2 * 256 * 2, 0, 0,
    ),
    "attention_other_setting": (
        {"model_type": "step3p5", "hidden_size": 4096, "head_dim": 128, "num_attention_heads": 64,
         "num_attention_groups": 8, "num_hidden_layers": 8, "sliding_window": 512,
         "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 2,
         "attention_other_setting": {"attention_type": "sliding_attention",
                                     "num_attention_groups": 4, "head_dim": 64}},
        2 * 2 * 8 * 128 * 2, 6, 0,
    ),
    # the class's own heads, sizes and pattern (huggingface.co/google/gemma-3-4b-it)
    "class defaults": (
        {"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
            "sliding_window": 1024}},
        5 * 2 * 4 * 256 * 2, 29, 0,
    ),
    # LLLG (huggingface.co/LGAI-EXAONE/EXAONE-4.0-32B)
    "letters": (
        {"model_type": "exaone4", "head_dim": 128, "hidden_size": 5120, "num_attention_heads": 40,
         "num_hidden_layers": 64, "num_key_value_heads": 8, "sliding_window": 4096,
         "sliding_window_pattern": "LLLG"},
        16 * 2 * 8 * 128 * 2, 48, 0,
    ),
    # latent keys that are not used (huggingface.co/tencent/Hunyuan-A13B-Instruct)
    "use_mla": (
        {"model_type": "hunyuan_v1_moe", "hidden_size": 4096, "num_attention_heads": 32,
         "num_hidden_layers": 32, "num_key_value_heads": 8, "use_mla": False, "use_cla": False,
         "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128},
        32 * 2 * 8 * 128 * 2, 0, 0,
    ),
    # LFM2 as first published
    "full_attn_idxs": (
        {"model_type": "lfm2", "conv_L_cache": 3, "full_attn_idxs": [2, 5, 8, 10, 12, 14],
         "hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 16,
         "num_key_value_heads": 8},
        6 * 2 * 8 * 64 * 2, 0, 10,
    ),
    # heads of each layer (huggingface.co/Deci/DeciLM-7B, shortened)
    "num_key_value_heads_per_layer": (
        {"model_type": "deci", "hidden_size": 4096, "num_attention_heads": 32,
         "num_hidden_layers": 4, "num_key_value_heads_per_layer": [4, 4, 2, 1]},
        11 * 2 * 128 * 2, 0, 0,
    ),
    # the language model two levels down (huggingface.co/Qwen/Qwen3-Omni-30B-A3B-Instruct)
    "thinker_config": (
        {"model_type": "qwen3_omni_moe", "thinker_config": {"text_config": {
            "model_type": "qwen3_omni_moe_text", "head_dim": 128, "hidden_size": 2048,
            "num_attention_heads": 32, "num_hidden_layers": 48, "num_key_value_heads": 4}}},
        48 * 2 * 4 * 128 * 2, 0, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_notations_of_published_configs(name):
    config, rate, slide, recurrent = PUBLISHED[name]
    layers = model_layers(config)
    kinds = ("kimi_delta", "lightning", "short_conv")
    assert sum(g.layers for g in layers if g.kind == "sliding") == slide
    assert sum(g.layers for g in layers if g.kind in kinds) == recurrent
    layout = cache_layout(config, "bfloat16", state=StateLayout(state_dtype="float32"))
    assert layout.kv_bytes_per_token == rate


def test_a_lightning_state_is_a_square_matrix_a_head_without_convolution():
    config = PUBLISHED["attn_type_list"][0]
    layout = cache_layout(config, "bfloat16", state=StateLayout(state_dtype="float32"))
    assert layout.state_bytes_per_sequence == 70 * 64 * 128 * 128 * 4
    own = cache_layout({**config, "dtype": "bfloat16"})  # as the class in Transformers keeps it
    assert own.state_bytes_per_sequence == 70 * 64 * 128 * 128 * 2


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "rwkv7", "decay_low_rank_dim": 128},
        {"model_type": "rwkv6"},
        {"model_type": "recurrent_gemma", "block_types": ["recurrent", "recurrent", "attention"]},
        {"model_type": "plamo2", "mamba_step": 2},
        {"model_type": "of tomorrow", "lru_width": 4096},
        {"model_type": "of tomorrow", "attn_kinds": [0, 1, 0, 1, 0, 1, 0, 1]},
        {"model_type": "t5", "is_encoder_decoder": True},
        {"use_cla": True, "cla_share_factor": 2},
        {"model_type": "bailing_moe_linear", "layer_group_size": 5},
        {"model_type": "gemma3_text", "head_dim": 128},
        {"sliding_window": 64, "sliding_window_pattern": "LLXG"},
    ],
)
def test_layers_that_are_not_read_make_the_cache_unknown(change):
    with pytest.raises(UnknownCacheError):
        model_layers({**BASE, **change})


LATENT = {
    "num_hidden_layers": 4, "num_attention_heads": 64, "hidden_size": 4096, "dtype": "bfloat16",
    "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 192, "v_head_dim": 256,
    "index_topk": 2048, "index_head_dim": 128,
}  # fmt: skip
QSA = {
    "model_type": "qwen4_exp_text", "num_hidden_layers": 4, "hidden_size": 2560, "head_dim": 256,
    "num_attention_heads": 24, "num_key_value_heads": 2, "linear_num_key_heads": 16,
    "linear_num_value_heads": 48, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4, "indexer_n_heads": 4, "indexer_kv_heads": 1,
    "indexer_head_dim": 128, "indexer_budget": 2048, "indexer_compress_ratio": 4,
    "dtype": "bfloat16",
}  # fmt: skip


class TestIndexes:
    """Transformers 5.24 renames kinds of layers; an index is kept by full layers alone."""

    @pytest.mark.parametrize("word", ["indexed_attention", "deepseek_sparse_attention"])
    def test_every_indexed_layer_keeps_its_keys(self, word):
        layout = cache_layout({**LATENT, "layer_types": [word] * 4})
        assert layout.kv_bytes_per_token == 4 * (576 * 2 + 132)

    def test_layers_named_full_beside_indexed_ones_keep_none(self):
        kinds = ["indexed_attention", "full_attention"] * 2
        layout = cache_layout({**LATENT, "layer_types": kinds})
        assert layout.kv_bytes_per_token == 4 * 576 * 2 + 2 * 132
        off = cache_layout({**LATENT, "layer_types": ["full_attention"] * 4, "use_dsa": False})
        assert off.kv_bytes_per_token == 4 * 576 * 2

    @pytest.mark.parametrize(
        "word", ["full_attention", "qwen_sparse_attention", "indexed_attention"]
    )
    def test_keys_pooled_over_tokens_are_one_entry_for_all(self, word):
        """SGLang: kv_heads x head_dim x 2 bytes / ratio a token and full layer."""
        kinds = ["linear_attention"] * 3 + [word]
        layout = cache_layout({**QSA, "layer_types": kinds}, state=SHORT)
        assert layout.kv_bytes_per_token == 2 * 2 * 256 * 2 + 128 * 2 // 4
        plain = cache_layout(
            {k: v for k, v in QSA.items() if "indexer" not in k} | {"full_attention_interval": 4},
            state=SHORT,
        )
        assert plain.kv_bytes_per_token == 2 * 2 * 256 * 2

    def test_a_latent_without_positions_and_pooled_keys_beside_states(self):
        """GLM-5-Next: 512 values a latent, 132 bytes of index for 16 tokens, KDA elsewhere."""
        config = {
            **LATENT, "qk_rope_head_dim": 0, "index_kpool": 16, "linear_head_dim": 128,
            "linear_num_heads": 64, "linear_conv_kernel_dim": 4, "indexer_types": ["full"] * 4,
            "layer_types": ["linear_attention"] * 3 + ["indexed_attention"],
        }  # fmt: skip
        layout = cache_layout(config, state=SHORT)
        assert layout.kv_bytes_per_token == 512 * 2 + 132 / 16
        assert layout.state_bytes_per_sequence == 3 * (64 * 128 * 128 * 4 + 3 * 64 * 128 * 3 * 2)

    def test_block_indexes_by_their_word(self):
        kinds = ["full_attention"] * 2 + ["minimax_m3_sparse"] * 6
        config = {**BASE, "num_key_value_heads": 4, "layer_types": kinds, "index_head_dim": 128}
        assert cache_layout(config).kv_bytes_per_token == (8 * 4 * 256 + 6 * 128) * 2

    def test_layers_that_read_the_cache_of_another_keep_none(self):
        config = {
            **LATENT, "layer_types": ["indexed_attention"] * 4, "kv_source_layers": [0, 0, 2, 2],
            "indexer_types": ["full", "shared", "full", "full"],
        }  # fmt: skip
        assert cache_layout(config).kv_bytes_per_token == 2 * 576 * 2 + 3 * 132
        with pytest.raises(UnknownCacheError, match="kv_source_layers"):
            cache_layout({**BASE, "kv_source_layers": [0, 0, 2, 3, 4, 5, 6, 7]})

    def test_n_gram_embeddings_keep_columns_of_every_stream(self):
        plain = {**QSA, "full_attention_interval": 4}
        grams = {"ple_layer_ids": [1], "hc_count": 4, "ple_conv_kernel_size": 4, "ngram_size": 3}
        one, two = (cache_layout(c, state=SHORT) for c in (plain, {**plain, **grams}))
        assert one.kv_bytes_per_token == two.kv_bytes_per_token
        more = two.state_bytes_per_sequence - one.state_bytes_per_sequence
        assert more == 4 * 2560 * 3 * 3 * 2


class TestOverrides:
    """``per_layer_config``: Transformers' way to write what differs from layer to layer."""

    GEMMA = {
        **BASE, "model_type": "gemma4_text", "num_key_value_heads": 4, "head_dim": 256,
        "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"] * 4,
    }  # fmt: skip

    def test_overrides_say_what_the_publisher_says_by_kind(self):
        published = {**self.GEMMA, "global_head_dim": 512, "num_global_key_value_heads": 2}
        change = {"head_dim": 512, "num_key_value_heads": 2}
        written = {**self.GEMMA, "per_layer_config": {f"0{i}": change for i in (1, 3, 5, 7)}}
        one, two = cache_layout(published), cache_layout(written)
        assert one.kv_bytes_per_token == two.kv_bytes_per_token == 4 * 2 * 2 * 512 * 2
        assert one.bytes_per_sequence(9999) == two.bytes_per_sequence(9999)

    def test_the_class_assumes_larger_global_heads(self):
        assert cache_layout(self.GEMMA).kv_bytes_per_token == 4 * 2 * 4 * 512 * 2

    def test_windows_latents_and_skipped_attention(self):
        config = {
            **LATENT, "sliding_window": 512, "layer_types": ["sliding_attention"] * 3
            + ["indexed_attention"], "per_layer_config": {
                "0": {"kv_lora_rank": 1024}, "1": {"sliding_window": 128},
                "2": {"skip": ["attention"]},
            },
        }  # fmt: skip
        layout = cache_layout(config)
        windows = {g.window_tokens: g.bytes_per_token for g in layout.groups if g.window_tokens}
        assert windows == {512: 1088 * 2, 128: 576 * 2}
        assert layout.kv_bytes_per_token == 576 * 2 + 132

    def test_without_kinds_it_is_unknown(self):
        with pytest.raises(UnknownCacheError, match="layer_types"):
            model_layers({**BASE, "per_layer_config": {"0": {"head_dim": 64}}})


def test_ratios_by_kind_are_ratios_by_layer():
    kinds = {128: "heavily_compressed_attention", 4: "compressed_sparse_attention"}
    by_kind = {k: v for k, v in V4.items() if k != "compress_ratios"} | {
        "layer_types": [kinds.get(r, "sliding_attention") for r in V4["compress_ratios"]],
        "compress_rates": {name: ratio for ratio, name in kinds.items()},
    }
    assert model_layers(by_kind) == model_layers(V4)


def test_a_list_of_kv_heads_beside_kinds_of_layers():
    """Each layer's own heads, in its own kind; a layer of none keeps nothing."""
    config = {
        **BASE, "num_hidden_layers": 4, "num_key_value_heads": [4, 2, 0, 1], "sliding_window": 64,
        "layer_types": ["full_attention", "sliding_attention"] * 2,
    }  # fmt: skip
    one = 2 * 128 * 2
    assert cache_layout(config).kv_bytes_per_token == 4 * one
    assert cache_layout(config).bytes_per_sequence(1000) == (4 * 1000 + (2 + 1) * 64) * one


def test_the_names_of_a_mistral_params_json():
    """The names that vLLM maps in its ``configs/mistral.py`` (read 2026-11-30)."""
    names = {"dim": 5120, "n_layers": 40, "n_heads": 32, "n_kv_heads": 8, "hidden_dim": 32768}
    config = {**names, "head_dim": 128, "dtype": "bfloat16"}
    assert cache_layout(config).kv_bytes_per_token == 40 * 8 * 2 * 128 * 2
    assert cache_layout({**config, "head_dim": None}).kv_bytes_per_token == 40 * 8 * 2 * 160 * 2


def test_a_window_as_long_as_the_context_keeps_every_token():
    """Phi-3 Vision: 131,072 of both, and its class is not one of those whose layers slide."""
    config = {**BASE, "model_type": "phi3_v", "sliding_window": 131072}
    full = cache_layout({**config, "max_position_embeddings": 131072})
    assert full.kv_bytes_per_token == cache_layout(BASE).kv_bytes_per_token
    with pytest.raises(UnknownCacheError, match="which layers slide is unknown"):
        cache_layout({**config, "max_position_embeddings": 262144})


@pytest.mark.parametrize(("says", "why"), [
    ({"num_key_value_heads": None, "num_query_groups": 2}, "'num_query_groups' is not read here"),
    ({"num_key_value_heads": None, "num_key_value_groups": 4}, "'num_key_value_groups' is not"),
    ({"model_type": "modernbert"}, "an encoder"),
    ({"num_key_value_heads": [1] * 7 + [2], "sliding_window": 64}, "which layers slide"),
    ({"block_configs": [{"attention": {"n_heads_in_group": 2, "window_length": 128}}]}, "window_l"),
    ({"block_configs": [{"attention": {"n_heads_in_group": 2, "mamba": {"state": 1}}}]}, "mamba"),
])  # fmt: skip
def test_what_would_be_guessed_is_refused(says, why):
    with pytest.raises(UnknownCacheError, match=why):
        cache_layout({**BASE, **says})


def test_an_encoder_that_decodes_has_a_cache():
    config = {**BASE, "model_type": "bert", "is_decoder": True}
    assert cache_layout(config).kv_bytes_per_token == cache_layout(BASE).kv_bytes_per_token
