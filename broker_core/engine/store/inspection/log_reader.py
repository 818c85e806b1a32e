"""Reads a commit log from outside, by windows of some megabytes; reports damaged places and continues after them.

Takes no lock, changes nothing, and releases pages, so that memory does not grow with the log. It may read the log of a running
broker, with or without the records appended meanwhile. It shows every record, whatever recovery would keep.
"""

from __future__ import annotations

import mmap
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.engine.store.file_map import end_of_data, map_file
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.layout import RecordHeads, commit_log_files, scan_records
from broker_core.engine.store.record_columns import faults_of
from broker_core.errors import RecordError
from broker_core.native.calls import call
from broker_core.native.heads import touch_pages
from broker_core.native.library import installed
from broker_core.platform import page_cache
from broker_core.protocol.message.record import FILLER, MAGIC_BLANK, SIZE_AND_MAGIC, SMALLEST_RECORD, RecordParts, check_record

_WINDOW_BYTES = 8 * 1024 * 1024
_MAPPED_FILES_MAX = 8
_ZERO_SEARCH_BYTES = 1 << 20
_TOUCHED_BYTES = 1024
"""At most a page of the system, and so little that a window of one mebibyte has many."""


@dataclass(frozen=True, slots=True)
class CheckedWindow:
    """Consecutive good records of one file; positions in ``heads`` count from the start of ``data``, the whole file."""

    data: memoryview
    buffer: mmap.mmap
    """The same, with a search of bytes."""
    heads: RecordHeads


@dataclass(slots=True)
class LogReader:
    """Reads the commit log of a store.

    Args:
        root: Store directory.
        window_bytes: Bytes read at a time, except for larger records.
        directories: All directories of the commit log; by default the one in ``root``.
    """

    root: Path
    window_bytes: int = _WINDOW_BYTES
    directories: Sequence[Path] = ()
    findings: list[StoreFinding] = field(default_factory=list)
    """Inconsistencies found by `windows` since the caller last cleared them."""
    notes: list[StoreFinding] = field(default_factory=list)
    """Notes that are no inconsistency, likewise."""
    files: list[tuple[Path, int]] = field(init=False)
    file_bytes: int = field(init=False)
    end: int = 0
    """Offset after the last record that `windows` found."""
    _last_base: int = field(default=0, init=False)
    """Base of the last file in use; RocketMQ creates the next one ahead of time."""
    _mapped: OrderedDict[int, mmap.mmap] = field(default_factory=OrderedDict, init=False)

    def __post_init__(self) -> None:
        self.files = commit_log_files(self.root, self.directories)
        self.file_bytes = self.files[0][0].stat().st_size if self.files else 0

    @property
    def min_offset(self) -> int:
        """Offset of the first byte kept; 0 for an empty log."""
        return self.files[0][1] if self.files else 0

    def close(self) -> None:
        """Drop all mappings."""
        self._mapped.clear()

    def windows(self, start: int = 0, end: int | None = None, *, check_bodies: bool = True) -> Iterator[CheckedWindow]:
        """All readable records in order of physical offset.

        Args:
            start: Physical offset of the first record; 0 for the oldest.
            end: Physical offset before which to stop; None for the log's end.
            check_bodies: Omit and report records whose body does not have its checksum.
        """
        files = [(path, base) for path, base in self.files if base + self.file_bytes > start and (end is None or base < end)]
        self._check_files(files)
        self.end = max(start, self.min_offset)
        self._last_base = next((base for _, base in reversed(self.files) if self._is_begun(base)), self.min_offset)
        for path, base in files:
            mapped = self.mapped(base)
            if mapped is None and path == self.files[-1][0]:
                self.notes.append(StoreFinding(self._name(path), 0, "made and not used yet: it has no bytes"))
            elif mapped is None:
                self._find(path, 0, f"the file is gone or has no bytes; others have {self.file_bytes:,}")
            else:
                limit = len(mapped) if end is None else min(len(mapped), end - base)
                yield from self._windows_of(path, base, mapped, max(0, start - base), limit, check_bodies=check_bodies)
                _let_go(mapped, 0, len(mapped))

    def _name(self, path: Path) -> str:
        """Name of a file in findings: within the store, or with its directory if the log lies elsewhere."""
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)

    def _find(self, path: Path, position: int, text: str) -> None:
        self.findings.append(StoreFinding(self._name(path), position, text))

    def _is_begun(self, base: int) -> bool:
        head = self.record(base, FILLER.size)
        return head is not None and any(head)

    def _check_files(self, files: list[tuple[Path, int]]) -> None:
        for index, (path, base) in enumerate(files):
            size = path.stat().st_size if path.exists() else 0
            if size != self.file_bytes and (size or path != self.files[-1][0]):
                self._find(path, size, f"the file has {size:,} bytes; {self.files[0][0].name} has {self.file_bytes:,}")
            if self.file_bytes and base % self.file_bytes:
                self._find(path, 0, f"the file starts at {base:,}, no multiple of the file size {self.file_bytes:,}")
            expected = files[index - 1][1] + self.file_bytes if index else base
            if base != expected:
                self._find(path, 0, f"the file before this one ends at {expected:,}: {base - expected:,} bytes are missing")

    def _windows_of(
        self, path: Path, base: int, mapped: mmap.mmap, start: int, limit: int, *, check_bodies: bool
    ) -> Iterator[CheckedWindow]:
        data, nothing = memoryview(mapped), bytes(FILLER.size)
        reach = self.window_bytes
        is_whole = limit == len(data)
        limit = data_end = end_of_data(path) if is_whole else limit
        while True:
            stop = min(start + reach, limit)
            _bring_to_memory(data, start, stop)
            if (
                stop < limit
                and mapped[start : start + FILLER.size] == nothing
                and _first_not_zero(mapped, start, limit) == limit
            ):
                stop = limit = start  # nothing follows
            heads = scan_records(mapped, base, start, stop)
            if not len(heads) and stop < limit:
                reach *= 4  # a large record, or a damaged place of that size
                continue
            at_end = stop == limit
            for place in heads.damage:
                if place.position < heads.end:
                    self._find(path, place.position, place.reason)
            if len(heads):
                self.end = base + heads.end
                yield CheckedWindow(data, mapped, self._good(path, mapped, heads) if check_bodies else heads)
                _let_go(mapped, start, heads.end)
            start, reach = heads.end, self.window_bytes
            if at_end and is_whole:
                self._check_end(path, mapped, heads.end, data_end, is_last=base >= self._last_base)
            elif at_end and heads.end < data_end:
                self._find(path, heads.end, f"the {data_end - heads.end:,} bytes up to {data_end:,} hold no readable record")
            if at_end:
                return

    def _good(self, path: Path, mapped: mmap.mmap, heads: RecordHeads) -> RecordHeads:
        """The records without a fault that can be found."""
        faults = faults_of(memoryview(mapped), heads)
        torn = set(faults.torn)
        for row in faults.torn:
            self._find(path, heads.position[row], "the record's topic or properties reach into a page of zeros")
        bad = torn.union(faults.wrong_body)
        for row in sorted(bad - torn):
            body_bytes, crc = heads.body_bytes[row], heads.body_crc[row]
            text = f"the record's body of {body_bytes:,} bytes does not have the checksum {crc:08x} that the record names"
            self._find(path, heads.position[row], text)
        for row in sorted(set(faults.wrong_crc) - bad):
            self._find(path, heads.position[row], "the record does not have the checksum that its property __CRC32# names")
        return heads.without(bad) if bad else heads

    def _check_end(self, path: Path, mapped: mmap.mmap, end: int, limit: int, *, is_last: bool) -> None:
        """Check the end of a file: a filler, or in the last file nothing; after ``limit`` there is a hole."""
        size = len(mapped)
        rest = size - end
        total, magic = FILLER.unpack_from(mapped, end) if rest >= FILLER.size else (0, 0)
        if magic == MAGIC_BLANK:
            if total != rest:
                self._find(path, end, f"the filler says {total:,} bytes; {rest:,} are left in the file")
        elif total or magic:
            self._find(path, end, f"neither a record nor a filler: size {total:,}, magic code {magic & 0xFFFFFFFF:08x}")
        elif not is_last:
            self._find(path, end, f"the last {rest:,} bytes hold neither a record nor a filler, and another file follows")
        elif (first := _first_not_zero(mapped, end, limit)) < limit:
            text = f"behind the end of the log at {end:,} the file is not empty: left-overs that a broker writes over"
            self.notes.append(StoreFinding(self._name(path), first, text))

    # ---- single records ------------------------------------------------------------------------------------------------

    def record(self, physical_offset: int, size: int) -> memoryview | None:
        """Bytes of the log at an offset; None if they are missing."""
        if not self.file_bytes or physical_offset < 0 or size <= 0:
            return None
        position = physical_offset % self.file_bytes
        mapped = self.mapped(physical_offset - position)
        if mapped is None or position + size > len(mapped):
            return None
        return memoryview(mapped)[position : position + size]

    def parts(self, physical_offset: int) -> RecordParts | None:
        """The record that starts at an offset; None without one."""
        head = self.record(physical_offset, SMALLEST_RECORD)
        if head is None:
            return None
        record = self.record(physical_offset, max(SIZE_AND_MAGIC.unpack_from(head)[0], 0))
        if record is None:
            return None
        try:
            found = check_record(record, 0, len(record), check_crc=False)
        except RecordError:
            return None
        return found if found.head.physical_offset == physical_offset else None

    def mapped(self, base: int) -> mmap.mmap | None:
        """The log file that starts at an offset; None if it is missing or empty."""
        mapped = self._mapped.get(base)
        if mapped is not None:
            self._mapped.move_to_end(base)
            return mapped
        path = next((path for path, file_base in self.files if file_base == base), None)
        if path is None or not path.exists() or not path.stat().st_size:
            return None
        mapped = map_file(path)
        self._mapped[base] = mapped
        if len(self._mapped) > _MAPPED_FILES_MAX:
            self._mapped.popitem(last=False)  # not closed: views that are still in use keep it
        return mapped


def _bring_to_memory(data: memoryview, start: int, stop: int) -> None:
    """Touch a part of a file, so that later reads do not wait for the disk.

    Machine code lets other threads run meanwhile; a search of bytes does not. During a scan of a log that was not in memory,
    another thread's longest hundredth of waits was 14 to 21 ms this way, and 16 to 29 without.
    """
    call(installed(), touch_pages, data, start, stop, _TOUCHED_BYTES)


def _let_go(mapped: mmap.mmap, start: int, end: int) -> None:
    """Release pages; the kernel reads them again if needed."""
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    last = end // mmap.PAGESIZE * mmap.PAGESIZE
    if last > first:
        page_cache.release(mapped, first, last - first)


def _first_not_zero(mapped: mmap.mmap, start: int, limit: int) -> int:
    """First position from ``start`` on with a byte that is not zero; ``limit`` without one."""
    for position in range(start, limit, _ZERO_SEARCH_BYTES):
        piece = mapped[position : min(position + _ZERO_SEARCH_BYTES, limit)]
        if piece.count(0) != len(piece):
            return position + len(piece) - len(piece.lstrip(b"\0"))
        _let_go(mapped, position, position + len(piece))
    return limit
