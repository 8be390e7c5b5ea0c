"""The kernel path by name, for the command line: an engine on a machine, or a file anywhere."""

import os
from pathlib import Path

from stackchoice.errors import InputError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.datum import Record
from stackchoice.facts.names import artifact_named, engine_named, named
from stackchoice.facts.records import Artifact, Machine, Model, WeightPart
from stackchoice.fit.path import KernelPath, artifact_parts, first_quantised, paths
from stackchoice.fit.path.chips import chip_of
from stackchoice.fit.path.meaning import Alternative, Meaning, alternatives, meanings
from stackchoice.fit.path.support import Feature, caught_up, loads_there
from stackchoice.fit.path.wall import PlaceRow, WallRow, encodings_on, places_for
from stackchoice.fit.release import checked_release
from stackchoice.read import Inspection, inspect_checkpoint
from stackchoice.read.build import checkpoint_config
from stackchoice.read.checkpoint import open_checkpoint
from stackchoice.read.uses import weight_parts
from stackchoice.sizing import config_model


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
    loads: bool | None = None
    loads_why: str = ""
    meanings: list[Meaning] = []
    features: list[Feature] = []
    alternatives: list[Alternative] = []


def split_release(text: str, facts: Facts) -> tuple[str, str | None]:
    """Read ``vllm`` or ``vllm==0.26.0``.

    InputError when the engine is not in the fact base, or the release no number or day.
    """
    name, given, release = text.partition("==")
    engine = engine_named(name, facts)
    newest = facts.engines[engine].latest.version
    return engine, checked_release(
        release.strip() if given else None, engine, facts.kernels, newest
    )


def engine_wall(engine: str, machine: str, facts: Facts | None = None) -> EngineWall:
    """Return which encodings are optimised in an engine (``name==release``) on a machine."""
    facts = facts or load_facts()
    engine_id, release = split_release(engine, facts)
    card = named("machine", machine, facts.machines)
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

    Raises
    ------
    InputError
        When a name is not in the fact base, or nobody read how the artifact is stored.
    """
    facts = facts or load_facts()
    known, chosen, parts = _parts(model, artifact, facts)
    if not parts:
        raise InputError(
            f"{chosen.id}: nobody read how its parts are stored; give the path of the files, or "
            "another --artifact"
        )
    engine_id, release = split_release(engine, facts) if engine else (None, None)
    card = named("machine", machine, facts.machines) if machine else None
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
    there = wall_there(known, chosen, parts, engine_id, release, card, facts)
    return there.model_copy(update={"places": found["places"]})


def wall_there(
    model: Model, artifact: Artifact, parts: list[WeightPart], engine_id: str,
    release: str | None, machine: Machine, facts: Facts,
) -> ModelWall:  # fmt: skip
    """Return what one engine release does with a checkpoint on one machine.

    Parameters
    ----------
    parts
        How the artifact is stored, part by part.
    release
        One that can be placed (:func:`split_release`); the newest stable one when None.
    """
    path = paths(parts, engine_id, release, machine, facts)
    features = caught_up(
        model.config.value or {}, engine_id, release, facts, path,
        vision="image" in (model.modalities.value or []), file_format=artifact.format,
    )  # fmt: skip
    loads, why = loads_there(path, features)
    return ModelWall(
        model=model.name, artifact=artifact.label, parts=parts, places=[], path=path,
        loads=loads, loads_why=why, meanings=meanings(path, machine), features=features,
        alternatives=alternatives(model, path, artifact.id, machine, facts),
    )  # fmt: skip


def with_paths(
    found: Inspection, engine: str | None, machine: str | None, facts: Facts | None = None
) -> Inspection:
    """Return the report of a checkpoint with what one engine does with it on one machine.

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
    engine_id, release = split_release(engine, facts)
    card = named("machine", machine, facts.machines)
    if not found.parts:
        raise InputError(
            f"{found.path}: no part has a known encoding, so there is no kernel to name; "
            "leave --engine out to see why"
        )
    model, own = _on_disk(Path(found.path), found, facts)
    wall = wall_there(model, own, weight_parts(found, facts), engine_id, release, card, facts)
    told = {"path_there": wall.path, "features": wall.features,
            "loads": wall.loads, "loads_why": wall.loads_why}  # fmt: skip
    return found.model_copy(update=told)


def _parts(
    model: str, artifact: str | None, facts: Facts
) -> tuple[Model, Artifact, list[WeightPart]]:
    if model not in facts.models and os.path.exists(model):
        if artifact is not None:
            raise InputError("--artifact belongs to a model of the fact base; leave it out")
        found = inspect_checkpoint(Path(model), facts)
        if not found.parts:
            raise InputError(
                f"{model}: nothing in it says how its weights are stored, so there is no kernel to "
                "name; see `stackchoice inspect`"
            )
        return *_on_disk(Path(model), found, facts), weight_parts(found, facts)
    known = named("model", model, facts.models, ", or give the path of its files")
    chosen = first_quantised(known, facts) if artifact is None else artifact_named(artifact, known)
    return known, chosen, artifact_parts(known, chosen, facts)


def _on_disk(path: Path, found: Inspection, facts: Facts) -> tuple[Model, Artifact]:
    config, _ = checkpoint_config(open_checkpoint(path, facts), facts)
    known = config_model(path.name, config)
    form = found.format if found.format in ("gguf", "mlx") else "safetensors"
    return known, known.artifacts[0].model_copy(update={"format": form})
