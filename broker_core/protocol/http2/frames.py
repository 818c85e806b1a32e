"""Frames of HTTP/2: their head, their types, and the bytes of those that a server sends.

    length u24 | type u8 | flags u8 | stream u32 (highest bit reserved) | payload

Source: RFC 9113, sections 4, 6 and 7; docs/spec/grpc.md §10.3.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES: Final = 9
FRAME_BYTES_MAX: Final = 16_384
"""Largest payload that every peer takes, and that we take."""
WINDOW_MAX: Final = (1 << 31) - 1
WINDOW_DEFAULT: Final = 65_535
STREAM_ID_MAX: Final = (1 << 31) - 1

HEAD: Final = Struct(">IBI")
_PAIR = Struct(">HI")
_WORD = Struct(">I")


class FrameType(IntEnum):
    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


class Flag(IntEnum):
    """Flags; a bit means one thing for each type of frame."""

    ACK = 0x1
    END_STREAM = 0x1
    END_HEADERS = 0x4
    PADDED = 0x8
    PRIORITY = 0x20


class Setting(IntEnum):
    HEADER_TABLE_SIZE = 1
    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


class ErrorCode(IntEnum):
    """Why a stream or a connection ends."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


def head(kind: FrameType, flags: int, stream_id: int, size: int) -> bytes:
    """The nine bytes before a payload of ``size`` bytes."""
    return HEAD.pack(size << 8 | kind, flags, stream_id)


def frame(kind: FrameType, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    return HEAD.pack(len(payload) << 8 | kind, flags, stream_id) + payload


def head_at(data: bytes, position: int) -> tuple[int, int, int, int]:
    """Payload size, type, flags and stream of the frame that begins at a position."""
    word, flags, stream_id = HEAD.unpack_from(data, position)
    return word >> 8, word & 0xFF, flags, stream_id & STREAM_ID_MAX


def settings_frame(values: dict[Setting, int]) -> bytes:
    return frame(FrameType.SETTINGS, 0, 0, b"".join(_PAIR.pack(key, value) for key, value in values.items()))


def settings_of(payload: bytes) -> list[tuple[int, int]]:
    """Identifiers and values of a SETTINGS payload, whose size is a multiple of six."""
    return list(_PAIR.iter_unpack(payload))


def window_update(stream_id: int, size: int) -> bytes:
    """A WINDOW_UPDATE frame; stream 0 is the connection."""
    return frame(FrameType.WINDOW_UPDATE, 0, stream_id, _WORD.pack(size))


def reset(stream_id: int, code: ErrorCode) -> bytes:
    """A RST_STREAM frame."""
    return frame(FrameType.RST_STREAM, 0, stream_id, _WORD.pack(code))


def goaway(last_stream_id: int, code: ErrorCode, text: str) -> bytes:
    """A GOAWAY frame with a reason that the peer may log."""
    return frame(FrameType.GOAWAY, 0, 0, _WORD.pack(last_stream_id) + _WORD.pack(code) + text.encode())


def word_of(payload: bytes) -> int:
    """The number that a payload begins with, without its highest bit."""
    return int(_WORD.unpack_from(payload)[0]) & STREAM_ID_MAX
