"""``inspect`` on the index and headers of sharded checkpoints of 60 GB and more, in sparse files.

``python tests/benchmarks/big_checkpoint.py``: a dense model in bf16, a mixture of experts in
NVFP4 with a list of every module, and a GGUF with a tokenizer of 250,000 tokens.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gguf
from checkpoints import DENSE, header, nvfp4_modelopt, plain_parts

from stackchoice import load_facts
from stackchoice.read import inspect_checkpoint

SHARD = 5 * 10**9


def write(folder: Path, config: dict, tensors: dict, side: dict | None = None) -> int:
    """Write shards of 5 GB as holes; return the bytes of all tensors."""
    shards, size = [{}], 0
    for name, tensor in tensors.items():
        own = header({name: tensor})[1]
        if size + own > SHARD:
            shards.append({})
            size = 0
        shards[-1][name] = tensor
        size += own
    total, names = 0, {}
    folder.mkdir()
    for i, part in enumerate(shards, 1):
        raw, data = header(part)
        name = f"model-{i:05d}-of-{len(shards):05d}.safetensors"
        with (folder / name).open("wb") as file:
            file.write(raw)
            file.truncate(len(raw) + data)
        names |= dict.fromkeys(part, name)
        total += data
    index = {"metadata": {"total_size": total}, "weight_map": names}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps(config))
    if side:
        (folder / "hf_quant_config.json").write_text(json.dumps(side))
    return total


def dense() -> tuple[dict, dict]:
    """64 layers of hidden size 7168 in bf16: some 66 GB."""
    config = DENSE | {"num_hidden_layers": 64, "hidden_size": 7168, "num_attention_heads": 56,
                      "num_key_value_heads": 8, "head_dim": 128,
                      "intermediate_size": 18432}  # fmt: skip
    shapes = {"self_attn.q_proj": (7168, 7168), "self_attn.k_proj": (1024, 7168),
              "self_attn.v_proj": (1024, 7168), "self_attn.o_proj": (7168, 7168),
              "mlp.gate_proj": (18432, 7168), "mlp.up_proj": (18432, 7168),
              "mlp.down_proj": (7168, 18432)}  # fmt: skip
    tensors = {"model.embed_tokens.weight": ("BF16", (152064, 7168)),
               "lm_head.weight": ("BF16", (152064, 7168))}  # fmt: skip
    for i in range(64):
        for name, shape in shapes.items():
            tensors |= {f"model.layers.{i}.{name}{s}": t for s, t in plain_parts(*shape).items()}
    return config, tensors


def experts() -> tuple[dict, dict, dict]:
    """40 layers of 128 experts in NVFP4: 15,360 modules of four tensors, some 68 GB."""
    config = DENSE | {"num_hidden_layers": 40, "hidden_size": 4096, "num_experts": 128,
                      "num_experts_per_tok": 8, "moe_intermediate_size": 1536}  # fmt: skip
    tensors = {"model.embed_tokens.weight": ("BF16", (152064, 4096))}
    layers = {}
    for i in range(40):
        for j in range(128):
            for name in ("gate", "up", "down"):
                own = f"model.layers.{i}.mlp.experts.{j}.{name}_proj"
                shape = (4096, 1536) if name == "down" else (1536, 4096)
                tensors |= {f"{own}{s}": t for s, t in nvfp4_modelopt(*shape).items()}
                layers[own] = {"quant_algo": "NVFP4", "group_size": 16}
    spared = [f"model.layers.{i}.self_attn*" for i in range(40)]
    side = {"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers,
                             "exclude_modules": spared}}  # fmt: skip
    return config, tensors, side


def tokenizer(path: Path) -> None:
    """A GGUF whose header is mostly tokenizer."""
    writer = gguf.GGUFWriter(str(path), "llama")
    for add, value in (("block_count", 32), ("head_count", 32), ("head_count_kv", 8),
                       ("embedding_length", 4096), ("context_length", 8192)):  # fmt: skip
        getattr(writer, f"add_{add}")(value)
    writer.add_token_list([f"token{i}" for i in range(250_000)])
    writer.add_token_types([1] * 250_000)
    writer.add_token_merges([f"a{i} b{i}" for i in range(450_000)])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Write, read five times, print the median."""
    facts = load_facts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = {"dense bf16": write(folder / "dense bf16", *dense())}
        sizes["experts nvfp4"] = write(folder / "experts nvfp4", *experts())
        tokenizer(folder / "tokenizer.gguf")
        for what in ("dense bf16", "experts nvfp4", "tokenizer.gguf"):
            times = []
            for _ in range(5):
                start, own = time.perf_counter(), time.process_time()
                found = inspect_checkpoint(folder / what, facts)
                times.append((time.process_time() - own, time.perf_counter() - start))
            print(f"{what}: {sizes.get(what, 0) / 1e9:.1f} GB in {found.files} files, "
                  f"{found.tensors or 0:,} tensors: {sorted(times)[2][0]:.3f} s of this process, "
                  f"{sorted(times)[2][1]:.3f} s on the clock")  # fmt: skip


if __name__ == "__main__":
    main()
