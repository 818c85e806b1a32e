"""From the record that waits to the message that is delivered, and to a record that waits elsewhere. Pure.

The properties of the delivered message are the bytes that were stored, so consumers still see DELAY, REAL_TOPIC and
REAL_QID, as with RocketMQ; nothing rewrites it again, so that it is delayed once.

Source: spec broker §3.2, §3.4.
"""

from __future__ import annotations

from broker_core.errors import RecordError
from broker_core.message import properties as props
from broker_core.message.model import MessageToStore, StoredMessage
from broker_core.store.dispatch import SCHEDULE_TOPIC

HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"


def real_place(message: StoredMessage) -> tuple[str, int]:
    """Topic and queue that a waiting message is meant for.

    Raises:
        RecordError: It does not say, or means the topic of half messages, which are never delayed.
    """
    topic = message.properties.get(props.REAL_TOPIC, "")
    queue_id = message.properties.get(props.REAL_QUEUE_ID, "")
    if not topic or not queue_id.isdecimal():
        raise RecordError(
            f"the delayed message at {message.physical_offset} does not say where it belongs "
            f"({props.REAL_TOPIC}={topic!r}, {props.REAL_QUEUE_ID}={queue_id!r})"
        )
    if topic == HALF_TOPIC:
        raise RecordError(f"the delayed message at {message.physical_offset} is a half message, which is never delayed")
    return topic, int(queue_id)


def delivered(message: StoredMessage) -> MessageToStore:
    """The message as its consumers get it.

    Raises:
        RecordError: See `real_place`.
    """
    topic, queue_id = real_place(message)
    return _copy(message, topic, queue_id, message.properties_bytes)


def delayed_again(message: StoredMessage, level: int) -> MessageToStore:
    """The message, waiting anew in the queue of a level."""
    properties = message.properties | {props.DELAY: str(level)}
    return _copy(message, SCHEDULE_TOPIC, level - 1, props.encode_properties(properties))


def _copy(message: StoredMessage, topic: str, queue_id: int, properties: bytes) -> MessageToStore:
    return MessageToStore(
        topic,
        queue_id,
        message.flag,
        message.sys_flag,
        message.born_timestamp_ms,
        message.born_host,
        message.store_host,
        message.reconsume_times,
        0,
        message.body,
        properties,
    )
