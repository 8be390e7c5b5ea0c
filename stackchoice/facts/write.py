"""Text files written whole: a reader sees the old one or the new one, never a part of either."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from stackchoice.errors import StackchoiceError

#: For ``read``: whatever is there may be replaced.
ANYTHING = "\0"


def text_at(path: Path | str) -> str | None:
    """Return what a file holds, None where none is or may be read."""
    try:
        return Path(path).read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None


def write_whole(
    path: Path | str, text: str, kind: type[StackchoiceError], *, read: str | None = ANYTHING,
    folders: bool = False,
) -> Path:  # fmt: skip
    """Write a text file; a link keeps pointing to it, and its rights stay.

    Parameters
    ----------
    kind
        What is raised.
    read
        What the caller saw there (:func:`text_at`). Something else by now is somebody's work.
    folders
        Make the folders above it where they are missing.

    Raises
    ------
    StackchoiceError
        Of that kind, when it cannot be written or was changed; what is there stays as it was.
    """
    path = Path(path)
    try:
        target = Path(os.path.realpath(path))
        if folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            mode = 0o644
            with contextlib.suppress(FileNotFoundError):
                mode = stat.S_IMODE(target.stat().st_mode)
            os.chmod(part, mode)
            if read != ANYTHING and text_at(target) != read:
                raise kind(
                    f"{path}: holds what was not read here, so somebody else wrote it; read it "
                    "again, or choose another name"
                )
            os.replace(part, target)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no usable name or text"
        raise kind(
            f"{path}: cannot be written ({reason}); choose another path, or free some space"
        ) from None
    return path
