"""The timer store: the due time of each message of the wheel topic, in wheel, log and checkpoint. No event loop, no network.

    add     unit to the timer log (in memory) → slot of the wheel (in memory)
    behind  timer log → wheel → checkpoint, each synced before the next (`TimerStore.write`, on a thread)
    open    timer log scanned → wheel made from it → the queue offset to go on from (`recovery`)

A kill loses unwritten units, which are rebuilt from the messages of the wheel topic in the commit log.
All methods belong to one thread except `TimerStore.write` and `TimerWheel.pending`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.engine.schedule.timer.checkpoint import SlotProgress, TimerCheckpoint, checkpoint_file
from broker_core.engine.schedule.timer.layout import (
    BLANK_SLOTS,
    DELAY_MAX_MS,
    MAGIC_DEFAULT,
    MAGIC_DELETE,
    MAGIC_ROLL,
    SLOTS_TTL,
    UNIT,
    TimerUnit,
)
from broker_core.engine.schedule.timer.settings import TimerPaths
from broker_core.engine.schedule.timer.timer_log import PendingBytes, TimerLog, chain
from broker_core.engine.schedule.timer.wheel import DirtyPages, TimerWheel
from broker_core.engine.store.disk import Disk

NOT_WHOLE = 1 << 62
"""Flush position of a checkpoint while a lost timer log is being rebuilt: no log is that long."""

UNWRITTEN_BYTES_MAX = 32 * 1024 * 1024
"""With more unwritten bytes, no further message enters the wheel."""


Entry = tuple[int, int, int, int, bool, int, int]
"""A message that enters the wheel: offset in the queue of the wheel topic, time aligned by the sender's broker, slot of that
time, hash of the real topic, whether it cancels another message, physical offset and size of its record. No class, because a
turn makes a thousand.
"""


class TimerFlush(NamedTuple):
    """The content of one write, in order."""

    log_bytes: PendingBytes
    pages: DirtyPages
    checkpoint: TimerCheckpoint


class TimerStore:
    """Made by `recovery.open_timer_store`.

    Args:
        paths: The files.
        wheel: Filled.
        log: At its end.
        roll_slots: Slots ahead from which on messages are rolled (``timerRollWindowSlot``).
        read_ms: Slots before this time are done.
        queue_offset: First message of the wheel topic that is not stored here.
        checkpoint: As read.
        progress: Of an interrupted slot.
        redo_until: Messages of the wheel topic before this offset were stored here, but the log has lost some of them.
        waiting_by_topic: Hash of the real topic → pending messages.
        disk: The operating system.

    Attributes:
        waiting: Messages in the wheel, less cancels.
        waiting_by_topic: The same by the hash of the real topic.
        checkpoint: As last written.
        next_slot_ms: The next slot with units.
    """

    def __init__(
        self,
        paths: TimerPaths,
        wheel: TimerWheel,
        log: TimerLog,
        *,
        roll_slots: int,
        read_ms: int,
        queue_offset: int,
        checkpoint: TimerCheckpoint,
        progress: SlotProgress,
        redo_until: int,
        waiting_by_topic: dict[int, int],
        disk: Disk,
    ) -> None:
        self._checkpoint_file = checkpoint_file(paths.checkpoint, disk)
        self.wheel = wheel
        self.log = log
        self.precision_ms = wheel.precision_ms
        self._reach_slots = min(SLOTS_TTL - BLANK_SLOTS, DELAY_MAX_MS // wheel.precision_ms)
        self._roll_slots = roll_slots if 2 <= roll_slots <= self._reach_slots else self._reach_slots
        self.read_ms = read_ms
        self.queue_offset = queue_offset
        self.waiting = sum(waiting_by_topic.values())
        self.waiting_by_topic = waiting_by_topic
        self.checkpoint = checkpoint
        self._progress = progress
        self.redo_until = redo_until
        self.redo_read_ms = checkpoint.read_ms
        self.next_slot_ms: int | None = wheel.next_time(read_ms)

    # ---- putting in ----

    def aligned(self, time_ms: int) -> int:
        """Start of the slot that holds a time."""
        return time_ms - time_ms % self.precision_ms

    def add(self, entries: Sequence[Entry], now_ms: int) -> int:
        """Add messages to their slots, in order.

        Returns:
            How many had room, from the first on: a slot may still hold units of a whole turn later, and the disk may be slow.
        """
        if self.log.unwritten_bytes >= UNWRITTEN_BYTES_MAX and not self.is_redoing:
            return 0
        added = 0
        while added < len(entries):
            room = self.log.room()
            done = self._add(entries[added : added + room], now_ms)
            added += done
            if done < room:
                break
        return added

    def _add(self, entries: Sequence[Entry], now_ms: int) -> int:
        """The same for messages whose units fit into one file of the log."""
        write_ms, position = self.aligned(now_ms), self.log.next_position()
        low = write_ms - self._reach_slots * self.precision_ms
        beyond = self.rolls_from(now_ms)
        nearest, units, by_topic, add = beyond, list[bytes](), self.waiting_by_topic, self.wheel.add
        for _offset, _out_ms, due_ms, topic, is_delete, physical, record_bytes in entries:
            change, magic = (-1, MAGIC_DEFAULT | MAGIC_DELETE) if is_delete else (1, MAGIC_DEFAULT)
            slot_ms, rolls = due_ms, 0
            if due_ms >= beyond:
                slot_ms, rolls, magic = write_ms + self._step(due_ms - beyond), change, magic | MAGIC_ROLL
            elif due_ms < low:
                slot_ms = low
            previous = add(slot_ms, position, position, change, rolls)
            if previous is None:
                break
            delay_ms = slot_ms - write_ms
            units.append(UNIT.pack(UNIT.size, previous, magic, write_ms, delay_ms, physical, record_bytes, topic, 0))
            position += UNIT.size
            nearest = min(nearest, slot_ms)
            self.waiting += change
            by_topic[topic] = by_topic.get(topic, 0) + change
        if units:
            self.log.append_many(b"".join(units))
            self.read_ms = min(self.read_ms, nearest)  # smaller after the clock was set back
            self.next_slot_ms = nearest if self.next_slot_ms is None else min(self.next_slot_ms, nearest)
        return len(units)

    def rolls_from(self, now_ms: int) -> int:
        """Messages of slots from this time on enter the wheel again, because they are due later than the wheel reaches."""
        return self.aligned(now_ms) + self._roll_slots * self.precision_ms

    def _step(self, beyond_ms: int) -> int:
        """How far ahead of now a message waits that is due so much later than the wheel reaches.

        Source: docs/spec/store.md §14.1 (roll).
        """
        is_last = beyond_ms < self._roll_slots // 3 * self.precision_ms
        return (self._roll_slots // 2 if is_last else self._roll_slots) * self.precision_ms

    @property
    def is_redoing(self) -> bool:
        """Whether a lost timer log is being rebuilt; nothing is delivered meanwhile."""
        return self.queue_offset < self.redo_until

    def congestion(self, slot_ms: int) -> int:
        """Messages in a slot, less cancels."""
        slot = self.wheel.slot(slot_ms)
        return 0 if slot is None else slot.messages

    # ---- taking out ----

    @property
    def next_due_ms(self) -> int | None:
        """When the next slot is due, at its end, so that none of its messages is early; None without pending messages."""
        return None if self.next_slot_ms is None else self.next_slot_ms + self.precision_ms

    def units(self, slot_ms: int) -> Iterator[tuple[int, TimerUnit]]:
        """Units of a slot with their positions, the newest first."""
        slot = self.wheel.slot(slot_ms)
        return iter(()) if slot is None else chain(self.log, slot)

    def left(self, slot_ms: int, position: int, unit: TimerUnit) -> None:
        """Record that a unit of a slot is done, and all earlier ones of the slot."""
        self._progress = SlotProgress(slot_ms, position, unit.physical_offset)
        self._count(unit.topic_hash, 1 if unit.is_delete else -1)

    def slot_done(self, slot_ms: int) -> None:
        """Record that a whole slot is done."""
        self.wheel.clear(slot_ms)
        self.read_ms = max(self.read_ms, slot_ms + self.precision_ms)
        self.next_slot_ms = self.wheel.next_time(self.read_ms)

    def pass_time(self, now_ms: int) -> None:
        """Record that no slot before now has pending units."""
        if self.is_redoing:
            return
        write_ms = self.aligned(now_ms)
        first = write_ms if self.next_slot_ms is None else min(self.next_slot_ms, write_ms)
        self.read_ms = max(self.read_ms, first)

    # ---- writing behind ----

    @property
    def writes(self) -> int:
        """Number of writes, over all starts."""
        return self.checkpoint.counter

    def flush(self, now_ms: int) -> TimerFlush | None:
        """The content of the next write; None when nothing has changed."""
        pending, pages = self.log.unwritten(), self.wheel.dirty()
        before = self.checkpoint
        if not pending.data and not pages.numbers and not pages.is_whole and self._says(before):
            return None
        read_ms, position, offset = self.read_ms, pending.position + len(pending.data), self.queue_offset
        if self.is_redoing:
            read_ms, position, offset = self.redo_read_ms, NOT_WHOLE, self.redo_until
        checkpoint = TimerCheckpoint(
            read_ms, position, offset, offset, before.state_version, now_ms, before.counter + 1, self._progress
        )
        return TimerFlush(pending, pages, checkpoint)

    def write(self, flush: TimerFlush) -> None:
        """Write and sync; on any thread, one at a time.

        Raises:
            OSError: It failed.
        """
        self.log.write(flush.log_bytes)
        self.wheel.write(flush.pages)
        self._checkpoint_file.write(flush.checkpoint.encode())

    def written(self, flush: TimerFlush) -> None:
        """Record that `write` succeeded."""
        self.log.was_written(flush.log_bytes)
        self.wheel.was_written()
        self.checkpoint = flush.checkpoint

    def not_written(self, flush: TimerFlush) -> None:
        """Record that `write` failed; the next flush writes the same again."""
        self.wheel.not_written(flush.pages)

    def clean(self, log_min: int) -> int:
        """Delete timer log files whose records the commit log has deleted; returns how many. Not while `write` runs."""
        return self.log.remove_before(self.log.outlived_before(log_min))

    def _count(self, topic_hash: int, change: int) -> None:
        self.waiting += change
        messages = self.waiting_by_topic.get(topic_hash, 0) + change
        if messages:
            self.waiting_by_topic[topic_hash] = messages
        else:
            self.waiting_by_topic.pop(topic_hash, None)

    def _says(self, checkpoint: TimerCheckpoint) -> bool:
        said = (checkpoint.read_ms, checkpoint.queue_offset, checkpoint.progress)
        return said == (self.read_ms, self.queue_offset, self._progress)
