"""The decision told step by step: rule, facts, evidence class; and question 1 in numbers."""

from collections.abc import Iterator
from typing import Any

from stackchoice.choose.answer import Answer
from stackchoice.choose.case import Case
from stackchoice.choose.decision import Fit, Step
from stackchoice.choose.place import places, stated_size, workspaces
from stackchoice.choose.shape import Shape
from stackchoice.choose.site import Site, devices_assumed, served, site_of
from stackchoice.facts.datum import Datum, Evidence, weakest
from stackchoice.fit import fit_row, nominal_bytes, usable_bytes
from stackchoice.fit.admissions import admission_rows
from stackchoice.fit.workspace import said
from stackchoice.scenario.words import label


def shown_site(main: Answer) -> Site | None:
    """Return the best self-hosted option's site; where none survives, the first candidate's."""
    if main.site is None and (there := places(main.case)):
        return served(site_of(there[0], main.case), main.case)
    return main.site


def fit_numbers(main: Answer) -> Fit:
    """Return question 1 in numbers: the budgets as separate rows, never mixed.

    For the best self-hosted option; where none survives, for the first candidate, so that
    the reader sees what does not fit.
    """
    site, case = shown_site(main), main.case
    model, context = case.scenario.model.id, case["workload.context_tokens"]
    if site is None:
        return Fit(
            model=model, artifact="", machine="", devices=0, context_tokens=context,
            kv_bytes_per_token=None, state_bytes_per_sequence=None, bytes_per_sequence=None,
            rows=[], note="no candidate machine was given",
        )  # fmt: skip
    layout, devices = site.layout, site.devices
    per_sequence = layout.bytes_per_sequence(context) if layout and context else None
    held = site.held.bytes_per_sequence(context) if site.held and context else None
    rows = [fit_row(**asked, bytes_per_sequence=held) for asked in budgets(case, site)]
    here = (site.artifact.label, site.machine.name, devices)
    refused = {
        c.engine: c.reason for c in main.candidates
        if c.question == "hardware fit" and c.live_sequences is None
        and (c.artifact, c.machine, c.devices) == here
    }  # fmt: skip
    assumed = devices_assumed(site, case, serves=main.chosen is not None)
    return Fit(
        model=model,
        artifact=site.artifact.label,
        machine=site.machine.name,
        devices=devices,
        context_tokens=context,
        kv_bytes_per_token=layout and layout.kv_bytes_per_token,
        state_bytes_per_sequence=layout and layout.state_bytes_per_sequence,
        bytes_per_sequence=per_sequence,
        cache_evidence=weakest(site.model.config.evidence),
        rows=rows,
        admissions=[
            row if row.refused else row.model_copy(update={"refused": refused.get(row.engine, "")})
            for row in admission_rows(
                site.model.config.value or {}, site.machine, rows, context_tokens=context,
                devices=devices, facts=case.facts, file_format=site.artifact.format,
                workspaces=own_workspaces(case, site),
            )
        ],
        speed=site.speed,
        kernels=site.kernels,
        replica=site.replica,
        needed_concurrency=site.needed_concurrency,
        needed_evidence=case.flow.peak_evidence,
        note="; ".join(filter(None, [site.cache_note, assumed, said(site.workspace, devices)])),
    )  # fmt: skip


def trace(main: Answer, numbers: Shape | None) -> list[Step]:
    """Return every step from the memory sum to the recommendation."""
    return [
        *_fit_steps(main),
        *_elimination_steps(main),
        *_push_steps(main),
        *_shape_steps(numbers),
        *_ops_steps(main),
        *_cost_steps(main),
    ]


def budgets(case: Case, site: Site) -> list[dict[str, Any]]:
    """Return the memory budgets, each as what :func:`fit_row` asks for beside a sequence."""
    machine, devices = site.machine, site.devices
    published = {"weights_bytes": site.artifact.weights_bytes, "workspace_bytes": site.workspace}
    reported = machine.memory_gib_reported.known or machine.unified_memory
    rows: list[dict[str, Any]] = [
        {"basis": "published checkpoint on the vendor's GB",
         "memory_bytes": nominal_bytes(machine, devices), **published},
        {"basis": "published checkpoint on the memory the machine reports",
         "memory_bytes": usable_bytes(machine, devices), **published,
         "note": "" if reported else "reported bytes unknown; the vendor's GB are assumed"},
    ]  # fmt: skip
    if (stated := case.scenario.candidates.stated_budget) is not None:
        parts = {
            f"{part}_bytes": stated_size(getattr(stated, f"{part}_gb"), stated.origin)
            for part in ("memory", "weights", "workspace")
        }
        rows.insert(0, {"basis": "stated budget", **parts, "note": stated.origin})
    return rows


def own_workspaces(case: Case, site: Site) -> dict[str, Datum[int]] | None:
    """Return each engine's own workspace (None: one is stated, and the budgets hold it)."""
    return None if case.scenario.candidates.stated_budget else workspaces(site, case)


def _fit_steps(main: Answer) -> Iterator[Step]:
    site = main.site
    if site is None:
        return
    row, speed = site.row, site.speed
    live = "unknown" if row.live_sequences is None else row.live_sequences
    sizes = {"weights": row.weights_bytes, "memory": row.memory_bytes}
    yield Step(
        question="hardware fit", rule="quotient", evidence=row.evidence,
        text=f"{site.artifact.label} on {site.devices} x {site.machine.name}: {live} live "
        "sequences",
        facts=[f"{what} {size:,} B" if size else f"{what} unknown" for what, size in sizes.items()],
    )  # fmt: skip
    if site.admission is not None and site.admission.live_sequences is not None:
        yield Step(
            question="hardware fit", rule=f"admission-{site.admission.rule}".replace("_", "-"),
            evidence=weakest(site.admission.evidence, row.evidence),
            text=f"{_name(main, site.admission.engine)} {site.admission.release} admits "
            f"{site.admission.live_sequences} at once: {site.admission.rule_text}",
            facts=site.admission.notes,
        )  # fmt: skip
    yield from _kernel_steps(site)
    if speed.decode_ceiling_tokens_per_s is not None:
        yield Step(
            question="hardware fit", rule="decode-ceiling", evidence=speed.evidence,
            text=f"one stream decodes at most {speed.decode_ceiling_tokens_per_s:,.1f} tokens/s: "
            "bandwidth over the bytes read per token",
            facts=[f"{speed.bytes_per_decode_step:,} B per token",
                   f"{site.devices} x {site.machine.bandwidth_gb_per_s.value:g} GB/s"],
        )  # fmt: skip
    if site.needed_concurrency is not None:
        yield Step(
            question="hardware fit", rule="little", evidence=main.case.flow.peak_evidence,
            text=f"the peak keeps about {site.needed_concurrency:,.1f} requests in flight",
            facts=["arrival rate at the peak x seconds in service at the slow end"],
        )  # fmt: skip


def _kernel_steps(site: Site) -> Iterator[Step]:
    """Yield one step for each part of the weights: what its kernel multiplies, as was read."""
    path = site.kernels
    for part in path.parts if path else ():
        run = part.prefill
        if path and part.encoding and run.arithmetic and run.evidence and run.source:
            yield Step(
                question="hardware fit", rule="kernel-path", evidence=run.evidence,
                text=f"{path.engine_name} {path.release} multiplies {part.encoding.name} as "
                f"{run.arithmetic} ({run.kernel})",
                facts=[run.source.label],
            )  # fmt: skip


def _elimination_steps(main: Answer) -> Iterator[Step]:
    for c in main.candidates:
        if c.status == "eliminated":
            yield Step(
                question=c.question, rule="elimination", text=f"{c.title or c.option}: {c.reason}",
                evidence=Evidence.STATED if c.question != "hardware fit" else Evidence.COMPUTED,
            )  # fmt: skip


def _name(main: Answer, engine: str) -> str:
    known = main.case.facts.engines.get(engine)
    return known.name if known else engine


def _push_steps(main: Answer) -> Iterator[Step]:
    for push in main.pushes:
        if push.holds is False:
            continue
        toward = ", ".join(_name(main, f.engine) for f in push.favours)
        unknown = f"; unknown: {', '.join(map(label, push.unknown))}" if push.holds is None else ""
        yield Step(
            question="workload shape" if push.question == "workload" else "ops capacity",
            rule=push.rule, evidence=Evidence.STATED,
            text=f"{push.text} (toward {toward}{unknown}); how far: {push.how_far}",
            facts=[push.source],
        )  # fmt: skip
    for conflict in main.conflicts:
        yield Step(
            question="workload shape", rule="conflict", evidence=Evidence.STATED,
            text=f"{conflict.rules[0]} and {conflict.rules[1]} disagree "
            f"({' against '.join(_name(main, engine) for engine in conflict.engines)}): "
            f"{conflict.resolution}",
        )  # fmt: skip
    if main.best is not None and main.best_rule is not None:
        yield Step(
            question="workload shape", rule=main.best_rule.rule, evidence=Evidence.STATED,
            text=f"best self-hosted answer: {main.best.title}, because {main.best_rule.why}",
        )  # fmt: skip


def _shape_steps(numbers: Shape | None) -> Iterator[Step]:
    """What the traffic does to the best self-hosted configuration."""
    if numbers is None:
        return
    phases, binding, peak = numbers.phases, numbers.binding, numbers.peak
    if phases and binding:
        yield Step(
            question="workload shape", rule="phases", evidence=binding.evidence,
            text=f"a request takes {phases.prefill_s.middle:,.2f} s in prefill and "
            f"{phases.decode_s.middle:,.2f} s in decode beside {phases.batch - 1} others; "
            f"{binding.binds} binds",
            facts=[f"{name} {getattr(binding, name):.0%} of the chip's time"
                   for name in ("compute", "bandwidth", "capacity")],
        )  # fmt: skip
    if peak:
        yield Step(
            question="workload shape", rule="replicas-at-peak", evidence=peak.evidence,
            text=f"{peak.peak_per_s:,.3g} requests/s take {peak.fast.total} to {peak.slow.total} "
            f"replicas, {peak.slow.spares} of them spare; {peak.replicas_there} are there",
            facts=["the more of: rate under the cap, Erlang's C on the slots admitted"],
        )  # fmt: skip
    for dispute in numbers.disputes:
        yield Step(
            question="workload shape", rule="conflict", evidence=Evidence.INFERRED,
            text=f"{' against '.join(dispute.measures)}: {dispute.resolution}",
        )  # fmt: skip


def _ops_steps(main: Answer) -> Iterator[Step]:
    known: dict[str, Any] = {"question": "ops capacity", "evidence": main.ops.evidence}
    who = "; ".join(f"{duty.text}: {duty.who}" for duty in main.ops.duties)
    yield Step(rule="duties", text=who, **known)
    if main.ops.veto:
        said = "all three duties at nobody rule out serving it yourself"
        yield Step(rule="veto", text=said, **known)
    elif main.ops.thin:
        yield Step(rule="thin-cover", text=f"thin cover: {'; '.join(main.ops.thin)}", **known)


def _cost_steps(main: Answer) -> Iterator[Step]:
    for line in main.lines:
        yield Step(
            question="cost", rule=f"cost-{line.path}", evidence=line.total_evidence,
            text=f"{line.what}: "
            + (f"{line.infrastructure_usd:,.2f} USD a month" if line.infrastructure_usd is not None
               else "unknown price or volume")
            + f", people {line.people_usd:,.0f}, one-time {line.one_time_usd:,.0f}",
            facts=[text for text in (line.source, line.note) if text],
        )  # fmt: skip
    closing = f"recommended: {main.verdict.option}" if main.verdict.option else "no recommendation"
    yield Step(
        question="cost", rule="recommendation", text=f"{closing}; {main.verdict.because}",
        evidence=weakest(*(line.total_evidence for line in main.lines), Evidence.COMPUTED),
    )  # fmt: skip
