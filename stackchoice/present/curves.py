"""What each path costs over the volume, as a picture with every crossover or never."""

from functools import cache
from typing import Any

import altair as alt

from stackchoice.choose.decision import Cost
from stackchoice.present import text
from stackchoice.present.charts import INK, finish
from stackchoice.present.drawing import ROWS, Built, Chart, Filled

#: Colours of the curves, in lightness as well as hue; dashes tell the ends of an interval apart.
COLOURS = {"managed": "#0b4f8a", "owned": "#d55e00", "rented": "#5a636b"}
DASHES = {"slow end": [1, 0], "fast end": [6, 4]}
CURVE_HEIGHT = 300


def volume_chart(cost: Cost) -> tuple[Chart, str]:
    """Return what each path costs over the volume, with every crossover or *never*, and its text.

    People included. Serving yourself climbs by whole replicas, at both ends of its throughput.
    """
    rows = [
        {"curve": curve.name, "path": curve.path, "end": curve.name.partition(", ")[2],
         "mtok": mtok, "usd": usd}
        for curve in cost.curves
        for mtok, usd in curve.points
    ]  # fmt: skip
    names = tuple(dict.fromkeys(row["curve"] for row in rows))
    spoken = f"Cost a month over the volume, people included. {_said(cost)}"
    return Filled(_built(names), {"rows": rows, "marks": _marks(cost)}), spoken


@cache
def _built(named: tuple[str, ...]) -> Built:
    names = list(named)
    colours = [COLOURS[name.partition(",")[0]] for name in names]
    dashes = [DASHES.get(name.partition(", ")[2], [1, 0]) for name in names]
    x = alt.X("mtok:Q", title="M tokens a month", axis=alt.Axis(tickCount=6, format=",.0f"))
    y = alt.Y("usd:Q", title="USD a month", axis=alt.Axis(tickCount=6, format=",.0f"))
    legend = alt.Legend(orient="top", labelLimit=300, columns=2, symbolSize=300)
    encoded = {
        "x": x, "y": y,
        "color": alt.Color("curve:N", sort=names, title=None, legend=legend,
                           scale=alt.Scale(domain=names, range=colours)),
        "strokeDash": alt.StrokeDash("curve:N", sort=names, title=None, legend=legend,
                                     scale=alt.Scale(domain=names, range=dashes)),
    }  # fmt: skip
    curves, base = alt.Chart(ROWS), alt.Chart(alt.NamedData("marks"))
    bought = curves.transform_filter("datum.path == 'managed'").mark_line(strokeWidth=3)
    own = curves.transform_filter("datum.path != 'managed'").mark_line(
        strokeWidth=2, interpolate="step-before"
    )
    rules = base.mark_rule(color=INK, strokeDash=[2, 3]).encode(x="mtok:Q")
    labels = base.mark_text(align="left", baseline="top", dx=4, angle=0, color=INK).encode(
        x="mtok:Q", y=alt.value(4), text="label:N"
    )
    chart = alt.layer(own.encode(**encoded), bought.encode(**encoded), rules, labels)
    return Built(finish(chart, rows=1, step=CURVE_HEIGHT))


def _marks(cost: Cost) -> list[dict[str, Any]]:
    """Return today's volume and every crossover with people."""
    if not cost.curves or cost.volume is None:
        return []
    crossings = [e for e in cost.break_even if e.with_people and e.mtok_per_month is not None]
    today = "today" if crossings else "today; the paths never cross"
    marks = [{"mtok": cost.volume.total_mtok, "label": today}]
    return marks + [{"mtok": e.mtok_per_month, "label": f"{e.against}: crosses"} for e in crossings]


def _said(cost: Cost) -> str:
    if cost.volume is None or not cost.curves:
        return "Not drawn: managed is not open, or a price, the volume or the capacity is unknown."
    parts = [f"Today {text.volume(cost.volume.total_mtok)}"]
    for even in (even for even in cost.break_even if even.with_people):
        at = text.volume(even.mtok_per_month)
        parts.append(f"{even.against}: {at} ({even.evidence.value})")
    return "; ".join(parts) + "."
