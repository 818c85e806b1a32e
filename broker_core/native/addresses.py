"""Where the bytes of a Python object are, for machine code that reads and writes them; and room for such bytes."""

from __future__ import annotations

import ctypes
from typing import Any

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
_bytes_of_any_value = ctypes.pythonapi.PyByteArray_FromStringAndSize
_bytes_of_any_value.argtypes, _bytes_of_any_value.restype = (ctypes.c_char_p, ctypes.c_ssize_t), ctypes.py_object


def address(buffer: Any, item_bytes: int = 0) -> int:  # noqa: ANN401  Python 3.11 has no type for buffers
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


def room(numbers: int) -> memoryview:
    """A table of so many numbers of any value: to fill 9 MB with zeros takes a millisecond."""
    return memoryview(_bytes_of_any_value(None, 8 * numbers)).cast("q")
