"""A checkpoint's parts handed to the kernel path of an engine release on a machine."""

from __future__ import annotations

from stackchoice.errors import InputError
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.records import WeightPart
from stackchoice.facts.yaml import shown
from stackchoice.fit.moment import checked_release
from stackchoice.fit.path import paths
from stackchoice.read.declared import Said
from stackchoice.read.inspection import Inspection


def container_of(said: Said | None) -> str:
    """Return the checkpoint format that engines choose a loader by.

    ModelOpt files that name an algorithm for each layer are another format than those with one.
    """
    if said is None:
        return ""
    listed = bool(said.of("quantized_layers"))
    method = said.method.lower()
    return f"{method}_mixed" if method.startswith("modelopt") and listed else method


def weight_parts(found: Inspection, facts: Facts) -> list[WeightPart]:
    """Return the parts of an inspected checkpoint, the cache in plain numbers where none is asked.

    The plain numbers are those of the weights that are not quantised, bfloat16 where none is told.
    """
    if any(part.part == "attention" for part in found.parts):
        return found.parts
    plain = [e.encoding for e in found.encodings
             if e.encoding and not facts.encodings[e.encoding].quantised]  # fmt: skip
    kept = next((e for e in plain if e in ("bf16", "fp16")), "bf16")
    return [*found.parts, WeightPart(part="attention", encoding=kept)]


def with_paths(
    found: Inspection, engine: str | None, machine: str | None, facts: Facts | None = None
) -> Inspection:
    """Return the report with the kernel path of each part.

    Parameters
    ----------
    engine
        ``NAME`` or ``NAME==RELEASE``; the newest release where none is given.
    machine
        A machine of the fact base.

    Raises
    ------
    InputError
        When one of the two is missing or not known, or no part has a known encoding.
    """
    facts = facts or load_facts()
    if not engine or not machine:
        raise InputError("--engine and --machine belong together; give both or neither")
    name, given, release = engine.partition("==")
    name = name.strip().lower()
    if name not in facts.engines:
        raise InputError(f"engine {shown(name)!r} is not known; known: {', '.join(facts.engines)}")
    if machine not in facts.machines:
        raise InputError(
            f"machine {shown(machine)!r} is not known; known: {', '.join(facts.machines)}"
        )
    if not found.parts:
        raise InputError(
            f"{found.path}: no part has a known encoding, so there is no kernel to name; "
            "leave --engine out to see why"
        )
    parts = weight_parts(found, facts)
    newest = facts.engines[name].latest.version
    release = checked_release(release.strip() if given else None, name, facts.kernels, newest)
    path = paths(parts, name, release, facts.machines[machine], facts)
    return found.model_copy(update={"path_there": path})
