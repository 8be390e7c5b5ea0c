"""Which layers have experts, how many there are, how many a token takes and all tokens share.

Source of each key: the configuration and model classes that read it, in Transformers 5.24.0, vLLM
0.33.0 or SGLang 0.5.23.
"""

from typing import Any

from stackchoice.facts.config_defaults import config_keys
from stackchoice.facts.values import count_of, dict_of, list_of, text_of
from stackchoice.fit.config import read

#: More layers than any model has: a config of nonsense is not walked through.
MOST_LAYERS = 100_000


def expert_counts(text: dict[str, Any]) -> tuple[int | None, int | None]:
    """Return the routed experts of a layer and those a token takes (None where no key says)."""
    text = {**dict_of(text.get("ffn_config")), **text}  # DBRX
    keys = config_keys()
    experts = next((n for k in keys.experts if (n := _largest(text.get(k)))), None)
    taken = next((n for k in keys.experts_per_token if (n := _largest(text.get(k)))), None)
    return experts, taken


def shared_experts(text: dict[str, Any]) -> tuple[int, int | None]:
    """Return the experts of a layer that every token takes, and their width where a key says it."""
    keys = config_keys()
    count = next((n for k in keys.shared_experts if (n := _largest(text.get(k)))), 0)
    width = next((n for k in keys.shared_widths if (n := count_of(text.get(k)))), None)
    return count or int(bool(width or text.get("interleave_moe_layer_step"))), width


def _largest(value: Any) -> int | None:
    """Return a count, or the largest of a list: one for each layer, or for each modality."""
    if isinstance(value, list):
        return max((n for v in value if (n := count_of(v))), default=None)
    return count_of(value)


def moe_layers(text: dict[str, Any], experts: int | None) -> int | None:
    """Count the layers with routed experts: from lists and intervals, None where nothing says."""
    layers = count_of(read(text, "num_hidden_layers"))
    if not experts or not layers or text.get("enable_moe_block") is False:
        return None if experts and not layers else 0
    if layers > MOST_LAYERS:
        return None
    for key, wanted in config_keys().expert_lists.items():
        if kinds := list_of(text.get(key)):
            return len([kind for kind in kinds[:layers] if kind == wanted])
    if pattern := text_of(text.get("hybrid_override_pattern")):
        return pattern[:layers].count("E")
    if numbers := _numbers(text.get("moe_layers_enum")) or _numbers(text.get("moe_layers")):
        return len([n for n in numbers if n < layers])
    frequency = text.get("moe_layer_freq")
    if isinstance(frequency, list):
        return sum(bool(on) for on in frequency[:layers])
    if period := count_of(text.get("expert_layer_period")):  # Jamba
        return len(range(count_of(text.get("expert_layer_offset")) or 0, layers, period))
    step = next(
        (n for n in (count_of(text.get(k)) for k in (
            "interleave_moe_layer_step", "moe_layer_freq", "moe_layer_frequency",
            "moe_layer_interval", "decoder_sparse_step")) if n), 1,
    )  # fmt: skip
    if step > layers:
        return None
    first, last = (
        next((n for k in config_keys().dense_first if (n := count_of(text.get(k)))), 0),
        layers - 1,
    )
    if "moe_layer_start_index" in text:  # Ernie 4.5; two modalities have two
        starts, ends = (_all(text.get(f"moe_layer_{k}_index")) for k in ("start", "end"))
        first, last = min(starts, default=0), min(last, max(ends, default=last))
    dense = {n for n in list_of(text.get("mlp_only_layers")) if isinstance(n, int)}
    offset = 0 if "first_k_dense_replace" in text else 1
    return sum(
        first <= i <= last and i not in dense and (i + offset) % step == 0 for i in range(layers)
    )


def _numbers(value: Any) -> set[int]:
    """Return layer numbers of a list, or of a text with commas."""
    parts = value.split(",") if isinstance(value, str) else list_of(value)
    found = {count_of(int(p)) if isinstance(p, str) and p.strip().isdecimal() else count_of(p)
             for p in parts[:MOST_LAYERS]}  # fmt: skip
    return {n for n in found if n is not None}


def _all(value: Any) -> list[int]:
    """Return the counts of a list or of one number; an end below zero means none is given."""
    values = value if isinstance(value, list) else [value]
    return [n for v in values if (n := count_of(v)) is not None]
