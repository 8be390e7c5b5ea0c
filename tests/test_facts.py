"""The fact base loads, every fact has an origin, and a broken copy is refused by name."""

import re
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from stackchoice.errors import FactsError
from stackchoice.facts import data_dir, load_facts
from stackchoice.facts.yaml import read_facts, read_yaml
from stackchoice.fit.cache import cache_layout

QWEN = "Qwen/Qwen3.8-27B"
ENGINES = {
    "vllm", "sglang", "tensorrt-llm", "llama.cpp", "ollama", "lm-studio", "mlx-lm", "max",
    "transformers",
}  # fmt: skip
FEATURES = {
    "json_schema", "tools", "images", "prefix_caching", "metrics", "openai_api",
    "continuous_batching", "tensor_parallel", "speculative_decoding",
}  # fmt: skip


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(data_dir(), tmp_path / "data"))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} no longer holds {old!r}; the test would change nothing"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


class TestEveryDatum:
    def test_a_known_value_that_is_not_assumed_has_a_source_and_a_date(self, facts):
        frame = facts.to_frame()
        known = frame[~frame.evidence.isin(["unknown", "assumed"])]
        assert len(known) > 500
        bare = known[known.source.isna() | known.as_of.isna()]
        assert bare.empty, bare.datum.tolist()

    def test_an_assumed_value_says_why(self, facts):
        frame = facts.to_frame()
        assumed = frame[frame.evidence == "assumed"]
        assert not assumed.empty
        assert assumed.note.str.len().min() > 10

    def test_an_unknown_value_has_no_evidence_class_of_its_own(self, facts):
        frame = facts.to_frame()
        assert frame[frame.value.isna()].evidence.eq("unknown").all()

    def test_sources_of_prices_and_releases_are_dated(self, facts):
        sources = [p.source for s in facts.sellers.values() for o in s.offers for p in o.prices]
        sources += [r.source for e in facts.engines.values() for r in e.releases]
        sources += [row.source for row in [*facts.hours, *facts.servers, *facts.efficiencies]]
        assert all(source.label and source.as_of for source in sources)

    def test_web_addresses_are_web_addresses(self, facts):
        addresses = [s for s in facts.to_frame().source.dropna().unique() if ":/" in s]
        assert addresses
        assert all(a.startswith("https://") and " " not in a for a in addresses)


class TestReferences:
    def test_every_offer_is_of_a_model_that_we_hold(self, facts):
        sold = {offer.model for seller in facts.sellers.values() for offer in seller.offers}
        assert sold <= set(facts.models)

    def test_every_price_is_of_a_machine_that_we_hold(self, facts):
        priced = {row.machine for row in [*facts.hours, *facts.servers]}
        assert priced <= set(facts.machines)

    def test_a_seller_has_one_offer_for_a_model(self, facts):
        for seller in facts.sellers.values():
            models = [offer.model for offer in seller.offers]
            assert len(models) == len(set(models)), seller.id

    def test_artifact_ids_are_unique_in_a_model(self, facts):
        for model in facts.models.values():
            ids = [a.id for a in model.artifacts]
            assert len(ids) == len(set(ids)), model.id

    def test_engines_and_their_feature_keys(self, facts):
        assert set(facts.engines) == ENGINES
        for engine in facts.engines.values():
            assert set(engine.features) >= FEATURES, engine.id
            assert all(name in FEATURES or name.startswith("spec_") for name in engine.features)
            assert {"cuda", "rocm", "metal", "cpu"} <= set(engine.platforms), engine.id
            assert set(engine.formats) == {"safetensors", "gguf", "mlx"}, engine.id

    def test_engine_architectures_are_those_of_our_models(self, facts):
        classes = {m.config.value["architectures"][0] for m in facts.models.values()}
        named = Counter(name for e in facts.engines.values() for name in e.architectures)
        assert classes <= set(named)
        # A config of one's own may be of another class; one that two engines name is real.
        assert min(named[name] for name in set(named) - classes) > 1

    def test_file_names_are_slugs(self):
        for folder in ("models", "engines"):
            for path in (data_dir() / folder).glob("*.yaml"):
                assert path.stem == path.stem.lower().replace(" ", "-")


class TestKeyVectors:
    def test_qwen_published_bytes(self, facts):
        model = facts.models[QWEN]
        assert model.artifact("Qwen/Qwen3.8-27B").weights_bytes.value == 55_563_006_776
        assert model.artifact("Qwen/Qwen3.8-27B-FP8").weights_bytes.value == 30_866_866_928
        gguf = model.artifact("unsloth/Qwen3.8-27B-GGUF:Qwen3.8-27B-Q4_K_M.gguf")
        assert round(gguf.weights_bytes.value / 2**30, 2) == 15.93
        nvfp4 = model.artifact("Inferact/Qwen3.8-27B-NVFP4")
        assert (nvfp4.weights_bytes.value, nvfp4.activation_bits.value) == (26_381_249_312, 4)

    def test_qwen_config_gives_the_course_cache_and_state(self, facts):
        c = facts.models[QWEN].config.value
        full = c["num_hidden_layers"] // c["full_attention_interval"]
        assert full == c["layer_types"].count("full_attention") == 16
        assert full * 2 * c["num_key_value_heads"] * c["head_dim"] * 2 == 65_536
        per_head = c["linear_key_head_dim"] * c["linear_value_head_dim"]
        linear = c["num_hidden_layers"] - full
        assert linear * c["linear_num_value_heads"] * per_head * 4 == 150_994_944
        assert c["mamba_ssm_dtype"] == "float32"

    def test_qwen_parameters_are_the_tensor_bytes_over_two(self, facts):
        model = facts.models[QWEN]
        assert model.parameters.value * 2 == 55_562_855_904
        assert model.active_parameters.value * 2 / 1e9 == pytest.approx(53.79, abs=0.01)

    def test_both_sampling_presets(self, facts):
        presets = facts.models[QWEN].sampling_presets
        assert presets["thinking"].settings["temperature"] == 1.0
        assert presets["instruct"].settings["presence_penalty"] == 1.5

    @pytest.mark.parametrize(
        ("model_id", "parameters"),
        [
            ("meta-llama/Llama-3.1-70B-Instruct", 70_553_706_496),
            ("meta-llama/Llama-3.1-8B", 8_030_261_248),
            ("Qwen/Qwen3-32B", 32_762_123_264),
            ("openai/gpt-oss-120b", 116_829_156_672),
            ("openai/gpt-oss-20b", 20_914_757_184),
            ("google/gemma-3-27b-it", 27_432_406_640),
            ("HuggingFaceTB/SmolLM2-135M-Instruct", 134_515_008),
            ("Qwen/Qwen3.5-35B-A3B", 35_951_822_704),
            ("Qwen/Qwen3.5-122B-A10B", 125_086_497_008),
            ("Qwen/Qwen3.5-397B-A17B", 403_397_928_944),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", 81_324_862_720),
            ("Qwen/Qwen3-30B-A3B", 30_532_122_624),
            ("google/gemma-4-31B-it", 31_273_088_876),
            ("google/gemma-4-26B-A4B-it", 25_805_936_206),
            ("zai-org/GLM-4.5-Air", 110_468_824_832),
            ("zai-org/GLM-5", 753_864_139_008),
            ("zai-org/GLM-5.2", 753_329_940_480),
            ("deepseek-ai/DeepSeek-V3.2", 685_355_329_792),
            ("deepseek-ai/DeepSeek-R1", 684_489_845_504),
            ("moonshotai/Kimi-K2-Instruct", 1_026_408_232_448),
            ("moonshotai/Kimi-K2.5", 1_026_879_376_368),
            ("Qwen/Qwen3-235B-A22B", 235_093_634_560),
            ("moonshotai/Kimi-K3", 2_779_931_837_184),
            ("microsoft/phi-4", 14_659_507_200),
            ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", 24_011_361_280),
        ],
    )
    def test_parameter_counts(self, facts, model_id, parameters):
        assert facts.models[model_id].parameters.value == parameters

    def test_a_mixture_reads_less_than_it_weighs(self, facts):
        for name in ("openai/gpt-oss-20b", "openai/gpt-oss-120b"):
            artifact = facts.models[name].artifact(name)
            assert 0 < artifact.read_bytes_per_token.value < artifact.weights_bytes.value / 3

    def test_the_embedded_model_file(self, facts):
        model = facts.models["HuggingFaceTB/SmolLM2-135M-Instruct"]
        artifact = model.artifact("SmolLM2-135M-Instruct.Q4_1.gguf")
        assert (artifact.format, artifact.encoding) == ("gguf", "Q4_1")
        assert artifact.weights_bytes.value == 98_362_432

    def test_an_80_gb_h100_reports_less_than_80_gib(self, facts):
        machine = facts.machines["h100_sxm"]
        assert (machine.memory_gb.value, machine.memory_gib_reported.value) == (80, 79.18)
        assert machine.bandwidth_gb_per_s.value == 3350

    def test_prices_of_the_worked_case(self, facts):
        price = facts.sellers["novita"].offer(QWEN).price
        assert price.input_usd_per_mtok == Decimal("0.42")
        assert price.cached_input_usd_per_mtok == Decimal("0.085")
        assert price.output_usd_per_mtok == Decimal("3.00")

    def test_the_newest_price_wins(self, facts):
        offer = facts.sellers["openrouter"].offer("meta-llama/Llama-3.3-70B-Instruct")
        assert len(offer.prices) > 1
        assert offer.price.output_usd_per_mtok == Decimal("0.79")

    def test_inputs_of_the_owned_server_vector(self, facts):
        server = next(s for s in facts.servers if s.machine == "h100_sxm" and s.devices == 1)
        assert (server.usd, server.installation_usd) == (Decimal(48000), Decimal(3900))
        assert server.power_kw.value == 1.15
        inputs = {
            "residual_share": 0.2, "server_life_months": 48, "capital_rate_per_year": 0.08,
            "maintenance_share_per_year": 0.05, "pue": 1.54, "usd_per_kwh": 0.1256,
            "hosting_usd_per_kw_month": 196,
        }  # fmt: skip
        assert {name: facts.assumed(name) for name in inputs} == inputs

    def test_first_release_with_the_hybrid_class(self, facts):
        first = {e: facts.engines[e].architectures["Qwen3_5ForConditionalGeneration"].value
                 for e in ("vllm", "sglang", "mlx-lm", "transformers")}  # fmt: skip
        assert first == {
            "vllm": "0.17.0", "sglang": "0.5.9", "mlx-lm": "0.30.7", "transformers": "5.2.0",
        }  # fmt: skip
        trt = facts.engines["tensorrt-llm"].architectures["Qwen3_5ForConditionalGeneration"]
        assert trt.value.startswith("1.3.0rc")
        assert "No final release" in trt.note

    def test_engines_that_ignore_a_schema_say_so(self, facts):
        ignoring = {e.id for e in facts.engines.values() if e.has("json_schema")[0] is False}
        assert ignoring == {"mlx-lm", "transformers"}

    def test_efficiencies_are_shares(self, facts):
        assert all(
            0 < e.low <= e.high <= 1
            for e in facts.efficiencies
            if e.basis == "share of the ceiling"
        )
        assert {(e.device_class, e.phase, e.threads) for e in facts.efficiencies} >= {
            ("gpu", "decode", "all"), ("unified", "decode", "all"), ("cpu", "decode", "all"),
            ("cpu", "decode", "one"), ("gpu", "prefill", "all"),
        }  # fmt: skip

    def test_ranges_hold_their_middle(self, facts):
        for a in facts.assumptions.values():
            d = a.datum
            if d.low is not None:
                assert d.low <= d.value <= d.high, a.id


BF16, F32 = 2, 4


class TestModelVectors:
    """Counts and bytes taken again from each model's own config, by hand."""

    def test_enough_models_and_machines(self, facts):
        assert len(facts.models) >= 40
        assert len(facts.machines) >= 80

    def test_layer_lists_name_every_layer(self, facts):
        for model in facts.models.values():
            config = model.config.value
            if "layer_types" in config:
                assert len(config["layer_types"]) == config["num_hidden_layers"], model.id

    def test_what_a_token_uses_is_not_more_than_there_is(self, facts):
        for model in facts.models.values():
            assert model.active_parameters.value <= model.parameters.value, model.id
            for artifact in model.artifacts:
                read, whole = artifact.read_bytes_per_token.value, artifact.weights_bytes.value
                assert read is None or (whole is not None and read < whole), artifact.id

    def test_a_mixture_says_what_it_reads(self, facts):
        keys = ("num_experts", "n_routed_experts", "num_local_experts")
        for model in facts.models.values():
            if any(model.config.value.get(key) for key in keys):
                assert model.artifacts[0].read_bytes_per_token.known, model.id

    @pytest.mark.parametrize(
        ("model_id", "layers", "heads", "head_dim", "bytes_per_token"),
        [
            ("Qwen/Qwen3-30B-A3B", 48, 4, 128, 98_304),
            ("Qwen/Qwen3-235B-A22B", 94, 4, 128, 192_512),
            ("meta-llama/Llama-3.1-70B", 80, 8, None, 327_680),
            ("meta-llama/Llama-3.1-8B-Instruct", 32, 8, None, 131_072),
            ("MiniMaxAI/MiniMax-M2.5", 62, 8, 128, 253_952),
            ("MiniMaxAI/MiniMax-M3", 60, 4, 128, 122_880),
            ("microsoft/phi-4", 40, 10, 128, 204_800),
            ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", 40, 8, 128, 163_840),
            ("zai-org/GLM-4.5-Air", 46, 8, 128, 188_416),
            ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 48, 8, 128, 196_608),
        ],
    )
    def test_grouped_query_attention(
        self, facts, model_id, layers, heads, head_dim, bytes_per_token
    ):
        c = facts.models[model_id].config.value
        assert (c["num_hidden_layers"], c["num_key_value_heads"]) == (layers, heads)
        assert c.get("head_dim") == head_dim
        size = head_dim or c["hidden_size"] // c["num_attention_heads"]
        assert layers * 2 * heads * size * BF16 == bytes_per_token

    def test_the_head_size_is_read_and_not_derived(self, facts):
        c = facts.models["zai-org/GLM-4.5-Air"].config.value
        assert c["hidden_size"] // c["num_attention_heads"] != c["head_dim"] == 128

    @pytest.mark.parametrize(
        ("model_id", "full", "linear", "bytes_per_token", "state_bytes"),
        [
            ("Qwen/Qwen3.6-27B", 16, 48, 65_536, 150_994_944),
            ("Qwen/Qwen3.5-35B-A3B", 10, 30, 20_480, 62_914_560),
            ("Qwen/Qwen3.6-35B-A3B", 10, 30, 20_480, 62_914_560),
            ("Qwen/Qwen3.5-122B-A10B", 12, 36, 24_576, 150_994_944),
            ("Qwen/Qwen3.5-397B-A17B", 15, 45, 30_720, 188_743_680),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", 12, 36, 24_576, 75_497_472),
        ],
    )
    def test_gated_delta_net(self, facts, model_id, full, linear, bytes_per_token, state_bytes):
        c = facts.models[model_id].config.value
        types = c["layer_types"]
        assert types.count("full_attention") == full
        assert types.count("linear_attention") == linear
        assert types[:4] == ["linear_attention"] * 3 + ["full_attention"]
        assert full * 2 * c["num_key_value_heads"] * c["head_dim"] * BF16 == bytes_per_token
        matrix = c["linear_key_head_dim"] * c["linear_value_head_dim"]
        assert linear * c["linear_num_value_heads"] * matrix * F32 == state_bytes

    @pytest.mark.parametrize(
        ("model_id", "layers", "heads", "bytes_per_token", "gib"),
        [
            ("ibm-granite/granite-4.0-h-small", 4, 8, 16_384, 59.99),
            ("ibm-granite/granite-4.0-h-tiny", 4, 4, 8_192, 12.93),
            ("LGAI-EXAONE/EXAONE-4.0-32B", 16, 8, 65_536, None),
            ("allenai/Olmo-3-32B-Think", 16, 8, 65_536, None),
            ("allenai/Olmo-3-7B-Instruct", 8, 32, 131_072, None),
        ],
    )
    def test_few_layers_keep_every_token(
        self, facts, model_id, layers, heads, bytes_per_token, gib
    ):
        """Heads of 128 values; the sizes of Granite's files were published in GiB."""
        model = facts.models[model_id]
        layout = cache_layout(model.config.value)
        assert layout.kv_bytes_per_token == layers * heads * 2 * 128 * BF16 == bytes_per_token
        weights = model.artifacts[0].weights_bytes.value
        assert gib is None or abs(weights / 2**30 - gib) < 0.01

    @pytest.mark.parametrize(
        ("model_id", "sliding", "full", "bytes_per_token", "window_bytes"),
        [
            ("google/gemma-4-31B-it", 50, 10, 81_920, 838_860_800),
            ("google/gemma-4-26B-A4B-it", 25, 5, 20_480, 209_715_200),
        ],
    )
    def test_gemma_4_heads_differ_by_layer(
        self, facts, model_id, sliding, full, bytes_per_token, window_bytes
    ):
        c = facts.models[model_id].config.value
        assert c["layer_types"].count("sliding_attention") == sliding
        assert c["layer_types"].count("full_attention") == full
        assert c["layer_types"][5::6] == ["full_attention"] * full
        globals_ = c["num_global_key_value_heads"] * c["global_head_dim"]
        assert full * 2 * globals_ * BF16 == bytes_per_token
        local = 2 * c["num_key_value_heads"] * c["head_dim"] * BF16
        assert c["sliding_window"] * sliding * local == window_bytes

    @pytest.mark.parametrize(
        ("model_id", "layers", "bytes_per_token"),
        [
            ("deepseek-ai/DeepSeek-V3", 61, 70_272),
            ("deepseek-ai/DeepSeek-R1", 61, 70_272),
            ("deepseek-ai/DeepSeek-V3.2", 61, 70_272),
            ("moonshotai/Kimi-K2.5", 61, 70_272),
            ("moonshotai/Kimi-K2-Instruct", 61, 70_272),
            ("zai-org/GLM-5", 78, 89_856),
            ("zai-org/GLM-5.2", 78, 89_856),
        ],
    )
    def test_latent_attention(self, facts, model_id, layers, bytes_per_token):
        c = facts.models[model_id].config.value
        assert c["num_hidden_layers"] == layers
        assert c["kv_lora_rank"] + c["qk_rope_head_dim"] == 576
        assert layers * 576 * BF16 == bytes_per_token

    def test_a_latent_is_a_fraction_of_the_heads_it_stands_for(self, facts):
        c = facts.models["deepseek-ai/DeepSeek-V3"].config.value
        expanded = c["num_attention_heads"] * (
            c["qk_nope_head_dim"] + c["qk_rope_head_dim"] + c["v_head_dim"]
        )
        assert expanded * BF16 == 81_920
        assert expanded / 576 == pytest.approx(71.1, abs=0.1)

    def test_indexers(self, facts):
        record = 128 + 4  # one fp8 key and its 32-bit scale
        v32 = facts.models["deepseek-ai/DeepSeek-V3.2"].config.value
        assert (v32["index_head_dim"], v32["num_hidden_layers"] * record) == (128, 8_052)
        types = facts.models["zai-org/GLM-5.2"].config.value["indexer_types"]
        assert (len(types), types.count("full"), types.count("full") * record) == (78, 21, 2_772)
        assert "indexer_types" not in facts.models["zai-org/GLM-5"].config.value

    def test_deepseek_v4_compresses_layer_by_layer(self, facts):
        c = facts.models["deepseek-ai/DeepSeek-V4-Flash"].config.value
        ratios = c["compress_ratios"]
        assert len(ratios) == c["num_hidden_layers"] + c["num_nextn_predict_layers"] == 44
        body = ratios[: c["num_hidden_layers"]]
        assert [body.count(r) for r in (0, 4, 128)] == [2, 21, 20]
        assert (c["head_dim"], c["num_key_value_heads"], c["sliding_window"]) == (512, 1, 128)

    def test_kimi_k3_counts_layers_from_one(self, facts):
        c = facts.models["moonshotai/Kimi-K3"].config.value
        kinds = c["linear_attn_config"]
        full, kda = kinds["full_attn_layers"], kinds["kda_layers"]
        assert (len(full), len(kda)) == (24, 69)
        assert sorted(full + kda) == list(range(1, c["num_hidden_layers"] + 1))
        latent = c["kv_lora_rank"] + c["qk_rope_head_dim"]
        assert len(full) * latent * BF16 == 27_648
        assert len(kda) * kinds["num_heads"] * kinds["head_dim"] ** 2 * F32 == 434_110_464

    def test_kimi_k3_bytes_by_type(self, facts):
        model = facts.models["moonshotai/Kimi-K3"]
        c = model.config.value
        expert = 3 * c["routed_expert_hidden_size"] * c["moe_intermediate_size"]
        sparse = c["num_hidden_layers"] - c["first_k_dense_replace"]
        packed = sparse * c["num_experts"] * expert
        assert packed == 2_722_740_830_208
        rest, single = 57_179_884_544, 11_122_432
        assert packed + rest + single == model.parameters.value
        bytes_ = packed * 17 // 32 + rest * BF16 + single * F32  # 4 bits and a scale byte per 32
        assert model.artifact("moonshotai/Kimi-K3").weights_bytes.value == bytes_

    @pytest.mark.parametrize(
        ("model_id", "pattern", "bytes_per_token", "state_bytes"),
        [
            ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", (23, 6, 23, 0), 6_144, 48_234_496),
            ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", (40, 8, 40, 0), 8_192, 167_772_160),
            ("nvidia/Nemotron-H-56B-Base-8K", (54, 10, 0, 54), 40_960, 905_969_664),
        ],
    )
    def test_mamba_layers(self, facts, model_id, pattern, bytes_per_token, state_bytes):
        c = facts.models[model_id].config.value
        letters = c["hybrid_override_pattern"]
        assert len(letters) == c["num_hidden_layers"]
        assert tuple(letters.count(kind) for kind in "M*E-") == pattern
        head_dim = c.get("head_dim") or c["attention_head_dim"]
        kv = 2 * c["num_key_value_heads"] * head_dim
        assert pattern[1] * kv * BF16 == bytes_per_token
        state = c["mamba_num_heads"] * c["mamba_head_dim"] * c["ssm_state_size"]
        assert pattern[0] * state * F32 == state_bytes

    def test_minimax_m3_is_sparse_after_three_layers(self, facts):
        sparse = facts.models["MiniMaxAI/MiniMax-M3"].config.value["sparse_attention_config"]
        assert sparse["sparse_attention_freq"] == [0] * 3 + [1] * 57

    def test_a_file_in_16_bits_weighs_twice_its_parameters(self, facts):
        glm = facts.models["zai-org/GLM-5.2"]
        bias = 76 * 256  # expert bias of 75 sparse layers and the draft layer, in 32 bits
        bytes_ = (glm.parameters.value - bias) * BF16 + bias * F32
        assert glm.artifact("zai-org/GLM-5.2").weights_bytes.value == 1_506_659_919_872 == bytes_
        gemma = facts.models["google/gemma-4-31B-it"]
        weights = gemma.artifact("google/gemma-4-31B-it").weights_bytes.value
        assert weights == gemma.parameters.value * BF16 == 62_546_177_752

    def test_deepseek_v3_main_model_by_formula(self, facts):
        c = facts.models["deepseek-ai/DeepSeek-V3"].config.value
        h, q, heads = c["hidden_size"], c["q_lora_rank"], c["num_attention_heads"]
        nope, rope, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
        latent, layers, dense = c["kv_lora_rank"], c["num_hidden_layers"], 3
        assert c["first_k_dense_replace"] == dense
        attention = (
            h * q + q + q * heads * (nope + rope)
            + h * (latent + rope) + latent + latent * heads * (nope + value)
            + heads * value * h
        )  # fmt: skip
        expert = 3 * h * c["moe_intermediate_size"]
        experts = c["n_routed_experts"]
        sparse = (experts + c["n_shared_experts"]) * expert + experts * h + experts
        main = (
            layers * (attention + 2 * h) + dense * 3 * h * c["intermediate_size"]
            + (layers - dense) * sparse + 2 * c["vocab_size"] * h + h
        )  # fmt: skip
        assert main == 671_026_419_200
        assert f"main model {main:,}" in facts.models["deepseek-ai/DeepSeek-V3"].parameters.note

    def test_first_releases_of_the_new_classes(self, facts):
        first = {
            (e, c): facts.engines[e].architectures[c].value
            for e, c in (
                ("vllm", "DeepseekV4ForCausalLM"),
                ("vllm", "MiniMaxM3SparseForConditionalGeneration"),
                ("vllm", "Gemma4ForConditionalGeneration"),
                ("sglang", "KimiK3ForConditionalGeneration"),
                ("transformers", "Qwen3NextForCausalLM"),
                ("mlx-lm", "GlmMoeDsaForCausalLM"),
            )
        }
        assert list(first.values()) == ["0.20.0", "0.24.0", "0.19.0", "0.5.17", "4.57.0", "0.30.7"]

    def test_a_class_that_nobody_sourced_is_unknown_and_not_absent(self, facts):
        runs, since = facts.engines["transformers"].implements("KimiK3ForConditionalGeneration")
        assert (runs, since) == (None, "")
        assert facts.engines["mlx-lm"].implements("DeepseekV4ForCausalLM")[0] is False


class TestBrokenCopy:
    def test_an_untouched_copy_is_the_same_fact_base(self, facts, copy):
        assert load_facts(copy).sha256 == facts.sha256

    def test_one_byte_changes_the_digest(self, facts, copy):
        change(copy / "prices" / "servers.yaml", "usd: '48000'", "usd: '48001'")
        changed = load_facts(copy)
        assert changed.sha256 != facts.sha256
        assert any(s.usd == 48001 for s in changed.servers)

    @pytest.mark.parametrize(
        ("file", "old", "new", "said"),
        [
            ("machines.yaml", "memory_gb:", "memory_gigabytes:", "t4 memory"),
            ("machines.yaml", "vendor: NVIDIA", "vendor: NVIDIA\n    colour: green",
             ".*colour.*Extra inputs"),
            ("machines.yaml", "memory_gb: {value: 16, source: gpu_checker}",
             "memory_gb: {value: 16}", "t4 .*needs a source"),
            ("models/qwen3.8-27b.yaml", "source: recipe}", "source: nowhere}",
             "source 'nowhere' is not in"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_named_with_its_file(self, copy, file, old, new, said):
        change(copy / file, old, new)
        with pytest.raises(FactsError, match=rf"{re.escape(Path(file).name)}: {said}"):
            load_facts(copy)

    def test_an_assumption_without_a_reason_is_refused(self, copy):
        path = copy / "assumptions.yaml"
        path.write_text(
            "assumptions:\n- id: pue\n  unit: ratio\n  meaning: m\n"
            "  datum: {value: 1.5, evidence: assumed}\n",
            encoding="utf-8",
        )
        with pytest.raises(FactsError, match=r"assumptions\.yaml: pue .*needs a note"):
            load_facts(copy)

    def test_an_id_given_twice_is_named(self, copy):
        change(copy / "machines.yaml", "- id: rtx_3090\n", "- id: t4\n")
        with pytest.raises(FactsError, match=r"machines given twice: t4"):
            load_facts(copy)

    def test_a_model_given_in_two_files_is_named(self, copy):
        shutil.copy(copy / "models" / "qwen3-32b.yaml", copy / "models" / "again.yaml")
        with pytest.raises(FactsError, match="models given twice: Qwen/Qwen3-32B"):
            load_facts(copy)

    def test_a_missing_folder_is_named(self, tmp_path):
        with pytest.raises(FactsError, match="no such folder of facts"):
            load_facts(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "path", sorted(data_dir().rglob("*.yaml")), ids=lambda p: str(p.relative_to(data_dir()))
)
def test_the_fast_reader_reads_what_the_strict_one_reads(path, monkeypatch):
    """The strict reader refuses repeated keys and older YAML; both give the same values."""
    monkeypatch.setattr("stackchoice.facts.yaml.MAX_BYTES", 4 * 2**20)
    assert read_facts(path) == read_yaml(path)


def test_a_class_seen_by_a_release_is_unknown_in_older_ones(facts):
    """`by X` in `architectures`: X has it, and nobody read an older one."""
    engine = facts.engines["vllm"]
    name, seen = next(
        (n, v.value) for n, v in engine.architectures.items() if (v.value or "").startswith("by ")
    )
    assert engine.implements(name)[0] is True
    assert engine.implements(name, "0.1.0") == (None, "")
    assert engine.implements(name, seen.removeprefix("by "))[0] is True
