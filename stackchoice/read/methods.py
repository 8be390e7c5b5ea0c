"""Each quantisation method's own way of saying bits, groups and activations."""

from collections.abc import Callable
from typing import Any

from stackchoice.facts.load import Facts
from stackchoice.facts.values import count_of, dict_of, list_of, text_of


def group_size(settings: dict[str, Any]) -> int | None:
    """Return the number of weights that share a scale, where it is given."""
    size = count_of(settings.get("group_size")) or count_of(settings.get("q_group_size"))
    return size or None


def group_encoding(group: dict[str, Any], file_format: str, facts: Facts) -> str | None:
    """Return the encoding of a group of compressed-tensors or of ModelOpt's form of it.

    A group without ``input_activations`` quantises weights only.
    """
    weights = dict_of(group.get("weights"))
    algo = facts.quant_formats.algos.get(group.get("quant_algo"))
    if not weights:
        return algo
    return pair(
        weights, dict_of(group.get("input_activations")), facts,
        text_of(group.get("format")) or file_format,
    )  # fmt: skip


def pair(
    weights: dict[str, Any], inputs: dict[str, Any], facts: Facts, file_format: str = ""
) -> str | None:
    """Return the encoding of ``weights`` with ``inputs``; each gives type, num_bits and so on."""
    formats = facts.quant_formats
    kind, bits = text_of(weights.get("type")), count_of(weights.get("num_bits"))
    strategy, size = text_of(weights.get("strategy")), group_size(weights)
    if bits == 16 or (kind == "float" and bits == 32):
        return "bf16" if bits == 16 else "fp32"
    for row in formats.storages.rows:
        if (row.type, row.bits) != (kind, bits):
            continue
        if row.format is not None and row.format != file_format:
            continue
        if row.group_size is not None and row.group_size != size:
            continue
        if row.strategy is not None and row.strategy != strategy:
            continue
        return formats.pairs.ids.get(row.storage, {}).get(_activations(inputs))
    return None


def _activations(inputs: dict[str, Any]) -> str:
    bits = count_of(inputs.get("num_bits"))
    if not inputs or bits in (None, 16, 32):
        return "none"
    return f"{text_of(inputs.get('type')) or 'float'}{bits}"


def fp8(declared: dict[str, Any], facts: Facts) -> str | None:
    """``quant_method: fp8``: per block where a block size is given, else per tensor."""
    block = list_of(declared.get("weight_block_size"))
    if len(block) == 2 and all(count_of(b) for b in block):
        return "fp8_block"
    return "fp8"


def integers(declared: dict[str, Any], facts: Facts) -> str | None:
    """AWQ, GPTQ and their kin: integers of so many bits, activations left alone."""
    bits = count_of(declared.get("bits")) or count_of(declared.get("w_bit"))
    return pair({"type": "int", "num_bits": bits}, {}, facts)


def autoround(declared: dict[str, Any], facts: Facts) -> str | None:
    """AutoRound: ``data_type`` and ``act_bits``; microscaling without ``act_bits`` is not read."""
    words, bits = text_of(declared.get("data_type")).lower(), count_of(declared.get("bits"))
    acts = declared.get("act_bits")
    if words in ("", "int"):
        kind = text_of(declared.get("act_data_type")) or "int"
        inputs = {} if acts in (None, 16) else {"type": kind.split("_")[0], "num_bits": acts}
        return pair({"type": "int", "num_bits": bits}, inputs, facts) or "autoround"
    if acts is None:
        return "autoround"
    size = {"mx": 32, "nv": 16}.get(words[:2])
    strategy = "group" if size else ("block" if group_size(declared) else "channel")
    weights = {"type": "float", "num_bits": bits, "group_size": size, "strategy": strategy}
    return pair(weights, {"type": "float", "num_bits": acts}, facts) or "autoround"


def bitsandbytes(declared: dict[str, Any], facts: Facts) -> str | None:
    """bitsandbytes: NF4 or FP4 by ``bnb_4bit_quant_type``, or LLM.int8()."""
    if declared.get("load_in_4bit"):
        return {"nf4": "nf4", "fp4": "fp4_bnb"}.get(
            text_of(declared.get("bnb_4bit_quant_type")) or "fp4"
        )
    return "int8_bnb" if declared.get("load_in_8bit") else None


def quark(declared: dict[str, Any], facts: Facts) -> str | None:
    """AMD Quark: ``global_quant_config`` with weight and input_tensors."""
    return _quark_pair(dict_of(declared.get("global_quant_config")), facts)


def _quark_pair(whole: dict[str, Any], facts: Facts) -> str | None:
    weights, inputs = (_quark_part(whole.get(k), facts) for k in ("weight", "input_tensors"))
    return pair(weights, inputs, facts) if weights else None


def _quark_part(part: Any, facts: Facts) -> dict[str, Any]:
    part = part[-1] if isinstance(part, list) and part else part  # stages: the last is stored
    part = dict_of(part)
    found = facts.quant_formats.number_words.get(part.get("dtype"))
    if found is None:
        return {}
    scheme = text_of(part.get("qscheme"))
    return {
        "type": found[0], "num_bits": found[1], "group_size": part.get("group_size"),
        "strategy": {"per_channel": "channel", "per_tensor": "tensor"}.get(scheme, "group"),
    }  # fmt: skip


def others(declared: dict[str, Any], rule: str, facts: Facts) -> dict[str, list[str]]:
    """Return the encodings of modules that a method sets apart from the rest, with their patterns.

    Quark's ``layer_quant_config``, AutoRound's ``extra_config`` and the ``+:`` rules of GPTQ's
    ``dynamic``; modules that stay in 16 bits are left out.
    """
    found: dict[str, list[str]] = {}
    key = {"quark": "layer_quant_config", "autoround": "extra_config", "bits": "dynamic"}.get(rule)
    for name, own in dict_of(declared.get(key)).items() if key else ():
        own = dict_of(own)
        if rule == "quark":
            encoding = _quark_pair(own, facts)
        elif count_of(own.get("bits")) in (None, 16, 32) or name.startswith("-"):
            continue
        else:
            encoding = RULES[rule]({**declared, **own}, facts)
        if encoding is not None:
            found.setdefault(encoding, []).append(name)
    return found


def torchao(declared: dict[str, Any], facts: Facts) -> str | None:
    """TorchAO: the name of its configuration class, or the older short form."""
    kind = declared.get("quant_type")
    whole = dict_of(kind).get("default") if isinstance(kind, dict) else kind
    return facts.quant_formats.torchao.get(dict_of(whole).get("_type") or whole)


def quanto(declared: dict[str, Any], facts: Facts) -> str | None:
    """Quanto: words for weights and activations."""
    words = facts.quant_formats.number_words
    weights, acts = words.get(declared.get("weights")), words.get(declared.get("activations"))
    if weights is None:
        return None
    inputs = {"type": acts[0], "num_bits": acts[1]} if acts else {}
    own = {"type": weights[0], "num_bits": weights[1], "strategy": "channel"}
    return pair(own, inputs, facts)


def is_mlx(declared: dict[str, Any], config: dict[str, Any]) -> bool:
    """Whether a quantisation is MLX's: bits and group size, and no method's name."""
    own = dict_of(config.get("quantization"))
    named = declared.get("quant_method") or own.get("quant_method")
    settled = count_of(declared.get("bits")) is not None and "group_size" in declared
    return settled and not named and (bool(own) or "mode" in declared)


def mlx_encoding(own: dict[str, Any], whole: dict[str, Any], quantised: bool) -> str:
    """Return the id of an MLX setting; only nvfp4 and mxfp8 can quantise activations too."""
    mode = text_of(own.get("mode")) or text_of(whole.get("mode")) or "affine"
    if mode == "affine":
        return f"mlx_affine_{count_of(own.get('bits'))}"
    return f"mlx_{mode}" + ("_aq" if quantised and mode in ("nvfp4", "mxfp8") else "")


RULES: dict[str, Callable[[dict[str, Any], Facts], str | None]] = {
    "fp8": fp8, "bits": integers, "autoround": autoround, "bitsandbytes": bitsandbytes,
    "quark": quark, "torchao": torchao, "quanto": quanto,
}  # fmt: skip
