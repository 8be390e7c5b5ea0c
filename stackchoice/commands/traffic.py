"""``traffic``: a request log becomes the workload of a scenario."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from stackchoice.commands.options import JsonFlag


def traffic_command(
    file: Annotated[
        Path | None, typer.Argument(help="A request log: JSON lines, JSON or CSV, also gzip.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="A published workload instead; `list` names them.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="New scenario to write.")] = None,
    into: Annotated[
        Path | None, typer.Option(help="Scenario to put the workload into; the rest stays.")
    ] = None,
    like: Annotated[
        str | None, typer.Option(help="Scenario that a new one takes everything else from.")
    ] = None,
    replace: Annotated[bool, typer.Option(help="Overwrite what is there already.")] = False,
    model: Annotated[str | None, typer.Option(help="Count the requests of one model only.")] = None,
    time_unit: Annotated[
        str | None, typer.Option(help="What bare numbers of time are: s or ms.")
    ] = None,
    window_s: Annotated[
        int | None, typer.Option("--window", min=60, help="Window of the peak factor, seconds.")
    ] = None,
    block_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens a block hash of the log stands for.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure the workload in a request log. Prompts stay in this process."""
    from stackchoice.errors import TrafficError
    from stackchoice.facts import load_facts
    from stackchoice.facts.names import named
    from stackchoice.present.traffictext import describe, describe_preset
    from stackchoice.scenario.preset import preset_inputs
    from stackchoice.traffic import measure_log
    from stackchoice.traffic.section import workload_inputs
    from stackchoice.traffic.write import into_scenario, new_scenario

    if (file is None) == (preset is None):
        raise TrafficError("nothing to measure, or too much; name a log, or give --preset NAME")
    if out and into:
        raise TrafficError("-o and --into exclude each other; a new scenario, or one that is there")
    if time_unit not in (None, "s", "ms"):
        raise TrafficError("--time-unit: not a unit; write s or ms")
    facts = load_facts()
    if preset == "list":
        print("\n".join(f"{p.id:28} {p.name}" for p in facts.workloads.values()))
        return
    inputs: dict[str, Any]
    shown: dict[str, Any]
    if preset is not None:
        chosen = named("preset", preset, facts.workloads)
        inputs = preset_inputs(chosen)
        shown, said = chosen.model_dump(mode="json"), describe_preset(chosen)
    else:
        log = measure_log(
            file or "", facts, model=model, time_unit=time_unit, window_s=window_s,
            block_tokens=block_tokens,
        )  # fmt: skip
        inputs, shown, said = workload_inputs(log), log.to_json(), describe(log)
    lines = [said]
    if out:
        new_scenario(out, inputs, like=like, replace=replace)
        lines.append(f"wrote {out}")
    if into:
        changed = into_scenario(into, inputs, replace=replace)
        lines.append(f"wrote {into}: {', '.join(changed) or 'nothing new'}")
    print(json.dumps({**shown, "workload": inputs}, indent=2) if as_json else "\n".join(lines))
