"""Records of the state topic: decisions about producers and transactions, in the order of the commit log.

Body: one version byte, then msgpack. Source: docs/spec/kafka.md §3.3, §3.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgpack

from broker_core.errors import CodecError
from broker_core.protocol.atomic import OffsetKey, QueueKey

VERSION = 1

_BLOCK, _PRODUCER, _OFFSETS, _DECISION, _CUT = 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True)
class IdBlock:
    """Producer ids below ``end`` may be in use."""

    end: int


@dataclass(frozen=True, slots=True)
class ProducerRecord:
    """A transactional id has a new epoch and no open transaction."""

    name: str
    producer_id: int
    epoch: int
    timeout_ms: int
    previous_id: int
    last_epoch: int


@dataclass(frozen=True, slots=True)
class OffsetsRecord:
    """Consumer positions join the open transaction of a transactional id."""

    name: str
    producer_id: int
    epoch: int
    offsets: tuple[tuple[OffsetKey, int], ...]


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A transaction is decided. Its append is the commit.

    Attributes:
        producer_id, epoch: Those of the transaction.
        next_id, next_epoch: Those of the next one.
        queues: Its first offset in each of its queues; for readers of the log, because the state knows it too.
        timed_out: The broker decided it, not the producer.
    """

    name: str
    producer_id: int
    epoch: int
    next_id: int
    next_epoch: int
    committed: bool
    timed_out: bool
    queues: tuple[tuple[QueueKey, int], ...]


@dataclass(frozen=True, slots=True)
class CutRecord:
    """A crash left only the beginning of a batch, which was never acknowledged; its producer sends it again.

    ``messages`` of the batch are there, from the offset ``first`` on.
    """

    queue: QueueKey
    producer_id: int
    first: int
    messages: int


StateRecord = CutRecord | IdBlock | ProducerRecord | OffsetsRecord | DecisionRecord


def encode_state(record: StateRecord) -> bytes:
    """The body of a record's message."""
    match record:
        case IdBlock(end):
            content: list[Any] = [_BLOCK, end]
        case ProducerRecord(name, producer_id, epoch, timeout_ms, previous_id, last_epoch):
            content = [_PRODUCER, name, producer_id, epoch, timeout_ms, previous_id, last_epoch]
        case OffsetsRecord(name, producer_id, epoch, offsets):
            content = [_OFFSETS, name, producer_id, epoch, [[*key, offset] for key, offset in offsets]]
        case CutRecord(queue, producer_id, first, messages):
            content = [_CUT, *queue, producer_id, first, messages]
        case DecisionRecord():
            queues = [[*key, first] for key, first in record.queues]
            identity = [record.name, record.producer_id, record.epoch, record.next_id, record.next_epoch]
            content = [_DECISION, *identity, record.committed, record.timed_out, queues]
    packed: bytes = msgpack.packb(content)
    return bytes([VERSION]) + packed


def decode_state(body: bytes | bytearray | memoryview) -> StateRecord:
    """The record in the body of a state topic's message. Raises `CodecError` for any other body."""
    data = bytes(body)
    if data[:1] != bytes([VERSION]):
        raise CodecError(f"a record of the state topic has version {data[:1].hex() or 'none'}, known is {VERSION:02x}")
    try:
        kind, *rest = msgpack.unpackb(data[1:])
        if kind == _BLOCK:
            (end,) = rest
            return IdBlock(int(end))
        if kind == _PRODUCER:
            name, *numbers = rest
            producer_id, epoch, timeout_ms, previous_id, last_epoch = map(int, numbers)
            return ProducerRecord(str(name), producer_id, epoch, timeout_ms, previous_id, last_epoch)
        if kind == _OFFSETS:
            name, producer_id, epoch, items = rest
            offsets = tuple((OffsetKey(str(g), str(t), int(q)), int(offset)) for g, t, q, offset in items)
            return OffsetsRecord(str(name), int(producer_id), int(epoch), offsets)
        if kind == _CUT:
            topic, *numbers = rest
            queue_id, producer_id, first, messages = map(int, numbers)
            return CutRecord(QueueKey(str(topic), queue_id), producer_id, first, messages)
        if kind == _DECISION:
            name, producer_id, epoch, next_id, next_epoch, committed, timed_out, items = rest
            queues = tuple((QueueKey(str(t), int(q)), int(first)) for t, q, first in items)
            numbers = (int(producer_id), int(epoch), int(next_id), int(next_epoch))
            return DecisionRecord(str(name), *numbers, bool(committed), bool(timed_out), queues)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CodecError(f"a record of the state topic cannot be read: {error}") from error
    raise CodecError(f"a record of the state topic is of kind {kind!r}, which is not known")
