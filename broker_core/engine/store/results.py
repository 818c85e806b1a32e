"""Results of the store: put and get results, arrivals, figures (Source: docs/spec/store.md §8.8, §11.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class PutStatus(Enum):
    """Outcome of a put; names as RocketMQ spells them."""

    PUT_OK = "PUT_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPPED_FILE_FAILED = "CREATE_MAPEDFILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    LMQ_CONSUME_QUEUE_NUM_EXCEEDED = "LMQ_CONSUME_QUEUE_NUM_EXCEEDED"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


NEVER_STORED = frozenset((
    PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED, PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED,
))  # fmt: skip
"""The message itself is refused: every further put of it fails too."""


class PutResult(NamedTuple):
    """Result of a put. A named tuple, because each put makes one.

    Attributes:
        status: `PutStatus.PUT_OK` means stored; after any other value nothing was written.
        physical_offset: Of the (first) record; -1 if nothing was written.
        wrote_bytes: Of all records of the put.
        queue_offset: Of the (first) record; 0 for prepared and rollback types.
        store_timestamp_ms: One for the whole put.
        message_count: 1, or the members of the batch.
        physical_offsets: Of each member of a batch; for a single message the one offset.
    """

    status: PutStatus
    physical_offset: int = -1
    wrote_bytes: int = 0
    queue_offset: int = -1
    store_timestamp_ms: int = -1
    message_count: int = 0
    physical_offsets: Sequence[int] = ()


class GetStatus(Enum):
    """Outcome of a get; names as RocketMQ spells them."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"


class LogPlace(NamedTuple):
    """Bytes of the log, within one file."""

    physical_offset: int
    size: int


class GetResult(NamedTuple):
    """Result of a get.

    Attributes:
        records: Whole records as stored, slices of the mapped file; drop them soon, because they hold its mapping.
        next_offset: Offset of the next get.
        suggest_slave: The rest is further from the log's end than the memory reaches.
        far_back: Places of the old records, which may not be in memory (`MessageStore.is_in_memory`).
    """

    status: GetStatus
    records: list[memoryview]
    next_offset: int
    min_offset: int
    max_offset: int
    total_bytes: int
    suggest_slave: bool
    far_back: Sequence[LogPlace] = ()


class Arrival(NamedTuple):
    """A message has entered a consume queue."""

    topic: str
    queue_id: int
    queue_offset: int
    tags_code: int
    store_timestamp_ms: int
    physical_offset: int
    record_bytes: int


class LaidOutBatch(NamedTuple):
    """A batch at its offset: the records as one block, their units, and the physical offset of each record."""

    block: bytes
    units: bytes
    offsets: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """Figures of the whole store. Bytes, except ``queue_count``; ``refusal`` is empty while puts are accepted."""

    commit_log_min_offset: int
    commit_log_max_offset: int
    flushed_offset: int
    queue_count: int
    store_bytes: int
    disk_used_bytes: int
    disk_total_bytes: int
    refusal: str
