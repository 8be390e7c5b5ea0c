"""Files of other people, read within bounds: sizes are checked before anything is allocated."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from stackchoice.errors import CheckpointError
from stackchoice.facts.yaml import shown

#: A config.json is some kilobytes; lists of quantised modules make it a few megabytes.
MAX_CONFIG_BYTES = 16 * 2**20
#: The index of a checkpoint names every tensor: about 100 bytes each.
MAX_INDEX_BYTES = 64 * 2**20
#: Commas, brackets and braces of one JSON text: a bound on the objects that parsing makes.
MAX_JSON_MARKS = 4_000_000
#: Shards of one checkpoint; the largest published ones have a few hundred.
MAX_SHARDS = 10_000
#: Elements and bytes beyond this are no tensor.
MAX_BYTES = 2**53
AGAIN = "download the file again"


def refuse(path: Path | str, what: str, fix: str) -> NoReturn:
    """Raise CheckpointError, the one error of this room: file, reason, fix, each safe to print."""
    raise CheckpointError(f"{shown(str(path), 300)}: {shown(what, 300)}; {fix}")


def file_size(path: Path) -> int:
    """Return the size of a regular file, or refuse what is none."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        refuse(path, f"cannot be read ({reason})", "check the path and the rights")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is a pipe or a device, no file"
        refuse(path, what, "name a file or a folder of a checkpoint")
    return found.st_size


def parse_json(raw: bytes, path: Path | str, what: str) -> dict[str, Any]:
    """Parse one JSON object out of bytes that are already bounded.

    CheckpointError when it is no JSON object, nested too deep, or of more parts than any real file
    has.
    """
    marks = sum(raw.count(mark) for mark in (b",", b"[", b"{"))
    if marks > MAX_JSON_MARKS:
        refuse(path, f"{what} has {marks:,} parts; {MAX_JSON_MARKS:,} is the limit",
               "this is no checkpoint's file; download it again")  # fmt: skip
    try:
        tree = json.loads(raw)
    except RecursionError:
        refuse(path, f"{what} is nested too deep", AGAIN)
    except ValueError as error:  # also UnicodeDecodeError and integers of thousands of digits
        refuse(path, f"{what} is not JSON ({error})", AGAIN)
    if b"\\ud" in raw.lower() and not _is_text(tree):
        refuse(path, f"{what} has text that is no Unicode", AGAIN)
    if not isinstance(tree, dict):
        refuse(path, f"{what} is a {type(tree).__name__}, not an object", "download it again")
    return tree


def _is_text(tree: Any) -> bool:
    """Whether every text can be written again; JSON may carry half of a surrogate pair."""
    try:
        json.dumps(tree, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file of a checkpoint; what the system refuses is refused in our words."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        refuse(path, f"cannot be read ({error.strerror})", "check the rights of the file")


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a whole small file, never more than ``limit`` bytes."""
    size = file_size(path)
    if size > limit:
        refuse(path, f"has {size:,} bytes; {limit:,} is the limit for this kind of file",
               "name another file, or download it again")  # fmt: skip
    with opened(path) as file:
        raw = file.read(size + 1)
    if len(raw) > size:
        refuse(path, "grew while it was read", "wait for the download to end")
    return raw


def read_start(path: Path, length: int) -> bytes:
    """Return the first bytes of a file."""
    with opened(path) as file:
        return file.read(length)


def root_of(folder: Path) -> Path:
    """Return the folder that links of a checkpoint may lead into.

    It is the folder itself. In the Hugging Face cache, files of ``snapshots/REVISION`` are links
    into ``blobs`` beside it, so there it is the cache folder of that one model.
    """
    resolved = folder.resolve()
    cache = resolved.parent.parent
    in_cache = resolved.parent.name == "snapshots" and (cache / "blobs").is_dir()
    return cache if in_cache else resolved


def member(folder: Path, name: object, named_in: str) -> Path:
    """Return a file of the folder by its plain name; refuse paths and links that lead out.

    CheckpointError when the name has path parts, or is a link to somewhere outside the checkpoint.
    """
    plain = isinstance(name, str) and name not in ("", ".", "..") and len(name) <= 255
    if not isinstance(name, str) or not plain or any(c in name for c in "/\\\0:"):
        refuse(folder, f"{named_in} names {name!r}, which is no plain file name",
               "a checkpoint's files lie beside each other; download it again")  # fmt: skip
    path = folder / name
    try:
        leads_out = not path.resolve().is_relative_to(root_of(folder))
    except (OSError, RuntimeError, ValueError):
        leads_out = True
    if leads_out:
        refuse(path, "is a link that leads out of the checkpoint's folder",
               "copy the file into the folder, or name the folder it is in")  # fmt: skip
    return path
