"""What this process may use of the machine: memory and processors, as its control groups, limits and affinity leave it.

Sources: cgroups(7), proc_pid_mountinfo(5), and the kernel's documents on control groups, versions 1 and 2.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from broker_core.platform import machine

_ROOT: Final = Path("/")
_UNBOUND_BYTES: Final = 1 << 60
"""Version 1 writes no limit as a number of this size."""
_NAMES: Final = {1: ("memory.limit_in_bytes",), 2: ("memory.max", "memory.high")}
_USED: Final = {1: "memory.usage_in_bytes", 2: "memory.current"}
_KILLS: Final = {1: "memory.oom_control", 2: "memory.events"}
_GIVEN_BACK: Final = {1: ("total_inactive_file", "total_active_file"), 2: ("inactive_file", "active_file")}
"""Pages of files, which the kernel takes away where memory is short."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory that this process and its children may still take.

    Attributes:
        free_bytes: Without what the kernel would give back.
        limit_bytes: The bound of the control group that leaves the least; None: the machine leaves less.
    """

    free_bytes: int
    limit_bytes: int | None = None

    @property
    def owner(self) -> str:
        """What has no more, in words."""
        if self.limit_bytes is None:
            return "this machine"
        return f"the control group (container) of Orbit, which may use {self.limit_bytes >> 20:,} MiB,"


def memory(root: Path = _ROOT) -> Memory:
    """The memory that is free for this process; ``root`` holds ``proc`` and ``sys``."""
    found = [Memory(psutil.virtual_memory().available)]
    for group, version in _groups("memory", root):
        limits = [limit for name in _NAMES[version] if (limit := _number(group / name)) is not None and limit < _UNBOUND_BYTES]
        if limits:
            found.append(Memory(max(0, min(limits) - _held_bytes(group, version)), min(limits)))
    return min(found, key=lambda one: one.free_bytes)


def address_bytes() -> int | None:
    """The bound of one process's addresses (``ulimit -v``); None: there is none."""
    return machine.address_bytes()


def processors(root: Path = _ROOT) -> int:
    """Processors that this process may keep busy, at least one: by number, affinity and the quota of its control groups."""
    found = [os.cpu_count() or 1, machine.usable_processors()]
    found += [math.ceil(share) for group, version in _groups("cpu", root) if (share := _quota(group, version))]
    return max(1, min(found))


def memory_kills(root: Path = _ROOT) -> int:
    """How many processes of this control group the kernel has killed for lack of memory; 0 where it does not tell."""
    for group, version in _groups("memory", root):
        return _entries(group / _KILLS[version]).get("oom_kill", 0)
    return 0


def kill_text(root: Path = _ROOT) -> str:
    """Why the kernel may have killed a process of Orbit (signal 9), in words."""
    free = memory(root)
    if free.limit_bytes is None:
        return "killed by signal 9: by the system for lack of memory, or by another program"
    return (
        f"killed by signal 9, most likely for lack of memory: the control group (container) of Orbit may use "
        f"{free.limit_bytes >> 20:,} MiB"
    )


def _groups(controller: str, root: Path) -> Iterator[tuple[Path, int]]:
    """The folders of this process's control group and of those around it, innermost first, with their version."""
    paths = _paths(root)
    for words, (kind, options) in _mounts(root):
        version = 2 if kind == "cgroup2" else 1
        name = controller if version == 1 else ""
        if name not in (options if version == 1 else [""]) or name not in paths:
            continue
        mounted, top = root / words[4].lstrip("/"), words[3].rstrip("/")
        inside = paths[name].removeprefix(top).strip("/") if paths[name].startswith(top) else ""
        group = mounted / inside
        for folder in [group, *group.parents]:
            if folder.is_dir():
                yield folder, version
            if folder == mounted:
                break


def _paths(root: Path) -> dict[str, str]:
    """Controller of version 1, or nothing for version 2 → path of this process's group."""
    found: dict[str, str] = {}
    for line in _lines(root / "proc/self/cgroup"):
        _number_of, controllers, path = line.split(":", 2)
        found |= dict.fromkeys(controllers.split(","), path)
    return found


def _mounts(root: Path) -> Iterator[tuple[list[str], tuple[str, list[str]]]]:
    for line in _lines(root / "proc/self/mountinfo"):
        before, _dash, after = line.partition(" - ")
        words = after.split()
        if len(words) >= 3 and words[0] in {"cgroup", "cgroup2"}:
            yield before.split(), (words[0], words[2].split(","))


def _held_bytes(group: Path, version: int) -> int:
    entries = _entries(group / "memory.stat")
    return (_number(group / _USED[version]) or 0) - sum(entries.get(name, 0) for name in _GIVEN_BACK[version])


def _quota(group: Path, version: int) -> float | None:
    if version == 1:
        quota, period = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
    else:
        words = [*"".join(_lines(group / "cpu.max")).split(), "max", "max"]
        quota, period = _whole(words[0]), _whole(words[1])
    return quota / period if quota and period and quota > 0 else None


def _entries(path: Path) -> dict[str, int]:
    pairs = (line.partition(" ") for line in _lines(path))
    return {name: number for name, _space, text in pairs if (number := _whole(text)) is not None}


def _number(path: Path) -> int | None:
    return _whole("".join(_lines(path)))


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:  # “max”, or no such file
        return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not every system has control groups
        return []
