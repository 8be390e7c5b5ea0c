"""``fit`` and ``score``: question 1 by name, and how often it was right."""

import os
from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag


def fit_command(
    model: Annotated[str, typer.Argument(help="A model of the fact base, or a config.json.")],
    machine: Annotated[str, typer.Option(help="A machine of the fact base.")],
    context_tokens: Annotated[int, typer.Option("--context", min=1, help="Tokens a sequence.")],
    artifact: Annotated[
        str | None, typer.Option(help="Artifact id; the most precise one when not given.")
    ] = None,
    weights_gb: Annotated[
        float | None, typer.Option(min=0, help="Size of the weights for a config.json, in 10^9 B.")
    ] = None,
    devices: Annotated[int, typer.Option(min=1, help="Devices that share one replica.")] = 1,
    kv_dtype: Annotated[str | None, typer.Option(help="Type of the cache, such as fp8.")] = None,
    engine: Annotated[str | None, typer.Option(help="Engine to work cures out for.")] = None,
    interconnect: Annotated[
        str | None, typer.Option(help="Link between devices, such as nvlink4 or 'pcie5 x8'.")
    ] = None,
    measured: Annotated[
        Path | None, typer.Option(help="Rates of this very set-up: a CSV, or a passport.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer question 1 for one model on one machine: what fits, in which engine release."""
    from stackchoice.sizing import describe_sizing, size_by_name

    sizing = size_by_name(
        model, machine, context_tokens=context_tokens, artifact=artifact, weights_gb=weights_gb,
        devices=devices, kv_dtype=kv_dtype, engine=engine, interconnect=interconnect,
        measured=measured,
    )  # fmt: skip
    print(sizing.model_dump_json(indent=2) if as_json else describe_sizing(sizing))


def score_command(
    file: Annotated[
        Path | None,
        typer.Argument(help="Questions with answers, one JSON object a line; else the public."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer every question from what it gives, and count who was right."""
    # Small matrices: on a busy machine two threads of BLAS mostly wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from stackchoice.present.scoretext import describe_score
    from stackchoice.score import score_file, score_public

    score = score_file(file) if file else score_public()
    print(score.model_dump_json(indent=2) if as_json else describe_score(score))
