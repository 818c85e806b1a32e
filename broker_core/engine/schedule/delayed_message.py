"""Makes the delivered message, or a record of another level, from a pending record. Pure.

The properties of the delivered message are the bytes that were stored, so consumers still see DELAY, REAL_TOPIC and
REAL_QID, as with RocketMQ; nothing rewrites it again, so that it is delayed once.

Source: docs/spec/broker.md §3.2, §3.4.
"""

from __future__ import annotations

from functools import lru_cache

from broker_core.errors import RecordError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import HostAddress, MessageToStore, StoredMessage
from broker_core.protocol.message.properties import find_property_bytes
from broker_core.protocol.message.record import RecordParts, check_record
from broker_core.protocol.names import HALF_TOPIC, SCHEDULE_TOPIC

_REAL_TOPIC = props.property_marker(props.REAL_TOPIC)
_REAL_QUEUE_ID = props.property_marker(props.REAL_QUEUE_ID)
_host = lru_cache(maxsize=1_024)(HostAddress.from_packed)


def real_place(properties: bytes, physical_offset: int) -> tuple[str, int]:
    """Target topic and queue of a pending message, from its encoded properties.

    Raises:
        RecordError: It does not name them, or names the topic of half messages, which are never delayed.
    """
    topic = (find_property_bytes(properties, _REAL_TOPIC) or b"").decode("utf-8", "replace")
    queue_id = find_property_bytes(properties, _REAL_QUEUE_ID) or b""
    if not topic or props.number_of(queue_id) < 0:
        raise RecordError(
            f"the delayed message at {physical_offset} does not say where it belongs "
            f"({props.REAL_TOPIC}={topic!r}, {props.REAL_QUEUE_ID}={queue_id.decode('utf-8', 'replace')!r})"
        )
    if topic == HALF_TOPIC:
        raise RecordError(f"the delayed message at {physical_offset} is a half message, which is never delayed")
    return topic, int(queue_id)


def delivered(record: memoryview) -> MessageToStore:
    """The message for consumers, from a pending record; takes half the time of decoding the whole record.

    Raises:
        RecordError: It is no record, or see `real_place`.
    """
    parts = check_record(record, 0, len(record), check_crc=False)
    topic, queue_id = real_place(parts.properties, parts.head.physical_offset)
    return message_of(parts, record, topic, queue_id, parts.properties)


def message_of(parts: RecordParts, record: memoryview, topic: str, queue_id: int, properties: bytes) -> MessageToStore:
    """The message of a checked record, for another queue and with other properties; it names no prepared transaction."""
    head = parts.head
    return MessageToStore(
        topic,
        queue_id,
        head.flag,
        head.sys_flag,
        head.born_timestamp_ms,
        _host(head.born_host),
        _host(head.store_host),
        head.reconsume_times,
        0,
        bytes(record[parts.body_position : parts.body_position + head.body_bytes]),
        properties,
    )


def delayed_again(message: StoredMessage, level: int) -> MessageToStore:
    """The message for the queue of another level; if its properties have no room for that, the store refuses it."""
    properties = message.properties | {props.DELAY: str(level)}
    encoded = props.encode_fitting(properties)
    return message.copy_for(SCHEDULE_TOPIC, level - 1, props.encode_properties(properties) if encoded is None else encoded)
