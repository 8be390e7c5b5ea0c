"""The question about a checkpoint's files: how it caches, how it is stored, what contradicts."""

from collections import Counter
from typing import Any

from stackchoice.facts.load import Facts
from stackchoice.facts.values import count_of, list_of
from stackchoice.fit.config import read, text_config
from stackchoice.fit.layers import INDEXES
from stackchoice.fit.recurrent import RECURRENT
from stackchoice.read.architecture import Architecture, architecture, config_findings
from stackchoice.read.contradictions import declared_findings
from stackchoice.read.declared import Said, declared_word
from stackchoice.score.given import Answer, Given, Unknown, files_of

#: The warnings that a question can ask for; ``inspect`` reports more.
WARNINGS = (
    "encoding_only_in_hf_quant_config", "mixed_precision", "name_says_nvfp4_but_weight_only",
    "activation_bits_contradiction", "expert_dtype_overrides_quant_method",
    "head_dim_and_kv_heads_not_used_by_mla", "head_dim_key_differs", "one_based_layer_lists",
    "per_layer_kv_shapes_differ", "k_eq_v_still_stores_both",
)  # fmt: skip


def read_config(given: Given, facts: Facts) -> Answer:
    """Answer from the files that are given alone."""
    config, saids = files_of(given, facts)
    model = architecture(config)
    if model.unknown:
        raise Unknown(model.unknown)
    names = [n for n in (given.get("model_name"), config.get("_name_or_path")) if n]
    found = [
        *declared_findings(saids, [str(n) for n in names], facts), *config_findings(config, model)
    ]  # fmt: skip
    return {
        **_layers(config, model), **_encodings(model, saids, facts),
        "warnings": sorted({f.code for f in found if f.code in WARNINGS}),
    }  # fmt: skip


def _layers(config: dict[str, Any], model: Architecture) -> Answer:
    """Layers by kind and the shapes that they cache."""
    text = text_config(config)
    windowed = sum(g.layers for g in model.layers if g.kind == "latent" and g.window_tokens)
    full, latent = model.count("full"), model.count("latent") - windowed
    slides = model.count("sliding", "chunked") + windowed
    compressed = max((g.layers for g in model.layers if g.kind == "compressed"), default=0)
    answer: Answer = {
        "cache_kind": model.cache_kind, "full_attention_layers": full or latent,
        "cache_layers": full + latent + slides + compressed, "sliding_layers": slides,
        "linear_layers": model.count(*RECURRENT), "moe_layers": model.moe_layers,
        "mtp_layers": model.draft_layers, "state_dtype": model.state_dtype,
        "indexer": bool(model.count(*INDEXES)), "sliding_window": text.get("sliding_window"),
    }  # fmt: skip
    for group in model.layers:
        if group.kind in INDEXES:
            answer["index_head_dim"] = group.key_dim
        if group.kind == "latent":
            answer["latent_values_per_token"] = group.latent_values
        if group.kind in ("full", "sliding", "chunked"):
            prefix = "full" if group.kind == "full" else "sliding"
            answer[f"{prefix}_kv_heads"] = group.kv_heads
            answer[f"{prefix}_head_dim"] = group.key_dim
    shapes = {(g.kv_heads, g.key_dim) for g in model.layers
              if g.kind in ("full", "sliding", "chunked")}  # fmt: skip
    if len(shapes) == 1:
        answer["kv_heads"], answer["head_dim"] = shapes.pop()
    if compressed:
        answer["kv_heads"] = count_of(read(text, "num_key_value_heads"))
        answer["head_dim"] = count_of(read(text, "head_dim"))
        ratios = list_of(text.get("compress_ratios"))[: model.number_of_layers]
        answer["compress_ratio_counts"] = {str(r): n for r, n in Counter(ratios).items()}
    return answer


def _encodings(model: Architecture, saids: list[Said], facts: Facts) -> Answer:
    """How the weights are stored, by the most particular declaration of the first file."""
    said = next((s for s in saids if s.groups), None)
    answer: Answer = {"kv_cache_encoding": next((s.kv for s in saids if s.kv), None)}
    if said is None:
        if any(s.unread for s in saids):
            return answer
        return {**answer, "weight_encoding": declared_word(None, model.dtype, facts),
                "activation_bits": 16}  # fmt: skip
    answer["weight_encoding"] = declared_word(said, model.dtype, facts)
    groups = [(g, facts.encodings[g.encoding]) for g in said.best]
    for group, encoding in groups:
        if group.part == "moe":
            answer["expert_encoding"] = (
                group.words.lower() if group.place == "expert_dtype" else encoding.family
            )
    bits = {e.activation_bits for _, e in groups}
    if len(bits) == 1:
        answer["activation_bits"] = bits.pop()
    four = {e.activation_bits for _, e in groups if e.weight_bits == 4}
    if len(four) == 1:
        answer["four_bit_activation_bits"] = four.pop()
    if layers := said.of("quantized_layers"):
        answer["modules_by_encoding"] = {g.words: g.modules for g in layers}
    return answer
