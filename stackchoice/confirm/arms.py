"""Engines of a laptop by name: the embedded one in several formats, MLX, Transformers."""

import sys
from pathlib import Path
from typing import Any

from stackchoice.confirm.command_engine import CommandEngine
from stackchoice.confirm.engine import EmbeddedEngine, Engine, embedded_revision
from stackchoice.confirm.requantise import FORMATS, requantised
from stackchoice.confirm.setup import Pins, installed, model_file
from stackchoice.confirm.unpack import unpacked
from stackchoice.errors import EngineError, InputError
from stackchoice.facts.datum import Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml

EMBEDDED = "llama.cpp"


class OtherArm(Record):
    """An engine that ``data/arms.yaml`` names."""

    package: str
    runtime: str
    extra: str
    command: list[str]
    ready_path: str
    source: dict[str, Any]


def arm_names() -> list[str]:
    """Return the names that :func:`arm` takes."""
    return [EMBEDDED, *(f"{EMBEDDED}:{kind}" for kind in FORMATS), *_others()]


def arm(name: str, *, model: str | None = None, folder: Path, **settings: Any) -> Engine:
    """Return an engine by name, not started.

    Parameters
    ----------
    model
        Folder or repository of the model, for engines other than the embedded one; without it they
        serve the embedded model, unpacked.
    folder
        Where a format that is made here is kept.
    settings
        Of :class:`EmbeddedEngine`.

    Raises
    ------
    InputError
        For an unknown name.
    EngineError
        When the engine is not installed.
    """
    engine, _, kind = name.partition(":")
    if name == EMBEDDED:
        return EmbeddedEngine(**settings)
    if engine == EMBEDDED and kind in FORMATS:
        made = requantised(model_file(), kind, folder)
        of = Pins.read().model["weight_format"].rpartition(" ")[2]
        return EmbeddedEngine(
            model=made, weight_format=f"GGUF {kind.upper()} (made here from {of})", **settings
        )
    other = _others().get(name)
    if other is None:
        raise InputError(f"arm {name!r}: no such engine; it is one of {', '.join(arm_names())}")
    version = installed(other.package)
    if version is None:
        raise EngineError(
            f"{name} is unavailable: {other.package} is not installed; run `pip install "
            f"'stackchoice[{other.extra}]'` in an environment of its own or in this one"
        )
    known = {"settings": {}, "runtime": other.runtime, "runtime_build": version}
    if model is None:
        pins, source = Pins.read().model, model_file()
        model = str(unpacked(source, folder))
        known |= {
            "model": pins["name"],
            "model_revision": embedded_revision(),
            "artifact": Path(model).name,
            "weight_format": f"float32 (unpacked here from {pins['weight_format']})",
        }
    # Started beside the folder and told its name, so that no passport holds a path of this machine.
    beside = Path(model).absolute() if Path(model).is_dir() else None
    served = beside.name if beside else model
    return CommandEngine(
        other.command,
        model=served,
        settings={
            "python": sys.executable,
            "transformers": str(Path(sys.executable).parent / other.package),
            "model": served,
        },
        ready_path=other.ready_path,
        name=other.runtime,
        known=known,
        folder=beside.parent if beside else None,
    )


def _others() -> dict[str, OtherArm]:
    tree = read_yaml(data_dir() / "arms.yaml")
    return {name: OtherArm.model_validate(row) for name, row in tree.items()}
