"""A checkpoint's parts handed to the kernel path of an engine release on a machine."""

from __future__ import annotations

from stackchoice.errors import InputError
from stackchoice.facts.load import Facts, load_facts
from stackchoice.fit.path import paths
from stackchoice.read.inspection import Inspection


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
    name, _, release = engine.partition("==")
    name = name.strip().lower()
    if name not in facts.engines:
        raise InputError(f"engine {name!r} is not known; known: {', '.join(facts.engines)}")
    if machine not in facts.machines:
        raise InputError(f"machine {machine!r} is not known; known: {', '.join(facts.machines)}")
    if not found.parts:
        raise InputError(
            f"{found.path}: no part has a known encoding, so there is no kernel to name; "
            "leave --engine out to see why"
        )
    path = paths(found.parts, name, release.strip() or None, facts.machines[machine], facts)
    return found.model_copy(update={"kernel_path": path})
