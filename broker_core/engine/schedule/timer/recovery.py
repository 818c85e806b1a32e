"""Opens the timer store: pending units come from the timer log, the wheel is made from these, the rest from the wheel topic.

1. The log is read up to the first bytes that are no unit, and cut there.
2. Pending are the units whose slot is not before the checkpoint's read time and whose record the commit log holds. Of a slot
   that a stop interrupted these are the units after its progress, and its cancels.
3. If their chains do not fit a wheel of this precision (another precision, repeated units, a slot that is a whole turn of the
   wheel away), they are rewritten after a new file's start, and the old files are deleted.
4. Messages that the log lacks are read from the wheel topic, from the message after the last unit on. If the log has lost
   units that the checkpoint promises, messages delivered before the read time are not read again.

Source: docs/spec/store.md §14.1 (recovery). This loses no messages where a 5.x broker does (a damaged log, a stop of more than
a week).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from broker_core.engine.schedule.timer.checkpoint import NO_PROGRESS, SlotProgress, TimerCheckpoint
from broker_core.engine.schedule.timer.layout import (
    BLANK_SLOTS,
    DELAY_MAX_MS,
    MAGIC_DELETE,
    MAGIC_ROLL,
    NO_POSITION,
    SLOT,
    SLOT_TYPE,
    SLOTS_TTL,
    WHEEL_BYTES,
    TimerUnit,
)
from broker_core.engine.schedule.timer.precision import PrecisionHistory
from broker_core.engine.schedule.timer.settings import TimerPaths, TimerSettings
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.timer_log import TimerLog
from broker_core.engine.schedule.timer.timer_store import TimerStore
from broker_core.engine.schedule.timer.wheel import TimerWheel
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.record_heads import Bools, Int64s
from broker_core.platform import files, holes
from broker_core.protocol.message.record import QUEUE_OFFSET_POSITION

logger = logging.getLogger(__name__)

_READ_BYTES = 64 * 1024
_WRITE_BYTES = 4 * 1024 * 1024


class OpenedTimers(NamedTuple):
    """A timer store that was opened; ``precision_changed``: the precision history must be written."""

    store: TimerStore
    precision_changed: bool


class _Waiting(NamedTuple):
    """Columns of the pending units, by position."""

    position: Int64s
    slot_ms: Int64s
    previous: Int64s
    magic: Int64s
    write_ms: Int64s
    physical_offset: Int64s
    record_bytes: Int64s
    topic_hash: Int64s

    def take(self, rows: Int64s | Bools) -> _Waiting:
        return _Waiting(*(column[rows] for column in self))


def has_slots_from(paths: TimerPaths, settings: TimerSettings, disk: Disk, read_ms: int) -> bool:
    """Whether the wheel file of a store that is not open has slots from a time on; False without the file."""
    precision_ms = read_found_precision(paths, settings, disk)
    if precision_ms is None:
        return False
    first = max(read_ms // precision_ms, 1)
    return any(bool((slots["time"] >= first).any()) for slots in _slot_runs(paths.wheel))


def open_timer_store(
    paths: TimerPaths,
    settings: TimerSettings,
    source: StoreSource,
    history: PrecisionHistory,
    checkpoint: TimerCheckpoint,
    *,
    now_ms: int,
    disk: Disk,
) -> OpenedTimers:
    """Open and recover the timer files of a store; missing ones are made with the first flush.

    Raises:
        OSError: The files cannot be read or written.
        CorruptStoreError: Files of the timer log have different sizes.
    """
    log = TimerLog(paths.log, settings.log_file_bytes, disk)
    precision_ms = settings.precision_ms
    read_ms = checkpoint.read_ms
    waiting, last = _scan(log, source, read_ms)
    log.cut()
    progress = checkpoint.progress if _is_progress_of(log, checkpoint.progress) else NO_PROGRESS
    waiting = _behind(waiting, progress)
    low, high = source.queue_bounds()
    queue_offset = min(max(low, _offset_to_go_on(log, checkpoint, source, last)), high)
    start_ms = now_ms - now_ms % precision_ms
    last_precision = history.last_ms
    precision_changed = history.begin(high)
    waiting = _without_repeats(waiting)
    wanted = _in_reach(_at_precision(waiting, last_precision, history), start_ms, precision_ms)
    if wanted is not waiting or not _chains_hold(waiting, log.start, progress):
        logger.info("the timer log is written anew, with the %d units that wait", len(waiting.position))
        waiting = _written_anew(log, wanted, waiting.slot_ms, start_ms - SLOTS_TTL * precision_ms)
    wheel = TimerWheel(paths.wheel, precision_ms, disk)
    _fill(wheel, waiting)
    first_slot = int(waiting.slot_ms.min()) if len(waiting.slot_ms) else None
    aligned_read = read_ms - read_ms % precision_ms if read_ms else start_ms
    store = TimerStore(
        paths,
        wheel,
        log,
        roll_slots=settings.roll_slots,
        read_ms=aligned_read if first_slot is None else min(aligned_read, first_slot),
        queue_offset=queue_offset,
        checkpoint=checkpoint,
        progress=progress,
        redo_until=min(checkpoint.queue_offset, high) if queue_offset < checkpoint.queue_offset else 0,
        waiting_by_topic=_by_topic(waiting),
        disk=disk,
    )
    return OpenedTimers(store, precision_changed)


def found_precision(paths: TimerPaths, log: TimerLog) -> int | None:
    """Precision of the timer files, from slots that point to a unit; None if there are none."""
    if not paths.wheel.is_file() or paths.wheel.stat().st_size != WHEEL_BYTES:
        return None
    for slots in _slot_runs(paths.wheel):
        for slot in slots[np.flatnonzero(slots["time"] > 0)]:
            unit = log.unit(int(slot["last"]))
            if unit is not None and unit.slot_ms > 0 and unit.slot_ms % int(slot["time"]) == 0:
                return unit.slot_ms // int(slot["time"])
    return None


def _slot_runs(path: Path) -> Iterator[npt.NDArray[np.void]]:
    """Slots of a wheel file, without those in its holes."""
    with path.open("rb", buffering=0) as file:
        position = 0
        while position < WHEEL_BYTES:
            position = holes.next_data(file.fileno(), position, WHEEL_BYTES)
            if position == WHEEL_BYTES:
                return
            position -= position % SLOT.size
            data = files.read_at(file.fileno(), _READ_BYTES, position)
            yield np.frombuffer(data, SLOT_TYPE, len(data) // SLOT.size)
            position += len(data)


def read_found_precision(paths: TimerPaths, settings: TimerSettings, disk: Disk) -> int | None:
    """`found_precision` of files that are not open."""
    log = TimerLog(paths.log, settings.log_file_bytes, disk)
    for _run in log.runs():
        pass
    return found_precision(paths, log)


def _scan(log: TimerLog, source: StoreSource, read_ms: int) -> tuple[_Waiting, TimerUnit | None]:
    """The pending units, and the last unit of all."""
    parts: list[_Waiting] = []
    last_position = NO_POSITION
    log_min, log_end = source.log_min, source.log_end
    for position, units in log.runs():
        slot = units["write_ms"] + units["delay_ms"]
        physical = units["physical_offset"]
        rows = np.flatnonzero((slot >= read_ms) & (physical >= log_min) & (physical < log_end))
        last_position = position + (len(units) - 1) * units.itemsize
        chosen = units[rows]
        parts.append(
            _Waiting(
                position + rows * units.itemsize,
                slot[rows].astype(np.int64),
                *(
                    chosen[name].astype(np.int64)
                    for name in ("previous", "magic", "write_ms", "physical_offset", "record_bytes", "topic_hash")
                ),
            )
        )
    empty = _Waiting(*(np.zeros(0, np.int64) for _ in _Waiting._fields))
    waiting = _Waiting(*(np.concatenate(columns) for columns in zip(*(parts or [empty]), strict=True)))
    return waiting, log.unit(last_position) if last_position != NO_POSITION else None


def _offset_to_go_on(log: TimerLog, checkpoint: TimerCheckpoint, source: StoreSource, last: TimerUnit | None) -> int:
    """Queue offset of the first message that the log lacks."""
    behind_last = 0
    if last is not None:
        record = source.record(last.physical_offset, last.record_bytes)
        if record is not None:
            offset = int.from_bytes(record[QUEUE_OFFSET_POSITION : QUEUE_OFFSET_POSITION + 8])
            units = source.queue_units(offset, 1)
            if units and units[0] == (last.physical_offset, last.record_bytes):
                behind_last = offset + 1
    if log.end >= checkpoint.flush_position:
        return max(behind_last, checkpoint.queue_offset)
    logger.warning(
        "the timer log ends at %d, the checkpoint promises %d; what is missing is made again from the wheel topic",
        log.end, checkpoint.flush_position,
    )  # fmt: skip
    return behind_last


def _at_precision(waiting: _Waiting, made_with_ms: int, history: PrecisionHistory) -> _Waiting:
    """The units in slots of the current precision; the argument itself if they are."""
    if made_with_ms == history.current_ms and not (waiting.slot_ms % history.current_ms).any():
        return waiting
    slots = [history.after_change(slot, made_with_ms) for slot in waiting.slot_ms.tolist()]
    return waiting._replace(slot_ms=np.array(slots, np.int64))


def _in_reach(waiting: _Waiting, start_ms: int, precision_ms: int) -> _Waiting:
    """The units in slots that a wheel reaches from now on, backwards and forwards; the argument itself if they are."""
    low, high = start_ms - SLOTS_TTL * precision_ms, start_ms + (SLOTS_TTL - BLANK_SLOTS) * precision_ms
    too_late = waiting.slot_ms > start_ms + SLOTS_TTL * precision_ms
    if not too_late.any() and not (waiting.slot_ms < low).any():
        return waiting
    magic = np.where(too_late, waiting.magic | MAGIC_ROLL, waiting.magic)
    slots = np.where(too_late, high, np.maximum(waiting.slot_ms, low))
    return waiting._replace(slot_ms=slots, magic=magic)


def _without_repeats(waiting: _Waiting) -> _Waiting:
    """Each record once: the last unit counts."""
    count = len(waiting.position)
    _values, from_end = np.unique(waiting.physical_offset[::-1], return_index=True)
    return waiting if len(from_end) == count else waiting.take(np.sort(count - 1 - from_end))


def _is_progress_of(log: TimerLog, progress: SlotProgress) -> bool:
    """Whether the last unit of a slot's progress is still at its position."""
    unit = log.unit(progress.position)
    return unit is not None and (unit.slot_ms, unit.physical_offset) == (progress.slot_ms, progress.physical_offset)


def _behind(waiting: _Waiting, progress: SlotProgress) -> _Waiting:
    """The units after the progress of a slot; the argument itself if none is removed."""
    is_cancel = waiting.magic & (MAGIC_DELETE | MAGIC_ROLL) == MAGIC_DELETE
    done = (waiting.slot_ms == progress.slot_ms) & (waiting.position <= progress.position) & ~is_cancel
    return waiting.take(~done) if done.any() else waiting


def _chains_hold(waiting: _Waiting, log_start: int, progress: SlotProgress) -> bool:
    """Whether each unit leads to the one before it in its slot, or to nothing pending."""
    order = np.lexsort((waiting.position, waiting.slot_ms))
    position, slot, previous = waiting.position[order], waiting.slot_ms[order], waiting.previous[order]
    expected = np.full(len(order), NO_POSITION, np.int64)
    same = slot[1:] == slot[:-1]
    expected[1:][same] = position[:-1][same]
    leads_nowhere = previous < np.where(slot == progress.slot_ms, progress.position + 1, max(log_start, 0))
    return bool(np.where(expected == NO_POSITION, leads_nowhere, previous == expected).all())


def _written_anew(log: TimerLog, waiting: _Waiting, before_ms: Int64s, low_ms: int) -> _Waiting:
    """Write the units with new chains into new files, then delete the old ones.

    A crash in between leaves units twice, which the next start detects. Units keep their order, so that files outlive their
    records in order; those that are long overdue come first, by due time.
    """
    overdue = np.where(waiting.slot_ms <= low_ms, before_ms, np.iinfo(np.int64).max)
    waiting = waiting.take(np.lexsort((waiting.position, overdue)))
    start = log.skip_to_new_file()
    positions = np.empty(len(waiting.position), np.int64)
    last_of: dict[int, int] = {}
    for row, (slot_ms, magic, write_ms, physical, size, topic) in enumerate(
        zip(
            waiting.slot_ms.tolist(), waiting.magic.tolist(), waiting.write_ms.tolist(), waiting.physical_offset.tolist(),
            waiting.record_bytes.tolist(), waiting.topic_hash.tolist(), strict=True,
        )
    ):  # fmt: skip
        at_ms = slot_ms if slot_ms - write_ms > DELAY_MAX_MS else min(write_ms, slot_ms)
        unit = TimerUnit(last_of.get(slot_ms, NO_POSITION), magic, at_ms, slot_ms - at_ms, physical, size, topic)
        positions[row] = last_of[slot_ms] = log.append(unit)
        if log.unwritten_bytes > _WRITE_BYTES:
            _write(log)
    _write(log)
    log.remove_before(start)
    return waiting._replace(position=positions)


def _by_topic(waiting: _Waiting) -> dict[int, int]:
    hashes, rows = np.unique(waiting.topic_hash, return_inverse=True)
    messages = np.bincount(rows, weights=_changes(waiting), minlength=len(hashes)).astype(np.int64)
    return {topic: count for topic, count in zip(hashes.tolist(), messages.tolist(), strict=True) if count}


def _changes(waiting: _Waiting) -> Int64s:
    """Change of each unit to the message count of its slot."""
    return np.where(waiting.magic & MAGIC_DELETE, -1, 1).astype(np.int64)


def _write(log: TimerLog) -> None:
    pending = log.unwritten()
    log.write(pending)
    log.was_written(pending)


def _fill(wheel: TimerWheel, waiting: _Waiting) -> None:
    if not len(waiting.position):
        return
    waiting = waiting.take(np.lexsort((waiting.position, waiting.slot_ms)))
    slot, change = waiting.slot_ms, _changes(waiting)
    starts = np.flatnonzero(np.concatenate(([True], slot[1:] != slot[:-1])))
    ends = np.concatenate((starts[1:], [len(slot)])) - 1
    rolls = np.where(waiting.magic & MAGIC_ROLL, change, 0)
    wheel.put(
        slot[starts],
        waiting.position[starts],
        waiting.position[ends],
        np.add.reduceat(change, starts),
        np.add.reduceat(rolls, starts),
    )
