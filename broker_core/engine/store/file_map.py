"""Read-only mapping of a file, safe for holes on a full disk.

A store creates its files at full size and fills them from the front; a hole follows the written part. Reading a hole through a
mapping costs nothing on most file systems, but tmpfs reserves a page for it, and without room the system kills the process
(SIGBUS). Such a file is therefore copied into memory, without its holes.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from broker_core.platform import files, holes, memory

_ROOM_BYTES = 64 * 1024 * 1024
"""Room that must remain if all holes of a file were read through its mapping; otherwise the file is copied."""
_COPY_BYTES = 16 * 1024 * 1024


def map_file(path: Path) -> mmap.mmap:
    """The whole of a file, which is not empty, as readable memory.

    Raises:
        OSError: It cannot be opened or mapped.
    """
    with path.open("rb") as file:
        descriptor = file.fileno()
        if holes.holes_need_room(descriptor, _ROOM_BYTES):
            return _copy(descriptor)
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)


def _copy(descriptor: int) -> mmap.mmap:
    size = os.fstat(descriptor).st_size
    copy = memory.anonymous(size)
    position = holes.next_data(descriptor, 0, size)
    with memoryview(copy) as view:
        while position < size:
            end = min(holes.next_hole(descriptor, position, size), position + _COPY_BYTES, size)
            with view[position:end] as part:
                read = files.read_into(descriptor, part, position)
            if not read:  # the file was cut meanwhile
                break
            position = holes.next_data(descriptor, position + read, size)
    return copy


def end_of_data(path: Path) -> int:
    """Position after which a file is only a hole: reading that would cost memory, and room on some file systems."""
    with path.open("rb", buffering=0) as file:
        descriptor, end = file.fileno(), 0
        size = os.fstat(descriptor).st_size
        while (start := holes.next_data(descriptor, end, size)) < size:
            end = holes.next_hole(descriptor, start, size)
        return end
