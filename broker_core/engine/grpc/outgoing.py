"""Stored messages as consumers of gRPC receive them (Source: docs/spec/grpc.md §7.2)."""

from __future__ import annotations

import hashlib

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from broker_core.engine.grpc.incoming import DELIVER_MS, HIDDEN, PRIORITY, SECONDS_MAX, TRACE_CONTEXT
from broker_core.engine.grpc.message_types import SHARDING_KEY, type_of
from broker_core.errors import CodecError
from broker_core.outside import whole_of
from broker_core.protocol import names
from broker_core.protocol.addresses import host_of
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.sys_flag import COMPRESSED
from broker_core.protocol.retry_names import origin_of

_UNPACKED_BYTES_MAX = 32 * 1024 * 1024
"""A compressed body that is larger when unpacked is sent as it is stored: a connection holds at most 64 MiB of answers."""
_DELAY_SECONDS = "TIMER_DELAY_SEC"


def outgoing(
    message: StoredMessage, topic: str, *, now_ms: int, receipt_handle: str = "", attempt: int | None = None
) -> pb.Message:
    """A stored message for a client.

    Args:
        message: As stored.
        topic: Its topic; for a retry, the original one.
        now_ms: Present time.
        receipt_handle: Name of the delivery; empty for none.
        attempt: Number of the delivery, from 1; None for that of its retries.
    """
    found = message.properties
    body = _unpacked(message)
    encoding = pb.IDENTITY
    if body is None:
        body, encoding = message.body, pb.GZIP
    digest = pb.Digest(type=pb.MD5, checksum=hashlib.md5(body, usedforsecurity=False).hexdigest().upper())
    system = pb.SystemProperties(
        tag=found.get(props.TAGS),
        keys=[key for key in found.get(props.KEYS, "").split(props.KEY_SEPARATOR) if key],
        message_id=found.get(props.UNIQUE_KEY) or offset_message_id(message.store_host, message.physical_offset),
        body_digest=digest,
        body_encoding=encoding,
        message_type=type_of(found),
        born_timestamp=timestamp(message.born_timestamp_ms),
        born_host=found.get(props.BORN_HOST) or host_of(str(message.born_host)),
        store_timestamp=timestamp(message.store_timestamp_ms),
        store_host=str(message.store_host),
        delivery_timestamp=_delivery(found, now_ms),
        receipt_handle=receipt_handle or None,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        delivery_attempt=message.reconsume_times + 1 if attempt is None else attempt,
        message_group=found.get(SHARDING_KEY),
        trace_context=found.get(TRACE_CONTEXT),
        dead_letter_queue=_dead_letter(message),
        priority=_priority(found),
    )
    user = {name: value for name, value in found.items() if name not in HIDDEN}
    return pb.Message(topic=_resource(topic), user_properties=user, system_properties=system, body=body)


def _unpacked(message: StoredMessage) -> bytes | None:
    """The body as its producer gave it; None where the client must unpack it: it is damaged, or too large."""
    if not message.sys_flag & COMPRESSED:
        return message.body
    try:
        body = decompress_body(message.sys_flag, message.body)
    except CodecError:
        return None
    return body if len(body) <= _UNPACKED_BYTES_MAX else None


def _resource(topic: str) -> pb.Resource:
    """A topic; the part before the last ``%`` of a name without a prefix of the broker is its namespace."""
    if "%" not in topic or topic.startswith("%"):
        return pb.Resource(name=topic)
    namespace, _, name = topic.partition("%")
    return pb.Resource(resource_namespace=namespace, name=name)


def _delivery(found: dict[str, str], now_ms: int) -> Timestamp | None:
    seconds, deliver_ms = whole_of(found.get(_DELAY_SECONDS, "")), whole_of(found.get(DELIVER_MS, ""))
    if seconds is not None:
        return timestamp(now_ms + seconds * 1000)
    return None if deliver_ms is None else timestamp(deliver_ms)


def _priority(found: dict[str, str]) -> int | None:
    """The priority, where it is a number of the 32 bits that the protocol has for it."""
    priority = whole_of(found.get(PRIORITY, ""))
    return priority if priority is not None and priority <= _PRIORITY_MAX else None


def _dead_letter(message: StoredMessage) -> pb.DeadLetterQueue | None:
    """Where a dead letter comes from; None for other messages.

    The properties are those that every broker gives to a dead letter, because open-source brokers write no ``DLQ_ORIGIN_…``.
    """
    found = message.properties
    topic, message_id = found.get(props.DLQ_ORIGIN_TOPIC), found.get("DLQ_ORIGIN_MESSAGE_ID")
    if message.topic.startswith(names.DLQ_PREFIX):
        topic = topic or origin_of(found, message.topic.removeprefix(names.DLQ_PREFIX))
        message_id = message_id or found.get(props.UNIQUE_KEY) or found.get(props.ORIGIN_MESSAGE_ID)
    return pb.DeadLetterQueue(topic=topic, message_id=message_id) if topic and message_id else None


def timestamp(time_ms: int) -> Timestamp:
    """A time in ms since the epoch; a time that the protocol cannot express is the epoch."""
    seconds, rest = divmod(time_ms, 1000)
    return Timestamp(seconds=seconds, nanos=rest * 1_000_000) if 0 <= seconds <= SECONDS_MAX else Timestamp()


def duration(time_ms: int) -> Duration:
    return Duration(seconds=time_ms // 1000, nanos=time_ms % 1000 * 1_000_000)


_PRIORITY_MAX = 2**31 - 1
