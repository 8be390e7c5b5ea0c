"""``passport`` and ``compare``: what was measured, and what may be said of two of them."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag
from stackchoice.errors import InputError


class Action(StrEnum):
    """What is done with a passport."""

    SHOW = "show"
    VALIDATE = "validate"
    IMPORT = "import"
    SCHEMA = "schema"
    LIST = "list"


def passport_command(
    action: Annotated[Action, typer.Argument(help="What to do.")],
    file: Annotated[
        str, typer.Argument(help="A passport, a shipped one's name, or a result to import.")
    ] = "",
    arm: Annotated[str | None, typer.Option(help="Name of the arm that is imported.")] = None,
    declare: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An item that the imported file does not say."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for imported passports.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a passport that is there already.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show, validate or import benchmark passports; print their JSON Schema; list shipped ones."""
    from stackchoice import passports
    from stackchoice.confirm.passport import Passport, schema_text
    from stackchoice.facts.yaml import shown_lines
    from stackchoice.present.comparedtext import describe_passport

    if action is Action.SCHEMA:
        print(schema_text(), end="")
        return
    if action is Action.LIST:
        print(json.dumps(passports.shipped()) if as_json else "\n".join(passports.shipped()))
        return
    if not file:
        raise InputError(f"passport {action.value}: no file; name one")
    if action is Action.IMPORT:
        found = passports.import_file(
            Path(file), arm=arm, declare=declare or (), out=out, replace=replace
        )
        if as_json:
            print(json.dumps([p.model_dump(mode="json") for p, _ in found], indent=2))
            return
        for passport, path in found:
            unknown = sum(value is None for _, _, value, _ in passport.items())
            said = f"{passport.arm}: {passport.label}, {unknown} items unknown"
            print(shown_lines(f"{said}; wrote {path}"))
        return
    passport = Passport.load(passports.find(file))
    if action is Action.VALIDATE:
        print(shown_lines(f"{file}: a passport of format {passport.format}, {passport.label}"))
    else:
        print(passport.model_dump_json(indent=2) if as_json else describe_passport(passport))


def compare_command(
    arms: Annotated[
        list[str], typer.Argument(metavar="ARM...", help="Passports, or results of harnesses.")
    ],
    slo: Annotated[
        str, typer.Option(help="Objective of a request in seconds: ttft=0.5,itl=0.03,e2e=10.")
    ] = "",
    by: Annotated[str | None, typer.Option(help="The figure that decides, by its id.")] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="What differs on purpose: model or precision.")
    ] = None,
    same: Annotated[
        list[str] | None, typer.Option(help="What you know to be the same: one of the six.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare measured arms: what was the same, the figures, and what may be said of them."""
    from stackchoice.passports import compare_files
    from stackchoice.present.comparedtext import describe

    found = compare_files(arms, slo=slo, by=by, vary=vary or (), same=same or ())
    drop = {"arms": {"__all__": {"passport": {"samples", "identity", "protocol", "results"}}}}
    print(found.model_dump_json(indent=2, exclude=drop) if as_json else describe(found))
