"""Engines' own allocators against figures that public starts printed."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts import load_facts
from stackchoice.fit.admission import admit, launch, with_device
from stackchoice.fit.allocators import llamacpp, quotient, sglang, vllm
from stackchoice.fit.allocators.packed import common_size
from stackchoice.fit.release import read_release

GIB = 2**30
HALF_STEP = 0.005  # the memory line prints two decimals

DENSE = {
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "hidden_size": 5120, "dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip
MOE_HYBRID = {
    "num_hidden_layers": 40, "full_attention_interval": 4, "num_attention_heads": 16,
    "num_key_value_heads": 2, "head_dim": 256, "hidden_size": 2048, "dtype": "bfloat16",
    "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_num_value_heads": 32,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32",
    "max_position_embeddings": 262144,
}  # fmt: skip
HYBRID = {
    **MOE_HYBRID, "num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4,
    "hidden_size": 5120, "linear_num_value_heads": 48,
}  # fmt: skip
OF_QWEN = {**HYBRID, "architectures": ["Qwen3_5ForConditionalGeneration"]}
QWEN = load_facts().models["Qwen/Qwen3.8-27B"].config.value
GEMMA_31B = {
    "num_hidden_layers": 60, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256,
    "num_global_key_value_heads": 4, "global_head_dim": 512, "hidden_size": 5376,
    "sliding_window": 1024, "dtype": "bfloat16", "max_position_embeddings": 262144,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10,
}  # fmt: skip
GEMMA_26B = {
    **GEMMA_31B, "num_hidden_layers": 30, "num_key_value_heads": 8,
    "num_global_key_value_heads": 2, "num_attention_heads": 16, "hidden_size": 2816,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5,
}  # fmt: skip
GPT_OSS = {
    "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    "hidden_size": 2880, "sliding_window": 128, "dtype": "bfloat16",
    "layer_types": ["sliding_attention", "full_attention"] * 12, "max_position_embeddings": 131072,
}  # fmt: skip
OF_GPT_OSS = {"architectures": ["GptOssForCausalLM"]}
V4_FLASH = {
    "num_hidden_layers": 43, "num_attention_heads": 64, "num_key_value_heads": 1,
    "hidden_size": 4096, "head_dim": 512, "sliding_window": 128, "index_topk": 512,
    "index_head_dim": 128, "dtype": "bfloat16", "max_position_embeddings": 1048576,
    "compress_ratios": [0, 0, *([4, 128] * 20), 4, 0],
}  # fmt: skip


def ask(engine, release, config, **rest):
    return launch(engine, release, config, facts=load_facts(), **rest)


def printed(release, config, gib, length, kv, tp=1, draft=0, **settings):
    """Every figure that this release prints for a memory line of two decimals."""
    plan = vllm.plan(
        ask("vllm", release, config, kv_dtype=kv, tp=tp, draft_layers=draft,
            settings={"max_model_len": length, **settings})
    )  # fmt: skip
    ends = [plan.pool_blocks(int((gib + d) * GIB)) for d in (-HALF_STEP, HALF_STEP)]
    return {plan.printed_tokens(b, length) for b in range(ends[0], ends[1] + 1)}


class TestVllmPrintsWhatWasPrinted:
    """Figures of public boot logs; the memory is the log's, the rest is arithmetic."""

    def test_before_the_line_changed(self):
        assert 448_448 in printed("0.19.1", HYBRID, 54.82, 262144, "fp8")

    def test_the_same_memory_prints_another_figure_after_it(self):
        (after,) = {max(printed("0.20.1", HYBRID, 54.82, 262144, "fp8"))}
        assert after == int(1145 / (ceil(262144 / 1568) + 3) * 262144) == 1_755_291

    @pytest.mark.parametrize(
        ("config", "gib", "tokens", "length", "kv", "tp"),
        [
            (HYBRID, 4.99, 302_921, 131072, "fp8", 2),
            (MOE_HYBRID, 5.98, 567_978, 131072, "fp8", 1),
            (MOE_HYBRID, 6.01, 569_878, 131072, "fp8", 1),
        ],
    )
    def test_hybrids_with_prefix_caching(self, config, gib, tokens, length, kv, tp):
        assert tokens in printed("0.26.0", config, gib, length, kv, tp, enable_prefix_caching=True)

    def test_a_public_pair_of_figures_closes(self):
        """1,487 blocks print 290,864 tokens and 33.04 requests of 32,768 (vllm 40691)."""
        plan = vllm.plan(ask("vllm", "0.19.1", HYBRID, kv_dtype="bf16"))
        assert plan.printed_tokens(1487, 32768) == 290_864
        assert plan.concurrency(1487, 32768) == pytest.approx(33.04, abs=0.005)

    def test_sliding_window_groups(self):
        tokens = printed("0.24.0", GEMMA_31B, 64.68, 262144, "bf16", max_num_batched_tokens=8192)
        assert 626_949 in tokens
        plan = vllm.plan(ask("vllm", "0.19.1", GEMMA_26B, kv_dtype="fp8",
                             settings={"max_num_batched_tokens": 8192}))  # fmt: skip
        found = plan.concurrency(plan.pool_blocks(int(54.14 * GIB)), 131072)
        assert found == pytest.approx(25.41, abs=0.005)

    def test_uneven_pages_are_padded_or_refused(self):
        settings = {"max_model_len": 262144, "max_num_batched_tokens": 4096}
        asked = {"kv_dtype": "int8_per_token_head", "tp": 2, "settings": settings}
        plan = vllm.plan(ask("vllm", "0.21-dev (2026-05-08)", GEMMA_31B, **asked))
        assert plan.block_bytes == 10 * 16 * 8 * 2 * (256 + 4)
        assert sorted(g.block_tokens for g in plan.groups) == [16, 32]
        assert plan.concurrency(17_449, 262144) == pytest.approx(1.78, abs=0.005)
        for release in ("0.19.1", "0.21.0", "0.23.0"):
            with pytest.raises(UnknownRuleError, match="does not start"):
                vllm.plan(ask("vllm", release, GEMMA_31B, **asked))
        padded = vllm.plan(ask("vllm", "0.25.1", GEMMA_31B, **asked))
        assert padded.block_bytes == plan.block_bytes
        assert {g.block_tokens for g in padded.groups} == {16}

    def test_two_batches_in_flight_since_0_26(self):
        asked = {"settings": {"max_num_batched_tokens": 2048}}
        old, new = (vllm.plan(ask("vllm", r, GPT_OSS, **asked)) for r in ("0.25.1", "0.26.0"))
        assert old.request_blocks(131072) == 8192 + ceil((127 + 2048) / 16) + 1
        assert new.request_blocks(131072) == 8192 + ceil((127 + 4096) / 16) + 1


class TestVllmLayout:
    @pytest.mark.parametrize(
        ("kv", "tp", "drafted", "block"),
        [
            ("bf16", 1, 0, 784), ("fp8", 1, 0, 1568), ("fp8", 1, 2, 1600), ("fp8", 2, 3, 1600),
            ("fp8", 2, 4, 1616), ("int8_per_token_head", 2, 4, 1584), ("nvfp4", 1, 2, 2832),
        ],
    )  # fmt: skip
    def test_attention_blocks_grow_to_hold_a_state(self, kv, tp, drafted, block):
        plan = vllm.plan(ask("vllm", "0.25.1", HYBRID, kv_dtype=kv, tp=tp, settings={
            "num_speculative_tokens": drafted, "enable_prefix_caching": True,
        }))  # fmt: skip
        state = (48 * 128 * 128 * 4 + 10_240 * (3 + drafted) * 2) // tp
        assert plan.attention_block_tokens == block
        token = plan.block_bytes // 16 // block
        assert (block - 16) * token < state <= block * token

    def test_a_set_block_size_aligns_or_is_a_floor(self):
        asked = {"kv_dtype": "bf16", "settings": {"block_size": 64, "enable_prefix_caching": False}}
        old, new = (vllm.plan(ask("vllm", r, HYBRID, **asked)) for r in ("0.19.1", "0.33.0"))
        assert (old.attention_block_tokens, new.attention_block_tokens) == (784, 832)

    def test_padding_is_printed_with_two_decimals(self):
        plan = vllm.plan(ask("vllm", "0.19.1", HYBRID, kv_dtype="fp8"))
        assert plan.padding_pct == 0.13

    def test_a_draft_layer_joins_the_attention_group(self):
        plan = vllm.plan(ask("vllm", "0.27.1", HYBRID, kv_dtype="fp8", tp=2, draft_layers=1,
                             settings={"num_speculative_tokens": 3,
                                       "enable_prefix_caching": True}))  # fmt: skip
        assert plan.group_count == 1 + ceil(48 / 17)
        assert plan.printed_tokens(185, 262144) == 270_930

    def test_half_and_half_is_one_group_each(self):
        plan = vllm.plan(ask("vllm", "0.33.0", GPT_OSS, settings={"max_num_batched_tokens": 8192}))
        assert plan.group_count == 2
        drafted = ask("vllm", "0.33.0", GPT_OSS, draft_layers=1,
                      settings={"max_num_batched_tokens": 8192, "disable_hybrid_kv_cache_manager":
                                True})  # fmt: skip
        assert vllm.plan(drafted).block_bytes == 16 * 25 * 8 * 2 * 64 * 2

    def test_sliding_layers_need_the_batched_tokens(self):
        with pytest.raises(UnknownRuleError, match="max_num_batched_tokens"):
            vllm.plan(ask("vllm", "0.33.0", GPT_OSS)).request_blocks(1000)

    def test_the_length_a_refused_start_proposes(self):
        """62 layers of 8 heads at 48.66 GiB: 62.00 GiB needed, 205,728 tokens proposed."""
        moe = {**DENSE, "num_hidden_layers": 62, "max_position_embeddings": 262144}
        plan = vllm.plan(ask("vllm", "0.10.1.dev101", moe, kv_dtype="bf16"))
        assert plan.needed_bytes(262144) == 62 * GIB
        assert plan.longest(int(48.66 * GIB), 262144) == 205_728

    def test_compressed_layers_as_a_refused_start_printed(self):
        """DeepSeek-V4-Flash in 0.22.0: 6.66 GiB for 30,000 tokens; 13,528 fit in 5.44 GiB."""
        plan = vllm.plan(ask("vllm", "0.22.0", V4_FLASH, kv_dtype="fp8",
                             settings={"max_num_batched_tokens": 16384}))  # fmt: skip
        assert plan.block_bytes == 22 * (37_440 + 8_640 + 1_728)
        assert round(plan.needed_bytes(30_000) / GIB, 2) == 6.66
        low, high = (plan.longest(int((5.44 + d) * GIB), 30_000) for d in (-HALF_STEP, HALF_STEP))
        assert low <= 13_528 <= high
        with pytest.raises(UnknownRuleError, match="compressed_packing"):
            vllm.plan(ask("vllm", "0.26.0", V4_FLASH, kv_dtype="fp8"))

    def test_tuples_are_sized_for_the_least_padding(self):
        assert common_size([21, 43, 21, 20], 21) == 22

    def test_context_parallel_multiplies_the_tokens(self):
        mla = {**DENSE, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
        one, two = (
            vllm.plan(ask("vllm", "0.19.1", mla, settings={"decode_context_parallel": n}))
            for n in (1, 2)
        )
        assert two.printed_tokens(1000, 4096) == 2 * one.printed_tokens(1000, 4096)
        assert two.concurrency(1000, 4096) == 2 * one.concurrency(1000, 4096)

    def test_prefix_caching_of_hybrids_by_release(self):
        found = {r: ask("vllm", r, HYBRID).prefix_caching for r in ("0.19.1", "0.27.1", "0.28.0")}
        assert found == {"0.19.1": False, "0.27.1": False, "0.28.0": True}
        assert ask("vllm", None, HYBRID).prefix_caching
        assert ask("vllm", "0.19.1", DENSE).prefix_caching


class TestSglang:
    def test_slots_by_strategy(self):
        slots = {
            name: sglang.slots_per_request(ask("sglang", None, OF_QWEN, settings=settings))
            for name, settings in {
                "default": {}, "lazy": {"mamba_scheduler_strategy": "extra_buffer_lazy"},
                "none": {"mamba_radix_cache_strategy": "no_buffer"},
                "off": {"disable_radix_cache": True},
                "alone": {"disable_overlap_schedule": True},
                "alone, extra": {"disable_overlap_schedule": True, "page_size": 64},
            }.items()
        }  # fmt: skip
        assert slots == {"default": 5, "lazy": 4, "none": 3, "off": 1, "alone": 3,
                         "alone, extra": 4}  # fmt: skip

    @pytest.mark.parametrize(("release", "name", "slots"), [
        ("0.5.13", "Qwen3_5ForConditionalGeneration", 3),
        ("0.5.14", "Qwen3_5ForConditionalGeneration", 5),
        ("0.5.15", "KimiLinearForCausalLM", 3), ("0.5.16", "KimiLinearForCausalLM", 5),
        ("0.5.23", "Lfm2ForCausalLM", 3),
    ])  # fmt: skip
    def test_the_strategy_goes_by_class_and_release(self, release, name, slots):
        """As the wheels of these releases resolve ``auto``."""
        asked = ask("sglang", release, {**HYBRID, "architectures": [name]})
        assert sglang.slots_per_request(asked) == slots
        with pytest.raises(UnknownRuleError, match="architectures"):
            sglang.slots_per_request(ask("sglang", release, HYBRID))

    def test_states_beside_drafts_as_one_rig_printed_them(self):
        """Qwen3.8-27B on two RTX 3090, four drafted tokens, two requests (club-3090, SGLANG.md).

        Pinned to 20 slots the pool was 548,520 tokens; left alone, 63 slots and 451,633 tokens.
        """
        drafts = {"speculative_num_draft_tokens": 5, "max_running_requests": 2}

        def pools(memory, **settings):
            return sglang.pools(ask(
                "sglang", "0.5.21", QWEN, kv_dtype="fp8", tp=2, draft_layers=1,
                settings={"mamba_ssm_dtype": "bfloat16", **drafts, **settings},
            ), memory)  # fmt: skip

        state = ask("sglang", "0.5.21", QWEN, tp=2, settings={"mamba_ssm_dtype": "bfloat16"})
        slot = state.own_layout.state_bytes_per_sequence
        memory = 548_520 * 17 * 1024 + (21 + 3 * 5) * slot  # and a padding slot in both
        assert pools(memory, max_mamba_cache_size=20).tokens == 548_520
        assert (pools(memory).slots, pools(memory).tokens) == (63, 451_633)

    @pytest.mark.parametrize(("slots", "running"), [(40, 8), (33, 6), (21, 4), (8, 1)])
    def test_slots_bound_the_requests_that_draft(self, slots, running):
        """Printed limits (club-3090 issue 1319; jpezzulli/sglang-rtxpro6000 issue 5)."""
        asked = ask("sglang", "0.5.19", QWEN, kv_dtype="fp8", settings={
            "max_mamba_cache_size": slots, "speculative_num_steps": 3, "max_running_requests": 8,
        })  # fmt: skip
        assert sglang.pools(asked, 60 * GIB).live(1024) == running

    def test_older_releases_took_the_drafts_of_all_requests_first(self):
        """0.5.12: 48 requests of four tokens each before anything else, and no padding slot."""
        old = ask("sglang", "0.5.12", QWEN, settings={"num_speculative_tokens": 3})
        slot = old.own_layout.state_bytes_per_sequence
        found = sglang.pools(old, 80 * GIB)
        assert found.slots == int((80 * GIB - 48 * 4 * slot) * 0.9 / 1.9 / slot)
        assert found.tokens == (80 * GIB - (48 * 4 + found.slots) * slot) // (64 * 1024)

    def test_without_reuse_each_request_that_may_run_has_one_slot(self):
        asked = ask("sglang", None, QWEN, settings={"disable_radix_cache": True,
                                                    "max_running_requests": 48})  # fmt: skip
        assert sglang.pools(asked, 40 * GIB).slots == 48

    def test_a_balanced_ratio_without_reuse_loses_one_to_the_padding_slot(self):
        asked = ask("sglang", None, HYBRID, kv_dtype="bf16", settings={
            "disable_radix_cache": True, "mamba_full_memory_ratio": 0.287,
        })  # fmt: skip
        assert sglang.pools(asked, 25_020_000_000).live(8192) == 35

    def test_pages_of_sparse_attention(self):
        """GLM-5 in bf16, 29.32 GiB: 314,304 tokens were printed."""
        glm = {
            "num_hidden_layers": 78, "num_attention_heads": 64, "hidden_size": 6144,
            "kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_topk": 2048,
            "index_head_dim": 128, "max_position_embeddings": 202752,
        }  # fmt: skip
        found = sglang.pools(ask("sglang", None, glm, kv_dtype="bf16", tp=8), int(29.32 * GIB))
        assert found.tokens == 314_304

    def test_pooled_index_keys_beside_states(self):
        """Qwen3.8-Flash-Next with MTP: 48 slots, 4 requests, 240,128 tokens (SGLang of 2026-09-15).

        2.58 and 0.10 GiB of states with a padding slot, 1.05 for drafts, 1.37 of keys in 8 bits.
        """
        flash = {
            **HYBRID, "num_hidden_layers": 48,
            "architectures": ["Qwen4ExpForConditionalGeneration"],
            "num_key_value_heads": 2, "hidden_size": 2560, "mamba_ssm_dtype": "bfloat16",
            "indexer_kv_heads": 1, "indexer_head_dim": 128, "indexer_budget": 2048,
            "indexer_compress_ratio": 4,
        }  # fmt: skip
        drafts = {"num_speculative_tokens": 3, "max_running_requests": 4, "page_size": 64}

        def asked(release, kv="fp8"):
            return ask("sglang", release, flash, kv_dtype=kv, draft_layers=1,
                       settings={**drafts, "max_mamba_cache_size": 48})  # fmt: skip

        slot = asked("0.5.23").own_layout.state_bytes_per_sequence
        assert 49 * slot / GIB == pytest.approx(2.58 + 0.10, abs=2 * HALF_STEP)
        assert 5 * 4 * slot / GIB == pytest.approx(1.05 + 0.02, abs=0.03)  # windows are shared
        key = 12 * 2 * 256
        assert 240_128 * key / GIB == pytest.approx(1.37, abs=HALF_STEP)
        token = 13 * (2 * 2 * 256 + 128 * 2 // 4)
        memory = (49 + 5 * 4) * slot + 240_128 * token
        found = sglang.pools(asked("0.5.23"), memory)
        assert (found.tokens, found.slots_per_request) == (240_128, 5)
        with pytest.raises(UnknownRuleError, match="index keys"):
            sglang.pools(asked("0.5.22"), memory)

    def test_windows_get_a_fixed_share(self):
        pools = sglang.pools(ask("sglang", None, {**GPT_OSS, **OF_GPT_OSS}), 10 * GIB)
        layer = 12 * 8 * 2 * 64 * 2
        assert pools.tokens == int(10 * GIB / (1.8 * layer))
        assert pools.window_tokens == int(pools.tokens * 0.8)

    def test_releases_that_sized_windows_otherwise_are_unknown(self):
        """Pull 18039: the same model got other pools before."""
        settings = {"swa_full_tokens_ratio": 0.5}
        asked = ask("sglang", "0.5.8", {**GPT_OSS, **OF_GPT_OSS}, settings=settings)
        with pytest.raises(UnknownRuleError, match="window_tokens_ratio"):
            sglang.pools(asked, 10 * GIB)

    @pytest.mark.parametrize("release", ["0.5.8", "0.5.16", None])
    @pytest.mark.parametrize(
        "name", ["Gemma3ForConditionalGeneration", "Exaone4ForCausalLM", "Olmo3ForCausalLM"]
    )
    def test_classes_without_a_pool_of_windows_keep_every_token(self, release, name):
        """``is_hybrid_swa_model`` of the wheels 0.5.8 to 0.5.23 names none of them.

        Gemma 3 12B: 48 layers of 8 heads of 256, all charged, whatever slides.
        """
        gemma = {
            **GEMMA_31B, "num_hidden_layers": 48, "num_key_value_heads": 8, "architectures": [name],
            "num_global_key_value_heads": None, "global_head_dim": None,
            "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 8,
        }  # fmt: skip
        found = sglang.pools(ask("sglang", release, gemma), 10 * GIB)
        assert (found.tokens, found.window_tokens) == (10 * GIB // (48 * 8 * 2 * 256 * 2), None)

    def test_a_class_gets_its_pool_of_windows_with_a_release(self):
        """Gemma 4 is on the list since 0.5.11; a config that names no class is not guessed."""
        gemma = {**GEMMA_31B, "architectures": ["Gemma4ForConditionalGeneration"]}
        found = {r: sglang.pools(ask("sglang", r, gemma), 10 * GIB) for r in ("0.5.10", "0.5.11")}
        assert found["0.5.10"].window_tokens is None
        assert found["0.5.11"].window_tokens == int(found["0.5.11"].tokens * 0.8)
        off = {"disable_hybrid_swa_memory": True}
        assert (
            sglang.pools(ask("sglang", None, gemma, settings=off), 10 * GIB).window_tokens is None
        )
        with pytest.raises(UnknownRuleError, match="architectures"):
            sglang.pools(ask("sglang", None, GEMMA_31B), 10 * GIB)

    def test_layers_that_share_a_cache_have_a_place_in_the_pool(self):
        """Gemma 4 E4B: 18 of 42 layers read another one's; 79.94 GiB held 997,846 tokens."""
        small = {
            **GEMMA_31B, "num_hidden_layers": 42, "num_key_value_heads": 2,
            "architectures": ["Gemma4ForConditionalGeneration"],
            "num_global_key_value_heads": None, "num_kv_shared_layers": 18, "sliding_window": 512,
            "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 7,
        }  # fmt: skip
        pools = sglang.pools(ask("sglang", "0.5.23", small, kv_dtype="bf16"), int(79.94 * GIB))
        assert pools.tokens == pytest.approx(997_846, rel=1e-4)
        assert pools.window_tokens == pytest.approx(798_276, rel=1e-4)
        of_vllm = ask("vllm", "0.33.0", small, kv_dtype="bf16").layout()
        assert sum(g.layers for g in of_vllm.groups) == 24

    @pytest.mark.parametrize(
        ("gib", "cuda", "fraction"),
        [
            (81559 / 1024, False, round(1 - (512 + 8192 * 1.5 + 128 + 256 * 2) / 81559, 3)),
            (81559 / 1024, True, round(1 - (13_440 + 58 * 8) / 81559, 3)),
            (24564 / 1024, False, round(1 - (512 + 4096 * 1.5 + 128 + 48 * 2) / 24564, 3)),
            (15 * 1024 / 1024, False, round(1 - (512 + 2048 * 1.5 + 128 + 8 * 2) / 15_360, 3)),
        ],
    )
    def test_the_default_memory_fraction(self, gib, cuda, fraction):
        """By hand from the wheel: 58 sizes of prefills up to 8,192 tokens are captured on CUDA."""
        assert sglang.memory_fraction(ask("sglang", None, DENSE), gib, cuda=cuda) == fraction

    def test_a_vision_tower_takes_a_part_of_the_share(self):
        """27 layers are asked for as num_hidden_layers; a tower that says depth counts as 24."""
        plain = sglang.memory_fraction(ask("sglang", None, DENSE), 80)
        seen = {**DENSE, "vision_config": {"depth": 27, "hidden_size": 1152}}
        factor = 0.95 * (1 - 0.1 * (1152**2 / 1024**2 - 1))
        found = sglang.memory_fraction(ask("sglang", None, seen), 80, vision=True)
        assert found == pytest.approx(plain * factor)
        assert sglang.memory_fraction(ask("sglang", None, DENSE), 80, vision=True) == plain

    def test_the_share_that_a_start_of_kimi_k2_5_printed(self):
        """SGLang 0.5.8.post1 on eight MI355X, 2026-02-26: mem_fraction_static=0.8260405859375."""
        seen = {**DENSE, "vision_config": {"vt_num_hidden_layers": 27, "vt_hidden_size": 1152}}
        found = sglang.memory_fraction(
            ask("sglang", None, seen, tp=8), 287.98, cuda=False, vision=True
        )
        assert found == pytest.approx(0.8260405859375, abs=1e-12)


class TestLlamaCpp:
    def test_windows_are_off_where_every_layer_slides(self):
        """Phi-3 mini 4k: llama.cpp turns its window of 2,047 off (pull 13676): 1,536 MiB."""
        phi = {
            "model_type": "phi3", "num_hidden_layers": 32, "num_attention_heads": 32,
            "hidden_size": 3072, "sliding_window": 2047, "dtype": "bfloat16",
        }  # fmt: skip
        found = llamacpp.cells(ask("llama.cpp", None, phi), 4096)
        assert (found.cells, found.window_cells, found.bytes) == (4096, None, 1536 * 2**20)

    def test_window_cells(self):
        """gpt-oss-20b, 4,096 of context: 768 window cells, 18 MiB."""
        found = llamacpp.cells(ask("llama.cpp", None, GPT_OSS), 4096)
        assert (found.window_cells, found.window_bytes) == (768, 18 * 2**20)
        full = llamacpp.cells(ask("llama.cpp", None, GPT_OSS), 4096, full_window=True)
        assert full.window_cells == 4096

    def test_four_unified_slots_share_the_context(self):
        asked = ask("llama.cpp", None, GPT_OSS)
        found = llamacpp.cells(asked, 8192, sequences=4)
        assert (found.cells, found.window_cells) == (8192, 1024)

    def test_recurrent_state_is_float32(self):
        """149.625 MiB a sequence was printed for this model."""
        found = llamacpp.cells(ask("llama.cpp", None, HYBRID), 262144)
        assert found.state_bytes == 149.625 * 2**20
        assert found.bytes == 16_384 * 2**20

    def test_ollama_multiplies_the_context_by_its_slots(self):
        qwen = {**DENSE, "num_hidden_layers": 28, "num_key_value_heads": 2}
        assert llamacpp.cells(ask("ollama", "0.5", qwen), 2048, sequences=4).cells == 8192

    @pytest.mark.parametrize(("gib", "context"), [(8, 4096), (24, 32768), (80, 262144)])
    def test_ollama_context_by_memory(self, gib, context):
        assert llamacpp.default_context(ask("ollama", None, DENSE), gib) == context


def test_tensorrt_llm_blocks_of_32():
    """TinyLlama, 78.30 GiB: 116,617 blocks were printed."""
    tiny = {**DENSE, "num_hidden_layers": 22, "num_key_value_heads": 4, "head_dim": 64}
    found = quotient.pool_blocks(ask("tensorrt-llm", None, tiny, kv_dtype="fp16"), int(78.3 * GIB))
    assert found == pytest.approx(116_617, rel=1e-3)


def test_tensorrt_llm_keeps_gated_states_in_the_type_of_the_weights():
    """Pull 16065: ``mamba_ssm_dtype`` asks for arithmetic; pre-releases in between are unread."""

    def state(release, **settings):
        asked = {**HYBRID, "mamba_ssm_dtype": "float32"}
        found = ask("tensorrt-llm", release, asked, settings=settings).own_layout
        return found.state_bytes_per_sequence

    wide = {"mamba_ssm_cache_dtype": "float32"}
    for release in ("1.2.1", "1.4.0rc1"):
        assert state(release, **wide) - state(release) == 48 * 48 * 128 * 128 * (4 - 2)
    assert state("1.3.0rc22", **wide) == state("1.4.0rc1", **wide)
    with pytest.raises(UnknownCacheError, match="which type"):
        state("1.3.0rc22")


def test_a_cache_type_of_another_engine_is_unknown():
    with pytest.raises(UnknownRuleError, match="q8_0"):
        vllm.plan(ask("vllm", None, DENSE, kv_dtype="q8_0"))


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("0.19.x", "0.19"), ("0.21-dev (2026-05-08)", "0.21.dev0"), ("v0.25.1", "0.25.1"),
        ("0.10.1.dev101", "0.10.1.dev101"), ("b8171", "8171"), ("custom build 2026-05", "0.21.0"),
        ("0.1.dev20073", None), ("not stated", None), (None, None), ("2026-07 image", "0.26.0"),
        ("0.7 (V1 engine, 2025-01)", "0.7"), ("0.33.0-rc2", "0.33.0rc2"),
    ],
)  # fmt: skip
def test_releases_out_of_text(text, order):
    found = read_release(text, load_facts().engines["vllm"]).order
    assert found == order


@given(st.integers(0, 200 * GIB), st.integers(0, 200 * GIB), st.integers(1, 262144))
def test_more_memory_never_admits_fewer(one, two, tokens):
    plan = vllm.plan(ask("vllm", "0.33.0", HYBRID))
    low, high = sorted((one, two))
    assert plan.concurrency(plan.pool_blocks(low), tokens) <= plan.concurrency(
        plan.pool_blocks(high), tokens
    )


@given(st.integers(1, 262144), st.integers(1, 262144))
def test_a_longer_context_never_admits_more(one, two):
    plan = vllm.plan(ask("vllm", "0.33.0", GEMMA_31B, settings={"max_num_batched_tokens": 8192}))
    short, long = sorted((one, two))
    assert plan.request_blocks(short) <= plan.request_blocks(long)


@given(st.integers(10**8, 10**11))
def test_the_proposed_length_is_the_last_that_fits(memory):
    plan = vllm.plan(ask("vllm", "0.33.0", HYBRID))
    length = plan.longest(memory, 262144)
    assert length == 0 or plan.needed_bytes(length) <= memory
    assert length == 262144 or plan.needed_bytes(length + 1) > memory


QWEN3_NEXT = {
    **{k: v for k, v in MOE_HYBRID.items() if k != "mamba_ssm_dtype"}, "num_hidden_layers": 48,
    "model_type": "qwen3_next",
}  # fmt: skip
GRANITE_TINY = {
    "model_type": "granitemoehybrid", "num_hidden_layers": 40, "num_attention_heads": 12,
    "num_key_value_heads": 4, "head_dim": 128, "hidden_size": 1536, "dtype": "bfloat16",
    "layer_types": (["mamba"] * 9 + ["attention"]) * 4, "mamba_n_heads": 48, "mamba_d_head": 64,
    "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4,
}  # fmt: skip
NEMOTRON_9B = {
    "model_type": "nemotron_h", "num_hidden_layers": 4, "hybrid_override_pattern": "M-*-",
    "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 4480,
    "mamba_num_heads": 128, "mamba_head_dim": 80, "ssm_state_size": 128, "n_groups": 8,
    "conv_kernel": 4, "dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.parametrize(
    ("release", "config", "state", "conv", "token"),
    [
        # the config is silent: vLLM keeps the model's type, the reference code float32
        ("0.11.0", QWEN3_NEXT, 32 * 128 * 128 * 2, 8192 * 3 * 2, 2048),
        ("0.26.0", QWEN3_NEXT, 32 * 128 * 128 * 2, 8192 * 3 * 2, 2048),
        ("0.26.0", GRANITE_TINY, 48 * 64 * 128 * 2, (3072 + 256) * 3 * 2, 2048),
        ("0.19.1", NEMOTRON_9B, 128 * 80 * 128 * 2, 12_288 * 3 * 2, 4096),
        ("0.26.0", NEMOTRON_9B, 128 * 80 * 128 * 4, 12_288 * 3 * 2, 4096),
    ],
)
def test_a_state_whose_type_the_config_leaves_open(release, config, state, conv, token):
    plan = vllm.plan(ask("vllm", release, config, kv_dtype="bf16"))
    assert plan.attention_block_tokens == 16 * ceil((state + conv) / token / 16)


def test_what_no_one_read_of_a_silent_config_is_unknown():
    with pytest.raises(UnknownCacheError, match="mamba2 state"):
        vllm.plan(ask("vllm", "0.10.2", NEMOTRON_9B, kv_dtype="bf16"))


@pytest.mark.parametrize(("spec", "kv", "block", "padding"), [
    (15, "bf16", 480, 1.27), (7, "int8_per_token_head", 864, 1.09),
])  # fmt: skip
def test_printed_alignment_of_a_16_bit_state(spec, kv, block, padding):
    """Two boot lines of one box (github.com/syv-ai/qwen38-27b-rtx3090/issues/102, 2026-09-15)."""
    plan = vllm.plan(ask("vllm", "0.30.0", HYBRID, kv_dtype=kv, settings={
        "num_speculative_tokens": spec, "mamba_ssm_cache_dtype": "bfloat16",
        "enable_prefix_caching": True,
    }))  # fmt: skip
    assert (plan.attention_block_tokens, plan.padding_pct) == (block, padding)


def test_a_printed_pool_of_0_24():
    """5.98 GiB, 567,978 tokens, 4.33x (github.com/noonghunna/club-3090/issues/612, 2026-07-06)."""
    found = printed("0.24.0", MOE_HYBRID, 5.98, 131_072, "fp8", enable_prefix_caching=True)
    assert 567_978 in found
    plan = vllm.plan(ask("vllm", "0.24.0", MOE_HYBRID, kv_dtype="fp8",
                         settings={"enable_prefix_caching": True}))  # fmt: skip
    assert round(plan.concurrency(plan.pool_blocks(int(5.98 * GIB)), 131_072), 2) == 4.33


def test_a_window_longer_than_the_request_needs_no_batch_size():
    phi = {**DENSE, "model_type": "phi3", "sliding_window": 262_144}
    plan = vllm.plan(ask("vllm", "0.26.0", phi, kv_dtype="bf16"))
    assert plan.request_blocks(4096) == 4096 // 16 + 1
    with pytest.raises(UnknownRuleError, match="max_num_batched_tokens"):
        plan.request_blocks(300_000)


def test_latent_keys_do_not_make_every_class_keep_a_latent():
    mini = {"model_type": "minicpm3", "num_hidden_layers": 62, "num_attention_heads": 40,
            "hidden_size": 2560, "kv_lora_rank": 256, "qk_nope_head_dim": 64,
            "qk_rope_head_dim": 32, "dtype": "bfloat16"}  # fmt: skip
    with pytest.raises(UnknownRuleError, match="minicpm3"):
        ask("vllm", "0.33.0", mini).layout()
    assert ask("sglang", "0.5.23", mini).layout().kv_bytes_per_token == 62 * 288 * 2


@pytest.mark.parametrize(("release", "settings", "copies"), [
    ("0.28.0", {"enable_prefix_caching": True}, 2),
    ("0.28.0", {"enable_prefix_caching": False, "mamba_cache_mode": "align"}, 1),
    ("0.26.0", {"mamba_cache_mode": "align"}, 1),  # prefix caching is off by default
    ("0.26.0", {"enable_prefix_caching": True, "mamba_cache_mode": "align"}, 2),
    ("0.26.0", {"enable_prefix_caching": True}, None),
])  # fmt: skip
def test_the_mode_of_states_follows_prefix_caching(release, settings, copies):
    """MambaModelConfig: none without it; until 0.26 Mamba classes default to ``all``, not read."""
    asked = ask("vllm", release, GRANITE_TINY, kv_dtype="bf16", settings=settings)
    if copies is None:
        with pytest.raises(UnknownRuleError, match="'all'"):
            vllm.plan(asked)
    else:
        assert next(g.fixed_blocks for g in vllm.plan(asked).groups if g.kind == "state") == copies


def test_printed_pools_of_starts_read_in_november():
    """Two decimals of memory and the pool that was printed with them, from public starts.

    The pages: mitchross/talos-argocd-proxmox#1995 (2026-08-16), and
    issues 49064 (RX 7900 XT, 2026-09-03) and 40691 (1,487 blocks by its concurrency, 2026-04-23).
    """
    caching = {"enable_prefix_caching": True}
    assert 302_921 in printed("0.26.0", HYBRID, 4.99, 131_072, "fp8", tp=2, **caching)
    assert 123_399 in printed("0.23.1", HYBRID, 3.86, 122_633, "bf16", tp=2)
    plan = vllm.plan(ask("vllm", "0.19.0", HYBRID, settings={"max_model_len": 32_768}))
    assert round(plan.concurrency(1487, 32_768), 2) == 33.04
    assert plan.printed_tokens(1487, 32_768) == 290_864


@pytest.mark.parametrize(("memory_gib", "release", "settings", "most"), [
    (3.86, "0.23.1", {}, 161),
    (3.86, "0.23.1", {"max_num_seqs": 161}, None),
    (3.86, "0.23.1", {"enforce_eager": True}, None),
    (3.86, "0.19.0", {}, None),
    (12.0, "0.23.1", {}, None),
])  # fmt: skip
def test_the_requests_of_a_default_need_a_block_of_state_each(memory_gib, release, settings, most):
    """2 x RX 7900 XT: 256 by default, 161 blocks, refused (vLLM issue 49064, 2026-09-03)."""
    found = admit(
        "vllm", release, HYBRID, pool_bytes=int(memory_gib * GIB), context_tokens=122_633, tp=2,
        device=load_facts().machines["rx7900xt"], settings=settings,
    )  # fmt: skip
    assert found.most_requests == most


def test_a_card_of_70_gib_asks_for_more_requests():
    """The default is 1,024 there: 969 blocks of an H100 refuse it (vLLM issue 49064)."""
    machines, found = load_facts().machines, {}
    for name in ("h100_sxm", "a100_80_sxm"):
        plan = vllm.plan(ask("vllm", "0.28.0", HYBRID))
        found[name] = admit(
            "vllm", "0.28.0", HYBRID, pool_bytes=969 * plan.block_bytes, context_tokens=132_000,
            device=machines[name],
        ).most_requests  # fmt: skip
    assert found == {"h100_sxm": 969, "a100_80_sxm": None}


@pytest.mark.parametrize(("spec", "kv", "layout"), [
    # syv-ai/qwen38-27b-rtx3090 issue 102, states in bf16 and eight-bit keys with a scale a head
    ({"num_speculative_tokens": 15, "mamba_ssm_cache_dtype": "bfloat16"}, None, (480, 1.27)),
    ({"num_speculative_tokens": 7, "mamba_ssm_cache_dtype": "bfloat16"}, "int8_per_token_head",
     (864, 1.09)),
    # vllm-project/vllm pull 46329, comment of 2026-09-19
    ({"num_speculative_tokens": 3}, "fp8", (1600, 0.25)),
    ({"num_speculative_tokens": 3}, "nvfp4", (2848, 0.38)),
])  # fmt: skip
def test_blocks_that_starts_of_2026_printed(spec, kv, layout):
    """Qwen3.8-27B with drafts; of the last two only the block was printed."""
    found = vllm.plan(launch("vllm", "0.28.0", QWEN, kv_dtype=kv, settings={
        "max_num_batched_tokens": 8192, **spec}))  # fmt: skip
    assert (found.attention_block_tokens, found.padding_pct) == layout


@pytest.mark.parametrize(("blocks", "printed"), [(424, 620_944), (425, 622_408), (426, 623_873)])
def test_pools_of_one_set_up_in_three_starts(blocks, printed):
    """noonghunna/club-3090 issues 295, 294 and 642: 179 blocks a request of 262,144 tokens."""
    config = load_facts().models["Qwen/Qwen3.6-27B"].config.value
    found = vllm.plan(launch("vllm", "0.22.0", config, tp=2, kv_dtype="fp8_e5m2", draft_layers=1,
                             settings={"num_speculative_tokens": 3, "max_num_batched_tokens": 8192,
                                       "enable_prefix_caching": True}))  # fmt: skip
    assert found.request_blocks(262_144) == 179
    assert found.printed_tokens(blocks, 262_144) == printed


@pytest.mark.parametrize(("model", "release", "drafted", "sequences", "mib"), [
    # a llama.cpp log of Qwen3.8-27B with MTP, GenerelSchwerz/llama.cpp pull 37, ggml-org's 26499
    ("Qwen/Qwen3.8-27B", "b12000", 2, 1, 448.88), ("Qwen/Qwen3.8-27B", "b11000", 6, 1, 1047.38),
    ("Qwen/Qwen3.5-35B-A3B", "b11000", 7, 1, 502.5), ("Qwen/Qwen3.6-27B", "b10068", 0, 4, 598.5),
])  # fmt: skip
def test_llama_cpp_keeps_a_state_for_each_drafted_token(model, release, drafted, sequences, mib):
    config = load_facts().models[model].config.value
    asked = launch("llama.cpp", release, config, settings={"num_speculative_tokens": drafted})
    found = llamacpp.cells(asked, 8192, sequences=sequences)
    assert found.state_bytes / 2**20 == pytest.approx(mib, abs=0.006)


def test_states_beside_drafts_are_unknown_where_nobody_read_them():
    facts = load_facts()
    drafts = {"num_speculative_tokens": 2}
    granite = facts.models["ibm-granite/granite-4.0-h-small"].config.value
    for engine, release, config in (
        ("llama.cpp", "b9000", QWEN), ("llama.cpp", None, granite), ("ollama", None, QWEN),
        ("tensorrt-llm", None, QWEN),
    ):  # fmt: skip
        found = admit(engine, release, config, pool_bytes=2**34, context_tokens=8192,
                      settings=drafts)  # fmt: skip
        assert found.live_sequences is None
        assert found.notes


def test_sglang_pools_of_hybrid_models_in_two_logs():
    """Nemotron-3 on four devices, 53.38 GiB; Qwen3.8-27B on GB10, 58.74 GiB. Printed to 10 MB."""
    nano = load_facts().models["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"].config.value
    for config, gib, slots, tokens, rest in (
        (nano, 53.38, 2211, 19_644_177, {"tp": 4}),
        (QWEN, 58.74, 360, 228_520, {"settings": {"max_mamba_cache_size": 360}}),
    ):  # fmt: skip
        found = sglang.pools(launch("sglang", "0.5.21", config, kv_dtype="fp8", **rest),
                             int(gib * 2**30))  # fmt: skip
        assert found.slots == slots
        assert found.tokens == pytest.approx(tokens, rel=0.002)


@pytest.mark.parametrize(("kv", "gib", "block", "context", "printed"), [
    ("fp8", 9.28, 1600, 262_144, 265_122), ("int8_per_token_head", 9.67, 1584, 262_144, 272_453),
    ("fp8_per_token_head", 9.67, 1584, 262_144, 272_453),
    ("int4_per_token_head", 9.67, 3104, 262_144, 502_667),
    (None, 9.67, 800, 131_072, 138_519),
])  # fmt: skip
def test_one_model_in_five_cache_types(kv, gib, block, context, printed):
    """Starts of Qwen3.8-27B with three drafted tokens on an RTX 5090, prefix caching off."""
    found = vllm.plan(launch("vllm", "0.27.1", QWEN, kv_dtype=kv, draft_layers=1, settings={
        "num_speculative_tokens": 3, "max_num_batched_tokens": 8192}))  # fmt: skip
    assert found.attention_block_tokens == block
    assert found.printed_tokens(found.pool_blocks(int(gib * GIB)), context) == printed
    if kv is None:  # refused at 262,144: 17.64 GiB needed, 139,200 tokens proposed
        assert found.needed_bytes(262_144) / GIB == pytest.approx(17.64, abs=HALF_STEP)
        assert found.longest(int(gib * GIB), 262_144) == 139_200


def test_a_pool_on_a_dgx_spark():
    """Qwen3.6-27B with an eight-bit cache: 35.45 GiB are 1,114,865 tokens (vLLM of 2026)."""
    config = load_facts().models["Qwen/Qwen3.6-27B"].config.value
    found = vllm.plan(launch("vllm", "0.28.0", config, kv_dtype="fp8",
                             settings={"max_num_batched_tokens": 8192}))  # fmt: skip
    assert found.printed_tokens(found.pool_blocks(int(35.45 * GIB)), 262_144) == 1_114_865


KIMI_LINEAR = {
    "model_type": "kimi_linear", "num_hidden_layers": 27, "num_attention_heads": 32,
    "hidden_size": 2304, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "dtype": "bfloat16", "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32,
        "short_conv_kernel_size": 4,
    },
}  # fmt: skip
GEMMA_E2B = {
    "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256,
    "global_head_dim": 512, "hidden_size": 1536, "sliding_window": 512, "dtype": "bfloat16",
    "num_kv_shared_layers": 20, "max_position_embeddings": 131072,
    "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
}  # fmt: skip
QWEN_MOE_30B = {**DENSE, "num_hidden_layers": 48, "num_key_value_heads": 4}
MINIMAX = {**DENSE, "num_hidden_layers": 62, "num_attention_heads": 48, "hidden_size": 3072}


@pytest.mark.parametrize(("model", "release", "tp", "kv", "settings", "layout"), [
    # vLLM issue 28228, Kimi-Linear on two RTX 3090; vLLM issue 51986, Kimi K3 with 7 drafted tokens
    (KIMI_LINEAR, "0.11.1", 2, None, {}, (960, 1.89)),
    ("moonshotai/Kimi-K3", "0.27.1", 16, "fp8", {"num_speculative_tokens": 7}, (768, 0.7)),
    # a start of Qwen3.6-35B-A3B in NVFP4 on 24 GB (2026-05-01): no padding was printed
    ("Qwen/Qwen3.6-35B-A3B", "0.20.0", 1, "fp8", {"enable_prefix_caching": True}, (2096, 0.0)),
])  # fmt: skip
def test_blocks_of_latents_and_states(model, release, tp, kv, settings, layout):
    config = model if isinstance(model, dict) else load_facts().models[model].config.value
    found = vllm.plan(ask("vllm", release, config, tp=tp, kv_dtype=kv, settings={
        "max_num_batched_tokens": 8192, **settings}))  # fmt: skip
    assert (found.attention_block_tokens, found.padding_pct) == layout


def test_a_pool_of_fifteen_blocks():
    """The same start: 0.32 GiB, 6,288 tokens, 1.50x for 8,192."""
    config = load_facts().models["Qwen/Qwen3.6-35B-A3B"].config.value
    assert 6288 in printed("0.20.0", config, 0.32, 8192, "fp8", enable_prefix_caching=True)
    plan = vllm.plan(ask("vllm", "0.20.0", config, kv_dtype="fp8",
                         settings={"enable_prefix_caching": True}))  # fmt: skip
    assert plan.concurrency(15, 8192) == 1.5


def test_what_one_request_takes_of_windows_and_shared_layers():
    """Gemma 4 E2B at 32,768 tokens: 106,443 tokens at 3.25x, 0.93 GiB (2026-10)."""
    found = vllm.plan(ask("vllm", "0.24.0", GEMMA_E2B, settings={"max_num_batched_tokens": 8192}))
    assert found.needed_bytes(32_768) / GIB == pytest.approx(0.93 / 3.25, abs=HALF_STEP)


@pytest.mark.parametrize(("config", "tp", "kv", "context", "needed", "there", "proposed"), [
    # vLLM issue 25350; eugr/spark-vllm-docker issue 396, MiniMax-M2.7 on two DGX Spark
    (QWEN_MOE_30B, 1, "fp8", 221_000, 10.12, 5.59, 122_080),
    (MINIMAX, 2, None, 196_608, 23.25, 22.5, 190_272),
])  # fmt: skip
def test_lengths_that_refused_starts_proposed(config, tp, kv, context, needed, there, proposed):
    found = vllm.plan(ask("vllm", "0.11.0", config, tp=tp, kv_dtype=kv))
    assert found.needed_bytes(context) / GIB == pytest.approx(needed, abs=HALF_STEP)
    ends = [found.longest(int((there + d) * GIB), context) for d in (-HALF_STEP, HALF_STEP)]
    assert ends[0] <= proposed <= ends[1]


@pytest.mark.parametrize(("machine", "block", "proposed"), [
    ("epyc_turin", 128, 37_376), ("arc_b60", 64, 37_440), ("h100_sxm", 16, 37_440),
])  # fmt: skip
def test_blocks_go_by_the_platform(machine, block, proposed):
    """vLLM issue 29233: a CPU with 4 GiB for the cache refuses 40,960 tokens of Qwen3-0.6B."""
    small = {**DENSE, "num_hidden_layers": 28, "num_attention_heads": 16, "hidden_size": 1024}
    asked = ask("vllm", "0.11.1", small, settings={"max_num_batched_tokens": 2048,
                                                   "max_num_seqs": 16})  # fmt: skip
    found = vllm.plan(with_device(asked, load_facts().machines[machine]))
    assert (found.attention_block_tokens, found.longest(4 * GIB, 40_960)) == (block, proposed)
    if machine == "epyc_turin":
        with pytest.raises(UnknownRuleError, match="IPEX"):
            with_device(ask("vllm", "0.10.0", small, settings=asked.settings),
                        load_facts().machines[machine])  # fmt: skip


def test_falcon_h1_keeps_a_cache_and_a_state_in_every_layer():
    """llama.cpp at 32,768 tokens: 768 MiB, and 72.98 for states (GeniePod/genie-claw issue 410)."""
    falcon = {
        **DENSE, "model_type": "falcon_h1", "num_hidden_layers": 24, "num_attention_heads": 8,
        "num_key_value_heads": 2, "hidden_size": 2048, "mamba_d_conv": 4, "mamba_d_head": 64,
        "mamba_d_state": 256, "mamba_d_ssm": 3072, "mamba_n_groups": 1, "mamba_n_heads": 48,
    }  # fmt: skip
    found = llamacpp.cells(ask("llama.cpp", None, falcon), 32_768)
    assert found.bytes == 768 * 2**20
    assert found.state_bytes / 2**20 == pytest.approx(72.98, abs=0.005)


GEMMA_12B = {
    **GEMMA_31B, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8,
    "num_global_key_value_heads": 1, "hidden_size": 3840, "attention_k_eq_v": True,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 8,
}  # fmt: skip
LAGUNA = {
    **DENSE, "num_hidden_layers": 48, "sliding_window": 512,
    "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 12,
}  # fmt: skip


@pytest.mark.parametrize(("config", "kv", "context", "sequences", "ubatch", "cells"), [
    # llama.cpp 9849 with Gemma 4 12B: --ubatch-size 2048, four slots of one cache
    (GEMMA_12B, None, 8192, 4, 2048, (8192, 128.0, 6144, 1920.0)),
    # Laguna at 1M tokens in q4_0, as a test of raketenkater/ggrun quotes it
    (LAGUNA, "q4_0", 1_048_576, 1, None, (1_048_576, 13_824.0, 1024, 40.5)),
])  # fmt: skip
def test_windows_that_llama_cpp_printed(config, kv, context, sequences, ubatch, cells):
    found = llamacpp.cells(launch("llama.cpp", None, config, kv_dtype=kv), context,
                           sequences=sequences, ubatch=ubatch)  # fmt: skip
    mib = 2**20
    assert (found.cells, found.bytes / mib, found.window_cells, found.window_bytes / mib) == cells
