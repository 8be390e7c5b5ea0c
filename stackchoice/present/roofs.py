"""The roofline in a picture, and live sequences against the length of a request by engine."""

import altair as alt
import pandas as pd

from stackchoice.choose import Decision
from stackchoice.choose.decision import Fit
from stackchoice.confirm import Passport
from stackchoice.facts import Datum, Evidence, Facts
from stackchoice.facts.interval import Interval
from stackchoice.fit.admissions import DEFAULTS, by_length
from stackchoice.fit.roofline import Roofline, roofline
from stackchoice.present import text
from stackchoice.present.charts import INK, finish
from stackchoice.present.numbers import fit_facts
from stackchoice.present.page import Drawn

HEIGHT = 300
#: Colours of what stands under the roof, and the shapes that tell them apart without colour.
STANDS = {
    "decode, predicted": ("#0b4f8a", "circle"), "prefill, predicted": ("#e69f00", "square"),
    "decode, measured": ("#d55e00", "triangle-up"),
}  # fmt: skip
#: Colours of engines, and dashes, since there are more engines than colours that differ.
COLOURS = ("#0b4f8a", "#d55e00", "#5a636b", "#e69f00")


def roofline_chart(
    decision: Decision, facts: Facts, passport: Passport | None = None
) -> Drawn:  # fmt: skip
    """Return the roof of the best replica with what is predicted and measured under it."""
    found = _roof(decision, facts, passport)
    if found is None:
        empty = alt.layer(alt.Chart(pd.DataFrame(columns=["intensity", "reached"])).mark_point())
        return finish(empty, rows=1, step=40), "No roofline is drawn: a rate or a size is unknown."
    widest = max(found.ridge, *(stand.intensity for stand in found.stands))
    ends = (found.ridge / 1000, found.ridge, 100 * widest)
    roof = pd.DataFrame([{"intensity": at, "reached": found.roof(at)} for at in ends])
    rows = [
        {"name": s.name, "intensity": s.intensity, "low": s.low, "reached": s.middle,
         "high": s.high, "end": f"{s.name}: {text.number(s.middle)} [{s.evidence.value}]"}
        for s in found.stands
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    x = alt.X("intensity:Q", title="operations a byte read", scale=alt.Scale(type="log"))
    y = alt.Y("reached:Q", title="10^12 operations/s", scale=alt.Scale(type="log"))
    names = [stand.name for stand in found.stands]
    fills = alt.Scale(domain=names, range=[STANDS[name][0] for name in names])
    shapes = alt.Scale(domain=names, range=[STANDS[name][1] for name in names])
    base = alt.Chart(frame).encode(x=x)
    chart = alt.layer(
        base.mark_rule(strokeWidth=6, opacity=0.5).encode(
            y=alt.Y("low:Q"), y2="high:Q", color=alt.Color("name:N", scale=fills, legend=None)
        ),
        base.mark_point(size=110, filled=True, opacity=1).encode(
            y=y, color=alt.Color("name:N", scale=fills, legend=None),
            shape=alt.Shape("name:N", scale=shapes, legend=None),
        ),
        alt.Chart(roof).mark_line(color=INK, strokeWidth=2).encode(x=x, y=y),
        base.mark_text(align="left", dx=10, color=INK).encode(y=y, text="end:N"),
    )  # fmt: skip
    said = [
        f"{row['name']} at {text.number(row['intensity'])} operations a byte: "
        f"{text.number(row['low'])} to {text.number(row['high'])}"
        for row in rows
    ]
    spoken = (
        f"Roofline in 10^12 operations/s: {text.number(found.bandwidth_gb_per_s)} GB/s up to "
        f"{text.number(found.ridge)} operations a byte, then {text.number(found.peak)}. "
        f"{'; '.join(said)}."
    )
    return finish(chart, rows=1, step=HEIGHT), spoken


def _roof(decision: Decision, facts: Facts, passport: Passport | None) -> Roofline | None:
    _, artifact = fit_facts(decision, facts)
    speed, size = decision.fit.speed, artifact.weights_bytes.value if artifact else None
    model = facts.models[decision.fit.model]
    active = model.active_parameters.value or model.parameters.value
    prompt = next(r["value"] for r in decision.inputs if r["input"] == "workload.input_tokens")
    if speed is None or not size or not active:
        return None
    seen = passport.results.decode_tokens_per_s if passport else None
    measured = None if seen is None else Interval(
        low=seen.low or seen.median, middle=seen.median, high=seen.high or seen.median,
        unit="tokens/s", evidence=Evidence(seen.evidence),
    )  # fmt: skip
    return roofline(speed, active_parameters=active, weights_bytes=size,
                    prompt_tokens=prompt or 1, measured=measured)  # fmt: skip


def _taken(fit: Fit, facts: Facts) -> dict[str, Datum[int]]:
    """Return what each engine took beside weights and cache where the last budget was admitted."""
    budget = fit.rows[-1]
    left = (budget.memory_bytes or 0) - (budget.weights_bytes or 0)
    pools = {r.engine: r.pool_bytes for r in fit.admissions
             if (r.basis, r.settings) == (budget.basis, DEFAULTS)}  # fmt: skip
    said = Datum[int](value=0, evidence=Evidence.ASSUMED, note="as the budget was admitted")
    return {one.id: said.model_copy(update={"value": left - pools[one.name]})
            for one in facts.engines.values() if one.name in pools}  # fmt: skip


def length_chart(decision: Decision, facts: Facts) -> Drawn:
    """Return live sequences by the length of a request, a line an engine, and its text.

    In the last budget, the memory that is really there; releases that refuse the file are left out.
    """
    machine, artifact = fit_facts(decision, facts)
    fit, rows = decision.fit, []
    if machine is not None and artifact is not None and fit.rows:
        config = facts.models[fit.model].config.value or {}
        found = by_length(config, machine, fit.rows[-1], devices=fit.devices, facts=facts,
                          file_format=artifact.format, workspaces=_taken(fit, facts))  # fmt: skip
        rows = [
            {"engine": f"{r.engine} {r.release}", "tokens": length, "live": r.live_sequences}
            for length, admitted in found.items()
            for r in admitted
            if r.settings == DEFAULTS and not r.refused and r.live_sequences
        ]
    frame = pd.DataFrame(rows, columns=["engine", "tokens", "live"])
    names = list(dict.fromkeys(frame["engine"]))
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    dashes = [[1, 0] if i < len(COLOURS) else [6, 4] for i in range(len(names))]
    legend = alt.Legend(orient="top", columns=3, labelLimit=300, symbolSize=300)
    lines = alt.Chart(frame).mark_line(strokeWidth=2.5)
    chart = lines.encode(
        x=alt.X("tokens:Q", title="tokens of a request", scale=alt.Scale(type="log", base=2),
                axis=alt.Axis(format=",.0f")),
        y=alt.Y("live:Q", title="live sequences", scale=alt.Scale(type="log"),
                axis=alt.Axis(format=",.0f")),
        color=alt.Color("engine:N", sort=names, title=None, legend=legend,
                        scale=alt.Scale(domain=names, range=colours)),
        strokeDash=alt.StrokeDash("engine:N", sort=names, title=None, legend=legend,
                                  scale=alt.Scale(domain=names, range=dashes)),
    )  # fmt: skip
    said = [
        f"{name}: " + ", ".join(f"{row.live:,} of {row.tokens:,}" for row in group.itertuples())
        for name, group in frame.groupby("engine", sort=False)
    ]
    words = "; ".join(said) or "No engine is known to admit one"
    spoken = f"Live sequences by tokens of a request. {words}."
    return finish(alt.layer(chart), rows=1, step=HEIGHT), spoken
