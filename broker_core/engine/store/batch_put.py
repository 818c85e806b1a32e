"""Batches as one block of records, checked (Source: docs/spec/store.md §2.3, §2.9). No I/O."""

from __future__ import annotations

import logging
from zlib import crc32

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.dispatch import TagsOfPuts
from broker_core.engine.store.results import LaidOutBatch
from broker_core.errors import CodecError
from broker_core.protocol.message.batch import BatchMember, decode_batch
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import DELAY, append_properties, find_property_bytes, property_marker
from broker_core.protocol.message.record import CRC_MASK, HEAD_BYTES, HEADS, LENGTH_I16, TopicField, host_flags
from broker_core.protocol.message.sys_flag import HOST_V6_MASK, TRANSACTION_MASK

_DELAY = property_marker(DELAY)

_log = logging.getLogger(__name__)


def draft_batch(message: MessageToStore, topic: TopicField, max_bytes: int) -> BatchDraft | None:
    """A batch ready to be laid out; None where it may not be stored (see `legal_members`).

    ``max_bytes`` bounds the framed batch.
    """
    members = legal_members(message, max_bytes)
    return None if members is None else BatchDraft(message, topic, members)


def legal_members(message: MessageToStore, max_bytes: int) -> list[BatchMember] | None:
    """Members with the request's properties added; None if the batch is too large, transactional, delayed or malformed.

    A member without a body is malformed, and one whose properties are no UTF-8, because no single message has such.
    """
    if len(message.body) > max_bytes or message.sys_flag & TRANSACTION_MASK or _is_delayed(message.properties):
        return None
    try:
        members = decode_batch(message.body)
    except CodecError as error:
        _log.warning("a batch for %s is refused: %s", message.topic, error)
        return None
    if not all(body and _is_text(properties) for _, body, properties in members):
        return None
    if _DELAY in bytes(message.body) and any(_is_delayed(member.properties) for member in members):
        return None
    more = message.properties
    return [BatchMember(flag, body, append_properties(properties, more)) for flag, body, properties in members]


def _is_delayed(properties: bytes) -> bool:
    """Whether properties name a delay level; 0 and less are none, as in a single message."""
    level = find_property_bytes(properties, _DELAY)
    try:
        return level is not None and int(level) > 0
    except ValueError:
        return True


def _is_text(properties: bytes) -> bool:
    if properties.isascii():
        return True
    try:
        properties.decode()
    except UnicodeDecodeError:
        return False
    return True


class BatchDraft:
    """A batch of any members before its append; their properties are final."""

    def __init__(self, message: MessageToStore, topic: TopicField, members: list[BatchMember]) -> None:
        self._message = message
        self._topic = topic
        self._members = members
        self._sys_flag = host_flags(message)
        families = (self._sys_flag & HOST_V6_MASK) >> 4
        self._head = HEADS[families]
        fixed = HEAD_BYTES[families] + len(topic.field) + LENGTH_I16.size
        self._sizes = [fixed + len(body) + len(properties) for _, body, properties in members]
        self.count = len(members)
        self.total_bytes = sum(self._sizes)
        self.properties_bytes_max = max(len(properties) for _, _, properties in members)

    @property
    def member_properties(self) -> list[bytes]:
        return [member.properties for member in self._members]

    def lay_out(self, *, physical_offset: int, queue_offset: int, now_ms: int) -> LaidOutBatch:
        """Records and units for this place."""
        message, pack, magic, topic = self._message, self._head.pack, self._topic.magic_code, self._topic.field
        born, store, code_of, pack_unit = message.born_host.packed, message.store_host.packed, TagsOfPuts().code, UNIT.pack
        parts: list[bytes] = []
        units: list[bytes] = []
        offsets: list[int] = []
        for (flag, body, properties), size in zip(self._members, self._sizes, strict=True):
            head = pack(
                size, magic, crc32(body) & CRC_MASK, message.queue_id, flag, queue_offset, physical_offset, self._sys_flag,
                message.born_timestamp_ms, born, now_ms, store, message.reconsume_times, 0, len(body),
            )  # fmt: skip
            parts += (head, body, topic, LENGTH_I16.pack(len(properties)), properties)
            units.append(pack_unit(physical_offset, size, code_of(properties)))
            offsets.append(physical_offset)
            physical_offset += size
            queue_offset += 1
        return LaidOutBatch(b"".join(parts), b"".join(units), offsets)
