"""Question 1 for one model on one machine: premises, openings, cures, a lone config.json."""

import json

import pytest

from stackchoice.errors import StackchoiceError
from stackchoice.fit.admissions import workspaces_of
from stackchoice.fit.sizing import premises, size
from stackchoice.sizing import describe_sizing, size_by_name

GIB = 2**30
QWEN = "Qwen/Qwen3.8-27B"
Q4 = "unsloth/Qwen3.8-27B-GGUF:Qwen3.8-27B-Q4_K_M.gguf"


def test_the_cache_under_three_premises_at_one_byte(facts):
    """2 x 24 x 256 x 64, 2 x 4 x 256 x 64 and 2 x 4 x 256 x 16 bytes, times 262,144 tokens."""
    found = premises(facts.models[QWEN].config.value, 262_144, facts, "fp8")
    assert [p.bytes_at_context / GIB for p in found] == [192, 32, 8]
    assert [p.true for p in found] == [False, False, True]


def test_a_latent_cache_has_no_head_premises(facts):
    assert premises(facts.models["deepseek-ai/DeepSeek-V3"].config.value, 1000, facts) == []


@pytest.mark.parametrize(
    ("artifact", "machine", "devices"),
    [
        (QWEN, "h100_sxm", 1),  # bf16 on an 80 GB card
        (QWEN, "l40s", 2),  # a shard
        (QWEN, "m3_ultra_512", 1),  # large unified memory
        (Q4, "rtx_4090", 1),  # Q4_K_M on a 24 GB card
    ],
)
def test_the_openings_fit_with_headroom(artifact, machine, devices, facts):
    model = facts.models[QWEN]
    found = size(model, model.artifact(artifact), facts.machines[machine], facts,
                 context_tokens=8192, devices=devices)  # fmt: skip
    assert all(row.live_sequences > 0 for row in found.rows)


def test_bf16_on_a_24_gb_card_has_cures_in_order(facts):
    found = size_by_name(QWEN, "rtx_4090", context_tokens=8192, artifact=QWEN, engine="llama.cpp")
    cures = found.cures["llama.cpp"].cures
    kinds = [cure.kind for cure in cures]
    order = ["another quantisation", "smaller cache type", "shorter context",
             "more tensor parallel", "another machine", "smaller model"]  # fmt: skip
    assert kinds == sorted(kinds, key=order.index)
    assert cures[0].kind == "another quantisation"
    assert cures[0].live_sequences > 0
    assert "smaller model" not in kinds
    assert "cure for llama.cpp" in describe_sizing(found)


def test_a_lone_config_is_sized_with_unknown_weights(tmp_path, facts):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(facts.models[QWEN].config.value))
    found = size_by_name(str(path), "h100_sxm", context_tokens=8192)
    assert found.kv_bytes_per_token == 65_536
    assert {row.live_sequences for row in found.rows} == {None}
    assert "--weights-gb" in describe_sizing(found).splitlines()[1]
    given = size_by_name(str(path), "h100_sxm", context_tokens=8192, weights_gb=54)
    pool = 26_000_000_000 - given.rows[0].workspace_bytes
    assert given.rows[0].pool_bytes == pool
    assert given.rows[0].live_sequences == pool // 691_798_016
    assert given.note == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object"),
        ("[" * 100_000, "nested too deep"),
        (None, "cannot be read"),
    ],
)
def test_a_wrong_config_is_one_clear_error(text, says, tmp_path):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(StackchoiceError, match=says):
        size_by_name(str(path), "h100_sxm", context_tokens=8192)


@pytest.mark.parametrize(
    "change", [{"model": "no/such"}, {"machine": "h900"}, {"engine": "no"}, {"artifact": "no"}]
)
def test_an_unknown_name_lists_what_is_known(change):
    names = {"model": QWEN, "machine": "h100_sxm", **change}
    with pytest.raises(StackchoiceError, match="known: "):
        size_by_name(names.pop("model"), names.pop("machine"), context_tokens=8192, **names)


def test_a_context_beyond_the_models_own_is_said():
    within = size_by_name(QWEN, "h100_sxm", context_tokens=262_144)
    assert "context" not in within.note
    beyond = size_by_name(QWEN, "h100_sxm", context_tokens=262_145)
    assert "the model's context is 262,144 tokens; 262,145 are asked" in beyond.note
    assert "262,145 are asked" in describe_sizing(beyond)


def test_layers_split_over_devices_add_their_memory_up(facts):
    """Two key-value heads on eight cards: heads are repeated, whole layers are not."""
    model = facts.models["Qwen/Qwen3.5-122B-A10B"]
    artifact = next(a for a in model.artifacts if a.weights_bytes.known)
    found = size(
        model, artifact, facts.machines["h200_sxm"], facts, context_tokens=32_768, devices=8
    )
    row = found.rows[0]
    live = {
        a.engine: a.live_sequences
        for a in found.admissions
        if (a.basis, a.settings) == (row.basis, "the release's defaults")
    }
    # llama.cpp keeps state and convolution in 32 bits: 36 layers, three columns, as one whole
    state = 36 * (64 * 128 * 128 * 4 + (2 * 16 * 128 + 64 * 128) * 3 * 4)
    taken = workspaces_of(
        model.config.value, facts.machines["h200_sxm"], devices=8, facts=facts,
        weights_bytes=row.weights_bytes,
    )["llama.cpp"].value  # fmt: skip
    pool = row.memory_bytes - row.weights_bytes - taken
    assert live["llama.cpp"] == pool // (32_768 * 24_576 + state)
    assert live["vLLM"] < live["llama.cpp"] / 2


def test_a_near_name_is_proposed_and_a_short_list_is_shown_whole():
    for names, meant in (
        ({"model": "llama-3.3-70b"}, "did you mean meta-llama/Llama-3.3-70B-Instruct"),
        ({"machine": "h100"}, "did you mean h100_nvl or h100_pcie or h100_sxm"),
        ({"engine": "sgl"}, "did you mean sglang\\? known: .*vllm"),
        (
            {"machine": "zzz"},
            r"known: (\w+, ){4}\w+ and others; `stackchoice facts machines` lists",
        ),
    ):
        asked = {"model": QWEN, "machine": "h100_sxm", **names}
        with pytest.raises(StackchoiceError, match=meant):
            size_by_name(**asked, context_tokens=8192)


def test_an_engine_that_cannot_load_the_file_is_not_said_to_admit_it(facts):
    """No row for llama.cpp reads as if it served safetensors; the count is of memory alone."""
    found = size_by_name(QWEN, "h100_sxm", context_tokens=8192, facts=facts)
    refused = {row.engine: row.refused for row in found.admissions if row.refused}
    assert refused["llama.cpp"] == "does not load safetensors files"
    assert "Qwen3_5ForConditionalGeneration" in refused["TensorRT-LLM"]
    assert {"vLLM", "SGLang"}.isdisjoint(refused)
    lines = describe_sizing(found).splitlines()
    assert all("does not load" in line for line in lines if line.startswith("    llama.cpp"))
    assert any("its own admission is not sourced" in line for line in lines)


MIXTURE = {
    "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "head_dim": 128,
    "intermediate_size": 14336, "vocab_size": 32000, "num_experts_per_tok": 2,
    "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.mark.parametrize("key", ["num_local_experts", "num_experts", "n_routed_experts"])
def test_a_mixture_of_which_nobody_counted_what_a_token_reads_has_no_ceiling(tmp_path, facts, key):
    """All weights over the bandwidth is a ceiling for a dense model, and far too low for this."""
    path = tmp_path / "config.json"
    ask = {"context_tokens": 8192, "weights_gb": 93.4, "facts": facts}
    path.write_text(json.dumps({**MIXTURE, key: 8}))
    found = size_by_name(str(path), "h200_sxm", **ask)
    assert found.rows[0].live_sequences
    assert (found.speed.decode, found.speed.decode_ceiling_tokens_per_s) == (None, None)
    assert "bytes read per token" in found.speed.unknown
    text = describe_sizing(found)
    assert "how fast one stream decodes is unknown" in text
    assert "unknown: bytes read per token" in text
    bandwidth = facts.machines["h200_sxm"].bandwidth_gb_per_s.value
    path.write_text(json.dumps({**MIXTURE, key: 1}))  # one expert is a dense layer
    dense = size_by_name(str(path), "h200_sxm", **ask)
    assert dense.speed.decode_ceiling_tokens_per_s == pytest.approx(
        bandwidth * 1e9 / (93.4e9 + dense.bytes_per_sequence), rel=1e-3
    )


def test_a_compressed_layer_is_told_by_the_tokens_of_an_entry():
    """DeepSeek-V4-Flash keeps one entry for 4 tokens, or for 128, beside its window."""
    told = describe_sizing(
        size_by_name("deepseek-ai/DeepSeek-V4-Flash", "b200_sxm", context_tokens=8192)
    )
    assert " B every 4 tokens" in told


def test_a_latent_is_on_every_device_of_a_tensor_parallel_group(facts):
    """61 layers of 512 + 64 values of two bytes, eight times; 8 key-value heads divide."""
    for name, repeated in (("deepseek-ai/DeepSeek-R1", 8), ("meta-llama/Llama-3.1-70B", 1)):
        model = facts.models[name]
        found = size(
            model, model.artifacts[0], facts.machines["h200_sxm"], facts, context_tokens=32_768,
            devices=8,
        )  # fmt: skip
        assert found.rows[0].bytes_per_sequence == repeated * found.bytes_per_sequence
    assert found.bytes_per_sequence == 80 * 2 * 8 * 128 * 2 * 32_768


def test_every_device_reads_its_own_copy_of_a_latent(facts):
    """61 latents of 576 values in 16 bits, read by each of 8 devices; heads are shared out."""
    latent = size_by_name("deepseek-ai/DeepSeek-V3", "h200_sxm", context_tokens=65_536, devices=8)
    shared = size_by_name("meta-llama/Llama-3.1-70B", "h200_sxm", context_tokens=65_536, devices=8)
    for found, copies, token in ((latent, 8, 61 * 576 * 2), (shared, 1, 80 * 8 * 2 * 128 * 2)):
        model = facts.models[found.model]
        taken = next(a for a in model.artifacts if a.label == found.artifact)
        read = taken.read_bytes_per_token.value or taken.weights_bytes.value
        assert found.speed.bytes_per_decode_step == read + copies * token * 65_536
