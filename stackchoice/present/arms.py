"""Measured arms for the report: the fairness check, the figures, and a table for each passport."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import pandas as pd

from stackchoice.compare import Comparison, compare
from stackchoice.compare.arms import arm_notes
from stackchoice.compare.metrics import METRICS, centre
from stackchoice.confirm.passport import Passport, shown
from stackchoice.facts import Facts
from stackchoice.facts.names import counted
from stackchoice.load.untrusted import visible
from stackchoice.present.charts import INK, finish, rows_axis, said_below

#: What a distribution is drawn of: field of the results -> title.
DRAWN = {"ttft_s": "TTFT", "itl_s": "ITL"}
#: Fills that differ in lightness, so that arms are told apart in grey as well.
FILLS = ("#0b4f8a", "#e69f00", "#a9d5f2", "#d55e00")
LONG = 400


def arms_context(arms: Sequence[Passport], facts: Facts) -> dict[str, Any]:
    """Return what the section on measured arms shows."""
    found = compare(arms, facts) if len(arms) > 1 else None
    named = [(a.name, a.passport) for a in found.arms] if found else [(a.arm, a) for a in arms]
    return {
        "arms": [
            {"name": visible(name, LONG), "passport": p, "notes": arm_notes(p),
             **_items(p)} for name, p in named
        ],
        "comparison": found,
        "figures": list(_figures(found)) if found else [],
        "distributions": [drawn for field in DRAWN if (drawn := distribution_chart(named, field))],
    }  # fmt: skip


def _items(passport: Passport) -> dict[str, Any]:
    known, unknown = [], []
    for part, item, value, origin in passport.items():
        name = item.replace("_", " ")
        if value in (None, {}, ()):
            unknown.append(f"{part}: {name}")
        elif item not in ("server", "machine", "repetitions", "settings_all"):
            text = visible(shown(value), LONG)
            known.append((part, name, text, str(origin) if origin else ""))
    return {"known": known, "unknown": unknown}


def _figures(found: Comparison) -> Iterator[tuple[str, list[str]]]:
    for metric in METRICS:
        values = [centre(a.passport, metric.id, found.slo) for a in found.arms]
        cells = ["unknown" if v is None else f"{v * metric.scale:.4g}" for v in values]
        if any(v is not None for v in values):
            yield f"{metric.title}, {metric.unit}", cells
    for field, title in (*DRAWN.items(), ("end_to_end_s", "end to end")):
        for rank in ("p95", "p99"):
            spreads = [getattr(a.passport.results, field) for a in found.arms]
            if any(spreads):
                cells = [s.in_ms(rank) if s else "unknown" for s in spreads]
                yield f"{title}, {rank}, ms", cells
    for title, field in (("peak memory, bytes", "peak_memory_bytes"), ("errors", "errors"),
                         ("restarts", "restarts")):  # fmt: skip
        cells = [shown(getattr(a.passport.results, field)) for a in found.arms]
        yield title, cells


def distribution_chart(
    arms: Sequence[tuple[str, Passport]], field: str
) -> tuple[alt.LayerChart, str] | None:
    """Return one figure's spread in each arm, range and centre and single requests, and its text.

    Parameters
    ----------
    field
        A field of the results that is a spread in seconds (``ttft_s``, ``itl_s``).

    Returns
    -------
    tuple or None
        None where no arm knows the figure. Where an arm has no single requests or no range, its
        centre alone is drawn, and the text says so.
    """
    rows, points, spoken = [], [], []
    for number, (name, passport) in enumerate(arms):
        spread = getattr(passport.results, field)
        label = visible(name, 60)
        if spread is None:
            spoken.append(f"{label}: unknown")
            continue
        low, high = spread.low or spread.median, spread.high or spread.median
        end = f"{spread.centre} {spread.median * 1e3:.4g} ms"
        end += "" if spread.low is None else f", {low * 1e3:.4g} to {high * 1e3:.4g} ms"
        end += f", n = {spread.n or 'unknown'} [{spread.evidence.value}]"
        spoken.append(f"{label}: {end}")
        fill = FILLS[number % len(FILLS)]
        rows.append({"row": label, "low": low * 1e3, "middle": spread.median * 1e3,
                     "high": high * 1e3, "end": end, "fill": fill})  # fmt: skip
        values = [getattr(s, field) for s in passport.samples if s.failure is None]
        points += [{"row": label, "value": v * 1e3} for v in values[:500] if v is not None]
    if not rows:
        return None
    base = alt.Chart(pd.DataFrame(rows)).encode(y=rows_axis())
    axis = alt.X("low:Q", title=f"{DRAWN.get(field, field)}, ms", scale=alt.Scale(zero=True))
    dots = alt.Chart(pd.DataFrame(points, columns=["row", "value"])).encode(y=rows_axis())
    chart = alt.layer(
        base.mark_bar(height=10).encode(x=axis, x2="high:Q", color=alt.Color("fill:N", scale=None)),
        dots.mark_tick(thickness=1, size=10, color=INK, opacity=0.4).encode(x="value:Q"),
        base.mark_tick(thickness=4, size=26, color=INK).encode(x="middle:Q"),
        said_below(base),
    )
    text = f"{DRAWN.get(field, field)} of {counted(len(arms), 'arm')}. {'; '.join(spoken)}."
    return finish(chart, rows=len(rows), step=66), text
