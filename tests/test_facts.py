"""The fact base loads, every fact has an origin, and a broken copy is refused by name."""

import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from stackchoice.errors import FactsError
from stackchoice.facts import Facts, data_dir, load_facts

QWEN = "Qwen/Qwen3.8-27B"
ENGINES = {
    "vllm", "sglang", "tensorrt-llm", "llama.cpp", "ollama", "lm-studio", "mlx-lm", "max",
    "transformers",
}  # fmt: skip
FEATURES = {
    "json_schema", "tools", "images", "prefix_caching", "metrics", "openai_api",
    "continuous_batching", "tensor_parallel",
}  # fmt: skip


@pytest.fixture(scope="module")
def facts() -> Facts:
    return load_facts()


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
            assert set(engine.features) == FEATURES, engine.id
            assert {"cuda", "rocm", "metal", "cpu"} <= set(engine.platforms), engine.id
            assert set(engine.formats) == {"safetensors", "gguf", "mlx"}, engine.id

    def test_engine_architectures_are_those_of_our_models(self, facts):
        classes = {m.config.value["architectures"][0] for m in facts.models.values()}
        named = {name for e in facts.engines.values() for name in e.architectures}
        assert named == classes

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
        ignoring = {
            e.id for e in facts.engines.values() if e.features["json_schema"].value is False
        }
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


class TestBrokenCopy:
    def test_an_untouched_copy_is_the_same_fact_base(self, facts, copy):
        assert load_facts(copy).sha256 == facts.sha256

    def test_one_byte_changes_the_digest(self, facts, copy):
        change(copy / "prices" / "servers.yaml", "usd: '48000'", "usd: '48001'")
        changed = load_facts(copy)
        assert changed.sha256 != facts.sha256
        assert any(s.usd == 48001 for s in changed.servers)

    def test_an_unknown_key_is_named_with_its_file(self, copy):
        change(copy / "machines.yaml", "memory_gb:", "memory_gigabytes:")
        with pytest.raises(FactsError, match=r"machines\.yaml: t4 memory"):
            load_facts(copy)

    def test_an_extra_key_is_refused(self, copy):
        change(copy / "machines.yaml", "vendor: NVIDIA", "vendor: NVIDIA\n    colour: green")
        with pytest.raises(FactsError, match=r"machines\.yaml: .*colour: Extra inputs"):
            load_facts(copy)

    def test_a_source_that_is_not_in_the_table_is_named(self, copy):
        change(copy / "models" / "qwen3.8-27b.yaml", "source: recipe}", "source: nowhere}")
        with pytest.raises(FactsError, match=r"qwen3\.8-27b\.yaml: source 'nowhere' is not in"):
            load_facts(copy)

    def test_a_value_without_a_source_is_refused(self, copy):
        change(copy / "machines.yaml", "memory_gb: {value: 16, source: gpu_checker}",
               "memory_gb: {value: 16}")  # fmt: skip
        with pytest.raises(FactsError, match=r"machines\.yaml: t4 .*needs a source"):
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
