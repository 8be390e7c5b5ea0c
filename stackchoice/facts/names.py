"""What a typed name stands for in the fact base."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from stackchoice.errors import InputError, known_names
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Model
from stackchoice.facts.yaml import shown

T = TypeVar("T")

#: What ``stackchoice facts`` calls the list of a kind of thing.
KINDS = {"model": "models", "machine": "machines", "engine": "engines", "preset": "workloads"}


def named(what: str, name: str, known: Mapping[str, T], more: str = "") -> T:
    """Return what a name stands for.

    Parameters
    ----------
    what
        The kind of thing, for the error; ``more`` is what else could be given.

    Raises
    ------
    InputError
        When nothing has that name: the names that were meant, or all.
    """
    if name not in known:
        names = known_names(name, known, KINDS.get(what, ""))
        raise InputError(f"{what} {shown(name)!r} is not in the fact base; {names}{more}")
    return known[name]


def engine_called(name: str, facts: Facts) -> str | None:
    """Return the id of an engine by id or by its own name, whatever the case; None for another."""
    known = {e.name.lower(): e.id for e in facts.engines.values()} | {e: e for e in facts.engines}
    return known.get(name.strip().lower())


def engine_named(name: str, facts: Facts) -> str:
    """Return the id of :func:`engine_called`, else refuse the name as :func:`named` does."""
    return engine_called(name, facts) or named("engine", name, facts.engines).id


def plain_name(text: str) -> str:
    """Return a name in small letters without its owner, path and file ending."""
    name = text.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1].lower()
    return re.sub(r"\.(gguf|safetensors)$", "", name)


def model_called(names: Iterable[str | None], facts: Facts) -> Model | None:
    """Return the model that served or declared names mean; None unless it is exactly one."""
    texts = {plain_name(t) for t in names if t}
    found = [
        m for m in facts.models.values()
        if texts & {m.id, m.name.lower(), *(plain_name(a.id) for a in m.artifacts)}
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def artifact_named(artifact: str, model: Model) -> Artifact:
    """Return an artifact of a model by its id."""
    return named("artifact", artifact, {a.id: a for a in model.artifacts})


def counted(number: int, noun: str) -> str:
    """Return how many of something there are: ``1 server``, ``2 servers``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
