"""Small checkpoints written anew for the tests: safetensors by hand, GGUF with the gguf package."""

import json
import struct
from pathlib import Path

import gguf
import numpy as np

WIDTHS = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "U32": 4, "I64": 8, "I16": 2,
          "F8_E4M3": 1, "F8_E8M0": 1, "U8": 1, "I8": 1}  # fmt: skip


def header(tensors, metadata=None, **changes):
    """Return the header of a safetensors file as bytes; ``tensors`` is name -> (dtype, shape)."""
    tree, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = WIDTHS[dtype] * int(np.prod(shape, dtype=object))
        tree[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    if metadata:
        tree["__metadata__"] = metadata
    tree.update(changes)
    raw = json.dumps(tree).encode()
    return struct.pack("<Q", len(raw)) + raw, at


def write_safetensors(path, tensors, metadata=None):
    """Write one file whose data is a hole of the right size."""
    raw, size = header(tensors, metadata)
    with Path(path).open("wb") as file:
        file.write(raw)
        file.truncate(len(raw) + size)


def write_checkpoint(folder, config, shards, *, side=None, index=True, total=None, presets=None):
    """Write a folder: config, index and shards (each name -> (dtype, shape))."""
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    if side:
        for name, tree in side.items():
            (folder / name).write_text(json.dumps(tree))
    if presets:
        (folder / "generation_config.json").write_text(json.dumps(presets))
    names, stored = {}, 0
    for i, tensors in enumerate(shards, 1):
        name = f"model-{i:05d}-of-{len(shards):05d}.safetensors"
        write_safetensors(folder / name, tensors)
        names |= dict.fromkeys(tensors, name)
        stored += header(tensors)[1]
    if index and shards:
        tree = {"metadata": {"total_size": stored if total is None else total}, "weight_map": names}
        (folder / "model.safetensors.index.json").write_text(json.dumps(tree))
    return folder


DENSE = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 2,
    "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1024, "torch_dtype": "bfloat16",
    "max_position_embeddings": 4096, "tie_word_embeddings": False,
}  # fmt: skip
LINEAR = {
    "self_attn.q_proj": (256, 256), "self_attn.k_proj": (128, 256), "self_attn.v_proj": (128, 256),
    "self_attn.o_proj": (256, 256), "mlp.gate_proj": (512, 256), "mlp.up_proj": (512, 256),
    "mlp.down_proj": (256, 512),
}  # fmt: skip


def plain_parts(out, columns):
    return {".weight": ("BF16", (out, columns))}


def nvfp4_modelopt(out, columns):
    return {
        ".weight": ("U8", (out, columns // 2)), ".weight_scale": ("F8_E4M3", (out, columns // 16)),
        ".weight_scale_2": ("F32", ()), ".input_scale": ("F32", ()),
    }  # fmt: skip


def nvfp4_packed(out, columns):
    return {
        ".weight_packed": ("U8", (out, columns // 2)),
        ".weight_scale": ("F8_E4M3", (out, columns // 16)), ".weight_global_scale": ("F32", (1,)),
    }  # fmt: skip


def mxfp4_packed(out, columns):
    return {".weight_packed": ("U8", (out, columns // 2)),
            ".weight_scale": ("U8", (out, columns // 32))}  # fmt: skip


def fp8_blocks(out, columns):
    return {".weight": ("F8_E4M3", (out, columns)),
            ".weight_scale_inv": ("F32", (-(-out // 128), -(-columns // 128)))}  # fmt: skip


def fp8_tensor(out, columns):
    return {".weight": ("F8_E4M3", (out, columns)), ".weight_scale": ("F32", ()),
            ".input_scale": ("F32", ())}  # fmt: skip


def fp8_channels(out, columns):
    return {".weight": ("F8_E4M3", (out, columns)), ".weight_scale": ("BF16", (out, 1))}


def mxfp8(out, columns):
    return {".weight": ("F8_E4M3", (out, columns)), ".weight_scale": ("U8", (out, columns // 32))}


def gptq4(out, columns):
    groups = columns // 128
    return {
        ".qweight": ("I32", (columns // 8, out)), ".qzeros": ("I32", (groups, out // 8)),
        ".scales": ("F16", (groups, out)), ".g_idx": ("I32", (columns,)),
    }  # fmt: skip


def awq4(out, columns):
    groups = columns // 128
    return {".qweight": ("I32", (columns, out // 8)), ".qzeros": ("I32", (groups, out // 8)),
            ".scales": ("F16", (groups, out))}  # fmt: skip


def packed_int4(out, columns):
    return {
        ".weight_packed": ("I32", (out, columns // 8)),
        ".weight_scale": ("BF16", (out, columns // 32)), ".weight_shape": ("I64", (2,)),
    }  # fmt: skip


def int8(out, columns):
    return {".weight": ("I8", (out, columns)), ".weight_scale": ("BF16", (out, 1))}


def nf4(out, columns):
    return {
        ".weight": ("U8", (out * columns // 2, 1)),
        ".weight.absmax": ("F32", (out * columns // 64,)),
        ".weight.quant_map": ("F32", (16,)),
        ".weight.quant_state.bitsandbytes__nf4": ("U8", (80,)),
    }  # fmt: skip


def llm_int8(out, columns):
    return {".weight": ("I8", (out, columns)), ".SCB": ("F32", (out,))}


def exl3(out, columns):
    return {".trellis": ("I16", (columns // 16, out // 16, 64)), ".suh": ("F16", (columns,)),
            ".svh": ("F16", (out,))}  # fmt: skip


def mlx_affine(bits, group):
    def parts(out, columns):
        return {".weight": ("U32", (out, columns * bits // 32)),
                ".scales": ("BF16", (out, columns // group)),
                ".biases": ("BF16", (out, columns // group))}  # fmt: skip

    return parts


def mlx_float(bits, group):
    def parts(out, columns):
        return {".weight": ("U32", (out, columns * bits // 32)),
                ".scales": ("U8", (out, columns // group))}  # fmt: skip

    return parts


def tensors_of(parts, layers=2, prefix="model.", only=None, experts=0):
    """Return tensors of a small dense model whose linear modules are stored by ``parts``."""
    found = {f"{prefix}embed_tokens.weight": ("BF16", (1024, 256))}
    for i in range(layers):
        for name, shape in LINEAR.items():
            own = parts if only is None or name in only else plain_parts
            for suffix, tensor in own(*shape).items():
                found[f"{prefix}layers.{i}.{name}{suffix}"] = tensor
        for j in range(experts):
            for suffix, tensor in parts(512, 256).items():
                found[f"{prefix}layers.{i}.mlp.experts.{j}.gate_proj{suffix}"] = tensor
        found[f"{prefix}layers.{i}.input_layernorm.weight"] = ("BF16", (256,))
    found["lm_head.weight"] = ("BF16", (1024, 256))
    return found


def write_gguf(path, kind, *, layers=2, metadata=(), file_type=None, architecture="llama",
               embedding="F16", tensors=None):  # fmt: skip
    """Write a small GGUF model whose matrices have one type, with the ``gguf`` package."""
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name("test model")
    writer.add_block_count(layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(256)
    writer.add_feed_forward_length(512)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(64)
    if file_type is not None:
        writer.add_file_type(file_type)
    for add, value in metadata:
        getattr(writer, add)(value) if isinstance(add, str) else add(writer, value)
    writer.add_token_list([f"t{i}" for i in range(64)])
    writer.add_chat_template("{{ messages }}")
    rows = tensors or {"attn_q": 256, "attn_output": 256, "ffn_up": 512}
    add_tensor(writer, "token_embd.weight", 256, 64, embedding)
    for i in range(layers):
        for name, out in rows.items():
            add_tensor(writer, f"blk.{i}.{name}.weight", 256, out, kind)
        add_tensor(writer, f"blk.{i}.attn_norm.weight", 256, None, "F32")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_tensor(writer, name, columns, out, kind):
    """Add a tensor of any GGML type, its data all zero."""
    number = gguf.GGMLQuantizationType[kind]
    block, size = gguf.GGML_QUANT_SIZES[number]
    shape = (columns,) if out is None else (out, columns)
    raw = np.zeros((*shape[:-1], columns // block * size), dtype=np.uint8)
    if kind in ("F32", "F16"):
        raw = np.zeros(shape, dtype=np.float32 if kind == "F32" else np.float16)
        writer.add_tensor(name, raw)
    else:
        writer.add_tensor(name, raw, raw_dtype=number)
