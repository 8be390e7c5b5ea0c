"""Child of :mod:`stackchoice.confirm.sandbox`: seal this process, then run the code it was given.

Runs alone (``python -I -S sealed.py SECONDS``, code on standard input) and imports the standard
library only. The filter is a classic BPF program: the machine must be the expected one, a few calls
are allowed, every other one fails with EPERM.
"""

import ctypes
import platform
import struct
import sys

#: Machine -> (its audit number, calls that are allowed, by number), from the kernel's tables:
#: read, write, lseek, fstat on what is open; memory; clocks; leaving.
MACHINES = {
    "x86_64": (0xC000003E, (0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 25, 28, 60, 96, 202, 228,
                            230, 231, 318)),
    "aarch64": (0xC00000B7, (57, 62, 63, 64, 80, 98, 93, 94, 113, 115, 134, 135, 139, 169, 214,
                             215, 216, 222, 226, 233, 278)),
}  # fmt: skip
#: Modules that answers may import: they are loaded before the door closes.
ALLOWED = (
    "math", "re", "json", "string", "random", "itertools", "functools", "collections", "operator",
    "heapq", "bisect", "datetime", "decimal", "fractions", "statistics", "typing", "dataclasses",
)  # fmt: skip
MEMORY = 512 * 2**20
#: Bytes that may be printed.
MAX_OUTPUT = 65536
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050001, 0x80000000


def program(machine: str) -> bytes:
    """Return the filter of a machine, as the kernel wants it."""
    number, calls = MACHINES[machine]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, number), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    for call in calls:
        steps += [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, _DENY))
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def seal(seconds: int) -> None:
    """Lower the limits and give up everything but computing and printing.

    OSError where the kernel refuses, or there is none that could.
    """
    if sys.platform == "win32":
        raise OSError("Windows has no such limits")
    import os
    import resource

    for limit, value in (
        (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_NOFILE, 3),
        (resource.RLIMIT_FSIZE, MAX_OUTPUT), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        resource.setrlimit(limit, (value, value))
    os.closerange(3, 4096)
    steps = program(platform.machine())
    held = ctypes.create_string_buffer(steps)
    fprog = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    longs = [ctypes.c_ulong(v) for v in (1, 0, 0, 0)]
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, *longs) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), fprog,
                  ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:  # fmt: skip
        raise OSError(ctypes.get_errno(), "seccomp")


def main() -> None:
    """Read the code, seal, run it."""
    code = sys.stdin.buffer.read(2**20)
    for name in ALLOWED:
        __import__(name)
    seal(int(sys.argv[1]))
    exec(compile(code, "answer", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()


if __name__ == "__main__":
    main()
