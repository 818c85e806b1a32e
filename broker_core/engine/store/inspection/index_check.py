"""Checks index files against themselves and against the commit log.

    each file     header, chains of items, order of offsets
    with the log  every key of every record has its item, and every item its record, both in the order of the log

Records older than the oldest index file need no items: those files expire, and a crash of RocketMQ drops the newest one.

Source: docs/spec/store.md §5.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

from broker_core.engine.store.file_map import map_file
from broker_core.engine.store.index_file import HEADER_BYTES, ITEM_BYTES, SLOT_BYTES, IndexHeader, index_files
from broker_core.engine.store.index_keys import KeyReader, key_hash, record_keys
from broker_core.engine.store.index_layout import IndexItem, IndexItems, slot_at, slot_count
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.log_reader import CheckedWindow, LogReader
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.record_columns import properties_of, topic_of
from broker_core.native import items as k
from broker_core.native.calls import call
from broker_core.native.library import installed
from broker_core.platform import memory

ENTRIES_AT_A_TIME = 1_024
"""Few, because most items are skipped unread."""
_SECONDS_MAX = (1 << 31) - 1


class IndexEntry(NamedTuple):
    """Items of one record: consecutive ones with the same physical offset."""

    physical_offset: int
    hashes: list[int]
    seconds: list[int]
    first_item: int
    file: LoadedIndex


@dataclass(slots=True)
class LoadedIndex:
    """One index file, mapped."""

    root: Path
    path: Path
    slots: int = 0
    data: bytes | mmap = field(init=False)
    header: IndexHeader | None = field(init=False)

    def __post_init__(self) -> None:
        size = self.path.stat().st_size
        self.data = map_file(self.path) if size else b""
        self.header = IndexHeader.decode(self.data[:HEADER_BYTES]) if size >= HEADER_BYTES else None
        self.slots = slot_count(self.data)

    @property
    def items(self) -> int:
        """Number of items in use within the file, the unused first one included."""
        if self.header is None or not self.slots:
            return 1
        return min(self.header.next_item, len(IndexItems(self.data, self.slots)))

    @property
    def is_full(self) -> bool:
        """Whether the next item needs a further file."""
        return self.items >= len(IndexItems(self.data, self.slots))

    def find(self, position: int, text: str) -> StoreFinding:
        return StoreFinding(str(self.path.relative_to(self.root)), position, text)

    def item_position(self, item: int) -> int:
        return HEADER_BYTES + self.slots * SLOT_BYTES + item * ITEM_BYTES


def load_index(root: Path) -> list[LoadedIndex]:
    """Index files of a store, oldest first; one that does not show its slot count gets that of a file of the same size."""
    files = [LoadedIndex(root, path) for path in index_files(StorePaths(root).index)]
    known = {len(file.data): file.slots for file in files if file.slots}
    for file in files:
        file.slots = file.slots or known.get(len(file.data), 0)
    return files


# ---- one file ----------------------------------------------------------------------------------------------------------


def check_file(file: LoadedIndex, log: LogReader) -> Iterator[StoreFinding]:
    """Check header and chains of a file. Its times may go back where those of its first and its last record do."""
    header = file.header
    if header is None:
        yield file.find(0, f"the file has {len(file.data):,} bytes, too few for its header of {HEADER_BYTES}")
        return
    if header.next_item <= 1:
        if header.end_offset:  # is written after an item is counted
            yield file.find(36, f"the header counts no item; the physical offset of its last one is {header.end_offset:,}")
        return
    if not file.slots:
        yield file.find(0, f"no number of slots fits the header ({header}): header, items or slots are damaged")
        return
    items = IndexItems(file.data, file.slots)
    if header.next_item > len(items):
        yield file.find(36, f"the header counts {header.next_item - 1:,} items; the file holds {len(items) - 1:,}")
    for position, name, value, item in (
        (16, "first", header.begin_offset, 1),
        (24, "last", header.end_offset, file.items - 1),
    ):
        if (found := items[item].physical_offset) != value:
            yield file.find(position, f"the header's {name} physical offset is {value:,}; item {item:,} has {found:,}")
    if header.begin_ms > header.end_ms and not _has_times_of_records(header, log):
        yield file.find(0, f"the header's first store time {header.begin_ms} is behind its last, {header.end_ms}")
    yield from _check_chains(file, header)


def _has_times_of_records(header: IndexHeader, log: LogReader) -> bool:
    first, last = log.parts(header.begin_offset), log.parts(header.end_offset)
    if header.begin_offset < log.min_offset:
        first = last  # its file is deleted
    if first is None or last is None or header.end_ms != last.head.store_timestamp_ms:
        return False
    return first is last or header.begin_ms == first.head.store_timestamp_ms


def _check_chains(file: LoadedIndex, header: IndexHeader) -> Iterator[StoreFinding]:
    library, items = installed(), IndexItems(file.data, file.slots)
    state, newest = array("q", bytes(8 * k.STATE_COLUMNS)), memoryview(memory.anonymous(8 * file.slots)).cast("q")
    state[k.SLOTS], state[k.KEY], state[k.NEXT], state[k.LAST_OFFSET] = file.slots, 1, file.items, -1
    while number := call(library, k.check_items, state, file.data, newest):
        yield from _item_faults(file, number, items[number], state[k.EXPECTED], state[k.LAST_OFFSET])
        state[k.LAST_OFFSET] = items[number].physical_offset
    while behind := call(library, k.check_slots, state, file.data, newest):
        named, expected = slot_at(file.data, behind - 1), newest[behind - 1]
        if _newest_counted(file, named) == expected:
            continue
        text = f"slot {behind - 1:,} names item {named:,}; the newest one of its chain is {expected:,}"
        yield file.find(HEADER_BYTES + (behind - 1) * SLOT_BYTES, text)
    used = state[k.USED_SLOTS]
    if used != header.used_slots:
        yield file.find(32, f"the header counts {header.used_slots:,} used slots; there are {used:,}")


def _newest_counted(file: LoadedIndex, item: int) -> int:
    """The newest item of a chain that the header counts; its writer adds items to their slots before it counts them."""
    items = IndexItems(file.data, file.slots)
    while file.items <= item < len(items):
        previous = items[item].previous
        if previous >= item:
            return item
        item = previous
    return item


def _item_faults(file: LoadedIndex, number: int, item: IndexItem, expected: int, last_offset: int) -> Iterator[StoreFinding]:
    """What is wrong with an item, of three things."""
    key_hash, physical, _, previous = item
    if key_hash < 0:
        yield file.find(file.item_position(number), f"item {number:,} has the negative hash {key_hash}")
    if previous != expected:
        text = f"item {number:,} is chained to item {previous:,}; the one before it in its slot is {expected:,}"
        yield file.find(file.item_position(number), text)
    if physical < last_offset:
        text = f"item {number:,} points to {physical:,}, before the item before it"
        yield file.find(file.item_position(number), text)


# ---- with the log ------------------------------------------------------------------------------------------------------


def entries(files: list[LoadedIndex], *, first_item: int = 1) -> Iterator[IndexEntry]:
    """Items of all files by record, in order, from ``first_item`` of the first file on.

    A record whose items continue in the next file makes two entries.
    """
    for file_number, file in enumerate(files):
        if not file.slots:
            continue
        items = IndexItems(file.data, file.slots)
        pending: IndexEntry | None = None
        for start in range(1 if file_number else first_item, file.items, ENTRIES_AT_A_TIME):
            block = items.between(start, min(start + ENTRIES_AT_A_TIME, file.items))
            for row, (item_hash, physical, seconds, _) in enumerate(block):
                if pending is not None and pending.physical_offset == physical:
                    pending.hashes.append(item_hash)
                    pending.seconds.append(seconds)
                    continue
                if pending is not None:
                    yield pending
                pending = IndexEntry(physical, [item_hash], [seconds], start + row, file)
        if pending is not None:
            yield pending


class IndexCheck:
    """Checks items against records, window by window of the log. After a crash the index may lag the log."""

    def __init__(self, log: LogReader, files: list[LoadedIndex], *, is_crashed: bool) -> None:
        self._log = log
        self._files = files
        self._keys = KeyReader(installed())
        self._is_crashed = is_crashed
        self._entries = entries(files)
        self._entry = next(self._entries, None)
        self._first_offset = self._entry.physical_offset if self._entry else -1
        self._missing: list[int] = []
        """First and last physical offset, and number, of records without items since the last record with items."""
        self.notes: list[StoreFinding] = []

    @property
    def is_needed(self) -> bool:
        return self._first_offset >= 0

    def check_window(self, window: CheckedWindow) -> Iterator[StoreFinding]:
        """Compare the keys of a window's records with the items."""
        if self._matches(window):
            return
        heads, data = window.heads, window.data
        columns = zip(heads.physical_offset, heads.sys_flag, heads.store_ms, strict=True)
        for row, (physical, sys_flag, store_ms) in enumerate(columns):
            keys = record_keys(sys_flag, properties_of(data, heads, row))
            if not keys and (self._entry is None or self._entry.physical_offset > physical):
                continue
            topic = topic_of(data, heads, row).decode("utf-8", "replace")
            yield from self._check_record(physical, [key_hash(topic, key) for key in keys], store_ms)

    def _matches(self, window: CheckedWindow) -> bool:
        """Whether the next items are exactly those of a window's records, compared by a kernel; they are skipped then.

        Not so if anything is odd (a file ends, a record is indexed twice, something is missing): such windows are checked
        record by record, which takes ten times as long.
        """
        entry, heads = self._entry, window.heads
        if entry is None or entry.file.header is None or not len(heads) or self._missing:
            return False
        keys = self._keys.read(window.data[heads.position[0] : heads.end], heads.physical_offset[0])
        last_item, file = entry.first_item + len(keys), entry.file
        if last_item > file.items or not len(keys):
            return False
        if keys.end != heads.physical_offset[-1] + heads.size[-1] or entry.physical_offset < heads.physical_offset[0]:
            return False
        state, begin_ms = array("q", bytes(8 * k.STATE_COLUMNS)), entry.file.header.begin_ms
        state[k.SLOTS], state[k.NEXT], state[k.BEGIN_MS], state[k.KEYS] = file.slots, entry.first_item, begin_ms, len(keys)
        if begin_ms <= 0 or not call(installed(), k.has_items, keys.table, state, file.data):
            return False
        self._entries = entries(self._files[self._files.index(file) :], first_item=last_item)
        self._entry = next(self._entries, None)
        return True

    def _check_record(self, physical: int, hashes: list[int], store_ms: int) -> Iterator[StoreFinding]:
        yield from self._skip_to(physical)
        found: set[int] = set()
        while self._entry is not None and self._entry.physical_offset == physical:
            found.update(self._entry.hashes)
            yield from _compare(self._entry, hashes, store_ms)
            self._entry = next(self._entries, None)
        if found:
            yield from self._report_missing()
            absent = [f"{value:08x}" for value in hashes if value not in found]
            if absent:
                text = f"the record at {physical:,} has {len(absent)} keys without an item (hash {', '.join(absent)})"
                yield StoreFinding("index", 0, text)
        elif hashes and physical > self._first_offset:
            first, _, count = self._missing or (physical, physical, 0)
            self._missing = [first, physical, count + 1]

    def _skip_to(self, physical: int) -> Iterator[StoreFinding]:
        """Report the items before an offset that point to no record; those of expired log files are sound."""
        while self._entry is not None and self._entry.physical_offset < physical:
            entry = self._entry
            self._entry = next(self._entries, None)
            if entry.physical_offset < self._log.min_offset or self._log.parts(entry.physical_offset) is not None:
                continue  # expired, or a record that was reported for its body
            text = f"item {entry.first_item:,} points to {entry.physical_offset:,}, where no record starts"
            yield entry.file.find(entry.file.item_position(entry.first_item), text)

    def _report_missing(self) -> Iterator[StoreFinding]:
        if self._missing:
            first, last, count = self._missing
            self._missing = []
            yield StoreFinding(
                "index", 0, f"{count:,} records with keys from {first:,} to {last:,} have no item; others follow"
            )

    def finish(self) -> Iterator[StoreFinding]:
        """Report items after the log's end, and records after the index's; called after all windows."""
        ahead, first = 0, self._entry
        while self._entry is not None:
            ahead += len(self._entry.hashes)
            self._entry = next(self._entries, None)
        if first is not None:
            text = f"{ahead:,} items point behind the log's end at {self._log.end:,}, the first to {first.physical_offset:,}"
            yield first.file.find(first.file.item_position(first.first_item), text)
        if self._missing:
            first_offset, last_offset, count = self._missing
            text = f"the index is behind the log: {count:,} records with keys from {first_offset:,} to {last_offset:,}"
            place = StoreFinding(str(self._files[-1].path.relative_to(self._log.root)), 24, text)
            if self._is_crashed or not self._files[-1].is_full:
                self.notes.append(place)  # a broker with messageIndexEnable=false leaves it so
            else:
                yield place


def _compare(entry: IndexEntry, hashes: list[int], store_ms: int) -> Iterator[StoreFinding]:
    """Check the items of a record against its keys and its store time."""
    header = entry.file.header
    assert header is not None
    expected = 0 if header.begin_ms <= 0 else min(max(int((store_ms - header.begin_ms) / 1000), 0), _SECONDS_MAX)
    for number, (value, seconds) in enumerate(zip(entry.hashes, entry.seconds, strict=True)):
        item = entry.first_item + number
        position = entry.file.item_position(item)
        if value not in hashes:
            yield entry.file.find(
                position, f"item {item:,} has hash {value:08x}, of no key of the record at {entry.physical_offset:,}"
            )
        if item > 1 and seconds != expected:
            text = f"item {item:,} says {seconds:,} s behind the file's begin; its record lies {expected:,} s behind"
            yield entry.file.find(position + 12, text)
