"""A predicted path against the log's: a specification is not the kernel that ran."""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import Record
from stackchoice.fit.path import KernelPath
from stackchoice.read.log_patterns import load_languages
from stackchoice.read.log_records import Boot, Hardware, Kernel

Outcome = Literal["confirmed", "refuted", "unconfirmed"]
#: Parts of a model that multiply weights.
WEIGHT_PARTS = ("linear", "moe")
#: Fewer bits first: the part of a mixed checkpoint that the question is about.
NARROW_FIRST = ("fp4xfp4", "w4a16", "w4a8", "emulated", "wna16")
#: Families of encodings whose names stand in what engines print.
FAMILIES = ("nvfp4", "mxfp4", "mxfp6", "mxfp8", "fp8")
#: What engines call weights stored as integers.
INTEGER_WORDS = ("wna16", "gptq", "awq", "int8", "int4", "w4a8", "mixed-precision")


class Predicted(Record):
    """What was predicted for a part: a kernel family, an arithmetic, or both."""

    part: str
    arithmetic: str | None = None
    family: str = ""
    storage: str = Field(default="", description="family of the encoding, where parts are mixed")
    weight_bits: float | None = None


def predicted_by(path: KernelPath) -> list[Predicted]:
    """Return what a kernel path says of each part, in prefill."""
    return [
        Predicted(
            part=p.part.part, arithmetic=p.prefill.arithmetic, family=p.prefill.kernel,
            storage=p.encoding.family if p.encoding else "",
            weight_bits=p.encoding.weight_bits if p.encoding else None,
        )
        for p in path.parts
    ]  # fmt: skip


class Compared(Record):
    """One part: prediction, what the log says, and what follows."""

    part: str
    outcome: Outcome
    predicted: str
    found: str | None = None
    line: int | None = None
    reason: str


class Ran(Record):
    """The arithmetic that a log proves for a part, and what proves it."""

    part: str
    arithmetic: str | None
    kernel: str = ""
    line: int
    why: str


def ran(boot: Boot) -> dict[str, Ran]:
    """Return what each part really ran, by the kernels and warnings of a boot.

    A warning that weights are unpacked speaks of the linear layers where the log names a kernel
    for the experts, else of all of them (``weights``).
    """
    found: dict[str, Ran] = {}
    for kernel in boot.kernels:
        now = found.get(kernel.part)
        better = now is None or _rank(kernel.arithmetic) < _rank(now.arithmetic)
        if better or (now and not now.arithmetic):
            found[kernel.part] = _named(kernel)
    language = load_languages().get(boot.engine)
    for warned in boot.warnings:
        kind = language.warning(warned.code) if language else None
        if kind is None or not kind.arithmetic:
            continue
        part = "linear" if "moe" in found else "weights"
        known = found.get("linear")
        if known is None or known.arithmetic is None:
            found.setdefault(part, Ran(
                part=part, arithmetic=kind.arithmetic, line=warned.line,
                why=f"the log warns ({warned.code})",
            ))  # fmt: skip
    return found


def _named(kernel: Kernel) -> Ran:
    return Ran(part=kernel.part, arithmetic=kernel.arithmetic, kernel=kernel.name,
               line=kernel.line, why=f"the log names {kernel.name}")  # fmt: skip


def _rank(arithmetic: str | None) -> int:
    order = NARROW_FIRST
    return order.index(arithmetic) if arithmetic in order else len(order) + (arithmetic is None)


def whole(parts: dict[str, Ran]) -> str | None:
    """Return the one arithmetic of all weights; None where parts differ or none is known."""
    known = {parts[p].arithmetic for p in (*WEIGHT_PARTS, "weights") if p in parts}
    known.discard(None)
    return known.pop() if len(known) == 1 else None


def below_hardware(boot: Boot, hardware: Hardware) -> bool | None:
    """Whether weights run in a wider format than this chip multiplies; None: not known."""
    language = load_languages().get(boot.engine)
    for warned in boot.warnings:
        kind = language.warning(warned.code) if language else None
        if kind and kind.native_from_capability and hardware.capability is not None:
            return hardware.capability >= kind.native_from_capability
    return None


def against(prediction: Iterable[Predicted], boot: Boot) -> list[Compared]:
    """Compare a predicted path with what a boot's log proves, part by part.

    Returns
    -------
    list of Compared
        ``confirmed``: the log names a kernel of that arithmetic (and family, where predicted).
        ``refuted``: it names another. ``unconfirmed``: it names none, or nothing was predicted.
    """
    return [_compare(row, _proof(row, boot)) for row in prediction]


def _proof(predicted: Predicted, boot: Boot) -> Ran | None:
    """Return what the log says of that part and storage: a kernel, else a warning."""
    kernels = [k for k in boot.kernels if k.part == predicted.part]
    fitting = [k for k in kernels if _speaks_of(k.context, predicted.storage) is not False]
    sure = [k for k in fitting if _speaks_of(k.context, predicted.storage)]
    for kernel in sure or fitting:
        return _named(kernel)
    if predicted.part not in WEIGHT_PARTS:
        return None
    told = [r for p, r in ran(boot).items() if p in (predicted.part, "weights") and not r.kernel]
    bits = predicted.weight_bits
    return next(
        (r for r in told if bits is None or (r.arithmetic or "").startswith(f"w{bits:g}")), None
    )


def _speaks_of(context: str, storage: str) -> bool | None:
    """Whether a kernel printed for ``context`` serves weights of that storage; None: unclear."""
    words = context.lower()
    if not words or not storage:
        return None
    families = {name: name in words for name in FAMILIES}
    if storage in families:
        # mxfp8 also contains fp8
        longer = any(families[n] for n in FAMILIES if storage in n and n != storage)
        return families[storage] and not longer
    if storage.startswith("int"):
        return any(word in words for word in INTEGER_WORDS)
    return False if any(families.values()) else None


def _compare(predicted: Predicted, ran: Ran | None) -> Compared:
    said = " ".join(x for x in (predicted.family, predicted.arithmetic or "") if x) or "nothing"
    if ran is None:
        return Compared(part=predicted.part, outcome="unconfirmed", predicted=said,
                        reason="the log names no kernel for this part")  # fmt: skip
    found = " ".join(x for x in (ran.kernel, ran.arithmetic or "") if x)
    base = {"part": predicted.part, "predicted": said, "found": found, "line": ran.line}
    if predicted.arithmetic and ran.arithmetic and predicted.arithmetic != ran.arithmetic:
        return Compared(**base, outcome="refuted", reason=f"{ran.why}: it runs {ran.arithmetic}")
    family = _same(predicted.family, ran.kernel) if predicted.family and ran.kernel else None
    if family is False and _open(predicted):
        reason = f"{ran.why}: another name, which proves no other arithmetic"
        return Compared(**base, outcome="unconfirmed", reason=reason)
    if family is False:
        return Compared(**base, outcome="refuted", reason=f"{ran.why}: another kernel family")
    if predicted.arithmetic and ran.arithmetic:
        return Compared(**base, outcome="confirmed", reason=ran.why)
    if family and not predicted.arithmetic:
        return Compared(**base, outcome="confirmed", reason=ran.why)
    missing = "its arithmetic is not known" if predicted.arithmetic else "no arithmetic predicted"
    return Compared(**base, outcome="unconfirmed", reason=f"{ran.why}; {missing}")


def _open(predicted: Predicted) -> bool:
    """Whether a kernel's name decides nothing: attention has many, and a library's has no name."""
    return predicted.part not in WEIGHT_PARTS or predicted.family.startswith("library")


def _same(family: str, kernel: str) -> bool:
    """Whether a kernel's printed name belongs to a family, spelling aside.

    Only names count (``CUTLASS, from 0.33.0 FlashInfer``), not the words between them.
    """
    plain = re.sub(r"[^a-z0-9]", "", kernel.lower())
    plain = re.sub(r"attn(?!ention)", "attention", plain)  # FLASH_ATTN is FlashAttention
    names = [w for w in re.findall(r"[A-Za-z0-9]{3,}", family) if re.search("[A-Z]", w)]
    return any(name.lower() in plain for name in names or [family])
