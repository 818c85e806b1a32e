"""Private memory of this process: zeros that take memory when they are written to, reserved address space, and its heap.

need        own way                                plain way
anonymous   mmap (MAP_PRIVATE, MAP_ANONYMOUS)      mmap without a file, the only one of Windows
reserve     the same without access                `anonymous` memory, at most `PLAIN_RESERVED_BYTES`
give_use    mprotect                               nothing: it may be used already
clear       madvise (MADV_DONTNEED, Linux)         zeros are written; the system does not get the memory
bound_heap  mallopt (glibc)                        nothing: the C library does as it does
trim_heap   malloc_trim (glibc, 0.3 ms)            nothing
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
_OWN_PAGES_BYTES: Final = 1 << 20
"""Pieces from this size on are mapped on their own. Answers with messages (256 KiB) are smaller: a page fault costs 0.2 µs."""
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""Names of mallopt(3)."""


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


def plain_bound_heap() -> None:
    """Let the heap keep little memory that is free, on a server that runs for weeks; called before threads start.

    glibc gives each thread a heap of its own, and once a large piece was freed it takes later ones of that size from these
    heaps instead of from the system: the memory of figures that were packed once would stay.
    """


def plain_trim_heap() -> None:
    """Give free pages of the heap back to the system; after work that took much memory."""


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
bound_heap: Callable[[], None] = plain_bound_heap
trim_heap: Callable[[], None] = plain_trim_heap

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

    _library = ctypes.CDLL(None)

    def _bound_heap() -> None:
        for name, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _OWN_PAGES_BYTES), (_TRIM_THRESHOLD, _OWN_PAGES_BYTES)):
            _library.mallopt(name, value)

    def _trim_heap() -> None:
        _library.malloc_trim(0)

    if hasattr(_library, "mallopt"):  # glibc
        bound_heap, trim_heap = _bound_heap, _trim_heap
