"""What a path means for prefill and for decode, and which other file or engine would be native."""

from stackchoice.facts.datum import Record
from stackchoice.facts.kernels import NARROWNESS
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Engine, Machine, Model
from stackchoice.fit.config import architecture_of
from stackchoice.fit.path.resolve import KernelPath, PartPath, PhasePath, artifact_path
from stackchoice.fit.rates import rate_of

PARTS = {"linear": "matrices", "moe": "experts", "attention": "attention over the cache"}


class Meaning(Record):
    """What a part's path means, in one sentence a phase."""

    part: str
    prefill: str
    decode: str


class Alternative(Record):
    """Another published file, or another engine, that is native on the same machine."""

    engine: str
    release: str
    artifact: str
    arithmetic: str


def executed_operand(path: KernelPath) -> str | None:
    """Return the narrowest operands that prefill multiplies in any part of the weights.

    A ceiling must hold for the fastest part. None where a part is not known or does not load.
    """
    found = [p.prefill.operand for p in path.parts if p.part.part != "attention"]
    if not found or None in found:
        return None
    return max(found, key=lambda operand: NARROWNESS[operand or "16-bit"])


def meanings(path: KernelPath, machine: Machine) -> list[Meaning]:
    """Return what the path of each part means on a machine."""
    return [
        Meaning(
            part=f"{PARTS[p.part.part]}, {p.encoding.name if p.encoding else p.part.encoding}",
            prefill=_prefill(p.prefill, machine), decode=_decode(p, p.decode),
        )
        for p in path.parts
    ]  # fmt: skip


def _prefill(phase: PhasePath, machine: Machine) -> str:
    if phase.loads is False:
        return "refused: it does not start"
    if phase.arithmetic is None:
        return f"unknown: {phase.note}"
    base, own = rate_of(machine, "16-bit"), rate_of(machine, phase.operand)
    said = f"{phase.arithmetic_text} ({phase.kernel})"
    if phase.operand and NARROWNESS[phase.operand] and base and own:
        said += f"; by the data sheet {own / base:.2g} times the 16-bit rate"
    elif phase.operand == "16-bit" and phase.weight_bits and phase.weight_bits < 16:
        said += "; no faster than 16-bit weights once many tokens keep the units busy"
    if phase.best_on_chip is False:
        said += "; this chip could multiply these weights in a narrower format"
    return said


def _decode(part: PartPath, phase: PhasePath) -> str:
    if phase.loads is False:
        return "refused: it does not start"
    if part.part.part == "attention":
        return "reads the whole cache once a token; a narrower cache is read faster"
    if phase.arithmetic is None:
        return f"unknown kernel; {_walk(part)}"
    if phase.arithmetic == "emulated":
        return "emulated, so arithmetic may hold it back although weights are narrow"
    return f"{phase.arithmetic_text} ({phase.kernel}); {_walk(part)}"


def _walk(part: PartPath) -> str:
    bits = part.encoding.stored_bits.value if part.encoding else None
    bits = bits or (part.encoding.weight_bits if part.encoding else None)
    size = f"{bits:g} bits a weight" if bits else "the stored weights"
    return f"a token walks {size} and the cache, so bytes decide and not the arithmetic"


def _may_run(engine: Engine, model: Model, artifact: Artifact, machine: Machine) -> bool:
    """Whether nothing that is known speaks against the engine: platform, format, architecture."""
    return (
        engine.runs_on(machine.backend) is not False
        and engine.loads(artifact.format) is not False
        and engine.implements(architecture_of(model.config.value or {}))[0] is not False
    )


def alternatives(
    model: Model, path: KernelPath, artifact_id: str, machine: Machine, facts: Facts
) -> list[Alternative]:
    """Return what is native here where the path is not: other files, then other engines.

    Narrower arithmetic than the path's own first. Only what is known to load and to multiply its
    stored format in every part is named; a 16-bit file counts as native and stands last.
    """
    own = executed_operand(path)
    rank = NARROWNESS[own] if own else -1
    found = []
    for artifact in model.artifacts:
        for engine in facts.engines.values():
            if artifact.id == artifact_id and engine.id == path.engine:
                continue
            if not _may_run(engine, model, artifact, machine):
                continue
            other = artifact_path(model, artifact, engine.id, None, machine, facts)
            operand = other and executed_operand(other)
            if other is None or not operand or NARROWNESS[operand] <= rank:
                continue
            if not all(p.prefill.native for p in other.parts):
                continue
            best = max(other.parts, key=lambda p: NARROWNESS[p.prefill.operand or "16-bit"])
            entry = Alternative(
                engine=engine.name, release=other.release, artifact=artifact.label,
                arithmetic=best.prefill.arithmetic or "",
            )  # fmt: skip
            found.append((-NARROWNESS[operand], artifact.id != artifact_id, entry))
    return [entry for *_, entry in sorted(found, key=lambda row: row[:2])]
