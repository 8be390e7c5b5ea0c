"""Cache bytes per layer kind, from a model's own ``config.json``.

Bytes per sequence are what one live sequence occupies: keys and values that grow with its
tokens, sliding-window layers that grow up to their window, and recurrent state that does not
grow. Formulas: the architecture's own reference implementation in Transformers.
"""

from __future__ import annotations

from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Record

BYTES_PER_ELEMENT = {"float32": 4, "bfloat16": 2, "float16": 2, "fp8": 1, "int8": 1}

#: Config keys of layer kinds whose arithmetic is not modelled; guessing would be wrong.
NOT_MODELLED = {
    "index_topk": "sparse-attention indexer keys",
    "compress_ratios": "compressed attention layers",
    "attention_chunk_size": "chunked attention",
    "hybrid_override_pattern": "Mamba layers",
    "linear_attn_config": "Kimi Delta Attention layers",
    "ssm_cfg": "state-space layers",
    "ssm_state_size": "Mamba layers",
    "mamba_d_state": "Mamba layers",
    "mamba_d_ssm": "Mamba layers",
    "block_configs": "layers that differ one by one",
    "cross_attention_layers": "cross-attention layers",
    "num_kv_shared_layers": "layers that share one cache",
    "sparse_attention_config": "block-sparse attention with an index cache",
    "multi_query": "multi-query attention in its old notation",
    "new_decoder_architecture": "grouped-query attention in its old notation",
}

#: Model types whose every layer slides when ``sliding_window`` is set and no list is given.
EVERY_LAYER_SLIDES = ("mistral", "mixtral", "phi3", "starcoder2")


class LayerGroup(Record):
    """Layers of one kind. ``window_tokens`` is None where the cache grows without limit."""

    kind: str
    layers: int
    bytes_per_token: int = 0
    window_tokens: int | None = None
    state_bytes: int = 0

    def bytes_at(self, tokens: int) -> int:
        """Bytes that these layers hold for one sequence of ``tokens`` tokens."""
        held = tokens if self.window_tokens is None else min(tokens, self.window_tokens)
        return held * self.bytes_per_token + self.state_bytes


class CacheLayout(Record):
    """All cache-bearing layers of a model, at one cache type."""

    groups: list[LayerGroup]
    kv_dtype: str

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes each further token costs, in layers that keep every token."""
        return sum(g.bytes_per_token for g in self.groups if g.window_tokens is None)

    @property
    def state_bytes_per_sequence(self) -> int:
        """Bytes of recurrent and convolution state of one sequence, whatever its length."""
        return sum(g.state_bytes for g in self.groups)

    def bytes_per_sequence(self, tokens: int) -> int:
        """Bytes of one live sequence at ``tokens`` tokens."""
        return sum(g.bytes_at(tokens) for g in self.groups)


def cache_layout(config: dict[str, Any], kv_dtype: str | None = None) -> CacheLayout:
    """Read the cache layout of a model from its ``config.json``.

    Parameters
    ----------
    config
        The parsed file; a multimodal model's ``text_config`` is found inside it.
    kv_dtype
        Type of the stored keys and values; the model's own ``dtype`` when not given.

    Raises
    ------
    UnknownCacheError
        When the config has a layer kind that is not modelled, or lacks a needed key.

    Notes
    -----
    Full and sliding attention: ``layers x 2 x kv_heads x head_dim x bytes`` per token. MLA:
    ``layers x (kv_lora_rank + qk_rope_head_dim) x bytes``. Gated DeltaNet: a state matrix
    ``value_heads x key_dim x value_dim`` in ``mamba_ssm_dtype`` and, on the reference path,
    all ``linear_conv_kernel_dim`` convolution columns in the model's dtype.
    """
    text = config.get("text_config", config)
    for key, what in NOT_MODELLED.items():
        if text.get(key):
            raise UnknownCacheError(
                f"config key {key!r}: the cache arithmetic of {what} is not in this release; "
                "the cache size is unknown"
            )
    model_dtype = text.get("dtype") or text.get("torch_dtype") or config.get("torch_dtype")
    dtype = kv_dtype or model_dtype or "bfloat16"
    if dtype not in BYTES_PER_ELEMENT:
        known = ", ".join(BYTES_PER_ELEMENT)
        raise UnknownCacheError(f"cache type {dtype!r} is not known; known: {known}")
    counts = _layer_counts(text)
    groups = [
        group
        for kind, layers in counts.items()
        if (group := _group(kind, layers, text, BYTES_PER_ELEMENT[dtype], model_dtype))
    ]
    return CacheLayout(groups=groups, kv_dtype=dtype)


def _layer_counts(text: dict[str, Any]) -> dict[str, int]:
    """Count layers by kind: from ``layer_types``, else from the interval or pattern keys."""
    layers = _need(text, "num_hidden_layers")
    types = text.get("layer_types")
    if types:
        return {kind: types.count(kind) for kind in dict.fromkeys(types)}
    if interval := text.get("full_attention_interval"):
        full = layers // interval
        return {"linear_attention": layers - full, "full_attention": full}
    if text.get("sliding_window") and (pattern := text.get("sliding_window_pattern")):
        full = layers // pattern
        return {"sliding_attention": layers - full, "full_attention": full}
    if text.get("sliding_window") and text.get("use_sliding_window", True):
        if text.get("model_type") not in EVERY_LAYER_SLIDES:
            raise UnknownCacheError(
                "config has 'sliding_window' but neither 'layer_types' nor a pattern; which "
                "layers slide is unknown; take the publisher's full config.json"
            )
        return {"sliding_attention": layers}
    return {"full_attention": layers}


def _group(
    kind: str, layers: int, text: dict[str, Any], element: int, model_dtype: str | None
) -> LayerGroup | None:
    if kind == "linear_attention":
        key_heads, key_dim, value_heads, value_dim, columns = (
            _need(text, f"linear_{name}")
            for name in (
                "num_key_heads", "key_head_dim", "num_value_heads", "value_head_dim",
                "conv_kernel_dim",
            )
        )  # fmt: skip
        state = value_heads * key_dim * value_dim * _bytes(text.get("mamba_ssm_dtype", "float32"))
        channels = 2 * key_heads * key_dim + value_heads * value_dim
        convolution = channels * columns * _bytes(model_dtype or "bfloat16")
        return LayerGroup(kind=kind, layers=layers, state_bytes=layers * (state + convolution))
    if kind not in ("full_attention", "sliding_attention"):
        raise UnknownCacheError(f"layer type {kind!r}: its cache arithmetic is not known")
    window = _need(text, "sliding_window") if kind == "sliding_attention" else None
    if "kv_lora_rank" in text:
        values = text["kv_lora_rank"] + _need(text, "qk_rope_head_dim")
        return LayerGroup(
            kind="latent_attention", layers=layers, bytes_per_token=layers * values * element
        )
    heads, head_dim = _head_shape(text, kind)
    per_token = layers * 2 * heads * head_dim * element
    return LayerGroup(kind=kind, layers=layers, bytes_per_token=per_token, window_tokens=window)


def _head_shape(text: dict[str, Any], kind: str) -> tuple[int, int]:
    """KV heads and head size; global layers may have their own (``global_head_dim``)."""
    heads = text.get("num_key_value_heads") or _need(text, "num_attention_heads")
    # Never the quotient where the file says otherwise: GLM and Gemma differ from it.
    head_dim = text.get("head_dim") or _need(text, "hidden_size") // _need(
        text, "num_attention_heads"
    )
    if kind == "full_attention":
        heads = text.get("num_global_key_value_heads") or heads
        head_dim = text.get("global_head_dim") or head_dim
    return heads, head_dim


def _need(text: dict[str, Any], key: str) -> int:
    value = text.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise UnknownCacheError(
            f"config key {key!r} is {value!r}; a positive whole number is needed"
        )
    return value


def _bytes(dtype: str) -> int:
    if dtype not in BYTES_PER_ELEMENT:
        raise UnknownCacheError(
            f"state type {dtype!r} is not known; known: {', '.join(BYTES_PER_ELEMENT)}"
        )
    return BYTES_PER_ELEMENT[dtype]
