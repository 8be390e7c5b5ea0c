"""Reading numbers out of a model's ``config.json``, under its present and its older names."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import class_defaults, config_keys

P = ParamSpec("P")
T = TypeVar("T")


def reads_config(reader: Callable[P, T]) -> Callable[P, T]:
    """Make a value of the wrong kind, wherever a config holds it, an UnknownCacheError."""

    @wraps(reader)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return reader(*args, **kwargs)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            why = " ".join(str(error).split())
            raise UnknownCacheError(
                f"a key of the config has a value of the wrong kind ({why}); take the publisher's "
                "full config.json"
            ) from None

    return checked


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the language model's part of a config, with the outer dtype where it has none.

    What the part is silent about is what its model class assumes (``config_defaults.yaml``): an
    outer config is written without what equals the class's own.
    """
    outer: dict[str, Any] = {}
    inner, nested = config, False
    for key in config_keys().language_model:
        if isinstance(inner.get(key), dict):
            outer = {**outer, **{k: inner[k] for k in ("dtype", "torch_dtype") if k in inner}}
            inner, nested = inner[key], True
    kind = config_keys().untyped.types.get(architecture_of(config))
    if kind is not None and not inner.get("model_type"):
        inner = {**inner, "model_type": kind}
    return _with_layers(_with_defaults({**outer, **inner}, nested) if nested
                        else _with_defaults(inner, nested))  # fmt: skip


def _with_defaults(text: dict[str, Any], nested: bool) -> dict[str, Any]:
    """Return a config with its class's defaults under keys that it does not have."""
    kind = text.get("model_type")
    found = class_defaults().get(kind) if isinstance(kind, str) else None
    if found is None:
        return text
    keys = config_keys()
    silent = {
        key: value for key, value in found.items()
        if (nested or key in keys.silent)
        and not any(name in text for name in keys.names.get(key, (key,)))
    }  # fmt: skip
    if "_sliding_window_pattern" in text:
        silent.pop("sliding_window_pattern", None)
    if "per_layer_config" in text:
        silent = {key: value for key, value in silent.items() if "global" not in key}
    return {**silent, **text} if silent else text


def _with_layers(text: dict[str, Any]) -> dict[str, Any]:
    """Return a config that says what it has per layer.

    Nemotron-H may only list the kinds of its layers, not their number; Transformers writes
    DeepSeek-V4's ratios by kind (``compress_rates``), the publisher by layer.
    """
    kinds = text.get("layers_block_type")
    if read(text, "num_hidden_layers") is None and isinstance(kinds, list):
        return {**text, "num_hidden_layers": len(kinds)}
    rates, kinds = text.get("compress_rates"), text.get("layer_types")
    if isinstance(rates, dict) and isinstance(kinds, list) and not text.get("compress_ratios"):
        return {**text, "compress_ratios": [rates.get(kind, 0) for kind in kinds]}
    return text


def read(text: dict[str, Any], key: str) -> Any:
    """Return the value under the key or one of its older names (None when there is none)."""
    names = config_keys().names.get(key, (key,))
    return next((text[n] for n in names if text.get(n) is not None), None)


def need(text: dict[str, Any], key: str) -> int:
    """Return a positive whole number of the config; UnknownCacheError says which key is missing."""
    value = read(text, key)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise UnknownCacheError(
            f"config key {key!r} is {value!r}; a positive whole number is needed"
        )
    return value


def whole(text: dict[str, Any], key: str) -> int | None:
    """Return a positive whole number of the config, or None where there is none."""
    value = read(text, key)
    return value if type(value) is int and value > 0 else None


def stated(text: dict[str, Any], key: str) -> int:
    """Return a positive whole number of the config, 0 where it says none; else as :func:`need`."""
    return need(text, key) if text.get(key) else 0


def architecture_of(config: dict[str, Any]) -> str:
    """Return the first class that a config names; ``?`` where it names none."""
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names else None
    return name if isinstance(name, str) else "?"


def counted(text: dict[str, Any], key: str, length: int) -> list[Any]:
    """Return a per-layer list of the config, which must have one entry per layer.

    UnknownCacheError where it has not.
    """
    values = list(text[key])
    if len(values) < length:
        raise UnknownCacheError(
            f"config key {key!r} has {len(values)} entries for {length} layers; "
            "take the publisher's full config.json"
        )
    return values[:length]


def model_dtype(text: dict[str, Any]) -> str | None:
    """Return the type of the weights that the config states (None when it does not)."""
    return text.get("dtype") or text.get("torch_dtype")


def head_dim(text: dict[str, Any]) -> int:
    """Return the head size: stated, else hidden size over heads.

    Never the quotient where the file says otherwise: GLM and Gemma differ from it.
    """
    if read(text, "head_dim") is not None:
        return need(text, "head_dim")
    return need(text, "hidden_size") // need(text, "num_attention_heads")


def kv_heads(text: dict[str, Any]) -> int:
    """Return the heads whose keys and values are stored, under every notation known.

    UnknownCacheError where a key may say it that is not read here.
    """
    if text.get("multi_query_attention"):
        return need(text, "multi_query_group_num")  # ChatGLM
    if text.get("new_decoder_architecture"):
        return need(text, "num_key_value_heads")  # Falcon 40B and later
    if text.get("multi_query"):
        return 1  # Falcon 7B, StarCoder
    inner = text.get("attn_config")
    if isinstance(inner, dict) and inner.get("kv_n_heads"):
        return need(inner, "num_key_value_heads")  # DBRX, MPT
    if read(text, "num_key_value_heads") is None:
        words = config_keys().kv_head_words
        if odd := next((k for k, v in text.items() if v and words.search(k)), None):
            raise UnknownCacheError(
                f"config key {odd!r} is not read here, and no key that is says how many heads of "
                "keys and values there are; take the publisher's full config.json"
            )
        return need(text, "num_attention_heads")
    return need(text, "num_key_value_heads")


def has_experts(config: dict[str, Any]) -> bool:
    """Whether a config counts routed experts: a token touches some of its weights only."""
    text = config.get("text_config")
    holders = (config, text if isinstance(text, dict) else {})
    counts = [holder.get(key) for holder in holders for key in config_keys().experts]
    return any(isinstance(count, int) and count > 1 for count in counts)
