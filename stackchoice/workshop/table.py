"""A pandas frame that a room can read on a projector: left-aligned, no row numbers."""

from __future__ import annotations

import re

import pandas

#: A cell that would be a wall of text in the middle of a table.
_WALL = re.compile(r"<td>([^<]{240,})</td>")
_STYLE = (
    "<style>.sc-ws td,.sc-ws th{text-align:left!important;vertical-align:top!important;"
    "max-width:34em;overflow-wrap:break-word;font-variant-numeric:tabular-nums}</style>"
)


class Table(pandas.DataFrame):
    """A frame like any other, but for how it shows itself."""

    @property
    def _constructor(self) -> type[Table]:
        return Table

    def _repr_html_(self) -> str:
        with pandas.option_context("display.max_colwidth", None):
            rows = self.to_html(index=False, border=0, na_rep="unknown", escape=True)
        return f'<div class="sc-ws">{_STYLE}{_WALL.sub(_folded, rows)}</div>'


def _folded(cell: re.Match[str]) -> str:
    """Return a cell that shows its first words, and all of it when they are clicked."""
    first = cell[1][:80].rpartition(" ")[0]
    return f"<td><details><summary>{first} ...</summary>{cell[1]}</details></td>"
