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
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from broker_core.engine.schedule.timer.checkpoint import NO_PROGRESS, SlotProgress, TimerCheckpoint
from broker_core.engine.schedule.timer.layout import (
    BLANK_SLOTS,
    DELAY_MAX_MS,
    MAGIC_DELETE,
    MAGIC_ROLL,
    NO_POSITION,
    SLOT,
    SLOTS_TTL,
    UNIT,
    WHEEL_BYTES,
    TimerUnit,
    unpack_unit,
)
from broker_core.engine.schedule.timer.precision import PrecisionHistory
from broker_core.engine.schedule.timer.settings import TimerPaths, TimerSettings
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.timer_log import PendingUnit, TimerLog
from broker_core.engine.schedule.timer.timer_store import TimerStore
from broker_core.engine.schedule.timer.wheel import TimerWheel
from broker_core.engine.store.disk import Disk
from broker_core.platform import files, holes
from broker_core.protocol.message.record import QUEUE_OFFSET_POSITION

logger = logging.getLogger(__name__)

_READ_BYTES = 64 * 1024
_NEVER = (1 << 63) - 1
_WRITE_BYTES = 4 * 1024 * 1024


class OpenedTimers(NamedTuple):
    """A timer store that was opened; ``precision_changed``: the precision history must be written."""

    store: TimerStore
    precision_changed: bool


class _Chains(NamedTuple):
    """The slots of units, which came by position.

    Attributes:
        slots: Time → positions of the first and the last unit, messages less cancels, and those of them that are rolled.
        by_topic: Hash of the real topic → messages less cancels.
        hold: Whether each unit leads to the one before it in its slot, or to nothing pending.
        ascend: Whether their records do, so that none has two units.
    """

    slots: dict[int, list[int]]
    by_topic: dict[int, int]
    hold: bool
    ascend: bool


def has_slots_from(paths: TimerPaths, settings: TimerSettings, disk: Disk, read_ms: int) -> bool:
    """Whether the wheel file of a store that is not open has slots from a time on; False without the file."""
    precision_ms = read_found_precision(paths, settings, disk)
    if precision_ms is None:
        return False
    first = max(read_ms // precision_ms, 1)
    return any(slot[0] >= first for slot in _slots(paths.wheel))


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
    precision_ms, read_ms, progress = settings.precision_ms, checkpoint.read_ms, checkpoint.progress
    units = partial(log.pending, read_ms, source.log_min, source.log_end)
    chains = _chains(units(progress), log, progress)
    log.cut()
    if not _is_progress_of(log, progress):
        has_counted, progress = progress.slot_ms >= max(read_ms, 1), NO_PROGRESS
        chains = _chains(units(progress), log, progress) if has_counted else chains
    low, high = source.queue_bounds()
    queue_offset = min(max(low, _offset_to_go_on(log, checkpoint, source)), high)
    start_ms = now_ms - now_ms % precision_ms
    reach = _Reach(history, history.last_ms, start_ms)
    precision_changed = history.begin(high)
    repeated = set() if chains.ascend else _repeated(units(progress))
    if repeated:
        chains = _chains(_without(repeated, units(progress)), log, progress)
    if not chains.hold or not reach.holds(chains.slots):
        chains = _written_anew(log, _without(repeated, units(progress)), reach)
    wheel = TimerWheel(paths.wheel, precision_ms, disk)
    for slot_ms, slot in chains.slots.items():
        wheel.add(slot_ms, *slot)
    first_slot = min(chains.slots, default=None)
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
        waiting_by_topic={topic: count for topic, count in chains.by_topic.items() if count},
        disk=disk,
    )
    return OpenedTimers(store, precision_changed)


def found_precision(paths: TimerPaths, log: TimerLog) -> int | None:
    """Precision of the timer files, from slots that point to a unit; None if there are none."""
    if not paths.wheel.is_file() or paths.wheel.stat().st_size != WHEEL_BYTES:
        return None
    for tick, _first, last, _messages, _magic in _slots(paths.wheel):
        unit = log.unit(last) if tick > 0 else None
        if unit is not None and unit.slot_ms > 0 and unit.slot_ms % tick == 0:
            return unit.slot_ms // tick
    return None


def _slots(path: Path) -> Iterator[tuple[int, int, int, int, int]]:
    """Slots of a wheel file, without those in its holes."""
    with path.open("rb", buffering=0) as file:
        position = 0
        while position < WHEEL_BYTES:
            position = holes.next_data(file.fileno(), position, WHEEL_BYTES)
            if position == WHEEL_BYTES:
                return
            position -= position % SLOT.size
            data = files.read_at(file.fileno(), _READ_BYTES, position)
            yield from SLOT.iter_unpack(data[: len(data) // SLOT.size * SLOT.size])
            position += len(data)


def read_found_precision(paths: TimerPaths, settings: TimerSettings, disk: Disk) -> int | None:
    """`found_precision` of files that are not open."""
    log = TimerLog(paths.log, settings.log_file_bytes, disk)
    for _unit in log.pending(0, 0, 0, NO_PROGRESS):
        pass
    return found_precision(paths, log)


def _chains(units: Iterable[PendingUnit], log: TimerLog, progress: SlotProgress) -> _Chains:
    slots: dict[int, list[int]] = {}
    by_topic: defaultdict[int, int] = defaultdict(int)
    hold = ascend = True
    newest = -1
    for position, slot_ms, (_size, previous, magic, _write, _delay, physical, _bytes, topic, _reserved) in units:
        slot = slots.get(slot_ms)
        if slot is None:
            slot = slots[slot_ms] = [position, position, 0, 0]
            hold &= previous < (progress.position + 1 if slot_ms == progress.slot_ms else log.start)
        elif previous != slot[1]:
            hold = False
        change = -1 if magic & MAGIC_DELETE else 1
        slot[1] = position
        slot[2] += change
        if magic & MAGIC_ROLL:
            slot[3] += change
        by_topic[topic] += change
        if physical <= newest:
            ascend = False
        newest = physical
    return _Chains(slots, by_topic, hold, ascend)


def _repeated(units: Iterable[PendingUnit]) -> set[int]:
    """Positions of units whose record has a later one, which counts."""
    last_of: dict[int, int] = {}
    repeated: set[int] = set()
    for position, _slot_ms, unit in units:
        physical = unit[5]
        if physical in last_of:
            repeated.add(last_of[physical])
        last_of[physical] = position
    return repeated


def _without(positions: set[int], units: Iterable[PendingUnit]) -> Iterator[PendingUnit]:
    return (unit for unit in units if unit[0] not in positions)


def _offset_to_go_on(log: TimerLog, checkpoint: TimerCheckpoint, source: StoreSource) -> int:
    """Queue offset of the first message that the log lacks."""
    behind_last, last = 0, log.unit(log.last)
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


@dataclass(frozen=True, slots=True)
class _Reach:
    """Where units of a precision wait in a wheel of the current one that begins at a time."""

    history: PrecisionHistory
    made_with_ms: int
    start_ms: int

    @property
    def low_ms(self) -> int:
        """The first slot."""
        return self.start_ms - SLOTS_TTL * self.history.current_ms

    @property
    def high_ms(self) -> int:
        """The last slot, less than a turn of the wheel behind the first."""
        return self.start_ms + (SLOTS_TTL - 1) * self.history.current_ms

    def holds(self, slots_ms: Collection[int]) -> bool:
        """Whether the units of slots stay where they are."""
        precision_ms = self.history.current_ms
        if self.made_with_ms != precision_ms or any(slot_ms % precision_ms for slot_ms in slots_ms):
            return False
        return not slots_ms or self.low_ms <= min(slots_ms) <= max(slots_ms) <= self.high_ms

    def place(self, slot_ms: int) -> tuple[int, bool]:
        """Slot for the units of a slot, and whether they are rolled there, because they are due beyond the wheel."""
        moved = self.history.after_change(slot_ms, self.made_with_ms)
        if moved > self.high_ms:
            return self.start_ms + (SLOTS_TTL - BLANK_SLOTS) * self.history.current_ms, True
        return max(moved, self.low_ms), False


def _is_progress_of(log: TimerLog, progress: SlotProgress) -> bool:
    """Whether the last unit of a slot's progress is still at its position."""
    unit = log.unit(progress.position)
    return unit is not None and (unit.slot_ms, unit.physical_offset) == (progress.slot_ms, progress.physical_offset)


def _written_anew(log: TimerLog, units: Iterable[PendingUnit], reach: _Reach) -> _Chains:
    """Write the units with new chains into new files, then delete the old ones.

    A crash in between leaves units twice, which the next start detects. Units keep their order, so that files outlive their
    records in order; those that are long overdue come first, by due time.
    """
    overdue, data = array("q"), bytearray()
    for _position, slot_ms, unit in units:
        overdue.append(slot_ms if reach.place(slot_ms)[0] <= reach.low_ms else _NEVER)
        data += UNIT.pack(*unit)
    logger.info("the timer log is rewritten with the %d units that wait", len(overdue))
    start = log.skip_to_new_file()
    in_order = (unpack_unit(data, UNIT.size * row) for row in sorted(range(len(overdue)), key=overdue.__getitem__))
    chains = _chains(_moved(log, in_order, reach), log, NO_PROGRESS)
    _write(log)
    log.remove_before(start)
    return chains


def _moved(log: TimerLog, units: Iterable[TimerUnit], reach: _Reach) -> Iterator[PendingUnit]:
    """Append units to the log, in their slots and with new chains."""
    last_of: dict[int, int] = {}
    for unit in units:
        slot_ms, is_rolled = reach.place(unit.slot_ms)
        magic = unit.magic | MAGIC_ROLL if is_rolled else unit.magic
        at_ms = slot_ms if slot_ms - unit.write_ms > DELAY_MAX_MS else min(unit.write_ms, slot_ms)
        moved = unit._replace(previous=last_of.get(slot_ms, NO_POSITION), magic=magic, write_ms=at_ms, delay_ms=slot_ms - at_ms)
        last_of[slot_ms] = position = log.append(moved)
        yield position, slot_ms, (UNIT.size, *moved, 0)
        if log.unwritten_bytes > _WRITE_BYTES:
            _write(log)


def _write(log: TimerLog) -> None:
    pending = log.unwritten()
    log.write(pending)
    log.was_written(pending)
