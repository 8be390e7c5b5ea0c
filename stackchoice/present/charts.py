"""Charts of a decision, each with a sentence that says the same without the picture.

Colours differ in lightness as well as hue and every bar carries its numbers and its evidence
class as text, so that nothing is said by colour alone.
"""

from functools import cache
from typing import Any

import altair as alt
import pandas as pd

from stackchoice.choose.decision import Cost, Fit
from stackchoice.facts.interval import Interval
from stackchoice.fit import Speed
from stackchoice.fit.memory import GB
from stackchoice.fit.sizing import Sizing
from stackchoice.present import text
from stackchoice.present.drawing import ROWS, Built, Chart, Filled

WIDTH = 620
BAR = 30
FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
INK = "#1b1f24"
#: A bar of parts: its name, what stands at its end, and how large each part is.
Stack = tuple[str, str, dict[str, float]]

#: Part of the memory budget -> (FitRow field, fill, text on the fill).
MEMORY_PARTS = {
    "weights": ("weights_bytes", "#0b4f8a", "#ffffff"),
    "workspace": ("workspace_bytes", "#b85000", "#ffffff"),
    "live sequences": ("sequences_bytes", "#a9d5f2", INK),
    "left over": ("left_over_bytes", "#eef1f4", INK),
}
COST_PARTS = {
    "infrastructure": ("infrastructure_usd", "#0b4f8a", "#ffffff"),
    "people": ("people_usd", "#e69f00", INK),
    "one-time cost": ("one_time_usd", "#c9ced4", INK),
}


def memory_chart(fit: Fit | Sizing) -> tuple[Chart, str]:
    """Return the memory budgets as stacked bars in decimal GB, one bar per row, and its text."""
    bars, sentences = list[Stack](), []
    for row in fit.rows:
        known = row.live_sequences is not None
        live = row.sequences
        note = f"live sequences: {live}"
        if known:
            note = f"of {text.gb(row.memory_bytes)} memory: {live} live sequences"
            note += f" [{row.evidence.value}]"
        sentences.append(
            f"{row.basis}: memory {text.gb(row.memory_bytes)}, weights "
            f"{text.gb(row.weights_bytes)}, workspace {text.gb(row.workspace_bytes)}, left "
            f"{text.gb(row.pool_bytes)}, live sequences {live}"
            + (f" ({row.evidence.value})" if known else "")
        )
        sizes = {part: getattr(row, field) or 0 for part, (field, *_) in MEMORY_PARTS.items()}
        bars.append((row.basis, note, {part: max(n, 0) / GB for part, n in sizes.items()}))
    axis = "decimal GB (1 GB = 1,000,000,000 bytes)"
    chart = stacked(bars, MEMORY_PARTS, axis=axis, label="format(datum.value, '.1f')")
    return chart, f"Memory budgets, each row by itself. {'; '.join(sentences)}."


def cost_chart(cost: Cost) -> tuple[Chart, str]:
    """Return each path's monthly cost, stacked by what it is paid for, and its text."""
    bars, sentences = list[Stack](), []
    for line in cost.lines:
        total = text.usd(line.total_usd)
        note = f"{total} a month"
        sentences.append(
            f"{line.path} ({line.what}): infrastructure {text.usd(line.infrastructure_usd)} "
            f"({line.evidence.value}), people {text.usd(line.people_usd)} and one-time cost "
            f"{text.usd(line.one_time_usd)} ({line.people_evidence.value}), together {total}"
        )
        people = f"people and one-time {line.people_evidence.value}"
        classes = f"infrastructure {line.evidence.value}; {people}"
        name = f"{line.path} [{classes}]"
        amounts = {part: float(getattr(line, f) or 0) for part, (f, *_) in COST_PARTS.items()}
        bars.append((name, note, amounts))
    chart = stacked(bars, COST_PARTS, axis="USD a month", label="format(datum.value, ',.0f')")
    return chart, f"Cost by path, USD a month. {'; '.join(sentences) or 'No path has a price'}."


def decode_chart(
    speed: Speed | None, predicted: Interval | None, measured: Any = None
) -> tuple[alt.LayerChart, str]:
    """Return the decode ceiling, the predicted interval and the measured spread on one axis.

    Parameters
    ----------
    measured
        A spread of measured rates (``median``, ``low``, ``high``, ``n``), or None.
    """
    speed = speed or Speed()
    ceiling = speed.decode_ceiling_tokens_per_s
    rows = [_span("ceiling", speed.evidence.value, ceiling, ceiling, ceiling, "at most")]
    if predicted is not None:
        rows.append(
            _span("predicted", predicted.evidence.value, predicted.low, predicted.middle,
                  predicted.high, "middle")
        )  # fmt: skip
    if measured is not None:
        rows.append(
            _span("measured", measured.evidence.value,
                  measured.median if measured.low is None else measured.low, measured.median,
                  measured.median if measured.high is None else measured.high,
                  f"{measured.n or 'unknown'} samples, {measured.centre}")
        )  # fmt: skip
    frame = pd.DataFrame([row for row in rows if row["middle"] is not None])
    if frame.empty:
        frame = pd.DataFrame(columns=list(rows[0]))
    base = alt.Chart(frame).encode(y=rows_axis())
    axis = alt.X("low:Q", title="tokens/s of one stream", scale=alt.Scale(zero=True))
    chart = alt.layer(*intervals(base, axis))
    spoken = "; ".join(f"{row['row']}: {row['end']}" for row in frame.to_dict("records"))
    return finish(chart, rows=len(frame), step=66), f"Decode rate of one stream. {spoken}."


def _span(row: str, evidence: str, low: Any, middle: Any, high: Any, word: str) -> dict[str, Any]:
    end = f"{word} {text.number(middle)} tokens/s"
    if low != high:
        end += f", {text.number(low)} to {text.number(high)}"
    return {"row": f"{row} [{evidence}]", "low": low, "middle": middle, "high": high, "end": end}


def stacked(
    bars: list[Stack], parts: dict[str, tuple[str, str, str]], *, axis: str, label: str
) -> Filled:
    """Return bars of parts, one a row; ``label`` is what a wide enough part says of itself."""
    rows = [
        {"row": name, "part": part, "value": value, "end": end}
        for name, end, sizes in bars for part, value in sizes.items()
    ]  # fmt: skip
    names = {name for name, *_ in bars}
    return Filled(_stacked(tuple(parts.items()), axis, label, len(names)), {"rows": rows})


@cache
def _stacked(
    named: tuple[tuple[str, tuple[str, str, str]], ...], axis: str, label: str, rows: int
) -> Built:
    parts = dict(named)
    order = list(parts)
    base = (
        alt.Chart(ROWS)
        .transform_calculate(rank=f"indexof({order}, datum.part)")
        .transform_stack(stack="value", groupby=["row"], sort=[alt.SortField("rank")],
                         as_=["from", "to"])
        .transform_joinaggregate(whole="sum(value)", groupby=["row"])
        .transform_joinaggregate(widest="max(whole)")
        .transform_calculate(shown=label, middle="(datum.from + datum.to) / 2")
    )  # fmt: skip
    colour = alt.Color(
        "part:N", sort=order, title=None,
        scale=alt.Scale(domain=order, range=[fill for _, fill, _ in parts.values()]),
        legend=alt.Legend(orient="top", labelLimit=300, symbolStrokeColor=INK),
    )  # fmt: skip
    ink = alt.Color(
        "part:N", legend=None,
        scale=alt.Scale(domain=order, range=[over for _, _, over in parts.values()]),
    )  # fmt: skip
    bars = base.mark_bar(height=BAR, stroke="#ffffff", strokeWidth=1).encode(
        y=rows_axis(), x=alt.X("from:Q", title=axis), x2="to:Q", color=colour
    )
    inside = (
        base.transform_filter("datum.value > datum.widest * 0.08")
        .mark_text(fontWeight="bold")
        .encode(y=rows_axis(), x="middle:Q", text="shown:N", color=ink)
    )
    last = base.transform_filter(f"datum.rank == {len(order) - 1}")
    ends = said_below(last).encode(y=rows_axis())
    chart = alt.layer(bars, inside, ends).resolve_scale(color="independent")
    return Built(finish(chart, rows=rows, step=66))


def intervals(base: alt.Chart, axis: alt.X) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """Return rows from ``low`` to ``high`` with their middles marked, and what each says."""
    return (
        base.mark_bar(height=10, color="#a9d5f2").encode(x=axis, x2="high:Q"),
        base.mark_tick(thickness=4, size=26, color="#0b4f8a").encode(x="middle:Q"),
        said_below(base),
    )


def said_below(base: Any) -> Any:
    """Return the text ``end`` of each row, below its bar."""
    return base.mark_text(align="left", dx=2, dy=BAR * 0.8, color=INK).encode(
        x=alt.datum(0), text="end:N"
    )


def rows_axis() -> alt.Y:
    """Return the axis of rows: in the given order, long labels on several lines."""
    return alt.Y(
        "row:N", sort=None, title=None,
        axis=alt.Axis(labelLimit=0, labelExpr=_WRAP, ticks=False, domain=False),
    )  # fmt: skip


#: Vega has no word wrap: break a label at the blank nearest each 34th character.
_WRAP = r"split(replace(datum.label, /(.{1,34})(\s+|$)/g, '$1\n'), '\n')"


#: Type and colours of every chart.
CONFIG = {
    "font": FONT,
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": INK, "titleColor": INK},
    "legend": {"labelFontSize": 12, "labelColor": INK},
    "text": {"fontSize": 12},
    "view": {"stroke": None},
}


def finish(chart: Any, *, rows: int, step: int) -> alt.LayerChart:
    """Give a chart the width, type and colours of all charts, and ``step`` pixels a row."""
    finished: alt.LayerChart = chart.properties(
        width=WIDTH, height=max(rows, 1) * step, background="#ffffff", config=CONFIG,
    )  # fmt: skip
    return finished
