"""A pandas frame that a room can read on a projector: left-aligned, whole texts, no row numbers."""

from __future__ import annotations

import pandas

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
        return f'<div class="sc-ws">{_STYLE}{rows}</div>'
