"""``kernels``: which encodings an engine has kernels for, and where a file is native."""

from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag


def kernels_command(
    engine: Annotated[
        str | None, typer.Option(help="An engine, also as vllm==0.26.0; the newest when bare.")
    ] = None,
    machine: Annotated[str | None, typer.Option(help="A machine of the fact base.")] = None,
    model: Annotated[
        str | None, typer.Option(help="A model of the fact base, or the path of a checkpoint.")
    ] = None,
    artifact: Annotated[str | None, typer.Option(help="Artifact id of the model.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Tell what is optimised in an engine on a machine, or where a checkpoint runs natively."""
    from stackchoice.errors import InputError
    from stackchoice.kernels import engine_wall, model_wall
    from stackchoice.present.kerneltext import describe_engine, describe_model

    if model is not None:
        wall = model_wall(model, artifact=artifact, engine=engine, machine=machine)
        print(wall.model_dump_json(indent=2) if as_json else describe_model(wall))
        return
    if engine is None or machine is None:
        raise InputError("kernels: name --engine and --machine, or --model")
    if artifact is not None:
        raise InputError("kernels: --artifact belongs to a --model; name the model too")
    found = engine_wall(engine, machine)
    print(found.model_dump_json(indent=2) if as_json else describe_engine(found))
