"""The kernel path of a checkpoint in an engine release on a chip, and what it means."""

from stackchoice.facts.records import WeightPart
from stackchoice.fit.path.chips import chip_named, chip_of
from stackchoice.fit.path.resolve import (
    KernelPath,
    PartPath,
    PhasePath,
    artifact_parts,
    artifact_path,
    first_quantised,
    paths,
)

__all__ = [
    "KernelPath", "PartPath", "PhasePath", "WeightPart", "artifact_parts", "artifact_path",
    "chip_named", "chip_of", "first_quantised", "paths",
]  # fmt: skip
