"""Where the bytes of a Python object are, for machine code that reads and writes them, and which of them are in memory."""

from __future__ import annotations

import ctypes
import mmap
import sys
from mmap import PAGESIZE
from typing import Any, Final

from broker_core.errors import BugError


class _View(ctypes.Structure):
    """``Py_buffer`` of Python's C interface."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_SIMPLE = 0


def address(buffer: Any, item_bytes: int = 0) -> int:  # noqa: ANN401  arrays of numpy have no type in common with other buffers
    """The address of the first byte of a buffer, also of a read-only one.

    The caller keeps the buffer, and changes its size only after the machine code has returned.

    Args:
        buffer: Contiguous.
        item_bytes: What an item must have, because machine code cannot know it; 0 for any size.
    """
    view = _View()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(buffer), ctypes.byref(view), _SIMPLE)
    try:
        if item_bytes not in (0, view.itemsize):
            raise BugError(f"machine code expects items of {item_bytes} bytes, not of {view.itemsize}")
        return view.buf or 0
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


_mincore: Final[Any] = getattr(ctypes.PyDLL(None), "mincore", None)
"""Takes 2 µs; no other thread runs meanwhile."""
if _mincore is not None:
    _mincore.argtypes, _mincore.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p], ctypes.c_int
_Byte: Final = ctypes.c_ubyte * 1


def is_resident(place: int) -> bool:
    """Whether the page of a mapped file at an address can be read without waiting; true also where the system does not tell."""
    if _mincore is None:
        return True
    found = _Byte(1)
    _mincore(place - place % PAGESIZE, 1, found)
    return bool(found[0] & 1)


_madvise: Final[Any] = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
"""Other threads run meanwhile, as they do not during `mmap.madvise`."""
if _madvise is not None:
    _madvise.argtypes, _madvise.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], ctypes.c_int


def unmap_pages(place: int, size: int) -> None:
    """Take the whole pages of a shared file mapping out of this process.

    The file keeps their bytes, and the next access maps them again. Without such a call of the system nothing is done, because
    it only saves time.
    """
    first, end = -(-place // PAGESIZE) * PAGESIZE, (place + size) // PAGESIZE * PAGESIZE
    if _madvise is not None and end > first:
        _madvise(first, end - first, mmap.MADV_DONTNEED)
