"""Reading a queue: the status table of a get, and the search by time. Works on a log and a queue, changes neither.

Source: store specification §11.1, §11.2, §11.5 (boundaries of 5.1 and later).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator

from broker_core.config import StoreConfig
from broker_core.message.record import MAGIC_V1, MAGIC_V2, store_timestamp_ms
from broker_core.store.commit_log import CommitLog
from broker_core.store.consume_queue import PRE_BLANK_SIZE, UNIT, UNIT_BYTES, ConsumeQueue
from broker_core.store.consume_queue_ext import is_address
from broker_core.store.results import GetResult, GetStatus, QueueUnit

TagsFilter = Callable[[int], bool]
RecordFilter = Callable[[memoryview], bool]

_SCANNED_UNITS_MIN = 800
_UNITS_AT_A_TIME = 3276
_IDENTITY = struct.Struct(">ii20xq")
"""TOTALSIZE, MAGICCODE and PHYSICALOFFSET of a record: whether a unit leads to one."""


class BatchLimits:
    """When a get has collected enough.

    Args:
        config: The four transfer settings.
        memory_bytes: Memory of the machine; what lies further back in the log counts as on disk.
    """

    def __init__(self, config: StoreConfig, memory_bytes: int) -> None:
        self._config = config
        self.memory_reach_bytes = memory_bytes * config.access_in_memory_max_ratio_percent // 100

    def is_full(self, *, count: int, total_bytes: int, next_bytes: int, max_count: int, max_bytes: int, on_disk: bool) -> bool:
        """Whether the next record must not be added; the first one always may."""
        if not count:
            return False
        config = self._config
        if on_disk:
            bytes_limit, count_limit = config.max_transfer_bytes_on_disk, config.max_transfer_count_on_disk
        else:
            bytes_limit, count_limit = config.max_transfer_bytes_in_memory, config.max_transfer_count_in_memory
        return count >= min(max_count, count_limit) or total_bytes + next_bytes > min(bytes_limit, max_bytes)


def machine_memory_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def early_answer(queue: ConsumeQueue | None, offset: int) -> GetResult | None:
    """Answer of a get that needs no unit: the upper rows of the table. None where the queue must be scanned."""
    if queue is None or queue.max_offset == 0:
        return _nothing(GetStatus.NO_MESSAGE_IN_QUEUE, 0, queue)
    if offset < queue.min_offset:
        return _nothing(GetStatus.OFFSET_TOO_SMALL, queue.min_offset, queue)
    if offset == queue.max_offset:
        return _nothing(GetStatus.OFFSET_OVERFLOW_ONE, offset, queue)
    if offset > queue.max_offset:
        return _nothing(GetStatus.OFFSET_OVERFLOW_BADLY, queue.max_offset, queue)
    return None


def _nothing(status: GetStatus, next_offset: int, queue: ConsumeQueue | None) -> GetResult:
    bounds = (queue.min_offset, queue.max_offset) if queue else (0, 0)
    return GetResult(status, [], next_offset, *bounds, total_bytes=0, suggest_slave=False)


def units_to_scan(max_count: int) -> int:
    """Units a get looks at before it gives up on finding a match."""
    return max(_SCANNED_UNITS_MIN, max_count)


def scan(
    log: CommitLog,
    queue: ConsumeQueue,
    offset: int,
    units: bytes,
    limits: BatchLimits,
    *,
    max_count: int,
    max_bytes: int,
    accepts: TagsFilter | None,
    damaged: list[int],
    matches: RecordFilter | None = None,
) -> GetResult:
    """Collect the records of units that were read at ``offset``; the last row of the table.

    Unlike RocketMQ this looks whether a unit leads to a record at all. Where it does not, only that message is passed over, and
    its queue offset is added to ``damaged``; where a whole file of the log is gone, the rest of its messages are.
    """
    if not units:
        return _nothing(GetStatus.OFFSET_FOUND_NULL, queue.next_file_offset(offset), queue)
    status = GetStatus.NO_MATCHED_MESSAGE
    records: list[memoryview] = []
    total_bytes = consumed = last_physical = 0
    skip_until = -1
    log_end, reach = log.end, limits.memory_reach_bytes
    for physical, size, tags_code in UNIT.iter_unpack(units):
        last_physical = physical
        if physical < skip_until:
            consumed += 1
            continue
        if limits.is_full(
            count=len(records), total_bytes=total_bytes, next_bytes=size, max_count=max_count, max_bytes=max_bytes,
            on_disk=log_end - physical > reach,
        ):  # fmt: skip
            break
        consumed += 1
        if accepts is not None and not _tag_is_wanted(queue, tags_code, accepts):
            status = GetStatus.FOUND if records else GetStatus.NO_MATCHED_MESSAGE
            continue
        record = record_of_unit(log, physical, size)
        if record is None:
            if not records:
                status = GetStatus.MESSAGE_WAS_REMOVING
            if is_gone(log, physical):
                skip_until = physical - physical % log.file_bytes + log.file_bytes
            elif size != PRE_BLANK_SIZE or physical:
                damaged.append(offset + consumed - 1)
            continue
        if matches is not None and not matches(record):
            status = GetStatus.FOUND if records else GetStatus.NO_MATCHED_MESSAGE
            continue
        records.append(record)
        total_bytes += size
        status = GetStatus.FOUND
        skip_until = -1
    return GetResult(
        status, records, offset + consumed, queue.min_offset, queue.max_offset, total_bytes, log_end - last_physical > reach
    )


def _tag_is_wanted(queue: ConsumeQueue, tags_code: int, accepts: TagsFilter) -> bool:
    code = queue.plain_code(tags_code) if is_address(tags_code) else tags_code
    return code is None or accepts(code)


def record_of_unit(log: CommitLog, physical_offset: int, size: int) -> memoryview | None:
    """The record that a unit leads to, None where that is no record, or another one."""
    record = log.slice(physical_offset, size)
    if record is None or len(record) < _IDENTITY.size:
        return None
    total, magic, own_offset = _IDENTITY.unpack_from(record)
    is_it = total == size and own_offset == physical_offset and magic in (MAGIC_V1, MAGIC_V2)
    return record if is_it else None


def is_gone(log: CommitLog, physical_offset: int) -> bool:
    """Whether the log's file at an offset is not there any more."""
    if physical_offset >= log.end:
        return False
    return physical_offset < log.min_offset or log.map_at(physical_offset - physical_offset % log.file_bytes) is None


def store_time_at(log: CommitLog, physical_offset: int) -> int:
    """Store time of the record that starts at a place of the log; -1 where none does."""
    record = log.record(physical_offset)
    return -1 if record is None else store_timestamp_ms(record)


def store_time(log: CommitLog, queue: ConsumeQueue, offset: int) -> int:
    """Store time of one message of a queue; -1 where it cannot be read."""
    unit = queue.unit(offset)
    if unit is None:
        return -1
    record = record_of_unit(log, unit.physical_offset, unit.record_bytes)
    return -1 if record is None else store_timestamp_ms(record)


def offset_by_time(log: CommitLog, queue: ConsumeQueue, timestamp_ms: int, *, upper: bool) -> int:
    """First offset stored at or after a time; with ``upper`` the last one at or before it.

    The answer lies between min and max offset: a time after the last message gives the max offset (lower bound) or the last
    message (upper bound), a time before the first gives the min offset. Messages that cannot be read are passed over.

    Where the clock was set back, several places may fit; the answer is one of them: the message there was stored at or after
    the time and the one before it was not (for the upper bound likewise).
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
    """The first of some queue offsets whose message can be read, and its store time; the range's end, and -1, if none can."""
    for offset in offsets:
        time_ms = store_time(log, queue, offset)
        if time_ms >= 0:
            return offset, time_ms
    return max(offsets.stop, queue.min_offset), -1


def first_offset_at(queue: ConsumeQueue, physical_offset: int) -> int:
    """First queue offset whose record starts at or behind a place in the log; the max offset where none does.

    Source: store specification §4.4 (blanks count as before everything), §4.5 (as 5.x corrects it).
    """
    low, high = queue.min_offset, queue.max_offset
    # Mostly the answer is one of the ends, and each look costs a read of the file.
    if low == high or _is_before(queue, high - 1, physical_offset):
        return high
    if not _is_before(queue, low, physical_offset):
        return low
    while low < high:
        middle = (low + high) // 2
        if _is_before(queue, middle, physical_offset):
            low = middle + 1
        else:
            high = middle
    return low


def _is_before(queue: ConsumeQueue, offset: int, physical_offset: int) -> bool:
    unit = unit_at_or_before(queue, offset) or _unit_behind_hole(queue, offset)
    return unit is None or unit.physical_offset < physical_offset


def unit_at_or_before(queue: ConsumeQueue, offset: int) -> QueueUnit | None:
    """The last unit up to an offset that is neither blank nor empty; None where there is none from the min offset on."""
    for unit in _units_backwards(queue, offset):
        if 0 < unit.record_bytes < PRE_BLANK_SIZE:
            return unit
    return None


def _unit_behind_hole(queue: ConsumeQueue, offset: int) -> QueueUnit | None:
    """For a queue whose first units are empty, the first that is not: what they were can still be found in the log."""
    for number in range(offset, queue.max_offset):
        unit = queue.unit(number)
        if unit is None or unit.record_bytes >= PRE_BLANK_SIZE:
            return None
        if unit.record_bytes > 0:
            return unit
    return None


def _units_backwards(queue: ConsumeQueue, offset: int) -> Iterator[QueueUnit]:
    unit = queue.unit(offset)
    if unit is not None:
        yield unit  # nearly always all that is asked for
    in_file = queue.file_bytes // UNIT_BYTES
    while offset > queue.min_offset:
        start = max(queue.min_offset, offset - _UNITS_AT_A_TIME, (offset - 1) // in_file * in_file)
        data = queue.units(start, offset - start)
        yield from (QueueUnit._make(fields) for fields in reversed(list(UNIT.iter_unpack(data))))
        offset = start
