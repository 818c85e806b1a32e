"""Calls of kernels: with machine code on addresses, without on views of the same buffers."""

from __future__ import annotations

from typing import Any

from broker_core.native.addresses import address
from broker_core.native.library import ENTRIES, Function, Kind, Library

_ITEM_BYTES = {Kind.BYTES: 1, Kind.TABLE: 8}


def call(library: Library | None, kernel: Function, *arguments: Any) -> int:
    """Run a kernel; returns what it returns.

    Args:
        library: The machine code; None runs it in Python.
        kernel: The kernel in Python, by whose name machine code knows it.
        arguments: Numbers and buffers, which keep their places and sizes until it returns.
    """
    if library is None:
        return kernel(*(one if isinstance(one, int) else memoryview(one) for one in arguments))
    kinds = zip(ENTRIES[kernel.__name__], arguments, strict=True)
    given = [one if kind is Kind.NUMBER else address(one, _ITEM_BYTES[kind]) for kind, one in kinds]
    return library.function(kernel.__name__)(*given)
