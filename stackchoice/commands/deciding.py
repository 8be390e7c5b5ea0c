"""``decide`` and ``report``: the answer, and the answer on paper."""

import json
from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag, ScenarioArg
from stackchoice.errors import InputError


def decide_command(
    scenario: ScenarioArg,
    as_json: JsonFlag = False,
    against: Annotated[
        str | None,
        typer.Option(metavar="OTHER", help="Compare with another scenario, step by step."),
    ] = None,
    releases: Annotated[
        str | None, typer.Option(metavar="ENGINE", help="The answer at every release of an engine.")
    ] = None,
    defend: Annotated[
        bool, typer.Option("--defend", help="Tornado, distances to the next answer, 10,000 draws.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Launch lines, and what to measure before buying.")
    ] = False,
) -> None:
    """Answer the three questions and compare the costs."""
    from stackchoice.cases import load_case
    from stackchoice.choose import decide
    from stackchoice.commands import defending
    from stackchoice.commands.summary import summary
    from stackchoice.this_machine import facts_for

    loaded = load_case(scenario)
    facts = facts_for(loaded)
    asked = [name for name, on in (("--against", against is not None),
                                   ("--releases", releases is not None),
                                   ("--defend", defend), ("--run", run)) if on]  # fmt: skip
    if len(asked) > 1:
        raise InputError(f"{' and '.join(asked)}: each is an answer of its own; ask for one")
    if against is not None:
        from stackchoice.choose.against import against as compare_scenarios

        other = load_case(against)
        found = compare_scenarios(loaded, other, facts_for(other, facts))
        print(found.model_dump_json(indent=2) if as_json else defending.comparison_text(found))
        return
    if releases is not None:
        from stackchoice.choose.against import over_releases

        rows = over_releases(loaded, facts, releases)
        name = facts.engines[releases].name
        print(
            json.dumps([row.model_dump(mode="json") for row in rows], indent=2) if as_json
            else defending.releases_text(name, rows)
        )  # fmt: skip
        return
    if defend:
        from stackchoice.choose.defend import defend as work_out

        defence = work_out(loaded, facts)
        print(defence.model_dump_json(indent=2) if as_json else defending.defence_text(defence))
        return
    decision = decide(loaded, facts)
    if as_json:
        print(decision.model_dump_json(indent=2))
    elif run:
        print(defending.carried_text(decision.runnable, decision.plan))
    else:
        print(summary(decision))


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
        list[str] | None,
        typer.Option(help="Passport of a live run, NAME.passport.json beside the report if there; "
                          "give more to compare it with."),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="A folder gets a PDF too (Pango).")] = False,
) -> None:  # fmt: skip
    """Render the report for the review meeting: one offline page, record, JSON, PDF."""
    from stackchoice.commands.summary import summary
    from stackchoice.facts.yaml import shown_lines
    from stackchoice.passports import find
    from stackchoice.present.render import outputs, render_report
    from stackchoice.scenario import load_scenario

    loaded = load_scenario(scenario)
    files = outputs(loaded.name, [*out, *(more or [])], pdf=pdf)
    beside = files[0].parent / f"{loaded.name}.passport.json"
    given = [find(name) for name in passport or ()] or ([beside] if beside.exists() else [])
    first = given[0] if given else None
    print(summary(render_report(scenario, files, passport=first, arms=given[1:])))
    for path in files:
        print(shown_lines(f"wrote {path}"))
