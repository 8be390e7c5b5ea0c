"""``facts``: what the product knows, from where, and how old it is."""

import json
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag


def facts_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Show only facts that hold all these words; one of models, machines, engines, "
            "sellers, links or workloads alone: the names there are."
        ),
    ] = None,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="Show only what grew too old, or is dated in the future."),
    ] = False,
    own: Annotated[
        Path | None, typer.Option(help="Folder of your own facts; else $STACKCHOICE_FACTS.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows of text to print.")] = 40,
    as_json: JsonFlag = False,
) -> None:
    """List and search the facts with value, evidence class, source and age; check your own."""
    from stackchoice.facts import load_facts
    from stackchoice.facts.load import KEYED
    from stackchoice.facts.names import counted
    from stackchoice.facts.survey import survey
    from stackchoice.facts.yaml import shown, shown_lines

    facts = load_facts(overlay=own)
    if words and words[0] in KEYED and not (words[1:] or stale or as_json):
        print(shown_lines(*getattr(facts, words[0])))
        return
    found = survey(facts, date.today(), " ".join(words or []))
    rows = [r for r in found if r.stale or r.future or not stale]
    if as_json:
        print(json.dumps([r.model_dump() for r in rows], indent=2))
        return
    for row in rows[:limit]:
        age = f"{row.age_days} days old" if row.age_days is not None else "no date"
        old = ", STALE: look it up again" if row.stale else ""
        if row.future:
            old = ", DATED IN THE FUTURE: correct the date, or it never grows stale"
        print(
            f"{shown(row.datum)} = {shown(row.value, 60)}\n"
            f"    {row.evidence}, {age}{old}  {shown(row.source, 200)}"
        )
    aged, early = sum(r.stale for r in rows), sum(r.future for r in rows)
    rest = f"; {len(rows) - limit:,} more, see --limit or --json" if len(rows) > limit else ""
    ahead = f", {early:,} dated in the future" if early else ""
    print(f"{counted(len(rows), 'fact')}, {aged:,} of them stale{ahead}{rest}")
    if facts.overlay:
        print(shown_lines(f"your own: {', '.join(facts.overlay)}"))
    print(f"fact base {facts.sha256[:12]}")
