"""Which layers of a model hold a cache, and of what shape: from its own ``config.json``.

Shapes are of the whole model, before any sharding and any number type. Source of each reading:
the architecture's own implementation in Transformers, and vLLM's where Transformers has none.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Record
from stackchoice.fit.config import counted, head_dim, kv_heads, need, read, text_config
from stackchoice.fit.recurrent import recurrent_layers

#: Config keys of layer kinds whose arithmetic is not modelled; guessing would be wrong.
NOT_MODELLED = {
    "cross_attention_layers": "cross-attention layers",
    "ssm_cfg": "state-space layers in their old notation",
    "shared_transformer": "a shared attention block",
}

#: Model types whose every layer slides when ``sliding_window`` is set and no list is given.
EVERY_LAYER_SLIDES = ("mistral", "mixtral", "phi3", "starcoder2")
#: Model types that alternate, sliding first, when no list is given.
EVERY_OTHER_SLIDES = ("gemma2", "gpt_oss")
#: Model types whose layers slide from ``max_window_layers`` on.
LATER_LAYERS_SLIDE = ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe")

#: Other names of the same kind in ``layer_types``.
KINDS = {
    "full_attention": "full", "attention": "full", "global": "full", "sliding_attention": "sliding",
    "deepseek_sparse_attention": "full",
    "sliding": "sliding", "local": "sliding", "chunked_attention": "chunked",
    "linear_attention": "recurrent", "mamba": "recurrent", "mamba2": "recurrent",
    "conv": "recurrent", "moe": "none", "mlp": "none", "dense": "none",
}  # fmt: skip
#: The letters of ``hybrid_override_pattern``.
LETTERS = {"M": "recurrent", "*": "full", "-": "none", "E": "none"}


class Layers(Record):
    """Layers of one kind and shape.

    Attention keeps ``kv_heads x (key_dim + value_dim)`` values a token; a latent keeps
    ``latent_values`` (``kv_heads``, ``key_dim`` and ``value_dim`` are then what a release that
    expands it stores); a compressed layer keeps one entry per ``ratio`` tokens; an index keeps
    ``key_dim`` values a token; recurrent layers keep ``state_values`` and
    ``conv_channels x conv_kernel`` whatever the length.
    """

    kind: str
    layers: int
    kv_heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    latent_values: int = 0
    window_tokens: int | None = None
    ratio: int = 1
    state_heads: int = 0
    state_values: int = 0
    state_dtype: str | None = None
    conv_channels: int = 0
    conv_kernel: int = 0


def model_layers(config: dict[str, Any]) -> list[Layers]:
    """Return every cache-bearing layer of a model, draft heads left out.

    Raises
    ------
    UnknownCacheError
        When the config has a layer kind that is not modelled, or lacks a needed key.
    """
    text = text_config(config)
    for key, what in NOT_MODELLED.items():
        if text.get(key):
            raise UnknownCacheError(
                f"config key {key!r}: the cache arithmetic of {what} is not in this release; "
                "the cache size is unknown"
            )
    if text.get("compress_ratios"):
        return _compressed(text)
    if text.get("block_configs"):
        return _one_by_one(text)
    if isinstance(read(text, "num_key_value_heads"), list):
        return _listed_heads(text)
    counts = layer_counts(text)
    groups = [
        _attention(kind, layers, text) for kind, layers in counts.items()
        if layers and kind in ("full", "sliding", "chunked")
    ]  # fmt: skip
    groups += [Layers(**fields) for fields in recurrent_layers(text, counts.get("recurrent", 0))]
    return groups + _index_layers(text)


def draft_layers(config: dict[str, Any], number: int) -> list[Layers]:
    """Return layers of the model's own draft head: attention of its full kind, with its index."""
    text = text_config(config)
    if not number:
        return []
    if text.get("compress_ratios"):
        return [_windowed_entry(text, number)]
    own = [_attention("full", number, text)]
    if text.get("index_topk"):
        own.append(_index(text, number))
    return own


def layer_counts(text: dict[str, Any]) -> dict[str, int]:
    """Count layers by kind: from the lists, patterns and intervals that a config may have."""
    layers = need(text, "num_hidden_layers")
    shared = text.get("num_kv_shared_layers") or 0
    for key in ("layer_types", "layers_block_type"):
        if text.get(key):
            kinds = [_kind(k) for k in counted(text, key, layers)]
            # The last layers of Gemma 3n reuse the cache of an earlier one of their kind.
            return dict(Counter(kinds[: layers - shared]))
    if shared:
        raise UnknownCacheError(
            "config has 'num_kv_shared_layers' but no 'layer_types'; which layers share a cache "
            "is unknown; take the publisher's full config.json"
        )
    if text.get("hybrid_layer_pattern"):  # MiMo-V2: 1 slides
        slides = Counter(counted(text, "hybrid_layer_pattern", layers))
        if set(slides) - {0, 1}:
            raise UnknownCacheError("config key 'hybrid_layer_pattern' has more than 0 and 1")
        return {"full": slides[0], "sliding": slides[1]}
    if pattern := text.get("hybrid_override_pattern"):
        letters = counted({"hybrid_override_pattern": pattern}, "hybrid_override_pattern", layers)
        unknown = set(letters) - set(LETTERS)
        if unknown:
            raise UnknownCacheError(
                f"config key 'hybrid_override_pattern' has {''.join(sorted(unknown))!r}; "
                f"known: {''.join(LETTERS)}"
            )
        return dict(Counter(LETTERS[letter] for letter in letters))
    if linear := text.get("linear_attn_config"):
        # Layer numbers here begin at 1.
        full = len(linear["full_attn_layers"])
        return {"full": full, "recurrent": layers - full}
    if indices := text.get("attn_layer_indices"):
        return {"full": len(indices), "recurrent": layers - len(indices)}
    if period := text.get("attn_layer_period"):
        full = len(range(text.get("attn_layer_offset", 0), layers, period))
        return {"full": full, "recurrent": layers - full}
    if interval := text.get("full_attention_interval"):
        full = layers // interval
        return {"recurrent": layers - full, "full": full}
    if text.get("mamba_d_ssm"):
        return {"full": layers, "recurrent": layers}  # Falcon-H1: both in every layer
    if text.get("model_type") in ("mamba", "mamba2", "falcon_mamba"):
        return {"recurrent": layers}
    return _windowed_counts(text, layers)


def _windowed_counts(text: dict[str, Any], layers: int) -> dict[str, int]:
    """Count full, sliding and chunked layers where the config gives no list."""
    if text.get("attention_chunk_size"):
        if listed := text.get("no_rope_layers"):
            full = sum(1 for rope in listed[:layers] if not rope)
        else:
            full = layers // (text.get("no_rope_layer_interval") or 4)
        return {"chunked": layers - full, "full": full}
    window, kind = text.get("sliding_window"), text.get("model_type")
    uses = text.get("use_sliding_window", kind not in LATER_LAYERS_SLIDE)
    if not window or not uses:
        return {"full": layers}
    if pattern := (text.get("sliding_window_pattern") or text.get("_sliding_window_pattern")):
        full = layers // pattern
        return {"sliding": layers - full, "full": full}
    if kind in EVERY_OTHER_SLIDES:
        return {"sliding": layers - layers // 2, "full": layers // 2}
    if kind in LATER_LAYERS_SLIDE:
        full = min(layers, text.get("max_window_layers", layers))
        return {"full": full, "sliding": layers - full}
    if kind not in EVERY_LAYER_SLIDES:
        raise UnknownCacheError(
            "config has 'sliding_window' but neither 'layer_types' nor a pattern; which "
            "layers slide is unknown; take the publisher's full config.json"
        )
    return {"sliding": layers}


def _kind(name: str) -> str:
    if name not in KINDS:
        raise UnknownCacheError(f"layer type {name!r}: its cache arithmetic is not known")
    return KINDS[name]


def _attention(kind: str, layers: int, text: dict[str, Any]) -> Layers:
    """Return attention layers: heads and sizes, or the latent of MLA."""
    if text.get("kv_lora_rank"):
        nope, rope = text.get("qk_nope_head_dim") or 0, need(text, "qk_rope_head_dim")
        return Layers(
            kind="latent", layers=layers, latent_values=need(text, "kv_lora_rank") + rope,
            kv_heads=need(text, "num_attention_heads"), key_dim=nope and nope + rope,
            value_dim=text.get("v_head_dim") or nope,
        )  # fmt: skip
    heads, key_dim = kv_heads(text), head_dim(text)
    if kind == "full":
        # Gemma 4's global layers have their own heads. It ties K and V weights, yet both are kept.
        heads = text.get("num_global_key_value_heads") or heads
        key_dim = text.get("global_head_dim") or key_dim
    value_dim = text.get("v_head_dim") or key_dim
    if kind == "sliding":  # MiMo-V2's sliding layers have their own
        heads = text.get("swa_num_key_value_heads") or heads
        key_dim = text.get("swa_head_dim") or key_dim
        value_dim = text.get("swa_v_head_dim") or value_dim
    windows = {"sliding": "sliding_window", "chunked": "attention_chunk_size"}
    return Layers(
        kind=kind, layers=layers, kv_heads=heads, key_dim=key_dim,
        value_dim=value_dim,
        window_tokens=need(text, windows[kind]) if kind in windows else None,
    )  # fmt: skip


def _index_layers(text: dict[str, Any]) -> list[Layers]:
    """Return the key caches of sparse-attention indexers, which only some layers may own."""
    layers = need(text, "num_hidden_layers")
    sparse = text.get("sparse_attention_config")
    if isinstance(sparse, dict) and sparse.get("use_sparse_attention", True):
        own = sum(1 for on in counted(sparse, "sparse_attention_freq", layers) if on)
        return [Layers(kind="block_index", layers=own, key_dim=need(sparse, "sparse_index_dim"))]
    if not text.get("index_topk"):
        return []
    own = layers
    if types := text.get("indexer_types"):
        own = sum(1 for kind in counted({"indexer_types": types}, "indexer_types", layers)
                  if kind != "shared")  # fmt: skip
    return [_index(text, own)]


def _index(text: dict[str, Any], layers: int) -> Layers:
    return Layers(kind="index", layers=layers, key_dim=need(text, "index_head_dim"))


def _compressed(text: dict[str, Any]) -> list[Layers]:
    """DeepSeek-V4: every layer keeps a window of entries, some one entry per ``ratio`` tokens."""
    layers = need(text, "num_hidden_layers")
    ratios = Counter(r for r in counted(text, "compress_ratios", layers) if r)
    groups = [_windowed_entry(text, layers)]
    for ratio, number in sorted(ratios.items()):
        groups.append(
            Layers(kind="compressed", layers=number, latent_values=need(text, "head_dim"),
                   ratio=ratio)
        )  # fmt: skip
    indexed = min(ratios, default=0)
    if indexed and text.get("index_topk"):
        groups.append(
            Layers(kind="index", layers=ratios[indexed], key_dim=need(text, "index_head_dim"),
                   ratio=indexed)
        )  # fmt: skip
    return groups


def _windowed_entry(text: dict[str, Any], layers: int) -> Layers:
    return Layers(
        kind="compressed", layers=layers, latent_values=need(text, "head_dim"),
        window_tokens=need(text, "sliding_window"),
    )  # fmt: skip


def _one_by_one(text: dict[str, Any]) -> list[Layers]:
    """Pruned models whose every layer has its own heads, or none (``block_configs``)."""
    heads: Counter[int] = Counter()
    for block in text["block_configs"]:
        attention = block.get("attention", {})
        if attention.get("no_op") or attention.get("replace_with_linear"):
            continue
        if own := attention.get("num_key_value_heads"):
            heads[own] += 1
        elif shared := attention.get("n_heads_in_group"):
            heads[need(text, "num_attention_heads") // shared] += 1
        else:
            raise UnknownCacheError("config key 'block_configs' has a layer without head counts")
    return _by_heads(heads, text)


def _listed_heads(text: dict[str, Any]) -> list[Layers]:
    layers = need(text, "num_hidden_layers")
    key = next(k for k in ("num_key_value_heads", "num_kv_heads") if isinstance(text.get(k), list))
    return _by_heads(Counter(n for n in counted(text, key, layers) if n), text)


def _by_heads(heads: Counter[int], text: dict[str, Any]) -> list[Layers]:
    size = head_dim(text)
    return [
        Layers(kind="full", layers=number, kv_heads=h, key_dim=size, value_dim=size)
        for h, number in sorted(heads.items())
    ]
