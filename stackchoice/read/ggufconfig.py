"""A GGUF file's metadata in the words of a ``config.json``, so that one reading serves both.

Keys and their meaning: llama.cpp, ``src/llama-arch.cpp`` and ``src/models`` (the sources stand in
``data/quant_formats.yaml``). What the file leaves to the engine and no table here tells, stays out,
and the reading of the layers then says what is missing.
"""

from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.quant_formats import QuantFormats

#: Keys of layer kinds for which nothing here says what a layer keeps.
NOT_READ = ("wkv.head_size", "token_shift_count", "decoder_block_count", "posnet.block_count")


def config_of(metadata: dict[str, Any], formats: QuantFormats) -> dict[str, Any]:
    """Return the metadata as a config that ``fit.layers`` reads.

    UnknownCacheError when the file has a kind of layer that no table here describes.
    """
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise UnknownCacheError("the file has no 'general.architecture'; its layers are unknown")
    own = {k[len(name) + 1 :]: v for k, v in metadata.items() if k.startswith(name + ".")}
    for key in NOT_READ:
        if own.get(key):
            raise UnknownCacheError(f"GGUF key {key!r}: what such layers keep is not known here")
    config = {
        ours: own[theirs]
        for ours, theirs in formats.gguf_keys.ids.items()
        if own.get(theirs) is not None
    }
    config["model_type"] = name
    layers = _natural(own, "block_count") - (own.get("nextn_predict_layers") or 0)
    config["num_hidden_layers"] = layers
    if isinstance(config.get("num_attention_heads"), list):
        config["num_attention_heads"] = max(config["num_attention_heads"], default=0)
    if config.get("kv_lora_rank"):
        config |= _latent(own)
    config |= _recurrent(name, own, formats)
    kinds = _kinds(name, own, layers, formats)
    config |= _heads(own, kinds)
    if set(kinds) != {"full_attention"} and not config.get("mamba_d_ssm"):
        config["layer_types"] = kinds
    else:
        config.pop("sliding_window", None)
    if "chunked_attention" in kinds:
        config["attention_chunk_size"] = _row(name, formats.gguf_windows.rows).chunk
    return config


def _natural(own: dict[str, Any], key: str) -> int:
    value = own.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 100_000:
        raise UnknownCacheError(f"GGUF key {key!r} is {str(value)[:40]!r}; a count is needed")
    return value


def _latent(own: dict[str, Any]) -> dict[str, Any]:
    """MLA: sizes of one head before absorption, from the keys that newer converters write."""
    rope = _natural(own, "rope.dimension_count")
    key = own.get("attention.key_length_mla") or own.get("attention.key_length") or 0
    value = own.get("attention.value_length_mla") or own.get("attention.value_length") or 0
    return {"qk_rope_head_dim": rope, "qk_nope_head_dim": max(key - rope, 0), "v_head_dim": value}


def _recurrent(name: str, own: dict[str, Any], formats: QuantFormats) -> dict[str, Any]:
    row = _row(name, formats.gguf_recurrent.rows)
    if row is None:
        if own.get("ssm.state_size") or own.get("ssm.inner_size") or own.get("shortconv.l_cache"):
            raise UnknownCacheError(f"GGUF architecture {name!r}: its recurrent layers are unknown")
        return {}
    if row.kind == "short_conv":
        return {"conv_L_cache": _natural(own, "shortconv.l_cache")}
    if row.kind == "kimi_delta":
        size, heads = _natural(own, "kda.head_dim"), _natural(own, "attention.head_count")
        kernel = _natural(own, "ssm.conv_kernel")
        return {"linear_attn_config": {"num_heads": heads, "head_dim": size,
                                       "short_conv_kernel_size": kernel}}  # fmt: skip
    inner, state = _natural(own, "ssm.inner_size"), _natural(own, "ssm.state_size")
    kernel = _natural(own, "ssm.conv_kernel")
    if row.kind == "mamba":
        return {"state_size": state, "intermediate_size": inner, "conv_kernel": kernel}
    heads, groups = _natural(own, "ssm.time_step_rank"), _natural(own, "ssm.group_count")
    if row.kind == "gated_delta":
        return {
            "linear_num_key_heads": groups, "linear_key_head_dim": state,
            "linear_num_value_heads": heads, "linear_value_head_dim": inner // heads,
            "linear_conv_kernel_dim": kernel,
        }  # fmt: skip
    every = {"mamba_d_ssm": inner} if row.every_layer else {}
    return {
        "mamba_num_heads": heads, "mamba_head_dim": inner // heads, "ssm_state_size": state,
        "n_groups": groups, "conv_kernel": kernel, **every,
    }  # fmt: skip


def _kinds(name: str, own: dict[str, Any], layers: int, formats: QuantFormats) -> list[str]:
    """Return the kind of each layer, in the words of ``layer_types``."""
    heads = _each(own, "attention.head_count_kv", layers)
    wide = _each(own, "feed_forward_length", layers)
    recurrent = _each(own, "attention.recurrent_layers", layers)
    row = _row(name, formats.gguf_recurrent.rows)
    slides = _slides(name, own, layers, formats)
    interval = own.get("full_attention_interval")
    kinds = []
    for i in range(layers):
        if row is None or row.every_layer:
            stateful = False
        elif recurrent is not None:
            stateful = bool(recurrent[i])
        elif row.kind == "gated_delta":
            stateful = (i + 1) % (interval or 4) != 0
        elif heads is not None:
            stateful = heads[i] == 0 and not (row.kind == "mamba2" and wide and wide[i])
        else:
            stateful = row.kind in ("mamba2", "mamba")
        if stateful:
            kinds.append("linear_attention")
        elif heads is not None and heads[i] == 0:
            kinds.append("mlp")
        else:
            kinds.append(slides[i])
    return kinds


def _each(own: dict[str, Any], key: str, layers: int) -> list[int] | None:
    """Return a per-layer list of the file (None where it has one number or nothing)."""
    value = own.get(key)
    if not isinstance(value, list):
        return None
    if len(value) < layers or not all(isinstance(v, int) for v in value):
        raise UnknownCacheError(f"GGUF key {key!r} has {len(value)} entries for {layers} layers")
    return value[:layers]


def _row(name: str, rows: list[Any]) -> Any:
    """Return the row of a table that is about an architecture; None where none is."""
    return next((r for r in rows if name in r.architectures), None)


def _slides(name: str, own: dict[str, Any], layers: int, formats: QuantFormats) -> list[str]:
    full, sliding = "full_attention", "sliding_attention"
    row = _row(name, formats.gguf_windows.rows)
    window = own.get("attention.sliding_window")
    if own.get("attention.compress_ratios") or not (window or (row and row.chunk)) or window == 0:
        return [full] * layers
    listed = _each(own, "attention.sliding_window_pattern", layers)
    if listed is not None:
        return [sliding if on else full for on in listed]
    period = own.get("attention.sliding_window_pattern")
    if not isinstance(period, int) or isinstance(period, bool) or period < 1:
        period = row.period if row else None
    if period is None:
        raise UnknownCacheError(
            f"GGUF architecture {name!r} has a sliding window and does not say which layers slide"
        )
    kind = "chunked_attention" if row and row.chunk else sliding
    keeps = 0 if row and row.full_first else period - 1
    return [full if i % period == keeps else kind for i in range(layers)]


def _heads(own: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """Heads and their sizes; sliding layers may have their own."""
    heads = own.get("attention.head_count_kv")
    sizes = {
        "head_dim": "key_length", "v_head_dim": "value_length", "swa_head_dim": "key_length_swa",
        "swa_v_head_dim": "value_length_swa",
    }  # fmt: skip
    found = {
        ours: own[f"attention.{theirs}"] for ours, theirs in sizes.items()
        if own.get(f"attention.{theirs}")
    }  # fmt: skip
    if own.get("attention.kv_lora_rank"):
        found = {}
    if not isinstance(heads, list):
        return {**found, **({"num_key_value_heads": heads} if heads else {})}
    by_kind: dict[str, set[int]] = {}
    for kind, number in zip(kinds, heads, strict=False):
        by_kind.setdefault(kind, set()).add(number)
    if any(len(v) > 1 for k, v in by_kind.items() if k.endswith("attention") and "linear" not in k):
        if set(by_kind) - {"full_attention", "mlp"}:
            raise UnknownCacheError("heads differ within layers that slide; not known here")
        return {**found, "num_key_value_heads": heads[: len(kinds)]}
    full = by_kind.get("full_attention") or by_kind.get("sliding_attention") or {0}
    slide = by_kind.get("sliding_attention", set())
    own_heads = {"swa_num_key_value_heads": slide.pop()} if slide - full else {}
    return {**found, **({"num_key_value_heads": full.pop()} if full != {0} else {}), **own_heads}
