"""Bytes of weights resident on one device: from the checkpoint, else parameters and encoding."""

import re
from typing import Any

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.allocation import MemoryFacts
from stackchoice.fit.config import need, read, text_config

#: Words of an encoding text that name a part of the model.
PARTS = {
    "experts": ("expert", "experts", "moe"),
    "embedding": ("embedding", "embeddings", "embed", "lm_head"),
    "rest": ("rest", "linear", "attention", "layers", "dense"),
}
#: Families of number types whose published files keep embedding and output head in 16 bits.
KEEPS_ENDS = ("fp8", "int8", "int4", "mxfp4", "mxfp8", "nvfp4")


def weights_bytes(
    config: dict[str, Any],
    encoding: str,
    memory: MemoryFacts,
    *,
    parameters: float | None = None,
    expert_parameters: float | None = None,
    checkpoint_bytes: float | None = None,
    tp: int = 1,
) -> int:
    """Return the bytes of weights on each of ``tp`` devices.

    UnknownRuleError where neither bytes nor the parameters that decide are known.

    Parameters
    ----------
    encoding
        A number type, or a type per part: ``mxfp4 experts, bf16 rest``. A quantised type alone
        means that embedding, output head and vision tower stay in 16 bits.
    parameters, expert_parameters
        Of the whole model and of the routed experts in it.
    checkpoint_bytes
        Bytes on disk; they win over parameters.

    Notes
    -----
    Tensor parallel divides evenly; what some engines repeat or pad is not counted.
    """
    if checkpoint_bytes:
        return round(checkpoint_bytes / tp)
    if not parameters:
        raise UnknownRuleError("neither checkpoint bytes nor parameters are known")
    clauses = [_clause(text, memory) for text in re.split(r"[,;]", encoding) if text.strip()]
    ends = embedding_parameters(config)
    sizes = {"experts": expert_parameters or 0, "embedding": ends}
    sizes["rest"] = parameters - sizes["experts"] - ends
    bits: dict[str, float] = {}
    for parts, form_bits, form in clauses:
        whole = ("experts", "rest", *(() if form in KEEPS_ENDS else ("embedding",)))
        for part in parts or whole:
            bits.setdefault(part, form_bits)
    if any("experts" in parts for parts, _, _ in clauses) and not expert_parameters:
        raise UnknownRuleError(f"encoding {encoding!r}: the experts' parameters are not given")
    vision = vision_parameters(config) if bits.get("rest", 16) < 16 else 0
    bits = {**dict.fromkeys(sizes, 16.0), **bits}
    total = sum(size * bits[part] for part, size in sizes.items())
    total += vision * (16 - bits["rest"])
    return round(total / 8 / tp)


def _clause(text: str, memory: MemoryFacts) -> tuple[list[str], float, str]:
    """Return parts, bits and id of one clause of an encoding text."""
    words = re.findall(r"[a-z0-9_]+(?:-bit)?", text.lower())
    forms = [memory.weight_format(w) for w in words]
    found = next((f for f in forms if f), None)
    if found is None or found.bits.value is None:
        raise UnknownRuleError(f"encoding {text.strip()!r}: its bits per weight are not known")
    parts = [part for part, names in PARTS.items() if any(w in names for w in words)]
    return parts, found.bits.value, found.id


def embedding_parameters(config: dict[str, Any]) -> int:
    """Parameters of embedding and output head: one matrix where they are tied, else two."""
    text = text_config(config)
    if read(text, "vocab_size") is None:
        return 0
    tied = text.get("tie_word_embeddings", config.get("tie_word_embeddings", False))
    return need(text, "vocab_size") * need(text, "hidden_size") * (1 if tied else 2)


def vision_parameters(config: dict[str, Any]) -> int:
    """Matrix parameters of a vision tower's blocks: ``depth x (4 h^2 + 2 h x intermediate)``.

    Patch embedding and projector are left out, so this is a little low.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, dict):
        return 0
    depth = vision.get("depth") or vision.get("num_hidden_layers")
    hidden, inner = vision.get("hidden_size"), vision.get("intermediate_size")
    if not (depth and hidden and inner):
        return 0
    values: int = depth * (4 * hidden**2 + 2 * hidden * inner)
    return values
