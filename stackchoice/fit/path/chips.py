"""Which generation of chips a machine is, or a text as ``sm_120`` names; what is best on it."""

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
    """Return the narrowest operands that this chip could multiply these weights in as they are.

    Floats of 4 bits go to FP4 units, else to FP8 ones; integers of up to 8 bits to INT8 units, else
    to FP8 ones. Codebooks are not counted on, and 16-bit weights stay. None where what the chip
    executes is not known.
    """
    bits = encoding.weight_bits
    wanted: list[str] = []
    if bits is not None and encoding.weight_kind in ("float", "int"):
        if bits <= 4 and encoding.weight_kind == "float":
            wanted.append("fp4")
        if bits <= 8:
            wanted += ["int8", "fp8"] if encoding.weight_kind == "int" else ["fp8"]
    for operand in sorted(wanted, key=lambda o: -NARROWNESS[o]):
        runs = chip.runs(operand)
        if runs is not False:
            return operand if runs else None
    return "16-bit"
