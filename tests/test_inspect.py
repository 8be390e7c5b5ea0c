"""What a checkpoint is reported to be: encodings, layers, contradictions, by files made here."""

import json

import gguf
import pytest
from checkpoints import (
    DENSE,
    awq4,
    exl3,
    fp8_blocks,
    fp8_channels,
    fp8_tensor,
    gptq4,
    int8,
    llm_int8,
    mlx_affine,
    mlx_float,
    mxfp4_packed,
    mxfp8,
    nf4,
    nvfp4_modelopt,
    nvfp4_packed,
    packed_int4,
    plain_parts,
    tensors_of,
    write_checkpoint,
    write_gguf,
)
from odd_server import require_engine

from stackchoice.confirm.setup import model_file
from stackchoice.read import inspect_checkpoint

LINEARS = 14  # seven in each of two layers


def group(weights, inputs=None, fmt=None, targets=("Linear",)):
    own = {"targets": list(targets), "weights": weights, "input_activations": inputs}
    return {"config_groups": {"group_0": own}, "quant_method": "compressed-tensors",
            "format": fmt, "ignore": ["lm_head"]}  # fmt: skip


def floats(bits, size=None, strategy=None, **more):
    return {"num_bits": bits, "type": "float", "group_size": size, "strategy": strategy, **more}


def ints(bits, strategy="group", size=128):
    return {"num_bits": bits, "type": "int", "group_size": size, "strategy": strategy}


NV, MX = "nvfp4-pack-quantized", "mxfp4-pack-quantized"
FOUR = floats(4, 16, "tensor_group")
EIGHT = floats(8, 32, "group")
FORMATS = {
    "nvfp4": (group(FOUR, FOUR | {"dynamic": "local"}, NV), nvfp4_packed, 4, 4),
    "nvfp4_a16": (group(FOUR, None, NV), nvfp4_packed, 4, 16),
    "mxfp4": (group(floats(4, 32, "group"), floats(4, 32, "group"), MX), mxfp4_packed, 4, 4),
    "mxfp4_a16": (group(floats(4, 32, "group"), None, MX), mxfp4_packed, 4, 16),
    "mxfp4_a8": (group(floats(4, 32, "group"), floats(8, 128, "group"), MX), mxfp4_packed, 4, 8),
    "mxfp8": (group(EIGHT, EIGHT, "mxfp8-quantized"), mxfp8, 8, 8),
    "mxfp8_a16": (group(EIGHT, None, "mxfp8-quantized"), mxfp8, 8, 16),
    "fp8": (
        group(floats(8, strategy="tensor"), floats(8, strategy="tensor"), "float-quantized"),
        fp8_tensor, 8, 8,
    ),
    "fp8_channel": (
        group(floats(8, strategy="channel"), floats(8, strategy="token"), "float-quantized"),
        fp8_channels, 8, 8,
    ),
    "fp8_block": (
        {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
        fp8_blocks, 8, 8,
    ),
    "fp8_a16": (group(floats(8, strategy="channel"), None, "naive-quantized"), fp8_channels, 8, 16),
    "int8": (group(ints(8, "channel"), ints(8, "token"), "int-quantized"), int8, 8, 8),
    "int4_a16": (group(ints(4, size=32), None, "pack-quantized"), packed_int4, 4, 16),
    "int4_a8_fp8": (
        group(ints(4, size=32), floats(8, strategy="token"), "pack-quantized"), packed_int4, 4, 8
    ),
    "int4_a8_int": (
        group(ints(4, size=32), ints(8, "token"), "pack-quantized"), packed_int4, 4, 8
    ),
    "nf4": (
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        nf4, 4, 16,
    ),
    "int8_bnb": ({"quant_method": "bitsandbytes", "load_in_8bit": True}, llm_int8, 8, 8),
    "exl3": ({"quant_method": "exl3", "bits": 4.0, "head_bits": 6}, exl3, None, 16),
}  # fmt: skip
OTHER_WAYS = {
    "gptq": ({"quant_method": "gptq", "bits": 4, "group_size": 128}, gptq4, "int4_a16"),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 128}, awq4, "int4_a16"),
    "auto-round": (
        {"quant_method": "auto-round", "bits": 4, "group_size": 128, "data_type": "int"},
        gptq4, "int4_a16",
    ),
    "modelopt nvfp4": (
        {"quant_method": "modelopt", "quant_algo": "NVFP4"}, nvfp4_modelopt, "nvfp4"
    ),
    "modelopt fp8": ({"quant_method": "modelopt", "quant_algo": "FP8"}, fp8_tensor, "fp8"),
    "modelopt mxfp8": ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, mxfp8, "mxfp8"),
    "modelopt channels": (
        {"quant_method": "modelopt", "quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"},
        fp8_channels, "fp8_channel",
    ),
    "fp8 per tensor": ({"quant_method": "fp8", "activation_scheme": "static"}, fp8_tensor, "fp8"),
}  # fmt: skip
#: Encodings whose checkpoints have something to say about themselves, and what.
EXPECTED_CODES = {"nvfp4_a16": {"name_says_nvfp4_but_weight_only"}}


def codes(found):
    return {f.code for f in found.findings}


class TestStoredEncodings:
    @pytest.mark.parametrize("encoding", FORMATS)
    def test_the_tensors_and_the_declaration_give_the_encoding(self, tmp_path, encoding):
        declared, parts, bits, activations = FORMATS[encoding]
        config = DENSE | {"quantization_config": declared}
        tensors = tensors_of(parts)
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        use = next(u for u in found.encodings if u.encoding == encoding)
        assert (use.modules, use.weight_bits, use.activation_bits) == (LINEARS, bits, activations)
        assert use.parts == {"attention": 8, "linear": 6}
        plain = next(u for u in found.encodings if u.encoding == "bf16")
        assert plain.modules == 2  # embedding and output head
        assert codes(found) == EXPECTED_CODES.get(encoding, set())
        # Bytes are those of the tensors: nothing is left out, nothing counted twice.
        stored = sum(
            path.stat().st_size - 8 - int.from_bytes(path.read_bytes()[:8], "little")
            for path in (tmp_path / "m").glob("*.safetensors")
        )
        assert sum(u.bytes for u in found.encodings) == stored
        assert sum(b.share for b in found.by_bits) == pytest.approx(1)

    @pytest.mark.parametrize("way", OTHER_WAYS)
    def test_other_ways_to_say_it(self, tmp_path, way):
        declared, parts, encoding = OTHER_WAYS[way]
        config = DENSE | {"quantization_config": declared}
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors_of(parts)]))
        assert {u.encoding for u in found.encodings} == {encoding, "bf16"}
        assert not found.contradictions()

    def test_without_quantisation_everything_is_plain(self, tmp_path):
        found = inspect_checkpoint(
            write_checkpoint(tmp_path / "m", DENSE, [tensors_of(plain_parts)])
        )
        assert [u.encoding for u in found.encodings] == ["bf16"]
        assert [(p.part, p.encoding, p.modules) for p in found.parts][:1] == [
            ("linear", "bf16", 15)
        ]
        assert found.weight_bits == [16]
        assert found.activation_bits == []

    def test_a_mixed_checkpoint_is_counted_by_module(self, tmp_path):
        layers = {}
        for i in range(2):
            for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                layers[f"model.layers.{i}.self_attn.{name}"] = {"quant_algo": "FP8"}
            for name in ("gate_proj", "up_proj", "down_proj"):
                layers[f"model.layers.{i}.mlp.{name}"] = {"quant_algo": "W4A16_NVFP4",
                                                          "group_size": 16}  # fmt: skip
        attention, mlp = tensors_of(fp8_tensor), tensors_of(nvfp4_modelopt)
        tensors = {n: t for n, t in attention.items() if ".mlp." not in n}
        tensors |= {n: t for n, t in mlp.items() if ".mlp." in n}
        side = {"hf_quant_config.json": {"quantization": {
            "quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": "FP8",
            "quantized_layers": layers}}}  # fmt: skip
        found = inspect_checkpoint(
            write_checkpoint(tmp_path / "some-NVFP4", DENSE, [tensors], side=side)
        )
        uses = {u.encoding: u.modules for u in found.encodings}
        assert uses == {"fp8": 8, "nvfp4_a16": 6, "bf16": 2}
        assert [b.bits for b in found.by_bits] == [4, 8, 16]
        assert found.kv_encoding == "fp8"
        assert codes(found) == {
            "encoding_only_in_hf_quant_config", "mixed_precision",
            "name_says_nvfp4_but_weight_only", "input_scales_without_activations",
        }  # fmt: skip
        assert {(p.part, p.encoding): p.modules for p in found.parts}[("linear", "fp8")] == 8

    def test_experts_are_a_part_of_their_own(self, tmp_path):
        config = DENSE | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 512,
                          "quantization_config": FORMATS["nvfp4"][0]}  # fmt: skip
        tensors = tensors_of(nvfp4_packed, experts=4)
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        assert {(p.part, p.encoding): p.modules for p in found.parts if p.encoding == "nvfp4"} == {
            ("linear", "nvfp4"): LINEARS, ("moe", "nvfp4"): 8,
        }  # fmt: skip

    def test_gpt_oss_blocks_are_mxfp4_experts(self, tmp_path):
        config = DENSE | {"model_type": "gpt_oss", "num_local_experts": 4, "sliding_window": 128,
                          "quantization_config": {"quant_method": "mxfp4"}}  # fmt: skip
        tensors = tensors_of(plain_parts)
        for i in range(2):
            prefix = f"model.layers.{i}.mlp.experts.gate_up_proj"
            tensors[f"{prefix}_blocks"] = ("U8", (4, 1024, 8, 16))
            tensors[f"{prefix}_scales"] = ("U8", (4, 1024, 8))
            tensors[f"{prefix}_bias"] = ("BF16", (4, 1024))
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        use = next(u for u in found.encodings if u.encoding == "mxfp4_a16")
        assert (use.modules, use.parts, use.group_size) == (2, {"moe": 2}, 32)
        assert use.bytes == 2 * (4 * 1024 * 8 * 17 + 4 * 1024 * 2)
        assert not found.contradictions()

    def test_experts_of_another_type_than_the_method(self, tmp_path):
        config = DENSE | {"expert_dtype": "fp4", "n_routed_experts": 4, "quantization_config": {
            "quant_method": "fp8", "weight_block_size": [128, 128]}}  # fmt: skip
        tensors = tensors_of(fp8_blocks)
        for i in range(2):
            for j in range(4):
                name = f"model.layers.{i}.ffn.experts.{j}.w1"
                tensors[f"{name}.weight"] = ("I8", (512, 128))
                tensors[f"{name}.scale"] = ("F8_E8M0", (512, 8))
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        assert {(p.part, p.encoding): p.modules for p in found.parts if p.modules} == {
            ("linear", "fp8_block"): LINEARS, ("moe", "mxfp4_a8"): 8, ("linear", "bf16"): 1,
        }  # fmt: skip
        assert codes(found) == {"expert_dtype_overrides_quant_method"}

    @pytest.mark.parametrize(
        ("scale", "encoding"),
        [
            ((), "fp8"), ((4,), "fp8"), ((4, 1, 1), "fp8"), ((4, 256, 1), "fp8_channel"),
            ((4, 2, 4), "fp8_block"), ((1, 1), "fp8"),
        ],
    )  # fmt: skip
    def test_stacked_experts_have_the_same_scales_as_single_ones(self, tmp_path, scale, encoding):
        kinds = {"fp8": "tensor", "fp8_channel": "channel", "fp8_block": "block"}
        own = floats(8, strategy=kinds[encoding])
        declared = group(own, floats(8, strategy="token"), "float-quantized")
        config = DENSE | {"num_experts": 4, "quantization_config": declared}
        tensors = tensors_of(plain_parts)
        for i in range(2):
            name = f"model.layers.{i}.mlp.experts.down_proj"
            tensors |= {name: ("F8_E4M3", (4, 256, 512)), f"{name}_weight_scale": ("F32", scale)}
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        moe = next(p for p in found.parts if p.part == "moe")
        assert (moe.encoding, moe.modules) == (encoding, 2)

    def test_a_weight_of_one_block_is_known_by_the_name_of_its_scale(self, tmp_path):
        config = DENSE | {"quantization_config": FORMATS["fp8_block"][0]}
        tensors = tensors_of(plain_parts)
        tensors["model.layers.0.self_attn.g_proj.weight"] = ("F8_E4M3", (64, 128))
        tensors["model.layers.0.self_attn.g_proj.weight_scale_inv"] = ("F32", (1, 1))
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        assert {u.encoding: u.modules for u in found.encodings} == {"bf16": 16, "fp8_block": 1}

    def test_a_form_that_nothing_here_knows_contradicts_nothing(self, tmp_path):
        config = DENSE | {"quantization_config": {"quant_method": "hqq"}}

        def parts(out, columns):
            return {".W_q": ("U8", (out // 2, columns)), ".meta": ("F32", (8,))}

        folder = write_checkpoint(tmp_path / "m", config, [tensors_of(parts)])
        found = inspect_checkpoint(folder)
        assert not found.contradictions()
        assert {u.name for u in found.encodings} == {"BF16", "FP32", "U8 (form not known)"}

    def test_draft_layers_and_towers_stand_apart(self, tmp_path):
        config = DENSE | {"num_nextn_predict_layers": 1, "vision_config": {"depth": 1}}
        tensors = tensors_of(plain_parts)
        tensors["model.layers.2.self_attn.q_proj.weight"] = ("BF16", (256, 256))
        tensors["visual.blocks.0.attn.qkv.weight"] = ("F16", (768, 256))
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        assert (found.draft.present, found.draft.modules, found.draft.layers) == (True, 1, 1)
        assert (found.vision.modules, found.vision.encodings) == (1, ["fp16"])
        assert not found.findings
        assert sum(p.modules or 0 for p in found.parts) == LINEARS + 1


class TestMlx:
    @pytest.mark.parametrize(
        ("mode", "parts", "encoding"),
        [
            ({"bits": 4, "group_size": 64}, mlx_affine(4, 64), "mlx_affine_4"),
            ({"bits": 8, "group_size": 32}, mlx_affine(8, 32), "mlx_affine_8"),
            ({"bits": 3, "group_size": 64}, mlx_affine(3, 64), "mlx_affine_3"),
            ({"bits": 4, "group_size": 32, "mode": "mxfp4"}, mlx_float(4, 32), "mlx_mxfp4"),
            ({"bits": 4, "group_size": 16, "mode": "nvfp4"}, mlx_float(4, 16), "mlx_nvfp4"),
            ({"bits": 8, "group_size": 32, "mode": "mxfp8"}, mlx_float(8, 32), "mlx_mxfp8"),
        ],
    )
    def test_modes_are_read_from_config_and_shapes(self, tmp_path, mode, parts, encoding):
        config = DENSE | {"quantization": mode, "quantization_config": mode}
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors_of(parts)]))
        assert found.format == "mlx"
        use = next(u for u in found.encodings if u.modules == LINEARS)
        assert (use.encoding, use.group_size) == (encoding, mode["group_size"])
        assert not found.contradictions()

    def test_quantised_activations_are_an_encoding_of_their_own(self, tmp_path):
        mode = {"bits": 4, "group_size": 16, "mode": "nvfp4"}
        config = DENSE | {"quantize_activations": True, "quantization": mode}
        folder = write_checkpoint(tmp_path / "m", config, [tensors_of(mlx_float(4, 16))])
        found = inspect_checkpoint(folder)
        assert {u.encoding for u in found.encodings} == {"mlx_nvfp4_aq", "bf16"}
        assert found.activation_bits == [4]

    def test_layers_of_their_own_bits_are_mixed(self, tmp_path):
        own = {f"model.layers.{i}.mlp.down_proj": {"bits": 8, "group_size": 64} for i in range(2)}
        config = DENSE | {"quantization": {"bits": 4, "group_size": 64, **own}}
        four, eight = tensors_of(mlx_affine(4, 64)), tensors_of(mlx_affine(8, 64))
        tensors = {n: eight[n] if "down_proj" in n else t for n, t in four.items()}
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [tensors]))
        assert {u.encoding: u.modules for u in found.encodings} == {
            "mlx_affine_4": 12, "mlx_affine_8": 2, "bf16": 2,
        }  # fmt: skip
        assert codes(found) == {"mixed_precision"}


class TestContradictions:
    def test_a_promise_that_the_files_do_not_keep(self, tmp_path):
        declared, parts, *_ = FORMATS["fp8_block"]
        config = DENSE | {"quantization_config": declared}
        folder = write_checkpoint(tmp_path / "team-Model-NVFP4", config, [tensors_of(parts)])
        assert codes(inspect_checkpoint(folder)) == {"name_promises_other_encoding"}

    @pytest.mark.parametrize(
        ("name", "declared"),
        [
            ("Model-GPTQ-Int8", {"quant_method": "gptq", "bits": 8}),
            ("Model-AWQ", {"quant_method": "awq", "bits": 4}),
            ("Model-quantized.w8a8", {"quant_method": "fp8"}),
            ("Model-MXFP8", {"quant_method": "modelopt", "quant_algo": "MXFP8"}),
            ("Model-FP8", {"quant_method": "fp8"}),
            ("FP80-Model", {"quant_method": "awq", "bits": 4}),
            ("Model-BF16", {}),
        ],
    )
    def test_a_promise_that_is_kept(self, tmp_path, name, declared):
        folder = write_checkpoint(
            tmp_path / name, DENSE | ({"quantization_config": declared} if declared else {}), []
        )
        assert not inspect_checkpoint(folder).findings
        assert not inspect_checkpoint(folder / "config.json").findings

    def test_a_promise_that_the_tensors_do_not_keep(self, tmp_path):
        folder = write_checkpoint(tmp_path / "Model-FP8", DENSE, [tensors_of(plain_parts)])
        assert codes(inspect_checkpoint(folder)) == {"name_promises_other_encoding"}

    def test_quantised_without_a_word_about_it(self, tmp_path):
        folder = write_checkpoint(tmp_path / "m", DENSE, [tensors_of(fp8_blocks)])
        found = inspect_checkpoint(folder)
        assert codes(found) == {"quantised_but_undeclared"}
        use = next(u for u in found.encodings if u.modules == LINEARS)
        assert (use.encoding, use.family, use.activation_bits) == ("", "fp8", None)

    def test_declared_and_not_quantised(self, tmp_path):
        config = DENSE | {"quantization_config": FORMATS["nvfp4"][0]}
        folder = write_checkpoint(tmp_path / "m", config, [tensors_of(plain_parts)])
        assert "declared_but_not_quantised" in codes(inspect_checkpoint(folder))

    def test_stored_otherwise_than_declared(self, tmp_path):
        config = DENSE | {"quantization_config": FORMATS["nvfp4"][0]}
        folder = write_checkpoint(tmp_path / "m", config, [tensors_of(fp8_blocks)])
        assert codes(inspect_checkpoint(folder)) == {"stored_otherwise_than_declared"}

    def test_ignored_modules_that_are_quantised(self, tmp_path):
        declared = FORMATS["nvfp4"][0] | {"ignore": ["lm_head", "re:.*mlp\\.down_proj.*"]}
        config = DENSE | {"quantization_config": declared}
        found = inspect_checkpoint(
            write_checkpoint(tmp_path / "m", config, [tensors_of(nvfp4_packed)])
        )
        assert codes(found) == {"ignored_but_quantised"}
        assert "2 modules" in found.findings[0].text

    def test_projections_that_no_list_spares_and_that_are_plain(self, tmp_path):
        config = DENSE | {"quantization_config": FORMATS["nvfp4"][0]}
        spared = tensors_of(nvfp4_packed, only=("mlp.gate_proj", "mlp.up_proj"))
        found = inspect_checkpoint(write_checkpoint(tmp_path / "m", config, [spared]))
        assert [(f.code, f.kind) for f in found.findings] == [
            ("declared_but_not_quantised", "note")
        ]

    def test_a_scale_per_other_group_than_declared(self, tmp_path):
        declared = group(floats(4, 64, "tensor_group"), None, NV)
        config = DENSE | {"quantization_config": declared}
        folder = write_checkpoint(tmp_path / "m", config, [tensors_of(nvfp4_packed)])
        assert "group_size_differs" in codes(inspect_checkpoint(folder))

    def test_more_layers_than_the_config_has(self, tmp_path):
        folder = write_checkpoint(
            tmp_path / "m", DENSE | {"num_hidden_layers": 3}, [tensors_of(plain_parts)]
        )
        assert codes(inspect_checkpoint(folder)) == {"count_of_layers_differs"}

    def test_two_files_that_ask_for_different_things(self, tmp_path):
        config = DENSE | {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4",
                                                  "kv_cache_quant_algo": "NVFP4"}}  # fmt: skip
        other = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}
        side = {"hf_quant_config.json": {"quantization": other}}
        folder = write_checkpoint(tmp_path / "m", config, [], side=side)
        assert codes(inspect_checkpoint(folder)) == {"encodings_disagree", "kv_cache_disagrees"}

    def test_groups_and_layers_that_ask_for_different_activations(self, tmp_path):
        name = "model.layers.0.mlp.down_proj"
        quant = {
            "quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
            "config_groups": {"group_0": {"weights": floats(4, 16), "targets": [name],
                                          "input_activations": floats(4, 16)}},
            "quantized_layers": {name: {"quant_algo": "W4A16_NVFP4", "group_size": 16}},
        }  # fmt: skip
        (tmp_path / "config.json").write_text(json.dumps(DENSE | {"quantization_config": quant}))
        found = inspect_checkpoint(tmp_path / "config.json")
        assert codes(found) == {"activation_bits_contradiction", "mixed_precision"}

    def test_the_algorithm_of_experts_beside_the_method(self, tmp_path):
        quant = {
            "quant_method": "fp8", "weight_block_size": [128, 128], "moe_quant_algo": "NVFP4",
            "quant_algo": "MIXED_PRECISION", "ignore": ["*.attn.*"],
            "quantized_layers": {f"layers.{i}.ffn.experts": {"quant_algo": "NVFP4",
                                                             "group_size": 16} for i in range(2)},
        }  # fmt: skip
        config = DENSE | {"quantization_config": quant, "n_routed_experts": 8}
        (tmp_path / "config.json").write_text(json.dumps(config))
        found = inspect_checkpoint(tmp_path / "config.json")
        assert codes(found) == {"moe_quant_algo_overrides_quant_method", "mixed_precision"}
        assert {(p.part, p.encoding) for p in found.parts} == {
            ("linear", "fp8_block"), ("moe", "nvfp4"),
        }  # fmt: skip

    def test_methods_that_no_table_names_are_said_and_not_guessed(self, tmp_path):
        config = DENSE | {"quantization_config": {"quant_method": "tomorrow", "bits": 5}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        found = inspect_checkpoint(tmp_path / "config.json")
        assert found.unread
        assert "tomorrow" in found.unread[0]
        assert {u.encoding for u in found.encodings} <= {"bf16"}


GGUF_TYPES = [
    "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ2_XXS",
    "IQ2_XS", "IQ3_XXS", "IQ3_S", "IQ2_S", "IQ1_S", "IQ1_M", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0",
    "MXFP4", "NVFP4",
]  # fmt: skip


class TestGguf:
    @pytest.mark.parametrize("kind", GGUF_TYPES)
    def test_every_common_type(self, tmp_path, kind):
        found = inspect_checkpoint(write_gguf(tmp_path / f"model-{kind}.gguf", kind))
        use = next(u for u in found.encodings if u.encoding == f"gguf_{kind.lower()}")
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
        weights = 2 * 256 * (256 + 256 + 512)
        assert (use.modules, use.bytes) == (6, weights // block * size)
        assert use.activation_bits is None
        assert not found.findings
        assert found.chat_template

    def test_layers_come_from_the_metadata(self, tmp_path):
        found = inspect_checkpoint(write_gguf(tmp_path / "m.gguf", "Q8_0"))
        layer = found.architecture.layers[0]
        assert (layer.kind, layer.layers, layer.kv_heads, layer.key_dim) == ("full", 2, 2, 64)
        assert found.architecture.context_tokens == 2048

    def test_the_file_type_against_the_tensors(self, tmp_path):
        path = write_gguf(tmp_path / "m.gguf", "Q8_0", file_type=gguf.LlamaFileType.MOSTLY_Q4_K_M)
        found = inspect_checkpoint(path)
        assert found.file_type == "Q4_K_M"
        assert codes(found) == {"file_type_disagrees"}

    def test_the_name_against_the_tensors(self, tmp_path):
        path = write_gguf(tmp_path / "Model-Q4_K_M.gguf", "Q6_K")
        assert codes(inspect_checkpoint(path)) == {"name_promises_other_encoding"}

    def test_a_hybrid_model_with_a_draft_head(self, tmp_path):
        metadata = [
            ("add_ssm_conv_kernel", 4), ("add_ssm_state_size", 128), ("add_ssm_group_count", 16),
            ("add_ssm_time_step_rank", 32), ("add_ssm_inner_size", 4096), ("add_key_length", 256),
            ("add_value_length", 256),
            (lambda w, v: w.add_uint32("qwen35.full_attention_interval", v), 4),
            (lambda w, v: w.add_uint32("qwen35.nextn_predict_layers", v), 1),
        ]  # fmt: skip
        path = write_gguf(tmp_path / "m.gguf", "Q8_0", layers=9, architecture="qwen35",
                          metadata=metadata)  # fmt: skip
        found = inspect_checkpoint(path)
        layers = {g.kind: g for g in found.architecture.layers}
        assert {k: g.layers for k, g in layers.items()} == {"full": 2, "gated_delta": 6}
        assert layers["gated_delta"].state_values == 32 * 128 * 128
        assert layers["gated_delta"].conv_channels == 2 * 16 * 128 + 4096
        assert (found.draft.layers, found.draft.modules) == (1, 3)
        assert not found.findings

    def test_sliding_layers_by_a_list_and_by_the_engines_own_rule(self, tmp_path):
        pattern = [True, True, False, True, True, False]
        listed = [("add_sliding_window", 1024), ("add_sliding_window_pattern", pattern)]
        path = write_gguf(tmp_path / "a.gguf", "Q8_0", layers=6, metadata=listed)
        kinds = {g.kind: g.layers for g in inspect_checkpoint(path).architecture.layers}
        assert kinds == {"full": 2, "sliding": 4}
        path = write_gguf(tmp_path / "b.gguf", "Q8_0", layers=12, architecture="gemma3",
                          metadata=[("add_sliding_window", 1024)])  # fmt: skip
        kinds = {g.kind: g.layers for g in inspect_checkpoint(path).architecture.layers}
        assert kinds == {"full": 2, "sliding": 10}
        path = write_gguf(tmp_path / "c.gguf", "Q8_0", layers=6,
                          metadata=[("add_sliding_window", 1024)])  # fmt: skip
        found = inspect_checkpoint(path)
        assert found.architecture.layers == []
        assert "which layers slide" in found.architecture.unknown

    def test_latent_attention_with_and_without_absorption(self, tmp_path):
        latent = [("add_kv_lora_rank", 512), ("add_key_length", 576), ("add_value_length", 512)]
        absorbed = [*latent, ("add_key_length_mla", 192), ("add_value_length_mla", 128)]
        path = write_gguf(tmp_path / "a.gguf", "Q8_0", architecture="deepseek2", metadata=absorbed)
        found = inspect_checkpoint(path)
        layer = found.architecture.layers[0]
        assert (layer.kind, layer.latent_values, layer.value_dim) == ("latent", 512 + 64, 128)
        assert not found.findings
        path = write_gguf(tmp_path / "b.gguf", "Q8_0", architecture="deepseek2", metadata=latent)
        assert codes(inspect_checkpoint(path)) == {"latent_expanded_by_file"}

    def test_heads_of_zero_are_layers_without_a_cache(self, tmp_path):
        def drop(writer, key):
            writer.kv_data[0].pop(f"nemotron_h.{key}")

        metadata = [
            (drop, "attention.head_count_kv"), (drop, "feed_forward_length"),
            ("add_head_count_kv", [0, 0, 2, 0]), ("add_feed_forward_length", [0, 512, 0, 0]),
            ("add_ssm_conv_kernel", 4), ("add_ssm_state_size", 128), ("add_ssm_group_count", 8),
            ("add_ssm_time_step_rank", 64), ("add_ssm_inner_size", 4096),
        ]  # fmt: skip
        path = write_gguf(tmp_path / "m.gguf", "Q8_0", layers=4, architecture="nemotron_h",
                          metadata=metadata)  # fmt: skip
        kinds = {g.kind: g.layers for g in inspect_checkpoint(path).architecture.layers}
        assert kinds == {"full": 1, "mamba2": 2}

    def test_a_split_set_is_one_model_and_its_absent_part_is_said(self, tmp_path):
        for i in (1, 2):
            write_gguf(tmp_path / f"big-Q8_0-0000{i}-of-00003.gguf", "Q8_0")
        found = inspect_checkpoint(tmp_path / "big-Q8_0-00002-of-00003.gguf")
        assert found.files == 2
        assert found.missing == ["big-Q8_0-00003-of-00003.gguf"]
        assert [f.code for f in found.findings] == ["shards_missing"]

    def test_a_folder_with_a_model_and_its_tower(self, tmp_path):
        write_gguf(tmp_path / "model-Q8_0.gguf", "Q8_0")
        write_gguf(tmp_path / "mmproj-model-f16.gguf", "F16", architecture="clip",
                   tensors={"v.blk.0.attn_q": 256})  # fmt: skip
        found = inspect_checkpoint(tmp_path)
        assert found.vision.present
        assert found.vision.encodings == ["fp16"]
        write_gguf(tmp_path / "model-Q4_0.gguf", "Q4_0")
        with pytest.raises(Exception, match="2 GGUF models"):
            inspect_checkpoint(tmp_path)

    def test_sampling_in_the_file(self, tmp_path):
        path = write_gguf(tmp_path / "m.gguf", "Q8_0", metadata=[
            (lambda w, v: w.add_float32("general.sampling.temp", v), 0.5)])  # fmt: skip
        presets = inspect_checkpoint(path).presets
        assert presets.settings == {"temp": 0.5}
        assert presets.adopted_by == ["llama.cpp"]


def test_sampling_presets_and_who_adopts_them(tmp_path):
    presets = {"temperature": 1.0, "top_k": 20, "do_sample": True, "eos_token_id": 7,
               "top_p": float("nan")}  # fmt: skip
    found = inspect_checkpoint(write_checkpoint(tmp_path / "m", DENSE, [], presets=presets))
    assert found.presets.settings == {"temperature": 1.0, "top_k": 20, "do_sample": True}
    assert {"vllm", "sglang"} <= set(found.presets.adopted_by)
    assert "llama.cpp" in found.presets.not_adopted_by


def test_the_embedded_model_is_read(facts):
    require_engine()
    found = inspect_checkpoint(model_file())
    own = facts.models["HuggingFaceTB/SmolLM2-135M-Instruct"].config.value
    layer = found.architecture.layers[0]
    assert layer.layers == own["num_hidden_layers"] == 30
    assert layer.kv_heads == own["num_key_value_heads"]
    assert {u.encoding: u.modules for u in found.encodings} == {
        "gguf_q4_1": 210, "gguf_q8_0": 1, "fp32": 0,
    }  # fmt: skip
    assert found.file_type == "Q4_1"
    assert not found.findings
