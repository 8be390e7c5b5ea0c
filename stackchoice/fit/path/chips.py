"""Which generation of chips a machine is, or a text such as ``sm_120`` names; what is best on it."""

from __future__ import annotations

import re

from stackchoice.facts.encodings import Encoding
from stackchoice.facts.kernels import NARROWNESS, Chip, KernelFacts
from stackchoice.facts.records import Machine


def chip_of(machine: Machine, facts: KernelFacts) -> Chip | None:
    """Return a machine's chip: by its capability, else by the words of its architecture."""
    named = machine.compute_capability or ""
    own = [chip for chip in facts.chips if chip.backend == machine.backend]
    by_name = next((chip for chip in own if named and named in chip.capabilities), None)
    return by_name or next(
        (c for c in own if c.arch_pattern and re.search(c.arch_pattern, machine.arch)), None
    )


def chip_named(text: str | None, facts: KernelFacts) -> Chip | None:
    """Return the chip that a text names: ``sm_120``, ``12.0``, ``gfx942``; None where none does."""
    wanted = (text or "").strip().lower()
    return next((c for c in facts.chips if wanted in (c.id, *c.capabilities)), None)


def best_operand(encoding: Encoding, chip: Chip) -> str | None:
    """Return the narrowest operands that this chip could multiply these weights in.

    Never narrower than the stored weight: floats of 4 bits go to FP4 units, else to 8 bit, like
    everything of 8 bits and less; codebooks and ternary weights are not counted on, and 16-bit
    weights stay. None where the chip's own formats are not known.
    """
    bits = encoding.weight_bits
    if bits is None or encoding.weight_kind == "codebook":
        return "16-bit"
    wanted = ["16-bit"]
    if bits <= 8:
        wanted += ["fp8", "int8"] if encoding.weight_kind == "float" else ["int8", "fp8"]
    if bits <= 4 and encoding.weight_kind == "float":
        wanted.append("fp4")
    found = None
    for operand in sorted(wanted, key=lambda o: -NARROWNESS[o]):
        runs = chip.runs(operand)
        if runs:
            return operand
        if runs is None:
            found = None  # a narrower one may exist; only what is known to be best is named
            return found
    return found
