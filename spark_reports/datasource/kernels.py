"""The kernels of reports: those of this installation, or compiled for the process.

A worker of a cluster has Orbit's Python files only. It compiles the kernels once, in some seconds, where it has numba.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from broker_core.native.addresses import address
from broker_core.native.library import Function, Library, installed

_NAMES = frozenset({"scan_heads", "find_bytes", "number_texts", "tags_codes", "find_faults", "follow", "add_up"})


@cache
def library() -> Library | None:
    """The kernels; None without machine code and numba, and then they run in Python."""
    found = installed()
    if found is not None:
        return found
    try:
        from broker_core.native.build.compiler import InProcess
    except ModuleNotFoundError:
        return None
    return InProcess(_NAMES)


def run_kernel(name: str, in_python: Function, *buffers: Any) -> int:
    """Run a kernel on buffers; ``in_python`` is the same as Python."""
    found = library()
    if found is None:
        return in_python(*(memoryview(buffer) for buffer in buffers))
    return found.function(name)(*map(address, buffers))
