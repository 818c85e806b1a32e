"""Keys of many records at once: from a piece of the commit log to the hashes that the index files hold.

Machine code finds them in 0.1 µs a message. Without it, and for text that is not ASCII, each record is looked at by itself.

Source: docs/spec/store.md §5.2.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from broker_core.engine.store.record_search import next_record, record_here
from broker_core.native.key_scan import KeyScan
from broker_core.native.keys import KEY_COLUMNS, OFFSET
from broker_core.native.library import Library
from broker_core.protocol.message.properties import KEY_SEPARATOR, KEYS, UNIQUE_KEY, find_property
from broker_core.protocol.message.record import MAGIC_V1, MAGIC_V2, SIZE_AND_MAGIC, SMALLEST_RECORD, RecordParts
from broker_core.protocol.message.sys_flag import TransactionType, transaction_type
from broker_core.protocol.message.tags import java_string_hash

_HASH_OVERFLOW = 1 << 31


def key_hash(topic: str, key: str) -> int:
    """Hash of a topic's key; not negative."""
    value = abs(java_string_hash(f"{topic}#{key}"))
    return 0 if value == _HASH_OVERFLOW else value


def record_keys(sys_flag: int, properties: bytes) -> list[str]:
    """Keys of a record, in order; none for a rollback."""
    if transaction_type(sys_flag) is TransactionType.ROLLBACK:
        return []
    unique = find_property(properties, UNIQUE_KEY)
    keys = find_property(properties, KEYS) or ""
    return ([unique] if unique else []) + [key for key in keys.split(KEY_SEPARATOR) if key]


@dataclass(frozen=True, slots=True)
class KeyBatch:
    """Keys of consecutive records, each for one item.

    Attributes:
        table: Rows of hash, physical offset and store time, as `broker_core.native.keys` names them.
        end: Offset of the log behind the records.
    """

    table: array[int]
    end: int

    def __len__(self) -> int:
        return len(self.table) // KEY_COLUMNS

    def of_record(self, physical_offset: int) -> int:
        return self.table[OFFSET::KEY_COLUMNS].count(physical_offset)


class KeyReader:
    """Reads the keys of records. For one thread at a time.

    Args:
        library: The machine code; None: there is none.
    """

    def __init__(self, library: Library | None) -> None:
        self._scan = None if library is None else KeyScan(library)

    def read(self, data: bytes | memoryview, offset: int) -> KeyBatch:
        """Keys of the whole records in a piece of one commit log file; damaged places are passed over.

        Args:
            data: The piece; starts with a record, may end within one.
            offset: Physical offset of its first byte.
        """
        view, table, at, end = memoryview(data), array("q"), 0, 0
        while True:
            at = self._scanned(view, offset, at, table)
            parts = record_here(view, offset, at)
            if parts is not None:
                table.extend(_rows(parts))
                at += parts.head.size
                continue
            end = at
            following = None if _is_cut_off(view[at:]) else next_record(view, offset, at + 1)
            if following is None:
                return KeyBatch(table, offset + end)
            at = following

    def _scanned(self, view: memoryview, offset: int, at: int, table: array[int]) -> int:
        """Take the keys of plain records from a position on; returns the position behind them."""
        is_full = self._scan is not None
        while is_full and self._scan is not None:
            found = self._scan.keys(view, offset, at)
            table.extend(found.table)
            at, is_full = found.end, found.is_full
        return at


def _rows(parts: RecordParts) -> list[int]:
    """The keys of one record."""
    topic, head = parts.topic.decode("utf-8", "replace"), parts.head
    rows: list[int] = []
    for key in record_keys(head.sys_flag, parts.properties):
        rows += (key_hash(topic, key), head.physical_offset, head.store_timestamp_ms)
    return rows


def _is_cut_off(rest: memoryview) -> bool:
    """Whether there is not more than the beginning of one record."""
    if len(rest) < SMALLEST_RECORD:
        return True
    size, magic = SIZE_AND_MAGIC.unpack_from(rest)
    return magic in (MAGIC_V1, MAGIC_V2) and size > len(rest)
