"""Question 1, hardware fit: cache bytes, allocators, budgets, verdicts, speed ceilings."""

from stackchoice.fit.admission import Admission, admit, launch
from stackchoice.fit.cache import CacheLayout, cache_layout
from stackchoice.fit.memory import FitRow, fit_row, nominal_bytes, usable_bytes
from stackchoice.fit.premises import PremiseCheck, check_premises
from stackchoice.fit.replica import request_seconds, requests_per_s
from stackchoice.fit.sizing import Sizing, size
from stackchoice.fit.speed import Speed, Stream, batch_one_speed

__all__ = [
    "Admission", "CacheLayout", "FitRow", "PremiseCheck", "Sizing", "Speed", "Stream", "admit",
    "batch_one_speed", "cache_layout", "check_premises", "fit_row", "launch", "nominal_bytes",
    "request_seconds", "requests_per_s", "size", "usable_bytes",
]  # fmt: skip
