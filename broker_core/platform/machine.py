"""Figures of the machine, as far as one system has another call for them than the next.

need                own way                        plain way
memory_bytes        sysconf (Linux, macOS)         psutil
usable_processors   sched_getaffinity (Linux)      all of the machine
address_bytes       RLIMIT_AS (Linux)              None: no bound
lower_priority      nice (Linux, macOS)            psutil: the class below the normal one (Windows)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from broker_core.platform.ways import PLAIN


def plain_memory_bytes() -> int:
    """Memory of this machine."""
    import psutil

    total: int = psutil.virtual_memory().total
    return total


def plain_usable_processors() -> int:
    """Processors that this process may run on."""
    return os.cpu_count() or 1


def plain_address_bytes() -> int | None:
    """The bound of one process's addresses (``ulimit -v``); None: there is none."""
    return None


def plain_lower_priority(_niceness: int) -> None:
    """Let other processes go first. ``niceness``, 1 to 19, is how much; Windows knows one step."""
    import psutil

    if sys.platform == "win32":
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)


def plain_disk_usage(path: Path) -> tuple[int, int]:
    """Used and usable-plus-used bytes of the disk that holds ``path``; room for the superuser alone counts as neither."""
    import shutil

    found = shutil.disk_usage(path)
    return found.total - found.free, found.total


memory_bytes: Callable[[], int] = plain_memory_bytes
usable_processors: Callable[[], int] = plain_usable_processors
address_bytes: Callable[[], int | None] = plain_address_bytes
lower_priority: Callable[[int], object] = plain_lower_priority
disk_usage: Callable[[Path], tuple[int, int]] = plain_disk_usage

if sys.platform != "win32" and not PLAIN:

    def _memory_bytes() -> int:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def _disk_usage(path: Path) -> tuple[int, int]:
        found = os.statvfs(path)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        return used, used + found.f_bavail * found.f_frsize

    memory_bytes, lower_priority, disk_usage = _memory_bytes, os.nice, _disk_usage

if sys.platform == "linux" and not PLAIN:

    def _usable_processors() -> int:
        return len(os.sched_getaffinity(0))

    def _address_bytes() -> int | None:
        import resource

        soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
        return None if soft == resource.RLIM_INFINITY else soft

    usable_processors, address_bytes = _usable_processors, _address_bytes
