"""Memory that ends where the process ends if it reads on."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

_NONE, _READ_AND_WRITE = 0, 3


@contextmanager
def guarded(data: bytes) -> Iterator[memoryview]:
    """The bytes, with a page behind them that may not be read."""
    page = mmap.PAGESIZE
    pages = -(-max(len(data), 1) // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    start = ctypes.c_char.from_buffer(memory)
    forbidden = ctypes.c_void_p(ctypes.addressof(start) + pages * page)
    protect = ctypes.CDLL(None).mprotect
    view = memoryview(memory)[pages * page - len(data) : pages * page]
    view[:] = data
    assert protect(forbidden, ctypes.c_size_t(page), _NONE) == 0
    try:
        yield view
    finally:
        assert protect(forbidden, ctypes.c_size_t(page), _READ_AND_WRITE) == 0
        view.release()
        del start
        memory.close()
