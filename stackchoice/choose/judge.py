"""One judgement for engines and sellers alike: hard facts in order, the first failure decides."""

from collections.abc import Iterable
from typing import Any

from stackchoice.choose.decision import Question
from stackchoice.facts.datum import Datum

#: What a check looked at: facts by name, and inputs of the scenario by path.
Cites = tuple[tuple[str, Datum[Any]] | str, ...]
#: The question a fact belongs to, whether it holds (None: unknown), what to say if not, and the
#: facts and inputs that it was read from.
Check = tuple[Question, bool | None, str] | tuple[Question, bool | None, str, Cites]
#: A fact that failed: its question, what is said, and what it was read from.
Failed = tuple[Question, str, Cites]
#: The first fact that failed, and what was unknown before it.
Failure = tuple[Failed | None, list[str]]


def compared(what: str, there: float, least: float, **known: Any) -> Cites:
    """Return what there is and the least that it takes, where that is more."""
    return tuple(
        (f"{what}{end}", Datum[float](value=value, **known))
        for end, value in ((" there", there), (" at the fast end", least)) if least > there
    )  # fmt: skip


def first_failure(found: Iterable[Check]) -> Failure:
    """Return the first fact that fails, which ends the reading, and what was unknown before it."""
    unknown: list[str] = []
    for question, holds, text, *cites in found:
        if holds is None:
            unknown.append(text)
        elif not holds:
            return (question, text, cites[0] if cites else ()), unknown
    return None, unknown


def verdict(failed: Failed | None, unknown: list[str], kept: str) -> dict[str, Any]:
    """Return status, question, reason and unknowns, as fields of a candidate.

    A failure eliminates. What is unknown does not, and is kept as a list of things to find out.
    ``kept`` is the reason of survivors.
    """
    if failed is None:
        return {"status": "viable", "question": "", "reason": kept, "unknown": unknown}
    question, text, _ = failed
    return {"status": "eliminated", "question": question, "reason": text, "unknown": unknown}
