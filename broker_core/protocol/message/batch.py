"""Batches: several messages of one queue in one body.

    i32 size | i32 0 | i32 0 | i32 flag | i32 body bytes | body | i16 properties bytes | properties      (per member)

Source: docs/spec/store.md §2.9.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from broker_core.errors import CodecError

MEMBER_HEAD = struct.Struct(">iiiii")
"""Size, two unused numbers, flag, body bytes."""
MEMBER_HEAD_BYTES = MEMBER_HEAD.size
_PROPERTIES_LENGTH = struct.Struct(">h")
FRAME_BYTES = MEMBER_HEAD_BYTES + _PROPERTIES_LENGTH.size
"""Bytes of a member without its body and its properties."""
assert FRAME_BYTES == 22


class BatchMember(NamedTuple):
    """One message of a batch; ``properties`` in RocketMQ's encoding."""

    flag: int
    body: bytes
    properties: bytes


def encode_batch(members: Iterable[BatchMember]) -> bytes:
    """Body of a batch request."""
    parts: list[bytes] = []
    for member in members:
        size = FRAME_BYTES + len(member.body) + len(member.properties)
        parts += (
            MEMBER_HEAD.pack(size, 0, 0, member.flag, len(member.body)),
            member.body,
            _PROPERTIES_LENGTH.pack(len(member.properties)),
            member.properties,
        )
    return b"".join(parts)


def decode_batch(data: bytes | bytearray | memoryview) -> list[BatchMember]:
    """Messages of a batch body, in order.

    Raises `CodecError` when lengths do not add up, or there is no message; the text names member and position.
    """
    body = bytes(data)
    members: list[BatchMember] = []
    position = 0
    while position < len(body):
        member, position = _decode_member(body, position, len(members))
        members.append(member)
    if not members:
        raise CodecError("a batch without a message")
    return members


def _decode_member(data: bytes, start: int, number: int) -> tuple[BatchMember, int]:
    try:
        size, _, _, flag, body_bytes = MEMBER_HEAD.unpack_from(data, start)
        body_start = start + MEMBER_HEAD.size
        (properties_bytes,) = _PROPERTIES_LENGTH.unpack_from(data, body_start + max(body_bytes, 0))
    except struct.error as error:
        raise CodecError(f"batch member {number} at byte {start} is cut off; the batch has {len(data)} bytes") from error
    end = start + size
    if body_bytes < 0 or properties_bytes < 0 or size != FRAME_BYTES + body_bytes + properties_bytes or end > len(data):
        raise CodecError(
            f"batch member {number} at byte {start} says {size} bytes with {body_bytes} of body and {properties_bytes} of "
            f"properties; the batch has {len(data)} bytes"
        )
    body = data[body_start : body_start + body_bytes]
    return BatchMember(flag, body, data[end - properties_bytes : end]), end
