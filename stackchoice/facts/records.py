"""The typed records of the fact base: models, machines, engines, rules; prices stand beside.

Units stand in the field names. GB is 10^9 bytes, GiB is 2^30 bytes.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, model_validator

from stackchoice.facts.allocation import release_order
from stackchoice.facts.datum import AsOf, Datum, Record, Source, entry

#: A version that says it is a candidate: 1.4.0rc1, 0.33.0-rc2, 1.6.0b1 (but not build b12464).
PRE_RELEASE = re.compile(r"\d-?(a|b|rc|\.dev)\d")

#: Marks the first release that was seen to have something, older ones not having been read.
SEEN_BY = "by "

Format = Literal["safetensors", "gguf", "mlx"]
Backend = Literal["cuda", "rocm", "metal", "cpu", "xpu", "tpu", "hpu", "neuron"]
Path = Literal["managed", "rented", "owned"]


class WeightPart(Record):
    """Some weights of a checkpoint that one kernel multiplies: which part, stored how.

    ``encoding`` is an id of the fact base. ``container`` is the file's own ``quant_method`` (
    ``modelopt_mixed`` where ModelOpt names an algorithm a layer), empty when not known: engines
    treat the same numbers differently by it. ``attention`` is the cache, not the projections.
    """

    part: Literal["linear", "moe", "attention"]
    encoding: str
    container: str = ""
    modules: int | None = None
    bytes: int | None = None


class Artifact(Record):
    """One published set of weights of a model: what is really downloaded.

    ``weights_bytes`` is what the checkpoint holds on disk, draft head and vision tower
    included; ``read_bytes_per_token`` is what one decode step reads when that is not all once.
    """

    id: str
    label: str
    format: Format
    encoding: str
    weights_bytes: Datum[int]
    read_bytes_per_token: Datum[int] = Datum[int]()
    weight_bits: Datum[float] = Datum[float]()
    activation_bits: Datum[int] = Datum[int]()
    parts: Datum[list[WeightPart]] = Datum[list[WeightPart]]()
    revision: Datum[str] = Datum[str]()
    licence: Datum[str] = Datum[str]()
    note: str = ""

    @property
    def stated_format(self) -> Format | None:
        """The format; None where only a config is known, of whatever file."""
        return None if self.encoding == "unknown" else self.format


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
    interconnect: Datum[str] = Datum[str]()
    note: str = ""

    @model_validator(mode="after")
    def _positive(self) -> Machine:
        for name in type(self).model_fields:
            value = getattr(getattr(self, name), "value", None)
            if isinstance(value, int | float) and not value > 0:
                raise ValueError(f"{name} {value:g} is not possible; write more than 0, or null")
        return self

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

    def runs_on(self, backend: str) -> bool | None:
        """Whether it runs on a platform (None: not known)."""
        return entry(self.platforms, backend).value

    def loads(self, form: str) -> bool | None:
        """Whether it loads files of a format (None: not known)."""
        return entry(self.formats, form).value

    def feature(self, name: str) -> Datum[bool]:
        """Return :meth:`has` of the newest release as a fact, with its source and note."""
        there, fact = self.has(name)[0], self.features.get(name, Datum[str]())
        return Datum[bool](value=there, evidence=fact.evidence, source=fact.source, note=fact.note)

    def _since(
        self, table: dict[str, Datum[str]], key: str, release: str | None
    ) -> tuple[bool | None, str]:
        since = table.get(key, Datum[str]()).value
        if since is None:
            return None, ""
        if since in ("any", "no"):
            return since == "any", ""
        seen = since.removeprefix(SEEN_BY)
        there = release_order(seen) <= release_order(release or self.latest.version)
        if seen != since:  # an older release may have it as well
            return there or None, ""
        return there, since

    @property
    def latest(self) -> Release:
        """The newest stable release in the fact base; a pre-release only where nothing else is."""
        stable = [r for r in self.releases if not PRE_RELEASE.search(r.version)]
        return max(stable or self.releases, key=lambda r: (r.date, r.version))


#: What a launch line can carry. ``repository`` and ``file`` are the parts of an artifact's id
#: that names one file of a repository; ``local_file`` is an id that names a file alone.
Setting = Literal[
    "artifact", "repository", "file", "local_file", "revision", "context_tokens",
    "context_of_all_sequences", "live_sequences", "devices", "device_list",
    "share_of_all", "static_share", "share_of_free", "layers_on_accelerator",
    "share_on_accelerator",
]  # fmt: skip


class LaunchFlag(Record):
    """The engine's own name of one setting: a flag, a variable, or empty for positional."""

    setting: Setting
    flag: str
    environment: bool = False


class LaunchForm(Record):
    """How one engine is started. ``before`` are commands of their own, to be given first."""

    engine: str
    program: list[str]
    before: list[list[str]] = []
    flags: list[LaunchFlag]
    note: str = ""
    source: Source


class Upkeep(Record):
    """What an engine on a platform asks of a team, against the reference stack (factor 1).

    ``work`` multiplies the operations work of a path. A backend of None stands for every platform
    without a row of its own.
    """

    engine: str
    backend: Backend | None = None
    work: Datum[float]


class Assumption(Record):
    """A named number that the arithmetic needs and nobody measured for this team.

    ``defines_a_word`` marks where a word of the map begins ("many", "low"): a definition is held
    fixed where quantities are drawn.
    """

    id: str
    unit: str
    datum: Datum[float]
    meaning: str
    defines_a_word: bool = False


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
