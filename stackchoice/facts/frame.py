"""Rows as a pandas frame; pandas is loaded only when somebody asks for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one frame row per mapping."""
    import pandas as pd

    return pd.DataFrame(list(rows))
