"""Code of a model's answer, run in a process that can reach nothing.

The child closes every file, lowers its limits and gives up all system calls but those that
computing and printing need (seccomp, Linux on x86-64 and ARM64). It cannot open a file, reach a
network, start a process or outlive its seconds. Where a system has no such filter no code is run.
"""

import platform
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from stackchoice.confirm import sealed

SECONDS = 3


@cache
def why_off() -> str:
    """Return why code cannot be run here; an empty text where it can."""
    if not sys.platform.startswith("linux") or platform.machine() not in sealed.MACHINES:
        return f"no sealed process on {platform.system()} {platform.machine()}: code is not run"
    printed, error = run_code("print(6 * 7)")
    if error or printed.strip() != "42":
        return f"this system does not let a process be sealed ({error or 'no output'})"
    opened, _ = run_code("print(len(open('/etc/passwd').read()))")
    return "the sealed process could open a file: code is not run" if opened.strip() else ""


def run_code(code: str) -> tuple[str, str]:
    """Run Python and return what it printed and what went wrong (empty: nothing)."""
    command = [sys.executable, "-I", "-S", "-E", str(Path(sealed.__file__)), str(SECONDS)]
    # Into files, whose size is limited: a pipe could fill this process's memory.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            done = subprocess.run(command, input=code.encode("utf-8", "replace"), stdout=out,
                                  stderr=err, timeout=3 * SECONDS, env={}, cwd="/",
                                  check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return "", "did not end in time"
        except OSError as error:
            return "", f"could not be started ({error.strerror})"
        out.seek(0)
        err.seek(0)
        printed = out.read(sealed.MAX_OUTPUT).decode("utf-8", "replace")
        said = err.read(sealed.MAX_OUTPUT).decode("utf-8", "replace")
    if done.returncode == 0:
        return printed, ""
    if done.returncode < 0:
        return printed, f"was ended by signal {-done.returncode}"
    return printed, f"fails: {''.join(said.strip().splitlines()[-1:])[:200] or 'no message'}"
