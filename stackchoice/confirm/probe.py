"""What this machine really offers: cores and memory after limits, and one-thread read bandwidth."""

import datetime as dt
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path
from typing import Literal

import numpy as np
import psutil
from pydantic import Field

from stackchoice.facts.datum import AsOf, Evidence, Record

#: Far beyond any last-level cache a larger set reads at the same speed and only takes longer.
MAX_WORKING_SET_BYTES = 256 * 2**20
_BUDGET_S = 0.3
_BUSY_WINDOW_S = 0.3


class ProbedMachine(Record):
    """The machine as this process finds it. GB is 10^9 bytes.

    Cores are those this process may use: its affinity mask, then the quota of its control groups.
    Memory is bounded by the control groups' limits too. The bandwidth is that of one thread
    reading ``working_set_bytes`` in order: the median of the passes, with the slowest and fastest.
    ``busy_share`` is the share of all CPU time that was in use just before the probe.
    """

    platform: str
    cpu_name: str
    physical_cores: int | None
    logical_cores: int
    memory_total_bytes: int = Field(gt=0, lt=2**60)
    memory_available_bytes: int = Field(ge=0, lt=2**60)
    working_set_bytes: int = Field(gt=0, lt=2**60)
    read_gb_per_s: float = Field(gt=0, allow_inf_nan=False)
    read_gb_per_s_low: float = Field(gt=0, allow_inf_nan=False)
    read_gb_per_s_high: float = Field(gt=0, allow_inf_nan=False)
    read_passes: int
    busy_share: float | None = None
    as_of: AsOf
    evidence: Literal[Evidence.MEASURED] = Evidence.MEASURED


class Limits(Record):
    """Control-group limits; None where there is none."""

    cores: float | None = None
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None


def probe_machine(working_set_bytes: int = 2**26) -> ProbedMachine:
    """Probe this machine in well under a second.

    Parameters
    ----------
    working_set_bytes
        What one decode step reads, usually the size of the weights. It decides whether caches or
        memory are measured; clipped to 256 MiB and to a quarter of the available memory.
    """
    busy = psutil.cpu_percent(interval=_BUSY_WINDOW_S) / 100
    limits = cgroup_limits()
    memory = psutil.virtual_memory()
    total = min(memory.total, limits.memory_bytes or memory.total)
    available = min(memory.available, total)
    if limits.memory_free_bytes is not None:
        available = min(available, limits.memory_free_bytes)
    size = max(2**16, min(working_set_bytes, MAX_WORKING_SET_BYTES, available // 4))
    rates = read_bandwidth(size)
    cpus = _affinity()
    logical = min(len(cpus), max(1, int(limits.cores or len(cpus))))
    physical = _physical(cpus)
    return ProbedMachine(
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu_name=_cpu_name(),
        physical_cores=min(physical, logical) if physical else None,
        logical_cores=logical,
        memory_total_bytes=total,
        memory_available_bytes=available,
        working_set_bytes=size,
        read_gb_per_s=statistics.median(rates),
        read_gb_per_s_low=min(rates),
        read_gb_per_s_high=max(rates),
        read_passes=len(rates),
        busy_share=busy,
        as_of=dt.date.today().isoformat(),
    )


def read_bandwidth(size_bytes: int) -> list[float]:
    """Return GB/s of each pass of one thread over ``size_bytes``.

    ``bitwise_or.reduce`` reads every word once, writes nothing, does one cheap vector instruction
    per load, and is no BLAS call, so no thread pool can inflate it.
    """
    words = np.ones(size_bytes // 8, dtype=np.int64)  # ones: zeros may share one physical page
    np.bitwise_or.reduce(words)
    rates: list[float] = []
    end = time.perf_counter() + _BUDGET_S
    # At least five passes, also where one takes long; small sets need no more than 200.
    while len(rates) < 5 or (len(rates) < 200 and time.perf_counter() < end):
        start = time.perf_counter()
        np.bitwise_or.reduce(words)
        rates.append(words.nbytes / (time.perf_counter() - start) / 1e9)
    return rates


def cgroup_limits(
    proc: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")
) -> Limits:
    """Read CPU and memory limits of this process's control groups, version 1 and 2.

    The tightest limit on the way up to the root counts. Nothing readable means no limit.
    """
    cores: list[float] = []
    memory: list[tuple[int, int]] = []
    for line in _read(proc).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            for group in _upwards(mount, path):
                cores += _quota(*(_read(group / "cpu.max").split() or ["max", "1"]))
                memory += _memory(group, "memory.max", "memory.current", "inactive_file")
        elif "cpu" in controllers.split(","):
            for group in _upwards(mount / "cpu", path):
                quota = _read(group / "cpu.cfs_quota_us")
                cores += _quota(quota, _read(group / "cpu.cfs_period_us"))
        elif controllers == "memory":
            for group in _upwards(mount / "memory", path):
                memory += _memory(
                    group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
                )
    return Limits(
        cores=min(cores, default=None),
        memory_bytes=min((limit for limit, _ in memory), default=None),
        memory_free_bytes=min((free for _, free in memory), default=None),
    )


def _upwards(mount: Path, path: str) -> list[Path]:
    group = mount / path.lstrip("/")
    return [p for p in (group, *group.parents) if p == mount or mount in p.parents]


def _quota(quota: str, period: str) -> list[float]:
    if quota.isdigit() and period.isdigit() and int(period):
        return [int(quota) / int(period)]
    return []  # "max" in version 2, -1 in version 1


def _memory(group: Path, limit: str, usage: str, reclaimable: str) -> list[tuple[int, int]]:
    """(limit, what is left of it), where page cache that can be dropped counts as left."""
    most, used = _read(group / limit), _read(group / usage)
    if not (most.isdigit() and used.isdigit()) or int(most) >= 2**60:  # v1 writes "none" that large
        return []
    stat = dict(line.split(" ", 1) for line in _read(group / "memory.stat").splitlines())
    left = int(most) - int(used) + int(stat.get(reclaimable, "0"))
    return [(int(most), max(0, left))]


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _physical(cpus: set[int]) -> int | None:
    """Count distinct cores among the usable logical ones; None where the system does not tell."""
    seen = set()
    for cpu in cpus:
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        ids = (_read(topology / "physical_package_id"), _read(topology / "core_id"))
        if "" in ids:
            return psutil.cpu_count(logical=False)
        seen.add(ids)
    return len(seen)


def _cpu_name() -> str:
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    if platform.system() == "Darwin":
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"],
            capture_output=True, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
        if done.stdout.strip():
            return done.stdout.strip()
    return platform.processor() or platform.machine() or "unknown"
