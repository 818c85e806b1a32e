"""Memory of a report: of its process, Java and the Python workers."""

from __future__ import annotations

import psutil


def family_bytes(pid: int | None = None) -> int:
    """Bytes of a process (this one if None) and its descendants; 0 if it is gone. Shared mapped files do not count."""
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
            continue  # it ended meanwhile
        total += info.rss - getattr(info, "shared", 0)
    return total
