"""Where the fact base lies, and how a great deal is read at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def data_dir() -> Path:
    """Return the folder of facts: inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "data"
    return inside if inside.is_dir() else package.parent / "data"


@contextmanager
def no_collector() -> Iterator[None]:
    """Pause the cycle collector: it walks tens of thousands of records, none of them in a cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
