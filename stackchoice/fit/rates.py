"""Peak dense rates: of what a machine's units multiply, and of what shares were fitted on."""

from __future__ import annotations

from stackchoice.facts.records import Artifact, Machine

#: Peak dense rate of a machine for what its units multiply, by the field that holds it.
RATES = {
    "16-bit": "bf16_dense_tflops", "fp8": "fp8_dense_tflops", "int8": "int8_dense_tops",
    "fp4": "fp4_dense_tflops",
}  # fmt: skip


def compute_rates(
    artifact: Artifact, machine: Machine, operand: str | None
) -> tuple[float | None, float | None]:
    """Return the peak dense rate, and the one that shares of it were fitted on, in 10^12 op/s.

    The rate of what the kernels multiply; where no path is known, of what the file asks for, and of
    16 bit where that is not published. They differ for files that ask for no activations: engines
    that quantise those to 8 bits by themselves were measured against the 16-bit rate.
    """
    base = machine.bf16_dense_tflops.value
    if operand is None:
        rate = _asked_rate(artifact, machine)
        return rate, rate
    own = getattr(machine, RATES.get(operand, ""), None)
    rate = (own.value if own else None) or base
    weight_only = (artifact.activation_bits.value or 16) >= 16
    return rate, base if operand == "int8" and weight_only else rate


def _asked_rate(artifact: Artifact, machine: Machine) -> float | None:
    """Peak dense rate of the arithmetic that the file asks for; 16-bit is the safe ground."""
    bits = artifact.activation_bits.value
    rates = {
        8: machine.fp8_dense_tflops
        if "fp8" in artifact.encoding.lower()
        else machine.int8_dense_tops,
        4: machine.fp4_dense_tflops,
    }
    native = rates.get(bits or 16)
    return (native.value if native else None) or machine.bf16_dense_tflops.value
