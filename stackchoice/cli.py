"""The command line: one table of commands, and how an error ends."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from stackchoice.commands.costing import cost_command
from stackchoice.commands.deciding import decide_command, report_command
from stackchoice.commands.fitting import fit_command, score_command
from stackchoice.commands.house import doctor_command, lab_command
from stackchoice.commands.kernels import kernels_command
from stackchoice.commands.knowing import facts_command
from stackchoice.commands.logs import readlog_command
from stackchoice.commands.measuring import (
    confirm_command,
    reference_server_command,
    setup_engine_command,
)
from stackchoice.commands.passports import compare_command, passport_command
from stackchoice.commands.reading import inspect_command
from stackchoice.commands.sweeping import sweep_command
from stackchoice.commands.traffic import traffic_command
from stackchoice.errors import StackchoiceError
from stackchoice.version import VERSION

#: In the order of the procedure, which is the order of the help.
COMMANDS = {
    "traffic": traffic_command,
    "decide": decide_command,
    "fit": fit_command,
    "inspect": inspect_command,
    "kernels": kernels_command,
    "cost": cost_command,
    "readlog": readlog_command,
    "confirm": confirm_command,
    "sweep": sweep_command,
    "passport": passport_command,
    "compare": compare_command,
    "report": report_command,
    "lab": lab_command,
    "facts": facts_command,
    "score": score_command,
    "doctor": doctor_command,
    "reference-server": reference_server_command,
    "setup-engine": setup_engine_command,
}

app = typer.Typer(
    help="Choose how to serve an open-weight language model, and prove the choice.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def main() -> NoReturn:
    """Run the command line; an error meant for the user ends in one line and status 2."""
    try:
        app()
    except StackchoiceError as error:
        print(f"stackchoice: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # a full disk, a folder that went away
        what = error.filename or "output"
        print(f"stackchoice: {what}: {error.strerror}; check path, rights and space",
              file=sys.stderr)  # fmt: skip
        sys.exit(2)
    sys.exit(0)


@app.callback()
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"stackchoice {VERSION}")
        raise typer.Exit


if __name__ == "__main__":
    main()
