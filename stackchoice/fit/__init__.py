"""Question 1, hardware fit: cache bytes, memory budgets, speed ceilings and intervals."""

from stackchoice.fit.cache import CacheLayout, cache_layout
from stackchoice.fit.memory import FitRow, fit_row, nominal_bytes, usable_bytes
from stackchoice.fit.speed import (
    Speed,
    batch_one_speed,
    replica_requests_per_s,
    request_seconds,
)

__all__ = [
    "CacheLayout", "FitRow", "Speed", "batch_one_speed", "cache_layout", "fit_row",
    "nominal_bytes", "replica_requests_per_s", "request_seconds", "usable_bytes",
]  # fmt: skip
