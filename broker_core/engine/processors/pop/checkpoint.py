"""Checkpoints and acks: the JSON bodies of the revive topic's messages.

    ck     {bm bits acked, bn broker, c group, d offsets less so, it invisible ms, n count, pt pop time, q queue, so first
           offset, t topic, first [so, pt] of the delivery that this broker renewed, which RocketMQ skips}
    ack    {ao offset, bn, c, pt, q, so, t}
    bAck   {aol offsets, bn, c, pt, q, so, t}

Source: docs/spec/broker.md §6.7; bodies, tags and unique keys are those that 5.3.3 writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.errors import CodecError
from broker_core.protocol.json_body import parse_object

CHECKPOINT_TAG = "ck"
ACK_TAG = "ack"
BATCH_ACK_TAG = "bAck"

MESSAGES_MAX = 32
"""Messages of one checkpoint at most, because its acks are the bits of a 32-bit number."""

_FIRST_NUMBERS = 2
_SIGN_BIT = 1 << 31
_ALL_BITS = (1 << 32) - 1


class CheckpointKey(NamedTuple):
    """The fields that a checkpoint, its acks and its messages' handles share."""

    topic: str
    group: str
    queue_id: int
    start_offset: int
    pop_time_ms: int

    @property
    def queue(self) -> QueueOf:
        return QueueOf(self.topic, self.group, self.queue_id)


@dataclass(slots=True, eq=False)
class PopCheckpoint:
    """Messages of one queue that one pop handed out.

    Attributes:
        invisible_ms: Time after the pop in which no other consumer gets them.
        offsets: Their queue offsets, ascending.
        revive_queue: Queue of the revive topic that holds the checkpoint.
        acked: Bit i is set when ``offsets[i]`` is settled: acked, or stored again as a copy.
        due_ms: When the reviver stores copies of the pending messages.
        log_offset: Offset of the checkpoint in the revive queue; -1 while it is in memory only.
        popped_before: Its messages lie before this place of the commit log, whatever the clock was; 0 if not known.
        first: Key of the delivery that the broker renewed by itself, whose handle still names the message; None without one.
    """

    key: CheckpointKey
    invisible_ms: int
    offsets: tuple[int, ...]
    revive_queue: int
    acked: int = 0
    due_ms: int = 0
    log_offset: int = -1
    popped_before: int = 0
    first: CheckpointKey | None = None

    @property
    def revive_time_ms(self) -> int:
        return self.key.pop_time_ms + self.invisible_ms

    @property
    def is_done(self) -> bool:
        return self.acked == (1 << len(self.offsets)) - 1

    def pending(self) -> list[int]:
        """Offsets that are not settled."""
        return [offset for place, offset in enumerate(self.offsets) if not self.acked >> place & 1]

    def mark(self, offset: int) -> bool:
        """Settle a message; False when it is settled already or belongs to another checkpoint."""
        try:
            bit = 1 << self.offsets.index(offset)
        except ValueError:
            return False
        if self.acked & bit:
            return False
        self.acked |= bit
        return True


class AckRecord(NamedTuple):
    key: CheckpointKey
    offsets: tuple[int, ...]


def encode_checkpoint(checkpoint: PopCheckpoint, broker_name: str) -> bytes:
    key = checkpoint.key
    bits = checkpoint.acked - (1 << 32) if checkpoint.acked & _SIGN_BIT else checkpoint.acked
    renewed = {} if checkpoint.first is None else {"first": [checkpoint.first.start_offset, checkpoint.first.pop_time_ms]}
    return _compact(
        {
            "bm": bits,
            "bn": broker_name,
            "c": key.group,
            "d": [offset - key.start_offset for offset in checkpoint.offsets],
            "it": checkpoint.invisible_ms,
            "n": len(checkpoint.offsets),
            "pt": key.pop_time_ms,
            "q": key.queue_id,
            "reviveTime": checkpoint.revive_time_ms,
            "ro": 0,
            "so": key.start_offset,
            "t": key.topic,
        }
        | renewed
    )


def decode_checkpoint(body: bytes, *, revive_queue: int, log_offset: int) -> PopCheckpoint:
    """Read the body of a ``ck`` message.

    Raises:
        CodecError: The body is no checkpoint.
    """
    value = parse_object(body)
    key = _key(value)
    count = _number(value, "n")
    differences = value.get("d") or list(range(count))
    if not isinstance(differences, list) or not 0 < len(differences) <= MESSAGES_MAX:
        raise CodecError(f"a checkpoint has 1 to {MESSAGES_MAX} messages, this one says {str(differences)[:100]}")
    try:
        offsets = tuple(key.start_offset + int(difference) for difference in differences)
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(f"the offsets of a checkpoint are no numbers: {str(differences)[:100]}") from error
    checkpoint = PopCheckpoint(key, _number(value, "it"), offsets, revive_queue, log_offset=log_offset)
    checkpoint.acked = _number(value, "bm") & _ALL_BITS & (1 << len(offsets)) - 1
    checkpoint.due_ms = checkpoint.revive_time_ms
    checkpoint.first = _first(key, value.get("first"))
    return checkpoint


def _first(key: CheckpointKey, value: object) -> CheckpointKey | None:
    if not isinstance(value, list) or len(value) != _FIRST_NUMBERS or not all(isinstance(number, int) for number in value):
        return None
    return key._replace(start_offset=value[0], pop_time_ms=value[1])


def encode_ack(ack: AckRecord, broker_name: str) -> bytes:
    """Body of an ``ack`` message, or of a ``bAck`` message for several offsets."""
    key = ack.key
    value: dict[str, Any] = {
        "bn": broker_name,
        "c": key.group,
        "pt": key.pop_time_ms,
        "q": key.queue_id,
        "so": key.start_offset,
        "t": key.topic,
    }
    if len(ack.offsets) == 1:
        return _compact(value | {"ao": ack.offsets[0]})
    return _compact(value | {"ao": 0, "aol": list(ack.offsets)})


def decode_ack(body: bytes, *, batch: bool) -> AckRecord:
    """Read the body of an ``ack`` or ``bAck`` message.

    Raises:
        CodecError: The body is no ack.
    """
    value = parse_object(body)
    offsets = value.get("aol") if batch else [value.get("ao")]
    if not isinstance(offsets, list) or not offsets:
        raise CodecError("an ack names no offset")
    try:
        return AckRecord(_key(value), tuple(int(offset) for offset in offsets))
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(f"the offsets of an ack are no numbers: {str(offsets)[:100]}") from error


def checkpoint_unique_key(key: CheckpointKey, broker_name: str) -> str:
    return f"{key.topic}@{key.queue_id}@{key.start_offset}@{key.group}@{key.pop_time_ms}@{broker_name}@{CHECKPOINT_TAG}"


def ack_unique_key(ack: AckRecord, broker_name: str) -> str:
    """UNIQ_KEY of an ``ack`` or ``bAck`` message."""
    key = ack.key
    offsets, tag = _key_offsets(ack.offsets)
    return f"{key.topic}@{key.queue_id}@{offsets}@{key.group}@{key.pop_time_ms}@{broker_name}@{tag}"


def _key_offsets(offsets: Sequence[int]) -> tuple[str, str]:
    if len(offsets) == 1:
        return str(offsets[0]), ACK_TAG
    return f"[{', '.join(map(str, offsets))}]", BATCH_ACK_TAG


def _key(value: Mapping[Any, Any]) -> CheckpointKey:
    topic, group = value.get("t"), value.get("c")
    if not isinstance(topic, str) or not isinstance(group, str) or not topic or not group:
        raise CodecError("a record of the revive topic names no topic or no group")
    return CheckpointKey(topic, group, _number(value, "q"), _number(value, "so"), _number(value, "pt"))


def _number(value: Mapping[Any, Any], name: str) -> int:
    number = value.get(name)
    if isinstance(number, bool) or not isinstance(number, int):
        raise CodecError(f"{name} of a record of the revive topic should be a whole number, not {str(number)[:40]!r}")
    return number


def _compact(value: Mapping[str, Any]) -> bytes:
    # One record for each ack: the C encoder takes a fifth of the time of `json_body.emit`.
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
