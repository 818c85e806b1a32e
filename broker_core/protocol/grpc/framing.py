"""How gRPC uses HTTP/2: the prefix of messages, timeouts, and the header blocks that end an answer.

    compressed u8 | length u32 | message

Source: docs/spec/grpc.md §2.2, §10.3; the protocol of gRPC over HTTP/2.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final
from urllib.parse import quote

from broker_core.protocol.http2.header_blocks import literal

PREFIX: Final = Struct(">BI")
CALLER_HEADERS: Final = frozenset(
    ("x-mq-client-id", "x-mq-client-version", "x-mq-language", "user-agent", "authorization", "x-mq-date-time")
)
"""Headers that tell who makes a call (docs/spec/grpc.md §2.3, §2.4)."""
_UNIT_SECONDS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_TIMEOUT_DIGITS_MAX: Final = 8
_PLAIN: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


class GrpcStatus(IntEnum):
    """Status of a call as a whole; results of the broker travel inside messages."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


def prefixed(message: bytes) -> bytes:
    return PREFIX.pack(0, len(message)) + message


def trailers(status: GrpcStatus, text: str = "") -> bytes:
    """The header block that ends an answer."""
    return _ENDS[status] + literal(b"grpc-message", quote(text, safe=_PLAIN).encode()) if text else _ENDS[status]


_ENDS: Final = {status: literal(b"grpc-status", b"%d" % status) for status in GrpcStatus}


def timeout_seconds(text: str) -> float | None:
    """Seconds of a ``grpc-timeout``; None for a text that is none."""
    digits, unit = text[:-1], text[-1:]
    if not digits.isascii() or not digits.isdecimal() or len(digits) > _TIMEOUT_DIGITS_MAX or unit not in _UNIT_SECONDS:
        return None
    return int(digits) * _UNIT_SECONDS[unit]
