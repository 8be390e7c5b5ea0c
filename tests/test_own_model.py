"""A model that nobody here knows, from its own files to a decision."""

import json
import subprocess
import sys
from datetime import date

import pytest
import yaml

from stackchoice import decide, load_facts
from stackchoice.errors import FactsError, InputError
from stackchoice.facts import Evidence
from stackchoice.facts.datum import Datum
from stackchoice.fit.config import whole
from stackchoice.fit.stream import read_bytes, stream_runs
from stackchoice.own_model import own_model, save_own_model, unknown_of
from stackchoice.present.dropped import DropPanel
from stackchoice.present.widgets import ScenarioPanel
from stackchoice.scenario import load_scenario
from stackchoice.scenario.read import parse_scenario

DAY = date(2026, 11, 30)
WIDE, INNER, LAYERS, HEADS, KV, HEAD, WORDS = 1024, 4096, 12, 16, 4, 64, 32_000
DENSE = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDE,
    "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "num_key_value_heads": KV, "head_dim": HEAD, "vocab_size": WORDS,
    "max_position_embeddings": 32_768, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
ATTENTION = WIDE * HEAD * (HEADS + 2 * KV) + HEADS * HEAD * WIDE
TOTAL = 2 * WORDS * WIDE + LAYERS * (ATTENTION + 3 * WIDE * INNER)
EXPERTS, ACTIVE, NARROW = 16, 2, 512
SPARSE = {**DENSE, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
          "num_experts": EXPERTS, "num_experts_per_tok": ACTIVE, "moe_intermediate_size": NARROW,
          "decoder_sparse_step": 1, "mlp_only_layers": []}  # fmt: skip


def written(folder, config, name="config.json"):
    path = folder / "somewhere" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(config), "utf-8")
    return path


def test_a_plain_config_gives_parameters_and_bytes_that_are_computed(tmp_path):
    model = own_model(written(tmp_path, DENSE), DAY)
    (artifact,) = model.artifacts
    assert (model.parameters.value, model.active_parameters.value) == (TOTAL, TOTAL)
    assert (artifact.weights_bytes.value, artifact.encoding) == (2 * TOTAL, "bf16")
    assert {model.parameters.evidence, artifact.weights_bytes.evidence} == {Evidence.COMPUTED}
    assert model.context_tokens.value == 32_768
    assert unknown_of(model) == ["licence"]


@pytest.mark.parametrize(
    ("lengths", "context"),
    [
        # Command-R says both, and is served with the second.
        ({"max_position_embeddings": 8192, "model_max_length": 131_072}, 131_072),
        ({"max_position_embeddings": 8192}, 8192),
        ({"seq_length": 32_768}, 32_768),
        ({}, None),
    ],
)
def test_the_context_is_read_under_each_of_its_names(lengths, context):
    assert whole(lengths, "max_position_embeddings") == context


@pytest.mark.parametrize("key", ["num_loops", "total_ut_steps"])
def test_a_loop_reads_its_layers_in_every_pass(tmp_path, key, facts):
    """Four passes: layers four times, the head once; the table of words is stored, not read."""
    model = own_model(written(tmp_path, {**DENSE, key: 4}), DAY)
    (artifact,) = model.artifacts
    run = 4 * (TOTAL - 2 * WORDS * WIDE) + WORDS * WIDE
    assert (model.parameters.value, model.active_parameters.value) == (TOTAL, run)
    assert artifact.read_bytes_per_token.value == 2 * run
    assert read_bytes(artifact, model) == 2 * run
    unread = artifact.model_copy(update={"read_bytes_per_token": Datum[int]()})
    assert read_bytes(unread, model) is None
    stream = stream_runs(model, artifact, facts.machines["h100_sxm"])["decode"]
    assert stream.layer_count == 4 * LAYERS


@pytest.mark.parametrize("kind", ["diffusion_gemma_text", "llada2_moe", "SDAR", "Dream"])
def test_what_writes_several_tokens_at_a_time_reads_no_bytes_a_token(tmp_path, kind, facts):
    model = own_model(written(tmp_path, {**DENSE, "model_type": kind}), DAY)
    (artifact,) = model.artifacts
    assert read_bytes(artifact, model) is None
    assert stream_runs(model, artifact, facts.machines["h100_sxm"])["decode"].active_bytes is None


def test_a_mixture_reads_the_share_of_its_parameters_that_a_token_touches(tmp_path):
    model = own_model(written(tmp_path, SPARSE), DAY)
    (artifact,) = model.artifacts
    assert artifact.read_bytes_per_token.evidence is Evidence.INFERRED
    common = LAYERS * (ATTENTION + WIDE * EXPERTS)  # the router is read whole
    one = LAYERS * 3 * WIDE * NARROW
    read = 2 * (WORDS * WIDE + common + ACTIVE * one)
    assert artifact.weights_bytes.value == 2 * (2 * WORDS * WIDE + common + EXPERTS * one)
    assert artifact.read_bytes_per_token.value == pytest.approx(read, abs=2)
    assert model.active_parameters.value == read // 2


@pytest.mark.parametrize("more", [
    {"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}},
    {"vision_config": {"hidden_size": 64, "num_hidden_layers": 2}},
])  # fmt: skip
def test_what_a_lone_config_does_not_say_is_unknown_until_it_is_given(tmp_path, more):
    path = written(tmp_path, {**DENSE, **more})
    assert own_model(path, DAY).artifacts[0].weights_bytes.value is None
    given = own_model(path, DAY, weights_gb=1.5).artifacts[0].weights_bytes
    assert (given.value, given.evidence) == (1_500_000_000, Evidence.STATED)


def test_it_is_decided_on_once_it_is_written(tmp_path):
    facts = load_facts(overlay=None)
    model = own_model(written(tmp_path, DENSE), DAY, name="our/Tiny", facts=facts)
    path = save_own_model(model, tmp_path / "mine")
    assert path.name == "our--Tiny.yaml"
    known = load_facts(overlay=tmp_path / "mine")
    assert known.models["our/Tiny"] == model
    tree = load_scenario("json-chat").model_dump(by_alias=True)
    tree["model"] = {"id": "our/Tiny"}
    del tree["workload"]["sampling_preset"], tree["candidates"]["stated_budget"]
    found = decide(parse_scenario(tree, "here"), known)
    one = 8192 * LAYERS * 2 * KV * HEAD * 2
    assert found.fit.bytes_per_sequence == one
    assert found.fit.rows[0].live_sequences == (found.fit.rows[0].pool_bytes or 0) // one > 0
    assert "models: our/Tiny" in found.own_facts
    with pytest.raises(FactsError, match="is there already"):
        save_own_model(model, tmp_path / "mine")


def test_a_record_without_the_size_of_its_weights_is_filled_in_and_no_other(tmp_path):
    path = written(tmp_path, {**DENSE, "quantization_config": {"quant_method": "fp8"}})
    bare, full = own_model(path, DAY), own_model(path, DAY, weights_gb=1.5)
    record = save_own_model(bare, tmp_path / "mine")
    with pytest.raises(FactsError, match="is there already"):
        save_own_model(bare, tmp_path / "mine")
    assert save_own_model(full, tmp_path / "mine") == record
    assert load_facts(overlay=tmp_path / "mine").models["somewhere"] == full
    with pytest.raises(FactsError, match="is there already"):
        save_own_model(own_model(path, DAY, weights_gb=2), tmp_path / "mine")
    edited = record.read_text("utf-8").replace("value: 1500000000", "value: null")
    edited = edited.replace("licence: {}", "licence: {value: mit, source: files}")
    record.write_text(edited, "utf-8")
    with pytest.raises(FactsError, match="is there already"):
        save_own_model(full, tmp_path / "mine")


def test_a_fact_that_is_missing_is_told_how_it_is_written_when_nobody_knows_it(tmp_path):
    record = save_own_model(own_model(written(tmp_path, DENSE), DAY), tmp_path / "mine")
    record.write_text(record.read_text("utf-8").replace("licence: {}\n", ""), "utf-8")
    with pytest.raises(FactsError, match=r"licence: .*add it \({} for a fact that nobody knows\)"):
        load_facts(overlay=tmp_path / "mine")


def test_names_that_are_paths_stay_in_the_folder(tmp_path):
    model = own_model(written(tmp_path, DENSE), DAY, name="../../etc/x: [y")
    path = save_own_model(model, tmp_path / "mine")
    assert path.parent == tmp_path / "mine" / "models"
    assert yaml.safe_load(path.read_text("utf-8"))["id"] == "../../etc/x: [y"


def test_the_command_says_what_is_unknown_and_refuses_what_it_would_not_use(tmp_path):
    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "stackchoice.cli", "inspect", *map(str, words)],
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip

    path = written(tmp_path, DENSE)
    done = run(path, "--own", "mine")
    assert done.returncode == 0, done.stderr
    assert "unknown: licence; fill in" in done.stdout
    assert "STACKCHOICE_FACTS=mine" in done.stdout
    for words, why in (
        (("--name", "x"), "belong to --own"),
        (("--own", "mine", "--weights-gb", "-3"), "weights_gb -3 is not possible"),
        (("--own", "mine"), "is there already"),
    ):
        refused = run(path, *words)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert why in refused.stderr


def test_a_config_without_layers_that_are_known_is_refused(tmp_path):
    with pytest.raises(InputError):
        own_model(written(tmp_path, {"quantization": {"quant_algo": "FP8"}, "producer": {}},
                          "hf_quant_config.json"), DAY)  # fmt: skip


def test_what_the_folder_could_not_be_read_with_is_not_left_in_it(tmp_path):
    """Another JSON is no config; a text that facts may not hold is refused and the file is gone."""
    with pytest.raises(InputError, match="names an architecture"):
        own_model(written(tmp_path, {"format": "a passport"}), DAY)
    broken = own_model(written(tmp_path, {**DENSE, "note": "two\nlines"}), DAY)
    with pytest.raises(FactsError, match="line breaks"):
        save_own_model(broken, tmp_path / "mine")
    assert not list((tmp_path / "mine").rglob("*.yaml"))
    assert load_facts(overlay=tmp_path / "mine").overlay == []


def test_experts_in_fewer_bits_leave_what_a_token_reads_unknown(tmp_path):
    mixed = {**SPARSE, "quantization_config": {
        "quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
        "config_groups": {"group_0": {"targets": ["re:.*experts.*"], "weights": {
            "num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16,
            "symmetric": True, "dynamic": False}}},
    }}  # fmt: skip
    (artifact,) = own_model(written(tmp_path, mixed), DAY, weights_gb=1).artifacts
    assert artifact.weight_bits.value is artifact.read_bytes_per_token.value is None


def test_a_notebook_takes_a_dropped_config_into_its_form(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKCHOICE_FACTS", str(tmp_path / "my-facts"))
    (tmp_path / "my-facts").mkdir()
    facts = load_facts()
    form = ScenarioPanel(load_scenario("json-chat"), facts)
    panel = DropPanel(facts, form=form)
    panel.model_button.click()  # a log stands there
    assert "is no folder" in panel.form.places["path"].value
    panel.set("path", str(written(tmp_path, DENSE)))
    panel.model_button.click()
    assert "somewhere is chosen" in panel.form.places["path"].value
    assert (form.error, form.scenario.model.id) == ("", "somewhere")
    assert form.fields["model.id"].value == "somewhere"
    assert form.decision.fit.model == "somewhere"
    assert load_facts().models["somewhere"].parameters.value == TOTAL


def test_a_notebook_asks_for_the_size_of_the_weights_that_a_config_does_not_say(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("STACKCHOICE_FACTS", str(tmp_path / "my-facts"))
    (tmp_path / "my-facts").mkdir()
    form = ScenarioPanel(load_scenario("json-chat"), load_facts())
    path = written(tmp_path, {**DENSE, "quantization_config": {"quant_method": "fp8"}})
    panel = DropPanel(load_facts(), str(path), form=form)
    panel.model_button.click()
    assert "give that size" in panel.form.places["path"].value
    assert form.decision.fit.rows[0].pool_bytes is None
    panel.weights.value = "1,500"
    panel.model_button.click()
    assert "can be read in two ways" in panel.form.places["weights"].value
    panel.weights.value = "1.5"
    panel.model_button.click()
    assert "give that size" not in panel.form.places["path"].value
    assert form.decision.fit.rows[0].pool_bytes > 0
    panel.set("path", str(written(tmp_path, DENSE, "another.json")))
    assert panel.weights.value == "not known"
