"""A directory of files of one size, named by the offset at which they begin; together they are one row of bytes."""

from __future__ import annotations

import sys
from pathlib import Path

from broker_core.engine.store.disk import Disk
from broker_core.engine.store.paths import offset_files, offset_name
from broker_core.platform import replacing


class FileRow:
    """The row in one directory, which is created by the first write. Not thread-safe, except `read`."""

    __slots__ = ("_disk", "_is_new", "_name", "_parent", "_read_only", "_unsynced", "file_bytes")

    def __init__(self, directory: Path, file_bytes: int, disk: Disk, *, read_only: bool) -> None:
        self._parent = sys.intern(f"{directory.parent}/")
        """As text, one for all queues of a topic: a store can have thousands of rows, and a path takes 2 µs a read."""
        self._name = directory.name
        self.file_bytes = file_bytes
        self._disk = disk
        self._read_only = read_only
        self._is_new = False
        self._unsynced: tuple[int, ...] = ()
        """Positions at which written files begin."""

    @property
    def directory(self) -> Path:
        return Path(self._parent + self._name)

    def _file(self, base: int) -> str:
        return f"{self._parent}{self._name}/{offset_name(base)}"

    def read(self, position: int, size: int) -> bytes:
        """Up to ``size`` bytes of one file from ``position`` of the row on; empty without the file."""
        base = position - position % self.file_bytes
        try:
            # Not by a path object, whose making takes half as long as the read.
            return self._disk.read_at(self._file(base), size, position - base)
        except FileNotFoundError:
            return b""

    def write(self, data: bytes, position: int) -> None:
        """Write at ``position`` of the row, without a sync; missing files are created.

        Raises:
            OSError: The disk is full or broken.
        """
        if data and not self.directory.is_dir():
            self.directory.mkdir(parents=True)
            self._is_new = True
        rest = memoryview(data)
        while rest:
            base = position - position % self.file_bytes
            part = rest[: base + self.file_bytes - position]
            descriptor = self._disk.open_sized(self._file(base), self.file_bytes)
            try:
                self._disk.write_at(descriptor, part, position - base)
            finally:
                self._disk.close(descriptor)
            self._note_written(base)
            position, rest = position + len(part), rest[len(part) :]

    def _note_written(self, base: int) -> None:
        if base not in self._unsynced:
            self._unsynced += (base,)

    def _note_removed(self, base: int) -> None:
        self._unsynced = tuple(other for other in self._unsynced if other != base)

    @property
    def needs_sync(self) -> bool:
        """Whether written bytes may not be on the disk."""
        return bool(self._unsynced)

    def sync(self) -> bool:
        """Sync the written files; returns whether the directory was new, which is synced with two above it then.

        Raises:
            OSError: The sync failed.
        """
        for base in sorted(self._unsynced):
            self._disk.sync_sized(self._file(base), self.file_bytes)
        was_new = self._is_new
        if was_new:
            directory = self.directory
            for changed in (directory, *directory.parents[:2]):
                self._disk.sync_directory(changed)
        self._is_new = False
        self._unsynced = ()
        return was_new

    def clear_from(self, end: int) -> None:
        """Remove everything from a position on, unless read-only."""
        if self._read_only:
            return
        for path, base in offset_files(self.directory):
            if base >= end:
                path.unlink()
                self._note_removed(base)  # or syncing it would make it again, as a row that starts there
            elif end < base + self.file_bytes:
                self._disk.clear_behind(path, end - base)
                self._note_written(base)

    def remove_before(self, end: int) -> int:
        """Delete the files that lie wholly before a position, never the last; returns the number.

        A file that the system does not delete while it is in use stays until a later call.

        Raises:
            OSError: A file cannot be deleted.
        """
        removed = 0
        for path, base in offset_files(self.directory)[:-1]:
            if base + self.file_bytes > end or not replacing.remove(path):
                break
            self._note_removed(base)
            removed += 1
        return removed

    def remove_directory(self) -> None:
        """Delete the empty directory, and the one above if it is empty then; unless read-only."""
        directory = self.directory
        if directory.is_dir() and not self._read_only:
            directory.rmdir()
            if not any(directory.parent.iterdir()):
                directory.parent.rmdir()
