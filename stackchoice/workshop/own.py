"""Lesson 6: a passport of this laptop's own engine, or a recorded one where there is none."""

from __future__ import annotations

from pathlib import Path

from stackchoice.confirm import Passport, Plan
from stackchoice.confirmation import confirm_scenario
from stackchoice.workshop.arms import SPARE, arm
from stackchoice.workshop.trials import source_of

#: Small enough for a busy laptop, large enough for the rules of validity.
PLAN = Plan(requests=3, output_tokens=32, prompt_words=64)


def my_passport() -> Passport:
    """Predict for this machine, measure its embedded engine, and return the passport."""
    if source_of() == "recorded":
        return arm(SPARE)
    passport, path = confirm_scenario("this-machine", plan=PLAN, out=Path("reports"), on_line=print)
    print(f"wrote {path}")
    return passport


def passport_lines(passport: Passport) -> list[str]:
    """Return what a passport comes to, in a few lines."""
    reasons = passport.validity.reasons or passport.validity.warnings
    verdicts = [f"prediction of {k.replace('_', ' ')}: {v}" for k, v in passport.verdicts.items()]
    return [f"{passport.arm}: {passport.label}", *reasons, *verdicts]
