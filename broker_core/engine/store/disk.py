"""The store's calls to the operating system, in one place that a test can replace. Every method may raise `OSError`."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

from broker_core.engine.store.file_map import map_file
from broker_core.kept_file import replace_file
from broker_core.native.addresses import address
from broker_core.platform import allocation, files, holes, kernel_sync, machine, memory, page_cache
from broker_core.platform.kernel_sync import KernelSync

_CLEAR_BYTES = 1 << 20
_ZEROS = bytes(1 << 20)
_NO_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def is_no_space(error: OSError) -> bool:
    """Whether an operation failed for lack of room (disk, quota, file size limit), which may pass."""
    return error.errno in _NO_SPACE


class Disk:
    """Access to the operating system."""

    def open_sized(self, path: Path | str, size: int) -> int:
        """Descriptor of a file, created or grown to at least ``size`` bytes; new bytes are zero and take no room yet."""
        descriptor = files.open_to_write(path)
        try:
            if os.fstat(descriptor).st_size < size:
                files.grow(descriptor, size)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def map(self, descriptor: int, size: int) -> mmap.mmap:
        """Shared mapping of a file, readable and writable."""
        return files.map_shared(descriptor, size)

    def map_read_only(self, path: Path) -> memoryview:
        """Read-only mapping of a whole file."""
        return memoryview(map_file(path)).toreadonly()

    def map_private(self, path: Path) -> mmap.mmap:
        """Mapping of a whole file whose changes stay in memory."""
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    def map_memory(self, size: int) -> mmap.mmap:
        """Zeros that take memory only where they are written to."""
        return memory.anonymous(size)

    def allocate(self, descriptor: int, position: int, size: int) -> None:
        """Reserve room for a range of a file, so that a write to its mapping cannot fail (with SIGBUS)."""
        allocation.allocate(descriptor, position, size)

    def write_zeros(self, descriptor: int, position: int, size: int, piece_bytes: int) -> None:
        """Bring a range of a file that is zero, and has its room, to memory before its mapping is written to.

        The system takes large pages for this. A page at a time, as for writes to the mapping, costs five times as much (3.2 µs
        a page of 4 KiB on ext4, 0.7 this way). ``piece_bytes`` bounds the pages, because a sync writes each changed page as a
        whole.
        """
        for start in range(position, position + size, piece_bytes):
            files.write_at(descriptor, memoryview(_ZEROS)[: min(piece_bytes, position + size - start)], start)

    def write_at(self, descriptor: int, data: bytes | bytearray | memoryview, position: int) -> None:
        files.write_all_at(descriptor, data, position)

    def read_at(self, path: Path | str, size: int, position: int) -> bytes:
        """Up to ``size`` bytes of a file."""
        # Not by a file object, whose creation takes four times as long as the read.
        descriptor = files.open_to_read(path)
        try:
            return files.read_at(descriptor, size, position)
        finally:
            os.close(descriptor)

    def read_descriptor(self, descriptor: int, size: int, position: int) -> bytes:
        """Up to ``size`` bytes of an open file, with the writes through its mappings."""
        return files.read_at(descriptor, size, position)

    def next_data(self, path: Path, position: int) -> int:
        """First position from ``position`` on that does not lie in a hole; the file's size without one."""
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            return holes.next_data(file.fileno(), position, size)

    def next_hole(self, path: Path, position: int) -> int:
        """First position from ``position`` on that lies in a hole; the file's size without one."""
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            return holes.next_hole(file.fileno(), position, size)

    def clear_behind(self, path: Path, position: int) -> None:
        """Make all bytes of a file from ``position`` on zero, on the disk too; bytes that are zero already cost nothing."""
        cleared = False
        with path.open("r+b", buffering=0) as file:
            descriptor = file.fileno()
            size = os.fstat(descriptor).st_size
            while (position := holes.next_data(descriptor, position, size)) < size:
                data = files.read_at(descriptor, min(_CLEAR_BYTES, size - position), position)
                if data.count(0) != len(data):
                    self.write_at(descriptor, bytes(len(data)), position)
                    cleared = True
                position += len(data)
            if cleared:
                # Otherwise old bytes could return after the first half of a record that is written there later.
                self.sync(descriptor)

    def unmap_pages(self, mapped: memoryview) -> None:
        """Take the whole pages of a part of a mapped file out of this process; they stay in the file."""
        page_cache.unmap(address(mapped), len(mapped))

    def sync(self, descriptor: int) -> None:
        """Return when the file's bytes, mapped ones too, are on the disk."""
        files.sync_data(descriptor)

    def sync_sized(self, path: Path | str, size: int) -> None:
        """`sync` a closed file; it has ``size`` bytes afterwards."""
        descriptor = self.open_sized(path, size)
        try:
            self.sync(descriptor)
        finally:
            self.close(descriptor)

    def kernel_sync(self) -> KernelSync:
        """Asynchronous syncs; raises where the system has none."""
        return kernel_sync.open_kernel_sync()

    def sync_directory(self, path: Path) -> None:
        """Return when names made or removed in a directory are on the disk."""
        files.sync_directory(path)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def replace_file(self, path: Path, data: bytes, *, mode: int = 0o644) -> None:
        """Put ``data`` in place of a file at once: temporary file, sync, rename, sync of the directory."""
        replace_file(path, data, mode=mode, write=self.write_at, sync=self.sync, sync_names=self.sync_directory)

    def usage(self, path: Path) -> tuple[int, int]:
        """Used and usable-plus-used bytes of the disk that holds ``path``.

        Source: docs/spec/store.md §12 item 3 (room reserved for the superuser counts as neither).
        """
        return machine.disk_usage(path)
