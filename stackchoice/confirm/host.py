"""The machine under an engine that runs here: system, driver, GPU, and what was sampled meanwhile.

All of it is optional: what a tool or a file does not tell stays unknown. Energy is reported only
where power was read.
"""

import contextlib
import csv
import platform
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Self

import psutil

INTERVAL_S = 0.5
QUERY_S = 10.0
#: Samples below this would make a mean power of one or two readings.
LEAST_POWER_SAMPLES = 5


def host_identity() -> dict[str, Any]:
    """Return operating system, and driver and GPUs where ``nvidia-smi`` tells them."""
    found: dict[str, Any] = {"operating_system": _system()}
    rows = nvidia_smi("name,driver_version")
    if rows:
        names = sorted({row[0] for row in rows})
        found |= {"gpu": ", ".join(names), "gpu_count": len(rows), "driver": rows[0][1]}
    return found


def _system() -> str:
    release = ""
    with contextlib.suppress(OSError):  # not every system has that file
        release = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return " ".join(filter(None, (platform.system(), platform.release(), release)))


def nvidia_smi(fields: str) -> list[list[str]]:
    """Ask ``nvidia-smi`` for fields of every GPU; empty where it is not there or fails."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        done = subprocess.run(
            [tool, f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
            capture_output=True, encoding="utf-8", errors="replace", timeout=QUERY_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    rows = [[cell.strip() for cell in row] for row in csv.reader(done.stdout.splitlines()) if row]
    return [row for row in rows if len(row) == fields.count(",") + 1]


class Sampler:
    """Samples memory and power while a load runs, in a thread that sleeps nearly all the time.

    Parameters
    ----------
    pid
        The engine's process; its children count. None: only GPUs.

    Notes
    -----
    GPU memory and power are of the whole device, so they are an upper bound for the engine where
    something else uses it. ``nvidia-smi`` gives MiB and W.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._pid = pid
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._resident = self._device = 0
        self._power: list[float] = []
        self._seconds = 0.0

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(QUERY_S + 2 * INTERVAL_S)
        self._seconds = time.perf_counter() - self._began

    def results(self) -> dict[str, Any]:
        """Return the fields of :class:`Results` that were sampled."""
        found: dict[str, Any] = {}
        if self._device:
            found |= {"peak_memory_bytes": self._device,
                      "peak_memory_of": "all GPUs, sampled with nvidia-smi"}  # fmt: skip
        elif self._resident:
            found |= {"peak_memory_bytes": self._resident,
                      "peak_memory_of": "the engine's processes, sampled"}  # fmt: skip
        if len(self._power) >= LEAST_POWER_SAMPLES:
            watts = sum(self._power) / len(self._power)
            found |= {"wall_power_w": watts, "energy_j": watts * self._seconds,
                      "energy_of": "all GPUs: mean of sampled power x time; not the whole "
                                   "machine"}  # fmt: skip
        return found

    def _run(self) -> None:
        gpus = bool(nvidia_smi("name"))
        while not self._end.is_set():
            self._resident = max(self._resident, _resident(self._pid))
            if gpus:
                self._gpus()
            self._end.wait(INTERVAL_S)

    def _gpus(self) -> None:
        rows = nvidia_smi("memory.used,power.draw")
        with contextlib.suppress(ValueError):  # "[N/A]" where a board does not tell
            self._device = max(self._device, sum(int(float(row[0])) for row in rows) * 2**20)
        with contextlib.suppress(ValueError):
            if rows:
                self._power.append(sum(float(row[1]) for row in rows))


def peak_resident(pid: int) -> int | None:
    """Return the high-water mark of a process's resident memory, where the system tells it."""
    try:
        memory = psutil.Process(pid).memory_info()
        status = Path(f"/proc/{pid}/status")
        for line in status.read_text("utf-8", "replace").splitlines() if status.is_file() else []:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (psutil.Error, OSError):
        return None
    return getattr(memory, "peak_wset", None)


def born(pid: int) -> float | None:
    """Return when a process started, Unix time in seconds; None where there is none any more."""
    with contextlib.suppress(psutil.Error, ValueError):  # a number below 0
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return process.create_time()
    return None


def listens(pid: int, port: int) -> bool | None:
    """Whether a process or a child of it listens on a port; None where the system does not tell."""
    try:
        process = psutil.Process(pid)
        family = (process, *process.children(recursive=True))
        ports = {c.laddr.port for p in family for c in p.net_connections() if c.status == "LISTEN"}
    except psutil.Error:
        return None
    return port in ports


def _resident(pid: int | None) -> int:
    if pid is None:
        return 0
    try:
        engine = psutil.Process(pid)
        return sum(p.memory_info().rss for p in (engine, *engine.children(recursive=True)))
    except psutil.Error:
        return 0
