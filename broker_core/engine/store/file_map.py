"""Read-only mapping of a file, safe for holes on a full disk.

A store creates its files at full size and fills them from the front; a hole follows the written part. Reading a hole through a
mapping costs nothing on most file systems, but tmpfs reserves a page for it, and without room the system kills the process
(SIGBUS). Such a file is therefore copied into memory, without its holes.
"""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

_ROOM_BYTES = 64 * 1024 * 1024
"""Room that must remain if all holes of a file were read through its mapping; otherwise the file is copied."""
_COPY_BYTES = 16 * 1024 * 1024
_BLOCK_BYTES = 512
"""Unit of ``st_blocks``."""


def map_file(path: Path) -> mmap.mmap:
    """The whole of a file, which is not empty, as readable memory.

    Raises:
        OSError: It cannot be opened or mapped.
    """
    with path.open("rb") as file:
        descriptor = file.fileno()
        if _holes_need_room(descriptor):
            return _copy(descriptor)
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)


def _holes_need_room(descriptor: int) -> bool:
    status = os.fstat(descriptor)
    is_on_device = os.major(status.st_dev) != 0
    if is_on_device or status.st_blocks * _BLOCK_BYTES >= status.st_size:
        return False
    system = os.fstatvfs(descriptor)
    holes = status.st_size - status.st_blocks * _BLOCK_BYTES
    return system.f_bavail * system.f_frsize < holes + _ROOM_BYTES


def _copy(descriptor: int) -> mmap.mmap:
    size = os.fstat(descriptor).st_size
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    position = next_data(descriptor, 0, size)
    with memoryview(memory) as view:
        while position < size:
            end = min(os.lseek(descriptor, position, os.SEEK_HOLE), position + _COPY_BYTES, size)
            with view[position:end] as part:
                read = os.preadv(descriptor, [part], position)
            if not read:  # the file was cut meanwhile
                break
            position = next_data(descriptor, position + read, size)
    return memory


def next_data(descriptor: int, position: int, size: int) -> int:
    """First position from ``position`` on that does not lie in a hole; ``size``, the file's, without one."""
    try:
        return os.lseek(descriptor, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # only a hole follows
            return size
        raise


def end_of_data(path: Path) -> int:
    """Position after which a file is only a hole: reading that would cost memory, and room on some file systems."""
    with path.open("rb", buffering=0) as file:
        descriptor, end = file.fileno(), 0
        size = os.fstat(descriptor).st_size
        while (start := next_data(descriptor, end, size)) < size:
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
        return end
