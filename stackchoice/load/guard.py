"""Child process that runs a command, and ends it with its whole group.

A server or a load generator starts workers of its own. They stay in one process group, which is
ended when standard input closes: on stop, and also when the parent is killed. ``-u NAME`` before
the command leaves a variable out of its environment.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil

from stackchoice.load.child import exit_with_parent

GRACE_S = 3.0


def main() -> None:
    """Run the command line until it ends or standard input closes; its exit status is kept."""
    command, environment = sys.argv[1:], dict(os.environ)
    while command[0] == "-u":
        environment.pop(command[1], None)
        command = command[2:]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, process_group=0, env=environment
        )
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", flush=True)
        sys.exit(127)
    exit_with_parent(lambda: _end(process))
    sys.exit(abs(process.wait()))


def _end(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":  # there are no process groups, only parents
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        end = time.monotonic() + GRACE_S
        while number == signal.SIGTERM and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)


if __name__ == "__main__":
    main()
