"""``confirm`` and ``setup-engine``: measure a live engine."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from stackchoice.commands.options import JsonFlag, OutDir
from stackchoice.errors import EndpointError, InputError, ScenarioError

#: Fields of a plan whose option has another name.
OPTIONS = {
    "rate_per_s": "rate", "probes": "probe",
    "usd": "spend-cap", "usd_per_million_input_tokens": "input-price",
    "usd_per_million_output_tokens": "output-price",
}  # fmt: skip


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
    streams: Annotated[int | None, typer.Option(help="Closed loop of so many streams.")] = None,
    rate: Annotated[float | None, typer.Option(help="Poisson arrivals, so many a second.")] = None,
    constant_rate: Annotated[
        float | None, typer.Option(help="Arrivals at one distance, so many a second.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Replay a traffic file: times and token counts.")
    ] = None,
    requests: Annotated[
        int | None, typer.Option(help="Timed requests of one repetition; 5, or the whole file.")
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Repetitions of the load.")] = 1,
    launches: Annotated[int, typer.Option(help="Launches of an engine that runs here.")] = 1,
    output_tokens: Annotated[int, typer.Option(help="Limit of every answer.")] = 64,
    prompt_words: Annotated[int, typer.Option(help="Words of every prompt.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed of prompts and arrivals.")] = 1,
    completions: Annotated[
        bool, typer.Option("--completions", help="Plain completions in place of chat.")
    ] = False,
    new_connections: Annotated[
        bool, typer.Option("--new-connections", help="A new connection for each request.")
    ] = False,
    no_floor: Annotated[
        bool, typer.Option("--no-floor", help="Do not calibrate the client first.")
    ] = False,
    runner: Annotated[
        str, typer.Option(help="What puts the load on: stackchoice, or aiperf and its workers.")
    ] = "stackchoice",
    runner_path: Annotated[
        Path | None, typer.Option(help="The runner's program or virtual environment.")
    ] = None,
    write_only: Annotated[
        Path | None,
        typer.Option(help="Measure nothing: write aiperf's files and a Kubernetes job here."),
    ] = None,
    spend_cap: Annotated[
        str | None, typer.Option(help="Most dollars to spend; needs both prices.")
    ] = None,
    input_price: Annotated[
        str | None, typer.Option(help="Dollars for a million input tokens.")
    ] = None,
    output_price: Annotated[
        str | None, typer.Option(help="Dollars for a million output tokens.")
    ] = None,
    canaries: Annotated[
        str | None,
        typer.Option(help="Set, file or folder of canaries; full at an endpoint, else basic."),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Passport of the same model on a trusted stack.")
    ] = None,
    probe: Annotated[
        list[str] | None, typer.Option(help="Limits to ask for: cache, context, slots.")
    ] = None,
    arm: Annotated[
        str, typer.Option(help="Engine that is started here; 'list' names them.")
    ] = "llama.cpp",
    arm_model: Annotated[
        str | None, typer.Option(help="Folder of the model, for arms that hold none.")
    ] = None,
    declare: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An item of identity that nothing here can read."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="Log of the engine that is measured: identity, kernels.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Files of the weights, for their manifest's hash.")
    ] = None,
    cold: Annotated[
        bool, typer.Option("--cold", help="Empty the server's prefix cache before each repetition.")
    ] = False,
    exact_output: Annotated[
        bool, typer.Option("--exact-output", help="Ask for answers as long as their limit.")
    ] = False,
    pid: Annotated[
        int | None, typer.Option(help="Process of a server of this machine: memory, restarts.")
    ] = None,
    no_raw: Annotated[
        bool, typer.Option("--no-raw", help="Keep no request, answer or log on disk.")
    ] = False,
    resume: Annotated[bool, typer.Option(help="Keep what an interrupted run measured.")] = False,
    out: OutDir = Path("reports"),
    as_json: JsonFlag = False,
) -> None:
    """Measure a live engine and confirm or refute the prediction.

    Without --endpoint the embedded engine is started on this machine. Without a load, requests are
    sent one at a time, and the load that the decision's plan names is put on an endpoint after it.
    Exit status: 0, or 1 when a number, a limit or a kernel path is refuted, on a HOLD, or when the
    run may not be believed.
    """
    from stackchoice.arm_identity import arm_identity
    from stackchoice.confirm import Passport
    from stackchoice.confirm.arms import arm_names
    from stackchoice.confirmation import confirm_all
    from stackchoice.present.confirmedtext import describe, describe_carried

    if arm == "list":
        print("\n".join(arm_names()))
        return
    if scenario is None and endpoint is None and arm == "llama.cpp":
        raise ScenarioError("nothing to confirm; name a scenario, or give --endpoint and --model")
    if (endpoint is None) != (model is None):
        raise EndpointError("--endpoint and --model go together; give both or neither")
    if no_raw and resume:
        raise InputError("--no-raw and --resume: nothing is kept to go on from; give one of them")
    if runner_path is not None and runner == "stackchoice":
        raise InputError("--runner-path: this client needs none; give --runner aiperf with it")
    load = _load(streams, rate, constant_rate, replay)
    if requests is None:
        requests = _lines(replay) if replay else max(5, 2 * (streams or 1))
    fields = {
        "load": load, "warmup": 2 if replay else 1, "requests": requests,
        "repetitions": repetitions, "launches": launches,
        "output_tokens": output_tokens, "prompt_words": prompt_words, "seed": seed,
        "api": "completions" if completions else "chat",
        "connections": "new" if new_connections else "reuse",
        "floor": not no_floor, "runner": runner, "probes": sorted(set(probe or ())),
        "canaries": canaries or ("full" if endpoint else "basic"),
        "cold": cold, "exact_output": exact_output,
        "spend": _spend(spend_cap, input_price, output_price),
    }  # fmt: skip
    if write_only is not None:
        if endpoint is None or model is None:
            raise EndpointError("--write-only: no endpoint; give --endpoint and --model")
        useless = {"SCENARIO": scenario, "--spend-cap": spend_cap, "--launches": launches > 1,
                   "--canaries": canaries, "--probe": probe, "--reference": reference, "--log": log,
                   "--checkpoint": checkpoint, "--declare": declare, "--resume": resume,
                   "--runner-path": runner_path, "--cold": cold,
                   "--exact-output": exact_output, "--pid": pid, "--json": as_json}  # fmt: skip
        if given := [name for name, value in useless.items() if value]:
            raise InputError(
                f"--write-only: AIPerf does nothing about {', '.join(given)}; leave it out, or "
                "measure from here with --runner aiperf"
            )
        from stackchoice.facts.yaml import shown_lines
        from stackchoice.load.aiperf_job import write_job
        from stackchoice.load.endpoint import Endpoint

        where = Endpoint(base_url=endpoint, model=model, api_key_env=key_variable)
        print(shown_lines(*write_job(where, plan_of(fields), write_only).splitlines()))
        return
    cancel = threading.Event()
    with _stop_on_ctrl_c(cancel):
        done = confirm_all(
            scenario, endpoint_url=endpoint, model=model, key_variable=key_variable, arm=arm,
            arm_model=arm_model, plan=plan_of(fields), resume=resume, log=log, out=out,
            whole_plan=not any((streams, rate, constant_rate, replay)),
            reference=Passport.load(reference) if reference else None,
            identity=arm_identity(declare or (), log=log, checkpoint=checkpoint),
            keep_raw=not no_raw, runner_path=runner_path, pid=pid,
            on_line=None if as_json else print,
            cancel=cancel,
        )  # fmt: skip
    if as_json:
        trees = [p.model_dump(mode="json") for p in done.passports]
        carried = done.carried.model_dump(mode="json") if done.carried else None
        print(json.dumps({"passports": trees, "carried_out": carried}, indent=2))
    else:
        print("\n".join(describe(*pair) for pair in zip(done.passports, done.paths, strict=True)))
        if done.carried:
            print(describe_carried(done.carried))
    if cancel.is_set():
        print("stackchoice: stopped; --resume goes on from what was measured", file=sys.stderr)
        raise SystemExit(130)
    if any(p.label != "VALID" for p in done.passports) or (done.carried and done.carried.refuted):
        raise SystemExit(1)


@contextmanager
def _stop_on_ctrl_c(cancel: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C end the run and keep what it measured, and the second end it at once."""

    def stop(number: int, frame: Any) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    except KeyboardInterrupt:  # typer would end without a word
        print("stackchoice: stopped at once; --resume goes on from the raw log", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        signal.signal(signal.SIGINT, before)


def _load(
    streams: int | None, rate: float | None, constant: float | None, replay: Path | None
) -> dict[str, Any]:
    given = {
        "closed": ("streams", streams), "poisson": ("rate_per_s", rate),
        "constant": ("rate_per_s", constant), "replay": ("path", replay and str(replay)),
    }  # fmt: skip
    loads = [{"kind": kind, name: value} for kind, (name, value) in given.items()
             if value is not None]  # fmt: skip
    if len(loads) > 1:
        raise InputError(
            f"{len(loads)} loads: a run has one; give one of --streams, --rate, --constant-rate "
            "and --replay"
        )
    return loads[0] if loads else {"kind": "closed"}


def _lines(replay: Path) -> int:
    from stackchoice.load.traffic import read_traffic

    return len(read_traffic(replay).arrivals)


def _spend(cap: str | None, input_price: str | None, output_price: str | None) -> Any:
    given = [cap, input_price, output_price]
    if all(value is None for value in given):
        return None
    if any(value is None for value in given):
        raise InputError(
            "--spend-cap, --input-price and --output-price go together; give all three"
        )
    return {"usd": cap, "usd_per_million_input_tokens": input_price,
            "usd_per_million_output_tokens": output_price}  # fmt: skip


def plan_of(fields: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    from stackchoice.load.plan import Plan

    try:
        return Plan.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "load")
        field = "constant_rate" if "constant" in first["loc"] else field
        name = "--" + OPTIONS.get(field, field).replace("_", "-")
        raise InputError(f"{name} {first['input']!r}: {first['msg']}; correct it") from None


def setup_engine_command(
    wheelhouse: Annotated[
        Path | None, typer.Option(help="A folder of wheels to install from, without a network.")
    ] = None,
) -> None:
    """Install the embedded engine and its tiny model from the package index, or from a folder."""
    from stackchoice.confirm import setup_engine

    print("\n".join(setup_engine(wheelhouse)) or "engine and model are already installed")
