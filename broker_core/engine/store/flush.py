"""Background work of an open store: syncs of the log, writes of queues and checkpoint, checks of the disk.

Threads, all joined by `FlushService.close`:

    store-flush-log      syncs the log: at intervals, or at once for waiters (group commit: one sync for all)
    store-flush-queues   writes queues, now and then also the checkpoint; checks the disk's use, deletes old files
    store-flush-index    adds the keys of new messages to the index, more often, in smaller pieces
    store-flush-watch    answers waiters whose sync takes too long; does no I/O, so that a hung disk cannot stop it

After a failed sync nothing is synced any more: the kernel may have dropped the pages, and a second sync would report success
for lost bytes.

Source: docs/spec/store.md §8.5.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from broker_core.config import StoreConfig
from broker_core.engine.store.commit_log import CommitLog

_IDLE_WAIT_S = 3600.0
RUNS_MAX = 600
"""Bound on the syncs kept: five minutes of them at the usual interval."""
_INDEX_ROUNDS = 10
"""Writes of the index in one interval of the queues."""

_log = logging.getLogger(__name__)


def _wait_s(interval_ms: int) -> float:
    """The wait of an interval; a thread cannot wait for longer than three centuries, which a number of 64 bits may ask for."""
    return min(interval_ms / 1000, threading.TIMEOUT_MAX)


class Waiter(NamedTuple):
    """A caller to notify when bytes are durable."""

    physical_end: int
    deadline_s: float
    done: Callable[[bool], None]


class FlushRun(NamedTuple):
    """One sync of the log: its end (`time.monotonic`), its duration, and the bytes that it made durable."""

    ended_s: float
    took_s: float
    size: int


class FlushTargets(NamedTuple):
    """Functions that the threads call; an `OSError` of one stops all flushing."""

    write_queues: Callable[[], None]
    write_index: Callable[[], None]
    write_checkpoint: Callable[[], None]
    check_disk: Callable[[], None]
    failed: Callable[[OSError], None]


class FlushService:
    """The threads of one commit log."""

    def __init__(self, log: CommitLog, config: StoreConfig, targets: FlushTargets) -> None:
        self._commit_log = log
        self._config = config
        self._targets = targets
        self._waiters: deque[Waiter] = deque()
        self._sync_wanted = False
        self._wake = threading.Condition()
        self._watch = threading.Condition()
        self._closing = threading.Event()
        self._failed = False
        self.runs: deque[FlushRun] = deque(maxlen=RUNS_MAX)
        """The newest syncs of the log that wrote bytes."""
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
            for name, work in (
                ("store-flush-log", self._flush_log),
                ("store-flush-queues", self._flush_queues),
                ("store-flush-index", self._flush_index),
                ("store-flush-watch", self._watch_waiters),
            )
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def reconfigure(self, config: StoreConfig) -> None:
        """Take over changed intervals; the ones that run end as they began."""
        with self._watch:
            self._config = config
            self._watch.notify_all()

    def when_durable(self, physical_end: int, done: Callable[[bool], None]) -> None:
        """Call ``done(True)`` once the log is on the disk up to ``physical_end``; ``done(False)`` if that failed or is late.

        ``done`` runs in a thread of this service, or at once in the caller's if nothing is pending.
        """
        if physical_end <= self._commit_log.flushed:
            done(True)
            return
        if self.add_waiter(physical_end, done):
            self.want_sync()

    def add_waiter(self, physical_end: int, done: Callable[[bool], None]) -> bool:
        """Register ``done`` as in `when_durable` without a sync. False after a refusal, with ``done(False)`` called."""
        # No notify: the watching thread never sleeps longer than a new waiter's timeout.
        waiter = Waiter(physical_end, time.monotonic() + self._config.sync_flush_timeout_ms / 1000, done)
        with self._wake:
            refused = self._failed or self._closing.is_set()
            if not refused:
                self._waiters.append(waiter)
        if refused:
            done(False)
        return not refused

    def want_sync(self) -> None:
        """Have the thread sync the log for the waiters."""
        with self._wake:
            self._sync_wanted = True
            self._wake.notify()

    @property
    def has_waiters(self) -> bool:
        """Whether a caller waits for a sync."""
        return bool(self._waiters)

    def synced(self, end: int) -> None:
        """Note a sync outside of this service: everything before ``end`` is on the disk."""
        if not self._failed:
            self._commit_log.synced(end)
            self._answer_durable()

    def close(self) -> None:
        """Stop the threads and answer the waiters. Bytes that are not synced stay so."""
        self._closing.set()
        for condition in (self._wake, self._watch):
            with condition:
                condition.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._answer_durable()
        self._answer_all(durable=False)

    def _run(self, work: Callable[[], None]) -> None:
        """Root of each thread: after a fault of ours no sync is acknowledged, because nothing is synced without the thread."""
        try:
            work()
        except Exception as error:  # noqa: BLE001  root of a thread
            _log.exception("a thread of the store ended")
            self.fail(OSError(errno.EIO, f"fault in {threading.current_thread().name}: {error!r}"))

    # ---- store-flush-log -----------------------------------------------------------------------------------------------

    def _flush_log(self) -> None:
        last_thorough_s = time.monotonic()
        while (wanted := self._wait_for_work(_wait_s(self._config.flush_commit_log_interval_ms))) is not None:
            now_s = time.monotonic()
            is_thorough = now_s - last_thorough_s >= self._config.flush_commit_log_thorough_interval_ms / 1000
            due = wanted or is_thorough or self._commit_log.dirty_pages() >= self._config.flush_commit_log_least_pages
            if due and not self._sync_log():
                return
            if is_thorough:
                last_thorough_s = now_s

    def _wait_for_work(self, interval_s: float) -> bool | None:
        """Wait for the end of an interval or a requested sync; returns whether one is requested, None at the end."""
        with self._wake:
            if not self._sync_wanted and not self._closing.is_set():
                self._wake.wait(interval_s)
            wanted, self._sync_wanted = self._sync_wanted, False
        return None if self._closing.is_set() else wanted

    def _sync_log(self) -> bool:
        before, began_s = self._commit_log.flushed, time.monotonic()
        try:
            size = self._commit_log.flush() - before
        except OSError as error:
            self.fail(error)
            return False
        if size:
            ended_s = time.monotonic()
            self.runs.append(FlushRun(ended_s, ended_s - began_s, size))
        self._answer_durable()
        return True

    def fail(self, error: OSError) -> None:
        """Stop flushing for good: notify the store and all waiters."""
        with self._wake:
            if self._failed:
                return
            self._failed = True
        self._targets.failed(error)
        self._answer_all(durable=False)

    def _answer_durable(self) -> None:
        flushed = self._commit_log.flushed
        with self._wake:
            ready = [waiter for waiter in self._waiters if waiter.physical_end <= flushed]
            if ready:
                self._waiters = deque(waiter for waiter in self._waiters if waiter.physical_end > flushed)
        for waiter in ready:
            _answer(waiter, durable=True)

    def _answer_all(self, *, durable: bool) -> None:
        with self._wake:
            rest, self._waiters = self._waiters, deque()
        for waiter in rest:
            _answer(waiter, durable=durable)

    # ---- store-flush-watch ---------------------------------------------------------------------------------------------

    def _watch_waiters(self) -> None:
        while not self._closing.is_set():
            late, next_deadline_s = self._take_late(time.monotonic())
            for waiter in late:
                _log.warning("a sync of the commit log takes longer than %d ms", self._config.sync_flush_timeout_ms)
                _answer(waiter, durable=False)
            with self._watch:
                if not self._closing.is_set():
                    # Read under the lock, because a shorter timeout that comes just now must not be slept over.
                    timeout_s = self._config.sync_flush_timeout_ms / 1000
                    self._watch.wait(min(max(next_deadline_s - time.monotonic(), 0.001), timeout_s, _IDLE_WAIT_S))

    def _take_late(self, now_s: float) -> tuple[list[Waiter], float]:
        with self._wake:
            late: list[Waiter] = []
            while self._waiters and self._waiters[0].deadline_s <= now_s:
                late.append(self._waiters.popleft())
            return late, self._waiters[0].deadline_s if self._waiters else now_s + self._config.sync_flush_timeout_ms / 1000

    # ---- store-flush-queues --------------------------------------------------------------------------------------------

    def _flush_queues(self) -> None:
        last_thorough_s = last_check_s = time.monotonic()
        while not self._closing.wait(_wait_s(self._config.flush_consume_queue_interval_ms)):
            now_s = time.monotonic()
            try:
                if now_s - last_check_s >= self._config.clean_interval_ms / 1000:
                    last_check_s = now_s
                    self._targets.check_disk()
                if now_s - last_thorough_s >= self._config.flush_consume_queue_thorough_interval_ms / 1000:
                    last_thorough_s = now_s
                    self._targets.write_checkpoint()
                else:
                    self._targets.write_queues()
            except OSError as error:
                self.fail(error)
                return

    def _flush_index(self) -> None:
        while not self._closing.wait(_wait_s(self._config.flush_consume_queue_interval_ms) / _INDEX_ROUNDS):
            try:
                self._targets.write_index()
            except OSError as error:
                self.fail(error)
                return


def _answer(waiter: Waiter, *, durable: bool) -> None:
    try:
        waiter.done(durable)
    except Exception:  # noqa: BLE001  the caller's code, in the root of a thread
        _log.exception("somebody who waited for durable bytes could not be told")
