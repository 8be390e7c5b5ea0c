"""Question 2 in numbers: phases, what binds, what reuse is worth, settings and their disputes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice import decide
from stackchoice.choose.answer import answer
from stackchoice.choose.decide import likely_case
from stackchoice.choose.shape import batch_at_peak, shape
from stackchoice.errors import UnknownRuleError
from stackchoice.facts.records import SEEN_BY
from stackchoice.fit import launch
from stackchoice.fit.admissions import NO_PREFIX_CACHING
from stackchoice.fit.prefix import ReuseRule, reuse_rule

QWEN = "Qwen/Qwen3.8-27B"


@pytest.fixture
def rule(facts):
    def ask(engine, release, model=QWEN, **settings):
        return reuse_rule(
            launch(engine, release, facts.models[model].config.value, settings=settings,
                   facts=facts)
        )  # fmt: skip

    return ask


class TestReuseRule:
    def test_vllm_on_a_hybrid_keeps_a_state_at_the_last_block_alone(self, rule):
        """In bf16 the attention block of Qwen3.8-27B is 784 tokens; 8,191 hold ten of them."""
        found = rule("vllm", "0.33.0")
        assert (found.block_tokens, found.last_block_only) == (784, True)
        assert found.hit(8192, 7839).tokens == 0
        assert found.hit(8192, 7840).tokens == 7840
        assert "784" in found.hit(8192, 500).why
        assert "7,840" in found.hit(8192, 7000).why

    def test_an_fp8_cache_doubles_the_block(self, facts):
        asked = launch("vllm", "0.33.0", facts.models[QWEN].config.value, kv_dtype="fp8",
                       facts=facts)  # fmt: skip
        assert reuse_rule(asked).block_tokens == 1568

    def test_vllm_kept_none_of_it_on_hybrids_before_028(self, rule):
        assert rule("vllm", "0.27.1").hit(8192, 8000).tokens == 0
        assert rule("vllm", "0.27.1", "Qwen/Qwen3-32B").hit(8192, 8000).tokens == 8000

    def test_plain_attention_finds_whole_blocks_of_16(self, rule):
        assert rule("vllm", "0.33.0", "Qwen/Qwen3-32B").hit(1000, 900).tokens == 896

    def test_sglang_keeps_a_state_where_prompts_part(self, rule):
        assert rule("sglang", "0.5.23").hit(8192, 7000).tokens == 7000 // 64 * 64
        assert rule("sglang", "0.5.23", "Qwen/Qwen3-32B").hit(8192, 7000).tokens == 7000

    def test_the_other_engines_find_by_token_by_page_or_not_at_all(self, rule):
        plain = "Qwen/Qwen3-32B"
        assert rule("llama.cpp", "b12464", plain).hit(8192, 7001).tokens == 7001
        assert rule("mlx-lm", "0.32.2", plain).hit(8192, 7001).tokens == 7001
        assert rule("tensorrt-llm", "1.2.1", plain).hit(8192, 7001).tokens == 7001
        assert rule("max", "26.7.0", plain).hit(8192, 7001).tokens == 54 * 128
        assert rule("transformers", "5.24.0", plain).hit(8192, 7001).tokens == 0

    def test_states_of_hybrids_are_another_question(self, rule):
        """A chat's system prompt is found in llama.cpp and MLX-LM; TensorRT-LLM turns reuse off."""
        assert rule("llama.cpp", "b12464").hit(8192, 7000).tokens == 7000
        assert not rule("tensorrt-llm", "1.4.0rc1").on
        with pytest.raises(UnknownRuleError, match="where passes end was not read"):
            rule("max", "26.7.0")
        with pytest.raises(UnknownRuleError, match="b9479"):
            rule("llama.cpp", "b9479")

    @given(st.integers(1, 10_000), st.integers(0, 10_000), st.integers(1, 2000), st.booleans())
    def test_never_more_than_is_shared_and_never_the_whole_prompt(
        self, prompt, shared, block, last
    ):
        found = ReuseRule(block_tokens=block, last_block_only=last).hit(prompt, shared)
        assert 0 <= found.tokens <= min(shared, prompt - 1)
        assert found.tokens % block == 0


class TestShape:
    def test_prefix_worth_is_an_order_of_magnitude_where_it_is_found(self, facts, changed):
        scenario = changed("shared-prefix")
        worth = decide(scenario, facts).shape.prefix
        assert worth.engine == "SGLang"
        assert worth.found_tokens == 12_000 // 64 * 64
        assert worth.prefill_times == pytest.approx(13_000 / (13_000 - 11_968))
        assert worth.price_share == pytest.approx((160.0 - 151.0) / 160.0, abs=0.001)
        assert worth.pays is True
        assert worth.saved_s > worth.price_s

    def test_block_size_can_make_it_a_no_op(self, facts, changed):
        """The same traffic on vLLM: a hybrid keeps no state inside what is shared."""
        scenario = changed(
            "json-chat", workload__json_schema=False, workload__shared_prefix_tokens=600
        )
        found = decide(scenario, facts).shape
        assert found.prefix.engine == "vLLM"
        assert found.prefix.found_tokens == 0
        assert found.prefix.pays is False
        assert "784" in found.prefix.why
        assert "prefix-caching" not in [lean.id for lean in found.leans]

    def test_an_unknown_prefix_is_unknown(self, facts, changed):
        worth = decide(changed("json-chat"), facts).shape.prefix
        assert (worth.shared_tokens, worth.found_tokens, worth.pays) == (None, None, None)
        assert "request log" in worth.why

    def test_shares_of_the_chip_add_up(self, facts, changed):
        for name in ("json-chat", "shared-prefix", "internal-api", "nvidia-throughput"):
            found = decide(changed(name), facts).shape.binding
            parts = {"compute": found.compute, "bandwidth": found.bandwidth,
                     "capacity": found.capacity}  # fmt: skip
            assert sum(parts.values()) == pytest.approx(1)
            assert parts[found.binds] == max(parts.values())

    def test_long_prompts_and_short_replies_bind_on_compute(self, facts, changed):
        scenario = changed(
            "json-chat", workload__input_tokens=8000, workload__output_tokens=8,
            workload__context_tokens=8192,
        )  # fmt: skip
        shape = decide(scenario, facts).shape
        assert shape.binding.binds == "compute"
        assert shape.binding.sure
        assert "faster-arithmetic" in [lean.id for lean in shape.leans]

    def test_a_full_pool_binds_on_capacity_and_disputes_what_reuse_takes(self, facts, changed):
        """Were there room for three sequences alone, the weights would be read for these three."""
        scenario = changed("json-chat", workload__users=600, workload__shared_prefix_tokens=8000)
        main = answer(likely_case(scenario, facts))
        engine = facts.engines["sglang"]
        site = replace(main.site, live_sequences=3, reuse=ReuseRule())
        rows = decide(scenario, facts).fit.admissions
        rows = [row.model_copy(update={"pool_bytes": site.row.pool_bytes, "live_sequences": 9,
                                       "engine": engine.name, "settings": NO_PREFIX_CACHING})
                for row in rows[:1]]  # fmt: skip
        found = shape("here", main.case, engine, site, rows)
        assert (found.phases.batch, found.phases.pool_full) == (3, True)
        assert found.binding.binds == "capacity"
        ids = [lean.id for lean in found.leans]
        assert {"prefix-caching", "fewer-sequences-for-reuse", "room-for-sequences"} <= set(ids)
        assert "speculation" not in ids
        assert [d.measures for d in found.disputes] == [
            ("prefix-caching", "fewer-sequences-for-reuse")
        ]
        assert "9 instead of 3 sequences" in found.disputes[0].resolution

    def test_the_batch_at_the_peak_obeys_little(self):
        """p = 0.5 s, a step of 20 ms + 1 ms a sequence, 200 tokens, 1 request/s."""

        def seconds(batch):
            return 0.5, 200 * (0.020 + 0.001 * batch)

        batch = batch_at_peak(seconds, 1.0, 64)
        stays = lambda b: (0.5 + 200 * (0.020 + 0.001 * b)) / (1 - 0.5)  # noqa: E731
        assert stays(batch) <= batch
        assert stays(batch - 1) > batch - 1
        assert batch_at_peak(seconds, 3.0, 64) == 64


class TestPeak:
    def test_spares_stand_on_top_and_may_rule_a_single_card_out(self, facts, changed):
        peak = decide(changed("shared-prefix", workload__spare_replicas=1), facts).shape.peak
        assert peak.slow.total == max(peak.slow.by_rate, peak.slow.by_waiting) + 1
        assert peak.slow.total <= peak.replicas_there
        alone = decide(changed("json-chat", workload__spare_replicas=1), facts)
        assert alone.best_self_hosted is None
        reasons = {c.reason for c in alone.candidates if c.engine == "SGLang"}
        assert any("takes 2 replicas" in reason for reason in reasons)

    def test_growth_names_the_month(self, facts, changed):
        peak = decide(changed("shared-prefix", workload__growth_per_month=0.1), facts).shape.peak
        slow, fast = peak.months
        top, now = peak.carried_per_s, peak.peak_per_s
        assert now * 1.1**slow == pytest.approx(top[0])
        assert now * 1.1**fast == pytest.approx(top[1])
        assert slow <= fast

    def test_a_limit_on_the_first_token_leaves_less_time_to_wait(self, facts, changed):
        free = decide(changed("shared-prefix", workload__ttft_p99_s="not known"), facts).shape.peak
        tight = decide(changed("shared-prefix", workload__ttft_p99_s=0.9), facts).shape.peak
        assert free.wait_s == (1.0, 1.0)
        assert tight.wait_s[0] < tight.wait_s[1] < 0.9


class TestFeatures:
    def test_a_release_before_the_first_has_it_not(self, facts):
        vllm = facts.engines["vllm"]
        assert vllm.has("spec_dspark", "0.24.0") == (False, "0.25.0")
        assert vllm.has("spec_dspark", "0.25.0") == (True, "0.25.0")
        assert vllm.has("json_schema", "0.10.0") == (True, "")
        assert vllm.has("nothing known") == (None, "")

    def test_seen_by_a_release_leaves_older_ones_unknown(self, facts):
        engine = facts.engines["max"]
        assert engine.features["tools"].value == f"{SEEN_BY}26.4.0"
        assert engine.has("tools", "26.3.0")[0] is None
        assert engine.has("tools", "26.4.0")[0] is True

    def test_every_feature_value_can_be_ordered(self, facts):
        for engine in facts.engines.values():
            for feature in engine.features:
                assert engine.has(feature)[0] in (True, False, None)

    def test_a_need_that_fails_names_the_release_that_meets_it(self, facts, changed):
        """Were schemas new in a release to come, the reason would name it."""
        sglang = facts.engines["sglang"]
        later = sglang.features["json_schema"].model_copy(update={"value": "0.6.0"})
        engines = {**facts.engines, "sglang": sglang.model_copy(
            update={"features": {**sglang.features, "json_schema": later}})}  # fmt: skip
        decision = decide(changed("json-chat"), facts.model_copy(update={"engines": engines}))
        reasons = {c.reason for c in decision.candidates if c.engine == "SGLang"}
        assert any("first in 0.6.0" in reason for reason in reasons)


def test_every_measure_looks_at_what_is_reckoned_and_argues_with_one_that_exists(facts, changed):
    ids = {m.id for m in facts.measures}
    assert all(set(m.against) <= ids and (not m.against or m.resolves) for m in facts.measures)
    features = {name for e in facts.engines.values() for name in e.features}
    assert {m.feature for m in facts.measures if m.feature} <= features
    for name in ("json-chat", "shared-prefix"):
        shape = decide(changed(name), facts).shape
        assert {lean.id for lean in shape.leans} <= ids


class TestUnreadReuse:
    """What a release finds of a prefix is an interval where nobody read it, never all of it."""

    @pytest.mark.parametrize(("share", "tokens"), [("low", 1800), ("middle", 1700), ("high", 1600)])
    def test_nothing_is_found_at_the_slow_end_and_all_at_the_fast_end(
        self, changed, facts, share, tokens
    ):
        """1,800 tokens of which 200 are shared."""
        scenario = changed("nvidia-throughput", workload__input_tokens=1800)
        flow = likely_case(scenario, facts).flow
        assert flow.prefill_at(None, share) == pytest.approx(tokens)

    def test_without_a_shared_prefix_there_is_nothing_to_find(self, changed, facts):
        scenario = changed(
            "nvidia-throughput", workload__input_tokens=1800, workload__shared_prefix_tokens=0,
            workload__resent_share=0,
        )  # fmt: skip
        flow = likely_case(scenario, facts).flow
        assert flow.prefill_at(None, "low") == flow.prefill_at(None, "high")
