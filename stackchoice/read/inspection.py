"""The report on one checkpoint: what is known, from what, and what contradicts what."""

from typing import Any

from pydantic import Field

from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.records import WeightPart
from stackchoice.fit.path import KernelPath
from stackchoice.fit.path.support import Feature
from stackchoice.read.architecture import Architecture
from stackchoice.read.declared import Said
from stackchoice.read.findings import Finding


class EncodingUse(Record):
    """One encoding of a checkpoint and how much of it there is.

    ``encoding`` is an id of ``encodings.yaml``, empty where the stored form is known and the
    declared activations are not; ``modules`` counts matrices; None is unknown.
    """

    encoding: str
    name: str
    family: str
    weight_bits: float | None = None
    activation_bits: int | None = None
    group_size: int | None = None
    modules: int | None = None
    bytes: int | None = None
    parts: dict[str, int | None] = Field(default={}, description="modules by part of the model")
    evidence: Evidence


class BitShare(Record):
    """Everything stored in so many bits a weight (None: the stored form is not known)."""

    bits: float | None
    modules: int | None = None
    bytes: int | None = None
    share: float | None = None


class Tower(Record):
    """A part beside the text model: a vision or audio tower, or a draft head."""

    present: bool
    modules: int | None = None
    bytes: int | None = None
    encodings: list[str] = []
    layers: int | None = None


class Preset(Record):
    """Sampling settings that lie in the checkpoint, and who takes them as defaults."""

    file: str
    settings: dict[str, Any]
    adopted_by: list[str]
    not_adopted_by: list[str]


class Inspection(Record):
    """Everything ``inspect`` reports. Contradictions come first in ``findings``."""

    path: str
    format: str
    names: list[str]
    files: int
    bytes_on_disk: int | None = None
    tensors: int | None = None
    architecture: Architecture
    declared: list[Said]
    encodings: list[EncodingUse]
    encodings_from: str
    by_bits: list[BitShare]
    weight_bits: list[float] = Field(description="of the stored weights, the fewest first")
    activation_bits: list[int] = Field(description="declared for quantised weights")
    kv_encoding: str | None = None
    kv_asked_in: str = ""
    parts: list[WeightPart]
    vision: Tower
    audio: Tower
    draft: Tower
    presets: Preset | None = None
    chat_template: bool
    file_type: str = Field(default="", description="general.file_type of a GGUF, as people say it")
    manifest_sha256: str
    content_sha256: str | None = None
    missing: list[str] = []
    unread: list[str] = Field(default=[], description="what no table here could read")
    findings: list[Finding]
    path_there: KernelPath | None = Field(default=None, description="in an engine, where asked")
    features: list[Feature] = Field(default=[], description="what that release has of it")
    loads: bool | None = Field(default=None, description="in that engine; None: not known or asked")
    loads_why: str = ""

    def contradictions(self) -> list[Finding]:
        """Return the findings in which two places disagree."""
        return [f for f in self.findings if f.kind == "contradiction"]
