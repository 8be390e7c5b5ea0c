"""The questions about logs, answered by the log reader under the ledger's names."""

from __future__ import annotations

import re
from typing import Any

from stackchoice.facts.encodings import Encoding
from stackchoice.facts.load import Facts
from stackchoice.read.log_against import below_hardware, ran, whole
from stackchoice.read.log_patterns import load_languages
from stackchoice.read.log_reader import read_lines
from stackchoice.read.log_records import Boot, Hardware
from stackchoice.score.engines import engine_id
from stackchoice.score.given import Answer, Given
from stackchoice.score.unknown import Unknown

#: The warnings that the ledger has a word for; the reader knows more.
LEDGER_WARNINGS = (
    "weight_only_fp4", "weight_only_fp8", "negative_cuda_graph_estimate",
    "negative_memory_for_cache", "cuda_graph_memory_inside_budget", "padding_layers",
    "cudagraph_mode_reduced", "pool_below_one_request", "context_below_training_context",
)  # fmt: skip
ARCH = re.compile(r"sm_?(\d{1,2})(\d)a?\Z")
#: A start that runs but not as it was meant to: our code -> the ledger's reason.
STARTS_BUT = {
    "partial_cpu_offload": "partial_cpu_offload", "pool_below_one_request": "pool_below_one_request",
}  # fmt: skip


def read_log(given: Given, facts: Facts, *, source_url: str | None = None) -> Answer:
    """Return every field that the given text holds; several boots or samples become lists."""
    text = given.get("text")
    if not isinstance(text, str):
        raise Unknown("no text is given")
    engine = engine_id(given.get("engine"), facts) if given.get("engine") else None
    if engine is not None and engine not in load_languages():
        raise Unknown(f"no log lines of {engine} are in the fact base")
    hardware = hardware_of(given, facts)
    reading = read_lines(text.splitlines(), facts.memory, engine=engine, hardware=hardware)
    if not reading.boots:
        raise Unknown("; ".join(reading.notes))
    boots = [flat(boot, hardware) for boot in reading.boots]
    if len(boots) == 1:
        return boots[0]
    keys = dict.fromkeys(key for boot in boots for key in boot)
    lists = {key: [boot[key] for boot in boots if key in boot] for key in keys}
    return {key: _flattened(values) for key, values in lists.items()}


def _flattened(values: list[Any]) -> Any:
    """Return one value where only one boot has it, else the list in order."""
    if len(values) == 1:
        return values[0]
    if all(isinstance(v, list) for v in values):
        return [x for v in values for x in v]
    return values


def hardware_of(given: Given, facts: Facts) -> Hardware:
    """Return what a question says of the chip, the release and the checkpoint."""
    gpu = given.get("gpu") or given.get("machine") or {}
    arch = ARCH.match(str(gpu.get("arch") or "")) if isinstance(gpu, dict) else None
    weights, activations = asked_for(given, facts)
    return Hardware(
        capability=float(f"{arch.group(1)}.{arch.group(2)}") if arch else None,
        weight_bits=weights, activation_bits=activations,
        release=str(given["engine_version"]) if given.get("engine_version") else None,
    )  # fmt: skip


def asked_for(given: Given, facts: Facts) -> tuple[int | None, int | None]:
    """Return the weight and activation bits that the checkpoint's files ask for.

    The files may contradict each other; bits on which they do not agree are unknown.
    """
    config = given.get("config") if isinstance(given.get("config"), dict) else {}
    side = given.get("hf_quant_config")
    side = side.get("quantization", side) if isinstance(side, dict) else {}
    places = (side, given.get("quantization_config"), config.get("quantization_config"))
    found: list[tuple[int | None, int | None]] = []
    for declared in places:
        if isinstance(declared, dict):
            found += _declared(declared, facts)
    narrow = [bits for bits in found if bits[0] == min((b[0] or 99) for b in found)]
    weights, activations = {b[0] for b in narrow}, {b[1] for b in narrow}
    return (
        weights.pop() if len(weights) == 1 else None,
        activations.pop() if len(activations) == 1 else None,
    )


def _declared(declared: dict[str, Any], facts: Facts) -> list[tuple[int | None, int | None]]:
    """Return (weight bits, activation bits) of every group that one declaration gives."""
    found = []
    for group in (declared.get("config_groups") or {}).values():
        weights, inputs = (group.get(k) or {} for k in ("weights", "input_activations"))
        if isinstance(weights.get("num_bits"), int):
            found.append((weights["num_bits"], inputs.get("num_bits") or 16))
    layers = (declared.get("quantized_layers") or {}).values()
    algos = [declared.get("quant_algo"), *(x.get("quant_algo") for x in layers)]
    ids = [facts.quant_formats.algos.get(algo) for algo in dict.fromkeys(algos)]
    method = str(declared.get("quant_method") or "").lower()
    if method in ("awq", "gptq", "awq_marlin", "gptq_marlin"):
        found.append((declared.get("bits") or declared.get("w_bit"), 16))
    elif method in facts.encodings or method == "mxfp4":
        ids.append("mxfp4_a16" if method == "mxfp4" else method)
    encodings = [facts.encodings[i] for i in ids if i in facts.encodings]
    return found + [_bits(e) for e in encodings]


def _bits(encoding: Encoding) -> tuple[int | None, int | None]:
    weights = None if encoding.weight_bits is None else int(encoding.weight_bits)
    return weights, encoding.activation_bits


def flat(boot: Boot, hardware: Hardware) -> Answer:
    """Return a boot under the ledger's names."""
    answer: Answer = {key: found.value for key, found in boot.values.items()}
    for key, series in boot.series.items():
        samples = series.samples
        answer[key] = samples[0] if len(samples) == 1 else samples
    parts = ran(boot)
    for part in ("linear", "moe"):
        if part in parts and parts[part].arithmetic:
            answer[f"{part}_arithmetic"] = parts[part].arithmetic
    if (arithmetic := whole(parts)) is not None:
        answer["arithmetic"] = arithmetic
    if {"linear_arithmetic", "moe_arithmetic"} <= answer.keys():
        answer["mixed"] = answer["linear_arithmetic"] != answer["moe_arithmetic"]
    real = [w.fallback_real for w in boot.warnings if w.fallback_real is not None]
    if real:
        answer["fallback_real"] = any(real)
    if (below := below_hardware(boot, hardware)) is not None:
        answer["path_below_hardware"] = below
    answer["warnings"] = [w.code for w in boot.warnings if w.code in LEDGER_WARNINGS]
    _verdict(answer, boot)
    return answer


def _verdict(answer: Answer, boot: Boot) -> None:
    if boot.refusals:
        # the engine's own reason beats the crash that may follow it
        first = next((r for r in boot.refusals if r.verdict == "refused"), boot.refusals[0])
        answer["verdict"], answer["because"] = first.verdict, first.because
        return
    reasons = [STARTS_BUT[w.code] for w in boot.warnings if w.code in STARTS_BUT]
    if reasons or answer.get("started"):
        answer["verdict"], answer["because"] = "starts", (reasons or ["ok"])[0]
