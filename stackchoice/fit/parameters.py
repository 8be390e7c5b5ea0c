"""Parameters that a token runs through, counted from a model's own ``config.json``.

Sources of the shapes: the reference implementations in Transformers (Llama, Qwen3 and its mixture
of experts, Qwen3-Next's Gated DeltaNet, DeepSeek-V3's latent attention, GPT-OSS, Gemma, Llama 4,
which has one shared expert and another width where a layer has no experts). Norms, biases and
convolutions are left out: together under 0.1 % of any model counted here.
"""

from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.facts.datum import Record
from stackchoice.fit.experts import moe_layers, shared_experts
from stackchoice.fit.kinds import passes

#: Config keys of layers whose weights are not counted here; a count without them would be wrong.
NOT_COUNTED = (
    "hybrid_override_pattern", "layers_block_type", "hybrid_layer_pattern", "compress_ratios",
    "compress_rates", "linear_attn_config", "ssm_cfg", "mamba_d_state",
    "block_configs", "cross_attention_layers", "hidden_size_per_layer_input", "conv_L_cache",
    "H_cycles", "block_types", "loop_num", "loop_num_passes", "loop_config",
)  # fmt: skip


class Parameters(Record):
    """Parameters by what they cost. ``shared`` and ``routed_active`` are touched by every token.

    ``passes``: how often, on the mean over layers; more than once where a model loops.
    """

    embedding: int
    head: int
    shared: int
    routed: int
    routed_active: int
    attention_width: int
    full_layers: int
    passes: float = 1.0

    @property
    def total(self) -> int:
        """All parameters of the text model; an output head tied to the input table counts once."""
        return self.embedding + self.head + self.shared + self.routed

    @property
    def decode_active(self) -> int:
        """Read for each decoded token: layers, active experts and the output head."""
        return self.prefill_active + (self.head or self.embedding)

    @property
    def prefill_active(self) -> int:
        """Multiplied for each prompt token: the head runs on the last one only."""
        return round((self.shared + self.routed_active) * self.passes)


def count_parameters(config: dict[str, Any]) -> Parameters | None:
    """Return the counts, or None where a needed key is missing or a layer kind is not counted."""
    text = {**config, **config.get("text_config", {})}
    if any(text.get(key) for key in NOT_COUNTED) or (
        text.get("model_type") in config_keys().not_counted
    ):  # fmt: skip
        return None
    try:
        return _count(text)
    except (KeyError, TypeError, ZeroDivisionError, StopIteration, UnknownCacheError):
        return None


def _count(text: dict[str, Any]) -> Parameters:
    layers, width, vocabulary = (
        text[k] for k in ("num_hidden_layers", "hidden_size", "vocab_size")
    )
    kinds = text.get("layer_types") or _kinds(text, layers)
    mixers = {
        "full_attention": _attention(text, width, full=True),
        "sliding_attention": _attention(text, width, full=False),
    }
    if "linear_attention" in kinds:
        mixers["linear_attention"] = _delta_net(text, width)
    mixing = sum(mixers[kind] for kind in kinds)
    keys = config_keys()
    experts = next((text[key] for key in keys.experts if text.get(key)), 0)
    matrices = 2 if text.get("model_type") in keys.ungated else 3
    sparse = moe_layers(text, experts) or 0
    dense = layers - sparse
    expert = 3 * width * (text.get("moe_intermediate_size") or text["intermediate_size"])
    chosen = next(text[key] for key in keys.experts_per_token if text.get(key)) if sparse else 0
    beside = width * experts  # the router
    shared, shared_width = shared_experts(text)
    beside += shared * (3 * width * shared_width if shared_width else expert)
    if text.get("shared_expert_intermediate_size"):
        beside += width  # its gate
    widths = ("intermediate_size_mlp", "dense_intermediate_size", "intermediate_size")
    wide = next((text[key] for key in widths if text.get(key)), 0)
    mlp = matrices * width * wide if dense else 0
    table, run = vocabulary * width, passes(text, layers)
    if run % layers and (len(set(kinds)) > 1 or 0 < dense < layers):
        raise UnknownCacheError("a loop over some layers of several kinds is not counted")
    return Parameters(
        embedding=table,
        head=0 if text.get("tie_word_embeddings") else table,
        shared=mixing + dense * mlp + sparse * beside,
        routed=sparse * experts * expert,
        routed_active=sparse * chosen * expert,
        attention_width=_score_width(text, width),
        full_layers=sum(kind == "full_attention" for kind in kinds) * run // layers,
        passes=run / layers,
    )


def _kinds(text: dict[str, Any], layers: int) -> list[str]:
    every = text.get("full_attention_interval")
    return [
        "linear_attention" if every and (i + 1) % every else "full_attention" for i in range(layers)
    ]


def _score_width(text: dict[str, Any], width: int) -> int:
    """Heads x (query-key width + value width): multiply-adds per pair of tokens and layer."""
    heads: int = text["num_attention_heads"]
    if "kv_lora_rank" in text:
        size: int = text["qk_nope_head_dim"] + text["qk_rope_head_dim"] + text["v_head_dim"]
        return heads * size
    size = text.get("global_head_dim") or text.get("head_dim") or width // heads
    return heads * 2 * size


def _attention(text: dict[str, Any], width: int, *, full: bool) -> int:
    heads = text["num_attention_heads"]
    if "kv_lora_rank" in text:
        latent, rope = text["kv_lora_rank"], text["qk_rope_head_dim"]
        nope, value = text["qk_nope_head_dim"], text["v_head_dim"]
        low = text.get("q_lora_rank")
        query = (width + heads * (nope + rope)) * low if low else width * heads * (nope + rope)
        index = text.get("index_head_dim", 0)
        indexer = text.get("index_n_heads", 0) * (index * (low or 0) + width) + width * index
        up = latent * heads * (nope + value)
        total: int = query + width * (latent + rope) + up + heads * value * width + indexer
        return total
    size = text.get("head_dim") or width // heads
    keys = text.get("num_key_value_heads") or heads
    if full:
        size = text.get("global_head_dim") or size
        keys = text.get("num_global_key_value_heads") or keys
    queries = heads * size * (2 if text.get("attn_output_gate") else 1)
    total = width * (queries + 2 * keys * size) + heads * size * width
    return total


def _delta_net(text: dict[str, Any], width: int) -> int:
    keys = text["linear_num_key_heads"] * text["linear_key_head_dim"]
    heads = text["linear_num_value_heads"]
    values = heads * text["linear_value_head_dim"]
    total: int = width * (2 * keys + 2 * values + 2 * heads) + values * width
    return total
