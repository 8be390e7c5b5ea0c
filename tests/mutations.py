"""Broken checkpoints by the thousand: one file of a valid one changed, seeded and repeatable."""

import json
import random
import shutil
import struct
from pathlib import Path

from checkpoints import (
    DENSE,
    fp8_blocks,
    mlx_affine,
    nvfp4_modelopt,
    nvfp4_packed,
    tensors_of,
    write_checkpoint,
    write_gguf,
)

EXTREMES = (0, 1, 7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1)
VALUES = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**70), 10**400, 0.5, float("inf"), "", "x" * 5000,
    "\x1b[2J", "\ud800", "re:(a+)+$", [], {}, [[]], {"": {}}, ["full_attention"] * 3, [0] * 9,
)  # fmt: skip


def corpus(folder):
    """Write the valid checkpoints and return their paths."""
    group = {"targets": ["Linear"], "input_activations": None, "weights": {
        "num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}}  # fmt: skip
    packed = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
              "config_groups": {"group_0": group}, "ignore": ["lm_head", "re:.*gate$"]}  # fmt: skip
    layers = {f"model.layers.{i}.mlp.{n}_proj": {"quant_algo": "NVFP4", "group_size": 16}
              for i in range(2) for n in ("up", "gate", "down")}  # fmt: skip
    side = {"hf_quant_config.json": {"producer": {"name": "modelopt"}, "quantization": {
        "quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": "FP8", "quantized_layers": layers,
        "exclude_modules": ["lm_head", "model.layers.0*"]}}}  # fmt: skip
    hybrid = DENSE | {
        "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
        "linear_key_head_dim": 64, "linear_num_value_heads": 4, "linear_value_head_dim": 64,
        "linear_conv_kernel_dim": 4, "mtp_num_hidden_layers": 1, "vision_config": {"depth": 2},
    }  # fmt: skip
    mla = DENSE | {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
                   "v_head_dim": 128, "index_topk": 64, "index_head_dim": 128,
                   "expert_dtype": "fp4", "n_routed_experts": 8, "first_k_dense_replace": 1,
                   "compress_ratios": [0, 4, 0],
                   "sliding_window": 128, "quantization_config": {
                       "quant_method": "fp8", "weight_block_size": [128, 128]}}  # fmt: skip
    mode = {"group_size": 64, "bits": 4}
    paths = [
        write_checkpoint(folder / "packed", DENSE | {"quantization_config": packed},
                         [tensors_of(nvfp4_packed)], presets={"temperature": 1.0}),
        write_checkpoint(folder / "mixed", hybrid, [tensors_of(nvfp4_modelopt)], side=side),
        write_checkpoint(folder / "blocks", mla, [tensors_of(fp8_blocks)]),
        write_checkpoint(folder / "mlx", DENSE | {"quantization": mode},
                         [tensors_of(mlx_affine(4, 64))], index=False),
        write_checkpoint(folder / "lone", hybrid, []) / "config.json",
    ]  # fmt: skip
    (folder / "gguf").mkdir()
    sliding = [("add_sliding_window", 64), ("add_sliding_window_pattern", [True, False])]
    for kind in ("Q4_K", "MXFP4"):
        paths.append(write_gguf(folder / "gguf" / f"m-{kind}.gguf", kind, metadata=sliding))
    return paths


def mutants(paths, scratch, number, seed):
    """Yield ``(what was done, path)``; the path holds one broken copy at a time."""
    rng = random.Random(seed)
    for count in range(number):
        source = rng.choice(paths)
        target = Path(scratch) / "mutant"
        shutil.rmtree(target, ignore_errors=True)
        if source.is_dir():
            shutil.copytree(source, target)
            victims = sorted(p for p in target.iterdir() if p.is_file())
            place = target
        else:
            target.mkdir()
            place = target / source.name
            shutil.copy(source, place)
            victims = [place]
        victim = rng.choice(victims)
        raw = victim.read_bytes()
        done = []
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            raw, what = _change(raw, victim.suffix, rng)
            done.append(what)
        victim.write_bytes(raw)
        yield f"{seed}/{count} {source.name}/{victim.name}: {', '.join(done)}", place


def _change(raw, suffix, rng):
    kinds = ["flip", "flip", "cut", "insert", "extreme", "repeat"]
    if suffix == ".json":
        kinds += ["tree"] * 6
    if suffix == ".safetensors":
        kinds += ["header"] * 6
    kind = rng.choice(kinds)
    # Headers stand at the beginning, and that is where a change matters.
    reach = min(len(raw), rng.choice((32, 512, 8192, 2**16))) or 1
    at = rng.randrange(reach)
    if kind == "flip":
        return raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :], f"byte {at}"
    if kind == "cut":
        at = rng.randrange(len(raw) or 1)
        return raw[:at], f"cut at {at}"
    if kind == "insert":
        return raw[:at] + rng.randbytes(rng.choice((1, 8, 200))) + raw[at:], f"insert at {at}"
    if kind == "extreme":
        width, letter = rng.choice(((4, "I"), (8, "Q")))
        number = rng.choice(EXTREMES) % 2 ** (8 * width)
        return raw[:at] + struct.pack("<" + letter, number) + raw[at + width :], f"{number} at {at}"
    if kind == "repeat":
        part = raw[at : at + rng.choice((16, 400))]
        return raw[:at] + part * rng.choice((2, 50)) + raw[at:], f"repeat at {at}"
    if kind == "header" and len(raw) > 8:
        length = int.from_bytes(raw[:8], "little")
        body, what = _tree(raw[8 : 8 + length], rng)
        return struct.pack("<Q", len(body)) + body + raw[8 + length :], what
    return _tree(raw, rng)


def _tree(raw, rng):
    """Change one value or key somewhere in a JSON text, or nothing where it is none."""
    try:
        tree = json.loads(raw)
    except (ValueError, RecursionError):
        return raw, "no JSON"
    places = []

    def walk(node, depth):
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in pairs:
            places.append((node, key))
            if isinstance(value, dict | list) and depth < 6:
                walk(value, depth + 1)

    if isinstance(tree, dict | list):
        walk(tree, 0)
    if not places:
        return raw, "no places"
    node, key = rng.choice(places)
    value = rng.choice(VALUES)
    if isinstance(node, dict) and rng.random() < 0.2:
        node[rng.choice(("", "x" * 300, "a.b", "__metadata__", "bits"))] = node.pop(key)
    else:
        node[key] = value
    return json.dumps(tree).encode("utf-8", "surrogatepass"), f"{str(key)[:30]} = {str(value)[:20]}"
