"""``decide`` and ``report``: the answer, and the answer on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stackchoice.choose import decide
from stackchoice.commands.options import JsonFlag, ScenarioArg
from stackchoice.commands.summary import summary
from stackchoice.scenario import load_scenario
from stackchoice.this_machine import facts_for


def decide_command(scenario: ScenarioArg, as_json: JsonFlag = False) -> None:
    """Answer the three questions and compare the costs."""
    loaded = load_scenario(scenario)
    decision = decide(loaded, facts_for(loaded))
    print(decision.model_dump_json(indent=2) if as_json else summary(decision))


def report_command(
    scenario: ScenarioArg,
    more: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="More files, so that -o NAME.{html,pdf} works."),
    ] = None,
    out: Annotated[
        list[Path],
        typer.Option("--out", "-o", help="A file ending in .html, .json, .md or .pdf, or a folder "
                                         "for NAME.html, NAME.json and NAME.md."),
    ] = [Path("reports")],  # noqa: B006 typer copies it
    passport: Annotated[
        Path | None,
        typer.Option(help="Passport of a live run; NAME.passport.json beside the report if there."),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="A folder gets a PDF too (Pango).")] = False,
) -> None:  # fmt: skip
    """Render the report for the review meeting: one offline page, record, JSON, PDF."""
    from stackchoice.present.render import outputs, render_report

    loaded = load_scenario(scenario)
    files = outputs(loaded.name, [*out, *(more or [])], pdf=pdf)
    measured = passport or files[0].parent / f"{loaded.name}.passport.json"
    if passport is None and not measured.exists():
        measured = None
    print(summary(render_report(scenario, files, passport=measured)))
    for path in files:
        print(f"wrote {path}")
