"""The timer store: the due time of each message of the wheel topic, in wheel, log and checkpoint. No event loop, no network.

    add     unit to the timer log (in memory) → slot of the wheel (in memory)
    behind  timer log → wheel → checkpoint, each synced before the next (`TimerStore.write`, on a thread)
    open    timer log scanned → wheel made from it → the queue offset to go on from (`recovery`)

A kill loses unwritten units, which are rebuilt from the messages of the wheel topic in the commit log.
All methods belong to one thread except `TimerStore.write` and `TimerWheel.pending`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from broker_core.engine.schedule.timer.checkpoint import SlotProgress, TimerCheckpoint, checkpoint_file
from broker_core.engine.schedule.timer.layout import (
    BLANK_SLOTS,
    DELAY_MAX_MS,
    MAGIC_DEFAULT,
    MAGIC_DELETE,
    MAGIC_ROLL,
    NO_POSITION,
    SLOTS_TTL,
    UNIT,
    UNIT_TYPE,
    TimerUnit,
)
from broker_core.engine.schedule.timer.settings import TimerPaths
from broker_core.engine.schedule.timer.timer_log import PendingBytes, TimerLog, chain
from broker_core.engine.schedule.timer.wheel import DirtyPages, TimerWheel
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.record_heads import Bools, Int64s

NOT_WHOLE = 1 << 62
"""Flush position of a checkpoint while a lost timer log is being rebuilt: no log is that long."""

UNWRITTEN_BYTES_MAX = 32 * 1024 * 1024
"""With more unwritten bytes, no further message enters the wheel."""


class QueueUnits(NamedTuple):
    """Units of the wheel topic's queue; one item a message."""

    physical_offset: Int64s
    record_bytes: Int64s


class TimerPlaces(NamedTuple):
    """The slots of messages; ``is_roll``: it enters the wheel again there, because it is due later than the wheel reaches."""

    slot_ms: Int64s
    is_roll: Bools

    def part(self, part: slice) -> TimerPlaces:
        """Some of the rows."""
        return TimerPlaces(self.slot_ms[part], self.is_roll[part])


class Columns(NamedTuple):
    """Messages that enter the wheel; one item a message."""

    topic_hash: Int64s
    is_delete: Bools
    physical_offset: Int64s
    record_bytes: Int64s

    def part(self, part: slice | Int64s) -> Columns:
        """Some of the rows."""
        return Columns(self.topic_hash[part], self.is_delete[part], self.physical_offset[part], self.record_bytes[part])


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

    def places(self, slots_ms: Int64s, now_ms: int) -> TimerPlaces:
        """Slots of messages; due ones get their own slots too, as far as the wheel reaches back.

        Source: docs/spec/store.md §14.1 (roll).
        """
        write_ms = self.aligned(now_ms)
        window, low = self._roll_slots * self.precision_ms, self._reach_slots * self.precision_ms
        beyond = slots_ms - (write_ms + window)
        is_roll = beyond >= 0
        if is_roll.any():
            is_last = beyond < self._roll_slots // 3 * self.precision_ms
            step = np.where(is_last, self._roll_slots // 2 * self.precision_ms, window)
            slots_ms = np.where(is_roll, write_ms + step, slots_ms)
        return TimerPlaces(np.maximum(slots_ms, write_ms - low), is_roll)

    def room_for(self, places: TimerPlaces) -> int:
        """How many of the messages can be added now, from the first on.

        A slot may still hold units of a whole turn later, and the disk may be slow.
        """
        if self.log.unwritten_bytes >= UNWRITTEN_BYTES_MAX and not self.is_redoing:
            return 0
        taken = self.wheel.are_taken(places.slot_ms)
        return int(taken.argmax()) if taken.any() else len(taken)

    def add(self, places: TimerPlaces, columns: Columns, now_ms: int) -> None:
        """Add messages to their slots, in order; no more than `room_for` permits."""
        done = 0
        while done < len(columns.topic_hash):
            count = min(self.log.room(), len(columns.topic_hash) - done)
            part = slice(done, done + count)
            self._add(places.part(part), columns.part(part), now_ms)
            done += count
        self.waiting += int(len(columns.is_delete) - 2 * columns.is_delete.sum())
        self.read_ms = min(self.read_ms, int(places.slot_ms.min()))  # smaller after the clock was set back
        first = int(places.slot_ms.min())
        self.next_slot_ms = first if self.next_slot_ms is None else min(self.next_slot_ms, first)

    def _add(self, places: TimerPlaces, columns: Columns, now_ms: int) -> None:
        """The same for messages whose units fit into one file of the log."""
        count = len(columns.topic_hash)
        position = self.log.next_position()
        positions = position + UNIT.size * np.arange(count, dtype=np.int64)
        order = np.argsort(places.slot_ms, kind="stable")
        slot_ms = places.slot_ms[order]
        starts = np.flatnonzero(np.concatenate(([True], slot_ms[1:] != slot_ms[:-1])))
        ends = np.concatenate((starts[1:], [count])) - 1
        in_order = positions[order]
        before = self.wheel.slots(slot_ms[starts])
        previous = np.empty(count, np.int64)
        previous[order[1:]] = in_order[:-1]
        previous[order[starts]] = before.last
        change = np.where(columns.is_delete, -1, 1)[order]
        rolls = np.where(places.is_roll[order], change, 0)
        first = np.where(before.last == NO_POSITION, in_order[starts], before.first)
        messages = before.messages + np.add.reduceat(change, starts)
        self.wheel.put(slot_ms[starts], first, in_order[ends], messages, np.add.reduceat(rolls, starts))
        write_ms = self.aligned(now_ms)
        units = np.zeros(count, UNIT_TYPE)
        units["size"] = UNIT.size
        units["previous"] = previous
        units["magic"] = MAGIC_DEFAULT + MAGIC_ROLL * places.is_roll + MAGIC_DELETE * columns.is_delete
        units["write_ms"] = write_ms
        units["delay_ms"] = places.slot_ms - write_ms
        units["physical_offset"] = columns.physical_offset
        units["record_bytes"] = columns.record_bytes
        units["topic_hash"] = columns.topic_hash
        self.log.append_many(units.tobytes())
        by_topic = self.waiting_by_topic
        hashes, rows = np.unique(columns.topic_hash, return_inverse=True)
        for topic, more in zip(hashes.tolist(), np.bincount(rows[order], weights=change).tolist(), strict=True):
            by_topic[topic] = by_topic.get(topic, 0) + int(more)

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
