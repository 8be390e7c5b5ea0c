"""Which layers of a model hold a cache, and of what shape: from its own ``config.json``.

Shapes are of the whole model, before any sharding and any number type. Source of each reading:
the architecture's own implementation in Transformers, and vLLM's where Transformers has none.
"""

from collections import Counter
from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.facts.datum import Record
from stackchoice.fit.config import (
    counted,
    head_dim,
    kv_heads,
    need,
    read,
    reads_config,
    stated,
    text_config,
    whole,
)  # fmt: skip
from stackchoice.fit.kinds import REPEATING, SHARING, layer_counts, owners, refuse_unread
from stackchoice.fit.recurrent import recurrent_layers

#: Kinds of layers that keep keys of an index beside the cache.
INDEXES = ("index", "block_index")
#: The key with the window of layers that do not keep every token.
WINDOWS = {"sliding": "sliding_window", "chunked": "attention_chunk_size"}


class Layers(Record):
    """Layers of one kind and shape.

    Attention keeps ``kv_heads x (key_dim + value_dim)`` values a token; a latent keeps
    ``latent_values`` (``kv_heads``, ``key_dim`` and ``value_dim`` are then what a release that
    expands it stores); a compressed layer keeps one entry per ``ratio`` tokens; an index keeps
    ``key_dim`` values a token; recurrent layers keep ``state_values`` and
    ``conv_channels x conv_kernel`` whatever the length; ``state_dtype`` is the config's word, and
    ``reference_dtype`` what the model's own code keeps where the config has none.
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
    reference_dtype: str | None = None
    conv_channels: int = 0
    conv_kernel: int = 0


@reads_config
def model_layers(config: dict[str, Any], *, shared_too: bool = False) -> list[Layers]:
    """Return every cache-bearing layer of a model, draft heads left out.

    With ``shared_too`` layers that read the cache of another have one too, as some engines do it.

    UnknownCacheError when the config has a layer kind that is not modelled, or lacks a needed key.
    """
    text = text_config(config)
    return _layers({k: v for k, v in text.items() if not shared_too or k not in SHARING})


def _layers(text: dict[str, Any]) -> list[Layers]:
    refuse_unread(text)
    if text.get("per_layer_config"):
        return _overridden(text)
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
    return groups + _index_layers(text, counts.get("full", 0))


@reads_config
def draft_layers(config: dict[str, Any], number: int) -> list[Layers]:
    """Return layers of the model's own draft head: attention of its full kind, with its index."""
    text = text_config(config)
    if not number:
        return []
    if text.get("compress_ratios"):
        return [_windowed_entry(text, number)]
    lists = ("layer_types", "indexer_types", "sparse_attention_config")
    plain = {k: v for k, v in text.items() if k not in lists}
    return [_attention("full", number, text), *_index_layers(plain, number)]


def _attention(kind: str, layers: int, text: dict[str, Any]) -> Layers:
    """Return attention layers: heads and sizes, or the latent of MLA."""
    if text.get("kv_lora_rank") and text.get("use_mla") is not False:
        nope = stated(text, "qk_nope_head_dim")
        # A latent without positions has none of the rotated values (glm5_next).
        rope = 0 if text.get("qk_rope_head_dim") == 0 else need(text, "qk_rope_head_dim")
        return Layers(
            kind="latent", layers=layers, latent_values=need(text, "kv_lora_rank") + rope,
            kv_heads=need(text, "num_attention_heads"), key_dim=nope and nope + rope,
            value_dim=stated(text, "v_head_dim") or nope,
            window_tokens=need(text, WINDOWS[kind]) if kind in WINDOWS else None,
        )  # fmt: skip
    heads, key_dim = kv_heads(text), head_dim(text)
    if kind == "full":
        # Gemma 4's global layers have their own heads. It ties K and V weights, yet both are kept.
        heads = stated(text, "num_global_key_value_heads") or heads
        key_dim = stated(text, "global_head_dim") or key_dim
    value_dim = stated(text, "v_head_dim") or key_dim
    if kind == "sliding":  # MiMo-V2's sliding layers have their own
        heads = stated(text, "swa_num_key_value_heads") or heads
        key_dim = stated(text, "swa_head_dim") or key_dim
        value_dim = stated(text, "swa_v_head_dim") or value_dim
        other = text.get("attention_other_setting")  # Step-3.5: the other kind's own heads
        if isinstance(other, dict) and other.get("attention_type") == "sliding_attention":
            heads = stated(other, "num_attention_groups") or heads
            key_dim = value_dim = stated(other, "head_dim") or key_dim
    return Layers(
        kind=kind, layers=layers, kv_heads=heads, key_dim=key_dim,
        value_dim=value_dim,
        window_tokens=need(text, WINDOWS[kind]) if kind in WINDOWS else None,
    )  # fmt: skip


def _overridden(text: dict[str, Any]) -> list[Layers]:
    """Layers for some of which the config overrides keys (``per_layer_config`` of Transformers).

    Layers with the same overrides are read as a model of their own, with their part of each list
    that has an entry a layer.
    """
    layers, changes = need(text, "num_hidden_layers"), text["per_layer_config"]
    if not text.get("layer_types"):
        raise UnknownCacheError(
            "config has 'per_layer_config' but no 'layer_types'; take the publisher's full config"
        )
    plain = {k: v for k, v in text.items() if k not in ("per_layer_config", *SHARING, *REPEATING)}
    alike: dict[str, list[int]] = {}
    own = {int(layer): change for layer, change in changes.items()}
    for layer in owners(text, layers):
        if not any("att" in part for part in own.get(layer, {}).get("skip", ())):
            alike.setdefault(repr(sorted(own.get(layer, {}).items())), []).append(layer)
    groups: list[Layers] = []
    for members in alike.values():
        lists = {
            key: [value[i] for i in members] for key, value in plain.items()
            if isinstance(value, list) and len(value) == layers
        }  # fmt: skip
        part = {**plain, **lists, **own.get(members[0], {}), "num_hidden_layers": len(members)}
        groups += _layers(part)
    return groups


def _index_layers(text: dict[str, Any], full: int) -> list[Layers]:
    """Return the key caches of sparse-attention indexers, which only some layers may own.

    Among other kinds only layers of full attention have one. Keys pooled over several tokens are
    one entry for all of them: in the index's own 8 bits (``index_kpool``), or in 16
    (``indexer_compress_ratio``; SGLang ``QSATokenToKVPool``).
    """
    layers = need(text, "num_hidden_layers")
    words = counted(text, "layer_types", layers) if text.get("layer_types") else []
    if own := sum(word in config_keys().block_indexed for word in words):
        return [Layers(kind="block_index", layers=own, key_dim=need(text, "index_head_dim"))]
    sparse = text.get("sparse_attention_config")
    if isinstance(sparse, dict) and sparse.get("use_sparse_attention", True):
        own = sum(1 for on in counted(sparse, "sparse_attention_freq", layers) if on)
        return [Layers(kind="block_index", layers=own, key_dim=need(sparse, "sparse_index_dim"))]
    pooled = text.get("indexer_budget")
    if not (text.get("index_topk") or pooled) or text.get("use_dsa") is False:
        return []
    indexed = [word in config_keys().indexed for word in words]
    if not any(indexed):
        indexed = [config_keys().kinds.get(word) == "full" for word in words] or [True] * full
    types = {"indexer_types": text.get("indexer_types") or _indexer_types(text, len(indexed))}
    kinds = counted(types, "indexer_types", len(indexed))
    indexed = [on and kind != "shared" for on, kind in zip(indexed, kinds, strict=True)]
    if not (own := sum(indexed)):
        return []
    if pooled:
        keys = need(text, "indexer_kv_heads") * need(text, "indexer_head_dim")
        ratio = need(text, "indexer_compress_ratio")
        return [Layers(kind="block_index", layers=own, key_dim=keys, ratio=ratio)]
    return [Layers(kind="index", layers=own, key_dim=need(text, "index_head_dim"),
                   ratio=text.get("index_kpool") or 1)]  # fmt: skip


def _indexer_types(text: dict[str, Any], layers: int) -> list[str]:
    """Return which layers run an indexer where a schedule says it: ``F`` and ``S``, or every n-th.

    Source: vLLM ``deepseek_v2.py``, SGLang ``configs/model_config.py``, Transformers glm_moe_dsa.
    """
    if pattern := text.get("index_topk_pattern"):
        return [*("shared" if word in ("S", "shared") else "full" for word in pattern),
                *["full"] * layers]  # fmt: skip
    every = whole(text, "index_topk_freq") or 1
    first = (whole(text, "index_skip_topk_offset") or 2) - 1
    return ["shared" if max(i - first, 0) % every else "full" for i in range(layers)]


def _compressed(text: dict[str, Any]) -> list[Layers]:
    """DeepSeek-V4: every layer keeps a window of entries, some one entry per ``ratio`` tokens."""
    layers = need(text, "num_hidden_layers")
    ratios = Counter(r for r in counted(text, "compress_ratios", layers) if r)
    size, indexed = need(text, "head_dim"), min(ratios, default=0)
    groups = [_windowed_entry(text, layers)] + [
        Layers(kind="compressed", layers=number, latent_values=size, ratio=ratio)
        for ratio, number in sorted(ratios.items())
    ]
    if indexed and text.get("index_topk"):
        keys = need(text, "index_head_dim")
        groups.append(Layers(kind="index", layers=ratios[indexed], key_dim=keys, ratio=indexed))
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
        if other := next((k for k in config_keys().block_kinds if attention.get(k)), None):
            raise UnknownCacheError(
                f"config key 'block_configs' has {other!r}: its cache arithmetic is not known"
            )
        if own := attention.get("num_key_value_heads"):
            heads[own] += 1
        elif shared := attention.get("n_heads_in_group"):
            heads[need(text, "num_attention_heads") // shared] += 1
        else:
            raise UnknownCacheError("config key 'block_configs' has a layer without head counts")
    return _by_heads(heads, text)


def _listed_heads(text: dict[str, Any]) -> list[Layers]:
    """Layers that each have their own number of heads, none where a layer has no attention."""
    layers, key = need(text, "num_hidden_layers"), "num_key_value_heads"
    heads = counted({key: read(text, key)}, key, layers)
    if text.get("layer_types"):
        own = {i: {key: n} if n else {"skip": ["attention"]} for i, n in enumerate(heads)}
        return _overridden({**text, "per_layer_config": own})
    if layer_counts({k: v for k, v in text.items() if not isinstance(v, list)}) != {"full": layers}:
        raise UnknownCacheError(
            f"config key {key!r} is a list, and which of its layers are of full attention is not "
            "said; take the publisher's full config.json"
        )
    return _by_heads(Counter(n for n in heads if n), text)


def _by_heads(heads: Counter[int], text: dict[str, Any]) -> list[Layers]:
    size = head_dim(text)
    return [
        Layers(kind="full", layers=number, kv_heads=h, key_dim=size, value_dim=size)
        for h, number in sorted(heads.items())
    ]
