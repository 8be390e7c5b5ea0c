"""A checkpoint's parts in the words of the kernel facts."""

from __future__ import annotations

from stackchoice.facts.load import Facts
from stackchoice.facts.records import WeightPart
from stackchoice.read.declared import Said
from stackchoice.read.inspection import Inspection


def container_of(said: Said | None) -> str:
    """Return the checkpoint format that engines choose a loader by.

    ModelOpt files that name an algorithm for each layer are another format than those with one.
    """
    if said is None:
        return ""
    listed = bool(said.of("quantized_layers"))
    method = said.method.lower()
    return f"{method}_mixed" if method.startswith("modelopt") and listed else method


def weight_parts(found: Inspection, facts: Facts) -> list[WeightPart]:
    """Return the parts of an inspected checkpoint, the cache in plain numbers where none is asked.

    The plain numbers are those of the weights that are not quantised, bfloat16 where none is told.
    """
    if any(part.part == "attention" for part in found.parts):
        return found.parts
    plain = [e.encoding for e in found.encodings
             if e.encoding and not facts.encodings[e.encoding].quantised]  # fmt: skip
    kept = next((e for e in plain if e in ("bf16", "fp16")), "bf16")
    return [*found.parts, WeightPart(part="attention", encoding=kept)]
