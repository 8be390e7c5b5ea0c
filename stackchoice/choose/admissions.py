"""What each engine release would admit in each memory budget: one row an engine and budget.

The budget says what is possible; admission is the engine's. The number does not travel from one
engine to the next, nor from one setting to the other.
"""

from __future__ import annotations

from stackchoice.choose.decision import AdmissionRow
from stackchoice.choose.site import Site
from stackchoice.facts.datum import Datum, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine
from stackchoice.fit import FitRow
from stackchoice.fit.admission import admit

#: The setting that changes admission most, off; the release's default is asked first.
WITHOUT_PREFIX_CACHING = {"enable_prefix_caching": False}


def admission_rows(
    site: Site, rows: list[FitRow], context_tokens: int | None, facts: Facts
) -> list[AdmissionRow]:
    """Return the admission of every engine that runs on the machine, in every budget.

    Where prefix caching changes the number there is a second row without it.
    """
    if not context_tokens:
        return []
    found = []
    for row in rows:
        for engine in facts.engines.values():
            runs = engine.platforms.get(site.machine.backend, Datum[bool]()).value
            if runs is False or row.pool_bytes is None or row.pool_bytes <= 0:
                continue
            default = _row(site, row, engine, context_tokens, facts, {}, "the release's defaults")
            found.append(default)
            if default.rule is not None and default.rule != "quotient":
                without = _row(
                    site, row, engine, context_tokens, facts, WITHOUT_PREFIX_CACHING,
                    "prefix caching off",
                )  # fmt: skip
                if without.live_sequences not in (None, default.live_sequences):
                    found.append(without)
    return found


def _row(
    site: Site,
    row: FitRow,
    engine: Engine,
    context_tokens: int,
    facts: Facts,
    settings: dict[str, bool],
    words: str,
) -> AdmissionRow:
    assert row.pool_bytes is not None
    devices = site.choice.devices_per_replica
    found = admit(
        engine.id,
        engine.latest.version,
        site.model.config.value or {},
        pool_bytes=row.pool_bytes // devices,
        context_tokens=context_tokens,
        tp=devices,
        settings=settings,
        device=site.machine,
        facts=facts,
    )
    return AdmissionRow(
        engine=engine.name,
        release=engine.latest.version,
        settings=words,
        basis=row.basis,
        pool_bytes=row.pool_bytes,
        live_sequences=found.live_sequences,
        rule=found.rule,
        rule_text=found.rule_text,
        printed_pool_tokens=found.printed_pool_tokens,
        evidence=weakest(found.evidence, row.evidence),
        note="; ".join(
            [*found.notes, *([found.steady_state_note] if found.steady_state_note else [])]
        ),
    )
