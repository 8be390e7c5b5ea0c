"""A predicted path against the log's: a specification is not the kernel that ran."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from stackchoice.facts.datum import Record
from stackchoice.read.log_patterns import load_languages
from stackchoice.read.log_records import Boot, Hardware

Outcome = Literal["confirmed", "refuted", "unconfirmed"]
#: Parts of a model that multiply weights.
WEIGHT_PARTS = ("linear", "moe")
#: Fewer bits first: the part of a mixed checkpoint that the question is about.
NARROW_FIRST = ("fp4xfp4", "w4a16", "w4a8", "emulated", "wna16")


class Predicted(Record):
    """What was predicted for a part: a kernel family, an arithmetic, or both."""

    part: str
    arithmetic: str | None = None
    family: str = ""


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
            found[kernel.part] = Ran(
                part=kernel.part, arithmetic=kernel.arithmetic, kernel=kernel.name,
                line=kernel.line, why=f"the log names {kernel.name}",
            )  # fmt: skip
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
    parts = ran(boot)
    return [_compare(p, parts.get(p.part) or _all_weights(p.part, parts)) for p in prediction]


def _all_weights(part: str, parts: dict[str, Ran]) -> Ran | None:
    return parts.get("weights") if part in WEIGHT_PARTS else None


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
    if family is False:
        return Compared(**base, outcome="refuted", reason=f"{ran.why}: another kernel family")
    if predicted.arithmetic and ran.arithmetic:
        return Compared(**base, outcome="confirmed", reason=ran.why)
    if family and not predicted.arithmetic:
        return Compared(**base, outcome="confirmed", reason=ran.why)
    missing = "its arithmetic is not known" if predicted.arithmetic else "no arithmetic predicted"
    return Compared(**base, outcome="unconfirmed", reason=f"{ran.why}; {missing}")


def _same(family: str, kernel: str) -> bool:
    """Whether a kernel's printed name belongs to a family, spelling aside."""
    plain = re.sub(r"[^a-z0-9]", "", kernel.lower())
    words = [re.sub(r"[^a-z0-9]", "", w.lower()) for w in re.split(r"[,/]| or ", family)]
    return any(word and word in plain for word in words)
