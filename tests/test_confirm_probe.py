"""The probe sees limits, not only the machine."""

from pathlib import Path

import psutil
import pytest

from stackchoice.confirm import probe_machine
from stackchoice.confirm.probe import Limits, cgroup_limits, read_bandwidth
from stackchoice.facts import Evidence


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_this_machine_is_probed() -> None:
    machine = probe_machine(32_000_000)
    assert machine.evidence is Evidence.MEASURED
    assert machine.working_set_bytes == 32_000_000
    assert 1 <= machine.logical_cores <= (psutil.cpu_count() or 1)
    assert machine.physical_cores is None or machine.physical_cores <= machine.logical_cores
    assert 0 < machine.memory_available_bytes <= machine.memory_total_bytes
    assert machine.read_gb_per_s_low <= machine.read_gb_per_s <= machine.read_gb_per_s_high
    assert machine.read_passes >= 5
    assert machine.cpu_name


def test_a_huge_working_set_is_clipped() -> None:
    assert probe_machine(10**15).working_set_bytes <= 256 * 2**20


def test_bandwidth_is_of_one_thread() -> None:
    process = psutil.Process()
    threads = process.num_threads()
    read_bandwidth(2**24)
    assert process.num_threads() == threads


def test_cgroup_2_takes_the_tightest_limit_on_the_way_up(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "self": "0::/outer/inner",
            "fs/outer/cpu.max": "150000 100000",
            "fs/outer/inner/cpu.max": "max 100000",
            "fs/outer/memory.max": "max",
            "fs/outer/inner/memory.max": "1000000",
            "fs/outer/inner/memory.current": "700000",
            "fs/outer/inner/memory.stat": "anon 1\ninactive_file 200000",
        },
    )
    limits = cgroup_limits(root / "self", root / "fs")
    assert limits == Limits(cores=1.5, memory_bytes=1_000_000, memory_free_bytes=500_000)


def test_cgroup_1_is_read_too(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "self": "4:memory:/job\n3:cpu,cpuacct:/job\n1:name=systemd:/x",
            "fs/cpu/job/cpu.cfs_quota_us": "50000",
            "fs/cpu/job/cpu.cfs_period_us": "100000",
            "fs/cpu/cpu.cfs_quota_us": "-1",
            "fs/memory/job/memory.limit_in_bytes": "4096",
            "fs/memory/job/memory.usage_in_bytes": "5000",
            "fs/memory/memory.limit_in_bytes": "9223372036854771712",
            "fs/memory/memory.usage_in_bytes": "1",
        },
    )
    limits = cgroup_limits(root / "self", root / "fs")
    assert limits == Limits(cores=0.5, memory_bytes=4096, memory_free_bytes=0)


@pytest.mark.parametrize("files", [{}, {"self": "0::/gone"}])
def test_no_readable_limit_is_no_limit(tmp_path: Path, files: dict[str, str]) -> None:
    root = tree(tmp_path, files)
    assert cgroup_limits(root / "self", root / "fs") == Limits()
