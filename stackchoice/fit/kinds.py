"""How many layers of each kind a model has: from lists, patterns and intervals of its config.

Source of each reading: the architecture's own implementation in Transformers, and vLLM's or
SGLang's where Transformers has none.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.fit.config import counted, need, reads_config, stated, whole

#: Keys that say which layers read the cache of another, and which keep several.
SHARING = ("num_kv_shared_layers", "kv_source_layers")
REPEATING = ("n_recurrent_loops", "num_loops", "total_ut_steps")


def refuse_unread(text: dict[str, Any]) -> None:
    """Raise where a key or the model type says that layers cache in a way not modelled.

    UnknownCacheError with the key and what it means.
    """
    kind, keys = str(text.get("model_type") or ""), config_keys()
    if keys.no_attention.match(kind.lower()):
        raise UnknownCacheError(f"model type {kind!r}: the state of its layers is not known here")
    if keys.encoders.match(kind.lower()) and not text.get("is_decoder"):
        raise UnknownCacheError(f"model type {kind!r} is an encoder: it keeps no cache to size")
    for key, what in keys.not_modelled.items():
        if text.get(key):
            raise UnknownCacheError(
                f"config key {key!r}: the cache arithmetic of {what} is not in this release; "
                "the cache size is unknown"
            )


@reads_config
def layer_counts(text: dict[str, Any]) -> dict[str, int]:
    """Count layers by kind: from the lists, patterns and intervals that a config may have.

    A layer that a token runs through several times, each with a cache of its own, counts as often.
    UnknownCacheError where layers share or repeat a cache and nothing says of which kind they are.
    """
    layers = need(text, "num_hidden_layers")
    own = owners(text, layers)
    for key in ("layer_types", "layers_block_type"):
        if text.get(key):
            kinds = [_kind(k) for k in counted(text, key, layers)]
            return dict(Counter(kinds[i] for i in own))
    times = len(own) // layers
    if sorted(own) != sorted([*range(layers)] * times):
        key = next(k for k in (*SHARING, *REPEATING) if text.get(k))
        raise UnknownCacheError(
            f"config has {key!r} but no 'layer_types'; which layers share or repeat a cache is "
            "unknown; take the publisher's full config.json"
        )
    return {kind: count * times for kind, count in _unlisted(text, layers).items()}


def _unlisted(text: dict[str, Any], layers: int) -> dict[str, int]:
    """Count the layers of a config without a list of their kinds in words."""
    if text.get("hybrid_layer_pattern"):  # MiMo-V2: 1 slides
        return _coded(text, "hybrid_layer_pattern", layers, {0: "full", 1: "sliding"})
    if text.get("attn_type_list"):  # MiniMax-Text-01
        return _coded(text, "attn_type_list", layers, {0: "recurrent", 1: "full"})
    if text.get("hybrid_override_pattern"):
        return _coded(text, "hybrid_override_pattern", layers, config_keys().letters)
    full = _full_layers(text, layers)
    if full is not None:
        return {"full": full, "recurrent": layers - full}
    if text.get("mamba_d_ssm"):
        return {"full": layers, "recurrent": layers}  # Falcon-H1: both in every layer
    if text.get("model_type") in ("mamba", "mamba2", "falcon_mamba"):
        return {"recurrent": layers}
    if str(text.get("model_type")).startswith("longcat_flash"):
        return {"full": 2 * layers}  # each has two attention blocks (vLLM longcat_flash.py)
    _no_kinds(text, layers)
    return _windowed_counts(text, layers)


def owners(text: dict[str, Any], layers: int) -> list[int]:
    """Return the layers that keep a cache of their own, each as often as it keeps one.

    The last layers of Gemma 3n reuse an earlier one's of their kind (``num_kv_shared_layers``);
    elsewhere each layer names the one whose cache it reads (``kv_source_layers``, mistral_large4).
    Looped models run all layers several times (``num_loops``, nanbeige), or those between the
    input's and the output's (``n_recurrent_loops``, dory), with a cache for each time.
    """
    sources = text.get("kv_source_layers")
    source = counted(text, "kv_source_layers", layers) if sources else range(layers)
    own = [i for i in range(layers - (text.get("num_kv_shared_layers") or 0)) if source[i] == i]
    if (times := stated(text, "n_recurrent_loops")) > 1 and (
        text.get("recurrent_kv_cache_mode") != "last_loop"
    ):  # fmt: skip
        inner = range(need(text, "n_input_layers"), layers - need(text, "n_output_layers"))
        own += [i for i in own if i in inner] * (times - 1)
    return own * (whole(text, "num_loops") or 1)


def passes(text: dict[str, Any], layers: int) -> int:
    """Return how many layers a token runs through, those of a loop as often as it does."""
    times, inner = stated(text, "n_recurrent_loops"), 0
    if times > 1:
        inner = layers - need(text, "n_input_layers") - need(text, "n_output_layers")
    return (layers + inner * max(times - 1, 0)) * (whole(text, "num_loops") or 1)


def _coded(
    text: dict[str, Any], key: str, layers: int, words: Mapping[Any, str]
) -> dict[str, int]:  # fmt: skip
    """Count the kinds of a per-layer list whose codes are known."""
    codes = counted(text, key, layers)
    if strange := sorted({str(code) for code in codes if code not in words}):
        raise UnknownCacheError(
            f"config key {key!r} has {', '.join(strange)!r}; known: {', '.join(map(str, words))}"
        )
    return dict(Counter(words[code] for code in codes))


def _full_layers(text: dict[str, Any], layers: int) -> int | None:
    """Return the layers of full attention among recurrent ones, None where no key says."""
    if linear := text.get("linear_attn_config"):
        return len(linear["full_attn_layers"])  # numbered from 1 on
    for key in ("attn_layer_indices", "full_attn_idxs"):  # Bamba; LFM2's older files
        if text.get(key):
            return len(text[key])
    if period := text.get("attn_layer_period"):
        return len(range(text.get("attn_layer_offset", 0), layers, period))
    interval: int | None = text.get("full_attention_interval")
    if interval:
        return layers // interval
    # Ling and Ring: the last layer of each group is full.
    group: int | list[int] | None = text.get("layer_group_size")
    if isinstance(group, list):
        return len([c for c in counted(text, "layer_group_size", layers) if c != 1])
    if not group:
        return None
    if layers % group:
        raise UnknownCacheError(
            f"config key 'layer_group_size' is {group} for {layers} layers; the publisher's code "
            "and the engines' disagree about the layers left over"
        )
    return layers // group


def _no_kinds(text: dict[str, Any], layers: int) -> None:
    """Raise where keys show several kinds of layers, and none that is read here tells them."""
    keys = config_keys()
    if key := next((k for k, v in text.items() if v and keys.recurrent.match(k)), None):
        raise UnknownCacheError(
            f"config key {key!r} belongs to recurrent layers, and no key that is read here says "
            "which layers those are; the cache size is unknown"
        )
    for key, value in text.items():
        if (
            isinstance(value, list) and len(value) == layers and key not in keys.harmless_lists
            and keys.layer_lists.search(key) and any(v != value[0] for v in value)
        ):  # fmt: skip
            raise UnknownCacheError(
                f"config key {key!r} differs from layer to layer, and what it means for the cache "
                "is not known here"
            )


def _windowed_counts(text: dict[str, Any], layers: int) -> dict[str, int]:
    """Count full, sliding and chunked layers where the config gives no list."""
    if text.get("attention_chunk_size"):
        if listed := text.get("no_rope_layers"):
            full = sum(1 for rope in listed[:layers] if not rope)
        else:
            full = layers // (text.get("no_rope_layer_interval") or 4)
        return {"chunked": layers - full, "full": full}
    window, kind = text.get("sliding_window"), text.get("model_type")
    later = kind in config_keys().later_layers_slide
    uses = text.get("use_sliding_window", not later)
    if "sliding_window" not in text and text.get("sliding_window_pattern"):
        raise UnknownCacheError(
            f"layers of model type {kind!r} slide, and 'sliding_window' is not in the config"
        )
    if not window or not uses:
        return {"full": layers}
    if later:
        full = min(layers, text.get("max_window_layers", layers))
        return {"full": full, "sliding": layers - full}
    if pattern := (text.get("sliding_window_pattern") or text.get("_sliding_window_pattern")):
        full = _by_letters(pattern, layers) if isinstance(pattern, str) else layers // pattern
        return {"sliding": layers - full, "full": full}
    if kind not in config_keys().every_layer_slides:
        if window >= (whole(text, "max_position_embeddings") or math.inf):
            return {"full": layers}  # no request is longer, so whichever slide keep every token
        raise UnknownCacheError(
            "config has 'sliding_window' but neither 'layer_types' nor a pattern; which "
            "layers slide is unknown; take the publisher's full config.json"
        )
    return {"sliding": layers}


def _by_letters(pattern: str, layers: int) -> int:
    """Return the full layers of EXAONE 4's ``LLLG``: where it says G, and the last one."""
    if set(pattern) - {"L", "G"}:
        raise UnknownCacheError(
            f"config key 'sliding_window_pattern' is {pattern!r}: L and G known"
        )
    return sum(pattern[i % len(pattern)] == "G" or i == layers - 1 for i in range(layers))


def _kind(name: str) -> str:
    kinds = config_keys().kinds
    if name not in kinds:
        raise UnknownCacheError(f"layer type {name!r}: its cache arithmetic is not known")
    return kinds[name]
