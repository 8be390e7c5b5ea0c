"""Where the fact base lies."""

from __future__ import annotations

from pathlib import Path


def data_dir() -> Path:
    """Return the folder of facts: inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "data"
    return inside if inside.is_dir() else package.parent / "data"
