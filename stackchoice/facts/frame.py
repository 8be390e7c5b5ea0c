"""Rows as a pandas frame; pandas is loaded only when somebody asks for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def frame(rows: Iterable[Mapping[str, Any]], columns: list[str] | None = None) -> pd.DataFrame:
    """Return one frame row per mapping; ``columns`` where there may be no row to tell them."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=columns)


def datum_rows(node: Any, where: str = "") -> list[dict[str, Any]]:
    """Return one row for each fact in a dumped tree: a datum, or the numbers beside a source."""
    if isinstance(node, dict) and "evidence" in node and "value" in node:
        source = node["source"] or {}
        evidence = node["evidence"] if node["value"] is not None else "unknown"
        return [_row(where, node["value"], evidence, source, node["note"])]
    rows = []
    if isinstance(node, dict) and isinstance(node.get("source"), dict) and "starts" in node:
        rows = [  # a price: its fields share one source, and hold from a date on
            _row(f"{where}.{key}", value, "stated", node["source"] | {"as_of": node["starts"]}, "")
            for key, value in node.items()
            if "usd" in key and value is not None
        ]
    pairs = (
        node.items() if isinstance(node, dict)
        else ((_name(row, i), row) for i, row in enumerate(node)) if isinstance(node, list) else ()
    )  # fmt: skip
    return rows + [
        row for k, child in pairs for row in datum_rows(child, f"{where}.{k}".lstrip("."))
    ]


def _name(row: Any, index: int) -> Any:
    """Name a row of a list by its id, else by machine and seller, else by its place."""
    if not isinstance(row, dict):
        return index
    parts = [row[key] for key in ("machine", "seller", "model", "terms") if row.get(key)]
    return row.get("id") or " ".join([*parts, str(row.get("starts", ""))]).strip() or index


def _row(
    where: str, value: Any, evidence: str, source: Mapping[str, Any], note: str
) -> dict[str, Any]:
    return {
        "datum": where,
        "value": value,
        "evidence": evidence,
        "source": source.get("url") or source.get("title"),
        "as_of": source.get("as_of"),
        "note": note,
    }
