"""The timers of one broker on its event loop: runs `TimerWork` when the next slot is due or a message arrives.

    start → timer store opened and recovered (on a thread) → turns on the loop; wheel, log and checkpoint written each second
    stop  → the slot that is being delivered, for a moment → wheel, log and checkpoint written

The commit log is synced before the checkpoint is written, because the checkpoint says which messages are delivered.
Messages are accepted while the store opens: they wait in the wheel topic.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from broker_core.engine.schedule.timer.checkpoint import TimerCheckpoint, checkpoint_file, load_checkpoint
from broker_core.engine.schedule.timer.precision import PrecisionHistory
from broker_core.engine.schedule.timer.recovery import has_slots_from, open_timer_store, read_found_precision
from broker_core.engine.schedule.timer.settings import TimerPaths, TimerSettings
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.timer_store import TimerFlush
from broker_core.engine.schedule.timer.work import TimerWork
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import Arrival, PutResult
from broker_core.engine.tables.set_aside import SetAside
from broker_core.errors import OrbitError, StoreError
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.names import WHEEL_TIMER_TOPIC

ARRIVAL_WAIT_MS = 5
"""How long arriving messages are gathered before they enter the wheel."""
WAIT_MAX_MS = 60_000
"""Longest sleep, after which the clock is read again: it may have been set forward."""
FAULT_WAIT_MS = 1_000
STOP_SLOT_SECONDS = 2
"""How long a stop delivers the current slot: RocketMQ, which may open the store next, has no progress within a slot."""
CLEAN_EVERY = 30
"""Flushes between two searches for timer log files that are no longer needed."""

logger = logging.getLogger(__name__)


class TimerService:
    """Opens the timer store, delivers, writes behind.

    ``delivered_to`` is called with topic and bytes of each delivery, ``precisions`` once for the content of the precision file,
    ``precisions_changed`` when that file must be written, ``written`` when the timer files were written, ``report``
    what a person must know of a file.

    Attributes:
        work: The timers; None until the timer store is open.
        fault: Why it could not be opened; empty if it could.
    """

    def __init__(
        self,
        root: Path,
        settings: TimerSettings,
        store: MessageStore,
        *,
        put: Callable[[MessageToStore], PutResult],
        delivered_to: Callable[[str, int], None],
        set_aside: SetAside,
        precisions: Callable[[], Mapping[str, Any]],
        precisions_changed: Callable[[], None],
        written: Callable[[], None],
        report: Callable[[str], None],
        clock: Callable[[], int],
        flush_interval_ms: int,
        disk: Disk | None = None,
    ) -> None:
        self._paths = TimerPaths(root)
        self._settings = settings
        self._store = store
        self._put = put
        self._delivered_to = delivered_to
        self._set_aside = set_aside
        self._precisions = precisions
        self._precisions_changed = precisions_changed
        self._written = written
        self._report = report
        self._clock = clock
        self._flush_seconds = flush_interval_ms / 1_000
        self._disk = disk or Disk()
        self.work: TimerWork | None = None
        self.history = PrecisionHistory(settings.precision_ms, [(0, settings.precision_ms)])
        self.fault = ""
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None
        self._is_gathering = False
        self._flushes = 0
        self._write_failed = False

    # ---- start and stop ----

    def start(self) -> None:
        """Open the timer store and begin; returns at once.

        Raises:
            CorruptStoreError: Neither a file nor its backup can be used.
        """
        precisions, log_end = self._precisions(), self._store.commit_log_max_offset
        ended_cleanly = self._store.ended_cleanly
        loaded = load_checkpoint(
            self._paths.checkpoint, self._disk, holds_timers=self._holds_timers, ended_cleanly=ended_cleanly
        )
        if loaded.report:
            self._report(loaded.report)
        self._store.add_arrival_listener(self._arrived, (WHEEL_TIMER_TOPIC,))
        opened = partial(self._open, log_end, precisions, loaded.value or TimerCheckpoint())
        self._task = asyncio.create_task(self._run(opened), name="timers")

    def has_waiting(self) -> bool:
        """Whether messages wait for their time, as the files say that nobody has open.

        Raises:
            OSError: They cannot be read.
        """
        if not self._holds_timers():
            return False
        found = checkpoint_file(self._paths.checkpoint, self._disk).read().value or TimerCheckpoint()
        is_behind = found.queue_offset < self._store.max_offset(WHEEL_TIMER_TOPIC, 0)
        return is_behind or has_slots_from(self._paths, self._settings, self._disk, found.read_ms)

    def _holds_timers(self) -> bool:
        return self._store.max_offset(WHEEL_TIMER_TOPIC, 0) > 0

    async def stop(self) -> None:
        """Stop, with everything on disk."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._cancel_turns()
        if self.work is not None:
            await self._finish_slot(self.work)
            await self._flush(self.work)

    async def _finish_slot(self, work: TimerWork) -> None:
        """Deliver the rest of a slot; if time or store do not permit it, the next start does."""
        loop = asyncio.get_running_loop()
        end = loop.time() + STOP_SLOT_SECONDS
        try:
            while work.is_in_slot and loop.time() < end:
                if work.turn(self._clock()) != 0:
                    return
                await asyncio.sleep(0)
        except OSError as error:
            logger.warning("timers that are due are delivered after the next start: %s", error)

    async def _run(self, opened: Callable[[], tuple[TimerWork, bool]]) -> None:
        opening = asyncio.ensure_future(asyncio.to_thread(opened))
        try:
            # Shielded: a cancelled start must not leave a store half open.
            work, changed = await asyncio.shield(opening)
        except asyncio.CancelledError:
            (found,) = await asyncio.gather(opening, return_exceptions=True)
            if isinstance(found, tuple):
                self._opened(*found)  # and so `stop` writes what the start found
            raise
        except (OrbitError, OSError, ValueError, KeyError, TypeError) as error:
            self.fault = f"the timer store in {self._paths.log.parent} cannot be opened: {error}"
            logger.error("%s", self.fault)
            return
        self._opened(work, changed)
        self._turn()
        while True:
            await asyncio.sleep(self._flush_seconds)
            await self._flush(work)

    def _opened(self, work: TimerWork, precision_changed: bool) -> None:
        self.work = work
        if precision_changed:
            self._precisions_changed()

    def _open(self, log_end: int, precisions: Mapping[str, Any], checkpoint: TimerCheckpoint) -> tuple[TimerWork, bool]:
        source = StoreSource(self._store, log_end)
        found = None if precisions else read_found_precision(self._paths, self._settings, self._disk)
        self.history = PrecisionHistory.of_json(precisions, current_ms=self._settings.precision_ms, found_ms=found)
        opened = open_timer_store(
            self._paths, self._settings, source, self.history, checkpoint, now_ms=self._clock(), disk=self._disk
        )
        work = TimerWork(
            opened.store, source, self.history, put=self._put, delivered_to=self._delivered_to, set_aside=self._set_aside
        )
        return work, opened.precision_changed

    def precisions_json(self) -> dict[str, Any]:
        return self.history.to_json()

    # ---- turns ----

    def _arrived(self, _arrival: Arrival) -> None:
        if not self._is_gathering and self.work is not None and self._soon is None:
            # Not at once: a turn costs as much as five messages that enter the wheel.
            self._is_gathering = True
            self._wait(ARRIVAL_WAIT_MS)

    def turn_soon(self) -> None:
        """Run a turn in the loop's next iteration."""
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._cancel_turns()
        if self.work is None or self._task is None:
            return
        try:
            wait_ms = self.work.turn(self._clock())
        except OSError as error:
            logger.error("timers stand still for %d ms: %s", FAULT_WAIT_MS, error)
            wait_ms = FAULT_WAIT_MS
        if wait_ms == 0:
            self.turn_soon()
        else:
            self._wait(WAIT_MAX_MS if wait_ms is None else min(wait_ms, WAIT_MAX_MS))

    def _wait(self, wait_ms: int) -> None:
        loop = asyncio.get_running_loop()
        at = loop.time() + wait_ms / 1_000
        if self._timer is None or at < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_at(at, self._turn)

    def _cancel_turns(self) -> None:
        self._is_gathering = False
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- writing behind ----

    async def _flush(self, work: TimerWork) -> None:
        flush = work.store.flush(self._clock())
        if flush is None:
            return
        writing = asyncio.ensure_future(asyncio.to_thread(self._write, work, flush))
        try:
            done = await asyncio.shield(writing)
        except asyncio.CancelledError:
            self._settle(work, flush, done=await writing)
            raise
        self._settle(work, flush, done=done)
        self._flushes += 1
        if self._flushes % CLEAN_EVERY == 0:
            work.store.clean(self._store.commit_log_min_offset)

    def _write(self, work: TimerWork, flush: TimerFlush) -> bool:
        try:
            self._sync_deliveries()
            work.store.write(flush)
        except (OSError, StoreError) as error:
            if not self._write_failed:
                logger.warning("the timer files are not written, it is tried again: %s", error)
            self._write_failed = True
            return False
        self._write_failed = False
        return True

    def _sync_deliveries(self) -> None:
        synced: SimpleQueue[bool] = SimpleQueue()
        self._store.when_durable(self._store.commit_log_max_offset, synced.put)
        if not synced.get():
            raise StoreError(self._store.write_refusal or "the disk has not taken the delivered messages in time")

    def _settle(self, work: TimerWork, flush: TimerFlush, *, done: bool) -> None:
        if done:
            work.store.written(flush)
            self._written()
        else:
            work.store.not_written(flush)
