"""The kernel path of a candidate: what is refused, what runs otherwise than the file asks."""

from __future__ import annotations

from collections.abc import Iterator

from stackchoice.choose.decision import Step
from stackchoice.choose.judge import Check
from stackchoice.choose.memo import Memo
from stackchoice.choose.site import Place, Site
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine
from stackchoice.fit.path import KernelPath, artifact_path
from stackchoice.scenario import Point


def path_at(
    place: Place, engine: Engine, facts: Facts, point: Point, memo: Memo
) -> KernelPath | None:
    """Return the path of a place's file in an engine's release; None where nothing is known."""
    return memo.recall(
        ("kernels", engine.id, place.choice, place.artifact.id), point, facts,
        lambda _, f: artifact_path(
            place.model, place.artifact, engine.id, engine.latest.version, place.machine, f
        ),
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
        )  # fmt: skip
    if path.loads is None:
        yield (
            "hardware fit", None,
            f"whether {release} has kernels for {place.artifact.label} on {path.chip_name}",
        )  # fmt: skip
    if any(part.prefill.arithmetic == "emulated" for part in path.parts):
        yield "hardware fit", None, f"how fast the emulated kernels of {release} are"


def fallback_text(site: Site | None) -> str:
    """Say which parts run in wider activations than the file asks for; empty where none does."""
    if site is None or site.kernels is None:
        return ""
    said = {
        f"{part.encoding.name} runs as {part.prefill.arithmetic} ({part.prefill.kernel})"
        for part in site.kernels.fallbacks if part.encoding
    }  # fmt: skip
    return f"not as the file asks: {', '.join(sorted(said))}" if said else ""


def kernel_steps(site: Site) -> list[Step]:
    """Return one step for each part of the weights: what its kernel multiplies, as was read."""
    path = site.kernels
    if path is None:
        return []
    return [
        Step(
            question="hardware fit", rule="kernel-path", evidence=part.prefill.evidence,
            text=f"{path.engine_name} {path.release} multiplies {part.encoding.name} as "
            f"{part.prefill.arithmetic} ({part.prefill.kernel})",
            facts=[part.prefill.source.label],
        )
        for part in path.parts
        if part.encoding
        and part.prefill.arithmetic and part.prefill.evidence and part.prefill.source
    ]  # fmt: skip
