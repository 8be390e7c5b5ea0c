"""``decide`` and ``report``: the answer, and the answer on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stackchoice.choose import Decision, decide
from stackchoice.commands.options import JsonFlag, OutDir, ScenarioArg
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
    print(summary(Decision.model_validate_json(written.json_path.read_text(encoding="utf-8"))))
    for path in (written.html_path, written.json_path, written.pdf_path):
        if path is not None:
            print(f"wrote {path}")
