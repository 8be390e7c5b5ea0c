"""A config summed up: layers by kind, what caches and how, experts, draft head, towers."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.facts.datum import Record
from stackchoice.facts.values import count_of, dict_of, list_of, text_of
from stackchoice.fit.config import model_dtype, read, text_config
from stackchoice.fit.experts import expert_counts, moe_layers, shared_experts
from stackchoice.fit.layers import Layers, model_layers
from stackchoice.fit.recurrent import RECURRENT
from stackchoice.read.findings import Finding, finding

MAMBA = ("mamba2", "mamba")
#: What may go wrong in a reading of values that are of no sensible type.
ODD = (TypeError, ValueError, KeyError, AttributeError, IndexError, ZeroDivisionError,
       OverflowError, StopIteration, RecursionError)  # fmt: skip


class Architecture(Record):
    """What a config says about the model, as far as it is known.

    ``layers`` are the cache-bearing layers of ``fit.layers`` (empty, with ``unknown`` set, where a
    kind is not modelled); counts are of the main model, draft layers left out.
    """

    model_type: str = ""
    name: str = Field(default="", description="the class that implements it")
    cache_kind: str = ""
    number_of_layers: int | None = None
    layers: list[Layers] = []
    unknown: str = ""
    moe_layers: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    shared_experts: int | None = None
    draft_layers: int = 0
    context_tokens: int | None = None
    dtype: str | None = None
    state_dtype: str | None = None
    vision: bool = False
    audio: bool = False

    def count(self, *kinds: str) -> int:
        """Layers of these kinds."""
        return sum(group.layers for group in self.layers if group.kind in kinds)


def architecture(config: dict[str, Any]) -> Architecture:
    """Sum a config up; what cannot be read is left empty, and ``unknown`` says why."""
    text = text_config(config)
    layers, unknown = _layers(config)
    names = list_of(config.get("architectures")) or list_of(text.get("architectures"))
    experts, per_token = expert_counts(text)
    states = {t for g in layers if (t := g.state_dtype or g.reference_dtype)}
    return Architecture(
        model_type=text_of(config.get("model_type"))[:80],
        name=text_of(names[0])[:80] if names else "",
        cache_kind=cache_kind(layers), layers=layers, unknown=unknown,
        number_of_layers=count_of(read(text, "num_hidden_layers")),
        moe_layers=moe_layers(text, experts), experts=experts,
        experts_per_token=per_token if experts else None,
        shared_experts=shared_experts(text)[0] if experts else None,
        draft_layers=draft_layers(config),
        context_tokens=count_of(read(text, "max_position_embeddings")),
        dtype=text_of(model_dtype(text)).removeprefix("torch.") or None,
        state_dtype=states.pop() if len(states) == 1 else None,
        vision=bool(dict_of(config.get("vision_config")) or dict_of(config.get("visual"))),
        audio=bool(dict_of(config.get("audio_config"))),
    )  # fmt: skip


def _layers(config: dict[str, Any]) -> tuple[list[Layers], str]:
    try:
        return model_layers(config), ""
    except UnknownCacheError as error:
        return [], str(error)
    except ODD as error:
        return [], f"the config's values have no form that is known here ({error!r:.120})"


def cache_kind(layers: list[Layers]) -> str:
    """Return one word for how the model caches (empty where nothing is known)."""
    kinds = {g.kind for g in layers}
    recurrent = kinds & set(RECURRENT)
    if not kinds:
        return ""
    if "compressed" in kinds:
        return "compressed_sparse"
    if recurrent and "latent" in kinds:
        return "hybrid_mla_linear"
    if recurrent and kinds <= set(RECURRENT):
        return "recurrent"
    if recurrent:
        return "hybrid_mamba" if recurrent & set(MAMBA) else "hybrid_linear"
    if "latent" in kinds:
        return "mla"
    return "sliding_and_full" if kinds & {"sliding", "chunked"} else "gqa"


def draft_layers(config: dict[str, Any]) -> int:
    """Return the layers of the model's own draft head (0 where the config has none)."""
    for holder in (text_config(config), config):
        for key in config_keys().draft_layers:
            if (number := count_of(holder.get(key))) is not None:
                return number
    return 0


def config_findings(config: dict[str, Any], found: Architecture) -> Iterator[Finding]:
    """Yield what readers of this config get wrong, each with its values."""
    text = text_config(config)
    latent = found.count("latent")
    size, heads = text.get("head_dim"), read(text, "num_key_value_heads")
    if latent and size is not None and heads is not None:
        yield finding(
            "head_dim_and_kv_heads_not_used_by_mla",
            "the cache keeps a latent; neither head_dim nor num_key_value_heads counts",
            ("head_dim", size), ("num_key_value_heads", heads), kind="note",
        )  # fmt: skip
    other = next((k for k in config_keys().names["head_dim"] if text.get(k) is not None), None)
    if other not in (None, "head_dim") and not latent:
        yield finding(
            "head_dim_key_differs", f"the head size stands under {other!r}, not under 'head_dim'",
            (other, text[other]), kind="note",
        )  # fmt: skip
    yield from _one_based(text, found)
    shapes = {(g.kv_heads, g.key_dim, g.value_dim) for g in found.layers
              if g.kind in ("full", "sliding", "chunked")}  # fmt: skip
    if len(shapes) > 1:
        yield finding(
            "per_layer_kv_shapes_differ", "layers cache heads of different number or size",
            *((f"{g.layers} {g.kind} layers", f"{g.kv_heads} heads of {g.key_dim}")
              for g in found.layers if g.kv_heads), kind="note",
        )  # fmt: skip
    if text.get("attention_k_eq_v") is True:
        yield finding(
            "k_eq_v_still_stores_both", "keys and values come from one matrix; both are cached",
            ("attention_k_eq_v", True), kind="note",
        )  # fmt: skip


def _one_based(text: dict[str, Any], found: Architecture) -> list[Finding]:
    """Lists of layer numbers that hold the number of layers itself, and no zero."""
    layers = found.number_of_layers
    holder = dict_of(text.get("linear_attn_config"))
    lists = {k: v for k, v in holder.items() if isinstance(v, list) and k.endswith("layers")}
    numbers = {n for v in lists.values() for n in v if isinstance(n, int)}
    if layers not in numbers or 0 in numbers:
        return []
    return [finding(
        "one_based_layer_lists", "the first layer is number 1 in these lists",
        *((f"linear_attn_config.{k}", f"{min(v, default='')} to {max(v, default='')}")
          for k, v in lists.items()), kind="note",
    )]  # fmt: skip
