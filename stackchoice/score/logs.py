"""The questions about logs, answered by the log reader under the ledger's names."""

from typing import Any

from stackchoice.facts.load import Facts
from stackchoice.read.declared import activations
from stackchoice.read.log_against import below_hardware, ran, whole
from stackchoice.read.log_patterns import load_languages
from stackchoice.read.log_reader import read_lines
from stackchoice.read.log_records import Boot, Hardware
from stackchoice.score.given import Answer, Given, Unknown, capability, engine_id, files_of

#: The warnings that the ledger has a word for; the reader knows more.
LEDGER_WARNINGS = (
    "weight_only_fp4", "weight_only_fp8", "negative_cuda_graph_estimate",
    "negative_memory_for_cache", "cuda_graph_memory_inside_budget", "padding_layers",
    "cudagraph_mode_reduced", "pool_below_one_request", "context_below_training_context",
)  # fmt: skip
#: Warnings of a start that runs, but not as it was meant to.
STARTS_BUT = ("partial_cpu_offload", "pool_below_one_request")


def read_log(given: Given, facts: Facts) -> Answer:
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
    weights, activations = asked_for(given, facts)
    return Hardware(
        capability=capability(gpu.get("arch")) if isinstance(gpu, dict) else None,
        weight_bits=weights, activation_bits=activations,
        release=str(given["engine_version"]) if given.get("engine_version") else None,
    )  # fmt: skip


def asked_for(given: Given, facts: Facts) -> tuple[int | None, int | None]:
    """Return the narrowest weights, and the activation bits that the files ask for with them.

    The files may contradict each other; bits on which they do not agree are unknown.
    """
    found: dict[float, set[int]] = {}
    for said in files_of(given, facts)[1]:
        for place in dict.fromkeys(group.place for group in said.groups):
            for weights, bits in activations(said, place, facts.encodings).items():
                found.setdefault(weights, set()).update(bits)
    if not found:
        return None, None
    narrow = min(found)
    return round(narrow), next(iter(found[narrow])) if len(found[narrow]) == 1 else None


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
    reasons = [w.code for w in boot.warnings if w.code in STARTS_BUT]
    if reasons or answer.get("started"):
        answer["verdict"], answer["because"] = "starts", (reasons or ["ok"])[0]
