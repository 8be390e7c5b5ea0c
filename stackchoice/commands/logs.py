"""``readlog``: what an engine's log says, and what its warnings mean on this hardware."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag


def readlog_command(
    file: Annotated[Path, typer.Argument(help="A log, plain or gzip; - for a pipe.")],
    machine: Annotated[
        str | None, typer.Option(help="The machine it ran on: warnings are read for that chip.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Id of the engine; recognised when not given.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model that was served.")] = None,
    artifact: Annotated[
        str | None, typer.Option(help="Its artifact: which activations the file asks for.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read a log of vLLM, SGLang, llama.cpp, Ollama, TensorRT-LLM, MLX-LM or MAX.

    The status is 1 when no line of a server is in it.
    """
    from stackchoice.logs import read_log_by_name
    from stackchoice.present.logtext import describe_log

    with _kept(file) as log:
        found = read_log_by_name(log, machine=machine, engine=engine, model=model,
                                 artifact=artifact)  # fmt: skip
    print(found.model_dump_json(indent=2) if as_json
          else describe_log(found.reading, found.checks))  # fmt: skip
    raise typer.Exit(0 if found.reading.boots else 1)


@contextmanager
def _kept(file: Path) -> Iterator[Path]:
    """Give the file; of a pipe what came through it, since a log is looked at twice."""
    if str(file) != "-":
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="stackchoice-") as folder:
        kept = Path(folder) / "stdin"
        with kept.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield kept
