"""A measured log as the workload section of a scenario."""

from typing import Any

from stackchoice.facts.datum import Evidence
from stackchoice.scenario.preset import written
from stackchoice.traffic.measured import Measured
from stackchoice.traffic.sums import DAYS_PER_MONTH

#: Shares of the log that a scenario asks of as needs.
NEEDS = {"json_schema": "ask for a schema or JSON", "tools": "offer tools", "images": "hold images",
         "thinking": "think"}  # fmt: skip


def workload_inputs(log: Measured) -> dict[str, Any]:
    """Return the inputs that a log answers, as a scenario writes them. Unknown ones are absent."""
    found: dict[str, Any] = {}

    def put(
        key: str, value: Any, evidence: Evidence = Evidence.MEASURED, how: str = "", **ends: Any
    ) -> None:
        if value is not None or ends:
            origin = log.origin + (f"; {how}" if how else "")
            given = {} if value is None else {"value": value}
            found[key] = {**given, **ends, "from": origin, "evidence": evidence.value}

    put("users", log.users)
    _volume(log, put)
    put("active_hours_per_day", _short(log.active_hours_per_day))
    put("peak_factor", _short(log.peak.factor), how=log.peak.definition)
    put("concurrency", _short(log.concurrency), Evidence.COMPUTED,
        "arrivals x mean latency (Little), on what served then")  # fmt: skip
    put("input_tokens", round(log.input_tokens.mean), how="mean")
    put("output_tokens", round(log.output_tokens.mean), how="mean")
    top, usual = log.total_tokens.max, log.total_tokens.p95
    if top:
        put("context_tokens", int(top), how="longest input and output; low is the 95th percentile",
            low=int(usual or top), high=int(top))  # fmt: skip
    _reuse(log, put)
    for name, words in NEEDS.items():
        if (share := log.shares.get(name)) is not None:
            put(name, share > 0, how=f"{share:.1%} of the requests that show it {words}")
    for key, lengths in (("input", log.input_tokens), ("output", log.output_tokens)):
        found[f"{key}_distribution"] = written(lengths)
    return found


def _volume(log: Measured, put: Any) -> None:
    ends = log.requests_per_day_range
    if ends is None:
        return
    low, high = (float(f"{end:.4g}") for end in ends)
    if log.requests_per_day is None:
        put("requests_per_day", None, Evidence.INFERRED, low=low, high=high,
            how="less than a day: at least these, at most as many all day long")  # fmt: skip
        return
    value = min(max(float(f"{log.requests_per_day:.4g}"), low), high)
    put("requests_per_day", value, Evidence.COMPUTED, low=low, high=high,
        how="over calendar days, whole or as far as they go")  # fmt: skip
    put("days_per_month", round(DAYS_PER_MONTH, 2), Evidence.COMPUTED,
        "the requests of a day are a mean over all calendar days of the log")  # fmt: skip


def _reuse(log: Measured, put: Any) -> None:
    seen = log.reused
    turns = seen.turns_by_tokens if seen and seen.turns_by_tokens else log.turns_per_session
    evidence = Evidence.INFERRED if log.sessions_inferred else Evidence.MEASURED
    how = "sessions told by what prompts continue" if log.sessions_inferred else ""
    if seen and seen.turns_by_tokens:
        how = "equal turns that give the tokens sent again; later turns are longer"
    put("turns_per_session", _short(turns), evidence, how)
    if seen is None:
        return
    put("shared_prefix_tokens", round(seen.shared_prefix_tokens), evidence,
        f"mean a request, by {seen.basis}; a cache that forgets gives back less")  # fmt: skip
    put("resent_share", _short(seen.resent_share), evidence,
        f"of what is not shared, in later turns, by {seen.basis}")  # fmt: skip


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
