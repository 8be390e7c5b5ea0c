"""Declarations of quantisation in every notation, and patterns that cannot run away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice import load_facts
from stackchoice.read.declared import quantisation_of, read_said
from stackchoice.read.patterns import Patterns

FACTS = load_facts()


def said(declared, **config):
    return read_said(declared, "config.json", FACTS, {"quantization_config": declared, **config})


def quark(weight, inputs=None):
    return {"quant_method": "quark", "global_quant_config": {"weight": weight,
                                                             "input_tensors": inputs}}  # fmt: skip


MX4 = {"dtype": "fp4", "qscheme": "per_group", "group_size": 32, "scale_format": "e8m0"}
FP8 = {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        (quark(MX4, MX4), "mxfp4"),
        (quark(MX4), "mxfp4_a16"),
        (quark(MX4, FP8), "mxfp4_a8"),
        (quark(FP8, FP8), "fp8"),
        # two stages, of which the last is stored (sgl-project/sglang, get_moe_scheme of Quark)
        (quark([FP8, {"dtype": "int4", "qscheme": "per_channel"}], FP8), "int4_a8_fp8"),
        # ModelOpt's side file carried over into the config
        ({"quant_method": "modelopt", "quantization": {"quant_algo": "FP8"}}, "fp8"),
        (quark({"dtype": "int4", "qscheme": "per_group", "group_size": 128}), "int4_a16"),
        ({"quant_method": "torchao", "quant_type": "int4_weight_only"}, "int4_a16"),
        ({"quant_method": "torchao", "quant_type": {"default": {
            "_type": "Float8DynamicActivationFloat8WeightConfig", "_version": 1}}}, "fp8_channel"),
        ({"quant_method": "quanto", "weights": "int8"}, "int8_a16"),
        ({"quant_method": "quanto", "weights": "int8", "activations": "int8"}, "int8"),
        ({"quant_method": "quanto", "weights": "float8"}, "fp8_a16"),
        ({"quant_method": "fbgemm_fp8"}, "fp8_channel"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, "int4_a16"),
        ({"quant_method": "GPTQ", "bits": 3}, "int3_a16"),
        ({"quant_method": "gptq", "bits": 8}, "int8_a16"),
        ({"quant_method": "intel/auto-round", "bits": 2, "data_type": "int"}, "int2_a16"),
        ({"quant_method": "auto-round", "bits": 4, "data_type": "mx_fp", "act_bits": 4}, "mxfp4"),
        ({"quant_method": "auto-round", "bits": 4, "data_type": "nv_fp", "act_bits": 16},
         "nvfp4_a16"),
        ({"quant_method": "auto-round", "bits": 8, "data_type": "mx_fp"}, "autoround"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "fp4"},
         "fp4_bnb"),
        ({"quant_method": "hqq", "quant_config": {}}, "other"),
        ({"quant_method": "bitnet"}, "ternary"),
        ({"quant_algo": "W4A8_AWQ"}, "int4_a8_fp8"),
        ({"quant_algo": "w4a16_mxfp4"}, "mxfp4_a16"),
        ({"quant_algo": "W4A8_MXFP4_MXFP8"}, "mxfp4_a8"),
        ({"quant_algo": "FP8_BLOCK_SCALES"}, "fp8_block"),
        ({"quant_algo": "FP8_PB_WO"}, "fp8_block"),
        ({"config_groups": {"group_0": {"weights": {"num_bits": 6, "type": "float",
                                                    "group_size": 32}}}}, "mxfp6_a16"),
    ],
)  # fmt: skip
def test_each_notation(declared, encoding):
    found = said(declared)
    assert [g.encoding for g in found.best] == [encoding]
    assert not found.unread


@pytest.mark.parametrize(
    "declared",
    [
        {"quant_method": "never-heard-of", "bits": 4},
        {"quant_algo": "W3A5_WISHFUL"},
        {"quant_method": "gptq", "bits": 9},
        {"quant_method": "torchao", "quant_type": {"default": {"_type": "NewConfig"}}},
        {"quant_method": "compressed-tensors",
         "config_groups": {"g": {"weights": {"num_bits": 4, "type": "float", "group_size": 128}}}},
        {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp3"}}},
    ],
)  # fmt: skip
def test_what_no_table_has_is_unread_and_never_guessed(declared):
    found = said(declared)
    assert found.unread
    assert not found.groups


def test_lists_of_modules_beat_groups_and_groups_beat_the_algorithm():
    found = said({
        "quant_method": "modelopt", "quant_algo": "NVFP4",
        "config_groups": {"a": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
        "quantized_layers": {"x": {"quant_algo": "FP8"}, "y": {"quant_algo": "FP8"}},
    })  # fmt: skip
    assert [(g.encoding, g.modules) for g in found.best] == [("fp8", 2)]
    assert {g.encoding for g in found.of("config_groups")} == {"nvfp4_a16"}


@pytest.mark.parametrize(
    ("declared", "kv"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, "int8"),
        ({"kv_cache_scheme": "FP8"}, "fp8"),
        ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"kv_cache_quant_algo": None}, None),
        ({"kv_cache_scheme": {"num_bits": 3, "type": "float"}}, None),
    ],
)
def test_the_cache_asked_for(declared, kv):
    assert said({"quant_algo": "NVFP4", **declared}).kv == kv


def test_a_declaration_may_stand_in_the_text_model_or_under_an_older_name():
    quant = {"quant_method": "fp8"}
    assert quantisation_of({"text_config": {"quantization_config": quant}})[0] == quant
    assert quantisation_of({"compression_config": quant})[1] == "compression_config"
    assert quantisation_of({"quantization_config": None}) == ({}, "")


KEYS = (
    "quant_method", "quant_algo", "config_groups", "weights", "input_activations", "type", "mode",
    "num_bits", "group_size", "quantized_layers", "bits", "ignore", "targets", "kv_cache_scheme",
    "format", "global_quant_config", "weight", "dtype", "strategy", "weight_block_size",
    "moe_quant_algo", "expert_dtype", "quant_type", "load_in_4bit", "layer.0",
)  # fmt: skip
WORDS = (
    "NVFP4",
    "float",
    "int",
    "fp8",
    "modelopt",
    "gptq",
    "quark",
    "affine",
    "",
    "MIXED_PRECISION",
)
leaves = st.sampled_from((None, True, False, 0, 4, 8, 16, -1, 2**60, 0.5, float("nan"), *WORDS))


def trees(depth):
    inner = trees(depth - 1) if depth else leaves
    return leaves | st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner,
                                                                  max_size=4)  # fmt: skip


@given(declared=st.dictionaries(st.sampled_from(KEYS), trees(3), max_size=6))
def test_any_declaration_is_read_or_refused_by_name(declared):
    found = said(declared)
    if found is not None:
        assert all(g.encoding in FACTS.encodings for g in found.groups)
        assert found.kv is None or FACTS.memory.kv_format(found.kv)


class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "yes", "no"),
        [
            ("lm_head", ["lm_head", "model.lm_head"], ["lm_header"]),
            ("model.layers.0.mlp", ["model.layers.0.mlp", "model.layers.0.mlp.up"],
             ["model.layers.01.mlp"]),
            ("model.layers.1*", ["model.layers.1.x", "model.layers.12.y"], ["model.layers.2.x"]),
            ("*.attn.*", ["layers.1.attn.q"], ["layers.1.attention.q", "attn.q"]),
            ("model.*.gate", ["model.3.gate"], ["model.3.gate_proj"]),
            ("re:.*self_attn.*", ["a.self_attn.b"], ["a.attn.b"]),
            ("re:.*mlp\\.(gate|up)_proj$", ["x.mlp.up_proj"], ["x.mlp.up_proj.y", "x.mlp.proj"]),
            ("re:^model\\.layers\\.\\d+\\.mlp.*", ["model.layers.12.mlp.x"], ["y.model.layers.1"]),
            ("re:vision", ["vision_tower.x"], ["model.vision"]),
        ],
    )  # fmt: skip
    def test_forms_that_quantisers_write(self, pattern, yes, no):
        found = Patterns([pattern])
        assert not found.unread
        assert [found.match(n) for n in yes + no] == [True] * len(yes) + [False] * len(no)

    @pytest.mark.parametrize(
        "pattern", ["re:(a+)+$", "re:(a|a)*b", "re:a{9}", "re:[a-z]+", "re:(?=a)", "x" * 400]
    )
    def test_other_expressions_are_counted_and_not_run(self, pattern):
        found = Patterns([pattern])
        assert found.unread == 1
        assert not found.match("a" * 10_000 + "!")

    def test_a_hostile_pattern_ends(self):
        found = Patterns(["re:" + ".*a" * 90, "*a" * 100])
        assert not found.match("a" * 80 + "b" * 100_000)

    @given(
        st.lists(st.text("ab.*?re:\\d+()|^$", max_size=20), max_size=4),
        st.text("ab.1", max_size=30),
    )
    def test_any_pattern_is_matched_or_counted(self, patterns, name):
        found = Patterns(patterns)
        assert found.match(name) in (True, False)
        assert 0 <= found.unread <= len(patterns)


@pytest.mark.parametrize(
    ("declared", "encodings"),
    [
        ({**quark(MX4, MX4), "layer_quant_config": {
            "*self_attn*": {"weight": FP8, "input_tensors": FP8}}}, ["mxfp4", "fp8"]),
        ({"quant_method": "quark", "global_quant_config": {}, "layer_quant_config": {
            "*experts*": {"weight": MX4, "input_tensors": MX4}}}, ["mxfp4"]),
        ({"quant_method": "auto-round", "bits": 4, "extra_config": {
            "lm_head": {"bits": 8}, "model.layers.0.mlp.gate": {"bits": 16}}},
         ["int4_a16", "int8_a16"]),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {
            "-:.*attn.*": {}, "+:.*down.*": {"bits": 8}}}, ["int4_a16", "int8_a16"]),
    ],
)  # fmt: skip
def test_modules_set_apart_by_a_method(declared, encodings):
    found = said(declared)
    assert sorted(g.encoding for g in found.best) == sorted(encodings)
    assert found.mixed == (len(encodings) > 1)
    assert not found.unread


def test_quark_names_the_cache_by_module():
    declared = {**quark(FP8, FP8), "kv_cache_quant_config": {
        "*k_proj": {"output_tensors": {"dtype": "fp8_e4m3"}}}}  # fmt: skip
    assert said(declared).kv == "fp8"
