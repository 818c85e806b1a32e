"""Length-prefixed frames on a byte stream; knows no pipe and no process.

    ┌──────────────┬─────────────────┐
    │ length  u32  │ payload         │
    │ big-endian   │ length bytes    │
    └──────────────┴─────────────────┘

What a payload means is the business of `broker_core.worker.channel.codec`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from broker_core.errors import CodecError

_LENGTH = struct.Struct(">I")
assert _LENGTH.size == 4

FRAME_BYTES_MAX = 64 * 1024 * 1024
"""Largest payload of one frame: a message of the largest size with its properties, many times over."""


def frame(payload: bytes, *, frame_bytes_max: int = FRAME_BYTES_MAX) -> bytes:
    """A payload with its length before it. Raises `CodecError` for an empty payload and one above ``frame_bytes_max``."""
    _check_length(len(payload), frame_bytes_max)
    return _LENGTH.pack(len(payload)) + payload


class FrameReader:
    """Cuts a byte stream, fed in pieces of any size, into payloads.

    Not thread-safe. After a `CodecError` the stream cannot be read on, because the begin of the next frame is unknown.
    """

    def __init__(self, *, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._buffer = bytearray()
        self._needed_bytes = _LENGTH.size

    @property
    def pending_bytes(self) -> int:
        """Bytes of an incomplete frame."""
        return len(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[bytes]:
        """Take in ``data`` and yield the payloads completed by it. Raises `CodecError` for a length of 0 or above the limit.

        The data is taken in at once, but a payload is cut off only when the caller asks for it; a reader that stops early
        gets the rest with the next call.
        """
        self._buffer += data
        return self._payloads()

    def _payloads(self) -> Iterator[bytes]:
        buffer, start = self._buffer, 0
        try:
            # An incomplete frame is checked again only when enough bytes are there, not with every piece.
            while len(buffer) - start >= max(self._needed_bytes, _LENGTH.size):
                (length,) = _LENGTH.unpack_from(buffer, start)
                _check_length(length, self._frame_bytes_max)
                end = start + _LENGTH.size + length
                if end > len(buffer):
                    self._needed_bytes = end - start
                    return
                payload = bytes(memoryview(buffer)[start + _LENGTH.size : end])
                start, self._needed_bytes = end, _LENGTH.size
                yield payload
        finally:
            del buffer[:start]


def _check_length(length: int, frame_bytes_max: int) -> None:
    if not 0 < length <= frame_bytes_max:
        raise CodecError(
            f"a frame of the worker channel has 1 to {frame_bytes_max} bytes, this one says {length}",
            frame_bytes=length,
        )
