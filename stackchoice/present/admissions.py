"""What engine releases admit, as a table (a row a release, a column a budget) and as a chart."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import altair as alt

from stackchoice.choose.decision import Fit
from stackchoice.fit.admissions import AdmissionRow
from stackchoice.fit.sizing import Sizing
from stackchoice.present import text
from stackchoice.present.charts import INK, finish, rows_axis
from stackchoice.present.drawing import ROWS, Built, Chart, Filled

#: Fills of budgets, in lightness as well as hue.
FILLS = ("#0b4f8a", "#e69f00", "#a9d5f2", "#c9ced4")
QUOTIENT = "plain quotient, no engine"
LANE = 17


@dataclass
class EngineRow:
    """One engine release with one setting: what it admits in each budget, and its notes.

    ``key`` is that of its explanation.
    """

    name: str
    settings: str
    setting: str
    rule: str
    key: str
    cells: dict[str, AdmissionRow] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Release and setting as one text."""
        return f"{self.name}, {self.settings}"

    @property
    def short(self) -> str:
        """The same in few words, for a picture; the table says the rest."""
        return f"{self.name}, {self.setting}"


@dataclass
class AdmissionTable:
    """Admissions by release and setting. ``bases`` are the budgets, in their order."""

    bases: list[str]
    rows: list[EngineRow]

    @property
    def notes(self) -> list[tuple[list[str], list[tuple[str, list[str]]]]]:
        """Rows that share their notes, with each note and the budgets it holds in ([]: all)."""
        found: list[tuple[list[str], list[tuple[str, list[str]]]]] = []
        for row in self.rows:
            notes = [(n, b if b != list(row.cells) else []) for n, b in row.notes.items()]
            same = next((names for names, theirs in found if theirs == notes), None)
            if same is not None:
                same.append(row.title)
            elif notes:
                found.append(([row.title], notes))
        return found


def admission_table(admissions: list[AdmissionRow]) -> AdmissionTable:
    """Put admissions side by side: one row a release and setting, one column a budget."""
    rows: dict[tuple[str, str, str], EngineRow] = {}
    for item in admissions:
        key = (item.engine, item.release, item.settings)
        words = item.rule_text or "no sourced rule"
        settings = f"{item.refused}: memory alone" if item.refused else item.settings
        if item.unsure and not item.refused:
            settings += f"; {item.unsure}"
        row = rows.setdefault(
            key,
            EngineRow(
                f"{item.engine} {item.release}",
                settings,
                "memory alone" if item.refused else item.settings,
                words,
                f"{item.engine} {item.release}, {item.settings}",
            ),
        )
        row.cells[item.basis] = item
        if item.note:
            row.notes.setdefault(item.note, []).append(item.basis)
    return AdmissionTable(list(dict.fromkeys(a.basis for a in admissions)), list(rows.values()))


def admissions_chart(fit: Fit | Sizing) -> tuple[Chart, str]:
    """Return what each engine release admits beside the plain quotient, and its text.

    One lane a budget; a black tick marks that budget's quotient on every lane.
    """
    table = admission_table(fit.admissions)
    quotients = {row.basis: row for row in fit.rows if row.basis in table.bases}
    rows, sentences = [], []
    for basis, budget in quotients.items():
        rows.append(_lane(QUOTIENT, basis, budget.live_sequences, budget.live_sequences,
                          budget.evidence.value))  # fmt: skip
    for row in table.rows:
        said = []
        for basis, cell in row.cells.items():
            live, shown = cell.live_sequences, cell.sequences
            rows.append(_lane(row.short, basis, live, quotients[basis].live_sequences,
                              cell.evidence.value))  # fmt: skip
            known = "" if live is None else f" ({cell.evidence.value})"
            said.append(f"{shown} in {basis}{known}")
        sentences.append(f"{row.title}: {', '.join(said)}")
    counts = ", ".join(f"{text.number(b.live_sequences)} in {n}" for n, b in quotients.items())
    spoken = f"Live sequences by engine. Plain quotient: {counts}. {'; '.join(sentences)}."
    built = _built(tuple(table.bases), len({row["row"] for row in rows}))
    return Filled(built, {"rows": rows}), spoken


def _lane(
    row: str, basis: str, live: int | None, quotient: int | None, evidence: str
) -> dict[str, Any]:
    shown = text.number(live)
    return {
        "row": row, "budget": basis, "live": live or 0, "quotient": quotient,
        "end": shown if live is None else f"{shown} [{evidence}]",
    }  # fmt: skip


@cache
def _built(named: tuple[str, ...], rows: int) -> Built:
    bases = list(named)
    lane = alt.YOffset("budget:N", sort=bases)
    colour = alt.Color(
        "budget:N", sort=bases, title=None, scale=alt.Scale(domain=bases, range=list(FILLS)),
        legend=alt.Legend(orient="top", columns=1, labelLimit=500),
    )  # fmt: skip
    base = (
        alt.Chart(ROWS)
        .transform_calculate(end_at="max(datum.live, datum.quotient)")
        .encode(y=rows_axis(), yOffset=lane)
    )
    axis = alt.X("live:Q", title="live sequences, at least; black tick: the plain quotient",
                 axis=alt.Axis(tickMinStep=1, tickCount=10))  # fmt: skip
    chart = alt.layer(
        base.mark_bar(stroke=INK, strokeWidth=0.5).encode(x=axis, color=colour),
        base.mark_tick(thickness=3, color=INK).encode(x="quotient:Q"),
        base.mark_text(align="left", dx=6, color=INK).encode(x="end_at:Q", text="end:N"),
    )
    return Built(finish(chart, rows=rows, step=LANE * max(len(bases), 1) + 8))
