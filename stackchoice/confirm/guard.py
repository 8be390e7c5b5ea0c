"""Child process of :class:`CommandEngine`: run a command, and end it with its whole group.

A server starts workers of its own. They stay in one process group, which is ended when standard
input closes: on stop, and also when the parent is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

from stackchoice.load.child import exit_with_parent

GRACE_S = 3.0


def main() -> None:
    """Run the command line until it ends or standard input closes; its exit status is kept."""
    try:
        process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, process_group=0)
    except OSError as error:
        print(f"{sys.argv[1]}: {error.strerror}", flush=True)
        sys.exit(127)
    exit_with_parent(lambda: _end(process))
    sys.exit(abs(process.wait()))


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        end = time.monotonic() + GRACE_S
        while number == signal.SIGTERM and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)


if __name__ == "__main__":
    main()
