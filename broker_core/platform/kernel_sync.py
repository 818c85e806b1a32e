"""Syncs that the kernel does while this process goes on.

Own way: io_uring (Linux). Plain way: there are none, and a thread syncs.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Protocol

from broker_core.platform.ways import PLAIN


class KernelSync(Protocol):
    """Starts syncs and reports their end. For one thread at a time.

    Attributes:
        descriptor: Readable when a sync has ended, until `ended` is called.
        is_under_way: A sync was started whose end `ended` has not reported yet.
    """

    descriptor: int
    is_under_way: bool

    def start(self, descriptor: int) -> None:
        """Start a sync of a file's bytes, mapped ones too; no other may run.

        Raises:
            OSError: The system refuses to start one; this says nothing about the file.
        """

    def ended(self) -> bool:
        """Whether the running sync has ended; does not wait.

        Raises:
            OSError: The sync has failed.
        """

    def close(self) -> bool:
        """Wait for a running sync, whose result is lost, and close everything; False if closed already."""


def plain_open_kernel_sync() -> KernelSync:
    """A new one.

    Raises:
        OSError: The system has none, or does not allow it (ENOSYS, EPERM and others).
    """
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


open_kernel_sync: Callable[[], KernelSync] = plain_open_kernel_sync

if sys.platform == "linux" and not PLAIN:
    from broker_core.platform import io_uring

    open_kernel_sync = io_uring.KernelSync
