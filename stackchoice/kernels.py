"""The kernel path by name, for the command line: an engine on a machine, or a file anywhere."""

from __future__ import annotations

from pathlib import Path

from stackchoice.errors import InputError, ScenarioError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.datum import Record
from stackchoice.facts.records import Artifact, Machine, Model, WeightPart
from stackchoice.fit.path import KernelPath, artifact_parts, paths
from stackchoice.fit.path.chips import chip_of
from stackchoice.fit.path.meaning import Alternative, Meaning, alternatives, meanings
from stackchoice.fit.path.support import Feature, caught_up
from stackchoice.fit.path.wall import PlaceRow, WallRow, encodings_on, places_for


class EngineWall(Record):
    """Which encodings have kernels in an engine release on a machine."""

    engine: str
    release: str
    machine: str
    chip: str
    rows: list[WallRow]


class ModelWall(Record):
    """Where a checkpoint runs natively; in one engine on one machine where both are named."""

    model: str
    artifact: str
    parts: list[WeightPart]
    places: list[PlaceRow]
    path: KernelPath | None = None
    meanings: list[Meaning] = []
    features: list[Feature] = []
    alternatives: list[Alternative] = []


def split_release(text: str, facts: Facts) -> tuple[str, str | None]:
    """Read ``vllm`` or ``vllm==0.26.0``.

    Raises
    ------
    ScenarioError
        When the engine is not in the fact base.
    """
    name, _, release = text.partition("==")
    known = {e.name.lower(): e.id for e in facts.engines.values()} | {e: e for e in facts.engines}
    engine = known.get(name.strip().lower())
    if engine is None:
        raise _unknown("engine", name, list(facts.engines))
    return engine, release.strip() or None


def engine_wall(engine: str, machine: str, facts: Facts | None = None) -> EngineWall:
    """Return which encodings are optimised in an engine (``name==release``) on a machine."""
    facts = facts or load_facts()
    engine_id, release = split_release(engine, facts)
    card = _machine(machine, facts)
    chip = chip_of(card, facts.kernels)
    rows = encodings_on(engine_id, release, card, facts)
    return EngineWall(
        engine=facts.engines[engine_id].name,
        release=release or facts.engines[engine_id].latest.version,
        machine=card.name, chip=chip.name if chip else "unknown", rows=rows,
    )  # fmt: skip


def model_wall(
    model: str,
    *,
    artifact: str | None = None,
    engine: str | None = None,
    machine: str | None = None,
    facts: Facts | None = None,
) -> ModelWall:
    """Return where a checkpoint is native, and with an engine and a machine what runs there.

    Parameters
    ----------
    model
        A model of the fact base, or the path of a checkpoint.
    artifact
        Id of one of its artifacts; the first quantised one when not given.
    """
    facts = facts or load_facts()
    known, chosen, parts = _parts(model, artifact, facts)
    if not parts:
        raise InputError(
            f"{chosen.id}: nobody read how its parts are stored; give the path of the files, or "
            "another --artifact"
        )
    engine_id, release = split_release(engine, facts) if engine else (None, None)
    card = _machine(machine, facts) if machine else None
    found = {
        "model": known.name, "artifact": chosen.label, "parts": parts,
        "places": places_for(
            parts, facts, file_format=chosen.format, engines=[engine_id] if engine_id else None,
            machines=[card.id] if card else None,
            releases={engine_id: release} if engine_id and release else None,
        ),
    }  # fmt: skip
    if engine_id is None or card is None:
        return ModelWall(**found)
    path = paths(parts, engine_id, release, card, facts)
    config = known.config.value or {}
    return ModelWall(
        **found, path=path, meanings=meanings(path, card),
        features=caught_up(config, engine_id, release, facts, path,
                           vision="image" in (known.modalities.value or [])),
        alternatives=alternatives(known, path, chosen.id, card, facts),
    )  # fmt: skip


def _parts(model: str, artifact: str | None, facts: Facts) -> tuple[Model, Artifact, list]:
    if model not in facts.models:
        if not Path(model).exists():
            raise _unknown("model", model, list(facts.models), ", or give the path of its files")
        raise InputError(f"{model}: use stackchoice inspect for files")
    known = facts.models[model]
    ids = [a.id for a in known.artifacts]
    if artifact is not None and artifact not in ids:
        raise _unknown("artifact", artifact, ids)
    chosen = known.artifact(artifact) if artifact else _first_quantised(known, facts)
    return known, chosen, artifact_parts(known, chosen, facts)


def _first_quantised(model: Model, facts: Facts) -> Artifact:
    """Return the first artifact whose parts are known to be quantised, else the first."""
    for artifact in model.artifacts:
        parts = artifact_parts(model, artifact, facts)
        if any(facts.encodings[p.encoding].quantised for p in parts):
            return artifact
    return model.artifacts[0]


def _machine(name: str, facts: Facts) -> Machine:
    if name not in facts.machines:
        raise _unknown("machine", name, list(facts.machines))
    return facts.machines[name]


def _unknown(what: str, name: str, known: list[str], more: str = "") -> ScenarioError:
    return ScenarioError(
        f"{what} {name!r} is not in the fact base; known: {', '.join(sorted(known))}{more}"
    )


def describe_engine(wall: EngineWall) -> str:
    """Return an engine's wall as text for a terminal, best first."""
    lines = [f"{wall.engine} {wall.release} on {wall.machine} ({wall.chip})"]
    verdict = ""
    for row in wall.rows:
        if row.verdict != verdict:
            verdict = row.verdict
            lines.append(f"  {verdict}")
        files = f" [{', '.join(row.containers)}]" if row.containers else ""
        lines.append(f"    {row.name}, {row.part}{files}: {_said(row)}")
    if not wall.rows:
        lines.append("  unknown: no source tells of any encoding")
    return "\n".join(lines)


def _said(row: WallRow) -> str:
    prefill, decode = row.path.prefill, row.path.decode
    if prefill.loads is None:
        return prefill.note
    texts = [f"{prefill.arithmetic or 'unknown arithmetic'}"]
    if decode.arithmetic != prefill.arithmetic:
        texts = [f"prefill {texts[0]}, decode {decode.arithmetic or 'unknown arithmetic'}"]
    if prefill.kernel not in ("", "none"):
        texts.append(prefill.kernel)
    if prefill.note:
        texts.append(prefill.note)
    return "; ".join(texts) + f" ({prefill.evidence.value if prefill.evidence else 'unknown'})"


def describe_model(wall: ModelWall) -> str:
    """Return a file's wall as text for a terminal."""
    lines = [f"{wall.model}, {wall.artifact}"]
    lines += [
        f"  {p.part}: {p.encoding}" + (f" [{p.container}]" if p.container else "")
        + (f", {p.modules:,} modules" if p.modules else "")
        for p in wall.parts
    ]  # fmt: skip
    if wall.path is not None:
        return "\n".join(lines + _detail(wall))
    shown: dict[str, list[str]] = {}
    for place in wall.places:
        shown.setdefault(place.verdict, []).append(
            f"{place.engine} {place.release}: {place.chip_name}"
        )
    for verdict, where in shown.items():
        if verdict == "unknown":
            lines.append(f"  unknown in {len(where)} pairs of engine and chip")
            continue
        lines.append(f"  {verdict}")
        lines += [f"    {text}" for text in where]
    return "\n".join(lines)


def _detail(wall: ModelWall) -> list[str]:
    path = wall.path
    assert path is not None
    loads = {True: "loads", False: "is refused", None: "may load: unknown"}[path.loads]
    lines = [f"  {path.engine} {path.release} on {path.chip_name}: {loads}"]
    for part, meaning in zip(path.parts, wall.meanings, strict=True):
        lines.append(f"    {meaning.part}")
        for phase, text in ((part.prefill, meaning.prefill), (part.decode, meaning.decode)):
            said = f"      {phase.phase}: {phase.arithmetic or 'unknown'}; {text}"
            if phase.as_checkpoint_declares is not None:
                said += "; as the file asks" if phase.as_checkpoint_declares else (
                    "; NOT as the file asks"
                )  # fmt: skip
            if phase.source is not None and phase.evidence is not None:
                said += f" ({phase.evidence.value}, {phase.releases}: {phase.source.label})"
            lines.append(said)
    lines += [
        f"    {f.name}: {f.answer}" + (f", first {f.since}" if f.since else "")
        + (f"; {f.note}" if f.note else "")
        for f in wall.features
    ]  # fmt: skip
    lines += [
        f"    native here: {a.artifact} in {a.engine} {a.release}, {a.arithmetic}"
        for a in wall.alternatives[:6]
    ]
    return lines
