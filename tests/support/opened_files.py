"""`OpenedFile`: how often a file was opened by this process, by whatever library."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_IN_OPEN = 0x20
_EVENT_BYTES = 16
"""Of one `struct inotify_event` of a watched file, which has no name (inotify(7))."""


class OpenedFile:
    """A file that is watched by the kernel; to be closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self._events, os.fsencode(path), _IN_OPEN) >= 0, os.strerror(ctypes.get_errno())

    def opened(self) -> int:
        """How often it was opened since the last call."""
        try:
            return len(os.read(self._events, 1 << 16)) // _EVENT_BYTES
        except BlockingIOError:
            return 0

    def close(self) -> None:
        os.close(self._events)
