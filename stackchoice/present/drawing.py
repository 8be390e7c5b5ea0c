"""A chart as it is built, given its rows and drawn: without a browser, or in a panel's page."""

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from stackchoice.load.untrusted import visible

#: Longer than any text that is shown.
LONGEST = 100_000
#: What a chart is built on that is built once and given other rows at each change.
ROWS = alt.NamedData("rows")
Rows = list[dict[str, Any]]


class Built:
    """A chart without rows: building and compiling take longer than drawing."""

    def __init__(self, chart: alt.LayerChart) -> None:
        self.chart = chart

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The chart in Vega-Lite."""
        return self.chart.to_dict(validate=False)

    @cached_property
    def vega(self) -> dict[str, Any]:
        """The chart in Vega, which a browser draws without compiling anything."""
        vega: dict[str, Any] = vl_convert.vegalite_to_vega(self.spec)
        return vega

    @cached_property
    def key(self) -> str:
        """A short name for what is drawn, whatever the rows."""
        return hashlib.sha256(json.dumps(self.spec).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Filled:
    """A built chart with the rows of each of its data by name; the first are its numbers."""

    built: Built
    rows: dict[str, Rows]

    @property
    def spec(self) -> dict[str, Any]:
        """The chart with its rows, in Vega-Lite."""
        return {**self.built.spec, "datasets": self.harmless}

    @property
    def harmless(self) -> dict[str, Rows]:
        """The rows as anybody may draw them: no control marks, nothing that is not finite."""
        return {
            name: [{key: harmless_value(value) for key, value in row.items()} for row in rows]
            for name, rows in self.rows.items()
        }


#: A chart that is drawn once, or one that is built once and drawn often.
Chart = alt.LayerChart | Filled


def filled(chart: Chart) -> Filled:
    """Return any chart as one that a browser is given."""
    return chart if isinstance(chart, Filled) else Filled(Built(chart), {})


def harmless_value(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value, LONGEST)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def frame_of(chart: Chart) -> pd.DataFrame:
    """Return the numbers that a chart draws: its own, else those of its first layer with any."""
    if isinstance(chart, Filled):
        return pd.DataFrame(next(iter(chart.rows.values())))
    for part in (chart, *getattr(chart, "layer", ())):
        if isinstance(part.data, pd.DataFrame):
            return part.data
    return pd.DataFrame()


def rows_of(chart: Chart) -> Rows:
    """Return the same numbers row by row."""
    if isinstance(chart, Filled):
        return next(iter(chart.rows.values()))
    frame = frame_of(chart)
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]


def to_svg(chart: Chart) -> str:
    """Return a chart as SVG text, drawn without a browser and without a network."""
    spec = chart.spec if isinstance(chart, Filled) else chart.to_dict(validate=False)
    return _drawn(json.dumps(spec))


@lru_cache(maxsize=256)
def _drawn(spec: str) -> str:
    return vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
