"""Courseware: questions with checks, trials on the real engine, arms to expose."""

from stackchoice.workshop.arms import (
    arm,
    arms_frame,
    fair_table,
    fault_of,
    my_passport,
    passport_lines,
    passports_frame,
)
from stackchoice.workshop.check import check, questions
from stackchoice.workshop.samples import DOWNLOADS, download
from stackchoice.workshop.tables import environment
from stackchoice.workshop.trials import run

__all__ = [
    "DOWNLOADS", "arm", "arms_frame", "check", "download", "environment", "fair_table",
    "fault_of", "my_passport", "passport_lines", "passports_frame", "questions", "run",
]  # fmt: skip
