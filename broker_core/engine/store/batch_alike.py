"""Batches whose members are alike: same lengths, flag and property separators, as in most producers' batches.

Two structs, made once for all batches of a kind, cut the members out of the batch and pack them in the log's form:
0.6 µs a member in batches of fifty. Other batches, and those that may be delayed, are for
`broker_core.engine.store.batch_put`, which also reports the reason of a refusal.

Source: docs/spec/store.md §2.1, §2.9.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.dispatch import TagsOfPuts
from broker_core.engine.store.results import LaidOutBatch
from broker_core.protocol.message.batch import FRAME_BYTES, MEMBER_HEAD, MEMBER_HEAD_BYTES
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import DELAY, ITEM_SEPARATOR, TAGS, find_property_bytes, property_marker
from broker_core.protocol.message.record import (
    BODY_CRC_POSITION,
    CRC_MASK,
    HEADS,
    LENGTH_I16,
    QUEUE_OFFSET_POSITION,
    SYS_FLAG_POSITION,
    TopicField,
    host_flags,
)
from broker_core.protocol.message.sys_flag import HOST_V6_MASK
from broker_core.protocol.message.tags import tags_code

MEMBERS_MIN = 8
"""Fewer members are packed one by one as fast."""

_DELAY = property_marker(DELAY)
_TAGS = property_marker(TAGS)
_ITEM_END = ITEM_SEPARATOR.encode()
_LAST_TAGS = _ITEM_END + _TAGS
MEMBERS_MAX = 1024
"""More would make structs of more than 300 KB."""
_LAYOUTS_KEPT = 16
_OFFSET_BYTES = 8
"""Of the first field of a unit."""


class _Parts(NamedTuple):
    """The parts in which members differ.

    Attributes:
        properties: Without ``tail``.
        tail: Common end of all members' properties, with their tags; empty if they differ in tags or have none.
    """

    bodies: tuple[bytes, ...]
    properties: tuple[bytes, ...]
    tail: bytes


class AlikeDraft:
    """A batch of members that are alike, before its append; made by `alike_draft`.

    ``common`` follows each member's own properties, with a separator where one is needed.
    """

    def __init__(self, message: MessageToStore, topic: TopicField, flag: int, parts: _Parts, common: bytes) -> None:
        self._message = message
        self._topic = topic
        self._flag = flag
        self._parts = parts
        self._common = common
        self.count = len(parts.bodies)
        self._own_bytes = len(parts.properties[0])
        self.properties_bytes_max = self._own_bytes + len(parts.tail) + len(common)
        self._sys_flag = host_flags(message)
        self._head = HEADS[(self._sys_flag & HOST_V6_MASK) >> 4]
        self._body_bytes = len(parts.bodies[0])
        self._record_bytes = self._head.size + self._body_bytes + len(topic.field) + LENGTH_I16.size + self.properties_bytes_max
        self.total_bytes = self._record_bytes * self.count

    def lay_out(self, *, physical_offset: int, queue_offset: int, now_ms: int) -> LaidOutBatch:
        """Records and units for this place."""
        count, parts = self.count, self._parts
        offsets = range(physical_offset, physical_offset + self.total_bytes, self._record_bytes)
        head = self._packed_head(now_ms)
        middle = self._topic.field + LENGTH_I16.pack(self.properties_bytes_max)
        end = parts.tail + self._common
        fields: list[object] = [
            head[:BODY_CRC_POSITION], 0, head[BODY_CRC_POSITION + 4 : QUEUE_OFFSET_POSITION], 0, 0, head[SYS_FLAG_POSITION:],
            b"", middle, b"", end,
        ] * count  # fmt: skip
        fields[1::10] = [crc32(body) & CRC_MASK for body in parts.bodies]
        fields[3::10] = range(queue_offset, queue_offset + count)
        fields[4::10] = offsets
        fields[6::10] = parts.bodies
        fields[8::10] = parts.properties
        records = _records((len(head), self._body_bytes, len(middle), self._own_bytes, len(end)), count)
        return LaidOutBatch(records.pack(*fields), self._units(offsets), list(offsets))

    def _packed_head(self, now_ms: int) -> bytes:
        """Head of every record, without checksum and offsets."""
        message = self._message
        return self._head.pack(
            self._record_bytes, self._topic.magic_code, 0, message.queue_id, self._flag, 0, 0, self._sys_flag,
            message.born_timestamp_ms, message.born_host.packed, now_ms, message.store_host.packed, message.reconsume_times, 0,
            self._body_bytes,
        )  # fmt: skip

    def _units(self, offsets: range) -> bytes:
        end, size = self._parts.tail + self._common, self._record_bytes
        tags = find_property_bytes(end, _TAGS)
        if tags is None:
            code_of, pack = TagsOfPuts().code, UNIT.pack
            members = zip(offsets, self._parts.properties, strict=True)
            return b"".join([pack(offset, size, code_of(properties + end)) for offset, properties in members])
        fields: list[object] = [0, UNIT.pack(0, size, tags_code(tags))[_OFFSET_BYTES:]] * self.count
        fields[0::2] = offsets
        return _units_alike(self.count).pack(*fields)


def alike_draft(message: MessageToStore, topic: TopicField) -> AlikeDraft | None:
    """A draft of a batch of members that are alike; None if they differ, are few, or may have to be refused."""
    data = bytes(message.body)
    if len(data) < MEMBER_HEAD_BYTES:
        return None
    member_bytes, _, _, flag, body_bytes = MEMBER_HEAD.unpack_from(data)
    properties_at = MEMBER_HEAD_BYTES + body_bytes
    if body_bytes <= 0 or member_bytes < properties_at + LENGTH_I16.size or len(data) < MEMBERS_MIN * member_bytes:
        return None
    (properties_bytes,) = LENGTH_I16.unpack_from(data, properties_at)
    count, rest = divmod(len(data), member_bytes)
    if rest or count > MEMBERS_MAX or member_bytes != FRAME_BYTES + body_bytes + properties_bytes:
        return None
    parts = _parts_of(data, body_bytes, properties_bytes, count)
    common = message.properties
    if parts is None or _DELAY in common:
        return None
    if common and properties_bytes:
        separated = data[member_bytes - 1 :: member_bytes].count(_ITEM_END)
        if not separated:
            common = _ITEM_END + common
        elif separated != count:
            return None
    return AlikeDraft(message, topic, flag, parts, common)


def _parts_of(data: bytes, body_bytes: int, properties_bytes: int, count: int) -> _Parts | None:
    """The members' parts; None if their lengths or flags differ, or one may be delayed or have properties that are no text."""
    first = MEMBER_HEAD_BYTES + body_bytes + LENGTH_I16.size
    tail_at = data.rfind(_LAST_TAGS, first, first + properties_bytes)
    tail_bytes = first + properties_bytes - tail_at if tail_at >= 0 else 0
    parts = _members(body_bytes, properties_bytes - tail_bytes, tail_bytes, count).unpack(data)
    if parts[0::5].count(parts[0]) != count or parts[2::5].count(parts[2]) != count:
        return None
    own, tail = parts[3::5], parts[4]
    if tail and parts[4::5].count(tail) != count:
        own, tail = tuple(map(bytes.__add__, own, parts[4::5])), b""
    if _DELAY in tail or not tail.isascii():
        return None
    joined = b"".join(own)
    if _DELAY in joined or not joined.isascii():
        return None
    return _Parts(parts[1::5], own, tail)


@lru_cache(maxsize=_LAYOUTS_KEPT)
def _members(body_bytes: int, own_bytes: int, tail_bytes: int, count: int) -> struct.Struct:
    """Cuts all members into head, body, properties length, and properties in two parts: 4 µs for fifty."""
    return struct.Struct(f"{MEMBER_HEAD_BYTES}s{body_bytes}s{LENGTH_I16.size}s{own_bytes}s{tail_bytes}s" * count)


@lru_cache(maxsize=_LAYOUTS_KEPT)
def _records(lengths: tuple[int, int, int, int, int], count: int) -> struct.Struct:
    """Packs all records; ``lengths`` are the bytes of head, body, topic with length field, properties and common end."""
    head, body, middle, properties, end = lengths
    between = QUEUE_OFFSET_POSITION - BODY_CRC_POSITION - 4
    fields = f"{BODY_CRC_POSITION}sI{between}sqq{head - SYS_FLAG_POSITION}s{body}s{middle}s{properties}s{end}s"
    return struct.Struct(">" + fields * count)


@lru_cache(maxsize=_LAYOUTS_KEPT)
def _units_alike(count: int) -> struct.Struct:
    return struct.Struct(">" + f"q{UNIT.size - _OFFSET_BYTES}s" * count)
