"""Batches whose members all have the same lengths, laid out as one matrix: a row a member, a few numpy operations for all.

Producers' batches are mostly of this kind. What is not (other lengths, flags or ends of properties from member to member, a
delay anywhere) is for `broker_core.store.batch_put`, which also gives the reasons for a refusal.

Loads numpy.

Source: store specification §2.1, §2.9.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from broker_core.message.batch import FRAME_BYTES, MEMBER_HEAD, MEMBER_HEAD_BYTES
from broker_core.message.model import MessageToStore
from broker_core.message.properties import DELAY, ITEM_SEPARATOR, property_marker
from broker_core.message.record import (
    BODY_CRC_POSITION,
    CRC_MASK,
    HEADS,
    LENGTH_I16,
    QUEUE_OFFSET_POSITION,
    TopicField,
    host_flags,
)
from broker_core.message.sys_flag import HOST_V6_MASK
from broker_core.store.dispatch import TagsOfPuts
from broker_core.store.record_columns import UNIT_TYPE
from broker_core.store.results import LaidOutBatch

MEMBERS_MIN = 8
"""Fewer are laid out one by one as fast."""

_DELAY = property_marker(DELAY)
_CRC_MASK = np.uint32(CRC_MASK)
_ITEM_END = ITEM_SEPARATOR.encode()
_LAYOUTS_KEPT = 64

Bytes = npt.NDArray[np.uint8]


class MatrixDraft:
    """A batch of equal members on its way into the log; made by `matrix_draft`.

    Args:
        message: What the members have in common.
        topic: Its topic, in the form of records.
        data: The batch as framed.
        bodies: Of each member.
        properties: Of each member.
        common: What each gets behind its own properties, with a separator where one is needed.
    """

    def __init__(
        self,
        message: MessageToStore,
        topic: TopicField,
        *,
        data: bytes,
        bodies: tuple[bytes, ...],
        properties: tuple[bytes, ...],
        common: bytes,
    ) -> None:
        self._message = message
        self._topic = topic
        self._data = data
        self._bodies = bodies
        self._properties = properties
        self._common = common
        self._sys_flag = host_flags(message)
        self._head = HEADS[(self._sys_flag & HOST_V6_MASK) >> 4]
        self.count = len(bodies)
        self.properties_bytes_max = len(properties[0]) + len(common)
        self._record_bytes = self._head.size + len(bodies[0]) + len(topic.field) + LENGTH_I16.size + self.properties_bytes_max
        self.total_bytes = self._record_bytes * self.count

    def lay_out(self, *, physical_offset: int, queue_offset: int, now_ms: int) -> LaidOutBatch:
        """Units and records for the given place."""
        size, count = self._record_bytes, self.count
        offsets = range(physical_offset, physical_offset + self.total_bytes, size)
        numbers = np.empty((count, 2), dtype=">i8")
        numbers[:, 0] = np.arange(queue_offset, queue_offset + count)
        numbers[:, 1] = np.arange(offsets.start, offsets.stop, size)
        units = np.empty(count, dtype=UNIT_TYPE)
        units["physical_offset"] = numbers[:, 1]
        units["record_bytes"] = size
        units["tags_code"] = self._codes()
        block = self._records(now_ms)
        block[:, QUEUE_OFFSET_POSITION : QUEUE_OFFSET_POSITION + 16] = numbers.view(np.uint8)
        return LaidOutBatch(block.tobytes(), units.tobytes(), list(offsets))

    def _records(self, now_ms: int) -> Bytes:
        """All but the two offsets."""
        message, head_bytes = self._message, self._head.size
        _, _, _, flag, body_bytes = MEMBER_HEAD.unpack_from(self._data)
        members = np.frombuffer(self._data, dtype=np.uint8).reshape(self.count, -1)
        head = self._head.pack(
            self._record_bytes, self._topic.magic_code, 0, message.queue_id, flag, 0, 0, self._sys_flag,
            message.born_timestamp_ms, message.born_host.packed, now_ms, message.store_host.packed, message.reconsume_times, 0,
            body_bytes,
        )  # fmt: skip
        middle = self._topic.field + LENGTH_I16.pack(self.properties_bytes_max)
        properties = head_bytes + body_bytes + len(middle)
        common = self._record_bytes - len(self._common)
        block: Bytes = np.empty((self.count, self._record_bytes), dtype=np.uint8)
        block[:, :head_bytes] = np.frombuffer(head, dtype=np.uint8)
        block[:, BODY_CRC_POSITION : BODY_CRC_POSITION + 4] = self._checksums()
        block[:, head_bytes : head_bytes + body_bytes] = members[:, MEMBER_HEAD_BYTES : MEMBER_HEAD_BYTES + body_bytes]
        block[:, head_bytes + body_bytes : properties] = np.frombuffer(middle, dtype=np.uint8)
        block[:, properties:common] = members[:, FRAME_BYTES + body_bytes :]
        block[:, common:] = np.frombuffer(self._common, dtype=np.uint8)
        return block

    def _checksums(self) -> Bytes:
        found = np.fromiter(map(crc32, self._bodies), dtype=np.uint32, count=self.count)
        found &= _CRC_MASK
        return found.astype(">u4").view(np.uint8).reshape(-1, 4)

    def _codes(self) -> list[int]:
        """Tags codes of the members."""
        code_of, common = TagsOfPuts().code, self._common
        return [code_of(properties + common) for properties in self._properties]


def matrix_draft(message: MessageToStore, topic: TopicField) -> MatrixDraft | None:
    """A draft of a batch of equal members; None where they are not, are few, or may have to be refused."""
    data = bytes(message.body)
    if len(data) < MEMBER_HEAD_BYTES:
        return None
    member_bytes, _, _, _, body_bytes = MEMBER_HEAD.unpack_from(data)
    properties_at = MEMBER_HEAD_BYTES + body_bytes
    if body_bytes < 0 or member_bytes < properties_at + LENGTH_I16.size or len(data) < MEMBERS_MIN * member_bytes:
        return None
    (properties_bytes,) = LENGTH_I16.unpack_from(data, properties_at)
    if len(data) % member_bytes or member_bytes != FRAME_BYTES + body_bytes + properties_bytes:
        return None
    if _DELAY in data or _DELAY in message.properties:
        return None
    count = len(data) // member_bytes
    parts = _parts(body_bytes, properties_bytes, count).unpack(data)
    if parts[0::4].count(parts[0]) != count or parts[2::4].count(parts[2]) != count:
        return None
    ends_separated = data[member_bytes - 1 :: member_bytes].count(_ITEM_END)
    common = message.properties
    if common and properties_bytes and ends_separated != count:
        if ends_separated:
            return None
        common = _ITEM_END + common
    return MatrixDraft(message, topic, data=data, bodies=parts[1::4], properties=parts[3::4], common=common)


@lru_cache(maxsize=_LAYOUTS_KEPT)
def _parts(body_bytes: int, properties_bytes: int, count: int) -> struct.Struct:
    """Cuts head, body, properties length and properties of all members out of a batch in one call: 6 µs for fifty."""
    return struct.Struct(f"{MEMBER_HEAD_BYTES}s{body_bytes}s{LENGTH_I16.size}s{properties_bytes}s" * count)
