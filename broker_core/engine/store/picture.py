"""The state of a store at one moment: files, positions, queues, index, cleaning, syncs. Read-only.

It reads files, so it belongs on a thread. The result is a copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.engine.store.cleanup import CleaningRun
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.consume_queue import UNIT_BYTES
from broker_core.engine.store.flush import FlushRun
from broker_core.engine.store.queue_table import QueueTable
from broker_core.engine.store.store_parts import StoreParts
from broker_core.protocol.message.record import MAGIC_V1, MAGIC_V2, SIZE_AND_MAGIC, store_timestamp_ms

FIRST_TIMES_MAX = 64
"""Newest log files whose first record is read; more do not fit on a screen."""
_HEAD_BYTES = 96
"""Bytes of a record that hold its store time."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of the commit log.

    Attributes:
        base: Its first offset, which is its name.
        modified_ms: Time of the last write.
        first_ms: Store time of its first record; -1 without one, or if the file is none of the newest.
    """

    base: int
    modified_ms: int
    first_ms: int


@dataclass(frozen=True, slots=True)
class TopicQueues:
    """The consume queues of a topic together: their number, their entries and the entries' bytes.

    ``behind`` are the entries in memory that the files lack.
    """

    topic: str
    queues: int
    entries: int
    size: int
    behind: int


@dataclass(frozen=True, slots=True)
class IndexFigures:
    """An index file: its entries and capacity, and the store times of its first and last entry."""

    name: str
    entries: int
    capacity: int
    begin_ms: int
    end_ms: int
    size: int


@dataclass(frozen=True, slots=True)
class StoreInside:
    """The state of a store. Offsets are physical, sizes bytes.

    Attributes:
        log_file_bytes: Size of a whole file of the log.
        log_files: Oldest first.
        log_min, log_end, log_flushed: First offset kept, end of the written and of the synced bytes.
        indexed: Offset up to which the index is complete; -1 without an index.
        topics: By name.
        index_files: Oldest first.
        cleanings: Runs that deleted something or failed, oldest first.
        overdue_files: Files of the log that are past their time, which the next run deletes.
        flushes: The newest syncs of the log, oldest first.
    """

    log_file_bytes: int
    log_files: list[LogFile]
    log_min: int
    log_end: int
    log_flushed: int
    indexed: int
    topics: list[TopicQueues]
    index_files: list[IndexFigures]
    cleanings: list[CleaningRun]
    overdue_files: int
    flushes: list[FlushRun]


def take_picture(parts: StoreParts) -> StoreInside:
    """The state of an open store.

    Raises:
        OSError: A file cannot be read.
    """
    log, index = parts.commit_log, parts.index
    bases = list(log.bases)
    newest = frozenset(bases[-FIRST_TIMES_MAX:])
    files = [
        LogFile(base, log.path(base).stat().st_mtime_ns // 1_000_000, _first_ms(log, base) if base in newest else -1)
        for base in bases
    ]
    end, flushed, backlog = log.end, log.flushed, index.backlog_bytes
    return StoreInside(
        log_file_bytes=log.file_bytes,
        log_files=files,
        log_min=log.min_offset,
        log_end=end,
        log_flushed=flushed,
        indexed=max(log.min_offset, end - backlog) if index.is_enabled else -1,
        topics=_topics(parts.queues),
        index_files=[
            IndexFigures(
                file.path.name,
                max(0, header.next_item - 1),
                file.geometry.items - 1,
                header.begin_ms,
                header.end_ms,
                file.geometry.file_bytes,
            )
            for file, header in index.files()
        ],
        cleanings=list(parts.cleaner.runs),
        overdue_files=parts.cleaner.overdue_files(),
        flushes=list(parts.flush_service.runs),
    )


def _first_ms(log: CommitLog, base: int) -> int:
    # Read from the file, because a page of the mapping that is not in memory would stop every thread of the broker.
    head = log.first_bytes(base, _HEAD_BYTES)
    if base >= log.end or len(head) < _HEAD_BYTES:
        return -1
    _size, magic = SIZE_AND_MAGIC.unpack_from(head)
    return store_timestamp_ms(head) if magic in (MAGIC_V1, MAGIC_V2) else -1


def _topics(queues: QueueTable) -> list[TopicQueues]:
    # Without the lock of puts, which thousands of queues would hold for milliseconds: each figure is right by itself.
    rows = [(queue.topic, queue.min_offset, queue.max_offset, queue.written_offset) for queue in queues]
    found: dict[str, list[int]] = {}
    for topic, low, high, written in rows:
        sums = found.setdefault(topic, [0, 0, 0])
        sums[0] += 1
        sums[1] += high - low
        sums[2] += max(0, high - written)
    return [
        TopicQueues(topic, count, entries, entries * UNIT_BYTES, behind)
        for topic, (count, entries, behind) in sorted(found.items())
    ]
