"""Question 1, hardware fit: cache bytes, allocators, budgets, verdicts, speed ceilings."""

from stackchoice.fit.admission import Admission, admit, launch
from stackchoice.fit.budget import Budget, memory_for_cache
from stackchoice.fit.cache import CacheLayout, StateLayout, cache_layout
from stackchoice.fit.cures import Cure, Cures, Situation, cures
from stackchoice.fit.memory import FitRow, fit_row, nominal_bytes, usable_bytes
from stackchoice.fit.premises import PremiseCheck, check_premises
from stackchoice.fit.replica import request_seconds, requests_per_s
from stackchoice.fit.sizing import Sizing, size
from stackchoice.fit.speed import Speed, Stream, batch_one_speed
from stackchoice.fit.verdict import Verdict
from stackchoice.fit.weights import weights_bytes

__all__ = [
    "Admission", "Budget", "CacheLayout", "Cure", "Cures", "FitRow", "PremiseCheck",
    "Situation", "Sizing", "Speed", "StateLayout", "Stream", "Verdict", "admit", "batch_one_speed",
    "cache_layout", "check_premises", "cures", "fit_row", "launch", "memory_for_cache",
    "nominal_bytes", "request_seconds", "requests_per_s", "size",
    "usable_bytes", "weights_bytes",
]  # fmt: skip
