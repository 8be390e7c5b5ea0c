"""A run: what was, or would be, executed at batch 1, with its ceiling.

A public measurement and a question of the ledger are read into the same record, so that the
intervals are fitted from, and asked for, the same quantities.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Record
from stackchoice.facts.load import Facts
from stackchoice.facts.measurements import Measurement, repository
from stackchoice.facts.records import Machine
from stackchoice.fit.cache import cache_layout
from stackchoice.fit.parameters import count_parameters

GIGA, TERA, GIB = 10**9, 10**12, 2**30

#: The ledger's names of cache types, as the configs of models spell them.
KV_DTYPES = {
    "bf16": "bfloat16", "f16": "float16", "fp16": "float16", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8",
    "f32": "float32",
}  # fmt: skip

#: Remarks in a source that say its rate is not what a healthy run of this set-up reaches.
DOUBTFUL = re.compile("CAUTION|power cap|multi-GPU over PCIe|2 nodes|host bound|Two sockets", re.I)

#: Share of active to all parameters below which a model counts as a mixture of experts.
SPARSE_BELOW = 0.7


class Run(Record):
    """One stream on ``devices`` devices. None is unknown; ``cache_bytes`` are read per token.

    Devices that split a model ``by_layer`` take turns at a single stream's token.
    """

    phase: Literal["decode", "prefill"]
    device_class: str
    engine_family: str
    encoding_family: str
    bandwidth_gb_per_s: float | None = None
    tera_ops_per_s: float | None = None
    devices: int = 1
    by_layer: bool = False
    device: str = ""
    engine: str = ""
    kernels: str = "cuda"
    native_gain: float = 1.0
    total_bytes: float | None = None
    active_bytes: float | None = None
    active_parameters: float | None = None
    attention_operations: float = 0
    cache_bytes: float | None = None
    depth_tokens: int = 0
    prompt_tokens: int | None = None
    sparse: bool = False
    peer_to_peer: bool | None = None
    sound: bool = True
    tokens_per_s: float | None = None
    source: str = ""

    @property
    def total_parameters(self) -> float | None:
        """Parameters in all, by the bytes they take against those of the active ones."""
        if not (self.active_parameters and self.total_bytes and self.active_bytes):
            return self.active_parameters
        return self.active_parameters * self.total_bytes / self.active_bytes

    @property
    def ceiling(self) -> float | None:
        """Tokens per second that the memory (decode) or the arithmetic (prefill) would allow."""
        if self.phase == "decode":
            if not (self.bandwidth_gb_per_s and self.active_bytes):
                return None
            touched = self.active_bytes + (self.cache_bytes or 0)
            return decode_ceiling(
                self.bandwidth_gb_per_s, touched, 1 if self.by_layer else self.devices
            )
        if not (self.tera_ops_per_s and self.active_parameters):
            return None
        return prefill_ceiling(
            self.tera_ops_per_s, self.active_parameters, self.devices, self.attention_operations
        )


def decode_ceiling(bandwidth_gb_per_s: float, bytes_per_token: float, devices: int = 1) -> float:
    """Tokens/s if every byte touched came at full bandwidth: ``bandwidth x devices / bytes``.

    Source: the roofline of a memory-bound kernel (Williams, Waterman, Patterson 2009).
    """
    return bandwidth_gb_per_s * GIGA * devices / bytes_per_token


def prefill_ceiling(
    tera_ops_per_s: float,
    active_parameters: float,
    devices: int = 1,
    attention_operations: float = 0,
) -> float:
    """Tokens/s if arithmetic ran at its peak: ``rate x devices / (2 x active + attention)``.

    A weight costs a multiplication and an addition per token; ``attention_operations`` are those
    of scores and values per token, see :func:`attention_operations`.
    """
    return tera_ops_per_s * TERA * devices / (2 * active_parameters + attention_operations)


def attention_operations(score_width: int, full_layers: int, first: int, tokens: int) -> float:
    """Operations of causal attention per prompt token, in the full layers, on the mean.

    Each token meets the ``first`` ones before the prompt and half of the prompt itself:
    ``2 x score_width x layers x (first + tokens / 2)``, ``score_width`` being heads x (key width
    + value width).
    """
    return 2.0 * score_width * full_layers * (first + tokens / 2)


def suspect_kernel_path(measured: float, ceiling: float, device_class: str) -> bool:
    """Whether a single stream on a GPU is so far below the ceiling that the kernels are suspect.

    Below 0.3 of the ceiling at batch 1: a fallback kernel, an unfused path, missing CUDA graphs.
    """
    return device_class == "gpu" and measured < 0.3 * ceiling


def measured_run(row: Measurement, facts: Facts) -> Run | None:
    """Read a row of ``measurements.csv``; None where its encoding or device is not known."""
    encoding = facts.speed_classes.encoding(row.encoding)
    device = facts.machines.get(row.device) or facts.measured_devices.get(row.device)
    if encoding is None or device is None:
        return None
    share = row.active_params_b / row.params_b
    total = (
        row.weight_bytes_gib * GIB if row.weight_bytes_gib
        else row.params_b * GIGA * encoding.bits / 8
    )  # fmt: skip
    rate = _rate(device, encoding.activation_bits)
    return Run(
        phase=row.phase,
        device_class=device_kind(device, row.backend),
        engine_family=facts.speed_classes.engine_family(row.engine),
        encoding_family=encoding.family,
        bandwidth_gb_per_s=device.bandwidth_gb_per_s.value,
        tera_ops_per_s=rate,
        devices=row.device_count,
        by_layer=facts.speed_classes.splits_by_layer(row.engine),
        device=row.device,
        engine=row.engine.lower(),
        kernels=kernel_family(row.backend, device),
        native_gain=_gain(device, rate),
        total_bytes=total,
        active_bytes=total * share,
        active_parameters=row.active_params_b * GIGA,
        depth_tokens=row.context_depth or 0,
        prompt_tokens=row.prompt_tokens,
        sparse=share < SPARSE_BELOW,
        sound=not DOUBTFUL.search(row.note),
        tokens_per_s=row.tokens_per_s,
        source=repository(row.source_url),
    )


def device_kind(device: Any, backend: str = "") -> str:
    """Class of devices that the intervals are kept by: gpu, unified or cpu."""
    if backend == "cpu":
        return "cpu"
    if isinstance(device, Machine):
        if device.backend == "cpu":
            return "cpu"
        return "unified" if device.unified_memory else "gpu"
    return device.device_class


def _rate(device: Any, activation_bits: int) -> float | None:
    """Peak dense rate of the arithmetic that runs, else of 16 bit, in 10^12 operations/s."""
    native = {8: ("fp8_dense_tflops", "int8_dense_tops"), 4: ("fp4_dense_tflops",)}
    for name in (*native.get(activation_bits, ()), "bf16_dense_tflops"):
        known = getattr(device, name, None)
        if known and known.value:
            return known.value
    return None


def _gain(device: Any, rate: float | None) -> float:
    """How much faster the chosen arithmetic is than 16 bit, by the data sheet."""
    base = device.bf16_dense_tflops.value
    return rate / base if rate and base else 1.0


def kernel_family(backend: str, device: Any) -> str:
    """Whose kernels run: cuda, apple, cpu, or portable ones (Vulkan, ROCm, SYCL)."""
    name = backend or (device.backend if isinstance(device, Machine) else "")
    if name in ("metal", "mlx"):
        return "apple"
    return name if name in ("cuda", "cpu") else "portable"


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
    text = {**config, **config.get("text_config", {})}
    return Run(
        phase=phase,
        device_class=device_kind(device, stated.get("backend", "")) if device else "gpu",
        engine_family=facts.speed_classes.engine_family(given.get("engine", "")),
        encoding_family=encoding.family if encoding else "any",
        bandwidth_gb_per_s=stated.get("bandwidth_gb_per_s"),
        tera_ops_per_s=_rate(device, bits) if device else None,
        devices=given.get("tp") or stated.get("count") or 1,
        by_layer=facts.speed_classes.splits_by_layer(given.get("engine", "")),
        device=device.id if device else "",
        engine=given.get("engine", "").lower(),
        kernels=kernel_family(stated.get("backend", ""), device),
        native_gain=_gain(device, _rate(device, bits)) if device else 1.0,
        total_bytes=total * encoding.bits / 8 if total and encoding else active_bytes,
        active_bytes=active_bytes,
        active_parameters=active,
        attention_operations=scores,
        cache_bytes=_cache_bytes(config, given.get("kv_dtype"), depth) if depth else 0,
        depth_tokens=depth,
        prompt_tokens=prompt,
        sparse=bool(
            text.get("num_experts_per_tok") or (total and active and active / total < SPARSE_BELOW)
        ),
        peer_to_peer=given.get("p2p_enabled"),
    )


def _cache_bytes(config: dict[str, Any], kv_dtype: str | None, depth: int) -> float | None:
    if not config:
        return None
    try:
        layout = cache_layout(config, kv_dtype=KV_DTYPES.get(kv_dtype or "", kv_dtype))
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
