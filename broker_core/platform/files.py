"""Opening of files, and reads, writes and syncs of open ones at a position. Every function may raise `OSError`.

need                 own way                              plain way
read_at, read_into   pread, preadv                        seek, read, seek back, under a lock
write_at             pwrite                               seek, write, seek back, under a lock
grow                 ftruncate                            the same; Windows: a mapping of that size, see `grow`
sync_data            fdatasync (Linux),                   mappings of the file are flushed, then fsync
F_FULLFSYNC (macOS)
sync_directory       fsync of the directory               nothing: Windows opens no directories, and NTFS has a journal
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from broker_core.platform.ways import PLAIN

Place = Path | str
Buffer = bytes | bytearray | memoryview

_COMMON: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Windows changes line ends of files that are not opened as binary; there no child inherits a descriptor anyway."""
_TURNS: Final = tuple(threading.Lock() for _ in range(64))
"""By descriptor modulo their number. Two reads of one descriptor would move its position for each other."""


# ---- opening -----------------------------------------------------------------------------------------------------------------


def open_to_read(path: Place) -> int:
    """Descriptor of a file, for reading."""
    return os.open(path, os.O_RDONLY | _COMMON)


def open_to_write(path: Place, mode: int = 0o644) -> int:
    """Descriptor of a file, for reading and writing; the file is created where it is missing."""
    return os.open(path, os.O_RDWR | os.O_CREAT | _COMMON, mode)


def open_new(path: Place, mode: int = 0o644) -> int:
    """Descriptor of a new file, for writing; raises `FileExistsError` where there is one."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON, mode)


def carry_bytes(*descriptors: int) -> None:
    """Let pipes and files carry bytes as they are; Windows else changes line ends."""
    if sys.platform == "win32":
        import msvcrt

        for descriptor in descriptors:
            msvcrt.setmode(descriptor, os.O_BINARY)


# ---- reads and writes --------------------------------------------------------------------------------------------------------


def plain_read_at(descriptor: int, size: int, position: int) -> bytes:
    """Up to ``size`` bytes from a position; fewer at the end of the file."""
    with _at(descriptor, position):
        return os.read(descriptor, size)


def plain_read_into(descriptor: int, buffer: memoryview, position: int) -> int:
    """Fill a buffer from a position; returns how many bytes were read, 0 at the end of the file."""
    data = read_at(descriptor, len(buffer), position)
    buffer[: len(data)] = data
    return len(data)


def plain_write_at(descriptor: int, data: Buffer, position: int) -> int:
    """Write some of ``data`` at a position; returns how many bytes."""
    with _at(descriptor, position):
        return os.write(descriptor, data)


@contextlib.contextmanager
def _at(descriptor: int, position: int) -> Any:  # noqa: ANN401  a generator
    with _TURNS[descriptor % len(_TURNS)]:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, position, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


read_at: Callable[[int, int, int], bytes] = plain_read_at
read_into: Callable[[int, memoryview, int], int] = plain_read_into
write_at: Callable[[int, Buffer, int], int] = plain_write_at

if sys.platform != "win32" and not PLAIN:

    def _read_into(descriptor: int, buffer: memoryview, position: int) -> int:
        return os.preadv(descriptor, [buffer], position)

    read_at, read_into, write_at = os.pread, _read_into, os.pwrite


def write_all_at(descriptor: int, data: Buffer, position: int) -> None:
    """Write all of ``data`` at a position."""
    view = memoryview(data)
    while view:
        written = write_at(descriptor, view, position)
        view, position = view[written:], position + written


# ---- size, mappings, syncs ---------------------------------------------------------------------------------------------------


def grow(descriptor: int, size: int) -> None:
    """Give a file a larger size; the new bytes are zero.

    On Windows by a mapping: the C library's ``chsize`` would write every new byte, a gibibyte for each file of the log.
    """
    if sys.platform == "win32":
        mmap.mmap(descriptor, size).close()
    else:
        os.ftruncate(descriptor, size)


_mapped: dict[tuple[int, int], WeakSet[mmap.mmap]] = {}
"""Device and number of a file → mappings of it that are written to. Only where `plain_map_shared` makes them."""
_mapped_lock: Final = threading.Lock()


def plain_map_shared(descriptor: int, size: int) -> mmap.mmap:
    """Mapping of a file, readable and writable; writes to it reach the file."""
    made = mmap.mmap(descriptor, size)
    with _mapped_lock:
        for gone in [key for key, mappings in _mapped.items() if not mappings]:
            del _mapped[gone]
        _mapped.setdefault(_identity(descriptor), WeakSet()).add(made)
    return made


def plain_sync_data(descriptor: int) -> None:
    """Return when the file's bytes, mapped ones too, are on the disk.

    Windows writes changed pages of a mapping only when that mapping is flushed.
    """
    with _mapped_lock:
        mappings = list(_mapped.get(_identity(descriptor), ()))
    for mapping in mappings:
        if not mapping.closed:
            mapping.flush()
    os.fsync(descriptor)


def plain_sync_directory(path: Path) -> None:
    """Return when names made or removed in a directory are on the disk, as far as the system can say."""


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


map_shared: Callable[[int, int], mmap.mmap] = plain_map_shared
sync_data: Callable[[int], None] = plain_sync_data
sync_directory: Callable[[Path], None] = plain_sync_directory

if sys.platform != "win32" and not PLAIN:

    def _sync_directory(path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    map_shared, sync_directory = mmap.mmap, _sync_directory

if sys.platform == "linux" and not PLAIN:
    sync_data = os.fdatasync
elif sys.platform == "darwin" and not PLAIN:
    import fcntl

    def _sync_through(descriptor: int) -> None:
        """``fsync`` of macOS leaves the bytes in the memory of the disk."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:  # a file system without it
            os.fsync(descriptor)

    sync_data = _sync_through
