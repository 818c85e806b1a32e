"""Reads of a queue: the status table of a get, and the search by time. They change neither log nor queue.

Source: docs/spec/store.md §11.1, §11.2, §11.5 (boundaries of 5.1 and later).
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from broker_core.config import StoreConfig
from broker_core.engine.store.cold_read import are_in_memory
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.consume_queue import PRE_BLANK_SIZE, UNIT, ConsumeQueue
from broker_core.engine.store.consume_queue_ext import is_address
from broker_core.engine.store.results import GetResult, GetStatus, LogPlace
from broker_core.platform import machine
from broker_core.protocol.message.record import MAGIC_V1, MAGIC_V2, store_timestamp_ms
from broker_core.protocol.queue_unit import QueueUnit

TagsFilter = Callable[[int], bool]
RecordFilter = Callable[[memoryview], bool]

NEAR_BYTES = 64 * 1024 * 1024
"""Records this close to the log's end are new, and in memory unless the machine lacks some."""

_PROBED_BYTES = 64 * 1024
"""An old record in memory counts for those that begin within these bytes after it."""

_SCANNED_UNITS_MIN = 800
_IDENTITY = struct.Struct(">ii20xq")
"""TOTALSIZE, MAGICCODE and PHYSICALOFFSET of a record: whether a unit leads to one."""


class GetLimits(NamedTuple):
    """Bounds of one get; the first record is always returned.

    Attributes:
        memory_reach_bytes: Records further from the log's end count as on disk.
        in_memory: Records and bytes at most, if the next record is in memory.
        on_disk: The same, if it is on disk.
    """

    memory_reach_bytes: int
    in_memory: tuple[int, int]
    on_disk: tuple[int, int]


class BatchLimits:
    """Bounds of gets from the four transfer settings and the memory of the machine."""

    def __init__(self, config: StoreConfig, memory_bytes: int) -> None:
        self._config = config
        self.memory_reach_bytes = memory_bytes * config.access_in_memory_max_ratio_percent // 100
        self._last: tuple[tuple[int, int, int], GetLimits] | None = None

    def of_get(self, max_count: int, max_bytes: int) -> GetLimits:
        """Bounds of a get of at most so many records and bytes."""
        asked = max_count, max_bytes, self.memory_reach_bytes
        last = self._last  # read once: any thread may replace it
        if last is None or last[0] != asked:
            self._last = last = asked, self._made(max_count, max_bytes)
        return last[1]

    def _made(self, max_count: int, max_bytes: int) -> GetLimits:
        config = self._config
        return GetLimits(
            self.memory_reach_bytes,
            (min(max_count, config.max_transfer_count_in_memory), min(max_bytes, config.max_transfer_bytes_in_memory)),
            (min(max_count, config.max_transfer_count_on_disk), min(max_bytes, config.max_transfer_bytes_on_disk)),
        )


def machine_memory_bytes() -> int:
    return machine.memory_bytes()


def early_answer(queue: ConsumeQueue | None, offset: int) -> GetResult | None:
    """Result of a get that needs no unit: the upper rows of the table. None if the queue must be scanned."""
    if queue is None or (end := queue.max_offset) == 0:
        return _nothing(GetStatus.NO_MESSAGE_IN_QUEUE, 0, queue)
    if offset < queue.min_offset:
        return _nothing(GetStatus.OFFSET_TOO_SMALL, queue.min_offset, queue)
    if offset == end:
        return _nothing(GetStatus.OFFSET_OVERFLOW_ONE, offset, queue)
    if offset > end:
        return _nothing(GetStatus.OFFSET_OVERFLOW_BADLY, end, queue)
    return None


def _nothing(status: GetStatus, next_offset: int, queue: ConsumeQueue | None) -> GetResult:
    bounds = (queue.min_offset, queue.max_offset) if queue else (0, 0)
    return GetResult(status, [], next_offset, *bounds, total_bytes=0, suggest_slave=False)


def units_to_scan(max_count: int) -> int:
    """Units that a get reads at most to find a match."""
    return max(_SCANNED_UNITS_MIN, max_count)


def scan(
    log: CommitLog,
    queue: ConsumeQueue,
    offset: int,
    units: bytes,
    limits: GetLimits,
    *,
    accepts: TagsFilter | None,
    damaged: list[int],
    matches: RecordFilter | None = None,
) -> GetResult:
    """Collect the records of units that were read at ``offset``; the last row of the table.

    Unlike RocketMQ this checks that a unit leads to a record. If not, only that message is skipped, and its queue offset is
    added to ``damaged``; if a whole file of the log is gone, the rest of its messages is skipped.
    """
    if not units:
        return _nothing(GetStatus.OFFSET_FOUND_NULL, queue.next_file_offset(offset), queue)
    empty_status = GetStatus.NO_MATCHED_MESSAGE
    records: list[memoryview] = []
    far_back: list[LogPlace] = []
    total_bytes = consumed = count = last_physical = 0
    skip_until = -1
    find = _Finder(log).find
    on_disk_before, far_back_before = log.end - limits.memory_reach_bytes, log.end - NEAR_BYTES
    for physical, size, tags_code in UNIT.iter_unpack(units):
        last_physical = physical
        if physical < skip_until:
            consumed += 1
            continue
        count_limit, bytes_limit = limits.in_memory if physical >= on_disk_before else limits.on_disk
        if count and (count >= count_limit or total_bytes + size > bytes_limit):
            break
        consumed += 1
        if accepts is not None and not _tag_is_wanted(queue, tags_code, accepts):
            empty_status = GetStatus.NO_MATCHED_MESSAGE
            continue
        record = find(physical, size)
        if record is None:
            empty_status = GetStatus.MESSAGE_WAS_REMOVING
            if is_gone(log, physical):
                skip_until = physical - physical % log.file_bytes + log.file_bytes
            elif size != PRE_BLANK_SIZE or physical:
                damaged.append(offset + consumed - 1)
            continue
        if matches is not None and not matches(record):
            empty_status = GetStatus.NO_MATCHED_MESSAGE
            continue
        records.append(record)
        if physical < far_back_before:
            far_back.append(LogPlace(physical, size))
        count += 1
        total_bytes += size
        skip_until = -1
    status = GetStatus.FOUND if records else empty_status
    return GetResult(
        status, records, offset + consumed, queue.min_offset, queue.max_offset, total_bytes, last_physical < on_disk_before,
        far_back,
    )  # fmt: skip


class _Finder:
    """Finds the records of one get. It looks up the log's table of files once for many, because that takes half of the time."""

    __slots__ = ("_base", "_end", "_file_bytes", "_is_here", "_log", "_mapped", "_near_from", "_probed_from")

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self._end, self._file_bytes = log.end, log.file_bytes
        self._near_from = log.end - NEAR_BYTES
        self._mapped: memoryview | None = None
        self._base, self._probed_from, self._is_here = -self._file_bytes, -_PROBED_BYTES, False

    def find(self, physical: int, size: int) -> memoryview | None:
        """The record of a unit; None if there surely is none.

        A record that is not in memory is not checked; after reading it into memory the caller gets it again.
        """
        position = physical - self._base
        if not 0 <= position < self._file_bytes:
            self._base = physical - physical % self._file_bytes
            self._mapped, position = self._log.map_at(self._base), physical - self._base
        mapped = self._mapped
        if mapped is None or not _IDENTITY.size <= size <= self._file_bytes - position or physical + size > self._end:
            return None
        if physical >= self._near_from or self._is_in_memory(physical):
            total, magic, own_offset = _IDENTITY.unpack_from(mapped, position)
            if total != size or own_offset != physical or magic not in (MAGIC_V1, MAGIC_V2):
                return None
        return mapped[position : position + size]

    def _is_in_memory(self, physical: int) -> bool:
        if not self._probed_from <= physical < self._probed_from + _PROBED_BYTES:
            self._probed_from, self._is_here = physical, are_in_memory(self._log, physical, 1)
        return self._is_here


def _tag_is_wanted(queue: ConsumeQueue, tags_code: int, accepts: TagsFilter) -> bool:
    code = queue.plain_code(tags_code) if is_address(tags_code) else tags_code
    return code is None or accepts(code)


def record_of_unit(log: CommitLog, physical_offset: int, size: int) -> memoryview | None:
    """The record of a unit; None if it is no record, or another one."""
    record = log.slice(physical_offset, size)
    if record is None or len(record) < _IDENTITY.size:
        return None
    total, magic, own_offset = _IDENTITY.unpack_from(record)
    is_it = total == size and own_offset == physical_offset and magic in (MAGIC_V1, MAGIC_V2)
    return record if is_it else None


def is_gone(log: CommitLog, physical_offset: int) -> bool:
    """Whether the log's file at an offset is deleted."""
    if physical_offset >= log.end:
        return False
    return physical_offset < log.min_offset or log.map_at(physical_offset - physical_offset % log.file_bytes) is None


def store_time_at(log: CommitLog, physical_offset: int) -> int:
    """Store time of the record at a physical offset; -1 without one."""
    record = log.record(physical_offset)
    return -1 if record is None else store_timestamp_ms(record)


def store_time(log: CommitLog, queue: ConsumeQueue, offset: int) -> int:
    """Store time of one message of a queue; -1 if it cannot be read."""
    unit = queue.unit(offset)
    if unit is None:
        return -1
    record = record_of_unit(log, unit.physical_offset, unit.record_bytes)
    return -1 if record is None else store_timestamp_ms(record)


def offset_by_time(log: CommitLog, queue: ConsumeQueue, timestamp_ms: int, *, upper: bool) -> int:
    """First offset stored at or after a time; with ``upper`` the last one at or before it.

    The result lies between min and max offset: for a time after the last message the max offset (lower bound) or the last
    message (upper bound), for a time before the first the min offset. Messages that cannot be read are skipped.

    After the clock was set back, several offsets may fit; the result is one whose message was stored at or after the time and
    the one before it was not (for the upper bound likewise).
    """
    wanted = timestamp_ms + 1 if upper else timestamp_ms
    low, high = queue.min_offset, queue.max_offset
    while low < high:
        middle = (low + high) // 2
        at, time_ms = _first_readable(log, queue, range(middle, high))
        if time_ms < 0 or time_ms >= wanted:
            high = middle
        else:
            low = at + 1
    if upper:
        return _first_readable(log, queue, range(low - 1, queue.min_offset - 1, -1))[0] if low > queue.min_offset else low
    return _first_readable(log, queue, range(low, queue.max_offset))[0]


def _first_readable(log: CommitLog, queue: ConsumeQueue, offsets: range) -> tuple[int, int]:
    """The first readable message of some queue offsets, and its store time; the range's end, and -1, without one."""
    for offset in offsets:
        time_ms = store_time(log, queue, offset)
        if time_ms >= 0:
            return offset, time_ms
    return max(offsets.stop, queue.min_offset), -1


def first_offset_at(queue: ConsumeQueue, physical_offset: int) -> int:
    """First queue offset whose record starts at or after a physical offset; the max offset without one.

    Source: docs/spec/store.md §4.4 (blanks count as before everything), §4.5 (as 5.x corrects it).
    """
    low, high = queue.min_offset, queue.max_offset
    # Mostly the result is one of the ends, and each look costs a read of the file.
    if low == high or _is_before(queue, high - 1, physical_offset):
        return high
    if not _is_before(queue, low, physical_offset):
        return low
    return low + bisect_left(range(low, high), True, key=lambda offset: not _is_before(queue, offset, physical_offset))


def _is_before(queue: ConsumeQueue, offset: int, physical_offset: int) -> bool:
    unit = unit_at_or_before(queue, offset) or _unit_behind_hole(queue, offset)
    return unit is None or unit.physical_offset < physical_offset


def unit_at_or_before(queue: ConsumeQueue, offset: int) -> QueueUnit | None:
    """The last unit up to an offset that is neither blank nor empty; None without one from the min offset on."""
    unit = queue.unit(offset)
    if unit is not None and 0 < unit.record_bytes < PRE_BLANK_SIZE:
        return unit  # nearly always
    found = (fields for fields in queue.units_backwards(offset) if 0 < fields[1] < PRE_BLANK_SIZE)
    return next((QueueUnit._make(fields) for fields in found), None)


def _unit_behind_hole(queue: ConsumeQueue, offset: int) -> QueueUnit | None:
    """The first unit after empty ones at the start of a queue, whose messages can still be found in the log."""
    for number in range(offset, queue.max_offset):
        unit = queue.unit(number)
        if unit is None or unit.record_bytes >= PRE_BLANK_SIZE:
            return None
        if unit.record_bytes > 0:
            return unit
    return None
