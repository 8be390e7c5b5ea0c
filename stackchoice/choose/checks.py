"""The hard facts a self-hosted configuration must meet, in the order of the procedure.

:mod:`stackchoice.choose.judge` says what a check is and what the first failure means.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from stackchoice.choose.case import Case
from stackchoice.choose.judge import Check, Failed, first_failure
from stackchoice.choose.place import Place
from stackchoice.choose.site import Site, admitted, leaves, site_of
from stackchoice.facts.datum import Datum, Evidence, sure
from stackchoice.facts.names import counted
from stackchoice.facts.records import Engine
from stackchoice.fit.config import architecture_of
from stackchoice.fit.memory import GB, usable_bytes
from stackchoice.fit.path import KernelPath, artifact_path
from stackchoice.fit.workspace import said
from stackchoice.scenario import Scenario
from stackchoice.scenario.words import label
from stackchoice.workload import meets, needs

FUND = "money.can_fund_devices"
#: What the fact base says where it says nothing.
NOTHING: Datum[Any] = Datum()


@dataclass(frozen=True)
class Standing:
    """How far one engine comes at one place whatever the traffic: files, release and memory.

    ``failed`` is the first hard fact that failed. A file that the engine does not load is given
    no admission: ``site`` is then None.
    """

    engine: Engine
    place: Place
    failed: Failed | None
    unknown: list[str]
    site: Site | None = None

    @cached_property
    def fits(self) -> bool:
        """Whether it is known to load the file, and to fit beside the most that it takes."""
        site, loads = self.site, self.engine.loads(self.place.artifact.format)
        fits = site is not None and site.row.pool_bytes is not None and site.live_sequences != 0
        return bool(not self.failed and loads and fits)

    @cached_property
    def rank(self) -> tuple[Any, ...]:
        """Orders configurations of an engine: highest precision, then capacity.

        Quantising is a cure for what does not fit, so it is not taken where nothing ails.
        """
        place, site = self.place, self.site
        return (
            place.artifact.weight_bits.value or 0,
            -place.devices,
            (site and site.live_sequences) or 0,
            # Still equal: never by the order in which somebody wrote the machines down.
            place.choice.already_owned,
            (site and site.row.pool_bytes) or 0,
            place.choice.count,
            place.machine.id,
            place.artifact.id,
        )


def standing(case: Case, engine: Engine, place: Place) -> Standing:
    """Check licence, software, kernels and memory, in this order, up to the first that fails."""
    before = [*licence_checks(case.scenario, engine, place), *software_checks(engine, place)]
    failed, unknown = first_failure(before)
    if failed:
        return Standing(engine, place, failed, unknown)
    path = case.recall(
        ("kernels", engine.id, place.number),
        lambda here: artifact_path(
            place.model, place.artifact, engine.id, engine.latest.version, place.machine, here.facts
        ),
    )
    failed, more = first_failure(kernel_checks(engine, place, path))
    unknown = unknown + more
    if failed:
        return Standing(engine, place, failed, unknown)
    site = admitted(replace(site_of(place, case, engine.id), kernels=path), engine, case)
    failed, more = first_failure(memory_checks(case, site))
    return Standing(engine, place, failed, unknown + more, site)


def team_checks(case: Case, engine: Engine, place: Place) -> Iterator[Check]:
    """Yield what the workload needs of the engine, then what the team can fund."""
    yield from case.recall(("needs", engine.id), lambda here: list(_needs(here, engine)))
    users = case["workload.users"]
    if case.scenario.workload.purpose == "serving" and users is not None and users > 1:
        known = engine.features.get("continuous_batching", NOTHING)
        batches = case.recall(
            ("batches", engine.id), lambda _: engine.has("continuous_batching")[0]
        )
        yield "workload shape", batches, (
            f"whether {engine.name} batches concurrent requests" if batches is None
            else f"{engine.name} does not batch concurrent requests; {users:g} users share it"
        ), (("batches concurrent requests", known),)  # fmt: skip
    limit, wanted = case[FUND], place.devices
    if limit is not None and not place.choice.already_owned and wanted > limit:
        yield "cost", False, f"takes {wanted} devices; the team can fund {limit:g}", (FUND,)


def licence_checks(scenario: Scenario, engine: Engine, place: Place) -> Iterator[Check]:
    """Weights and engine must have a licence that is accepted."""
    if scenario.constraints.licences_acceptable == "not known":
        yield "constraints", None, "which licences are acceptable"
        return
    accepted = {name.lower() for name in scenario.constraints.licences_acceptable}
    asked = {"the weights": place.licence, engine.name: engine.licence} if accepted else {}
    for what, datum in asked.items():
        if datum.value is None:
            yield "constraints", None, f"the licence of {what} is unknown"
        else:
            yield (
                "constraints", datum.value.lower() in accepted,
                f"licence {datum.value} of {what} is not among the acceptable ones",
                ((f"licence of {what}", datum),),
            )  # fmt: skip


def software_checks(engine: Engine, place: Place) -> Iterator[Check]:
    """The engine must run there, load the files, know the class, and shard it where asked."""
    machine, artifact = place.machine, place.artifact

    def fact(holds: bool | None, no: str, may: str, known: Datum[Any] | None) -> Check:
        text = f"whether {engine.name} {may}" if holds is None else f"{engine.name} {no}"
        return "hardware fit", holds, text, ((may, known or NOTHING),)

    yield fact(
        engine.runs_on(machine.backend), f"does not run on {machine.backend}",
        f"runs on {machine.backend}", engine.platforms.get(machine.backend),
    )  # fmt: skip
    floor, has = engine.min_compute_capability.value, machine.cuda_capability
    if machine.backend == "cuda" and floor is not None and has is not None:
        yield (
            "hardware fit", has >= floor,
            f"needs compute capability {floor:g}; {machine.name} has {has:g}",
            (("least compute capability", engine.min_compute_capability),),
        )  # fmt: skip
    files = f"{artifact.format} files"
    loads = engine.loads(artifact.format)
    yield fact(
        loads, f"does not load {files}", f"loads {files}", engine.formats.get(artifact.format)
    )
    architecture = architecture_of(place.model.config.value or {})
    implemented, since = engine.implements(architecture)
    first = f"; first in {since}" if since else ""
    yield fact(
        implemented, f"{engine.latest.version} does not implement {architecture}{first}",
        f"implements {architecture}", engine.architectures.get(architecture),
    )  # fmt: skip
    if place.devices > 1:
        several = "one model over several devices"
        yield fact(
            engine.has("tensor_parallel")[0], f"does not shard {several}", f"shards {several}",
            engine.features.get("tensor_parallel"),
        )  # fmt: skip


def kernel_checks(engine: Engine, place: Place, path: KernelPath | None) -> Iterator[Check]:
    """A format without a kernel on this chip does not start, however well it would fit."""
    release = f"{engine.name} {engine.latest.version}"
    if path is None:
        yield "hardware fit", None, f"whether {release} has kernels for {place.artifact.label}"
        return
    for part in path.refusals():
        name, why = part.encoding.name if part.encoding else "", part.prefill.note
        yield (
            "hardware fit", False,
            f"{release} has no kernel for {name} on {path.chip_name}" + (f": {why}" if why else ""),
            ((f"kernel for {name}", Datum[str](
                value="none", evidence=part.prefill.evidence or Evidence.INFERRED,
                source=part.prefill.source, note=why,
            )),),
        )  # fmt: skip
    if path.loads is None:
        yield (
            "hardware fit", None,
            f"whether {release} has kernels for {place.artifact.label} on {path.chip_name}",
        )  # fmt: skip
    if any(part.prefill.arithmetic == "emulated" for part in path.parts):
        yield "hardware fit", None, f"how fast the emulated kernels of {release} are"


def memory_checks(case: Case, site: Site) -> Iterator[Check]:
    """Context, weights and at least one sequence must have room."""
    context, limit = case["workload.context_tokens"], site.model.context_tokens.value
    if context and limit:
        yield (
            "hardware fit", context <= limit,
            f"the model's context is {limit:,} tokens; {context:,} are asked",
            (("context of the model", site.model.context_tokens), "workload.context_tokens"),
        )  # fmt: skip
    row = site.row
    if row.live_sequences is None:
        lacks = row.note.rstrip(". ").replace("_", " ")
        lacks = lacks if context else f"unknown: {label('workload.context_tokens')}"
        yield "hardware fit", None, f"whether it fits ({lacks})"
        return
    one = row.bytes_per_sequence
    takes = f", one sequence of {context:,} tokens takes {one / GB:,.2f} GB" if one else ""
    beside = said(site.workspace, site.devices)
    if not site.live_sequences and site.most_sequences:
        yield "hardware fit", None, (
            f"whether it fits: {counted(site.most_sequences, 'live sequence')} with the least "
            f"{beside}, none with the most"
        )  # fmt: skip
        return
    yield (
        "hardware fit", row.live_sequences > 0,
        f"does not fit: weights and workspace {leaves(sure(row.pool_bytes))}{takes}"
        + (f"; {beside}" if beside else ""),
        (
            ("weights, bytes", site.artifact.weights_bytes),
            ("memory, bytes", usable_bytes(site.machine, site.devices)),
            ("workspace, bytes", site.workspace),
        ) if row.live_sequences == 0 else (),
    )  # fmt: skip
    if site.live_sequences == 0:
        text = f"the quotient gives {row.live_sequences} live sequences, this release's own"
        yield "hardware fit", False, f"{text} admission none"


def _needs(case: Case, engine: Engine) -> Iterator[Check]:
    for need in needs(case.point):
        there, since = engine.has(need.feature)
        has = meets(there, need)
        first = f"; first in {since}" if since else ""
        release = f"{engine.name} {engine.latest.version}"
        yield "workload shape", has, (
            f"whether {release} can {need.text}" if has is None
            else f"{release} does not {need.text}{first}"
        ), ((need.text, engine.features.get(need.feature, NOTHING)),)  # fmt: skip
