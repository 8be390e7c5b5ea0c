"""One judgement for engines and sellers alike: hard facts in order, the first failure decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stackchoice.choose.decision import Question

#: The question a fact belongs to, whether it holds (None: unknown), and what to say if not.
Check = tuple[Question, bool | None, str]


def judge(found: Iterable[Check], kept: str) -> dict[str, Any]:
    """Return status, question, reason and unknowns, as fields of a candidate.

    The first check that fails eliminates and ends the reading. What is unknown does not
    eliminate, and is kept as a list of things to find out. ``kept`` is the reason of survivors.
    """
    unknown: list[str] = []
    for question, holds, text in found:
        if holds is None:
            unknown.append(text)
        elif not holds:
            return {
                "status": "eliminated",
                "question": question,
                "reason": text,
                "unknown": unknown,
            }
    return {"status": "viable", "question": "", "reason": kept, "unknown": unknown}
