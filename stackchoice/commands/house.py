"""``lab`` and ``doctor``: the notebooks, and what works on this machine."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from stackchoice.commands.options import JsonFlag


def lab_command(
    folder: Annotated[
        Path | None, typer.Argument(help="Where your copy of the notebooks is to live.")
    ] = None,
) -> None:
    """Open the notebooks in JupyterLab."""
    from stackchoice.facts.yaml import shown_lines
    from stackchoice.notebooks import LAB, lab_environment, notebooks_to_edit, trust_shipped

    where = notebooks_to_edit(folder)
    trust_shipped(where)
    print(shown_lines(f"notebooks in {where}"))
    raise SystemExit(
        subprocess.call([sys.executable, *LAB, str(where)], env=lab_environment(where))
    )


def doctor_command(as_json: JsonFlag = False) -> None:
    """Tell what works on this machine: OK or FAIL per item, with the fix."""
    from stackchoice.doctor import examine
    from stackchoice.facts.yaml import shown_lines

    findings = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            fix = [] if finding.ok else [f"      fix: {finding.fix}"]
            mark = "OK  " if finding.ok else "FAIL"
            print(shown_lines(f"{mark}  {finding.item}: {finding.text}", *fix))
    if as_json:
        print(json.dumps([f.model_dump() for f in findings], indent=2))
    raise SystemExit(0 if all(f.ok or f.optional for f in findings) else 1)
