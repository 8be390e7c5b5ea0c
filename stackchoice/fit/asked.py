"""A speed question of the ledger read as a run: what it does not say stays unknown."""

from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Machine
from stackchoice.fit.cache import cache_layout
from stackchoice.fit.config import text_config, whole
from stackchoice.fit.parameters import count_parameters
from stackchoice.fit.rates import peak_rate
from stackchoice.fit.runs import SPARSE_BELOW, Run, attention_operations, link_over, set_up
from stackchoice.fit.stream import layers_run


def asked_run(ask: str, given: dict[str, Any], facts: Facts) -> Run:
    """Read the ``given`` of a speed question; what it does not say stays None."""
    stated = given["machine"]
    device = find_machine(stated, facts)
    encoding = facts.speed_classes.encoding(given.get("encoding", ""))
    config = given.get("config") or {}
    counts = count_parameters(config)
    active = given.get("active_params") or given.get("params")
    total = given.get("params")
    phase = "prefill" if ask.startswith("prefill") else "decode"
    if active is None and counts:
        active = counts.decode_active if phase == "decode" else counts.prefill_active
    total = total or (counts and counts.total)
    active_bytes = given.get("active_bytes")
    if active_bytes is None and active and encoding:
        active_bytes = active * encoding.bits / 8
    bits = given.get("activation_bits") or (encoding.activation_bits if encoding else 16)
    depth = given.get("context_tokens") or 0
    prompt = given.get("prompt_tokens")
    scores = 0.0
    if counts and prompt:
        scores = attention_operations(counts.attention_width, counts.full_layers, 0, prompt)
    text = {**config, **text_config(config)}
    devices = given.get("tp") or stated.get("count") or 1
    family = encoding.family if encoding else "any"
    known = set_up(device, stated.get("backend", ""), given.get("engine", ""), family, devices,
                   peak_rate(device, bits), facts.speed_classes)  # fmt: skip
    if mode := given.get("split_mode"):
        known["by_layer"] = str(mode).lower() in ("layer", "pipeline")
    return Run(
        phase=phase, bandwidth_gb_per_s=stated.get("bandwidth_gb_per_s"),
        total_bytes=total * encoding.bits / 8 if total and encoding else active_bytes,
        active_bytes=active_bytes, active_parameters=active, attention_operations=scores,
        cache_bytes=_cache_bytes(config, given.get("kv_dtype"), depth) if depth else 0,
        depth_tokens=depth, prompt_tokens=prompt,
        sparse=bool(
            text.get("num_experts_per_tok") or (total and active and active / total < SPARSE_BELOW)
        ),
        link=link_over(device, given.get("interconnect"), devices, facts.links.values()),
        peer_to_peer=given.get("p2p_enabled"), layer_count=layers_run(config),
        hidden_size=whole(text, "hidden_size"), **known,
    )  # fmt: skip


def _cache_bytes(config: dict[str, Any], kv_dtype: str | None, depth: int) -> float | None:
    if not config:
        return None
    try:
        layout = cache_layout(config, kv_dtype)
    except UnknownCacheError:
        return None
    return layout.bytes_per_sequence(depth)


def find_machine(stated: dict[str, Any], facts: Facts) -> Machine | None:
    """Find the machine a question names: most words in common, bandwidth within a tenth."""
    words, bandwidth = _words(stated["name"]), stated.get("bandwidth_gb_per_s")
    memory = stated.get("memory_gb") or 0

    def closeness(machine: Machine) -> tuple[int, float, int]:
        shared = len(words & _words(f"{machine.name} {machine.arch}"))
        size = machine.memory_gb.value or 0
        return shared, -abs(size - memory), -len(machine.name)

    near = [
        m for m in facts.machines.values()
        if (own := m.bandwidth_gb_per_s.value) and (not bandwidth or abs(own / bandwidth - 1) < 0.1)
    ]  # fmt: skip
    best = max(near, key=closeness, default=None)
    return best if best and 2 * closeness(best)[0] >= min(3, len(words)) else None


def _words(name: str) -> set[str]:
    for mark in "()/,":
        name = name.replace(mark, " ")
    return set(name.lower().split())
