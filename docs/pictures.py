"""Draw the pictures that the README shows: ``python docs/pictures.py``, with Debian's Chromium.

The first page of the committed report, and the first notebook with its form after Run All. Small
PNGs of sixty-four colours, so that a checkout stays small.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from lab import chromium, jupyterlab  # noqa: E402 (the suite's own browser and server)
from PIL import Image  # noqa: E402 (only here; no part of the suite)

SIZE = {"width": 1120, "height": 1180}


def kept(png: bytes, name: str) -> None:
    """Write a picture with few colours."""
    path = ROOT / "docs" / name
    Image.open(io.BytesIO(png)).convert("RGB").quantize(64).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    """Draw both."""
    with chromium() as browser:
        page = browser.new_page(viewport=SIZE)
        page.goto((ROOT / "reports" / "sample.html").as_uri())
        kept(page.screenshot(), "report.png")
        with (
            tempfile.TemporaryDirectory() as folder,
            jupyterlab(Path(folder)) as lab,
            lab.open(browser, "00_start.ipynb", **SIZE) as notebook,
        ):
            if trouble := notebook.run_all():
                raise SystemExit(f"00_start stopped: {trouble[0]}")
            field = notebook.page.get_by_label("Users", exact=True).first
            field.scroll_into_view_if_needed()
            kept(notebook.page.screenshot(), "notebook.png")


if __name__ == "__main__":
    main()
