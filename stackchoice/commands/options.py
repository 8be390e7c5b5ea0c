"""Arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ScenarioArg = Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped one.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
OutDir = Annotated[Path, typer.Option("--out", help="Folder for what is written.")]
