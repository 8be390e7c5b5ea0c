"""Every artifact on every machine with every release at several contexts: what fits, and how much.

The same rules as :mod:`stackchoice.fit.admission`, asked so that work is shared: a release whose
facts equal another's is the same case, and what does not depend on the pool is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts.allocation import release_order
from stackchoice.facts.datum import Datum
from stackchoice.facts.frame import frame
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Engine, Machine, Model
from stackchoice.fit.admission import counter, launch, with_device
from stackchoice.fit.memory import usable_bytes
from stackchoice.fit.sizing import workspace_bytes

if TYPE_CHECKING:
    from pandas import DataFrame

CONTEXTS = (4096, 16_384, 65_536, 131_072)

#: What a candidate comes to, by code.
STATUS = (
    "fits", "does not fit", "unknown", "not on this platform", "file not loaded",
    "architecture not implemented", "beyond the model's context",
)  # fmt: skip
FITS, TOO_LARGE, UNKNOWN, NO_PLATFORM, NO_FORMAT, NO_ARCHITECTURE, TOO_LONG = range(len(STATUS))


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
        pools = _pools(facts, artifact, there)
        for r, (engine, version) in enumerate(releases):
            barred = _barred(model, artifact, engine, version)
            for m, machine in enumerate(there):
                platform = engine.runs_on(machine.backend)
                code = NO_PLATFORM if platform is False else barred
                if code is not None:
                    status[a, m, r, :] = code
                    continue
                pool = pools[m]
                if pool is None or platform is None:
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
    """Counts of sequences by pool, kept by model, behaviour of the release, device and context."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._behaviour: dict[tuple[str, str], tuple[Any, ...]] = {}
        self._launches: dict[Any, tuple[Any, Any]] = {}
        self._counters: dict[Any, Callable[[int], int] | None] = {}
        self._counts: dict[Any, tuple[int, int]] = {}

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
        asked = self._launch(model, engine, version, machine)
        key = (model.id, asked[0], context)
        found = self._counts.get((key, pool))
        if found is None:
            if key not in self._counters:
                self._counters[key] = self._counter(asked[1], context)
            found = self._counts[key, pool] = self._count(self._counters[key], pool)
        return found

    def _count(self, count: Callable[[int], int] | None, pool: int) -> tuple[int, int]:
        if count is None:
            return UNKNOWN, -1
        try:
            live = count(pool)
        except (UnknownRuleError, UnknownCacheError):
            return UNKNOWN, -1
        return (FITS if live else TOO_LARGE), live

    def _counter(self, asked: Any, context: int) -> Callable[[int], int] | None:
        try:
            return counter(asked, context) if asked is not None else None
        except (UnknownRuleError, UnknownCacheError):
            return None

    def _launch(
        self, model: Model, engine: Engine, version: str, machine: Machine
    ) -> tuple[Any, Any]:
        """Return a launch with the key of everything that it depends on beside the pool."""
        behaviour = self._facts_at(engine, version)
        by_device = (model.id, engine.id, behaviour, machine.id)
        if by_device not in self._launches:
            asked = launch(engine.id, version, model.config.value or {}, facts=self.facts)
            rule = asked.fact("rule")
            try:
                asked = with_device(asked, machine) if rule == "block_groups" else asked
            except UnknownRuleError:
                rule = None
            settings = tuple(sorted(asked.settings.items()))
            key = (engine.id, behaviour, settings, rule)
            self._launches[by_device] = (key, asked if rule is not None else None)
        return self._launches[by_device]

    def _facts_at(self, engine: Engine, version: str) -> tuple[Any, ...]:
        """Return what an engine does at a release: releases that do the same are one case."""
        key = (engine.id, version)
        if key not in self._behaviour:
            now = release_order(version)
            own = [f for f in self.facts.memory.allocators if f.engine == engine.id]
            self._behaviour[key] = tuple(
                (f.key, f.family, f.since) for f in own
                if not f.since or release_order(f.since) <= now
            )  # fmt: skip
        return self._behaviour[key]


def _pools(facts: Facts, artifact: Artifact, machines: list[Machine]) -> list[int | None]:
    """Return what weights and workspace leave on each machine (None: a size is unknown)."""
    weights, workspace = artifact.weights_bytes.value, workspace_bytes(facts).value
    memory = [usable_bytes(machine, 1).value for machine in machines]
    if weights is None or workspace is None:
        return [None] * len(machines)
    return [None if size is None else size - weights - workspace for size in memory]


def _barred(model: Model, artifact: Artifact, engine: Engine, version: str) -> int | None:
    """Return what rules a release out whatever the machine, or that it is unknown; else None."""
    loads = engine.loads(artifact.format)
    if loads is False:
        return NO_FORMAT
    architecture = ((model.config.value or {}).get("architectures") or ["?"])[0]
    since = engine.architectures.get(architecture, Datum[str]()).value
    if since == "no":
        return NO_ARCHITECTURE
    if since not in (None, "any") and release_order(since) > release_order(version):
        return NO_ARCHITECTURE
    return UNKNOWN if loads is None or since is None else None


def tally(found: Sweep) -> Iterator[tuple[str, int]]:
    """Yield how many candidates come to each status."""
    for code, words in enumerate(STATUS):
        yield words, int((found.status == code).sum())
