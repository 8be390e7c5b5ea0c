"""A measured log, and a published workload, in a few lines of text."""

from stackchoice.facts.traffic import Distribution, WorkloadPreset
from stackchoice.present.text import UNKNOWN
from stackchoice.scenario.preset import preset_inputs
from stackchoice.traffic.measured import Measured


def describe(log: Measured) -> str:
    """Return a log's figures for a terminal."""
    lines = [
        f"{log.file}: {log.requests:,} requests of {log.rows:,} rows, {log.span} [measured]",
        *(f"  left out: {s.rows:,} rows, {s.reason} (first in line {s.first_line:,})"
          for s in log.skipped),
        f"  arrivals: {_number(log.arrival_per_s, '/s')}; {_peak(log)}",
        f"  a day: {_daily(log)}",
        f"  a month: {_monthly(log)}",
        f"  in flight: {_number(log.concurrency)} (Little: arrivals x mean latency)",
        f"  input tokens: {_lengths(log.input_tokens)}",
        f"  output tokens: {_lengths(log.output_tokens)}",
        f"  seen before: {_reuse(log)}",
        f"  sessions: {_sessions(log)}",
        "  shares of requests: " + ", ".join(
            f"{name.replace('_', ' ')} {_share(share)}" for name, share in log.shares.items()),
    ]  # fmt: skip
    if log.reasoning_share_of_output is not None:
        lines.append(f"  reasoning: {log.reasoning_share_of_output:.1%} of the output tokens")
    if log.seller_cached_share is not None:
        lines.append(f"  billed as cached: {log.seller_cached_share:.1%} of the input tokens")
    return "\n".join([*lines, *(f"  note: {note}" for note in log.notes)])


def describe_preset(preset: WorkloadPreset) -> str:
    """Return a published workload for a terminal."""
    size = f", {preset.requests:,} requests" if preset.requests else ""
    lines = [f"{preset.id}: {preset.name}{size} ({preset.source.label}, {preset.source.as_of})"]
    for key, value in preset_inputs(preset).items():
        if "value" in value:
            told = str(value["from"]).partition("; ")[2]
            lines.append(f"  {key}: {value['value']} [{value['evidence']}] {told}")
        else:
            lines.append(f"  {key}: {', '.join(f'{k} {v:,g}' for k, v in value.items())}")
    return "\n".join([*lines, *([f"  note: {preset.note}"] if preset.note else [])])


def _number(value: float | None, unit: str = "") -> str:
    return UNKNOWN if value is None else f"{value:,.3g}{unit}"


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1%}"


def _peak(log: Measured) -> str:
    if log.peak.factor is None:
        return f"peak factor unknown ({log.peak.why})"
    return f"peak factor {log.peak.factor:,.2f} ({log.peak.definition})"


def _daily(log: Measured) -> str:
    if log.requests_per_day_range is None:
        return UNKNOWN
    hours = f"; {log.active_hours_per_day:,.1f} hours a day" if log.active_hours_per_day else ""
    ends = _ends(log.requests_per_day, log.requests_per_day_range)
    return f"{ends} requests, from {log.span}{hours}"


def _monthly(log: Measured) -> str:
    if log.mtok_per_month_range is None:
        return UNKNOWN
    ends = _ends(log.mtok_per_month, log.mtok_per_month_range)
    return f"{ends} M tokens, extrapolated from {log.span}"


def _ends(middle: float | None, ends: tuple[float, float]) -> str:
    low, high = (f"{end:,.0f}" if end >= 10 else f"{end:,.3g}" for end in ends)
    if low == high:
        return low
    told = "" if middle is None else f"{middle:,.0f}, "
    return f"{told}{low} to {high}"


def _lengths(lengths: Distribution) -> str:
    parts = [f"mean {lengths.mean:,.0f}"]
    parts += [
        f"{name} {value:,.0f}"
        for name in ("p10", "p50", "p90", "p95", "max")
        if (value := getattr(lengths, name)) is not None
    ]
    return ", ".join(parts)


def _reuse(log: Measured) -> str:
    seen = log.reused
    if seen is None:
        return f"{UNKNOWN} (the log holds neither prompts nor block hashes)"
    return (
        f"{seen.share:.1%} of the input: {seen.across_share:.1%} shared by all, "
        f"{seen.within_share:.1%} within sessions, by {seen.basis}"
    )


def _sessions(log: Measured) -> str:
    if log.turns_per_session is None:
        return UNKNOWN
    told = " (told by what prompts continue) [inferred]" if log.sessions_inferred else ""
    count = f"{log.sessions:,}, " if log.sessions else ""
    return f"{count}{log.turns_per_session:,.2f} requests each{told}"
