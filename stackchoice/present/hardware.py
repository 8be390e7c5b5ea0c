"""Question 1 in pictures and tables: cache, premises, admission, cures, printed figures, ledger."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import altair as alt

from stackchoice.facts import Facts
from stackchoice.facts.told import Why
from stackchoice.fit import PremiseCheck
from stackchoice.fit.memory import GIB
from stackchoice.fit.sizing import Sizing
from stackchoice.present import text
from stackchoice.present.admissions import admission_table, admissions_chart
from stackchoice.present.charts import BAR, finish, memory_chart, rows_axis, said_below
from stackchoice.present.drawing import ROWS, Built, Chart, Filled, Rows
from stackchoice.present.page import Reason, Section, no_reasons, section
from stackchoice.score import Score

GIB_AXIS = "GiB (1 GiB = 2^30 bytes)"
#: Fill of what is so, and of a reading that is not.
TRUE, OTHER = "#0b4f8a", "#c9ced4"


def cache_chart(sizing: Sizing) -> tuple[Chart, str]:
    """Return the cache of one sequence by layer kind, in GiB, and its text."""
    rows = []
    for group in sizing.layers:
        size = group.bytes_at(sizing.context_tokens)
        grows = "grows with every token"
        if group.window_tokens is not None:
            grows = f"grows up to {text.number(group.window_tokens, 'tokens')}"
        elif group.state_bytes:
            grows = "the same at any length"
        kind = f"{group.kind.replace('_', ' ')}, {group.layers} layers"
        rows.append(_bar(kind, size, f"{text.both_units(size)}; {grows}"))
    spoken = "; ".join(f"{row['row']}: {row['end']}" for row in rows) or sizing.note
    length = text.number(sizing.context_tokens, "tokens")
    return _bars(rows), f"Cache of one sequence of {length} by layer kind. {spoken}."


def premises_chart(sizing: Sizing) -> tuple[Chart, str]:
    """Return the cache under every reading of the config, in GiB, and its text."""
    rows = []
    for premise in sizing.premises:
        end = (
            f"{text.both_units(premise.bytes_at_context)}; {premise.layers} layers x "
            f"{premise.kv_heads} heads, {text.number(premise.bytes_per_token, 'B a token')}"
        )
        end += "; this is the model" if premise.true else "; not this model"
        rows.append(_bar(premise.name, premise.bytes_at_context, end, true=premise.true))
    spoken = "; ".join(f"{row['row']}: {row['end']}" for row in rows) or "None is drawn"
    length = text.number(sizing.context_tokens, "tokens")
    return _bars(rows), f"Keys and values of {length} of {sizing.kv_dtype} cache. {spoken}."


def sizing_table(sizing: Sizing) -> Section:
    """Return question 1 for one model on one machine: layers, budgets, admission, cures."""
    return section(
        "sizing", s=sizing, memory=memory_chart(sizing), cache=cache_chart(sizing),
        premises=premises_chart(sizing), admissions=admission_table(sizing.admissions),
        admitted=admissions_chart(sizing),
    )  # fmt: skip


def admissions_table(fit: Any, why: Reason = no_reasons) -> Section:
    """Return the admissions of a decision's fit (or of a sizing), with their picture."""
    return section(
        "admitted", admissions=admission_table(fit.admissions), admitted=admissions_chart(fit),
        why=why,
    )  # fmt: skip


def openings_table(sizings: list[Sizing], whys: Iterable[Iterable[Why]] = ()) -> Section:
    """Return several ways to place a model, each with the room it leaves.

    ``whys`` are those of each sizing (:func:`stackchoice.why.chosen.sized`).
    """
    told = [{why.answer: why for why in own} for own in whys] or [{}] * len(sizings)
    return section("openings", sizings=zip(sizings, told, strict=True))


def premises_table(check: PremiseCheck) -> Section:
    """Return what an engine's printed figures say of each premise, and what would decide."""
    return section("premises", c=check)


def ledger_table(score: Score) -> Section:
    """Return how many answers of a ledger were right, by ask, and which were not."""
    return section("ledger", score=score)


def speed_ledger_table(facts: Facts) -> Section:
    """Return how good the speed intervals are on public rows, as the fact base keeps it."""
    return section("speed_ledger", speed_scores=facts.speed_scores)


def _bar(row: str, size: int, end: str, *, true: bool = True) -> dict[str, Any]:
    return {"row": row, "gib": size / GIB, "end": end, "fill": TRUE if true else OTHER}


def _bars(rows: Rows) -> Filled:
    return Filled(_built(len(rows)), {"rows": rows})


@cache
def _built(rows: int) -> Built:
    base = alt.Chart(ROWS).encode(y=rows_axis())
    chart = alt.layer(
        base.mark_bar(height=BAR).encode(
            x=alt.X("gib:Q", title=GIB_AXIS, axis=alt.Axis(tickCount=8)),
            color=alt.Color("fill:N", scale=None),
        ),
        said_below(base),
    )
    return Built(finish(chart, rows=rows, step=66))
