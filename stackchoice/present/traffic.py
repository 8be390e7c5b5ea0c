"""Question 2 as tables for a notebook: a decision's workload, releases' reuse, measured logs."""

from functools import cache
from typing import Any

import altair as alt

from stackchoice.choose import Decision
from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts import Facts
from stackchoice.facts.traffic import Distribution, WorkloadPreset
from stackchoice.fit import launch
from stackchoice.fit.prefix import Hit, reuse_rule
from stackchoice.present import text
from stackchoice.present.charts import finish, intervals, rows_axis
from stackchoice.present.drawing import ROWS, Built, Chart, Filled
from stackchoice.present.page import Reason, Section, no_reasons, section
from stackchoice.present.shape import shape_context
from stackchoice.scenario.preset import preset_inputs
from stackchoice.traffic import Measured
from stackchoice.traffic.section import workload_inputs


def lengths_chart(found: Measured | WorkloadPreset) -> tuple[Chart, str]:
    """Return input and output lengths: from the 10th to the 95th percentile, the median marked."""
    rows, said = [], []
    for name, lengths in _lengths(found).items():
        if lengths is None or None in (lengths.p10, lengths.p50, lengths.p95):
            continue
        end = (
            f"median {text.number(lengths.p50)}, mean {text.number(round(lengths.mean))}; "
            f"10 % under {text.number(lengths.p10)}, 5 % above {text.number(lengths.p95)} tokens"
        )
        rows.append({"row": name, "low": lengths.p10, "middle": lengths.p50, "high": lengths.p95,
                     "end": end})  # fmt: skip
        said.append(f"{name}: {end}")
    return Filled(_built(len(rows)), {"rows": rows}), f"Lengths. {'; '.join(said) or 'Unknown'}."


@cache
def _built(rows: int) -> Built:
    base = alt.Chart(ROWS).encode(y=rows_axis())
    axis = alt.X("low:Q", title="tokens a request, 10th to 95th percentile",
                 scale=alt.Scale(zero=True))  # fmt: skip
    return Built(finish(alt.layer(*intervals(base, axis)), rows=rows, step=66))


def workload_tables(decision: Decision, *parts: str, why: Reason = no_reasons) -> Section:
    """Return some of the tables of question 2 as one section.

    Parameters
    ----------
    parts
        Of ``needs``, ``pushes``, ``volume``, ``seconds``, ``settings``, ``reuse``, ``peak``.
    """
    names = [f"shape_{part}.html.j2" for part in parts]
    return section("workload_parts", parts=names, why=why, **shape_context(decision))


def reuse_table(
    facts: Facts, model: str, releases: dict[str, list[str]], *, prompt_tokens: int,
    shared_tokens: int,
) -> Section:  # fmt: skip
    """Return what each release finds again of the same beginning, for one model."""
    config = facts.models[model].config.value or {}
    rows: list[dict[str, Any]] = []
    for engine, versions in releases.items():
        for version in versions:
            hit: Hit | None = None
            try:
                hit = reuse_rule(launch(engine, version, config, facts=facts)).hit(
                    prompt_tokens, shared_tokens
                )
                step = hit.block_tokens or 1
                why = hit.why or (
                    f"whole blocks of {step:,} tokens" if step > 1 else "token by token"
                )
            except (UnknownRuleError, UnknownCacheError) as error:
                why = str(error)
            rows.append({"engine": facts.engines[engine].name, "release": version, "hit": hit,
                         "why": why})  # fmt: skip
    return section(
        "reuse", rows=rows, model=facts.models[model].name, prompt=prompt_tokens,
        shared=shared_tokens,
    )  # fmt: skip


def traffic_table(found: Measured | WorkloadPreset) -> Section:
    """Return a measured log, or a published workload, as what it puts into a scenario."""
    measured = isinstance(found, Measured)
    inputs = workload_inputs(found) if isinstance(found, Measured) else preset_inputs(found)
    return section(
        "traffic", log=found if measured else None, preset=None if measured else found,
        inputs={k: v for k, v in inputs.items() if not k.endswith("_distribution")},
        lengths=lengths_chart(found),
    )  # fmt: skip


def _lengths(found: Measured | WorkloadPreset) -> dict[str, Distribution | None]:
    if isinstance(found, Measured):
        return {"input": found.input_tokens, "output": found.output_tokens}
    return {"input": found.input_distribution, "output": found.output_distribution}
