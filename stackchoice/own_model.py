"""A model of one's own: a checkpoint or a ``config.json`` as a record that can be decided on."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from stackchoice.errors import FactsError, InputError
from stackchoice.facts import Datum, Evidence, Facts, Source, load_facts
from stackchoice.facts.records import Artifact, Model, WeightPart
from stackchoice.facts.write import write_whole
from stackchoice.facts.yaml import shown
from stackchoice.fit.memory import GB
from stackchoice.fit.parameters import Parameters, count_parameters
from stackchoice.read import Inspection, inspect_checkpoint
from stackchoice.read.build import checkpoint_config
from stackchoice.read.checkpoint import open_checkpoint
from stackchoice.sizing import check_weights

COUNTED = "counted from the config; norms and biases are left out"
PLAIN_BITS = 16
#: Keys of which a model's config has one.
NAMING = {"architectures", "model_type"}


def own_model(
    path: Path | str,
    today: date,
    *,
    name: str | None = None,
    weights_gb: float | None = None,
    facts: Facts | None = None,
) -> Model:
    """Return what a checkpoint on disk is as a model of the fact base.

    What the files do not say (licence, release day) stays unknown, and so does the size of the
    weights of a lone config that is quantised, holds a tower or has layers that are not counted.

    Parameters
    ----------
    path
        A checkpoint's folder, a GGUF or safetensors file, or a ``config.json``.
    name
        Its id; the name that the checkpoint goes by when not given.
    weights_gb
        Size of the weights in decimal GB, where no tensors are there to be measured.

    Raises
    ------
    CheckpointError
        When the files cannot be read.
    InputError
        When they hold no config, or ``weights_gb`` is impossible or not asked for: there are
        tensors.
    """
    check_weights(weights_gb)
    facts = facts or load_facts()
    path = Path(path)
    found = inspect_checkpoint(path, facts)
    config, unknown = checkpoint_config(open_checkpoint(path, facts), facts)
    if unknown or not NAMING & set(config):
        why = unknown or "holds no config that names an architecture or a model type"
        raise InputError(f"{shown(str(path))}: {why}; name a model's config.json or its folder")
    named = sorted(found.names, key=lambda known: "/" not in known)  # a repository's name first
    id_ = name or next(iter(named), path.stem)
    source = Source(
        title=f"{shown(id_, 200)}, files read here", as_of=today.isoformat(),
        note=f"manifest sha256 {found.manifest_sha256}",
    )  # fmt: skip
    counts = count_parameters(config)
    weights = _weights(found, counts, weights_gb, source)
    return Model(
        id=id_, name=id_.rpartition("/")[2], licence=Datum[str](),
        config=_said(config, source),
        parameters=_counted(counts.total if counts else None, source),
        active_parameters=_counted(_active(counts), source),
        context_tokens=_said(found.architecture.context_tokens, source),
        modalities=_said(_modalities(found), source),
        artifacts=[_artifact(id_, found, counts, weights, source)],
    )  # fmt: skip


def save_own_model(model: Model, folder: Path | str) -> Path:
    """Write a model into a folder of one's own facts; FactsError where it cannot be, or is there.

    The whole folder is then read as it will be, so a wrong one is told now.
    """
    path = Path(folder) / "models" / f"{re.sub(r'[^A-Za-z0-9._-]+', '--', model.id)[:100]}.yaml"
    if path.exists():
        raise FactsError(f"{path}: is there already; edit it, or remove it to write it anew")
    source = model.config.source
    told = model.model_dump(mode="json", exclude_defaults=True)
    tree = {
        "sources": {"files": source and source.model_dump(mode="json", exclude_defaults=True)},
        "id": told.pop("id"), "name": told.pop("name"),
        **{key: {} for key in ("licence", "parameters", "active_parameters", "context_tokens")},
        **told,
    }  # fmt: skip
    _by_name(told, "files")
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=10_000)
    write_whole(path, text, FactsError, read=None, folders=True)
    try:
        load_facts(overlay=Path(folder))
    except FactsError:
        path.unlink()  # it would be refused at every later reading of the folder
        raise
    return path


def _by_name(tree: Any, name: str) -> None:
    """Put the name of the one source where it stands in full."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, dict | list):
            _by_name(value, name)
    if isinstance(tree, dict) and isinstance(tree.get("source"), dict):
        tree["source"] = name


def unknown_of(model: Model) -> list[str]:
    """Return what is not known of a model of one's own, in words."""
    (weights,) = (artifact.weights_bytes for artifact in model.artifacts)
    asked: dict[str, Datum[Any]] = {"licence": model.licence, "parameters": model.parameters,
             "context": model.context_tokens, "size of the weights": weights}  # fmt: skip
    return [word for word, datum in asked.items() if not datum.known]


def _said(value: Any, source: Source) -> Datum[Any]:
    if value is None:
        return Datum[Any]()
    return Datum[Any](value=value, evidence=Evidence.STATED, source=source)


def _counted(value: int | None, source: Source, note: str = COUNTED) -> Datum[int]:
    if not value:
        return Datum[int]()
    return Datum[int](value=value, evidence=Evidence.COMPUTED, source=source, note=note)


def _active(counts: Parameters | None) -> int | None:
    """All parameters of a dense model; of a mixture or a loop what a decoded token runs through."""
    if counts is None:
        return None
    return counts.decode_active if counts.routed or counts.passes > 1 else counts.total


def _modalities(found: Inspection) -> list[str]:
    seen = {"image": found.vision.present or found.architecture.vision,
            "audio": found.audio.present or found.architecture.audio}  # fmt: skip
    return ["text", *(kind for kind, there in seen.items() if there)]


def _weights(
    found: Inspection, counts: Parameters | None, weights_gb: float | None, source: Source
) -> Datum[int]:
    if found.bytes_on_disk and not found.missing:
        if weights_gb is not None:
            raise InputError(
                f"weights_gb {weights_gb:g}: the files hold {found.bytes_on_disk / GB:,.2f} GB of "
                "tensors; leave it out"
            )
        return Datum[int](value=found.bytes_on_disk, evidence=Evidence.MEASURED, source=source)
    if weights_gb is not None:
        return Datum[int](value=round(weights_gb * GB), evidence=Evidence.STATED, source=source,
                          note="given with the command")  # fmt: skip
    plain = found.weight_bits == [PLAIN_BITS] and _modalities(found) == ["text"]
    whole = counts.total * PLAIN_BITS // 8 if counts and plain else None
    return _counted(whole, source, "parameters x 2 bytes, without a draft head")


def _artifact(
    id_: str, found: Inspection, counts: Parameters | None, weights: Datum[int], source: Source
) -> Artifact:
    most = max(found.encodings, key=lambda use: use.bytes or use.modules or 0, default=None)
    bits = found.weight_bits[0] if len(found.weight_bits) == 1 else None
    acts = found.activation_bits or ([PLAIN_BITS] if bits == PLAIN_BITS else [])
    read = None
    partly = counts and (counts.routed or counts.passes > 1)
    if counts and partly and weights.value and bits:  # experts may be stored in fewer bits
        read = round(weights.value * counts.decode_active / counts.total)
    return Artifact(
        id=id_, label=(most and (most.encoding or most.name)) or "as it is",
        format="safetensors" if found.format == "config" else found.format,
        encoding=(most and most.encoding) or "unknown", weights_bytes=weights,
        read_bytes_per_token=Datum[int](
            value=read, evidence=Evidence.INFERRED, source=source,
            note="the weights' size times the share of parameters that a token touches",
        ) if read else Datum[int](),
        weight_bits=_said(bits, source),
        activation_bits=_said(acts[0] if len(acts) == 1 else None, source),
        parts=Datum[list[WeightPart]](
            value=found.parts or None, source=source,
            evidence=Evidence.MEASURED if found.encodings_from == "tensors" else Evidence.STATED,
        ),
    )  # fmt: skip
