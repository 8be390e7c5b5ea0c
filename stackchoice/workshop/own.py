"""Lesson 6: a passport of this laptop's own engine, or a recorded one where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stackchoice.confirm import Passport, Plan
from stackchoice.confirmation import confirm_scenario
from stackchoice.workshop.arms import SPARE, arm
from stackchoice.workshop.trials import source_of

#: Small enough for a busy laptop, large enough for the rules of validity.
PLAN = Plan(requests=3, output_tokens=32, prompt_words=64)


def my_passport(
    source: str | None = None, *, out: Path | str = "reports",
    on_line: Callable[[str], None] | None = print,
) -> Passport:  # fmt: skip
    """Predict for this machine, measure its embedded engine, and return the passport.

    Parameters
    ----------
    source
        As for :func:`stackchoice.workshop.trials.run`.
    out
        Folder that the passport is written to.
    """
    if source_of(source) == "recorded":
        return arm(SPARE)
    passport, path = confirm_scenario("this-machine", plan=PLAN, out=Path(out), on_line=on_line)
    if on_line is not None:
        on_line(f"wrote {path}")
    return passport


def passport_lines(passport: Passport) -> list[str]:
    """Return what a passport comes to, in a few lines."""
    reasons = passport.validity.reasons or passport.validity.warnings
    verdicts = [f"prediction of {k.replace('_', ' ')}: {v}" for k, v in passport.verdicts.items()]
    return [f"{passport.arm}: {passport.label}", *reasons, *verdicts]
