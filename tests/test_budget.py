"""Weights, the budget, verdicts with their codes, cures in order, and prefix hits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.errors import UnknownRuleError
from stackchoice.facts import load_facts
from stackchoice.fit.admission import launch
from stackchoice.fit.budget import batched_tokens, memory_for_cache
from stackchoice.fit.cures import Situation, cures
from stackchoice.fit.prefix import prefix_hit
from stackchoice.fit.verdict import cache_type_runs, offload_verdict, pool_verdict
from stackchoice.fit.weights import embedding_parameters, vision_parameters, weights_bytes

GIB = 2**30
LLAMA_70B = {
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
    "hidden_size": 8192, "vocab_size": 128_256, "tie_word_embeddings": False,
    "max_position_embeddings": 131072, "dtype": "bfloat16",
}  # fmt: skip
GEMMA = {
    "num_hidden_layers": 6, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 256,
    "num_global_key_value_heads": 4, "global_head_dim": 512, "hidden_size": 5376,
    "sliding_window": 1024, "max_position_embeddings": 262144,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}  # fmt: skip
QWEN_27B = {
    "model_type": "qwen3_5_text", "num_hidden_layers": 64, "hidden_size": 5120, "head_dim": 256,
    "num_attention_heads": 24, "num_key_value_heads": 4, "full_attention_interval": 4,
    "linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32",
    "dtype": "bfloat16", "max_position_embeddings": 262144,
}  # fmt: skip


def ask(release, config=LLAMA_70B, engine="vllm", **rest):
    return launch(engine, release, config, facts=load_facts(), **rest)


class TestWeights:
    def test_what_stays_in_16_bits(self, facts):
        """Llama-3.3-70B in FP8, one device: 72,713,796,321 B were printed as 67.72 GiB."""
        found = weights_bytes(LLAMA_70B, "fp8", facts.memory, parameters=70.55e9)
        ends = 2 * 128_256 * 8192
        assert found == 70_550_000_000 + ends
        assert found / GIB == pytest.approx(67.72, rel=0.002)

    def test_every_spelling_of_the_same_encoding(self, facts):
        texts = ("fp8", "fp8 linear layers; embedding and lm_head 16-bit", "FP8, bf16 lm_head")
        found = {weights_bytes(LLAMA_70B, t, facts.memory, parameters=70e9) for t in texts}
        assert len(found) == 1

    def test_experts_apart(self, facts):
        config = {"vocab_size": 201_088, "hidden_size": 2880, "num_hidden_layers": 24}
        found = weights_bytes(config, "mxfp4 experts, bf16 rest", facts.memory,
                              parameters=20.91e9, expert_parameters=19.11e9)  # fmt: skip
        assert found == round(19.11e9 * 4.25 / 8 + 1.8e9 * 2)
        gguf = weights_bytes(
            config,
            "mxfp4 experts, q8_0 attention and embedding (GGUF)",
            facts.memory,
            parameters=20.91e9,
            expert_parameters=19.11e9,
        )
        assert gguf == round(19.11e9 * 4.25 / 8 + 1.8e9 * 8.5 / 8)

    def test_a_tied_embedding_counts_once(self):
        tied = {**LLAMA_70B, "tie_word_embeddings": True}
        assert embedding_parameters(LLAMA_70B) == 2 * embedding_parameters(tied)

    def test_a_vision_tower_stays_in_16_bits(self, facts):
        vision = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304}
        config = {**LLAMA_70B, "vision_config": vision}
        extra = vision_parameters(config)
        assert extra == 27 * (4 * 1152**2 + 2 * 1152 * 4304)
        plain, seeing = (
            weights_bytes(c, "fp8", facts.memory, parameters=70e9) for c in (LLAMA_70B, config)
        )
        assert seeing - plain == extra

    def test_the_checkpoint_wins(self, facts):
        found = weights_bytes({}, "fp8", facts.memory, checkpoint_bytes=30_866_866_928, tp=2)
        assert found == 15_433_433_464

    @pytest.mark.parametrize("encoding", ["mystery", "q4_k_m"])
    def test_an_encoding_without_known_bits_is_unknown(self, facts, encoding):
        with pytest.raises(UnknownRuleError, match=encoding):
            weights_bytes(LLAMA_70B, encoding, facts.memory, parameters=1e9)


class TestBudget:
    """Starts of vLLM 0.11.0 on an H100 whose driver reports 79.18 GiB."""

    @pytest.mark.parametrize(
        ("share", "weights", "peak", "other", "left"),
        [
            (0.95, 44.76, 2.12, 0.14, 28.20), (0.9, 13.47, 7.38, 0.13, 50.28),
            (0.9, 61.03, 5.64, 0.14, 4.45), (0.9, 67.72, 4.84, 0.13, -1.43),
        ],
    )  # fmt: skip
    def test_what_was_left(self, share, weights, peak, other, left):
        found = memory_for_cache(
            ask("0.11.0"), device_memory_gib=79.18, weights_gib=weights, activation_peak_gib=peak,
            non_torch_gib=other, cuda_graph_gib=0.5, utilization=share,
        )  # fmt: skip
        assert found.cache_bytes / GIB == pytest.approx(left, abs=0.012)

    def test_graphs_move_into_the_budget(self):
        old, new = (
            memory_for_cache(ask(r), device_memory_gib=80, weights_gib=50, cuda_graph_gib=2)
            for r in ("0.20.1", "0.21.0")
        )
        assert old.cache_bytes - new.cache_bytes == 2 * GIB

    def test_the_share_by_release(self):
        granted = [
            memory_for_cache(ask(r), device_memory_gib=100, weights_gib=0).granted_bytes
            for r in ("0.19.1", "0.20.0", "0.33.0")
        ]
        assert granted == [90 * GIB, 92 * GIB, 92 * GIB]

    def test_a_negative_graph_estimate_adds_nothing(self):
        one, two = (
            memory_for_cache(ask("0.33.0"), device_memory_gib=80, weights_gib=50, cuda_graph_gib=g)
            for g in (0, -0.76)
        )
        assert one.cache_bytes == two.cache_bytes

    @pytest.mark.parametrize(
        ("gib", "name", "capability", "tokens"),
        [
            (79.18, "H100", 9.0, 8192), (79.18, "NVIDIA A100-SXM4-80GB", 8.0, 2048),
            (119.0, "GB10", 12.1, 2048), (31.8, "RTX 5090", 12.0, 2048),
            (178.0, "B200", 10.0, 16384),
        ],
    )  # fmt: skip
    def test_batched_tokens_by_device(self, gib, name, capability, tokens):
        assert batched_tokens(ask("0.33.0"), gib, name=name, capability=capability) == tokens


class TestVerdict:
    def test_codes_and_outcomes(self):
        asked = ask("0.11.0", settings={"max_model_len": 16_000})
        needed = 16_000 // 16 * 16 * 80 * 8 * 2 * 128 * 2
        assert pool_verdict(asked, needed).because == "ok"
        short = pool_verdict(asked, needed - 1)
        assert (short.verdict, short.because) == ("refused", "max_model_len_exceeds_pool")
        assert (short.needed_bytes, short.longest_tokens) == (needed, 15_984)
        none = pool_verdict(asked, -5)
        assert (none.verdict, none.because) == ("refused", "no_memory_for_cache")
        override = pool_verdict(asked, None, blocks=10)
        assert (override.verdict, override.because) == ("starts", "pool_below_one_request")
        assert not override.fits

    def test_graphs_outside_the_budget_can_run_out(self):
        asked = ask("0.11.0", settings={"max_model_len": 1_000})
        budget = memory_for_cache(asked, device_memory_gib=80, weights_gib=50, utilization=0.98,
                                  cuda_graph_gib=3)  # fmt: skip
        found = pool_verdict(asked, budget.cache_bytes, budget=budget, device_bytes=80 * GIB)
        assert (found.verdict, found.because) == ("oom", "graph_capture")

    @pytest.mark.parametrize(
        ("release", "tp", "length", "requests", "gib", "because"),
        [
            # vLLM issue 49064, Qwen3.8-27B: 161 blocks on two RX 7900 XT refuse 256 requests.
            ("0.23.1", 2, 122_633, 256, 3.86, "no_memory_for_state"),
            ("0.23.1", 2, 122_633, 161, 3.86, "ok"), ("0.19.0", 2, 122_633, 256, 3.86, "ok"),
            # 969 blocks on an H100 refuse 1024.
            ("0.28.0", 1, 132_000, 1024, 46.4, "no_memory_for_state"),
        ],
    )  # fmt: skip
    def test_a_request_needs_a_block_for_its_state(
        self, release, tp, length, requests, gib, because
    ):
        settings = {"max_model_len": length, "max_num_seqs": requests}
        asked = ask(release, QWEN_27B, tp=tp, settings=settings)
        found = pool_verdict(asked, int(gib * GIB))
        assert found.because == because
        eager = ask(release, QWEN_27B, tp=tp, settings={**settings, "enforce_eager": True})
        assert pool_verdict(eager, int(gib * GIB)).because == "ok"

    @pytest.mark.parametrize(
        ("release", "config", "kv", "capability", "runs"),
        [
            ("0.21.0", GEMMA, "fp8_e4m3", 8.6, False), ("0.21.0", GEMMA, "fp8_e4m3", 8.9, True),
            ("0.21.0", LLAMA_70B, "fp8_e4m3", 8.6, None), ("0.21.0", GEMMA, "nvfp4", 10.0, False),
            ("0.21.0", LLAMA_70B, "nvfp4", 8.6, False), ("0.27.1", LLAMA_70B, "nvfp4", 10.0, True),
            ("0.33.0", LLAMA_70B, "nvfp4", 12.0, True), ("0.30.0", LLAMA_70B, "nvfp4", 9.0, None),
            ("0.33.0", LLAMA_70B, "bf16", None, None),
        ],
    )  # fmt: skip
    def test_cache_types_by_device_and_release(self, release, config, kv, capability, runs):
        assert cache_type_runs(ask(release, config, kv_dtype=kv), capability) is runs

    def test_what_does_not_fit_goes_to_the_cpu(self):
        """A 3B model with 65,536 of context on 8 GiB ran 35 % on the CPU."""
        config = {
            "num_hidden_layers": 28, "num_attention_heads": 24, "num_key_value_heads": 8,
            "head_dim": 128, "hidden_size": 3072,
        }  # fmt: skip

        def judged(context):
            asked = ask(None, config, "ollama", settings={"num_ctx": context})
            return offload_verdict(asked, weights_bytes=2_020_000_000, device_bytes=8 * GIB)

        assert judged(65_536).because == "partial_cpu_offload"
        assert judged(4_096).because == "ok"


class TestCures:
    def situation(self, facts, machine="rtx_5090", **changes):
        model = facts.models["Qwen/Qwen3.8-27B"]
        base = {
            "engine": "vllm", "model": model, "artifact": model.artifacts[0],
            "machine": facts.machines[machine], "context_tokens": 8192,
        }  # fmt: skip
        return Situation(**{**base, **changes})

    def test_the_order_and_the_two_effects_apart(self, facts):
        found = cures(self.situation(facts), facts)
        kinds = [c.kind for c in found.cures]
        assert kinds == ["another quantisation", "more tensor parallel", "another machine"]
        first = found.cures[0]
        now, then = facts.models["Qwen/Qwen3.8-27B"].artifacts[0], first.what
        freed = (
            now.weights_bytes.value
            - next(
                a for a in facts.models["Qwen/Qwen3.8-27B"].artifacts if a.label == then
            ).weights_bytes.value
        )
        assert first.freed_bytes == freed
        assert first.live_sequences >= 1
        assert first.pool_tokens > 0
        assert "speed" in first.note

    def test_a_smaller_model_comes_last_and_says_why_the_others_fell(self, facts):
        found = cures(self.situation(facts, "t4"), facts)
        assert not any(c.kind == "another quantisation" for c in found.cures)
        assert found.fell
        assert all(found.fell.values())
        assert [c.kind for c in found.cures][-1] == "smaller model"

    def test_what_lets_no_more_run_cures_nothing(self, facts):
        """An H100 PCIe reports a little more memory than an H100 SXM: not enough for one more."""
        found = cures(self.situation(facts, "h100_sxm"), facts)
        assert found.now.live_sequences > 0
        assert all(cure.gained_sequences > 0 for cure in found.cures)
        assert "another machine" in [cure.kind for cure in found.cures]

    def test_no_smaller_model_while_a_quantisation_fits(self, facts):
        found = cures(self.situation(facts), facts)
        assert "smaller model" not in [c.kind for c in found.cures]


class TestPrefixHit:
    HYBRID = {
        "num_hidden_layers": 32, "full_attention_interval": 4, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 256, "hidden_size": 4096,
        "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_num_value_heads": 32,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32",
    }  # fmt: skip

    def hit(self, prompt, on=True, **rest):
        asked = ask("0.19.1", self.HYBRID, kv_dtype="bf16", settings={"enable_prefix_caching": on})
        return prefix_hit(asked, prompt_tokens=prompt, **rest)

    @pytest.mark.parametrize(("prompt", "tokens"), [(480, 0), (552, 528), (979, 528), (528, 0)])
    def test_whole_blocks_of_528_alone(self, prompt, tokens):
        found = self.hit(prompt)
        assert found.tokens == tokens
        assert found.fraction == pytest.approx(tokens / prompt)

    def test_a_short_prompt_says_that_the_block_is_why(self):
        assert "528" in self.hit(480).why

    def test_a_shared_beginning_finds_no_state(self):
        assert self.hit(None, identical=False, shared_tokens=5000).tokens == 0
        plain = ask("0.33.0")
        assert (
            prefix_hit(plain, prompt_tokens=None, identical=False, shared_tokens=100).tokens == 96
        )

    def test_off_is_off(self):
        assert self.hit(5000, on=False).tokens == 0
        assert self.hit(5000, seen_before=0).tokens == 0

    def test_other_engines_are_unknown(self):
        with pytest.raises(UnknownRuleError):
            prefix_hit(ask(None, engine="sglang"), prompt_tokens=100)

    @given(st.integers(1, 10_000))
    def test_never_the_whole_prompt(self, prompt):
        assert self.hit(prompt).tokens < prompt
