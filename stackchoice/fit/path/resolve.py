"""The kernel path: does it load, what does the backend run, what does the silicon multiply.

Three levels that are often taken for one. Each comes from rows of ``data/kernels/`` that cover the
engine, encoding, part, phase and chip, and whose range of releases holds the build asked about.
Where the range is not certain and the rows disagree, or where there is none, the answer is unknown.
"""

from typing import Any

from stackchoice.facts.datum import Evidence, Record, Source
from stackchoice.facts.encodings import Encoding
from stackchoice.facts.kernels import NARROWNESS, Arithmetic, Chip, KernelRow, Phase
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Machine, Model, WeightPart
from stackchoice.fit.config import has_experts
from stackchoice.fit.path.chips import best_operand, chip_of
from stackchoice.fit.release import Moment, reached, read_moment

PHASES: tuple[Phase, ...] = ("prefill", "decode")


class PhasePath(Record):
    """What runs in one phase of one part. None is unknown; ``note`` then says why.

    ``loads``: the release takes such weights on this chip. ``kernel``: the family that the backend
    chooses by itself. ``arithmetic``: what is multiplied, in the words of people;
    ``operand``: the format of the units. ``as_checkpoint_declares``: activations have the bits that
    the file asks for (None also where the file asks for none). ``native``: multiplied in a format
    below 16 bit, or in the stored one. ``best_on_chip``: nothing narrower could be done with these
    weights on this chip.
    """

    phase: Phase
    loads: bool | None = None
    kernel: str = ""
    arithmetic: str | None = None
    arithmetic_text: str = "unknown"
    operand: str | None = None
    weight_bits: float | None = None
    activation_bits: int | None = None
    as_checkpoint_declares: bool | None = None
    native: bool | None = None
    best_on_chip: bool | None = None
    releases: str = ""
    evidence: Evidence | None = None
    source: Source | None = None
    note: str = ""

    @property
    def fallback(self) -> bool:
        """Whether it runs, but in wider activations than the file asks for."""
        return bool(self.loads) and self.as_checkpoint_declares is False and not self.narrower

    @property
    def narrower(self) -> bool:
        """Whether activations are cut to fewer bits than the file asks for."""
        return self.as_checkpoint_declares is False and self.native is True


class PartPath(Record):
    """One part of a checkpoint: its encoding, and what happens to it in each phase."""

    part: WeightPart
    encoding: Encoding | None
    prefill: PhasePath
    decode: PhasePath

    @property
    def loads(self) -> bool | None:
        """Whether it loads at all."""
        return self.prefill.loads if self.prefill.loads is False else self.decode.loads


class KernelPath(Record):
    """The paths of all parts of a checkpoint in one engine release on one machine."""

    engine: str
    engine_name: str
    release: str
    chip: str | None
    chip_name: str
    parts: list[PartPath]

    @property
    def loads(self) -> bool | None:
        """False where one part is refused; None where some weights are not known; else True.

        What is not known of the cache does not count: engines can be given another type.
        """
        if any(part.loads is False for part in self.parts):
            return False
        found = [part.loads for part in self.parts if part.part.part != "attention"]
        return None if None in found or not found else True

    @property
    def fallbacks(self) -> list[PartPath]:
        """Parts that run in wider activations than the file asks for."""
        return [p for p in self.parts if p.prefill.fallback or p.decode.fallback]

    def refusals(self) -> list[PartPath]:
        """Parts that have no kernel."""
        return [part for part in self.parts if part.loads is False]


def artifact_parts(model: Model, artifact: Artifact, facts: Facts) -> list[WeightPart]:
    """Return the parts of an artifact; empty where nobody read how it is stored.

    Weights that are not quantised need no reading: every matrix is of the one type.
    """
    if artifact.parts.value is not None:
        return artifact.parts.value
    encoding = facts.encodings.get(artifact.encoding)
    if encoding is None or encoding.quantised:
        return []
    names = ["linear", "moe"] if has_experts(model.config.value or {}) else ["linear"]
    return [WeightPart(part=name, encoding=encoding.id) for name in names]


def first_quantised(model: Model, facts: Facts) -> Artifact:
    """Return a model's first artifact whose parts are known to be quantised, else its first."""
    for artifact in model.artifacts:
        parts = artifact_parts(model, artifact, facts)
        if any(facts.encodings[p.encoding].quantised for p in parts):
            return artifact
    return model.artifacts[0]


def artifact_path(
    model: Model, artifact: Artifact, engine_id: str, release: str | None, machine: Machine,
    facts: Facts,
) -> KernelPath | None:  # fmt: skip
    """Return the path of an artifact; None where its parts are not known."""
    parts = artifact_parts(model, artifact, facts)
    return paths(parts, engine_id, release, machine, facts) if parts else None


def paths(
    parts: list[WeightPart],
    engine_id: str,
    release: str | None,
    machine: Machine | Chip | None,
    facts: Facts,
) -> KernelPath:
    """Return what an engine build does with each part of a checkpoint on a machine.

    Parameters
    ----------
    parts
        Part, encoding id and checkpoint format of the weights (and of the cache, as the part
        ``attention``).
    engine_id
        An engine of the fact base; of another one nothing is known.
    release
        A release, or a text such as ``2026-09 before pull 40022``; the newest of the fact base
        when None.
    machine
        A machine, or a chip where only the architecture is known.
    """
    if release is None and engine_id in facts.engines:
        release = facts.engines[engine_id].latest.version
    moment = read_moment(release, engine_id, facts.kernels)
    chip = chip_of(machine, facts.kernels) if isinstance(machine, Machine) else machine
    found = []
    for part in parts:
        encoding = facts.encodings.get(part.encoding)
        both = {
            phase: _phase(part, phase, encoding, engine_id, moment, chip, facts) for phase in PHASES
        }
        found.append(PartPath(part=part, encoding=encoding, **both))
    known = facts.engines.get(engine_id)
    return KernelPath(
        engine=engine_id, engine_name=known.name if known else engine_id,
        release=release or "", chip=chip and chip.id,
        chip_name=chip.name if chip else "a chip that is not in the fact base", parts=found,
    )  # fmt: skip


def _phase(
    part: WeightPart, phase: Phase, encoding: Encoding | None, engine_id: str, moment: Moment,
    chip: Chip | None, facts: Facts,
) -> PhasePath:  # fmt: skip
    if encoding is None:
        return PhasePath(phase=phase, note=f"encoding {part.encoding!r} is not in the fact base")
    if engine_id not in facts.engines:
        return PhasePath(phase=phase, note=f"engine {engine_id!r} is not in the fact base")
    if chip is None:
        return PhasePath(phase=phase, note="the chip is not in the fact base")
    rows = [
        row for row in facts.kernels.by_engine.get(engine_id, ())
        if row.covers(engine_id, encoding.id, part.part, phase, chip.id)
        and _of_format(row, part.container, encoding, facts)
    ]  # fmt: skip
    sure, maybe = [], []
    for row in rows:
        held = _holds(row, moment, facts)
        if held:
            sure.append(row)
        elif held is None:
            maybe.append(row)
    told = sure + maybe
    if not told:
        what = f"{encoding.name} ({part.part}) on {chip.name}"
        why = "no source tells of" if not rows else "sources tell of other releases only, for"
        return PhasePath(phase=phase, note=f"{why} {what}")
    if len({(row.arithmetic, row.operand) for row in told}) > 1:
        choices = "; ".join(f"{row.kernel}: {row.arithmetic or 'unknown'}" for row in told)
        return PhasePath(
            phase=phase, note=f"sources differ by release or checkpoint format: {choices}"
        )
    # Nothing sure, and the release may be older than anything that was read.
    if not sure and not all(reached(moment, r.since, engine_id, facts.kernels) for r in maybe[:1]):
        return PhasePath(phase=phase, note="the release is not known well enough")
    return _answer((sure or told)[-1], part.part, phase, encoding, chip, facts)


def _of_format(row: KernelRow, container: str, encoding: Encoding, facts: Facts) -> bool:
    """Whether a row may be about a checkpoint format; weights that are not quantised have none.

    A format with kernels of its own is meant only where a row names it.
    """
    if not row.containers:
        method = facts.quant_formats.method(container) if container else None
        return method is None or not method.own_kernels
    return encoding.quantised and (not container or container in row.containers)


def _holds(row: KernelRow, moment: Moment, facts: Facts) -> bool | None:
    """Whether a build lies in a row's range (None: it may)."""
    since = reached(moment, row.since, row.engine, facts.kernels)
    ended = reached(moment, row.until, row.engine, facts.kernels) if row.until else False
    if since is False or ended is True:
        return False
    return None if since is None or ended is None else True


def _answer(
    row: KernelRow, part: str, phase: Phase, encoding: Encoding, chip: Chip, facts: Facts
) -> PhasePath:
    shared: dict[str, Any] = {
        "phase": phase, "kernel": row.kernel, "source": row.source, "evidence": row.evidence,
        "note": row.note, "releases": f"from {row.since}" + (row.until and f" before {row.until}"),
    }  # fmt: skip
    if row.arithmetic is None:
        return PhasePath(loads=True, **shared)
    kind = facts.kernels.arithmetic(row.arithmetic)
    bits = "?" if encoding.weight_bits is None else f"{encoding.weight_bits:g}"
    shared |= {"arithmetic": kind.label.format(bits=bits), "arithmetic_text": kind.text}
    if not kind.loads:
        return PhasePath(
            loads=False, native=False, as_checkpoint_declares=False, best_on_chip=False, **shared
        )
    operand = row.operand or kind.operand
    declared, stored = encoding.activation_bits, not encoding.quantised
    native = stored if kind.native is None else kind.native
    if native and not stored and operand and chip.runs(operand) is False:
        native = False  # dot products outside the matrix units
    best = best_operand(encoding, chip)
    return PhasePath(
        loads=True, operand=operand, weight_bits=encoding.weight_bits,
        activation_bits=kind.activation_bits,
        # A cache says nothing of the queries that meet it.
        as_checkpoint_declares=None if part == "attention" else _as_declared(kind, declared),
        native=native,
        best_on_chip=None if best is None or operand is None
        else kind.id != "emulated" and NARROWNESS[operand] >= NARROWNESS[best],
        **shared,
    )  # fmt: skip


def _as_declared(kind: Arithmetic, declared: int | None) -> bool | None:
    """Whether the activations have the precision that the file asks for."""
    if kind.id == "emulated":
        return False
    if declared is None or kind.activation_bits is None:
        return None
    return kind.activation_bits == min(declared, 16)
