"""What to do when it does not fit, in order, and what each step frees.

First another quantisation, then a smaller cache type, a shorter context, more devices, another
machine. A smaller model comes last, and only with the reason why each quantisation fell.
"""

from typing import Any, Literal

from stackchoice.facts.datum import Datum, Record, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Machine, Model
from stackchoice.fit.admission import Admission
from stackchoice.fit.admissions import admit_replica, replica_launch
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.memory import GB, left_for_cache, usable_bytes
from stackchoice.fit.workspace import of_replica

CureKind = Literal[
    "another quantisation", "smaller cache type", "shorter context", "more tensor parallel",
    "another machine", "smaller model",
]  # fmt: skip

#: Cache types to try, the widest first.
CACHE_TYPES = ("fp8", "q8_0", "q4_0")
DEVICES = (2, 4, 8)


class Situation(Record):
    """One artifact on some devices of a machine, for an engine and a context."""

    engine: str
    model: Model
    artifact: Artifact
    machine: Machine
    tp: int = 1
    context_tokens: int
    kv_dtype: str | None = None

    def launch(self, facts: Facts) -> Launch:
        """Return the launch of the replica."""
        return replica_launch(
            self.engine, None, self.model.config.value or {}, devices=self.tp,
            kv_dtype=self.kv_dtype, facts=facts,
        )  # fmt: skip

    def workspace(self, facts: Facts) -> Datum[int]:
        """Return what the engine takes of all devices beside weights and cache."""
        weights = self.artifact.weights_bytes.value
        return of_replica(self.launch(facts), self.machine, self.tp, weights)

    def pool_bytes(self, facts: Facts) -> int | None:
        """Memory of one device for the cache (None: a part is unknown). May be negative."""
        memory, taken = usable_bytes(self.machine, 1).value, self.workspace(facts).value
        weights = self.artifact.weights_bytes.value
        if memory is None or weights is None or taken is None:
            return None
        return int(left_for_cache(memory, weights // self.tp, taken // self.tp))


class Cure(Record):
    """One change that makes it fit, and its two effects kept apart: memory, and not speed.

    ``freed_bytes`` of each device, and what the engine makes of them by its own count: the pool
    and the sequences with the cure, and how many more that is than now (None: it has no count).
    """

    kind: CureKind
    what: str
    admission: Admission
    freed_bytes: int
    live_sequences: int
    pool_tokens: int | None
    gained_sequences: int | None = None
    gained_tokens: int | None = None
    note: str = "memory alone; speed is another effect"


class Cures(Record):
    """The situation as it is, the cures in order, and why quantisations fell."""

    now: Admission | None
    cures: list[Cure]
    fell: dict[str, str]


def admission(situation: Situation, facts: Facts) -> Admission | None:
    """Return what the engine admits (None: the memory is unknown)."""
    pool = situation.pool_bytes(facts)
    if pool is None:
        return None
    admitted = admit_replica(
        situation.launch(facts), situation.machine, pool_bytes=max(0, pool) * situation.tp,
        devices=situation.tp, context_tokens=situation.context_tokens,
    )  # fmt: skip
    rests_on = (
        usable_bytes(situation.machine, 1).evidence, situation.artifact.weights_bytes.evidence,
        situation.workspace(facts).evidence,
    )  # fmt: skip
    return admitted.model_copy(update={"evidence": weakest(admitted.evidence, *rests_on)})


def cures(situation: Situation, facts: Facts) -> Cures:
    """Return every first cure of its kind that lets more sequences run than now, in order."""
    now = admission(situation, facts)
    found: list[Cure] = []
    fell: dict[str, str] = {}
    for kind, changes in _changes(situation, facts):
        for what, change in changes:
            tried = situation.model_copy(update=change)
            admitted = admission(tried, facts)
            runs = (admitted.live_sequences if admitted else None) or 0
            if admitted and runs > ((now.live_sequences if now else None) or 0):
                found.append(_cure(kind, what, situation, tried, now, admitted, facts))
                break
            if not runs and kind == "another quantisation":
                fell[what] = _why(tried, admitted, facts)
    if not any(c.kind == "another quantisation" for c in found) and fell:
        found += _smaller_models(situation, facts, now)
    return Cures(now=now, cures=found, fell=fell)


def _changes(
    now: Situation, facts: Facts
) -> list[tuple[CureKind, list[tuple[str, dict[str, Any]]]]]:
    bytes_now = now.artifact.weights_bytes.value or 0
    formats = facts.engines[now.engine].formats if now.engine in facts.engines else {}
    smaller = sorted(
        (a for a in now.model.artifacts
         if a.weights_bytes.value and a.weights_bytes.value < bytes_now
         and a.format in formats and formats[a.format].value is not False),
        key=lambda a: -(a.weights_bytes.value or 0),
    )  # fmt: skip
    lengths = [now.context_tokens // d for d in (2, 4, 8, 16) if now.context_tokens // d >= 256]
    memory = usable_bytes(now.machine, 1).value or 0
    larger = sorted(
        (m for m in facts.machines.values()
         if m.backend == now.machine.backend and (usable_bytes(m, 1).value or 0) > memory),
        key=lambda m: usable_bytes(m, 1).value or 0,
    )  # fmt: skip
    types = CACHE_TYPES[1:] if facts.memory.fact(now.engine, "rule", None).value == "cells" else (
        CACHE_TYPES[:1]
    )  # fmt: skip
    return [
        ("another quantisation", [(a.label, {"artifact": a}) for a in smaller]),
        ("smaller cache type", [(t, {"kv_dtype": t}) for t in types if t != now.kv_dtype]),
        ("shorter context", [(f"{n} tokens", {"context_tokens": n}) for n in lengths]),
        ("more tensor parallel", [(f"{n} devices", {"tp": n}) for n in DEVICES if n > now.tp]),
        ("another machine", [(m.name, {"machine": m}) for m in larger]),
    ]


def _smaller_models(now: Situation, facts: Facts, admitted_now: Admission | None) -> list[Cure]:
    """Return the largest model that is smaller than this one and fits, if any."""
    size = now.model.parameters.value or 0
    for model in sorted(facts.models.values(), key=lambda m: -(m.parameters.value or 0)):
        if not model.parameters.value or model.parameters.value >= size:
            continue
        for artifact in model.artifacts:
            tried = now.model_copy(update={"model": model, "artifact": artifact})
            admitted = admission(tried, facts)
            if admitted and admitted.live_sequences:
                what = f"{model.name} {artifact.label}"
                return [_cure("smaller model", what, now, tried, admitted_now, admitted, facts)]
    return []


def _cure(
    kind: CureKind, what: str, before: Situation, after: Situation, now: Admission | None,
    admitted: Admission, facts: Facts,
) -> Cure:  # fmt: skip
    return Cure(
        kind=kind, what=what, admission=admitted,
        freed_bytes=(after.pool_bytes(facts) or 0) - (before.pool_bytes(facts) or 0),
        live_sequences=admitted.live_sequences or 0, pool_tokens=admitted.printed_pool_tokens,
        gained_sequences=_more(admitted.live_sequences, now.live_sequences if now else None),
        gained_tokens=_more(
            admitted.printed_pool_tokens, now.printed_pool_tokens if now else None
        ),
    )  # fmt: skip


def _more(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before


def _why(tried: Situation, admitted: Admission | None, facts: Facts) -> str:
    pool = tried.pool_bytes(facts)
    if pool is None or admitted is None:
        return "its bytes or the machine's are unknown"
    if pool <= 0:
        return f"weights and workspace are {-pool / GB:,.1f} GB too large for a device"
    if admitted.live_sequences is None:
        return "; ".join(admitted.notes)
    return f"{admitted.live_sequences} of 1 sequences run in {pool / GB:,.1f} GB"
