"""Reads consume queues and their extensions from outside. Takes no lock, changes nothing.

Source: docs/spec/store.md §4.1, §4.4, §4.6.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from broker_core.engine.store.consume_queue import PRE_BLANK_SIZE, UNIT, UNIT_BYTES
from broker_core.engine.store.consume_queue_ext import UNIT_BYTES_MAX, ExtUnit, decode_unit, offset_of
from broker_core.engine.store.file_map import end_of_data
from broker_core.engine.store.paths import StorePaths, offset_files, offset_name, queue_directories
from broker_core.platform import files

UNITS_AT_A_TIME = 65_536
_END_UNITS = 4_096
"""Units read at a time for the end of a queue, which mostly lies near the end of the file's data."""
_OPEN_FILES_MAX = 64


class QueueFileReader:
    """One consume queue of the store ``root``; its files are in ``directory``."""

    def __init__(self, root: Path, topic: str, queue_id: int, directory: Path) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.directory = directory
        self._root = root
        self.files = offset_files(directory)
        self.file_bytes = self.files[0][0].stat().st_size if self.files else 0
        self.first = self.files[0][1] // UNIT_BYTES if self.files else 0
        """Queue offset of the first unit of the first file."""
        self._open: tuple[int, int] | None = None
        """Base offset and descriptor of the open file."""
        self.end = self._find_end()
        """Queue offset after the last unit."""
        self.ext_files = offset_files(root / "consumequeue_ext" / directory.parent.name / str(queue_id))

    def place(self, offset: int) -> tuple[str, int]:
        """File, relative to the store directory, and position of a unit."""
        position = offset * UNIT_BYTES
        base = position - position % self.file_bytes if self.file_bytes else 0
        return str((self.directory / offset_name(base)).relative_to(self._root)), position - base

    def units(self, offset: int, count: int) -> bytes:
        """Up to ``count`` units from ``offset`` on; fewer at the end, and at a missing file."""
        parts = []
        while count > 0 and self.file_bytes:
            position = offset * UNIT_BYTES
            base = position - position % self.file_bytes
            descriptor = self._descriptor(base)
            wanted = min(count * UNIT_BYTES, base + self.file_bytes - position)
            data = b"" if descriptor is None else files.read_at(descriptor, wanted, position - base)
            data = data[: len(data) // UNIT_BYTES * UNIT_BYTES]
            parts.append(data)
            if len(data) < wanted:
                break
            offset, count = offset + len(data) // UNIT_BYTES, count - len(data) // UNIT_BYTES
        return b"".join(parts)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """All units in blocks of `UNITS_AT_A_TIME`, each with its queue offset."""
        for start in range(self.first, self.end, UNITS_AT_A_TIME):
            yield start, self.units(start, min(UNITS_AT_A_TIME, self.end - start))

    def first_physical(self) -> int | None:
        """Physical offset of the record of the first unit; 0 where earlier units were deleted, None without units."""
        if self.first or not self.end:
            return 0 if self.end else None
        units = (unit for _, block in self.blocks() for unit in UNIT.iter_unpack(block))
        return next((physical for physical, size, _ in units if size > 0), None)

    def _descriptor(self, base: int) -> int | None:
        if self._open is None or self._open[0] != base:
            path = self.directory / offset_name(base)
            if (path, base) not in self.files:
                return None
            self.close()
            self._open = base, files.open_to_read(path)
        return self._open[1]

    def _find_end(self) -> int:
        """Offset after the last unit that is not zero. Units after a hole are left-overs, but are checked too."""
        for path, base in reversed(self.files):
            size = min(-(-end_of_data(path) // UNIT_BYTES), self.file_bytes // UNIT_BYTES)
            for start in range((size - 1) // _END_UNITS * _END_UNITS, -1, -_END_UNITS):
                units = self.units(base // UNIT_BYTES + start, min(_END_UNITS, size - start))
                used = [number for number, (_, size, _) in enumerate(UNIT.iter_unpack(units)) if size]
                if used:
                    return base // UNIT_BYTES + start + used[-1] + 1
        return self.first

    def ext_unit_at(self, address: int) -> ExtUnit | None:
        """The extension's unit at an address; None without one."""
        if not self.ext_files:
            return None
        offset = offset_of(address)
        file_bytes = self.ext_files[0][0].stat().st_size
        for path, base in self.ext_files:
            if base <= offset < base + file_bytes:
                with path.open("rb") as file:
                    return decode_unit(files.read_at(file.fileno(), UNIT_BYTES_MAX, offset - base))
        return None

    def close(self) -> None:
        if self._open is not None:
            os.close(self._open[1])
            self._open = None


class QueueReaders:
    """All consume queues of a store; files are opened when needed, and few stay open."""

    def __init__(self, root: Path) -> None:
        directories = queue_directories(StorePaths(root).consume_queue)
        self.by_key = {(topic, number): QueueFileReader(root, topic, number, path) for topic, number, path in directories}
        self._recent: OrderedDict[tuple[str, int], QueueFileReader] = OrderedDict()
        for reader in self.by_key.values():
            reader.close()

    def get(self, topic: str, queue_id: int) -> QueueFileReader | None:
        """A queue; None if it is missing."""
        found = self.by_key.get((topic, queue_id))
        if found is not None:
            self._recent[topic, queue_id] = found
            self._recent.move_to_end((topic, queue_id))
            if len(self._recent) > _OPEN_FILES_MAX:
                self._recent.popitem(last=False)[1].close()
        return found

    def close(self) -> None:
        for reader in self.by_key.values():
            reader.close()


def is_blank(physical_offset: int, record_bytes: int) -> bool:
    """Whether a unit only fills the place of a deleted one (docs/spec/store.md §4.4)."""
    return record_bytes == PRE_BLANK_SIZE and physical_offset == 0
