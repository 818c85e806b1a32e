"""Memory of a report: what its process, Java and the Python workers have for themselves."""

from __future__ import annotations

import psutil


def family_bytes(pid: int | None = None) -> int:
    """Bytes of a process and all that descend from it; 0 if it is gone. Mapped files are the system's and do not count.

    Args:
        pid: Id of the process; this one if None.
    """
    total = 0
    try:
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
    except psutil.Error:
        return 0
    for process in family:
        try:
            info = process.memory_info()
        except psutil.Error:
            continue  # it ended while the others were looked at
        total += info.rss - getattr(info, "shared", 0)
    return total
