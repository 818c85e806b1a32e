"""Limits of a container, read from trees of files as the kernel shows them."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from broker_core.machine_limits import kill_text, memory, memory_kills, processors

MIB = 1 << 20
UNBOUND = str((1 << 63) - 4096)


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = psutil.virtual_memory()._replace(available=64 << 30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(12)), raising=False)


def tree(root: Path, groups: str, mounts: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def version_2(root: Path, files: dict[str, str]) -> Path:
    """As `systemd-run --scope` makes it."""
    mount = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
    kept = {f"sys/fs/cgroup/user.slice/{name}": text for name, text in files.items()}
    return tree(root, "0::/user.slice/run.scope\n", mount, kept)


def version_1(root: Path, files: dict[str, str]) -> Path:
    """As in a container: the group's path is that of the host, its own folder is the top of the mount."""
    mounts = (
        "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs rw\n"
        "35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "32 31 0:29 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"
    )
    groups = "9:name=systemd:/docker/ab\n4:memory:/docker/ab\n1:cpu,cpuacct:/docker/ab\n0::/\n"
    return tree(root, groups, mounts, {f"sys/fs/cgroup/{name}": text for name, text in files.items()})


def test_a_machine_without_groups_leaves_what_it_has(tmp_path: Path):
    found = memory(tmp_path)
    assert (found.free_bytes, found.owner) == (64 << 30, "this machine")
    assert (processors(tmp_path), memory_kills(tmp_path)) == (12, 0)
    assert "by another program" in kill_text(tmp_path)


def test_a_group_of_version_2_leaves_its_limit_without_what_it_holds(tmp_path: Path):
    root = version_2(tmp_path, {
        "run.scope/memory.max": f"{1500 * MIB}\n", "run.scope/memory.high": "max\n",
        "run.scope/memory.current": f"{500 * MIB}\n",
        "run.scope/memory.stat": f"anon 5\ninactive_file {100 * MIB}\nactive_file {50 * MIB}\n",
        "run.scope/memory.events": "low 0\noom 3\noom_kill 2\n", "run.scope/cpu.max": "50000 100000\n",
    })  # fmt: skip
    found = memory(root)
    assert (found.free_bytes, found.limit_bytes) == (1150 * MIB, 1500 * MIB)
    assert "1,500 MiB" in found.owner
    assert "1,500 MiB" in kill_text(root)
    assert (processors(root), memory_kills(root)) == (1, 2)


def test_the_tightest_of_all_groups_around_counts(tmp_path: Path):
    root = version_2(tmp_path, {
        "run.scope/memory.max": "max\n", "run.scope/memory.high": f"{900 * MIB}\n", "run.scope/memory.current": "0\n",
        "run.scope/cpu.max": "max 100000\n", "memory.max": f"{800 * MIB}\n", "memory.current": f"{100 * MIB}\n",
        "cpu.max": "250000 100000\n",
    })  # fmt: skip
    assert (memory(root).free_bytes, memory(root).limit_bytes) == (700 * MIB, 800 * MIB)
    assert processors(root) == 3


def test_a_container_of_version_1_has_its_limits_at_the_top_of_its_mount(tmp_path: Path):
    root = version_1(tmp_path, {
        "memory/memory.limit_in_bytes": f"{700 * MIB}\n", "memory/memory.usage_in_bytes": f"{300 * MIB}\n",
        "memory/memory.stat": f"total_inactive_file {40 * MIB}\n", "memory/memory.oom_control": "under_oom 0\noom_kill 1\n",
        "cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n",
    })  # fmt: skip
    assert (memory(root).free_bytes, memory(root).limit_bytes) == (440 * MIB, 700 * MIB)
    assert (processors(root), memory_kills(root)) == (2, 1)


def test_a_group_without_limits_bounds_nothing(tmp_path: Path):
    root = version_1(tmp_path, {
        "memory/memory.limit_in_bytes": f"{UNBOUND}\n", "memory/memory.usage_in_bytes": "4096\n",
        "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n",
    })  # fmt: skip
    assert (memory(root).limit_bytes, processors(root)) == (None, 12)
