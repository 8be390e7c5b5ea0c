"""Every artifact on every machine with every release at several contexts: what fits, and how much.

The same rules as :mod:`stackchoice.fit.admission`, asked so that work is shared: a release whose
facts equal another's is the same case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from stackchoice.facts.allocation import release_order
from stackchoice.facts.frame import frame
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Engine, Machine, Model
from stackchoice.fit.admission import admitted, launch
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.config import architecture_of
from stackchoice.fit.memory import GIB, usable_bytes
from stackchoice.fit.workspace import Start, workspace

if TYPE_CHECKING:
    from pandas import DataFrame

CONTEXTS = (4096, 16_384, 65_536, 131_072)

#: What a candidate comes to, by code.
STATUS = (
    "fits", "does not fit", "unknown", "not on this platform", "file not loaded",
    "architecture not implemented", "beyond the model's context",
)  # fmt: skip
FITS, TOO_LARGE, UNKNOWN, NO_PLATFORM, NO_FORMAT, NO_ARCHITECTURE, TOO_LONG = range(len(STATUS))

#: What caches are kept by.
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Sweep:
    """Columns of equal length. ``live`` is -1 where it is not known or not asked."""

    artifacts: list[str]
    machines: list[str]
    releases: list[str]
    contexts: list[int]
    artifact: Any
    machine: Any
    release: Any
    context: Any
    status: Any
    live: Any

    def __len__(self) -> int:
        return len(self.status)

    def to_frame(self) -> DataFrame:
        """One row per candidate, in words."""
        return frame(
            [
                {"artifact": self.artifacts[a], "machine": self.machines[m],
                 "release": self.releases[r], "context_tokens": self.contexts[c],
                 "status": STATUS[s], "live_sequences": int(live) if live >= 0 else None}
                for a, m, r, c, s, live in zip(
                    self.artifact, self.machine, self.release, self.context, self.status,
                    self.live, strict=True)
            ]
        )  # fmt: skip


def sweep(
    facts: Facts, *, models: list[str] | None = None, machines: list[str] | None = None,
    engines: list[str] | None = None, contexts: tuple[int, ...] = CONTEXTS,
    most: int | None = None,
) -> Sweep:  # fmt: skip
    """Return every candidate with one device a replica.

    Parameters
    ----------
    models, machines, engines
        Ids; all of the fact base when not given.
    contexts
        Tokens that a request may reach.
    most
        Stop at the first artifact after which there are so many candidates.
    """
    import numpy as np

    there = [facts.machines[m] for m in machines or facts.machines]
    wanted = [facts.engines[e] for e in engines or facts.engines]
    releases = [(e, r.version) for e in wanted for r in e.releases]
    chosen = [
        (model, artifact) for model in (facts.models[m] for m in models or facts.models)
        for artifact in model.artifacts
    ]  # fmt: skip
    per_artifact = len(there) * len(releases) * len(contexts)
    if most is not None:
        chosen = chosen[: -(-most // per_artifact)]
    shape = (len(chosen), len(there), len(releases), len(contexts))
    status = np.full(shape, UNKNOWN, dtype=np.int8)
    live = np.full(shape, -1, dtype=np.int32)
    shared = _Shared(facts)
    for a, (model, artifact) in enumerate(chosen):
        weights = artifact.weights_bytes.value
        for r, (engine, version) in enumerate(releases):
            barred = _barred(model, artifact, engine, version)
            for m, machine in enumerate(there):
                platform = engine.runs_on(machine.backend)
                code = NO_PLATFORM if platform is False else barred
                if code is not None:
                    status[a, m, r, :] = code
                    continue
                if weights is None or platform is None:
                    continue
                pool = shared.pool(model, engine, version, machine, weights)
                if pool is None:
                    continue
                for c, context in enumerate(contexts):
                    status[a, m, r, c], live[a, m, r, c] = shared.ask(
                        model, engine, version, machine, context, pool
                    )
    index = np.indices(shape, dtype=np.int32).reshape(4, -1)
    return Sweep(
        artifacts=[x.id for _, x in chosen], machines=[m.id for m in there],
        releases=[f"{e.id} {v}" for e, v in releases], contexts=list(contexts),
        artifact=index[0], machine=index[1], release=index[2], context=index[3],
        status=status.reshape(-1), live=live.reshape(-1),
    )  # fmt: skip


class _Shared:
    """Counts of sequences, kept by model, behaviour of the release, machine, context and pool."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.versions: dict[Key, str] = {}
        self.behaviour, self.taken = cache(self._behaviour), cache(self._taken)
        self.launch, self.count = cache(self._launch), cache(self._count)

    def pool(
        self, model: Model, engine: Engine, version: str, machine: Machine, weights: int
    ) -> int | None:
        """Return what weights and the engine's workspace leave (None: a size is unknown)."""
        memory = usable_bytes(machine, 1).value
        taken = self.taken(model.id, self.behaviour(engine.id, version), machine.id, weights)
        return None if memory is None or taken is None else memory - weights - taken

    def ask(
        self, model: Model, engine: Engine, version: str, machine: Machine, context: int,
        pool: int,
    ) -> tuple[int, int]:  # fmt: skip
        """Return status and live sequences of one candidate."""
        limit = model.context_tokens.value
        if limit and context > limit:
            return TOO_LONG, -1
        if pool <= 0:
            return TOO_LARGE, 0
        behaviour = self.behaviour(engine.id, version)
        return self.count(model.id, behaviour, machine.id, context, pool)

    def _behaviour(self, engine_id: str, version: str) -> Key:
        """Return what an engine does at a release: releases that do the same are one case."""
        now = release_order(version)
        own = [f for f in self.facts.memory.allocators if f.engine == engine_id]
        since = [(f.key, f.family, f.since) for f in own
                 if not f.since or release_order(f.since) <= now]  # fmt: skip
        found = (engine_id, *since)
        self.versions.setdefault(found, version)
        return found

    def _launch(self, model_id: str, behaviour: Key) -> Launch:
        config = self.facts.models[model_id].config.value or {}
        return launch(behaviour[0], self.versions[behaviour], config, facts=self.facts)

    def _taken(self, model_id: str, behaviour: Key, machine_id: str, weights: int) -> int | None:
        asked, machine = self.launch(model_id, behaviour), self.facts.machines[machine_id]
        return workspace(Start(asked, machine, weights=weights / GIB)).value

    def _count(
        self, model_id: str, behaviour: Key, machine_id: str, context: int, pool: int
    ) -> tuple[int, int]:
        live = admitted(
            self.launch(model_id, behaviour), pool_bytes=pool, context_tokens=context,
            device=self.facts.machines[machine_id],
        ).live_sequences  # fmt: skip
        return (UNKNOWN, -1) if live is None else (FITS if live else TOO_LARGE, live)


def _barred(model: Model, artifact: Artifact, engine: Engine, version: str) -> int | None:
    """Return what rules a release out whatever the machine, or that it is unknown; else None."""
    loads = engine.loads(artifact.format)
    if loads is False:
        return NO_FORMAT
    there, _ = engine.implements(architecture_of(model.config.value or {}), version)
    if there is False:
        return NO_ARCHITECTURE
    return UNKNOWN if loads is None or there is None else None
