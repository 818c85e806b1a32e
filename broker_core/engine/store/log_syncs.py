"""Group commit on an event loop: the kernel syncs the log while puts continue, and no thread competes with the loop.

    when_durable ──► a sync is started, if none is running ──► kernel ──► `descriptor` is readable ──► look
                                                                                                       │
              all waiters whose bytes lay before its start are answered, the next sync is started  ◄───┘

The flush thread syncs two files at once, and all if the system refuses. Both may sync at the same time, each with descriptors
of its own. The owner of the loop calls `look`.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable

from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.flush import FlushService
from broker_core.platform.kernel_sync import KernelSync

_NO_WORD_ABOUT_FILE = (errno.EAGAIN, errno.ECANCELED)
"""Errors of syncs that were not done; after a failed write the flush thread's descriptor would report it."""

_log = logging.getLogger(__name__)


class LogSyncs:
    """Syncs of one commit log. All methods belong to one thread, `close` to the last that uses it.

    ``descriptor`` is readable when `look` has something to do. ``service`` keeps the waiters and watches their timeouts.
    """

    def __init__(self, log: CommitLog, service: FlushService, kernel: KernelSync) -> None:
        self._commit_log = log
        self._service = service
        self._kernel = kernel
        self._is_off = False
        self._file = -1
        self._base = -1
        self._end = 0
        self.descriptor = kernel.descriptor

    def when_durable(self, physical_end: int, done: Callable[[bool], None]) -> None:
        """As `FlushService.when_durable`; ``done`` may also run in this thread, even within this call."""
        if physical_end <= self._commit_log.flushed:
            done(True)
        elif self._service.add_waiter(physical_end, done):
            self._start()

    def look(self) -> None:
        """If a sync has ended, answer its waiters and start the next. Never waits."""
        try:
            if self._is_off or not self._kernel.ended():
                return
        except OSError as error:
            if error.errno not in _NO_WORD_ABOUT_FILE:
                self._service.fail(error)
                return
            self._switch_off(error)
            return
        self._service.synced(self._end)
        if self._service.has_waiters:
            self._start()

    def _start(self) -> None:
        if self._is_off:
            self._service.want_sync()
            return
        if self._kernel.is_under_way:
            return
        place = self._commit_log.unsynced_file()
        if place is None:
            self._service.want_sync()
            return
        base, end = place
        self._commit_log.unmap_written(base, end)
        try:
            self._kernel.start(self._descriptor_of(base))
        except OSError as error:
            self._switch_off(error)  # this is no word about the file, which nothing was done with
            return
        self._end = end

    def _switch_off(self, error: OSError) -> None:
        _log.info("the commit log is synced by a thread, as the kernel does not take syncs: %s", error.strerror)
        self._is_off = True
        self._service.want_sync()

    def _descriptor_of(self, base: int) -> int:
        if base != self._base:
            self._let_go()
            self._file, self._base = self._commit_log.open_again(base), base
        return self._file

    def _let_go(self) -> None:
        if self._base >= 0:
            os.close(self._file)
            self._base = -1

    def close(self) -> None:
        """Leave the rest to the flush thread; waits for a running sync. May be called again."""
        self._is_off = True
        if self._kernel.close():
            self._let_go()
            self._service.synced(self._commit_log.flushed)  # answers whom the thread has synced for in the meantime
            self._service.want_sync()
