"""A checkpoint's folder: its entries, the revision meant, its names, its GGUF models."""

import os
import re
from pathlib import Path

from stackchoice.read.bounded import read_start, refuse

#: Entries of a folder that are looked at.
MAX_ENTRIES = 50_000
SPLIT = re.compile(r"^(.*)-(\d{5})-of-(\d{5})\.gguf$")


def snapshot(folder: Path) -> Path:
    """Return the revision to read where a model's folder of the hub cache is named."""
    revisions = folder / "snapshots"
    if not revisions.is_dir() or (folder / "config.json").exists():
        return folder
    names = [n for n in listing(revisions) if (revisions / n).is_dir()]
    main = folder / "refs" / "main"
    chosen = read_start(main, 100).decode("ascii", "replace").strip() if main.is_file() else ""
    if chosen in names:
        return revisions / chosen
    if len(names) == 1:
        return revisions / names[0]
    refuse(folder, f"holds {len(names)} revisions and no refs/main that names one of them",
           "name one of the folders in snapshots/")  # fmt: skip


def listing(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; CheckpointError where there are too many."""
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > MAX_ENTRIES:
                    refuse(folder, f"has more than {MAX_ENTRIES:,} entries", "name the model's own")
    except OSError as error:
        refuse(folder, f"cannot be listed ({error.strerror})", "check the rights of the folder")
    return sorted(names)


def names_of(folder: Path, only: Path | None) -> list[str]:
    """Names a checkpoint goes by: of its file, its folder, its repository in a cache."""
    try:
        resolved = folder.resolve()
    except (OSError, RuntimeError):
        resolved = folder
    names = [only.stem] if only else []
    if resolved.parent.name == "snapshots":
        names.append(resolved.parent.parent.name.replace("models--", "", 1).replace("--", "/"))
    else:
        names.append(resolved.name)
    return names


def gguf_models(names: list[str]) -> list[str]:
    """Return the GGUF models of a folder: one name for a split set, towers left out."""
    models = []
    for name in names:
        split = SPLIT.match(name)
        later = split is not None and int(split.group(2)) > 1
        tower = name.lower().startswith(("mmproj", "mm-proj"))
        if name.endswith(".gguf") and not later and not tower:
            models.append(name)
    return models
