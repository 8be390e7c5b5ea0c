"""Child processes that end with their parent, however the parent ends."""

import contextlib
import os
import site
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path


def spawn(module: str, *arguments: str, **popen: object) -> subprocess.Popen[bytes]:
    """Start ``python -m module`` with this interpreter and this copy of the package.

    The child has a session of its own, so that Ctrl-C or a notebook's interrupt reaches only the
    caller, and a pipe as standard input, whose end of file tells it that the caller is gone. The
    kernel's parent-death signal is not used: it fires when the *thread* that started the child
    ends, and a notebook may well start it from a short-lived one. ``-P`` keeps the files of the
    current folder from being imported.
    """
    environment = dict(os.environ)
    package_root = str(Path(__file__).resolve().parents[2])
    if package_root not in site.getsitepackages():  # run from a source tree
        paths = [package_root, environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-P", "-X", "utf8", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
        **popen,
    )


def exit_with_parent(clean_up: Callable[[], None] = lambda: None) -> None:
    """End this process, which is a child, as soon as its standard input is closed."""

    def watch() -> None:
        while os.read(0, 4096):  # not sys.stdin: its lock would hang the interpreter's own exit
            pass
        clean_up()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def stop(process: subprocess.Popen[bytes], grace_s: float = 5) -> None:
    """End a child: close its input, wait, and kill it if it is still there."""
    if process.stdin:
        with contextlib.suppress(BrokenPipeError):  # input that an ended child never read
            process.stdin.close()
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
