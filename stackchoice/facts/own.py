"""A folder of one's own facts: what it may hold, and whom its rows must name."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from stackchoice.errors import FactsError, known_names
from stackchoice.facts.yaml import bounded_text, refuse_unclear, shown

#: One's own tables: a hundred thousand rows.
MAX_TABLE_BYTES = 16 * 2**20
#: Names the folder of one's own facts where the caller does not.
OVERLAY_VARIABLE = "STACKCHOICE_FACTS"
#: What such a folder may hold: facts about the world, no rules and nothing that is fitted.
OVERLAID = ("machines.yaml", "assumptions.yaml", "thresholds.yaml", "prices/gpu_hours.yaml",
            "prices/servers.yaml", "prices/sellers.yaml", "measured_devices.yaml",
            "links.yaml", "measurements.csv", "upkeep.yaml")  # fmt: skip


def checked_folder(overlay: Path, folders: Collection[str]) -> Path:
    """Return a folder of own facts; FactsError where it holds what would silently not be read."""
    if not os.path.isdir(overlay):
        raise FactsError(f"{overlay}: no such folder of facts; name one with {OVERLAY_VARIABLE}")
    for path in sorted(p for p in overlay.rglob("*") if not p.is_dir()):
        name = path.relative_to(overlay).as_posix()
        known = name in OVERLAID or (
            path.suffix == ".yaml" and name.removesuffix(f"/{path.name}") in folders
        )
        if not known and not path.name.startswith(("README", ".")):
            raise FactsError(
                f"{path}: own facts may not hold {name!r}; "
                f"they may hold {', '.join(OVERLAID)}, models/*.yaml, engines/*.yaml"
            )
        if known and path.suffix == ".yaml":
            refuse_unclear(path)
    return overlay.resolve()


def stamps(overlay: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes when a file of a folder does: facts that were read count until then."""
    found = ((path, path.stat()) for path in sorted(overlay.rglob("*")) if path.is_file())
    return tuple((str(path), about.st_mtime_ns, about.st_size) for path, about in found)


def own_table(path: Path) -> bytes:
    """Return the bytes of a table of one's own; FactsError where it is too long or no text."""
    return bounded_text(path, MAX_TABLE_BYTES, FactsError, "give a CSV of measurements").encode()


def check_own(own: dict[str, list[Any]], read: dict[str, Any], folder: Path) -> None:
    """FactsError where an own row names what nobody knows: it would silently change nothing."""
    machines = {row.id for key in (own, read) for row in key.get("machines", [])}
    engines = {row.id for key in (own, read) for row in key.get("engines", [])}
    named = [
        *(("prices/gpu_hours.yaml", "machine", r.machine, machines) for r in own["hours"]),
        *(("prices/servers.yaml", "machine", r.machine, machines) for r in own["servers"]),
        *(("upkeep.yaml", "engine", r.engine, engines) for r in own["upkeep"]),
        *(("assumptions.yaml or thresholds.yaml", "assumption", r.id,
           {a.id for a in read["assumptions"]}) for r in own["assumptions"]),
    ]  # fmt: skip
    for where, what, name, known in named:
        if name not in known:
            raise FactsError(
                f"{folder}: {where}: {what} {shown(name)!r} is not in the fact base; "
                f"{known_names(name, known, f'{what}s')}"
            )
