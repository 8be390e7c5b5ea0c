"""Encodings: how a weight is stored and which activations the checkpoint itself declares."""

from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import Datum, Record, Source

#: What the stored numbers are.
NumberKind = Literal["float", "int", "codebook"]


class Encoding(Record):
    """One pair of weight storage and declared activations, whatever file format says it.

    ``weight_bits`` is nominal, without scales. ``activation_bits`` is what the checkpoint asks
    for: 16 where only the weights are quantised, None where the file says nothing and the
    engine's kernel decides (GGUF). ``family`` is the storage alone: ``nvfp4`` and ``nvfp4_a16``
    share one.
    """

    id: str
    name: str
    family: str
    weight_bits: float | None = Field(default=None, gt=0)
    activation_bits: int | None = None
    weight_kind: NumberKind | None = None
    activation_kind: NumberKind | None = None
    stored_bits: Datum[float] = Datum[float]()
    scale_bits: int | None = Field(default=None, description="bits beside each group of weights")
    source: Source
    note: str = ""

    @property
    def weight_only(self) -> bool | None:
        """Whether activations stay in 16 bits or more by the file; None where it says nothing."""
        return None if self.activation_bits is None else self.activation_bits >= 16

    @property
    def quantised(self) -> bool:
        """Whether weights are stored in less than 16 bits (unknown bits count as quantised)."""
        return self.weight_bits is None or self.weight_bits < 16
