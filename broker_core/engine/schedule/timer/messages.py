"""Timer messages: the facts of a record for the wheel, and the messages made for delivery or for another turn in the wheel.

Source: docs/spec/broker.md §3.6; properties of delivered messages as a 5.3 broker stores them.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from broker_core.engine.schedule.delayed_message import message_of
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import find_property_bytes, property_marker
from broker_core.protocol.message.record import HEAD_BYTES, MAGIC_V1, MAGIC_V2, RecordParts, check_record, decode_record
from broker_core.protocol.message.sys_flag import HOST_V6_MASK
from broker_core.protocol.message.tags import java_string_hash
from broker_core.protocol.names import WHEEL_TIMER_TOPIC

DELAY_SECONDS = "TIMER_DELAY_SEC"
DELAY_MS = "TIMER_DELAY_MS"
DELIVER_MS = "TIMER_DELIVER_MS"
OUT_MS = "TIMER_OUT_MS"
ENQUEUE_MS = "TIMER_ENQUEUE_MS"
DEQUEUE_MS = "TIMER_DEQUEUE_MS"
ROLL_TIMES = "TIMER_ROLL_TIMES"
DELETE_KEY = "TIMER_DEL_UNIQKEY"

ASKING = (DELAY_SECONDS, DELAY_MS, DELIVER_MS)
"""Properties that make a message a timer message, the strongest first."""

NEVER_ENQUEUED = (1 << 63) - 1
"""``TIMER_ENQUEUE_MS`` of a message that was due before it entered the wheel."""

ADDED_BYTES = len(f"{ENQUEUE_MS}=,{DEQUEUE_MS}=,{ROLL_TIMES}=,") + 3 * len(str(NEVER_ENQUEUED))
"""Room for the properties that are added later."""

_OUT = property_marker(OUT_MS)
_TOPIC = property_marker(props.REAL_TOPIC)
_DELETE = property_marker(DELETE_KEY)
_UNIQUE = property_marker(props.UNIQUE_KEY)
_STAMPS = re.compile(rb"(?:^|\x02)TIMER_(?:ENQUEUE_MS|DEQUEUE_MS)\x01[^\x02]*")
_STAMPS_OUT_AND_ROLLS = re.compile(rb"(?:^|\x02)TIMER_(?:ENQUEUE_MS|DEQUEUE_MS|ROLL_TIMES|OUT_MS)\x01[^\x02]*")
_OUT_NAME, _TOPIC_NAME, _DELETE_NAME = OUT_MS.encode(), props.REAL_TOPIC.encode(), DELETE_KEY.encode()
_FACTS = re.compile(rb"\x02(%b|%b|%b)\x01([^\x02]+)" % (_OUT_NAME, _TOPIC_NAME, _DELETE_NAME))
_I32 = struct.Struct(">i")
_I16 = struct.Struct(">h")
_HEAD = struct.Struct(">ii28xi44xi")
"""Size, magic code, SYSFLAG and, for two IPv4 hosts, body length."""

_hashes: dict[bytes, int] = {}
_HASHES_MAX = 10_000


TimerFacts = tuple[int, int, bool]
"""The facts of a message for the wheel: the time one precision before it is due, hash of its real topic, whether it cancels
another message. No class, because a turn reads a thousand.
"""


def properties_of(record: memoryview) -> bytes:
    """Encoded properties of a whole record; empty where its lengths do not add up."""
    size, magic, sys_flag, body_bytes = _HEAD.unpack_from(record)
    body = HEAD_BYTES[0]
    if sys_flag & HOST_V6_MASK:
        body = HEAD_BYTES[(sys_flag & HOST_V6_MASK) >> 4]
        (body_bytes,) = _I32.unpack_from(record, body - 4)
    position = body + body_bytes
    if body_bytes < 0 or position + 4 > len(record):
        return b""
    position += record[position] + 1 if magic == MAGIC_V1 else _I16.unpack_from(record, position)[0] + 2
    return bytes(record[position + 2 : size]) if magic in (MAGIC_V1, MAGIC_V2) else b""


def timer_facts(record: memoryview) -> TimerFacts | None:
    """Facts of a record of the wheel topic; None when it is no timer message."""
    return facts_of(properties_of(record))


def facts_of(properties: bytes) -> TimerFacts | None:
    """Facts of encoded properties; None when they are not those of a timer message in the wheel topic."""
    found = dict(_FACTS.findall(b"\x02" + properties))
    out, topic = found.get(_OUT_NAME, b""), found.get(_TOPIC_NAME)
    if topic is None or not out.isdigit() or len(out) > props.DIGITS_MAX:
        return None
    return int(out), topic_hash(topic), _DELETE_NAME in found


def topic_hash(topic: bytes) -> int:
    """Java's hash of a topic name, cached."""
    found = _hashes.get(topic)
    if found is None:
        if len(_hashes) >= _HASHES_MAX:
            _hashes.clear()
        found = _hashes[topic] = java_string_hash(topic.decode("utf-8", "replace"))
    return found


def cancel_key(record: memoryview) -> bytes | None:
    """``topic+UNIQ_KEY`` that a cancel names; early versions name the unique key alone."""
    return find_property_bytes(properties_of(record), _DELETE)


def cancels(keys: set[bytes], properties: bytes) -> bool:
    """Whether one of these cancels names a message with these properties."""
    unique = find_property_bytes(properties, _UNIQUE)
    if unique is None:
        return False
    return unique in keys or (find_property_bytes(properties, _TOPIC) or b"") + b"+" + unique in keys


def delivered(record: memoryview, *, enqueue_ms: int, now_ms: int) -> MessageToStore:
    """The message for the real topic; without the two times of the wheel if they have no room.

    Raises:
        CodecError: The record is damaged, or has no real topic.
    """
    parts = check_record(record, 0, len(record), check_crc=False)
    properties = parts.properties
    queue = find_property_bytes(properties, property_marker(props.REAL_QUEUE_ID))
    topic = find_property_bytes(properties, _TOPIC) or b""
    text = _with_room(_without(properties, _STAMPS, b"QUEUE_MS\x01"), (ENQUEUE_MS, enqueue_ms), (DEQUEUE_MS, now_ms))
    return _message(parts, record, topic.decode("utf-8", "replace"), props.number_of(queue, 0), text)


def rolled(record: memoryview, *, enqueue_ms: int, now_ms: int, out_ms: int) -> MessageToStore:
    """The message for another turn in the wheel; without times and count of the wheel if they have no room.

    Raises:
        CodecError: The record is damaged.
    """
    parts = check_record(record, 0, len(record), check_crc=False)
    properties = parts.properties
    text = _with_room(
        _without(properties, _STAMPS_OUT_AND_ROLLS, _OUT) + _items((OUT_MS, out_ms)),
        (ENQUEUE_MS, enqueue_ms),
        (ROLL_TIMES, roll_times(properties) + 1),
        (DEQUEUE_MS, now_ms),
    )
    return _message(parts, record, WHEEL_TIMER_TOPIC, 0, text)


def roll_times(properties: bytes) -> int:
    """How often a message entered the wheel again."""
    return props.number_of(find_property_bytes(properties, property_marker(ROLL_TIMES)), 0)


def _message(parts: RecordParts, record: memoryview, topic: str, queue_id: int, properties: bytes) -> MessageToStore:
    message = message_of(parts, record, topic, queue_id, properties.removeprefix(b"\x02"))
    message.prepared_transaction_offset = parts.head.prepared_transaction_offset
    return message


def _without(properties: bytes, names: re.Pattern[bytes], marker: bytes) -> bytes:
    """Properties without those of some names; searches only if a marker occurs."""
    properties = properties.removesuffix(b"\x02")
    return names.sub(b"", properties) if marker in properties else properties


def _items(*items: tuple[str, int]) -> bytes:
    return "".join([f"\x02{name}\x01{value}" for name, value in items]).encode()


def _with_room(properties: bytes, *items: tuple[str, int]) -> bytes:
    """Properties with further ones, which are left out if a record cannot hold them."""
    text = properties + _items(*items)
    return text if len(text) <= props.PROPERTIES_BYTES_MAX else properties


class TimerSummary(NamedTuple):
    """A pending timer message, for a person: target of the delivery, and earliest time of it (``due_ms``)."""

    topic: str
    queue_id: int
    keys: str
    tag: str
    unique_key: str
    due_ms: int
    stored_ms: int
    physical_offset: int
    body_bytes: int
    roll_times: int
    is_delete: bool


def summary(record: memoryview, *, precision_ms: int) -> TimerSummary:
    """The summary of a record for a list of pending timers.

    Raises:
        CodecError: The record is damaged.
    """
    message = decode_record(record)
    found = message.properties
    out_ms = props.number_of(found.get(OUT_MS))
    return TimerSummary(
        topic=found.get(props.REAL_TOPIC, ""),
        queue_id=props.number_of(found.get(props.REAL_QUEUE_ID)),
        keys=found.get(props.KEYS, ""),
        tag=found.get(props.TAGS, ""),
        unique_key=found.get(props.UNIQUE_KEY, ""),
        due_ms=out_ms + precision_ms if out_ms >= 0 else -1,
        stored_ms=message.store_timestamp_ms,
        physical_offset=message.physical_offset,
        body_bytes=len(message.body),
        roll_times=roll_times(message.properties_bytes),
        is_delete=DELETE_KEY in found,
    )
