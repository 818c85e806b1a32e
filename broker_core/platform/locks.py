"""Locks of open files, which the system releases when the file is closed or its process ends.

    need               own way (Linux, macOS)    plain way
    lock_file          flock                     a lock of one byte far behind the content, because such locks of Windows
                                                 keep others from reading the byte
    lock_first_byte    lockf (fcntl), as Java's  a lock of the first byte, as Java's on Windows
    first_byte_holder  F_GETLK                   0: the system does not tell

The plain ways need ``locking``: that of ``msvcrt``. Windows alone has it, so that tests elsewhere put a stand-in there.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable
from typing import Final

FAR: Final = 1 << 62
"""Position of the byte that stands for the whole file; a lock may lie behind the end."""
_NO_WAIT: Final = 2
"""``LK_NBLCK`` of msvcrt."""
_HELD: Final = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

locking: Callable[[int, int, int], None] | None = None
"""Locks bytes of a descriptor from its position on: descriptor, kind of lock, number of bytes."""


def plain_lock_file(descriptor: int) -> None:
    """Lock a file for this descriptor alone, also within the process.

    Raises:
        BlockingIOError: Another descriptor has locked it.
        OSError: The file system has no locks.
    """
    _lock_byte(descriptor, FAR)


def plain_lock_first_byte(descriptor: int) -> None:
    """Lock the first byte of a file, as Java's ``FileChannel`` does; this process may hold it twice on some systems.

    Raises:
        BlockingIOError: Another process has locked it.
        OSError: The file system has no locks.
    """
    _lock_byte(descriptor, 0)


def plain_first_byte_holder(descriptor: int) -> int:
    """Id of the process that has locked the first byte; 0 where that is unknown."""
    return 0


def _lock_byte(descriptor: int, position: int) -> None:
    assert locking is not None
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, position, os.SEEK_SET)
    try:
        locking(descriptor, _NO_WAIT, 1)
    except OSError as error:
        if error.errno in _HELD:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
        raise
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


lock_file: Callable[[int], None] = plain_lock_file
lock_first_byte: Callable[[int], None] = plain_lock_first_byte
first_byte_holder: Callable[[int], int] = plain_first_byte_holder

if sys.platform == "win32":
    import msvcrt

    locking = msvcrt.locking
else:
    import fcntl

    _FLOCK: Final = struct.Struct("qqihh" if sys.platform == "darwin" else "hh4xqqi4x")
    """``struct flock``: type, whence, start, length, pid on Linux; start, length, pid, type, whence on macOS."""

    def _lock_file(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_first_byte(descriptor: int) -> None:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except PermissionError as error:  # POSIX allows EACCES, too
            raise BlockingIOError(error.errno, error.strerror) from error

    def _first_byte_holder(descriptor: int) -> int:
        if sys.platform == "darwin":
            question = _FLOCK.pack(0, 1, 0, fcntl.F_WRLCK, os.SEEK_SET)
            at = 2
        else:
            question = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
            at = 4
        pid: int = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, question))[at]
        return pid

    lock_file, lock_first_byte, first_byte_holder = _lock_file, _lock_first_byte, _first_byte_holder
