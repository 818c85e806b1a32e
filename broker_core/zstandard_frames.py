"""Zstandard frames by the standard library of Python 3.14; older ones get the same interface from a package."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def compress(data: bytes) -> bytes:
    """The data as one frame, which states its length."""
    return zstd.compress(data)


def decompress(data: bytes, bytes_max: int) -> bytes:
    """What the first frame of the data holds, at most ``bytes_max`` bytes of it.

    Raises:
        ValueError: The data is no frame, or a damaged one.
        EOFError: The frame ends early.
    """
    frame = zstd.ZstdDecompressor()
    try:
        inside = frame.decompress(data, bytes_max)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error
    if len(inside) < bytes_max and not frame.eof:
        raise EOFError("the frame ends too early")
    return inside
