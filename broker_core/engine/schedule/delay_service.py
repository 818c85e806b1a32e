"""The delay levels of a broker: starts and stops delivery, keeps progress and overrides in files.

    every flushDelayOffsetInterval    log synced up to the last copy → delayOffset.json → orbitDelay.json
    stop                              delivery ends → log synced → both files

In this order a crash, also one of the machine, can repeat deliveries but lose none.

Source: docs/spec/broker.md §3.3, §3.5.

The delivered offset of each delay level: the table of ``delayOffset.json``.

    {"dataVersion":{…},"offsetTable":{"1":10,"3":9}}        level → next offset of queue level-1 of SCHEDULE_TOPIC_XXXX

``dataVersion`` exists if a 5.x broker wrote the file before. Pure state; writes no file.

Source: docs/spec/broker.md §3.5, docs/spec/store.md §7.6.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from broker_core.engine.nameserver.registration import DataVersion
from broker_core.engine.schedule.delay_console import DelayConsole
from broker_core.engine.schedule.delay_delivery import DelayDelivery
from broker_core.engine.schedule.level_queue import LevelQueue
from broker_core.engine.schedule.overrides import OVERRIDES_FILE, OVERRIDES_RULE, Override, Overrides
from broker_core.engine.schedule.timers import Alarm, CallTimers
from broker_core.engine.store.config_file import ConfigRule, object_in, whole_number
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.set_aside import SetAside
from broker_core.errors import CodecError, StoreError
from broker_core.protocol.message.record import read_head
from broker_core.protocol.names import SCHEDULE_TOPIC

PROGRESS_FILE = "delayOffset.json"
PROGRESS_RULE = ConfigRule(
    "every delayed message that is kept is delivered again",
    by_hand='{"offsetTable":{"LEVEL":NEXT OFFSET}}',
)

TICK_MS = 1_000
CLOCK_STEP_MS = 20
"""The wall clock was set if its distance from the timers' clock changed by more than this within a second."""

logger = logging.getLogger(__name__)


class DelayProgress:
    """Level → next queue offset to deliver.

    Attributes:
        offsets: As reached now.
        saved: Offsets that may be written: all earlier copies are on disk.
    """

    def __init__(self) -> None:
        self.offsets: dict[int, int] = {}
        self.saved: dict[int, int] = {}
        self._version: DataVersion | None = None

    def load(self, value: Mapping[str, Any]) -> None:
        """Load ``delayOffset.json``.

        Raises:
            CodecError: A level or an offset is not a number, or negative; nothing is loaded.
        """
        table, version = object_in(value, "offsetTable"), DataVersion.from_json(value.get("dataVersion"))
        offsets = {whole_number(level, "a level"): whole_number(at, "an offset") for level, at in table.items()}
        if wrong := [level for level, at in offsets.items() if level < 0 or at < 0]:
            raise CodecError(f"level {wrong[0]} has offset {offsets[wrong[0]]}, and no number of these is negative")
        self.offsets = offsets
        self.saved = dict(self.offsets)
        if "dataVersion" in value:
            self._version = version

    def save(self, offsets: Mapping[int, int], now_ms: int) -> None:
        """Record that the copies of all messages before ``offsets`` are on disk."""
        self.saved = dict(offsets)
        if self._version is not None:
            self._version = self._version.next(now_ms)

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"offsetTable": {str(level): self.saved[level] for level in sorted(self.saved)}}
        if self._version is not None:
            value["dataVersion"] = {**self._version.to_json(), "stateVersion": self._version.state_version}
        return value


class DelayService:
    """Delay levels. Belongs to the loop's thread. ``count`` is called with topic and bytes of each delivery.

    Attributes:
        delivery: Delivers; its ``levels`` are known after `start`.
        progress: Delivered offset of each level.
        overrides: Changes by a person.
        console: Figures and actions for a person.
    """

    def __init__(
        self,
        store: MessageStore,
        files: ConfigFiles,
        journal: ActionJournal,
        *,
        clock: Callable[[], int],
        timers: CallTimers,
        save_interval_ms: int,
        count: Callable[[str, int], None] = lambda _topic, _size: None,
        set_aside: SetAside | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._files = files
        self._timers = timers
        self._save_interval_ms = save_interval_ms
        self.progress = DelayProgress()
        self.overrides = Overrides()
        self.delivery = DelayDelivery(store, {}, self.overrides, clock=clock, timers=timers, count=count, set_aside=set_aside)
        self.console = DelayConsole(
            store, self.delivery, self.overrides, self.save_overrides, journal, clock=clock, timer_ms=timers.now_ms
        )
        self._is_lost = False
        """Whether the file of the progress is reported to be damaged."""
        self._alarm: Alarm | None = None
        self._drift_ms = 0.0
        self._saved_at_ms = 0.0
        self._saving: asyncio.Task[None] | None = None

    # ---- start and stop ----

    def start(self) -> None:
        """Load the files and begin to deliver, overdue messages at once.

        Raises:
            CorruptStoreError: Neither a file nor its backup can be used.
        """
        self._files.serve(PROGRESS_FILE, self.progress.to_json)
        self._files.serve(OVERRIDES_FILE, lambda: self.overrides.to_json(self.store.flushed_offset))
        self.load()
        self.store.add_arrival_listener(self.delivery.arrived, (SCHEDULE_TOPIC,))
        self._warn_of_long_levels()
        self._drift_ms = self._drift()
        self._saved_at_ms = self._timers.now_ms()
        self._alarm = self._timers.after(TICK_MS, self._tick)
        self.delivery.start()

    def load(self) -> None:
        """Load the files and deliver nothing: enough for reading. Raises as `start` does."""
        reports = len(self._files.reports)
        content = self._files.load(PROGRESS_FILE, self.progress.load, PROGRESS_RULE)
        self._is_lost = not content and len(self._files.reports) > reports
        self.delivery.levels.update(self._levels())
        self._files.load(OVERRIDES_FILE, partial(self.overrides.load, is_waiting=self._is_waiting), OVERRIDES_RULE)

    async def stop(self) -> None:
        """End delivery; the log is synced and the files are marked to be written."""
        self.delivery.stop()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
        if not self._is_changed():
            return
        try:
            await asyncio.to_thread(self.store.flush)
        except StoreError as error:
            logger.warning("the progress of delayed messages stays as last written, some are delivered again: %s", error)
            return
        self.progress.save(self.offsets(), self.clock())
        self._files.mark(PROGRESS_FILE)
        if self.delivery.overrides_changed:
            self._files.mark(OVERRIDES_FILE)

    def _levels(self) -> dict[int, LevelQueue]:
        """The levels of the table, and those of an earlier, longer table, while they have a queue."""
        table = self.store.delay_levels
        kept = [queue_id + 1 for topic, queue_id in self.store.queues() if topic == SCHEDULE_TOPIC]
        beyond = sorted(level for level in kept if level > table.count)
        if beyond:
            logger.warning(
                "messageDelayLevel has %d levels now, messages wait in the levels %s too; they are delivered when they are due",
                table.count, ", ".join(map(str, beyond)),
            )  # fmt: skip
        return {number: self._level(number) for number in [*range(1, table.count + 1), *beyond]}

    def _warn_of_long_levels(self) -> None:
        longest_ms, kept_hours = max(self.store.delay_levels.delays_ms), self.store.config.file_reserved_hours
        if longest_ms >= kept_hours * 3_600_000:
            logger.warning(
                "the longest delay level waits %d h, but records are kept for %d h (fileReservedTime): such messages may be "
                "deleted before they are due",
                longest_ms // 3_600_000, kept_hours,
            )  # fmt: skip

    def _level(self, number: int) -> LevelQueue:
        low, high = self.store.min_offset(SCHEDULE_TOPIC, number - 1), self.store.max_offset(SCHEDULE_TOPIC, number - 1)
        offset = self.progress.offsets.get(number)
        table = self.store.delay_levels
        level = LevelQueue(self.store, number, table.delay_ms(number), low, in_table=number <= table.count)
        if offset is None and high > low:
            self._tell_unknown(level, high)
        elif offset is not None and low <= offset <= high:
            level.offset = offset
        elif offset is not None:
            if offset > high:
                level.skip_due(self._files.loaded_ms(PROGRESS_FILE))
            text = f"config/{PROGRESS_FILE} has delay level {number} delivered up to {offset:,}"
            self._files.report(f"{text}, its queue holds {low:,} to {high:,}: it goes on at {level.offset:,}")
        return level

    def _tell_unknown(self, level: LevelQueue, high: int) -> None:
        name, low = PROGRESS_FILE, level.offset
        text = f"config/{name} has no progress of delay level {level.level}, its queue holds {low:,} to {high:,}"
        # After a crash the level may have got its first message after the last write of the file.
        was_delivered = self.store.ended_cleanly and level.count_due(self._files.loaded_ms(name)) > 0
        if was_delivered and not self._is_lost:
            self._files.report(f"{text}: all of it is delivered, what was delivered before too")
        else:
            logger.info("%s: all of it is delivered", text)

    def _is_waiting(self, physical_offset: int, override: Override) -> bool:
        """Whether the message of an override is at its place, and not delivered yet."""
        level = self.delivery.levels.get(override.level)
        record = self.store.record_at(physical_offset)
        if level is None or record is None or override.queue_offset < level.offset:
            return False
        head = read_head(record, 0)
        return (head.queue_id, head.queue_offset) == (level.queue_id, override.queue_offset)

    # ---- progress ----

    def offsets(self) -> dict[int, int]:
        """Level → next offset, of all levels that ever had a message; those of the file stay for the others."""
        reached = {number: level.offset for number, level in self.delivery.levels.items() if level.max_offset}
        return self.progress.offsets | reached

    def _is_changed(self) -> bool:
        return self.delivery.overrides_changed or self.offsets() != self.progress.saved

    def _tick(self) -> None:
        self._alarm = self._timers.after(TICK_MS, self._tick)
        drift_ms = self._drift()
        if abs(drift_ms - self._drift_ms) > CLOCK_STEP_MS:
            logger.info("the clock was set by %d ms; delayed messages are looked at again", drift_ms - self._drift_ms)
            self.delivery.wake()
        self._drift_ms = drift_ms
        timer_ms = self._timers.now_ms()
        if self._saving is None and timer_ms - self._saved_at_ms >= self._save_interval_ms:
            self._saved_at_ms = timer_ms
            if self._is_changed():
                self._saving = asyncio.create_task(self._save_and_log(), name="delay progress")
                self._saving.add_done_callback(self._saving_ended)

    def _saving_ended(self, _task: asyncio.Task[None]) -> None:
        self._saving = None

    def _drift(self) -> float:
        return self.clock() - self._timers.now_ms()

    async def _save_and_log(self) -> None:
        try:
            await self.save()
        except StoreError as error:
            logger.warning("the progress of delayed messages is not written, it is tried again: %s", error)

    async def save(self) -> None:
        """Write progress and overrides, once the log is synced up to the last delivery.

        Raises:
            StoreError: The log or a file cannot be written; the files are unchanged.
        """
        offsets, self.delivery.overrides_changed = self.offsets(), False
        try:
            await self.synced(self.delivery.copy_end)
            self.progress.save(offsets, self.clock())
            await self._files.write(PROGRESS_FILE)
            # Not before the progress is on disk: a cancelled message would be delivered after a crash.
            if self.overrides.forget_before(offsets) or len(self.overrides):
                await self._files.write(OVERRIDES_FILE)
        except BaseException:
            self.delivery.overrides_changed = True
            raise

    async def save_overrides(self) -> None:
        """Write the overrides alone, once the log is synced up to the last delivery.

        Raises:
            StoreError: The log or the file cannot be written.
        """
        await self.synced(self.delivery.copy_end)
        await self._files.write(OVERRIDES_FILE)

    async def synced(self, physical_end: int) -> None:
        """Wait until the log is on disk up to an offset.

        Raises:
            StoreError: The disk does not take it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        self.store.when_durable(physical_end, lambda done: _tell(loop, future, done))
        if not await future:
            raise StoreError(self.store.write_refusal or "the disk has not taken the delivered messages in time")


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future[bool], done: bool) -> None:
    """Carry an answer of the flush thread to the loop."""
    loop.call_soon_threadsafe(lambda: None if future.done() else future.set_result(done))
