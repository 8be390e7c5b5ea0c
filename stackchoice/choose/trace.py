"""The decision told step by step: rule, facts, evidence class; and question 1 in numbers."""

from __future__ import annotations

from typing import Any

from stackchoice.choose.answer import Answer
from stackchoice.choose.decision import Fit, Step
from stackchoice.choose.kernels import kernel_steps
from stackchoice.choose.memo import Memo
from stackchoice.choose.shape import Shape
from stackchoice.choose.shape_steps import shape_steps
from stackchoice.choose.site import Site, places, site_of, speed_at
from stackchoice.facts.datum import Datum, Evidence, weakest
from stackchoice.facts.load import Facts
from stackchoice.fit import fit_row, nominal_bytes, usable_bytes
from stackchoice.fit.admissions import admission_rows
from stackchoice.fit.memory import GB
from stackchoice.fit.sizing import workspace_bytes
from stackchoice.scenario import Point, Scenario


def shown_site(
    scenario: Scenario, facts: Facts, point: Point, main: Answer, memo: Memo
) -> Site | None:
    """Return the best self-hosted option's site; where none survives, the first candidate's."""
    site = main.site
    if site is None and (there := places(scenario, facts)):
        site = site_of(there[0], facts, point, memo)
        site = site.model_copy(update=speed_at(site, facts, point))
    return site


def fit_numbers(scenario: Scenario, facts: Facts, point: Point, main: Answer, memo: Memo) -> Fit:
    """Return question 1 in numbers: the budgets as separate rows, never mixed.

    For the best self-hosted option; where none survives, for the first candidate, so that
    the reader sees what does not fit.
    """
    site = shown_site(scenario, facts, point, main, memo)
    context = point["workload.context_tokens"]
    if site is None:
        return Fit(
            model=scenario.model.id, artifact="", machine="", devices=0, context_tokens=context,
            kv_bytes_per_token=None, state_bytes_per_sequence=None, bytes_per_sequence=None,
            rows=[], note="no candidate machine was given",
        )  # fmt: skip
    layout, devices = site.layout, site.choice.devices_per_replica
    per_sequence = layout.bytes_per_sequence(context) if layout and context else None
    rows = [fit_row(**asked, bytes_per_sequence=per_sequence)
            for asked in budgets(scenario, facts, site)]  # fmt: skip
    return Fit(
        model=scenario.model.id,
        artifact=site.artifact.label,
        machine=site.machine.name,
        devices=devices,
        context_tokens=context,
        kv_bytes_per_token=layout and layout.kv_bytes_per_token,
        state_bytes_per_sequence=layout and layout.state_bytes_per_sequence,
        bytes_per_sequence=per_sequence,
        rows=rows,
        admissions=admission_rows(
            site.model.config.value or {},
            site.machine,
            rows,
            context_tokens=context,
            devices=devices,
            facts=facts,
            file_format=site.artifact.format,
        ),
        speed=site.speed,
        kernels=site.kernels,
        replica=site.replica,
        needed_concurrency=site.needed_concurrency,
        note=site.cache_note,
    )


def trace(
    scenario: Scenario, facts: Facts, point: Point, main: Answer, numbers: Shape | None = None
) -> list[Step]:
    """Return every step from the memory sum to the recommendation."""
    return [
        *_fit_steps(main),
        *_elimination_steps(facts, main),
        *_push_steps(main),
        *shape_steps(numbers),
        *_ops_steps(main),
        *_cost_steps(main),
    ]


def budgets(scenario: Scenario, facts: Facts, site: Site) -> list[dict[str, Any]]:
    """Return the memory budgets, each as what :func:`fit_row` asks for beside a sequence."""
    machine, devices = site.machine, site.choice.devices_per_replica
    published = {
        "weights_bytes": site.artifact.weights_bytes, "workspace_bytes": workspace_bytes(facts),
    }  # fmt: skip
    reported = machine.memory_gib_reported.known or machine.unified_memory
    rows: list[dict[str, Any]] = [
        {"basis": "published checkpoint on the vendor's GB",
         "memory_bytes": nominal_bytes(machine, devices), **published},
        {"basis": "published checkpoint on the memory the machine reports",
         "memory_bytes": usable_bytes(machine, devices), **published,
         "note": "" if reported else "reported bytes unknown; the vendor's GB are assumed"},
    ]  # fmt: skip
    if (said := scenario.candidates.stated_budget) is not None:
        parts = {
            f"{part}_bytes": _stated(getattr(said, f"{part}_gb"), said.origin)
            for part in ("memory", "weights", "workspace")
        }
        rows.insert(0, {"basis": "stated budget", **parts, "note": said.origin})
    return rows


def _stated(gigabytes: float, origin: str) -> Datum[int]:
    return Datum[int](
        value=round(gigabytes * GB), evidence=Evidence.ASSUMED, note=origin or "stated by the team"
    )


def _fit_steps(main: Answer) -> list[Step]:
    site = main.site
    if site is None:
        return []
    row = site.row
    facts = [f"weights {row.weights_bytes:,} B" if row.weights_bytes else "weights unknown"]
    live = "unknown" if row.live_sequences is None else row.live_sequences
    facts.append(f"memory {row.memory_bytes:,} B" if row.memory_bytes else "memory unknown")
    steps = [
        Step(
            question="hardware fit", rule="quotient", facts=facts, evidence=row.evidence,
            text=f"{site.artifact.label} on {site.choice.devices_per_replica} x "
            f"{site.machine.name}: {live} live sequences",
        )
    ]  # fmt: skip
    if site.admission is not None and site.admission.live_sequences is not None:
        steps.append(
            Step(
                question="hardware fit",
                rule=f"admission-{site.admission.rule}",
                evidence=weakest(site.admission.evidence, row.evidence),
                text=f"{site.admission.engine} {site.admission.release} admits "
                f"{site.admission.live_sequences} at once: {site.admission.rule_text}",
                facts=site.admission.notes,
            )
        )
    steps += kernel_steps(site)
    if site.speed.decode_ceiling_tokens_per_s is not None:
        steps.append(
            Step(
                question="hardware fit", rule="decode-ceiling", evidence=site.speed.evidence,
                text=f"one stream decodes at most {site.speed.decode_ceiling_tokens_per_s:,.1f} "
                "tokens/s: bandwidth over the bytes read per token",
                facts=[f"{site.speed.bytes_per_decode_step:,} B per token",
                       f"{site.machine.bandwidth_gb_per_s.value:g} GB/s"],
            )
        )  # fmt: skip
    if site.needed_concurrency is not None:
        steps.append(
            Step(
                question="hardware fit", rule="little", evidence=Evidence.INFERRED,
                text=f"the peak keeps about {site.needed_concurrency:,.1f} requests in flight",
                facts=["arrival rate at the peak x seconds in service at the slow end"],
            )
        )  # fmt: skip
    return steps


def _elimination_steps(facts: Facts, main: Answer) -> list[Step]:
    gone = [c for c in main.candidates if c.status == "eliminated"]
    return [
        Step(
            question=c.question, rule="elimination", text=f"{c.title or c.option}: {c.reason}",
            evidence=Evidence.STATED if c.question != "hardware fit" else Evidence.COMPUTED,
        )
        for c in gone
    ]  # fmt: skip


def _push_steps(main: Answer) -> list[Step]:
    steps = []
    for push in main.pushes:
        if push.holds is False:
            continue
        toward = ", ".join(f.engine for f in push.favours)
        unknown = f"; unknown: {', '.join(push.unknown)}" if push.holds is None else ""
        steps.append(
            Step(
                question="workload shape" if push.question == "workload" else "ops capacity",
                rule=push.rule, evidence=Evidence.STATED,
                text=f"{push.text} (toward {toward}{unknown}); how far: {push.how_far}",
                facts=[push.source],
            )
        )  # fmt: skip
    for conflict in main.conflicts:
        steps.append(
            Step(
                question="workload shape", rule="conflict", evidence=Evidence.STATED,
                text=f"{conflict.rules[0]} and {conflict.rules[1]} disagree "
                f"({conflict.engines[0]} against {conflict.engines[1]}): {conflict.resolution}",
            )
        )  # fmt: skip
    if main.best is not None and main.best_rule is not None:
        steps.append(
            Step(
                question="workload shape", rule=main.best_rule.rule, evidence=Evidence.STATED,
                text=f"best self-hosted answer: {main.best.title}, because {main.best_rule.why}",
            )
        )  # fmt: skip
    return steps


def _ops_steps(main: Answer) -> list[Step]:
    steps = [
        Step(
            question="ops capacity", rule="duties", evidence=main.ops.evidence,
            text="; ".join(f"{d.text}: {d.who}" for d in main.ops.duties),
        )
    ]  # fmt: skip
    if main.ops.veto:
        steps.append(
            Step(
                question="ops capacity",
                rule="veto",
                evidence=main.ops.evidence,
                text="all three duties at nobody rule out serving it yourself",
            )
        )
    elif main.ops.thin:
        steps.append(
            Step(
                question="ops capacity",
                rule="thin-cover",
                evidence=main.ops.evidence,
                text=f"thin cover: {'; '.join(main.ops.thin)}",
            )
        )
    return steps


def _cost_steps(main: Answer) -> list[Step]:
    steps = [
        Step(
            question="cost", rule=f"cost-{line.path}", evidence=line.total_evidence,
            text=f"{line.what}: "
            + (f"{line.infrastructure_usd:,.2f} USD a month" if line.infrastructure_usd is not None
               else "unknown price or volume")
            + f", people {line.people_usd:,.0f}, one-time {line.one_time_usd:,.0f}",
            facts=[text for text in (line.source, line.note) if text],
        )
        for line in main.lines
    ]  # fmt: skip
    closing = f"recommended: {main.verdict.option}" if main.verdict.option else "no recommendation"
    steps.append(
        Step(question="cost", rule="recommendation",
             evidence=weakest(*(line.total_evidence for line in main.lines), Evidence.COMPUTED),
             text=f"{closing}; {main.verdict.because}")
    )  # fmt: skip
    return steps
