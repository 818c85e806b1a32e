"""Where a file has data. A hole is a range that was never written to; it reads as zeros and takes no room.

Own way: ``lseek`` with SEEK_DATA and SEEK_HOLE (Linux, macOS). Plain way: zeros count as a hole, in pieces of 64 KiB. It reads
the file, so it takes longer, and gives callers the same, because they treat holes and zeros alike.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Final

from broker_core.platform import files
from broker_core.platform.ways import PLAIN

PIECE_BYTES: Final = 64 * 1024
_NOT_SUPPORTED: Final = (errno.EINVAL, errno.ENOTTY, errno.EOPNOTSUPP)


def plain_next_data(descriptor: int, position: int, size: int) -> int:
    """First position from ``position`` on that does not lie in a hole; ``size``, the file's, without one.

    Raises:
        OSError: The file cannot be read.
    """
    while position < size:
        piece = files.read_at(descriptor, _to_border(position, size), position)
        if not piece:  # the file was cut meanwhile
            return size
        if piece.count(0) != len(piece):
            return position
        position += len(piece)
    return size


def plain_next_hole(descriptor: int, position: int, size: int) -> int:
    """First position from ``position`` on that lies in a hole; ``size``, the file's, without one.

    Raises:
        OSError: The file cannot be read.
    """
    while position < size:
        piece = files.read_at(descriptor, _to_border(position, size), position)
        if piece.count(0) == len(piece):
            return position
        position += len(piece)
    return size


def _to_border(position: int, size: int) -> int:
    return min(PIECE_BYTES - position % PIECE_BYTES, size - position)


next_data: Callable[[int, int, int], int] = plain_next_data
next_hole: Callable[[int, int, int], int] = plain_next_hole

if sys.platform != "win32" and not PLAIN:

    def _sought(whence: int, plain: Callable[[int, int, int], int]) -> Callable[[int, int, int], int]:
        def sought(descriptor: int, position: int, size: int) -> int:
            try:
                return os.lseek(descriptor, position, whence)
            except OSError as error:
                if error.errno == errno.ENXIO:  # only a hole follows, or the file was cut meanwhile
                    return size
                if error.errno in _NOT_SUPPORTED:
                    return plain(descriptor, position, size)
                raise

        return sought

    next_data, next_hole = _sought(os.SEEK_DATA, plain_next_data), _sought(os.SEEK_HOLE, plain_next_hole)


def plain_holes_need_room(descriptor: int, spare_bytes: int) -> bool:
    """Whether reading all holes of a file through a mapping may take room that its file system does not have.

    Only file systems in memory take room for that (``tmpfs``); ``spare_bytes`` must remain. Where the system does not tell the
    kind of the file system, it has none of these.
    """
    return False


holes_need_room: Callable[[int, int], bool] = plain_holes_need_room

if sys.platform != "win32" and not PLAIN:
    _STATUS_BLOCK_BYTES: Final = 512

    def _holes_need_room(descriptor: int, spare_bytes: int) -> bool:
        status = os.fstat(descriptor)
        is_on_device = os.major(status.st_dev) != 0
        if is_on_device or status.st_blocks * _STATUS_BLOCK_BYTES >= status.st_size:
            return False
        system = os.fstatvfs(descriptor)
        holes = status.st_size - status.st_blocks * _STATUS_BLOCK_BYTES
        return system.f_bavail * system.f_frsize < holes + spare_bytes

    holes_need_room = _holes_need_room
