"""Private memory of this process: zeros that take memory when they are written to, and address space that is reserved.

need        own way                                plain way
anonymous   mmap (MAP_PRIVATE, MAP_ANONYMOUS)      mmap without a file, the only one of Windows
reserve     the same without access                `anonymous` memory, at most `PLAIN_RESERVED_BYTES`
give_use    mprotect                               nothing: it may be used already
clear       madvise (MADV_DONTNEED, Linux)         zeros are written; the system does not get the memory
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from typing import Final

from broker_core.platform.ways import PLAIN

PLAIN_RESERVED_BYTES: Final = 256 << 20
"""Windows counts memory that may be used as used (commit charge), though nothing was written to it."""
_NO_ACCESS: Final = 0


def plain_anonymous(size: int) -> mmap.mmap:
    """Zeros that take memory only where they are written to.

    Raises:
        OSError: The system refuses.
    """
    return mmap.mmap(-1, size)


def plain_reserve(size: int, least: int) -> mmap.mmap:
    """Address space of ``size`` bytes, or of a half, a quarter and so on where the system gives no more.

    Raises:
        OSError: The system refuses ``least`` bytes too.
    """
    while size // 2 >= max(least, PLAIN_RESERVED_BYTES):
        size //= 2
    return _halved(anonymous, size, least)


def plain_give_use(address: int, size: int) -> bool:
    """Make reserved pages usable; returns False where the system gives no memory."""
    return True


def plain_clear(mapping: mmap.mmap, start: int, size: int, address: int) -> None:
    """Make whole pages zero, and let the system have their memory where that is possible; ``address`` is the mapping's."""
    ctypes.memset(address + start, 0, size)


def _halved(make: Callable[[int], mmap.mmap], size: int, least: int) -> mmap.mmap:
    while True:
        try:
            return make(size)
        except OSError:
            if size // 2 < least:
                raise
            size //= 2


anonymous: Callable[[int], mmap.mmap] = plain_anonymous
reserve: Callable[[int, int], mmap.mmap] = plain_reserve
give_use: Callable[[int, int], bool] = plain_give_use
clear: Callable[[mmap.mmap, int, int, int], None] = plain_clear

if sys.platform != "win32" and not PLAIN:
    _PRIVATE: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    _READ_AND_WRITE: Final = mmap.PROT_READ | mmap.PROT_WRITE

    def _anonymous(size: int) -> mmap.mmap:
        return mmap.mmap(-1, size, flags=_PRIVATE)

    def _without_access(size: int) -> mmap.mmap:
        return mmap.mmap(-1, size, flags=_PRIVATE, prot=_NO_ACCESS)

    def _reserve(size: int, least: int) -> mmap.mmap:
        return _halved(_without_access, size, least)

    _protect = ctypes.CDLL(None).mprotect
    _protect.argtypes, _protect.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], ctypes.c_int

    def _give_use(address: int, size: int) -> bool:
        return not _protect(address, size, _READ_AND_WRITE)

    anonymous, reserve, give_use = _anonymous, _reserve, _give_use

if sys.platform == "linux" and not PLAIN:

    def _clear(mapping: mmap.mmap, start: int, size: int, _address: int) -> None:
        mapping.madvise(mmap.MADV_DONTNEED, start, size)

    clear = _clear
