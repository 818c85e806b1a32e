"""Advice about the pages of files that the system keeps in memory, and which of them are there.

need            own way                  plain way
read_ahead      posix_fadvise (Linux)    the range is read; the caller's thread may wait
expect_random   madvise (MADV_RANDOM)    nothing: the system reads more than is needed
release         madvise (MADV_DONTNEED)  nothing: the system releases pages when memory is short
unmap           madvise (Linux)          nothing, because it only saves time
is_resident     mincore                  true, because the system does not tell
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from broker_core.platform import files
from broker_core.platform.ways import PLAIN

_PIECE_BYTES: Final = 256 * 1024


def plain_read_ahead(descriptor: int, position: int, size: int) -> None:
    """Have the system read a range of a file into memory, on a thread that may wait.

    Raises:
        OSError: The disk is broken.
    """
    end = position + size
    while position < end and (data := files.read_at(descriptor, min(_PIECE_BYTES, end - position), position)):
        position += len(data)


def plain_expect_random(mapping: mmap.mmap) -> None:
    """Have the system read no more of a mapped file than is accessed."""


def plain_release(mapping: mmap.mmap, start: int, size: int) -> None:
    """Let the system drop whole pages of a mapping that is only read; it reads them again if needed."""


def plain_unmap(place: int, size: int) -> None:
    """Take the whole pages of a shared file mapping, by their address, out of this process.

    The file keeps their bytes, and the next access maps them again.
    """


def plain_is_resident(place: int, size: int) -> bool:
    """Whether bytes of a mapped file, by their address, can be read without waiting; true where the system does not tell."""
    return True


read_ahead: Callable[[int, int, int], None] = plain_read_ahead
expect_random: Callable[[mmap.mmap], None] = plain_expect_random
release: Callable[[mmap.mmap, int, int], None] = plain_release
unmap: Callable[[int, int], None] = plain_unmap
is_resident: Callable[[int, int], bool] = plain_is_resident

if sys.platform == "linux" and not PLAIN:

    def _read_ahead(descriptor: int, position: int, size: int) -> None:
        os.posix_fadvise(descriptor, position, size, os.POSIX_FADV_WILLNEED)

    _madvise: Final[Any] = ctypes.CDLL(None).madvise
    """Other threads run meanwhile, as they do not during `mmap.madvise`."""
    _madvise.argtypes, _madvise.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], ctypes.c_int

    def _unmap(place: int, size: int) -> None:
        first, end = -(-place // mmap.PAGESIZE) * mmap.PAGESIZE, (place + size) // mmap.PAGESIZE * mmap.PAGESIZE
        if end > first:
            _madvise(first, end - first, mmap.MADV_DONTNEED)

    read_ahead, unmap = _read_ahead, _unmap

if sys.platform != "win32" and not PLAIN:

    def _expect_random(mapping: mmap.mmap) -> None:
        mapping.madvise(mmap.MADV_RANDOM)

    def _release(mapping: mmap.mmap, start: int, size: int) -> None:
        mapping.madvise(mmap.MADV_DONTNEED, start, size)

    expect_random, release = _expect_random, _release

    _mincore: Final[Any] = getattr(ctypes.PyDLL(None), "mincore", None)
    """Takes 2 µs for 64 pages; no other thread runs meanwhile."""

    if _mincore is not None:
        _mincore.argtypes, _mincore.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p], ctypes.c_int

        def _is_resident(place: int, size: int) -> bool:
            first = place - place % mmap.PAGESIZE
            pages = -((first - place - size) // mmap.PAGESIZE)
            found = ctypes.create_string_buffer(pages)  # a byte of 0 or 1 each
            _mincore(first, place + size - first, found)
            return b"\0" not in found.raw

        is_resident = _is_resident
