"""Machine code for tests: that of the checkout, or one made for the run where that is missing."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from broker_core.native.addresses import address
from broker_core.native.library import FOLDER, Library, library_path, reason_not_usable


def uses_machine_code() -> bool:
    """Whether the brokers of this run of tests may use machine code."""
    return os.environ.get("ORBIT_TEST_NATIVE", "on") != "off"


@cache
def library() -> Library:
    """The kernels, compiled."""
    folder = FOLDER
    if reason_not_usable():
        folder = Path(tempfile.mkdtemp(prefix="orbit-machine-code-"))
        subprocess.run([sys.executable, "-m", "broker_core.native.build", "--folder", str(folder)], check=True)
    assert not reason_not_usable(folder)
    return Library(library_path(folder))


def before_forbidden(size: int) -> memoryview:
    """Zeros that end where memory does: one byte more would end the process."""
    page = mmap.PAGESIZE
    pages = -(-size // page)
    view = memoryview(mmap.mmap(-1, (pages + 1) * page))
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(address(view) + pages * page), ctypes.c_size_t(page), 0) == 0
    return view[pages * page - size : pages * page]


def guarded(data: bytes) -> contextlib.nullcontext[memoryview]:
    """The bytes in memory that ends behind them."""
    view = before_forbidden(len(data))
    view[:] = data
    return contextlib.nullcontext(view)
