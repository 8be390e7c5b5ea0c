"""Who was measured: every item a field, and for each how it is known. None means unknown."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from stackchoice.confirm.account import ServerInfo
from stackchoice.confirm.probe import ProbedMachine
from stackchoice.facts.datum import Record

Setting = str | int | float | bool


class Basis(StrEnum):
    """How an item of identity is known."""

    LAUNCHED = "started here"  # from a file that was hashed, with settings that were passed
    READ = "read from the engine"
    LOGGED = "read from the engine's log"
    INSTALLED = "read from the environment that was started"
    PROBED = "probed on this machine"
    REPORTED = "reported"  # in somebody else's result file or text
    DECLARED = "declared"  # somebody typed it, nothing confirms it


class Origin(Record):
    """Where one item comes from: a path of the server, a line of a log, a file."""

    basis: Basis
    where: str = ""

    def __str__(self) -> str:
        return f"{self.basis.value}: {self.where}" if self.where else self.basis.value


class Identity(Record):
    """Exactly what was measured.

    ``settings`` are those that were given, ``effective_settings`` those that the engine says it
    runs with, defaults included. ``runtime_build`` is the release or commit of the engine.
    ``origins`` holds, by name of the item, how it is known; an item that is not in it was declared.
    """

    model: str | None = None
    model_revision: str | None = None
    artifact: str | None = None
    artifact_revision: str | None = None
    artifact_bytes: int | None = None
    manifest_sha256: str | None = None
    runtime: str | None = None
    runtime_build: str | None = None
    torch: str | None = None
    toolkit: str | None = Field(default=None, description="CUDA or ROCm, with its version")
    packages: dict[str, str] = Field(default={}, description="kernel packages and versions")
    driver: str | None = None
    kernels: str | None = None
    gpu: str | None = None
    gpu_count: int | None = Field(default=None, ge=0)
    operating_system: str | None = None
    chat_template: str | None = None
    weight_format: str | None = None
    kv_format: str | None = None
    recurrent_state_format: str | None = None
    speculative_decoder: str | None = None
    context_tokens: int | None = None
    kv_pool_tokens: int | None = None
    slots: int | None = None
    settings: dict[str, Setting] = {}
    effective_settings: dict[str, Setting] = {}
    started_at_s: float | None = Field(default=None, description="start of the engine, Unix time")
    endpoint_url: str | None = None
    endpoint_model: str | None = None
    server: ServerInfo | None = None
    machine: ProbedMachine | None = None
    origins: dict[str, Origin] = {}

    def origin(self, item: str) -> Origin | None:
        """Return how an item is known; None for one that is unknown."""
        value = getattr(self, item)
        if value is None or value == {}:
            return None
        return self.origins.get(item, Origin(basis=Basis.DECLARED))

    def seen(self, found: Mapping[str, Any], basis: Basis, where: str) -> Identity:
        """Return this identity with what was found.

        What an engine says itself replaces what was declared, never the other way round; a
        declaration that it contradicts stays visible in the origin.
        """
        values: dict[str, Any] = {}
        origins = dict(self.origins)
        for item, value in found.items():
            if value is None or value == {}:
                continue
            old, how = getattr(self, item), self.origin(item)
            if isinstance(value, dict) and isinstance(old, dict):
                values[item] = {**old, **value} if _stronger(basis, how) else {**value, **old}
            elif _stronger(basis, how):
                values[item] = value
            if item in values and _stronger(basis, how):
                note = where
                if how and how.basis is Basis.DECLARED and old not in (value, {}):
                    note += f"; declared as {old}" if not isinstance(old, dict) else ""
                origins[item] = Origin(basis=basis, where=note)
        return self.model_copy(update={**values, "origins": origins})


#: As they stand in the enumeration: the first that is known wins.
_ORDER = tuple(Basis)


def _stronger(basis: Basis, known: Origin | None) -> bool:
    return known is None or _ORDER.index(basis) < _ORDER.index(known.basis)
