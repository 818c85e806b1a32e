"""The kernels of reports: those of this installation, or compiled for the process.

A worker of a cluster has Orbit's Python files only. It compiles the kernels once, in some seconds, where it has numba.
"""

from __future__ import annotations

from functools import cache

from broker_core.native.library import Library, installed

_NAMES = frozenset({"scan_heads", "number_texts", "follow", "add_up"})


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
