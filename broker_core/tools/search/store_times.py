"""Places of a time in a log or a queue. Assumes that store times rise along the log, as RocketMQ does.

A clock may have been set back a little, so callers widen a time by `CLOCK_MARGIN_MS`. The rise is checked for the first records
of the log's files: if those fall, no time narrows a search.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.protocol.message.record import MAGIC_V1, MAGIC_V2, SIZE_AND_MAGIC, SMALLEST_RECORD, store_timestamp_ms
from broker_core.tools.search.bounds import Interval
from broker_core.tools.search.queues import Queues, QueueSpan, unit_of

_TIMESTAMP_BYTES = 76
"""Bytes from the start of a record to the end of STORETIMESTAMP, with an IPv6 host before it."""
assert _TIMESTAMP_BYTES <= SMALLEST_RECORD


def time_at(log: LogReader, physical_offset: int) -> int | None:
    """Store time of the record at a place; None without one."""
    head = log.record(physical_offset, _TIMESTAMP_BYTES)
    if head is None or SIZE_AND_MAGIC.unpack_from(head)[1] not in (MAGIC_V1, MAGIC_V2):
        return None
    return store_timestamp_ms(head)


def file_times(log: LogReader) -> list[tuple[int, int]] | None:
    """Base and store time of the first record of each log file; None when they do not rise."""
    times = [(base, time_at(log, base)) for _, base in log.files]
    known = [(base, moment) for base, moment in times if moment is not None]
    return known if all(one[1] <= two[1] for one, two in pairwise(known)) else None


def narrowed_to_files(times: list[tuple[int, int]], stored: Interval, start: int, end: int) -> tuple[int, int]:
    """Part of the log that can hold messages of a time, by whole files."""
    start = max([start, *(base for base, moment in times if moment < stored.low)])
    return start, max(start, min([end, *(base for base, moment in times if moment > stored.high)]))


def narrowed_span(log: LogReader, queues: Queues, span: QueueSpan, stored: Interval) -> QueueSpan:
    """Messages of a queue that were stored in a time; all when the queue cannot be searched."""
    first = _first_offset(log, queues, span, lambda moment: moment >= stored.low)
    end = _first_offset(log, queues, span, lambda moment: moment > stored.high)
    if first is None or end is None:
        return span
    return span._replace(first=first, end=max(first, end))


def _first_offset(log: LogReader, queues: Queues, span: QueueSpan, is_reached: Callable[[int], bool]) -> int | None:
    """First offset whose store time is reached; the end if none is, None when a record on the way cannot be read."""
    low, high = span.first, span.end
    while low < high:
        middle = (low + high) // 2
        moment = _time_of(log, queues, span, middle)
        if moment is None:
            return None
        if is_reached(moment):
            high = middle
        else:
            low = middle + 1
    return low


def _time_of(log: LogReader, queues: Queues, span: QueueSpan, offset: int) -> int | None:
    """Store time of a message, -1 for an expired one; None without a record."""
    unit = unit_of(queues, span, offset)
    if unit is None or not unit.record_bytes:
        return None
    return -1 if unit.physical_offset < log.min_offset else time_at(log, unit.physical_offset)
