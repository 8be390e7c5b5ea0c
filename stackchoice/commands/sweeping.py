"""``sweep``: one setting at a time, against an engine that is restarted for each."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from stackchoice.commands.options import JsonFlag
from stackchoice.errors import InputError

#: Knobs of the embedded engine.
EMBEDDED = ("slots", "prefix_cache", "context_tokens", "threads", "weights")


def sweep_command(
    knob: Annotated[
        list[str], typer.Option(help="name=first,second,...; the first is the baseline.")
    ],
    metric: Annotated[
        str, typer.Option(help="By which arms are told apart.")
    ] = "output_tokens_per_s",
    interaction: Annotated[
        list[str] | None, typer.Option(help="first,second: two knobs measured together too.")
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(help="Command that starts a server; {port} and {name of a knob} in it."),
    ] = None,
    url: Annotated[
        list[str] | None, typer.Option(help="name=value,...@URL of a server that runs already.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model name, with --command or --url.")] = None,
    key_variable: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key.")
    ] = None,
    streams: Annotated[int, typer.Option(help="Closed loop of so many streams.")] = 1,
    requests: Annotated[int, typer.Option(help="Timed requests of one run.")] = 5,
    output_tokens: Annotated[int, typer.Option(help="Limit of every answer.")] = 64,
    prompt_words: Annotated[int, typer.Option(help="Words of every prompt.")] = 128,
    probe: Annotated[
        list[str] | None, typer.Option(help="Limits to ask for: cache, context, slots.")
    ] = None,
    canaries: Annotated[str, typer.Option(help="Set, file or folder of canaries.")] = "basic",
    reference: Annotated[
        Path | None, typer.Option(help="Passport of the same model on a trusted stack.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="How often the order goes forth and back.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of prompts and arrivals.")] = 1,
    no_floor: Annotated[
        bool, typer.Option("--no-floor", help="Do not calibrate the client before each run.")
    ] = False,
    exact_output: Annotated[
        bool, typer.Option("--exact-output", help="Ask for answers as long as their limit.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder of the sweep; a second call goes on in it.")
    ] = Path("reports/sweep"),
    as_json: JsonFlag = False,
) -> None:
    """Turn one setting at a time and tell its effect from the noise.

    Without --command or --url the embedded engine is restarted for every run.
    """
    from stackchoice.commands.measuring import plan_of
    from stackchoice.confirm import Passport
    from stackchoice.sweep import design, parse_knob, run_sweep
    from stackchoice.sweep.run import describe

    ours = command is None and not url
    if command is not None and url:
        raise InputError("--command and --url: a sweep has one target; give one of them")
    if not ours and not model:
        raise InputError("--model is missing; give the name that the server knows its model by")
    if ours and model is not None:
        raise InputError("--model: the embedded engine has one; give --command or --url with it")
    if key_variable is not None and not url:
        raise InputError("--key-variable: only --url sends a key; leave it out")
    knobs = [parse_knob(text) for text in knob]
    pairs = []
    for text in interaction or ():
        first, *rest = (part.strip() for part in text.split(","))
        if len(rest) != 1:
            raise InputError(f"--interaction {text!r}: not two knobs; write a,b")
        pairs.append((first, rest[0]))
    planned = design(knobs, pairs, rounds=rounds)
    probes = list(probe or ()) + (["cache"] if metric == "cache_speedup" else [])
    load = plan_of({
        "load": {"kind": "closed", "streams": streams}, "requests": requests, "seed": seed,
        "output_tokens": output_tokens, "prompt_words": prompt_words, "canaries": canaries,
        "probes": sorted(set(probes)), "floor": not no_floor,
        "exact_output": exact_output,
    })  # fmt: skip
    target, subject = _target(planned.knobs, command, url or [], model, key_variable, out)
    try:
        found = run_sweep(
            planned, target, load=load, metric=metric, folder=out, subject=subject,
            reference=Passport.load(reference) if reference else None,
            on_line=None if as_json else print,
        )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("stackchoice: stopped; the same command goes on with what is missing", err=True)
        raise SystemExit(130) from None
    print(json.dumps(found.model_dump(mode="json"), indent=2) if as_json else describe(found))


def _target(
    knobs: Any, command: str | None, urls: list[str], model: str | None, key: str | None, out: Path
) -> tuple[Any, str]:
    from stackchoice.confirm import Endpoint
    from stackchoice.confirm.arms import arm
    from stackchoice.confirm.command_engine import CommandEngine
    from stackchoice.facts.secrets import without_keys
    from stackchoice.sweep import parse_knob
    from stackchoice.sweep.run import by_url, check_engine_knobs

    names = [knob.name for knob in knobs]
    if command is not None:
        if "port" in names:
            raise InputError("knob 'port': {port} is filled in here; name the setting otherwise")
        unused = [name for name in names if f"{{{name}}}" not in command]
        if unused:
            raise InputError(f"knob {unused[0]!r}: the command has no {{{unused[0]}}}; put it in")
        return (lambda settings: CommandEngine(command, model=model or "", settings=settings),
                f"{without_keys(command)} ({model})")  # fmt: skip
    if urls:
        pairs = []
        for text in urls:
            settings, mark, address = text.partition("@")
            if not mark:
                raise InputError(f"--url {text!r}: no settings; write slots=4@http://host:8000")
            given = [parse_knob(f"{part},_") for part in settings.split(",")]
            endpoint = Endpoint(base_url=address, model=model or "", api_key_env=key)
            pairs.append(({k.name: k.values[0] for k in given}, endpoint))
        return by_url(pairs), f"{' '.join(sorted(urls))} ({model})"
    check_engine_knobs(names, EMBEDDED)

    def embedded(settings: Mapping[str, Any]) -> Any:
        more = dict(settings)
        kind = more.pop("weights", None)
        return arm(f"llama.cpp:{kind}" if kind and kind != "q4_1" else "llama.cpp",
                   folder=out / "arms", **more)  # fmt: skip

    return embedded, "the embedded engine"
