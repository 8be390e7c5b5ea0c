"""Knobs of a sweep in a picture: two of them together against each alone."""

import altair as alt
import pandas as pd

from stackchoice.present import text
from stackchoice.present.charts import INK, finish
from stackchoice.present.page import Drawn
from stackchoice.sweep.judge import Sweep

COLOURS = ("#0b4f8a", "#d55e00", "#5a636b", "#e69f00")
HEIGHT = 260


def interaction_chart(sweep: Sweep) -> Drawn:
    """Return a figure against one knob, a line for each value of the other, and its text.

    Lines that run alike in proportion are what two knobs that do not interact would give.
    """
    first, second = sweep.interactions[0].knobs if sweep.interactions else ("", "")
    rows = [
        {first: text.number(arm.settings[first]), second: text.number(arm.settings[second]),
         "value": arm.mean, "end": f"{text.number(arm.mean)} [{arm.evidence.value}]"}
        for arm in sweep.arms
        if {first, second} <= set(arm.settings) and arm.mean is not None
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=[first, second, "value", "end"])
    title = f"{sweep.metric.replace('_', ' ').replace(' per s', '/s')} ({sweep.unit})"
    values = sorted(set(frame[second]))
    colour = alt.Color(
        f"{second}:N", title=second, scale=alt.Scale(domain=values, range=list(COLOURS)),
        legend=alt.Legend(orient="top"),
    )  # fmt: skip
    base = alt.Chart(frame).encode(
        x=alt.X(f"{first}:N", title=first, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
    )
    chart = alt.layer(
        base.mark_line(strokeWidth=3).encode(
            color=colour, strokeDash=alt.StrokeDash(f"{second}:N", legend=None)
        ),
        base.mark_point(size=80, filled=True, opacity=1).encode(color=colour),
        base.mark_text(align="left", dx=10, color=INK).encode(text="end:N"),
    )
    said = [f"{first} {row[first]}, {second} {row[second]}: {row['end']}" for row in rows]
    together = [
        f"both together {text.number(one.measured)} times the baseline, "
        f"{text.number(one.expected)} expected: {one.outcome}"
        for one in sweep.interactions
    ]
    spoken = f"{title} by {first} and {second}. {'; '.join([*said, *together])}."
    return finish(chart, rows=1, step=HEIGHT), spoken
