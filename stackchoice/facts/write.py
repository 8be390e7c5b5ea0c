"""Files written whole: a reader sees the old one or the new one, never a part of either.

A write is made in a hidden part beside its target, which then takes the target's place. A process
that is killed meanwhile leaves the part, and the next write of that target takes it away: writers
hold the folder, so a part that is there when it is held belongs to nobody.
"""

import contextlib
import errno
import glob
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from stackchoice.errors import StackchoiceError

#: For ``read``: whatever is there may be replaced.
ANYTHING = "\0"
#: How the name of a part ends.
PART = ".stackchoice-part"
#: How long a writer waits for others before it goes on, s; a write takes milliseconds.
WAIT_S = 10.0
#: What a lock that somebody holds looks like.
_BUSY = (FileExistsError, PermissionError) if sys.platform == "win32" else (BlockingIOError,)


def ordinary(path: Path) -> Path:
    """Return the path of a file that ends: no pipe nobody may write to, no device without end.

    OSError when something else is there; what is missing, or a folder, is left to ``open``.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "a pipe or a device, no file", str(path))
    return path


def text_at(path: Path | str) -> str | None:
    """Return what a file holds, None where none is or may be read."""
    try:
        return Path(path).read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None


def write_whole(
    path: Path | str, text: str | bytes | Callable[[], str], kind: type[StackchoiceError], *,
    read: str | None = ANYTHING, folders: bool = False,
) -> Path:  # fmt: skip
    """Write a file; a link keeps pointing to it, and its rights stay.

    Parameters
    ----------
    text
        What to write. A function is called while no other writer of this folder is at work, so
        that it may read what is there and give it back changed.
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
    with writing(path, kind):
        if folders:
            Path(os.path.realpath(path)).parent.mkdir(parents=True, exist_ok=True)
        with made_whole(path) as (part,):
            _fill(part, text() if callable(text) else text)
            if read != ANYTHING and text_at(path) != read:
                raise kind(
                    f"{path}: holds what was not read here, so somebody else wrote it; read it "
                    "again, or choose another name"
                )
    return path


def write_together(contents: Mapping[Path, bytes], kind: type[StackchoiceError]) -> None:
    """Write several files, none of them before all are there under hidden names.

    StackchoiceError of that kind, when one of them cannot be written.
    """
    with writing(", ".join(map(str, contents)), kind), made_whole(*contents) as made:
        for part, content in zip(made, contents.values(), strict=True):
            _fill(part, content)


@contextlib.contextmanager
def writing(path: Path | str, kind: type[StackchoiceError]) -> Iterator[None]:
    """Say of what the system refuses that it is this path which cannot be written.

    StackchoiceError of that kind.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no usable name or text"
        raise kind(
            f"{path}: cannot be written ({reason}); choose another path, or free some space"
        ) from None


@contextlib.contextmanager
def made_whole(*targets: Path, folder: bool = False) -> Iterator[list[Path]]:
    """Give an empty part for each target; all take their places in the end, or all go.

    Parameters
    ----------
    targets
        Files, or with ``folder`` folders that are missing or empty.
    """
    real = [Path(os.path.realpath(target)) for target in targets]
    with contextlib.ExitStack() as stack:
        for above in sorted({target.parent for target in real}):
            if stack.enter_context(_alone(above)):
                _sweep(target for target in real if target.parent == above)
        made: list[Path] = []
        try:
            for target in real:
                made.append(_part(target, folder=folder))
            yield made
            for part, target in zip(made, real, strict=True):
                _replace(part, target)
        finally:
            for part in made:
                _remove(part)


def _fill(part: Path, text: str | bytes) -> None:
    with part.open("wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
        file.flush()
        os.fsync(file.fileno())


def _part(target: Path, *, folder: bool) -> Path:
    prefix = f".{target.name[:40]}."
    if folder:
        made = Path(tempfile.mkdtemp(PART, prefix, target.parent))
        made.chmod(0o755)  # for a team, not for its writer alone
        return made
    mode = 0o644
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(ordinary(target).stat().st_mode)
    handle, name = tempfile.mkstemp(PART, prefix, target.parent)
    os.close(handle)
    part = Path(name)
    part.chmod(mode)
    return part


def _replace(part: Path, target: Path) -> None:
    if part.is_dir() and target.is_dir():
        target.rmdir()  # an empty one; Windows renames over none
    end = time.monotonic() + 1
    while True:
        try:
            return os.replace(part, target)
        except PermissionError:  # on Windows also while anybody reads the target
            if sys.platform != "win32" or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _sweep(targets: Iterator[Path]) -> None:
    """Take away what killed writers of these targets left; their folder is held."""
    for target in targets:
        for left in target.parent.glob(f"{glob.escape(f'.{target.name[:40]}.')}*{PART}"):
            _remove(left)


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Hold a folder against other writers of this package; say whether that was possible.

    It ends with the process, however that ends, and leaves no file. Some network file systems
    have no such lock: then a write is whole as ever, and only two at once are not told apart.
    """
    held, end = None, time.monotonic() + WAIT_S
    while held is None and time.monotonic() < end:
        try:
            held = _lock(folder)
        except _BUSY:
            time.sleep(0.002)
        except OSError:
            break
    try:
        yield held is not None
    finally:
        if held is not None:
            os.close(held)


def _lock(folder: Path) -> int:
    if sys.platform == "win32":  # the system deletes it with its last handle
        flags = os.O_CREAT | os.O_EXCL | os.O_TEMPORARY
        return os.open(folder / ".stackchoice.lock", flags)
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle
