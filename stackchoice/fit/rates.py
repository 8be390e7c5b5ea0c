"""Peak dense rates, in 10^12 operations/s: of what units multiply, and of what shares rest on."""

from typing import Any

from stackchoice.facts.records import Artifact, Machine

#: Peak dense rate of a device for what its units multiply, by the field that holds it.
RATES = {
    "16-bit": "bf16_dense_tflops", "fp8": "fp8_dense_tflops", "int8": "int8_dense_tops",
    "fp4": "fp4_dense_tflops",
}  # fmt: skip


def rate_of(device: Any, *operands: str | None) -> float | None:
    """Return the rate of the first of these operands that is published for a device."""
    known = (getattr(device, RATES.get(operand or "", ""), None) for operand in operands)
    return next((datum.value for datum in known if datum and datum.value), None)


def peak_rate(device: Any, activation_bits: int) -> float | None:
    """Return the rate of activations of so many bits, else of 16."""
    native = {8: ("fp8", "int8"), 4: ("fp4",)}.get(activation_bits, ())
    return rate_of(device, *native, "16-bit")


def native_gain(device: Any, rate: float | None) -> float:
    """How much faster the chosen arithmetic is than 16 bit, by the data sheet."""
    base = rate_of(device, "16-bit")
    return rate / base if rate and base else 1.0


def compute_rates(
    artifact: Artifact, machine: Machine, operand: str | None
) -> tuple[float | None, float | None]:
    """Return the peak dense rate, and the one that shares of it were fitted on.

    The rate of what the kernels multiply; where no path is known, of what the file asks for, and of
    16 bit where that is not published. They differ for files that ask for no activations: engines
    that quantise those to 8 bits by themselves were measured against the 16-bit rate.
    """
    if operand is None:
        eight = "fp8" if "fp8" in artifact.encoding.lower() else "int8"
        asked = {8: eight, 4: "fp4"}.get(artifact.activation_bits.value or 16)
        rate = rate_of(machine, asked, "16-bit")
        return rate, rate
    rate = rate_of(machine, operand, "16-bit")
    weight_only = (artifact.activation_bits.value or 16) >= 16
    return rate, rate_of(machine, "16-bit") if operand == "int8" and weight_only else rate
