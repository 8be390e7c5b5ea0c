"""One judgement for engines and sellers alike: hard facts in order, the first failure decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stackchoice.choose.decision import Question

#: The question a fact belongs to, whether it holds (None: unknown), and what to say if not.
Check = tuple[Question, bool | None, str]


#: The question and text of the first fact that failed, and what was unknown before it.
Failure = tuple[tuple[Question, str] | None, list[str]]


def first_failure(found: Iterable[Check]) -> Failure:
    """Return the first fact that fails, which ends the reading, and what was unknown before it."""
    unknown: list[str] = []
    for question, holds, text in found:
        if holds is None:
            unknown.append(text)
        elif not holds:
            return (question, text), unknown
    return None, unknown


def verdict(failed: tuple[Question, str] | None, unknown: list[str], kept: str) -> dict[str, Any]:
    """Return status, question, reason and unknowns, as fields of a candidate.

    A failure eliminates. What is unknown does not, and is kept as a list of things to find out.
    ``kept`` is the reason of survivors.
    """
    if failed is None:
        return {"status": "viable", "question": "", "reason": kept, "unknown": unknown}
    question, text = failed
    return {"status": "eliminated", "question": question, "reason": text, "unknown": unknown}
