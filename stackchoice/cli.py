"""The command line: one table of commands, and how an error ends."""

import io
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from stackchoice.commands.costing import cost_command
from stackchoice.commands.deciding import decide_command, report_command
from stackchoice.commands.fitting import fit_command, score_command
from stackchoice.commands.house import doctor_command, lab_command
from stackchoice.commands.kernels import kernels_command
from stackchoice.commands.knowing import facts_command
from stackchoice.commands.logs import readlog_command
from stackchoice.commands.measuring import confirm_command, setup_engine_command
from stackchoice.commands.passports import compare_command, passport_command
from stackchoice.commands.reading import inspect_command
from stackchoice.commands.reference import reference_server_command
from stackchoice.commands.sweeping import sweep_command
from stackchoice.commands.traffic import traffic_command
from stackchoice.errors import StackchoiceError
from stackchoice.version import VERSION

#: In the order of the procedure, which is the order of the help.
COMMANDS: dict[str, Callable[..., object]] = {
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

#: What typer raises for a wrong word on the command line; it exports only the special cases.
UsageError: Any = typer.BadParameter.__bases__[0]
#: The status of a command that Ctrl-C ended.
STOPPED = 130

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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show is spelt out
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except StackchoiceError as error:
        _end(str(error))
    except UsageError as error:  # a word that the command line does not know
        if len(sys.argv) == 1:
            error.show()  # the help
            sys.exit(2)
        _end(_usage(error))
    except (KeyboardInterrupt, typer.Abort):
        _end("stopped before the end", STOPPED)
    except BrokenPipeError:  # what reads the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except OSError as error:  # a full disk, a folder that went away
        what = error.filename or "output"
        _end(f"{what}: {error.strerror}; check path, rights and space")
    if status == STOPPED:
        _end("stopped before the end", STOPPED)
    sys.exit(status if isinstance(status, int) else 0)


def _end(text: str, status: int = 2) -> NoReturn:
    """Print one line that no name in it can break, and end."""
    from stackchoice.facts.yaml import shown_lines

    print(f"stackchoice: {shown_lines(text)}", file=sys.stderr)
    sys.exit(status)


def _usage(error: Any) -> str:
    """Return what is wrong with the words of a command, the value that was given, and the fix."""
    text = error.format_message().strip().rstrip(".")
    words = sys.argv[1:]
    for option in getattr(getattr(error, "param", None), "opts", []):
        if option in words[:-1] and "Missing" not in text:
            text += f", not {words[words.index(option) + 1]!r}"
    command = error.ctx.command_path if error.ctx else "stackchoice"
    return f"{text}; see {command} --help"


@app.callback()
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        print(f"stackchoice {VERSION}")
        raise typer.Exit


if __name__ == "__main__":
    main()
