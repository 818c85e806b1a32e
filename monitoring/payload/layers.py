"""Decompression of bodies: gzip, zlib, LZ4 and Zstandard frames, also nested.

Only data with the magic bytes of a format is decompressed; if that fails, it stays unchanged and the reason is returned. The
output is bounded, because a few kilobytes can expand to gigabytes.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

LAYERS_MAX: Final = 4
OUT_BYTES_MAX: Final = 32 * 1024 * 1024
"""Limit of the decompressed bytes of a body."""

_ZLIB_SECOND = frozenset({0x01, 0x5E, 0x9C, 0xDA})


@dataclass(frozen=True, slots=True)
class Layer:
    """One compression that was undone."""

    name: str
    packed_bytes: int
    unpacked_bytes: int


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The decompressed data, at most `OUT_BYTES_MAX`.

    Attributes:
        layers: Undone compressions, the outermost first.
        is_cut: Whether there is more than ``data``.
        refusals: Layers whose magic bytes were found but that failed: name and reason.
    """

    data: bytes
    layers: tuple[Layer, ...] = ()
    is_cut: bool = False
    refusals: tuple[tuple[str, str], ...] = ()


def unwrap(data: bytes, *, out_bytes_max: int = OUT_BYTES_MAX) -> Unwrapped:
    """Undo the compression of a body; never raises."""
    layers: list[Layer] = []
    while len(layers) < LAYERS_MAX:
        name = announced(data)
        if not name:
            break
        try:
            inside = _UNDO[name](data, out_bytes_max + 1)
        except (OSError, EOFError, ValueError, RuntimeError, zlib.error) as error:
            return Unwrapped(data, tuple(layers), refusals=((name, str(error) or type(error).__name__),))
        is_cut = len(inside) > out_bytes_max
        inside = inside[:out_bytes_max]
        layers.append(Layer(name, len(data), len(inside)))
        data = inside
        if is_cut:
            return Unwrapped(data, tuple(layers), is_cut=True)
    return Unwrapped(data, tuple(layers))


def announced(data: bytes) -> str:
    """The compression of the magic bytes; empty for none."""
    if data.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    if data.startswith(b"\x04\x22\x4d\x18"):
        return "lz4"
    if len(data) > 6 and data[0] == 0x78 and data[1] in _ZLIB_SECOND:
        return "zlib"
    return ""


def _gunzip(data: bytes, bytes_max: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        return stream.read(bytes_max)


def _inflate(data: bytes, bytes_max: int) -> bytes:
    inflater = zlib.decompressobj()
    inside = inflater.decompress(data, bytes_max)
    if len(inside) < bytes_max and not inflater.eof:
        raise EOFError("the stream ends too early")
    return inside


def _unlz4(data: bytes, bytes_max: int) -> bytes:
    import lz4.frame

    with lz4.frame.LZ4FrameFile(io.BytesIO(data)) as stream:
        return bytes(stream.read(bytes_max))


def _unzstd(data: bytes, bytes_max: int) -> bytes:
    from broker_core import zstandard_frames

    return zstandard_frames.decompress(data, bytes_max)


_UNDO: dict[str, Callable[[bytes, int], bytes]] = {"gzip": _gunzip, "zlib": _inflate, "lz4": _unlz4, "zstd": _unzstd}
