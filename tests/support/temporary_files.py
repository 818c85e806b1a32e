"""Where tests keep their files: in memory, because they wait for the syncs of a disk as long as they run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
FREE_BYTES = 8 << 30
"""What has to be free, which is several times what a run with all tests needs at its peak."""
USED_AT_MOST = 0.5
"""Part of the memory's file system that may be in use; brokers refuse messages above three quarters."""
_CHOSEN = "TMPDIR"


def keep_in_memory() -> None:
    """Let this process and its children make temporary files in memory, where there is room and nobody has chosen a folder."""
    if _CHOSEN not in os.environ and is_fit(MEMORY):
        os.environ[_CHOSEN] = str(MEMORY)
        tempfile.tempdir = None  # asked for again


def is_fit(folder: Path) -> bool:
    """Whether tests can keep their files in a folder: it has room, and programs in it may run."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    free, total = (blocks * found.f_frsize for blocks in (found.f_bavail, found.f_blocks))
    may_run = not found.f_flag & os.ST_NOEXEC
    return may_run and os.access(folder, os.W_OK) and free >= max(FREE_BYTES, total * (1 - USED_AT_MOST))
