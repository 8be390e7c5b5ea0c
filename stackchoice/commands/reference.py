"""``reference-server``: an endpoint of known timing."""

from typing import Annotated

import typer

from stackchoice.errors import InputError


def reference_server_command(
    ttft: Annotated[float, typer.Option(help="Seconds to the first token.")] = 0.05,
    itl: Annotated[float, typer.Option(help="Seconds between tokens.")] = 0.005,
    tokens: Annotated[int, typer.Option(help="Tokens of every answer.")] = 64,
    tokens_per_event: Annotated[int, typer.Option(help="Tokens in one event.")] = 1,
    fault: Annotated[
        str | None, typer.Option(help="Go wrong in one way; 'list' names them.")
    ] = None,
    fault_every: Annotated[int, typer.Option(help="Only each so many requests.")] = 1,
    port: Annotated[
        int, typer.Option(help="Port on the loopback address; 0 takes a free one.")
    ] = 0,
) -> None:
    """Serve an endpoint of known timing to test load clients; GET /truth tells what it did."""
    from pydantic import ValidationError

    from stackchoice.load.reference import serve
    from stackchoice.load.script import Fault, Script

    if not 0 <= port <= 65535:
        raise InputError(f"port {port} is not possible; write 0 to 65535")
    for name, seconds in (("ttft", ttft), ("itl", itl)):
        if seconds == float("inf"):
            raise InputError(f"{name} {seconds:g}: no answer would ever come; write seconds")
    if fault == "list":
        print("\n".join(Fault))
        return
    fields = {"ttft_s": ttft, "itl_s": itl, "tokens": tokens, "fault": fault,
              "tokens_per_event": tokens_per_event, "fault_every": fault_every}  # fmt: skip
    try:
        script = Script.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{first['loc'][0]} {first['input']!r}: {first['msg']}; correct it"
        ) from None
    serve(script, port)
