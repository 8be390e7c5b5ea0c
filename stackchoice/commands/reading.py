"""``inspect``: what a checkpoint on disk really is."""

from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag


def inspect_command(
    path: Annotated[
        Path, typer.Argument(help="A checkpoint's folder, a .gguf or .safetensors, or a config.")
    ],
    engine: Annotated[
        str | None, typer.Option(help="Engine to name the kernels of: vllm or vllm==0.26.0.")
    ] = None,
    machine: Annotated[str | None, typer.Option(help="Machine that would run it.")] = None,
    whole_hash: Annotated[
        bool, typer.Option("--hash", help="Hash the whole content too; reads every byte.")
    ] = False,
    own: Annotated[
        Path | None,
        typer.Option(help="Also write it as a model into this folder of your own facts."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Id of that model.")] = None,
    weights_gb: Annotated[
        float | None, typer.Option(help="Its weights in GB, where no tensors are there.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read a checkpoint on disk: layers, encodings, what the files say against each other."""
    from stackchoice.errors import InputError
    from stackchoice.kernels import with_paths
    from stackchoice.present.checkpoint import describe_checkpoint
    from stackchoice.read import inspect_checkpoint

    if own is not None:
        _kept_as_own(path, own, name, weights_gb)
        return
    if name is not None or weights_gb is not None:
        raise InputError("--name and --weights-gb belong to --own; name a folder of your own facts")
    found = inspect_checkpoint(path, whole_hash=whole_hash)
    if engine or machine:
        found = with_paths(found, engine, machine)
    if as_json:
        print(found.model_dump_json(indent=2))
        return
    print(describe_checkpoint(found))
    if found.path_there is not None and machine is not None:
        from stackchoice.facts import load_facts
        from stackchoice.facts.yaml import shown_lines
        from stackchoice.fit.path.meaning import meanings
        from stackchoice.present.kerneltext import there_lines

        meant = meanings(found.path_there, load_facts().machines[machine])
        print("\nkernel path")
        print(shown_lines(*there_lines(found.path_there, meant, found)))


def _kept_as_own(path: Path, folder: Path, name: str | None, weights_gb: float | None) -> None:
    """Write the model; say what of it is unknown, and how it is decided on."""
    from datetime import date

    from stackchoice.facts.own import OVERLAY_VARIABLE
    from stackchoice.facts.yaml import shown_lines
    from stackchoice.own_model import own_model, save_own_model, unknown_of

    model = own_model(path, date.today(), name=name, weights_gb=weights_gb)
    written = save_own_model(model, folder)
    missing = ", ".join(unknown_of(model))
    print(shown_lines(
        f"wrote {written}: model {model.id}",
        *([f"unknown: {missing}; fill in what you know, each with its source"] if missing else []),
        f"decide on it: name it as model.id of a scenario, with {OVERLAY_VARIABLE}={folder}",
    ))  # fmt: skip
