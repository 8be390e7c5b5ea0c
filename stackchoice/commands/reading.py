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
    as_json: JsonFlag = False,
) -> None:
    """Read a checkpoint on disk: layers, encodings, what the files say against each other."""
    from stackchoice.kernels import with_paths
    from stackchoice.present.checkpoint import describe_checkpoint
    from stackchoice.read import inspect_checkpoint

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
