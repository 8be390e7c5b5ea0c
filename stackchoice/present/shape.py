"""Question 2 in pictures: seconds of a request, what binds; and what the templates need."""

from typing import Any

from stackchoice.choose import Decision
from stackchoice.present import text
from stackchoice.present.charts import INK, Stack, stacked
from stackchoice.present.drawing import Chart

PHASES = {"prefill": ("prefill_s", "#0b4f8a", "#ffffff"), "decode": ("decode_s", "#a9d5f2", INK)}
RESOURCES = {
    "compute": ("compute", "#0b4f8a", "#ffffff"),
    "bandwidth": ("bandwidth", "#a9d5f2", INK),
    "capacity": ("capacity", "#b85000", "#ffffff"),
}
ENDS = {"low": "fast end", "middle": "middle", "high": "slow end"}
#: The inputs that a volume rests on, in the order in which people ask for them.
VOLUME = (
    "workload.users", "workload.requests_per_user_per_day", "workload.requests_per_day",
    "workload.days_per_month", "workload.active_hours_per_day", "workload.peak_factor",
    "workload.input_tokens", "workload.output_tokens", "workload.context_tokens",
    "workload.shared_prefix_tokens", "workload.turns_per_session", "workload.resent_share",
    "workload.concurrency", "workload.growth_per_month", "workload.spare_replicas",
)  # fmt: skip


def phases_chart(shape: Any) -> tuple[Chart, str]:
    """Return seconds of one request in prefill and decode at the ends of the interval."""
    bars, said = list[Stack](), []
    phases = shape and shape.phases
    for end, name in ENDS.items() if phases else ():
        parts = {part: getattr(getattr(phases, field), end) for part, (field, *_) in PHASES.items()}
        total = sum(parts.values())
        words = ", ".join(f"{p} {text.number(v, 's')}" for p, v in parts.items())
        note = f"{words}: {text.number(total, 's')} in all [{phases.decode_s.evidence.value}]"
        bars.append((name, note, parts))
        said.append(f"{name}: {words}")
    chart = stacked(bars, PHASES, axis="seconds of one request", label="format(datum.value, '.2f')")
    return chart, f"Seconds of one request. {'; '.join(said) or 'Unknown'}."


def binding_chart(shape: Any) -> tuple[Chart, str]:
    """Return the shares of the chip's time that compute, bandwidth and capacity take."""
    binding = shape and shape.binding
    bars, said = list[Stack](), "Unknown"
    if binding:
        shares = {name: 100 * getattr(binding, field) for name, (field, *_) in RESOURCES.items()}
        note = f"{binding.binds} binds [{binding.evidence.value}]"
        bars = [("the chip's time, a request", note, shares)]
        said = ", ".join(f"{p} {v:.0f} %" for p, v in shares.items()) + f"; {binding.binds} binds"
    label = "format(datum.value, '.0f')"
    chart = stacked(bars, RESOURCES, axis="% of the chip's time", label=label)
    return chart, f"What the chip's time goes to. {said}."


def shape_context(decision: Decision) -> dict[str, Any]:
    """Return what the templates of question 2 are rendered with."""
    by_path = {row["input"]: row for row in decision.inputs}
    volume = decision.cost.volume
    return {
        "d": decision,
        "shape": decision.shape,
        "phases": phases_chart(decision.shape),
        "binding": binding_chart(decision.shape),
        "volume_inputs": [by_path[path] for path in VOLUME if path in by_path],
        "volume": volume,
    }
