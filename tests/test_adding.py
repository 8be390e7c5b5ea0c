"""What CONTRIBUTING.md says is enough to add an engine or a layer kind is enough."""

import json

import pytest
import yaml

from stackchoice import decide, load_facts, load_scenario, size_by_name
from stackchoice.facts import data_dir
from stackchoice.fit import recurrent


@pytest.fixture
def with_newcomer(tmp_path):
    """The fact base and one file more: an engine that runs what SGLang runs, with another name."""
    tree = yaml.safe_load((data_dir() / "engines" / "sglang.yaml").read_text(encoding="utf-8"))
    (tmp_path / "engines").mkdir()
    text = yaml.safe_dump({**tree, "id": "newcomer", "name": "Newcomer"})
    (tmp_path / "engines" / "newcomer.yaml").write_text(text, encoding="utf-8")
    return load_facts(overlay=tmp_path)


def test_an_engine_is_one_file_until_its_rules_are_read(with_newcomer, facts):
    scenario = load_scenario("json-chat")
    before, after = decide(scenario, facts), decide(scenario, with_newcomer)
    options = {option.name: option for option in after.options}
    assert set(options) == {option.name for option in before.options} | {"Newcomer"}
    assert options["Newcomer"].status == options["vLLM"].status
    newcomers = [c for c in after.candidates if c.option == "Newcomer"]
    assert len(newcomers) == sum(c.option == "SGLang" for c in before.candidates)
    # Nobody read its memory rule or its kernels: a quotient that says so, and what is unknown.
    assert "by quotient" in options["Newcomer"].reason
    assert options["Newcomer"].conditions
    assert after.best_self_hosted == before.best_self_hosted


def test_a_layer_kind_is_its_shape(tmp_path, monkeypatch):
    """A new kind of recurrent layer is a line of SHAPES; cache, engines and speed follow."""

    def shape(text):
        heads, size = text["newcomer_heads"], text["newcomer_dim"]
        return {"kind": "newcomer", "state_heads": heads, "state_values": heads * size * size,
                "state_dtype": "float32"}  # fmt: skip

    config = {
        "model_type": "newcomer", "num_hidden_layers": 4, "hidden_size": 1024,
        "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 1000,
        "intermediate_size": 4096, "newcomer_heads": 8, "newcomer_dim": 64, "dtype": "bfloat16",
        "max_position_embeddings": 32768, "architectures": ["NewcomerForCausalLM"],
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    asked = {"context_tokens": 4096, "weights_gb": 1.0, "engine": "vllm"}
    before = size_by_name(str(path), "h100_sxm", **asked)
    assert before.bytes_per_sequence is None
    monkeypatch.setitem(recurrent.SHAPES, "newcomer_heads", shape)
    after = size_by_name(str(path), "h100_sxm", **asked)
    assert after.bytes_per_sequence == 4096 * 2 * 2 * 128 * 2 + 3 * 8 * 64 * 64 * 4
