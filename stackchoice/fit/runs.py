"""A run: what was, or would be, executed at batch 1, with its ceiling.

A public measurement and a question of the ledger are read into the same record, so that the
intervals are fitted from, and asked for, the same quantities.
"""

import math
import re
from collections.abc import Iterable
from typing import Any, Literal

from stackchoice.facts.datum import Record
from stackchoice.facts.links import Link, LinkPath, path_over
from stackchoice.facts.load import Facts
from stackchoice.facts.measurements import Measurement, SpeedClasses, repository
from stackchoice.facts.records import Machine
from stackchoice.fit.interconnect import pipeline_speedup, tensor_parallel_seconds
from stackchoice.fit.memory import GB, GIB
from stackchoice.fit.rates import native_gain, peak_rate

TERA = 10**12

#: Remarks in a source that say its rate is not what a healthy run of this set-up reaches.
DOUBTFUL = re.compile("CAUTION|power cap|multi-GPU over PCIe|2 nodes|host bound|Two sockets", re.I)

#: Prompt tokens that engines multiply at once by default; a chunk streams all weights once.
CHUNK_TOKENS = {"llama.cpp": 512, "mlx": 2048, "server": 8192, "other": 2048}

#: Share of active to all parameters below which a model counts as a mixture of experts.
SPARSE_BELOW = 0.7


class Run(Record):
    """One stream on ``devices`` devices. None is unknown; ``cache_bytes`` are read per token.

    Devices that split a model ``by_layer`` take turns at a single stream's token; others reduce
    the hidden state over ``link`` (None: nobody said what is between them), directly unless
    ``peer_to_peer`` is False. ``setup`` names model, engine, backend, device, encoding and count:
    runs that share it share their habits.
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
    vendor: str = ""
    link: LinkPath | None = None
    peer_to_peer: bool | None = None
    layer_count: int | None = None
    hidden_size: int | None = None
    sound: bool = True
    tokens_per_s: float | None = None
    source: str = ""
    setup: tuple[str, ...] = ()

    @property
    def total_parameters(self) -> float | None:
        """Parameters in all, by the bytes they take against those of the active ones."""
        if not (self.active_parameters and self.total_bytes and self.active_bytes):
            return self.active_parameters
        return self.active_parameters * self.total_bytes / self.active_bytes

    @property
    def layers(self) -> float:
        """Layers, else those that a model of this size usually has: 32 at 8e9 parameters.

        It grows by the fourth root: Llama 3.1 8B has 32, its 70B 80 and its 405B 126 where this
        says 55 and 85. Only a scale for what a layer costs beside its bytes.
        """
        return self.layer_count or 32 * ((self.total_parameters or 8e9) / 8e9) ** 0.25

    @property
    def hidden(self) -> float:
        """Width of the hidden state, else by 12 x layers x width^2 = active parameters.

        (Four width^2 of attention and eight of feed-forward, Kaplan and others 2020, table 1.)
        """
        return self.hidden_size or ((self.active_parameters or 8e9) / (12 * self.layers)) ** 0.5

    @property
    def chunk_tokens(self) -> int:
        """Prompt tokens multiplied at once."""
        prompt = self.prompt_tokens or 512
        return min(CHUNK_TOKENS.get(self.engine_family, 2048), prompt)

    @property
    def reduces(self) -> bool:
        """Whether devices have to agree on every layer's result."""
        return self.devices > 1 and not self.by_layer

    @property
    def link_seconds(self) -> float:
        """Seconds a token costs between the devices, at least; 0 where nobody says over what."""
        if not (self.reduces and self.link):
            return 0.0
        return tensor_parallel_seconds(
            self.layers, self.hidden, self.devices, self.link,
            tokens=1 if self.phase == "decode" else self.chunk_tokens,
            direct=self.peer_to_peer is not False,
        )  # fmt: skip

    @property
    def ceiling(self) -> float | None:
        """Tokens per second that memory (decode) or arithmetic (prefill) and link would allow."""
        if self.phase == "decode":
            if not (self.bandwidth_gb_per_s and self.active_bytes):
                return None
            touched = self.active_bytes + (self.cache_bytes or 0)
            alone = decode_ceiling(
                self.bandwidth_gb_per_s, touched, 1 if self.by_layer else self.devices
            )
        else:
            if not (self.tera_ops_per_s and self.active_parameters):
                return None
            busy: float = self.devices
            if self.by_layer:
                chunks = math.ceil((self.prompt_tokens or 512) / self.chunk_tokens)
                busy = pipeline_speedup(self.devices, chunks)
            alone = prefill_ceiling(
                self.tera_ops_per_s, self.active_parameters, busy, self.attention_operations
            )
        return 1 / (1 / alone + self.link_seconds)


def decode_ceiling(bandwidth_gb_per_s: float, bytes_per_token: float, devices: int = 1) -> float:
    """Tokens/s if every byte touched came at full bandwidth: ``bandwidth x devices / bytes``.

    Source: the roofline of a memory-bound kernel (Williams, Waterman, Patterson 2009).
    """
    return bandwidth_gb_per_s * GB * devices / bytes_per_token


def prefill_ceiling(
    tera_ops_per_s: float,
    active_parameters: float,
    devices: float = 1,
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
        else row.params_b * GB * encoding.bits / 8
    )  # fmt: skip
    return Run(
        phase=row.phase, total_bytes=total, active_bytes=total * share,
        active_parameters=row.active_params_b * GB, depth_tokens=row.context_depth or 0,
        prompt_tokens=row.prompt_tokens, sparse=share < SPARSE_BELOW,
        sound=not DOUBTFUL.search(row.note), tokens_per_s=row.tokens_per_s,
        link=link_over(device, None, row.device_count, facts.links.values()),
        bandwidth_gb_per_s=device.bandwidth_gb_per_s.value, source=repository(row.source_url),
        setup=(row.model, row.engine.lower(), row.backend, row.device, row.encoding,
               str(row.device_count)),
        **set_up(device, row.backend, row.engine, encoding.family, row.device_count,
                 peak_rate(device, encoding.activation_bits), facts.speed_classes),
    )  # fmt: skip


def set_up(
    device: Any, backend: str, engine: str, encoding_family: str, devices: int,
    rate: float | None, classes: SpeedClasses,
) -> dict[str, Any]:  # fmt: skip
    """Return the fields of a run that its engine, device (None: not known) and rate give."""
    return {
        "device": device.id if device else "", "vendor": device.vendor if device else "",
        "device_class": device_kind(device, backend) if device else "gpu",
        "kernels": kernel_family(backend, device), "engine": engine.lower(),
        "engine_family": classes.engine_family(engine), "encoding_family": encoding_family,
        "tera_ops_per_s": rate, "native_gain": native_gain(device, rate), "devices": devices,
        "by_layer": classes.splits_by_layer(engine),
    }  # fmt: skip


def device_kind(device: Any, backend: str = "") -> str:
    """Class of devices that the intervals are kept by: gpu, unified or cpu."""
    if backend == "cpu":
        return "cpu"
    if isinstance(device, Machine):
        if device.backend == "cpu":
            return "cpu"
        return "unified" if device.unified_memory else "gpu"
    kind: str = device.device_class
    return kind


def link_over(
    device: Any, stated: str | None, devices: int, links: Iterable[Link]
) -> LinkPath | None:
    """Return what is between the devices: what is stated, else what the machine is built with."""
    if devices < 2:
        return None
    own = device.interconnect.value if isinstance(device, Machine) else None
    return path_over(stated or own, links, devices)


def kernel_family(backend: str, device: Any) -> str:
    """Whose kernels run: cuda, apple, cpu, or portable ones (Vulkan, ROCm, SYCL)."""
    name = backend or (device.backend if isinstance(device, Machine) else "")
    if name in ("metal", "mlx"):
        return "apple"
    return name if name in ("cuda", "cpu") else "portable"
