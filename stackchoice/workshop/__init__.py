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
from stackchoice.workshop.check import Checked, check, questions
from stackchoice.workshop.samples import DOWNLOADS, START_LOG, check_log, download
from stackchoice.workshop.tables import environment
from stackchoice.workshop.trials import Trials, run

__all__ = [
    "DOWNLOADS", "START_LOG", "Checked", "Trials", "arm", "arms_frame", "check", "check_log",
    "download", "environment", "fair_table", "fault_of", "my_passport", "passport_lines",
    "passports_frame", "questions", "run",
]  # fmt: skip
