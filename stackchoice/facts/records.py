"""The typed records of the fact base: models, machines, engines, sellers, prices, rules.

Units stand in the field names. GB is 10^9 bytes, GiB is 2^30 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from math import exp, prod
from typing import Any, Literal

from packaging.version import Version
from pydantic import Field, model_validator

from stackchoice.facts.datum import AsOf, Datum, Record, Source

#: A version that says it is a candidate: 1.4.0rc1, 0.33.0-rc2, 1.6.0b1 (but not build b12464).
PRE_RELEASE = re.compile(r"\d-?(a|b|rc|\.dev)\d")

#: Marks the first release that was seen to have something, older ones not having been read.
SEEN_BY = "by "

Format = Literal["safetensors", "gguf", "mlx"]
Backend = Literal["cuda", "rocm", "metal", "cpu", "xpu", "tpu", "hpu", "neuron"]
Path = Literal["managed", "rented", "owned"]


class Artifact(Record):
    """One published set of weights of a model: what is really downloaded.

    ``weights_bytes`` is what the checkpoint holds on disk, draft head and vision tower
    included; ``read_bytes_per_token`` is what one decode step reads when that is less (MoE).
    """

    id: str
    label: str
    format: Format
    encoding: str
    weights_bytes: Datum[int]
    read_bytes_per_token: Datum[int] = Datum[int]()
    weight_bits: Datum[float] = Datum[float]()
    activation_bits: Datum[int] = Datum[int]()
    revision: Datum[str] = Datum[str]()
    licence: Datum[str] = Datum[str]()
    note: str = ""


class SamplingPreset(Record):
    """One published decoding configuration of a model (card or generation_config.json)."""

    thinking: bool
    settings: dict[str, float]
    source: Source


class Model(Record):
    """An open-weight model: its own config fields, parameter counts and artifacts."""

    id: str
    name: str
    released: Datum[str] = Datum[str]()
    licence: Datum[str]
    config: Datum[dict[str, Any]]
    parameters: Datum[int]
    active_parameters: Datum[int]
    context_tokens: Datum[int]
    modalities: Datum[list[str]]
    sampling_presets: dict[str, SamplingPreset] = {}
    artifacts: list[Artifact]

    def artifact(self, artifact_id: str) -> Artifact:
        """Return the artifact with this id (``KeyError`` when the model has none)."""
        return next(a for a in self.artifacts if a.id == artifact_id)


class Machine(Record):
    """One accelerator or computer as engines see it. Rates are per device, dense, peak."""

    id: str
    name: str
    vendor: str
    backend: Backend
    arch: str
    compute_capability: str | None = None
    memory_gb: Datum[float]
    memory_gib_reported: Datum[float] = Datum[float]()
    unified_memory: bool = False
    gpu_usable_share: Datum[float] = Datum[float]()
    bandwidth_gb_per_s: Datum[float]
    bf16_dense_tflops: Datum[float] = Datum[float]()
    fp8_dense_tflops: Datum[float] = Datum[float]()
    fp4_dense_tflops: Datum[float] = Datum[float]()
    int8_dense_tops: Datum[float] = Datum[float]()
    board_power_w: Datum[float] = Datum[float]()
    note: str = ""

    @property
    def cuda_capability(self) -> float | None:
        """Compute capability as a number; None for what is no CUDA device."""
        try:
            return float(self.compute_capability or "")
        except ValueError:
            return None


class Release(Record):
    """A release of an engine."""

    version: str
    date: AsOf
    source: Source


class Engine(Record):
    """An inference engine: where it runs, what it loads, what it implements, since when.

    ``architectures`` maps a config's ``architectures[0]`` to the first release that has it
    (``"any"`` where that is older than anybody looked, ``"no"`` where it never came). A missing
    key is unknown. ``features`` say the same of features, and ``"by 1.2"`` where that release was
    seen to have one and no older one was read.
    """

    id: str
    name: str
    kind: Literal["server", "desktop", "library", "reference"]
    licence: Datum[str]
    releases: list[Release] = Field(min_length=1)
    platforms: dict[Backend, Datum[bool]]
    min_compute_capability: Datum[float] = Datum[float]()
    formats: dict[Format, Datum[bool]]
    architectures: dict[str, Datum[str]] = {}
    features: dict[str, Datum[str]] = {}
    releases_in_6_months: Datum[int] = Datum[int]()
    maturity: Literal["established", "young"] = "established"

    def implements(self, architecture: str, release: str | None = None) -> tuple[bool | None, str]:
        """Whether a release (the newest) has a config's architecture, and since which one.

        Returns (None, "") where the fact base does not say.
        """
        return self._since(self.architectures, architecture, release)

    def has(self, feature: str, release: str | None = None) -> tuple[bool | None, str]:
        """Whether a release (the newest) has a feature, and the release it came with.

        Returns (None, "") where the fact base does not say.
        """
        return self._since(self.features, feature, release)

    def _since(
        self, table: dict[str, Datum[str]], key: str, release: str | None
    ) -> tuple[bool | None, str]:
        since = table.get(key, Datum[str]()).value
        if since is None:
            return None, ""
        if since in ("any", "no"):
            return since == "any", ""
        seen = since.removeprefix(SEEN_BY)
        there = _order(seen) <= _order(release or self.latest.version)
        if seen != since:  # an older release may have it as well
            return there or None, ""
        return there, since

    @property
    def latest(self) -> Release:
        """The newest stable release in the fact base; a pre-release only where nothing else is."""
        stable = [r for r in self.releases if not PRE_RELEASE.search(r.version)]
        return max(stable or self.releases, key=lambda r: (r.date, r.version))


def _order(version: str) -> Version:
    """Order releases and builds alike: ``b8920`` is build 8920."""
    return Version(version.removeprefix("b"))


class TokenPrice(Record):
    """Metered price from a date on, in USD per million tokens. Appended, never overwritten."""

    starts: AsOf
    input_usd_per_mtok: Decimal = Field(ge=0)
    cached_input_usd_per_mtok: Decimal | None = Field(default=None, ge=0)
    output_usd_per_mtok: Decimal = Field(ge=0)
    source: Source


class Offer(Record):
    """What one seller sells under a model's name.

    One name, different products: precision, context and enforcement are facts of their own,
    unknown where nobody says.
    """

    model: str
    sold_as: str
    precision: Datum[str] = Datum[str]()
    context_tokens: Datum[int] = Datum[int]()
    features: dict[str, Datum[bool]] = {}
    prices: list[TokenPrice] = Field(min_length=1)

    @property
    def price(self) -> TokenPrice:
        """The newest price."""
        return max(self.prices, key=lambda p: p.starts)


class Seller(Record):
    """A managed endpoint: who sells which models, and what is known of the service."""

    id: str
    name: str
    kind: Literal["direct", "aggregator"] = "direct"
    features: dict[str, Datum[bool]] = {}
    retention: Datum[str] = Datum[str]()
    regions: Datum[list[str]] = Datum[list[str]]()
    offers: list[Offer]

    def offer(self, model_id: str) -> Offer | None:
        """Return the offer for a model, or None when this seller has none."""
        return next((o for o in self.offers if o.model == model_id), None)


class HourPrice(Record):
    """An on-demand rental price per device and hour, in USD."""

    machine: str
    seller: str
    terms: str
    devices_per_unit: int = Field(default=1, ge=1)
    starts: AsOf
    usd_per_device_hour: Decimal = Field(gt=0)
    source: Source


class ServerPrice(Record):
    """Purchase price of a complete server with ``devices`` accelerators, in USD."""

    machine: str
    devices: int = Field(ge=1)
    usd: Decimal = Field(gt=0)
    installation_usd: Decimal = Field(ge=0)
    power_kw: Datum[float]
    starts: AsOf
    source: Source


class Assumption(Record):
    """A named number that the arithmetic needs and nobody measured for this team."""

    id: str
    unit: str
    datum: Datum[float]
    meaning: str


class Efficiency(Record):
    """How near to a ceiling real engines come: the 10th, 50th and 90th percentile.

    As a share of the ceiling, or as a rate at which one thread unpacks and multiplies weights,
    in GB/s, which is spent on top of reading them. ``rows`` measurements in ``groups``
    independent sources stand behind it.
    """

    device_class: Literal["gpu", "unified", "cpu"]
    phase: Literal["decode", "prefill"]
    threads: Literal["one", "all"] = "all"
    basis: Literal["share of the ceiling", "GB/s unpacked"] = "share of the ceiling"
    low: float = Field(gt=0)
    middle: float = Field(gt=0)
    high: float = Field(gt=0)
    rows: int = Field(ge=0)
    groups: int = Field(ge=0)
    evidence: Literal["computed", "assumed"]
    source: Source
    note: str = ""

    @model_validator(mode="after")
    def _ordered(self) -> Efficiency:
        if not self.low <= self.middle <= self.high:
            raise ValueError("low <= middle <= high must hold")
        return self


class ShareModel(Record):
    """Logarithm of measured over ceiling as a sum of effects, each with its own spread.

    ``terms`` maps a feature to (effect, spread); ``priors`` is the spread of a member nobody
    measured, by kind of feature; ``rough`` widens the spread of rows by trait. ``low``,
    ``middle`` and ``high`` are quantiles of the errors on groups left out of the fit, in units of
    the predicted spread; they make 80 % intervals.
    """

    phase: Literal["decode", "prefill"] = "decode"
    terms: dict[str, tuple[float, float]]
    priors: dict[str, float]
    spread: float = Field(gt=0)
    rough: dict[str, float] = {}
    low: float = -1.28
    middle: float = 0
    high: float = 1.28
    rows: int = 0
    groups: int = 0

    def own_spread(self, rough: Iterable[str] = ()) -> float:
        """Return the spread of one row of a new source, effects being exact."""
        return self.spread * prod(self.rough.get(trait, 1.0) for trait in rough)

    def predict(self, features: dict[str, float], rough: Iterable[str] = ()) -> tuple[float, float]:
        """Return the sum of the effects and its spread, in logarithms."""
        total, variance = 0.0, self.own_spread(rough) ** 2
        for name, value in features.items():
            effect, sd = self.terms.get(name, (0.0, self.priors[name.split(":")[0]]))
            total += effect * value
            variance += (sd * value) ** 2
        return total, variance**0.5

    def factors(
        self, features: dict[str, float], rough: Iterable[str] = ()
    ) -> tuple[float, float, float]:
        """Return low, middle and high as factors of the ceiling."""
        total, sd = self.predict(features, rough)
        low, middle, high = (exp(total + q * sd) for q in (self.low, self.middle, self.high))
        return low, middle, high
