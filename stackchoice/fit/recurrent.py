"""Shapes of recurrent layers: Gated DeltaNet, Kimi Delta Attention, Mamba, short convolution.

Each returns the values of one sequence's state in one layer, of which a device holds its share
of the heads, and the channels that the causal convolution keeps ``kernel`` columns of. The
reference's type is what the class in Transformers 5.24.0 keeps when it is run in bfloat16.
"""

from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.fit.config import head_dim, need

#: Kinds of layers that keep a state instead of a cache, as the shapes here name them.
RECURRENT = ("gated_delta", "kimi_delta", "lightning", "mamba2", "mamba", "short_conv")


def recurrent_layers(text: dict[str, Any], layers: int) -> list[dict[str, Any]]:
    """Return the fields of the recurrent layers of a config ([] when it has none).

    UnknownCacheError where their state is not known.
    """
    if not layers:
        return []
    if text.get("model_type") in config_keys().lightning or text.get("attn_type_list"):
        return [{"layers": layers, **_lightning(text)}]
    for key, shape in SHAPES.items():
        if text.get(key):
            return [{"layers": layers, **shape(text)}, *_ngrams(text)]
    raise UnknownCacheError(
        f"the config has {layers} recurrent layers of a kind whose state is not known; "
        f"known by the keys {', '.join(SHAPES)}"
    )


def _gated_delta(text: dict[str, Any]) -> dict[str, Any]:
    """Gated DeltaNet (Transformers qwen3_next): one ``key_dim x value_dim`` matrix a head.

    The convolution runs over queries, keys and values together. The reference code keeps
    the state in float32; engines differ where the config does not say.
    """
    key_heads, key_dim = need(text, "linear_num_key_heads"), need(text, "linear_key_head_dim")
    heads, value_dim = need(text, "linear_num_value_heads"), need(text, "linear_value_head_dim")
    return {
        "kind": "gated_delta",
        "state_heads": heads,
        "state_values": heads * key_dim * value_dim,
        "state_dtype": text.get("mamba_ssm_dtype"),
        "reference_dtype": "float32",
        "conv_channels": 2 * key_heads * key_dim + heads * value_dim,
        "conv_kernel": need(text, "linear_conv_kernel_dim"),
    }


def _kimi_delta(text: dict[str, Any]) -> dict[str, Any]:
    """Kimi Delta Attention (kimi_linear, glm5_next): one square matrix a head, three convolutions.

    Kimi's own files keep its sizes in ``linear_attn_config``, Transformers' at the top.
    """
    inner = text.get("linear_attn_config") or {
        "num_heads": text.get("linear_num_heads"), "head_dim": text.get("linear_head_dim"),
        "short_conv_kernel_size": text.get("linear_conv_kernel_dim"),
    }  # fmt: skip
    heads, size = need(inner, "num_heads"), need(inner, "head_dim")
    return {
        "kind": "kimi_delta",
        "state_heads": heads,
        "state_values": heads * size * size,
        "state_dtype": inner.get("state_dtype"),
        "reference_dtype": "float32",
        "conv_channels": 3 * heads * size,
        "conv_kernel": need(inner, "short_conv_kernel_size"),
    }


def _lightning(text: dict[str, Any]) -> dict[str, Any]:
    """Lightning attention (minimax, bailing_moe_linear): a square matrix a head, no convolution.

    Every query head has its own keys and values here (vLLM ``linear_attention_state_shape``; SGLang
    ``BailingHybridConfig``, whose layers are Kimi Delta Attention where a convolution is named).
    The engines disagree on the state's type, and the config is silent.
    """
    heads, size = need(text, "num_attention_heads"), head_dim(text)
    columns = text.get("short_conv_kernel_size")
    return {
        "kind": "kimi_delta" if columns else "lightning",
        "state_heads": heads,
        "state_values": heads * size * size,
        "state_dtype": text.get("mamba_ssm_cache_dtype"),
        "reference_dtype": "float32" if columns else "model",
        "conv_channels": 3 * heads * size if columns else 0,
        "conv_kernel": columns or 0,
    }


def _mamba2(text: dict[str, Any]) -> dict[str, Any]:
    """Mamba-2 (nemotron_h, bamba, falcon_h1): ``heads x head_dim x state`` and x, B, C columns."""
    heads = _first(text, "mamba_num_heads", "mamba_n_heads", "num_heads")
    size = _first(text, "mamba_head_dim", "mamba_d_head", "head_dim")
    state = _first(text, "ssm_state_size", "mamba_d_state", "state_size")
    groups = _first(text, "n_groups", "mamba_n_groups")
    return {
        "kind": "mamba2",
        "state_heads": heads,
        "state_values": heads * size * state,
        "state_dtype": text.get("mamba_ssm_cache_dtype") or text.get("mamba_ssm_dtype"),
        "reference_dtype": "float32",
        "conv_channels": heads * size + 2 * groups * state,
        "conv_kernel": _first(text, "conv_kernel", "mamba_d_conv"),
    }


def _mamba1(text: dict[str, Any]) -> dict[str, Any]:
    """Mamba (mamba, jamba): ``inner x state``, and the inner channels alone in the convolution."""
    inner = (
        text.get("intermediate_size")
        if text.get("state_size")
        else need(text, "mamba_expand") * need(text, "hidden_size")
    )
    inner = inner or need(text, "expand") * need(text, "hidden_size")
    return {
        "kind": "mamba",
        "state_heads": inner,
        "state_values": inner * _first(text, "state_size", "mamba_d_state"),
        "state_dtype": text.get("mamba_ssm_cache_dtype"),
        "reference_dtype": "float32",
        "conv_channels": inner,
        "conv_kernel": _first(text, "conv_kernel", "mamba_d_conv"),
    }


def _short_conv(text: dict[str, Any]) -> dict[str, Any]:
    """Short convolution (lfm2): columns of the hidden size, no recurrent state."""
    return {
        "kind": "short_conv",
        "state_heads": need(text, "hidden_size"),
        "conv_channels": need(text, "hidden_size"),
        "conv_kernel": need(text, "conv_L_cache"),
    }


def _ngrams(text: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns of n-gram embeddings (Transformers qwen4_exp): a dilated convolution on all streams.

    It keeps ``(kernel - 1) x dilation`` columns, the dilation being the n-gram's length; the few
    token ids kept beside them are not counted.
    """
    if not (layers := len(text.get("ple_layer_ids") or ())):
        return []
    channels = need(text, "hc_count") * need(text, "hidden_size")
    columns = (need(text, "ple_conv_kernel_size") - 1) * need(text, "ngram_size")
    return [{"layers": layers, "kind": "ngram_conv", "state_heads": channels,
             "conv_channels": channels, "conv_kernel": columns + 1}]  # fmt: skip


def _first(text: dict[str, Any], *names: str) -> int:
    return need(text, next((n for n in names if text.get(n)), names[0]))


#: The config key that tells the kind, in the order they are tried.
SHAPES = {
    "linear_attn_config": _kimi_delta,
    "linear_num_heads": _kimi_delta,
    "layer_group_size": _lightning,
    "linear_num_value_heads": _gated_delta,
    "mamba_num_heads": _mamba2,
    "mamba_n_heads": _mamba2,
    "n_groups": _mamba2,
    "state_size": _mamba1,
    "mamba_d_state": _mamba1,
    "conv_L_cache": _short_conv,
}
