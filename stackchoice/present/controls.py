"""What forms are made of: choices, texts, and lines that say what was refused or done."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ipywidgets
from markupsafe import Markup

from stackchoice.facts.yaml import shown_lines

STYLE = {"description_width": "200px"}
LAYOUT = ipywidgets.Layout(width="400px")
#: Of fields that hold a path or a title; within their box with their own margins.
WIDE = ipywidgets.Layout(width="800px", max_width="calc(100% - 4px)")


def dropdown(
    label: str,
    options: list[tuple[str, Any]],
    value: Any = None,
    layout: ipywidgets.Layout = LAYOUT,
) -> ipywidgets.Dropdown:
    """Return a choice of (label, value) pairs, the first where no value is given."""
    return ipywidgets.Dropdown(
        options=options, value=options[0][1] if value is None else value, description=label,
        style=STYLE, layout=layout,
    )  # fmt: skip


def listed(records: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return choices of records of the fact base: each by its name, for its id."""
    return [(record.name, record.id) for record in records.values()]


def text_field(label: str, value: str, layout: ipywidgets.Layout = LAYOUT) -> ipywidgets.Text:
    """Return a field that speaks up once its text is entered, not at each key."""
    return ipywidgets.Text(
        value=value, description=label, style=STYLE, layout=layout, continuous_update=False
    )


def error_html(message: str) -> str:
    """Return an error as one escaped line that a screen reader announces."""
    return Markup('<div class="sc"><p class="error" role="alert">{}</p></div>').format(
        shown_lines(message)
    )


def saved_html(path: Path) -> str:
    """Return where something was saved, escaped."""
    return status_html(f"Saved to {shown_lines(str(path))}")


def status_html(text: str) -> str:
    """Return what was done as one escaped line that a screen reader announces."""
    return Markup('<p class="sc"><span class="saved" role="status">{}</span></p>').format(text)
