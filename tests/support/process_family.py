"""Which processes a test has started, and whether they end."""

from __future__ import annotations

import time
from collections.abc import Iterable

import psutil

END_SECONDS = 90.0


def descendants() -> set[psutil.Process]:
    """All processes below this one; take away those of tests before to know one's own."""
    return set(psutil.Process().children(recursive=True))


def left_running(processes: Iterable[psutil.Process], seconds: float = END_SECONDS) -> list[psutil.Process]:
    """Those that have not ended after a time. One that only its parent has not asked after has ended."""
    left, deadline = [one for one in processes if _runs(one)], time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = [one for one in left if _runs(one)]
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
