"""A checkpoint's parts handed to the kernel path of an engine release on a machine."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from stackchoice.errors import InputError
from stackchoice.facts.load import Facts, load_facts
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
        When one of the two is missing or not known.
    """
    facts = facts or load_facts()
    if not engine or not machine:
        raise InputError("--engine and --machine belong together; give both or neither")
    name, _, release = engine.partition("==")
    if name not in facts.engines:
        raise InputError(f"engine {name!r} is not known; known: {', '.join(facts.engines)}")
    if machine not in facts.machines:
        raise InputError(f"machine {machine!r} is not known; known: {', '.join(facts.machines)}")
    if find_spec("stackchoice.fit.path") is None:
        raise InputError("the kernel path is not part of this release; leave --engine out")
    resolver = import_module("stackchoice.fit.path")
    rows = resolver.paths(found.parts, name, release or None, facts.machines[machine], facts)
    return found.model_copy(update={"paths": rows})
